"""What every campaign asset does when a person materializes or backfills it.

Belongs here: doing a campaign's due work of one stage, then saying how the part stands. Does not belong here:
the work (`steps.produce`). Lots do the same work for all campaigns together; a lot that holds an item's
lease keeps it, and nothing is made twice.
"""

from __future__ import annotations

from collections.abc import Iterator

import dagster as dg

from pipeline.assets.events import observation_of, result_of
from pipeline.assets.failures import as_dagster_failures
from pipeline.domain.follow_ons import Stage
from pipeline.steps.answer.standing import Part
from pipeline.steps.operate.bring_campaign_forward import bring_campaign_forward
from resources.dagster_resources import Adapters


def bring_forward(
    context: dg.AssetExecutionContext, adapters: Adapters, stage: Stage, part: Part
) -> Iterator[dg.MaterializeResult[None]]:
    """Yields a materialization of a complete part, else only observes it: what follows is then skipped."""
    with as_dagster_failures():
        standing = bring_campaign_forward(adapters, context.partition_key, stage, part)
    if standing.is_complete:
        yield result_of(standing)
    else:
        context.log_event(observation_of(standing))
