"""The recovery plan: the next action of every item, computed without creating anything (B2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from pipeline.domain.lifecycle import AttemptState, ObjectState, Parked, SourceSetState, Submission
from pipeline.domain.next_action import Action, ItemFacts, NextAction, next_action
from pipeline.domain.outcomes import STAYS_WRONG
from pipeline.domain.provider_terms import ProviderTerms
from pipeline.steps.answer.status import is_withdrawn
from pipeline.steps.operate.retry import may_try_anew
from resources.database.database import Database
from resources.database.pauses import active_pauses, is_paused
from resources.database.schema import attempts, holds, renditions
from resources.database.wish_facts import Wanted, wish_rows

#: The claim that a pause of this name holds, for each state that work can be in.
STAGE_OF: Mapping[str, str] = {
    AttemptState.QUEUED: "submit",
    AttemptState.SUBMITTING: "submit",
    AttemptState.GENERATING: "poll",
    AttemptState.RETRIEVING: "retrieve",
    AttemptState.STORED: "derive",
    AttemptState.INDEXED: "publish",
}


@dataclass(frozen=True, slots=True)
class PlannedItem:
    """One wish: what next, why, what it has at stake. Money in micro-units, times in UTC microseconds."""

    wish: str
    campaign: str
    rendition: str | None
    attempt: str | None
    next: NextAction
    cost_at_risk: int
    currency: str | None
    output_gone_at: int | None  #: when the provider deletes the output, while it is not owned


def recovery_plan(
    database: Database, terms: Mapping[str, ProviderTerms], wanted: Wanted
) -> list[PlannedItem]:
    """Read once, decide for each wish; nothing is written."""
    with database.reading() as connection:
        return planned(connection, terms, wanted)


def planned(
    connection: sa.Connection, terms: Mapping[str, ProviderTerms], wanted: Wanted
) -> list[PlannedItem]:
    """`recovery_plan` within the caller's reading."""
    rows = wish_rows(connection, wanted)
    pauses = active_pauses(connection)
    work = _work(connection, [row.attempt for row in rows if row.attempt])
    return [_planned(row, work.get(row.attempt), terms, pauses) for row in rows]


def _work(connection: sa.Connection, ids: Sequence[str]) -> dict[str, sa.Row[Any]]:
    rows = connection.execute(
        sa.select(
            attempts,
            renditions.c.attempts_made,
            holds.c.amount.label("held"),
            holds.c.state.label("hold_state"),
        )
        .join(renditions, renditions.c.id == attempts.c.rendition)
        .outerjoin(holds, holds.c.attempt == attempts.c.id)
        .where(attempts.c.id.in_(ids))
    )
    return {row.id: row for row in rows}


def _planned(
    row: sa.Row[Any],
    work: sa.Row[Any] | None,
    terms: Mapping[str, ProviderTerms],
    pauses: Sequence[sa.Row[Any]],
) -> PlannedItem:
    is_out = work is not None and work.state in (AttemptState.GENERATING, AttemptState.RETRIEVING)
    return PlannedItem(
        wish=row.wish,
        campaign=row.campaign,
        rendition=row.rendition,
        attempt=row.attempt,
        next=_next(row, work, terms, pauses),
        cost_at_risk=_at_risk(work),
        currency=work.currency if work else None,
        output_gone_at=(work.result_expires_at or work.purge_horizon_at) if work and is_out else None,
    )


def _next(
    row: sa.Row[Any],
    work: sa.Row[Any] | None,
    terms: Mapping[str, ProviderTerms],
    pauses: Sequence[sa.Row[Any]],
) -> NextAction:
    """A state of a newer release is that release's to go on from (L9)."""
    is_strange = row.revision_state not in set(SourceSetState)
    if is_strange or (work is not None and work.state not in set(AttemptState)):
        return NextAction(Action.NOTHING, "a newer release put it into a state that this one does not know")
    found = next_action(_facts(row, work, terms, pauses))
    return replace(found, why=_in_money(row)) if found.action is Action.RAISE_BUDGET else found


def _in_money(row: sa.Row[Any]) -> str:
    """By how much the cap must rise, so that nobody has to guess."""
    used = row.held + row.spent
    wanted, taken, cap = (f"{micros / 1e6:.2f}" for micros in (row.quote, used, row.cap))
    return f"it needs {wanted} {row.currency}, and {taken} of the cap of {cap} are held or spent"


def _at_risk(work: sa.Row[Any] | None) -> int:
    """What may have been paid for and is not owned."""
    if work is None or work.state in (AttemptState.STORED, AttemptState.INDEXED):
        return 0
    return int(work.held or 0) if work.hold_state in ("open", "settled") else 0


def _facts(
    row: sa.Row[Any],
    work: sa.Row[Any] | None,
    terms: Mapping[str, ProviderTerms],
    pauses: Sequence[sa.Row[Any]],
) -> ItemFacts:
    source_set = SourceSetState(row.revision_state)
    if work is None:
        return ItemFacts(source_set)
    return ItemFacts(
        source_set,
        attempt=AttemptState(work.state),
        submission=Submission(work.submission),
        parked=Parked(work.parked_reason) if work.parked_reason in set(Parked) else None,
        is_paused=is_paused(pauses, STAGE_OF.get(work.state, ""), work.provider, work.tenant),
        is_wanted=row.wanted_rendition == row.rendition,
        is_published=row.published_rendition == row.rendition,
        is_derived=work.derived_version is not None,
        by_approval=row.publish == "on_approval",
        is_accepted=row.verdict == "accept",
        is_declined=row.verdict == "decline",
        is_purged=row.object_state == ObjectState.PURGED,
        is_withdrawn=is_withdrawn(row),
        may_try_anew=may_try_anew(work, work.attempts_made, terms.get(work.provider)),
        stays_wrong=work.outcome_class in STAYS_WRONG,
    )


def needs_attention(items: Sequence[PlannedItem]) -> list[PlannedItem]:
    """Items that a person must act on, or that will move by themselves; all but the quiet ones."""
    return [item for item in items if item.next.action is not Action.NOTHING]
