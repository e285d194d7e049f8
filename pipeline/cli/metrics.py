"""`reelwright metrics`: the whole installation in numbers, as Prometheus reads them or as JSON (E8).

Form only; the measurement is `pipeline.steps.answer.measure`, its names `docs/metrics.md`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.cli.opening import Json, acting, opened_database
from pipeline.cli.printing import emit, plain

if TYPE_CHECKING:
    from pipeline.steps.answer.metrics import Metric, Metrics, Sample


def metrics(json: Json = False) -> None:
    """Print what is counted and measured, as Prometheus reads it."""
    import sys

    from pipeline.steps.answer.exposition import prometheus_text
    from pipeline.steps.answer.measure import measure

    with opened_database(acting()) as database:
        measured = measure(database)
    if json:
        emit({"at": measured.at, "metrics": _documents(measured)})
    else:
        sys.stdout.write(prometheus_text(measured))


def _documents(measured: Metrics) -> list[dict[str, Any]]:
    return [
        {
            "name": metric.name,
            "kind": metric.kind,
            "unit": metric.unit,
            "meaning": metric.meaning,
            "samples": [_sample(metric, one) for one in samples],
        }
        for metric, samples in measured.samples.items()
    ]


def _sample(metric: Metric, sample: Sample) -> dict[str, Any]:
    """A distribution is an object of its total, count and buckets; money is text, as it is exact."""
    return {"labels": dict(zip(metric.labels, sample.labels, strict=True)), "value": plain(sample.value)}
