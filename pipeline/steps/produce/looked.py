"""What a look before a fetch came to, as rows: a fetch begins, the result is gone, or there is nothing yet.

Belongs here: judging one look at each attempt in `retrieving`, and committing that a fetch begins. Does not
belong here: how a fetch ends (`retrieved`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from pipeline.domain.lifecycle import AttemptState
from pipeline.domain.observations import Observation, Standing
from pipeline.domain.outcomes import Outcome
from pipeline.domain.polling import Decision, LastSeen, PollFacts, decide
from pipeline.domain.provider_terms import PollPace, ProviderTerms
from pipeline.steps.produce.lot import ItemResult
from pipeline.steps.produce.retrieved import (
    NO_TERMS,
    OWN_TROUBLE_SECONDS,
    SECOND,
    failed,
    postponed,
    results_of,
    spread,
    tries_used_up,
)
from resources.database.attempts import attempts_by_id
from resources.database.database import Transaction
from resources.database.looks import record_observations
from resources.database.transitions import Transition, Verdict, apply


@dataclass(slots=True)
class Begun:
    """Rows of the attempts whose fetch begins now; results of those that have nothing to fetch."""

    rows: dict[str, sa.Row[Any]] = field(default_factory=dict)
    results: list[ItemResult] = field(default_factory=list)


def begin(
    tx: Transaction,
    looks: Sequence[tuple[sa.Row[Any], Observation]],
    terms: Mapping[str, ProviderTerms],
    not_found_windows: Mapping[str, int],
    *,
    actor: str,
) -> Begun:
    """Commit one look each: a fetch begins, the result is gone for good, or there is nothing to fetch now."""
    now = datetime.fromtimestamp(tx.now / SECOND, UTC)
    judged = []
    for row, seen in looks:
        pace = terms.get(row.provider, NO_TERMS).pace
        facts = _look_facts(row, pace, not_found_windows.get(row.provider, 0))
        judged.append((row, seen, decide(facts, seen, now=now, spread=spread())))
    record_observations(tx, [(row, seen) for row, seen, decision in judged if decision.is_new_evidence])
    fetched = [(row, decision) for row, seen, decision in judged if seen.outputs and decision.move is None]
    begins = apply(tx, [_begins(row, decision, actor) for row, decision in fetched])
    begun = [row.id for (row, _), verdict in zip(fetched, begins, strict=True) if verdict is Verdict.APPLIED]
    rest = [one for one in judged if not (one[1].outputs and one[2].move is None)]
    wanted = [_without_output(tx, *one, terms.get(one[0].provider, NO_TERMS), actor) for one in rest]
    results = results_of(wanted, apply(tx, wanted))
    results += [ItemResult(row.id, row.campaign, "lost") for row, _ in fetched if row.id not in begun]
    return Begun(attempts_by_id(tx.connection, begun), results)


def _look_facts(row: sa.Row[Any], pace: PollPace, not_found_window_seconds: int) -> PollFacts:
    return PollFacts(
        state=AttemptState.RETRIEVING,
        handle=row.handle,
        accepted_at=instant(row.submitted_at),
        poll_count=row.fetch_tries,
        deadline_at=instant(row.deadline_at),
        purge_horizon_at=instant(row.purge_horizon_at),
        last_seen=LastSeen.load(row.last_observation),
        not_found_window_seconds=not_found_window_seconds,
        pace=pace,
    )


def _begins(row: sa.Row[Any], decision: Decision, actor: str) -> Transition:
    """The try is counted before the first byte: a worker that dies fetching has spent it."""
    return Transition(
        "attempt",
        row,
        None,
        actor,
        "fetch_begins",
        facts={
            "fetch_tries": row.fetch_tries + 1,
            "downloads": row.downloads + 1,
            "poll_count": row.poll_count + 1,
            "last_observation": decision.last_seen.dump(),
        },
    )


def _without_output(
    tx: Transaction,
    row: sa.Row[Any],
    seen: Observation,
    decision: Decision,
    terms: ProviderTerms,
    actor: str,
) -> Transition:
    """Gone for good, silent for now, or one more try spent on a provider that names no place."""
    polls = row.poll_count + 1
    looked = {"poll_count": polls, "last_observation": decision.last_seen.dump()}
    if decision.move is not None:
        outcome = decision.outcome or Outcome.RESULT_EXPIRED
        return failed(tx, row, outcome, decision.reason, actor, polls=polls, facts=looked)
    counts = seen.standing is not Standing.UNREACHABLE and decision.outcome is not Outcome.RESULT_EXPIRED
    if counts and row.fetch_tries + 1 >= terms.fetch_tries:
        return tries_used_up(tx, row, decision.reason, actor, polls=polls, facts=looked)
    due = decision.next_poll_at
    wait = OWN_TROUBLE_SECONDS if due is None else due.timestamp() - tx.now / SECOND
    spent = {"fetch_tries": row.fetch_tries + 1} if counts else {}
    return postponed(tx, row, decision.reason, wait, actor, {**looked, **spent})


def instant(micros: int) -> datetime:
    return datetime.fromtimestamp(micros / SECOND, UTC)
