"""`system_health`: how the whole installation stands in numbers, over time (E8).

Belongs here: the asset that the window plots. Does not belong here: the measurement (`steps.answer.measure`),
or its names (docs/metrics.md).
"""

import dagster as dg

from pipeline.assets.campaign import OWNERS
from pipeline.assets.failures import as_dagster_failures
from pipeline.steps.answer.exposition import as_numbers
from pipeline.steps.answer.measure import measure
from pipeline.steps.answer.metrics import CATALOGUE, PREFIX
from pipeline.steps.answer.standing import STEP_VERSION
from resources.dagster_resources import Adapters, Operating

GROUP = "operations"

COLUMNS = dg.TableSchema(
    columns=[
        dg.TableColumn(one.name.removeprefix(PREFIX), one.unit, description=one.meaning) for one in CATALOGUE
    ]
)


@dg.asset(
    group_name=GROUP,
    owners=OWNERS,
    kinds={"metrics"},
    code_version=STEP_VERSION,
    metadata={"dagster/column_schema": COLUMNS},
)
def system_health(
    adapters: dg.ResourceParam[Adapters], operating: dg.ResourceParam[Operating]
) -> dg.MaterializeResult[None]:
    """Every number that Reelwright keeps about itself, as of the newest run of the checks.

    Each is read from the database, so that runs of seconds count like a daemon of weeks. **Overview,
    Metadata, Plots** draws them over time. `lots.submit.lost` is the metric `lots` with the labels `submit`
    and `lost`; names, units and meaning stand in the columns and in docs/metrics.md. The same numbers as
    Prometheus reads them: the link `prometheus`.
    """
    with as_dagster_failures():
        numbers = as_numbers(measure(adapters.database))
    link = {"prometheus": dg.MetadataValue.url(f"{operating.api}/metrics")}
    return dg.MaterializeResult(metadata={**numbers, **link})
