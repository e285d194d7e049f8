"""What every campaign asset does when a person materializes or backfills it.

Belongs here: doing a campaign's due work of one stage, then the backfill of what the asset shows, then saying
how the part stands. Does not belong here: the work (`steps.produce`, `steps.operate.backfill`). Lots do the
same work for all campaigns together; a lot that holds an item's lease keeps it, and nothing is made twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

import dagster as dg

from pipeline.assets.events import Metadata, observation_of, result_of, table_of
from pipeline.assets.failures import as_dagster_failures
from pipeline.domain.follow_ons import Stage
from pipeline.steps.answer.standing import Part
from pipeline.steps.operate.backfill import Backfill, backfill
from pipeline.steps.operate.backfilled import BackfillReport
from pipeline.steps.operate.bring_campaign_forward import bring_campaign_forward
from resources.dagster_resources import Adapters, Operating

#: What else a part makes anew where it lies behind; every other part only takes on what is due.
BACKFILLS: Mapping[Part, tuple[Backfill, ...]] = MappingProxyType(
    {Part.THUMBNAILS: (Backfill.THUMBNAILS,), Part.TAG_INDEX: (Backfill.TAGS, Backfill.INDEX)}
)
#: Items that a run's metadata names; all of them are in its log.
NAMED_ITEMS = 50

LEFT_COLUMNS = dg.TableSchema(
    columns=[
        dg.TableColumn("item", description="id of the attempt, or of the slot"),
        dg.TableColumn("left", description="skipped, or failed"),
        dg.TableColumn("why", description="who holds it, what paused it, or what went wrong"),
    ]
)


def bring_forward(
    context: dg.AssetExecutionContext, adapters: Adapters, operating: Operating, stage: Stage, part: Part
) -> Iterator[dg.MaterializeResult[None]]:
    """Yields a materialization of a complete part, else only observes it: what follows is then skipped."""
    campaign, done = context.partition_key, Metadata()
    with as_dagster_failures():
        standing = bring_campaign_forward(adapters, campaign, stage, part)
        for kind in BACKFILLS.get(part, ()):
            done |= _told(context, backfill(adapters, kind, [campaign]))
        if done:
            standing = bring_campaign_forward(adapters, campaign, stage, part)
    if standing.is_complete:
        yield result_of(standing, operating.api, done)
    else:
        context.log_event(observation_of(standing, operating.api, done))


def _told(context: dg.AssetExecutionContext, report: BackfillReport) -> Metadata:
    """What a backfill came to: a number a word, and the name of everything that it left."""
    for one in report.left:
        context.log.warning(f"{report.kind}: {one.subject} {one.word} ({one.reason})")
    told: Metadata = {
        f"backfill_{report.kind}_{word}": dg.MetadataValue.int(number)
        for word, number in report.counts.items()
    }
    told[f"backfill_{report.kind}_left"] = table_of(
        tuple(
            {"item": one.subject, "left": one.word, "why": one.reason} for one in report.left[:NAMED_ITEMS]
        ),
        LEFT_COLUMNS,
    )
    return told
