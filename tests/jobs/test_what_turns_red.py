"""A failed item turns no run red, and is found from its campaign's page (docs/what-turns-red.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg
import sqlalchemy as sa

from pipeline.assets.partitions import CAMPAIGNS
from pipeline.domain.follow_ons import Stage
from pipeline.jobs.bulk_events import Teller
from pipeline.jobs.lots import LOT_JOBS, job_name
from pipeline.steps.operate.mark_partitions import add_partitions, mark_partitions
from resources.adapters import Adapters
from resources.database import schema
from tests.conftest import NOON, SECOND, Clock
from tests.database import rows, sound
from tests.jobs.window import OPERATING
from tests.steps.author import CAMPAIGN, Author
from tests.steps.output_site import OutputSite, SiteProvider, video
from tests.steps.upkeep import TINY
from tests.steps.volume import multiply

JOBS = {job.name: job for job in LOT_JOBS}


def fail(adapters: Adapters, attempt: str) -> None:
    """It ended, was paid for, and is not owned."""
    failed = {
        "state": "failed", "outcome_class": "generation_failed", "outcome_reason": "quota", "object": None,
        "ended_at": NOON,
    }  # fmt: skip

    def work(tx: Any) -> None:
        tx.connection.execute(
            sa.update(schema.attempts).where(schema.attempts.c.id == attempt).values(failed)
        )
        mine = schema.holds.c.attempt == attempt
        tx.connection.execute(sa.update(schema.holds).where(mine).values(state="settled", amount=300_000))
        shows_it = schema.slots.c.published_rendition == attempt.removesuffix("-a1")
        tx.connection.execute(sa.update(schema.slots).where(shows_it).values(published_rendition=None))

    adapters.database.run(work)


def items(instance: dg.DagsterInstance, asset: str, campaign: str) -> list[Mapping[str, Any]]:
    """The table on a partition's page, of its newest event."""
    wanted = dg.AssetRecordsFilter(asset_key=dg.AssetKey(asset), asset_partitions=[campaign])
    found = [
        record.asset_materialization or record.asset_observation
        for fetch in (instance.fetch_materializations, instance.fetch_observations)
        for record in fetch(wanted, limit=1).records
    ]
    [event] = [one for one in found if one is not None]
    return [one.data for one in event.metadata["items"].value.records]  # type: ignore[union-attr]


def test_one_failed_item_of_500_over_80_campaigns_is_the_first_row_of_its_partitions_page(
    adapters: Adapters, instance: dg.DagsterInstance
) -> None:
    multiply(adapters.database, 500, campaigns=80)
    campaign, attempt = f"{sound.TENANT}.c37", "r-1x117-a1"
    fail(adapters, attempt)
    add_partitions(adapters.database, lambda keys: instance.add_dynamic_partitions(CAMPAIGNS, list(keys)))
    marks = sa.update(schema.partition_marks).where(schema.partition_marks.c.campaign == campaign)
    adapters.database.run(lambda tx: tx.connection.execute(marks.values(due=1)))
    mark_partitions(adapters.database, Teller(instance, OPERATING.api), terms=adapters.terms)
    first, *others = items(instance, "renditions", campaign)

    assert first["attempt"] == attempt
    assert (first["state"], first["at_risk"]) == ("failed", "0.30 EUR")
    assert "generation_failed" in first["why"] or "quota" in first["why"]
    assert first["next"].startswith("review reason")
    assert first["who"] == "a person"
    assert {one["state"] for one in others} == {"ready"}


def test_a_lot_with_a_failed_item_is_green_and_names_it(
    adapters: Adapters,
    dropped: Author,
    site: OutputSite,
    instance: dg.DagsterInstance,
    clock: Clock,
    tmp_path: Path,
) -> None:
    site_alone = replace(
        adapters, transforms=TINY, providers={"local": SiteProvider(site)}, terms={"local": site.terms}
    )
    dropped.deliver(
        variants={"locales": ["en-GB", "de-DE"], "aspect_ratios": ["16:9"], "duration_seconds": [6]}
    )
    good, bad = dropped.rows(schema.attempts)
    bodies = {good.id: video(tmp_path, width=160, height=90), bad.id: b"no video"}
    for row in (good, bad):
        site.bodies[row.id] = bodies[row.id]
        dropped.change(
            schema.attempts, row.id, state="retrieving", submission="accepted", handle=row.id,
            submitted_at=NOON, deadline_at=NOON + 3600 * SECOND, purge_horizon_at=NOON + 86_400 * SECOND,
            next_action_at=clock.at,
        )  # fmt: skip
        dropped.change(schema.renditions, row.rendition, duration_seconds=1)
    instance.add_dynamic_partitions(CAMPAIGNS, [CAMPAIGN])
    dropped.relay()
    result = JOBS[job_name(Stage.RETRIEVE)].execute_in_process(
        instance=instance, resources={"adapters": site_alone, "operating": OPERATING}
    )
    [told] = [
        event.event_specific_data.metadata  # type: ignore[union-attr]
        for event in result.all_events
        if event.event_type_value == "STEP_OUTPUT"
    ]
    [record] = told["amiss"].value.records

    assert result.success
    assert told["stored"].value == 1
    assert (record.data["item"], record.data["campaign"]) == (bad.id, CAMPAIGN)
    assert record.data["why"]
    assert items(instance, "renditions", CAMPAIGN)[0]["attempt"] in {good.id, bad.id}
    assert rows.read(adapters.database, schema.attempts, good.id).state == "stored"
