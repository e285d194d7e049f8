"""What every step of retention works with, and the clocks that it must agree with.

Belongs here: that set, and refusing a clock that cannot be right. Does not belong here: any step.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import sqlalchemy as sa

from pipeline.domain.errors import NotAllowed
from pipeline.domain.retention import DAY, RetentionPolicy
from pipeline.domain.storage_price import StoragePrice
from resources.adapters import Adapters
from resources.database.pauses import active_pauses, is_paused
from resources.database.retention_facts import FactsReader
from resources.database.schema import audit, retention_plans

STAGE = "retention"  #: as `reelwright pause` names it
MINUTE = 60 * 1_000_000
#: Things that one transaction marks, or begins to purge.
BATCH = 200


def machine_clock() -> int:
    """This machine's own time, UTC microseconds."""
    return time.time_ns() // 1_000


@dataclass(frozen=True, slots=True)
class Retaining:
    """Adapters, the policy in force, the price of storage, who acts, and this machine's clock."""

    adapters: Adapters
    policy: RetentionPolicy
    price: StoragePrice | None
    actor: str
    machine_now: Callable[[], int] = machine_clock

    def facts(self, connection: sa.Connection, now: int) -> FactsReader:
        return FactsReader.at(
            connection,
            now,
            policy_version=self.policy.version,
            transform_version=self.adapters.transforms.version,
        )

    def refuse_wrong_clock(self, connection: sa.Connection, now: int) -> None:
        """NotAllowed when the database's time cannot be right: nothing may fall due by mistake."""
        apart = abs(now - self.machine_now())
        if apart > self.policy.clock_skew_minutes * MINUTE:
            raise NotAllowed(
                "retention",
                f"the database's clock and this machine's are {apart // MINUTE} minutes apart,"
                f" more than {self.policy.clock_skew_minutes}: nothing is planned or purged",
                "set both clocks right",
            )
        last = max(filter(None, connection.execute(_LAST).one()), default=None)
        silence = 0 if last is None else now - last
        if silence > self.policy.longest_silence_days * DAY:
            raise NotAllowed(
                "retention",
                f"nothing was recorded since {utc(int(last or 0)):%Y-%m-%d}, {silence // DAY} days before the"
                " database's clock: nothing is planned or purged by a clock that may have leapt",
                "set the clock right; if it is right, raise guards.longest_silence_days in the policy",
            )

    def is_paused(self, connection: sa.Connection, tenant: str) -> bool:
        return is_paused(active_pauses(connection), STAGE, "*", tenant)


#: The newest audited change, and the newest plan: one of them is of the last days wherever anything runs.
_LAST = sa.select(
    sa.select(audit.c.at).order_by(audit.c.id.desc()).limit(1).scalar_subquery(),
    sa.select(sa.func.max(retention_plans.c.made_at)).scalar_subquery(),
)


def utc(micros: int) -> datetime:
    return datetime.fromtimestamp(micros // 1_000_000, UTC)
