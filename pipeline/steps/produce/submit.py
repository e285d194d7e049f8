"""Send queued attempts to their providers, each paid for once.

Belongs here: the order of commits around a send (G2, G3): intent, key and hold durable, then one POST,
then the answer durable. Does not belong here: what a lost answer leads to (`reconcile_unknown`), or which
attempts may be sent (`resources.database.claims`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from pipeline.domain.errors import OverBudget, StoreUnavailable
from pipeline.domain.follow_ons import Stage
from pipeline.domain.lifecycle import AttemptState, Move, Parked, Submission
from pipeline.domain.outcomes import HoldFate, Outcome
from pipeline.domain.provider_terms import ProviderTerms
from pipeline.steps.produce.answers import bind, ended, not_sent, result_of
from pipeline.steps.produce.inputs import Inputs, InputsGone
from pipeline.steps.produce.lot import ItemResult, LotReport, work_lot
from pipeline.steps.produce.sending import Sending, job_of, post_each
from resources.database.attempts import attempts_by_id, renditions_of
from resources.database.budgets import hold
from resources.database.database import Database, Transaction
from resources.database.lane_claims import claim_submissions
from resources.database.lanes import free_abandoned, leave, set_caps
from resources.database.restored import restored_from
from resources.database.sends import (
    possible_start,
    record_answer,
    record_sends,
    settled_starts,
    still_ours,
)
from resources.database.transitions import Transition, Verdict, apply
from resources.object_store.protocol import ObjectStore
from resources.providers.protocol import (
    Accepted,
    Job,
    NotSent,
    Provider,
    Refused,
    SubmissionUnknown,
    SubmitAnswer,
)

SECOND = 1_000_000
#: A lost answer is looked into once its sender is surely gone: longer than any send may take.
LOOK_AFTER_SECONDS = 5
#: An attempt whose inputs cannot be read now is tried again after this long.
STORE_RETRY_SECONDS = 30

_RESULTS: Mapping[type, str] = {Refused: "refused", NotSent: "not_sent"}
_S = AttemptState


def submit_lot(
    database: Database,
    providers: Mapping[str, Provider],
    terms: Mapping[str, ProviderTerms],
    store: ObjectStore,
    spool: Path,
    *,
    actor: str = "submitter",
    items: int = 500,
    campaign: str | None = None,
) -> LotReport:
    """Submit what is due (of one campaign, or of all), provider by provider, within caps."""
    began = time.monotonic()
    results: list[ItemResult] = []
    for name in sorted(terms):
        one = Submitting(database, providers[name], terms[name], Inputs(database, store, spool), actor)
        one.open_lanes()
        report = work_lot(
            database,
            Stage.SUBMIT,
            lambda tx, owner, size, name=name: claim_submissions(tx, name, owner, size, campaign),  # type: ignore[misc]
            one.submit_group,
            items=items - len(results),
        )
        results += report.results
    return LotReport(Stage.SUBMIT, tuple(results), time.monotonic() - began)


@dataclass(frozen=True, slots=True)
class Submitting:
    """Submissions to one provider."""

    database: Database
    provider: Provider
    terms: ProviderTerms
    inputs: Inputs
    actor: str

    def open_lanes(self) -> None:
        """The caps of the provider list hold from this lot on, and the dead hold no places."""
        caps = {"cap": self.terms.in_flight, "tenant_cap": self.terms.in_flight_per_tenant}

        def work(tx: Transaction) -> None:
            set_caps(tx, self.terms.name, **caps)
            free_abandoned(tx, self.terms.name)

        self.database.run(work)

    def submit_group(self, rows: Sequence[sa.Row[Any]]) -> list[ItemResult]:
        """Send claimed *rows* in waves of the provider's concurrency: one commit before, one after each."""
        results: list[ItemResult] = []
        for start in range(0, len(rows), self.terms.submit_concurrency):
            results += self._wave(rows[start : start + self.terms.submit_concurrency])
        return results

    def _wave(self, rows: Sequence[sa.Row[Any]]) -> list[ItemResult]:
        ready, results = self._prepare(rows)
        if not ready:
            return results
        sending, parked = self.database.run(lambda tx: self.begin(tx, ready))
        results += parked
        if not sending:
            return results
        answers = asyncio.run(self.send(sending))
        return results + self.database.run(lambda tx: self.record(tx, sending, answers))

    def _prepare(self, rows: Sequence[sa.Row[Any]]) -> tuple[list[tuple[sa.Row[Any], Job]], list[ItemResult]]:
        """Bring inputs to the spool; what cannot be sent ends, what cannot be read now waits."""
        with self.database.reading() as connection:
            wanted = renditions_of(connection, rows)
        ready: list[tuple[sa.Row[Any], Job]] = []
        results: list[ItemResult] = []
        for row in rows:
            rendition = wanted[row.rendition]
            try:
                images = self.inputs.of(rendition)
            except InputsGone as gone:
                results.append(self._give_up(row, "inputs_gone", str(gone)))
            except StoreUnavailable as error:
                results.append(self._postpone(row, error.reason))
            else:
                ready.append((row, job_of(row, rendition, images)))
        return ready, results

    def begin(
        self, tx: Transaction, ready: Sequence[tuple[sa.Row[Any], Job]]
    ) -> tuple[list[Sending], list[ItemResult]]:
        """Commit intent, key, hold and the send that is about to happen, for those still ours."""
        ours = still_ours(tx, [row for row, _ in ready])
        parked: list[ItemResult] = []
        held: list[tuple[sa.Row[Any], Job]] = []
        for row, job in ready:
            if row.id not in ours:
                continue
            try:
                hold(tx, row)
            except OverBudget as error:
                parked.append(self._park(tx, row, error))
            else:
                held.append((row, job))
        dumped_at = restored_from(tx.connection)
        forgotten = set() if dumped_at is None else {row.id for row, _ in held if not row.send_tries}
        verdicts = apply(
            tx, [self._intent(tx, row, dumped_at if row.id in forgotten else None) for row, _ in held]
        )
        assert all(verdict is Verdict.APPLIED for verdict in verdicts), "a locked row moved"  # noqa: S101
        record_sends(tx, [row for row, _ in held if row.id not in forgotten])
        record_sends(tx, [row for row, _ in held if row.id in forgotten], dumped_at)
        return self._as_they_are(tx, held, forgotten), parked

    def _intent(self, tx: Transaction, row: sa.Row[Any], dumped_at: int | None) -> Transition:
        """`submission` is `unknown` from before the first byte until the answer is durable.

        With *dumped_at* it stays so: it may have been sent since then, and is looked for before it is.
        """
        queued = row.state == _S.QUEUED
        return Transition(
            "attempt",
            row,
            Move(_S.QUEUED, _S.SUBMITTING) if queued else None,
            self.actor,
            "looked_for_first" if dumped_at is not None else "claimed" if queued else "sent_again",
            facts={
                "submission": str(Submission.UNKNOWN),
                "send_tries": row.send_tries + 1,
                "parked_reason": None,
                "next_action_at": None,
                "last_observation": None,
                "submitted_at": tx.now if dumped_at is None else dumped_at,
                "next_poll_at": tx.now + self.look_after_seconds * SECOND,
            },
        )

    @property
    def look_after_seconds(self) -> int:
        return max(LOOK_AFTER_SECONDS, self.provider.lookup_lag_seconds)

    def _as_they_are(
        self, tx: Transaction, held: Sequence[tuple[sa.Row[Any], Job]], forgotten: Collection[str]
    ) -> list[Sending]:
        now = attempts_by_id(tx.connection, [row.id for row, _ in held])
        return [
            Sending(
                now[row.id],
                job,
                now[row.id].send_tries,
                was_lost=row.submission == Submission.UNKNOWN,
                is_held_back=row.id in forgotten,
            )
            for row, job in held
        ]

    async def send(self, sending: Sequence[Sending]) -> list[SubmitAnswer]:
        """What a dump may have forgotten is not sent: its answer is that nobody knows."""
        return await post_each(self.database, self.provider, sending)

    def record(
        self, tx: Transaction, sending: Sequence[Sending], answers: Sequence[SubmitAnswer]
    ) -> list[ItemResult]:
        """Make answers durable. A worker that lost its lease meanwhile changes nothing but evidence."""
        results = []
        for item, answer in zip(sending, answers, strict=True):
            results.append(self._record_one(tx, item, answer))
        return results

    def _record_one(self, tx: Transaction, item: Sending, answer: SubmitAnswer) -> ItemResult:
        row = item.row
        match answer:
            case Accepted(handle):
                record_answer(tx, row, item.n, "accepted", handle)
                usage = settled_starts(tx, row)
                return bind(tx, row, handle, self.terms, found_by="answer", actor=self.actor, usage=usage)
            case Refused() | NotSent() if item.was_lost:  # says nothing of the send before
                record_answer(tx, row, item.n, _RESULTS[type(answer)], answer.reason)
                return self._lose(tx, row, answer.reason)
            case Refused(outcome, reason):
                record_answer(tx, row, item.n, "refused", reason)
                return self._refuse(tx, row, outcome, reason)
            case NotSent():
                record_answer(tx, row, item.n, "not_sent", answer.reason)
                return not_sent(
                    tx,
                    row,
                    self.terms,
                    reason=answer.reason,
                    wait_seconds=answer.retry_after_seconds,
                    actor=self.actor,
                )
            case SubmissionUnknown(reason):
                record_answer(tx, row, item.n, "unknown", reason)
                return self._lose(tx, row, reason)

    def _refuse(self, tx: Transaction, row: sa.Row[Any], outcome: Outcome, reason: str) -> ItemResult:
        return ended(
            tx,
            row,
            _S.FAILED,
            outcome,
            reason,
            actor=self.actor,
            hold=HoldFate.RELEASE,
            submission=Submission.REFUSED,
        )

    def _lose(self, tx: Transaction, row: sa.Row[Any], reason: str) -> ItemResult:
        transition = Transition(
            "attempt",
            row,
            None,
            self.actor,
            "submission_unknown",
            facts={"next_poll_at": tx.now + self.look_after_seconds * SECOND},
            usage=possible_start(tx, row),
            detail={"reason": reason},
            release=True,
        )
        return result_of(tx, transition, "unknown", reason)

    def _park(self, tx: Transaction, row: sa.Row[Any], error: OverBudget) -> ItemResult:
        transition = Transition(
            "attempt",
            row,
            None,
            self.actor,
            str(Parked.OVER_BUDGET),
            facts={"parked_reason": str(Parked.OVER_BUDGET), "next_action_at": None},
            detail={"wanted": error.wanted, "free": error.free, "currency": error.currency},
            release=True,
        )
        leave(tx, [row])
        return result_of(tx, transition, "parked", str(Parked.OVER_BUDGET))

    def _give_up(self, row: sa.Row[Any], reason: str, problem: str) -> ItemResult:
        if row.submission == Submission.UNKNOWN:
            return self.database.run(lambda tx: self._lose(tx, row, reason))
        return self.database.run(
            lambda tx: ended(
                tx,
                row,
                _S.FAILED,
                Outcome.INVALID_REQUEST,
                reason,
                actor=self.actor,
                hold=HoldFate.RELEASE,
                detail={"problem": problem},
            )
        )

    def _postpone(self, row: sa.Row[Any], reason: str) -> ItemResult:
        if row.submission == Submission.UNKNOWN:
            return self.database.run(lambda tx: self._lose(tx, row, reason))

        def work(tx: Transaction) -> ItemResult:
            transition = Transition(
                "attempt",
                row,
                None,
                self.actor,
                reason,
                facts={"next_action_at": tx.now + STORE_RETRY_SECONDS * SECOND},
                release=True,
            )
            result = result_of(tx, transition, "postponed", reason)
            if result.word == "postponed":  # else the place is somebody else's by now
                leave(tx, [row])
            return result

        return self.database.run(work)
