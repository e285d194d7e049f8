"""Another attempt of the same rendition: by itself after an unbilled end, or because a person says so.

Belongs here: the retry rule (G5) and the command. Does not belong here: sending the new attempt.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from pipeline.domain.errors import NotAllowed, UnknownSubject
from pipeline.domain.lifecycle import ENDED_STATES, OWNED_STATES, AttemptState
from pipeline.domain.outcomes import CONSEQUENCES, Outcome
from pipeline.domain.provider_terms import OnOverdue, ProviderTerms
from pipeline.steps.produce.lot import ItemResult, LotReport, work_lot
from resources.database.attempts import attempts_by_id
from resources.database.claims import claim_for_retry, give_back
from resources.database.database import Database, Transaction
from resources.database.objects import hold_sources
from resources.database.schema import attempts, slots
from resources.database.selecting import add_attempt, lock_rendition

FOR_ANOTHER = "for another video: `reelwright submit TENANT.CAMPAIGN --take VARIANT`"


def retry_due(
    database: Database, terms: Mapping[str, ProviderTerms], *, actor: str = "retry_rule"
) -> LotReport:
    """Apply the retry rule to ended and overdue attempts that became due."""

    def work(rows: Any) -> list[ItemResult]:
        return [database.run(lambda tx, row=row: _by_rule(tx, row, terms, actor)) for row in rows]  # type: ignore[misc]

    return work_lot(database, "retry", claim_for_retry, work)


def may_try_anew(row: sa.Row[Any], attempts_made: int, terms: ProviderTerms | None) -> bool:
    """Whether another attempt may be made without a person: unbilled end or overdue, within the limit."""
    if terms is None or attempts_made >= terms.max_attempts:
        return False
    if AttemptState(row.state) not in ENDED_STATES:
        return row.overdue_at is not None and terms.on_overdue is OnOverdue.NEW_ATTEMPT
    return row.outcome_class in set(Outcome) and CONSEQUENCES[Outcome(row.outcome_class)].new_attempt


def _by_rule(tx: Transaction, row: sa.Row[Any], terms: Mapping[str, ProviderTerms], actor: str) -> ItemResult:
    """Make the next attempt, unless something else is selected or wanted meanwhile."""
    rendition = lock_rendition(tx, row.rendition)
    found = attempts_by_id(tx.connection, [row.id])[row.id]
    give_back(tx, attempts, [(row.id, row.lease_token)])
    tx.connection.execute(
        sa.update(attempts)
        .where(attempts.c.id == row.id, attempts.c.lease_token == row.lease_token)
        .values(next_action_at=None)
    )
    is_ours = found.lease_token == row.lease_token
    if not is_ours or rendition is None or rendition.selected_attempt != row.id:
        return ItemResult(row.id, row.campaign, "nothing", "not_selected")
    if not _is_wanted(tx, rendition):
        return ItemResult(row.id, row.campaign, "nothing", "not_wanted")
    if not may_try_anew(found, rendition.attempts_made, terms.get(row.provider)):
        return ItemResult(row.id, row.campaign, "nothing", "waits_for_review")
    if not hold_sources(tx, rendition.tenant, rendition.sources):
        return ItemResult(row.id, row.campaign, "nothing", "inputs_gone")
    current = attempts_by_id(tx.connection, [row.id])[row.id]
    add_attempt(tx, rendition, current, actor=actor, reason=f"after_{found.outcome_class or 'overdue'}")
    return ItemResult(row.id, row.campaign, "retried")


def retry(database: Database, rendition_id: str, tenant: str, *, actor: str, reason: str) -> str:
    """Make a new attempt of a failed, cancelled or overdue rendition; returns its id.

    Raises `NotAllowed` when the selected attempt still runs or has a result, `UnknownSubject` when there
    is no such rendition of this tenant.
    """

    def work(tx: Transaction) -> str:
        rendition = lock_rendition(tx, rendition_id)
        if rendition is None or rendition.tenant != tenant:
            raise UnknownSubject("rendition", rendition_id)
        selected = attempts_by_id(tx.connection, [rendition.selected_attempt])[rendition.selected_attempt]
        if AttemptState(selected.state) not in ENDED_STATES and selected.overdue_at is None:
            is_owned = AttemptState(selected.state) in OWNED_STATES
            raise NotAllowed(
                rendition_id,
                "it is made; what is kept is never made again" if is_owned else "its attempt still runs",
                FOR_ANOTHER if is_owned else "wait for it, or cancel it first",
            )
        return add_attempt(tx, rendition, selected, actor=actor, reason=reason)

    return database.run(work)


def _is_wanted(tx: Transaction, rendition: sa.Row[Any]) -> bool:
    wanted = tx.connection.scalar(sa.select(slots.c.wanted_rendition).where(slots.c.id == rendition.slot))
    return bool(wanted == rendition.id)
