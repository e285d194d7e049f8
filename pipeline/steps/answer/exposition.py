"""A measurement written down: as Prometheus reads it, and as plain numbers for Dagster's plots (E8).

Belongs here: the text format 0.0.4 and the flat names. Does not belong here: what is measured (`measure`).
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from pipeline.steps.answer.metrics import PREFIX, Distribution, Metric, MetricKind, Metrics, Number, Sample

#: What a server says beside the text.
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def prometheus_text(metrics: Metrics) -> str:
    """The text format: HELP, TYPE and samples of each metric together, one line each."""
    lines = [line for metric, samples in metrics.samples.items() for line in _family(metric, samples)]
    return "".join(f"{line}\n" for line in lines)


def as_numbers(metrics: Metrics) -> dict[str, float]:
    """Flat numbers: `unfinished.attempt.queued`, `outbox_undelivered`; of a distribution its mean.

    A mean over nothing is absent, never zero.
    """
    found = {
        ".".join((metric.name.removeprefix(PREFIX), *filter(None, sample.labels))): _number(sample.value)
        for metric, samples in metrics.samples.items()
        for sample in samples
    }
    return {name: number for name, number in found.items() if number is not None}


def _number(value: Number | Distribution) -> float | None:
    return value.mean if isinstance(value, Distribution) else float(value)


def _family(metric: Metric, samples: tuple[Sample, ...]) -> Iterator[str]:
    yield f"# HELP {metric.name} {_escaped_help(metric.meaning)}"
    yield f"# TYPE {metric.name} {metric.kind}"
    for sample in samples:
        yield from _lines(metric, sample)


def _lines(metric: Metric, sample: Sample) -> Iterator[str]:
    labels = tuple(zip(metric.labels, sample.labels, strict=True))
    value = sample.value
    if not isinstance(value, Distribution):
        yield f"{metric.name}{_labelled(labels)} {_written(value)}"
        return
    if metric.kind is MetricKind.HISTOGRAM:
        for bound, count in (*((str(bound), count) for bound, count in value.buckets), ("+Inf", value.count)):
            yield f"{metric.name}_bucket{_labelled((*labels, ('le', bound)))} {count}"
    yield f"{metric.name}_sum{_labelled(labels)} {_written(value.total)}"
    yield f"{metric.name}_count{_labelled(labels)} {value.count}"


def _labelled(labels: tuple[tuple[str, str], ...]) -> str:
    inside = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels)
    return f"{{{inside}}}" if inside else ""


def _escaped(value: str) -> str:
    return _escaped_help(value).replace('"', '\\"')


def _escaped_help(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _written(value: Number) -> str:
    """Money as it is, without an exponent; the rest as Python writes it, which Prometheus reads."""
    return f"{value:f}" if isinstance(value, Decimal) else repr(value)
