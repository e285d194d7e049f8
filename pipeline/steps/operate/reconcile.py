"""Reconcile: look for what nobody moves any more, and make the one legal step that is missing (E6).

Belongs here: the table of looks and running them. Does not belong here: any look (`reconcile_work`,
`reconcile_owned`, `reconcile_restored`), or alerting about what is found (`checks`).

Nothing is moved back and no state is guessed: what is mended becomes due, free or told, in guarded and
audited updates under the actor `reconciler`, and the ordinary lots do the work. Running it twice, or at
once, is harmless. Repairs are also counted in the database, as `reconciled_ITEM`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from pipeline.domain.errors import DatabaseUnavailable, ReelwrightError
from pipeline.steps.operate import reconcile_owned as owned
from pipeline.steps.operate import reconcile_restored as restored
from pipeline.steps.operate import reconcile_work as work
from pipeline.steps.operate.reconciled import Done, Finding, Item, Look, ReconcileReport
from resources.adapters import Adapters
from resources.database.counters import count_up
from resources.database.database import Transaction

LOOKS: Mapping[Item, Look] = MappingProxyType(
    {
        Item.MESSAGES: work.messages,
        Item.LEASES: work.leases,
        Item.LOTS: work.lots,
        Item.LANES: work.lanes,
        Item.POLLS: work.polls,
        Item.STATES: work.states,
        Item.ENTRIES: owned.entries,
        Item.PICTURES: owned.pictures,
        Item.JOBS: owned.jobs,
        Item.TEMPORARY: owned.temporary,
        Item.SPOOL: owned.spool,
        Item.VERSIONS: owned.versions,
        Item.UNUSED: owned.unused,
        Item.SINCE_JOBS: restored.jobs,
        Item.SINCE_OBJECTS: restored.unnamed,
    }
)


def reconcile(
    adapters: Adapters, now: int, is_run_over: Callable[[str], bool] | None = None
) -> ReconcileReport:
    """Look for every item at *now* (UTC microseconds, the database's clock).

    *is_run_over* says of a run's id that it is over, where somebody knows; else a lot is lost once it is
    older than any lot can be. An item that cannot be looked at is a finding and holds up no other; only
    DatabaseUnavailable is raised.
    """
    began = time.monotonic()
    looks = dict(LOOKS)
    if is_run_over is not None:
        looks[Item.LOTS] = lambda adapters, now: work.lots(adapters, now, is_run_over)
    findings = [one for item, look in looks.items() for one in _looked(adapters, now, item, look)]
    _count(adapters, findings)
    return ReconcileReport(now, tuple(findings), time.monotonic() - began)


def _looked(adapters: Adapters, now: int, item: Item, look: Look) -> Iterable[Finding]:
    found: list[Finding] = []
    try:
        found.extend(look(adapters, now))
    except DatabaseUnavailable:
        raise
    except ReelwrightError as error:
        found.append(Finding(item, Done.FAILED, str(item), type(error).__name__, str(error)[:200]))
    return found


def _count(adapters: Adapters, findings: Iterable[Finding]) -> None:
    mended = Counter(
        (one.item, one.campaign.partition(".")[0] or "*") for one in findings if one.done is Done.MENDED
    )

    def work(tx: Transaction) -> None:
        for (item, tenant), number in sorted(mended.items()):
            count_up(tx, f"reconciled_{item}", tenant, number)

    if mended:
        adapters.database.run(work)
