"""Ten moments in the life of a campaign, each known from what is durable.

Belongs here: knowing that a moment has come. Does not belong here: who is killed in it (`survival`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import dagster as dg
import sqlalchemy as sa

from pipeline.assets.partitions import CAMPAIGNS
from pipeline.domain.follow_ons import Stage
from resources.database.schema import attempts, lots, sends, slots
from tests.dev.house import RENDITIONS, House
from tests.dev.window import launch_backfill

BACKFILL_TAG = "dagster/backfill"
ENOUGH_TO_REMAKE = 10


@dataclass(frozen=True, slots=True)
class Scene:
    """One campaign in a house, and which lots were there before it."""

    house: House
    campaign: str
    lots_before: Mapping[str, int]
    backfills: list[str] = field(default_factory=list)  #: that were asked for

    def count(self, statement: sa.Select[Any]) -> int:
        with self.house.database.reading() as connection:
            return int(connection.scalar(statement) or 0)

    def begun(self, stage: Stage) -> bool:
        """A lot of *stage* began, after those before."""
        newer = lots.c.number > self.lots_before.get(stage, 0)
        where = sa.and_(lots.c.stage == str(stage), newer, lots.c.started_at.is_not(None))
        return bool(self.count(sa.select(sa.func.count()).select_from(lots).where(where)))

    def working(self) -> int:
        """Lots that are under way."""
        where = sa.and_(lots.c.started_at.is_not(None), lots.c.ended_at.is_(None))
        return self.count(sa.select(sa.func.count()).select_from(lots).where(where))

    def attempts(self, *where: sa.ColumnElement[bool]) -> int:
        mine = attempts.c.campaign == self.campaign
        return self.count(sa.select(sa.func.count()).select_from(attempts).where(mine, *where))

    def attempt_ids(self) -> frozenset[str]:
        with self.house.database.reading() as connection:
            mine = sa.select(attempts.c.id).where(attempts.c.campaign == self.campaign)
            return frozenset(connection.scalars(mine))

    def sent(self) -> int:
        joined = sends.join(attempts, attempts.c.id == sends.c.attempt)
        return self.count(
            sa.select(sa.func.count()).select_from(joined).where(attempts.c.campaign == self.campaign)
        )

    def shown(self) -> int:
        where = sa.and_(slots.c.campaign == self.campaign, slots.c.publication.is_not(None))
        return self.count(sa.select(sa.func.count()).select_from(slots).where(where))

    def backfilling(self) -> bool:
        """A backfill of this campaign's pictures and index has begun; asks for one as the window does."""
        instance = self.house.instance
        if self.campaign not in instance.get_dynamic_partitions(CAMPAIGNS) or self.shown() < ENOUGH_TO_REMAKE:
            return False
        if not self.backfills:
            self.backfills.append(launch_backfill(self.house.dagster_url, self.campaign))
        runs = instance.get_runs(dg.RunsFilter(tags={BACKFILL_TAG: self.backfills[0]}))
        return any(run.status is dg.DagsterRunStatus.STARTED or run.is_finished for run in runs)


HALF = RENDITIONS // 2
MOMENTS: Mapping[str, Callable[[Scene], bool]] = {
    "at the start": lambda _: True,
    "ingest run": lambda scene: scene.begun(Stage.INGEST),
    "submit run": lambda scene: scene.begun(Stage.SUBMIT),
    "mid-submit": lambda scene: scene.sent() >= HALF,
    "poll tick": lambda scene: bool(scene.attempts(attempts.c.poll_count > 0)),
    "retrieve run": lambda scene: bool(scene.attempts(attempts.c.object.is_not(None))),
    "derive run": lambda scene: scene.begun(Stage.DERIVE),
    "publish run": lambda scene: scene.begun(Stage.PUBLISH),
    "backfill": Scene.backfilling,
    "between runs": lambda scene: scene.sent() > 0 and not scene.working() and scene.shown() < RENDITIONS,
}
