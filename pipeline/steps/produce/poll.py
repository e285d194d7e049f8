"""Look at remote jobs that are due, and make what was seen durable (P1, P2, P5).

Belongs here: claiming, asking side by side, committing in batches, within a time budget. Does not belong
here: what an observation means (`pipeline.domain.polling`).
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

import sqlalchemy as sa

from pipeline.domain.follow_ons import Topic
from pipeline.domain.lifecycle import AttemptState
from pipeline.domain.observations import Observation, UrlOutput
from pipeline.domain.outcomes import HoldFate
from pipeline.domain.polling import Decision, LastSeen, PollFacts, decide
from pipeline.domain.provider_terms import OnOverdue, ProviderTerms
from pipeline.steps.produce.lot import Owner
from resources.database.attempts import durations_of
from resources.database.claims import claim_polls
from resources.database.counters import count_up
from resources.database.database import Database, Transaction
from resources.database.endings import Ending, end
from resources.database.looks import Look, record_looks, record_observations
from resources.database.transitions import Transition, Usage, Verdict, apply
from resources.http.client import HttpClient
from resources.providers.protocol import Provider

SECOND = 1_000_000
#: Attempts of one provider that one claim takes at most; their looks are committed together.
BATCH = 1000
#: One claim takes no more than a provider's own rate answers in so long: well within its lease, and within
#: what is left of a tick when its budget is spent.
LOT_SECONDS = 10.0
#: A tick must end well before Dagster gives up on it at 60 s.
BUDGET_SECONDS = 25.0

_S = AttemptState


@dataclass(slots=True)
class PollReport:
    """Looks made, and what they led to: moves by target state, `unchanged`, `lost`."""

    looks: int = 0
    counts: Counter[str] = field(default_factory=Counter)


def poll(
    database: Database,
    providers: Mapping[str, Provider],
    terms: Mapping[str, ProviderTerms],
    *,
    actor: str = "poller",
    budget_seconds: float = BUDGET_SECONDS,
    batch: int = BATCH,
) -> PollReport:
    """Poll every due attempt of every provider until none is due or the budget is spent.

    Two pollers at once are safe: each works on what it leased.
    """
    report, owner, began = PollReport(), Owner().name, time.monotonic()
    waiting = sorted(terms)
    with _Asking(providers, terms) as asking:
        while waiting and time.monotonic() - began < budget_seconds:
            for name in tuple(waiting):
                lot = max(1, min(batch, int(terms[name].polls_per_second * LOT_SECONDS)))
                rows = database.run(lambda tx, name=name, lot=lot: claim_polls(tx, name, owner, lot))  # type: ignore[misc]
                if not rows:
                    waiting.remove(name)
                    continue
                one = Polling(database, providers[name], terms[name], actor)
                one.look_at(rows, asking, report)
    return report


class _Asking:
    """One event loop and one client a provider for a whole tick, so that connections are kept."""

    def __init__(self, providers: Mapping[str, Provider], terms: Mapping[str, ProviderTerms]) -> None:
        self._providers = providers
        self._terms = terms
        self._runner = asyncio.Runner()
        self._clients: dict[str, HttpClient] = {}

    def __enter__(self) -> Self:
        self._runner.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._runner.run(self._close())
        finally:
            self._runner.__exit__(kind, error, trace)

    def about(self, provider: str, rows: Sequence[sa.Row[Any]]) -> Sequence[Observation]:
        """One observation a row; cancellations that were asked for are sent before."""
        return self._runner.run(self._ask(provider, rows))

    async def _ask(self, name: str, rows: Sequence[sa.Row[Any]]) -> Sequence[Observation]:
        if name not in self._clients:
            self._clients[name] = HttpClient(connections=self._terms[name].poll_concurrency)
        client, provider = self._clients[name], self._providers[name]
        for row in rows:
            if _cancel_is_due(row):
                await provider.cancel(client, row.handle)
        return await provider.look_up(client, [row.handle for row in rows])

    async def _close(self) -> None:
        for client in self._clients.values():
            await client.__aexit__(None, None, None)


@dataclass(frozen=True, slots=True)
class Polling:
    """Looks at one provider's jobs."""

    database: Database
    provider: Provider
    terms: ProviderTerms
    actor: str

    def look_at(self, rows: Sequence[sa.Row[Any]], asking: _Asking, report: PollReport) -> None:
        """Ask about leased *rows* and commit the answers in one transaction."""
        seen = asking.about(self.terms.name, rows)
        counts = self.database.run(lambda tx: self.record(tx, rows, seen))
        report.looks += len(rows)
        report.counts += counts

    def record(
        self, tx: Transaction, rows: Sequence[sa.Row[Any]], seen: Sequence[Observation]
    ) -> Counter[str]:
        """Commit one observation a row: moves, overdue facts, and plain looks."""
        now = datetime.fromtimestamp(tx.now / SECOND, UTC)
        judged = [
            (row, observation, decide(self._facts(row), observation, now=now, spread=_spread()))
            for row, observation in zip(rows, seen, strict=True)
        ]
        moved = [one for one in judged if one[2].move is not None]
        stayed = [one for one in judged if one[2].move is None]
        record_observations(tx, [(row, obs) for row, obs, decision in judged if decision.is_new_evidence])
        duplicates = sum(not decision.is_new_evidence for _, _, decision in judged)
        if duplicates:
            count_up(tx, "observation_unchanged", "*", duplicates)
        return self._move(tx, moved) + self._stay(tx, stayed)

    def _facts(self, row: sa.Row[Any]) -> PollFacts:
        return PollFacts(
            state=_S(row.state),
            handle=row.handle,
            accepted_at=_time(row.submitted_at),
            poll_count=row.poll_count,
            deadline_at=_time(row.deadline_at),
            purge_horizon_at=_time(row.purge_horizon_at),
            overdue_at=None if row.overdue_at is None else _time(row.overdue_at),
            last_seen=LastSeen.load(row.last_observation),
            not_found_window_seconds=self.provider.not_found_window_seconds,
            pace=self.terms.pace,
        )

    def _move(
        self, tx: Transaction, moved: Sequence[tuple[sa.Row[Any], Observation, Decision]]
    ) -> Counter[str]:
        seconds = durations_of(tx.connection, [row for row, _, _ in moved]) if moved else {}
        endings = [
            Ending(self._ending(tx, row, observation, decision, seconds[row.rendition]), decision.hold)
            for row, observation, decision in moved
        ]
        verdicts = end(tx, endings)
        return Counter(
            str(decision.move.target) if decision.move and verdict is Verdict.APPLIED else "lost"
            for (_, _, decision), verdict in zip(moved, verdicts, strict=True)
        )

    def _ending(
        self,
        tx: Transaction,
        row: sa.Row[Any],
        observation: Observation,
        decision: Decision,
        duration_seconds: int,
    ) -> Transition:
        assert decision.move is not None  # noqa: S101 - chosen by the caller
        has_output = decision.move.target is _S.RETRIEVING
        facts: dict[str, Any] = {
            "last_observation": decision.last_seen.dump(),
            "poll_count": row.poll_count + 1,
            "polls_metered": row.poll_count + 1,
            "outcome_class": decision.outcome and str(decision.outcome),
            "outcome_reason": observation.reason or decision.reason,
            "next_poll_at": None,
            "result_expires_at": _expiry(observation),
            "ended_at": None if has_output else tx.now,
        }
        return Transition(
            "attempt",
            row,
            decision.move,
            self.actor,
            decision.reason,
            facts=facts,
            usage=_usage(row, observation, decision, duration_seconds),
            topics=self._topics(decision),
            release=True,
        )

    def _topics(self, decision: Decision) -> tuple[Topic, ...]:
        if decision.move is not None and decision.move.target is _S.RETRIEVING:
            return (Topic.OUTPUT_REPORTED,)
        return (Topic.ENDED_UNBILLED,) if decision.may_try_anew else ()

    def _stay(
        self, tx: Transaction, stayed: Sequence[tuple[sa.Row[Any], Observation, Decision]]
    ) -> Counter[str]:
        """Plain looks change no visible fact; the first one past the deadline does (G4)."""
        visible: list[tuple[sa.Row[Any], Decision]] = []
        plain: list[tuple[sa.Row[Any], Decision]] = []
        for row, _, decision in stayed:
            changes = decision.becomes_overdue or _cancel_is_due(row)
            (visible if changes else plain).append((row, decision))
        verdicts = apply(tx, [self._visible(tx, row, decision) for row, decision in visible])
        looked = record_looks(tx, [_look(row, decision) for row, decision in plain])
        lost = len(plain) - looked + sum(verdict is not Verdict.APPLIED for verdict in verdicts)
        return Counter({"unchanged": len(stayed) - lost, "lost": lost})

    def _visible(self, tx: Transaction, row: sa.Row[Any], decision: Decision) -> Transition:
        look = _look(row, decision)
        facts: dict[str, Any] = {
            "poll_count": look.poll_count,
            "next_poll_at": look.next_poll_at,
            "last_observation": look.last_observation,
        }
        if decision.becomes_overdue:
            facts["overdue_at"] = tx.now
        if _cancel_is_due(row):
            facts["cancel_sent_at"] = tx.now
        reason = "deadline_passed" if decision.becomes_overdue else "cancel_sent"
        anew = decision.becomes_overdue and self.terms.on_overdue is OnOverdue.NEW_ATTEMPT
        topics = (Topic.OVERDUE,) if anew else ()
        return Transition("attempt", row, None, self.actor, reason, facts=facts, topics=topics, release=True)


def _cancel_is_due(row: sa.Row[Any]) -> bool:
    return row.cancel_wanted_at is not None and row.cancel_sent_at is None


def _look(row: sa.Row[Any], decision: Decision) -> Look:
    next_poll_at = decision.next_poll_at
    return Look(
        attempt=row.id,
        lease_token=row.lease_token,
        poll_count=row.poll_count + 1,
        next_poll_at=None if next_poll_at is None else int(next_poll_at.timestamp() * SECOND),
        last_observation=decision.last_seen.dump(),
    )


def _usage(
    row: sa.Row[Any], observation: Observation, decision: Decision, duration_seconds: int
) -> tuple[Usage, ...]:
    """Polls since the last move, and what was generated when the provider says so or is paid for it."""
    usage = [Usage("status_requests", row.poll_count + 1 - row.polls_metered)]
    if decision.hold is HoldFate.SETTLE:
        usage.append(Usage("generated_seconds", duration_seconds))
    if observation.billed_units is not None:
        usage.append(Usage("provider_units", observation.billed_units))
    return tuple(usage)


def _expiry(observation: Observation) -> int | None:
    outputs = [output for output in observation.outputs if isinstance(output, UrlOutput)]
    times = [output.expires_at for output in outputs if output.expires_at is not None]
    return min((int(time.timestamp() * SECOND) for time in times), default=None)


def _time(micros: int) -> datetime:
    return datetime.fromtimestamp(micros / SECOND, UTC)


def _spread() -> float:
    return random.random()  # noqa: S311 - spreads load, guards nothing
