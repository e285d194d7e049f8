"""Make the pictures of owned videos anew, after the transform set changed or pictures were lost (E3, D1).

Belongs here: which attempts, leasing them beside running lots, and the fact that moves. Does not belong here:
making pictures (`produce.derive`), or removing older ones (retention).

A new version's pictures stand beside the old ones; what failed keeps the old ones and serves on.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from pipeline.domain.errors import DatabaseUnavailable, LostRace, SandboxFailed, StoreUnavailable
from pipeline.domain.follow_ons import Stage
from pipeline.steps.operate.backfilled import FAILED, SKIPPED, BackfillReport
from pipeline.steps.produce.derive import WORKERS, Deriving, Made, Underivable
from pipeline.steps.produce.lot import ItemResult, Owner
from resources.adapters import Adapters
from resources.database.backfill import (
    campaigns_named,
    derived_attempts,
    has_holes,
    is_leased,
    lacks_pictures,
    lease,
)
from resources.database.claims import GROUP, give_back
from resources.database.database import Database, Transaction
from resources.database.leases import kept
from resources.database.objects import objects_by_id
from resources.database.pauses import active_pauses, is_paused
from resources.database.schema import attempts
from resources.database.transitions import Transition, apply_one

logger = logging.getLogger(__name__)

RENEWED = "renewed"


def rethumbnail(
    adapters: Adapters, campaigns: Collection[str] | None = None, *, actor: str = "backfill"
) -> BackfillReport:
    """Bring every owned video of *campaigns* (None: of all) to the transform set in force.

    Words: `renewed`; `skipped` (leased, paused, overtaken) and `failed`, both named in `left`. Safe beside
    lots and beside itself; the state of an attempt never moves. Raises UnknownSubject for a strange campaign.
    """
    with adapters.database.reading() as connection:
        named = None if campaigns is None else campaigns_named(connection, campaigns)
    lacks = lacks_pictures(adapters.transforms.version, _names(adapters))
    return _renew(adapters, lacks, named, actor)


def restore_pictures(adapters: Adapters, *, actor: str, at_most: int) -> BackfillReport:
    """Make whole again what lost pictures of the set that it says it has; merely older sets stay."""
    holes = has_holes(adapters.transforms.version, _names(adapters))
    return _renew(adapters, holes, None, actor, at_most)


def _names(adapters: Adapters) -> list[str]:
    return [one.name for one in adapters.transforms.derivatives]


def _renew(
    adapters: Adapters,
    which: sa.ColumnElement[bool],
    campaigns: Collection[str] | None,
    actor: str,
    at_most: int | None = None,
) -> BackfillReport:
    began, renewing = time.monotonic(), _Renewing(adapters.database, _deriving(adapters, actor), Owner().name)
    results: list[ItemResult] = []
    for page in _pages(adapters.database, which, campaigns):
        results += renewing.page(page if at_most is None else page[: at_most - len(results)])
        if at_most is not None and len(results) >= at_most:
            break
    version = adapters.transforms.version
    return BackfillReport("thumbnails", tuple(results), time.monotonic() - began, version)


def _deriving(adapters: Adapters, actor: str) -> Deriving:
    return Deriving(
        adapters.database, adapters.store, adapters.sandbox, adapters.transforms, adapters.spool, actor
    )


def _pages(
    database: Database, which: sa.ColumnElement[bool], campaigns: Collection[str] | None
) -> Iterator[Sequence[sa.Row[Any]]]:
    """Each attempt at most once, in the order of ids: one that is left is not met again."""
    after = ""
    while True:
        with database.reading() as connection:
            page = derived_attempts(connection, which, campaign_ids=campaigns, after=after, limit=GROUP)
        if not page:
            return
        yield page
        after = page[-1].id


@dataclass(frozen=True, slots=True)
class _Renewing:
    database: Database
    deriving: Deriving
    owner: str

    def page(self, rows: Sequence[sa.Row[Any]]) -> list[ItemResult]:
        """Lease what is free, renew it, name the rest."""
        with self.database.reading() as connection:
            now, pauses = self.database.clock(connection), active_pauses(connection)
            sources = objects_by_id(connection, {row.object for row in rows})
        held = {row.id: "paused" for row in rows if is_paused(pauses, Stage.DERIVE, row.provider, row.tenant)}
        held |= {row.id: f"leased by {row.lease_owner}" for row in rows if is_leased(row, now)}
        free = [row for row in rows if row.id not in held]
        ours = self.database.run(lambda tx: lease(tx, free, self.owner)) if free else []
        missed = {row.id for row in free} - {row.id for row in ours}
        held |= dict.fromkeys(missed, "overtaken")
        with kept(self.database, attempts, ours), ThreadPoolExecutor(WORKERS) as workers:
            done = list(workers.map(lambda row: self.one(row, sources[row.object]), ours))
        return done + [
            ItemResult(row.id, row.campaign, SKIPPED, held[row.id]) for row in rows if row.id in held
        ]

    def one(self, row: sa.Row[Any], source: sa.Row[Any]) -> ItemResult:
        """Whatever goes wrong with one leaves it as it was: its older pictures serve."""
        try:
            made = self.deriving.pictures(row, source)
            self.database.run(lambda tx: self._complete(tx, row, source, made))
        except LostRace:
            return ItemResult(row.id, row.campaign, SKIPPED, "overtaken")
        except DatabaseUnavailable:
            raise
        except (Underivable, SandboxFailed, StoreUnavailable) as error:
            return self._leave(row, error.reason)
        except Exception as error:
            logger.error("new pictures of %s failed", row.id, exc_info=error)
            return self._leave(row, f"unexpected_{type(error).__name__}")
        return ItemResult(row.id, row.campaign, RENEWED)

    def _complete(self, tx: Transaction, row: sa.Row[Any], source: sa.Row[Any], made: Sequence[Made]) -> None:
        version = self.deriving.transforms.version
        renewed = Transition(
            "attempt",
            row,
            None,
            self.deriving.actor,
            "pictures_renewed",
            facts={"derived_version": version},
            detail={"transform_version": version, "instead_of": row.derived_version},
            release=True,
        )
        apply_one(tx, renewed)
        self.deriving.record(tx, row, source, made)

    def _leave(self, row: sa.Row[Any], reason: str) -> ItemResult:
        self.database.run(lambda tx: give_back(tx, attempts, [(row.id, row.lease_token)]))
        return ItemResult(row.id, row.campaign, FAILED, reason)
