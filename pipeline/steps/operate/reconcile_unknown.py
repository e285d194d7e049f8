"""Find out what became of submissions whose answer was lost (G3, G9).

Belongs here: asking the provider in the way its class allows, and making the finding durable. Does not
belong here: the rule (`pipeline.domain.reconciling`).
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from pipeline.domain.lifecycle import Parked
from pipeline.domain.outcomes import Reconciliation
from pipeline.domain.reconciling import Conduct, Lost, Next, reconcile
from pipeline.steps.produce.answers import bind, not_sent, result_of
from pipeline.steps.produce.lot import ItemResult, Owner
from pipeline.steps.produce.submit import Submitting
from resources.database.claims import claim_unknown
from resources.database.database import Database, Transaction
from resources.database.sends import (
    first_sent_at,
    possible_start,
    record_remote_job,
    settled_starts,
)
from resources.database.transitions import Transition
from resources.http.client import HttpClient
from resources.providers.protocol import Found, LookUpAnswer

SECOND = 1_000_000
BATCH = 50
#: Between two looks for a lost submission.
LOOK_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Finding:
    """What is known of one lost submission after this look."""

    row: sa.Row[Any]
    jobs: tuple[Found, ...]
    next: Next


def reconcile_unknown(
    database: Database, submitting: Mapping[str, Submitting], *, limit: int = BATCH
) -> Counter[str]:
    """Work on lost submissions of each provider that are due; counts by what was done."""
    counts: Counter[str] = Counter()
    owner = Owner().name
    for name, one in sorted(submitting.items()):
        rows = database.run(lambda tx, name=name: claim_unknown(tx, name, owner, limit))  # type: ignore[misc]
        if rows:
            counts += Counter(result.word for result in Reconciling(one).work_on(rows))
    return counts


@dataclass(frozen=True, slots=True)
class Reconciling:
    """Lost submissions of one provider."""

    submitting: Submitting
    actor: str = "reconciler"

    def work_on(self, rows: Sequence[sa.Row[Any]]) -> list[ItemResult]:
        findings = self._findings(rows)
        again = [finding.row for finding in findings if finding.next is Next.RESEND]
        others = [finding for finding in findings if finding.next is not Next.RESEND]
        results = self.submitting.submit_group(again)
        if others:
            results += self.submitting.database.run(
                lambda tx: [self._record(tx, finding) for finding in others]
            )
        return results

    def _findings(self, rows: Sequence[sa.Row[Any]]) -> list[Finding]:
        answer = asyncio.run(self._ask(rows))
        database, provider = self.submitting.database, self.submitting.provider
        with database.reading() as connection:
            now, first = database.clock(connection), first_sent_at(connection, [row.id for row in rows])
        conduct = Conduct(provider.key_window_seconds, provider.lookup_lag_seconds)
        findings = []
        for row in rows:
            jobs = tuple(found for found in answer.found if found.reference == row.id)
            lost = Lost(
                provider.reconciliation,
                seconds_since_first_send=(now - first.get(row.id, now)) / SECOND,
                seconds_since_send=(now - row.submitted_at) / SECOND,
                looks=looks_of(row) + answer.complete,
                found=len(jobs),
                answer_is_complete=answer.complete,
            )
            findings.append(Finding(row, jobs, reconcile(lost, conduct)))
        return findings

    async def _ask(self, rows: Sequence[sa.Row[Any]]) -> LookUpAnswer:
        provider = self.submitting.provider
        if provider.reconciliation is Reconciliation.NONE:
            return LookUpAnswer((), complete=False)
        since = datetime.fromtimestamp(min(row.submitted_at for row in rows) / SECOND, UTC)
        async with HttpClient() as client:
            return await provider.find(client, [row.id for row in rows], since=since)

    def _record(self, tx: Transaction, finding: Finding) -> ItemResult:
        row, terms = finding.row, self.submitting.terms
        settled = settled_starts(tx, row)
        match finding.next:
            case Next.BIND:
                first, *others = finding.jobs
                for other in others:  # a second job under one reference is evidence of a double start
                    record_remote_job(tx, row, other.handle, found_by="look_up", bound=False)
                return bind(tx, row, first.handle, terms, found_by="look_up", actor=self.actor, usage=settled)
            case Next.NOT_SENT:
                return not_sent(tx, row, terms, reason="absent_at_provider", actor=self.actor, usage=settled)
            case Next.AWAIT_VERDICT:
                return self._await(tx, row)
            case _:
                return self._look_again(tx, row)

    def _await(self, tx: Transaction, row: sa.Row[Any]) -> ItemResult:
        transition = Transition(
            "attempt",
            row,
            None,
            self.actor,
            str(Parked.AWAITING_VERDICT),
            facts={"parked_reason": str(Parked.AWAITING_VERDICT), "next_poll_at": None},
            usage=possible_start(tx, row),
            release=True,
        )
        return result_of(tx, transition, "awaiting_verdict")

    def _look_again(self, tx: Transaction, row: sa.Row[Any]) -> ItemResult:
        lag = self.submitting.provider.lookup_lag_seconds
        sent = row.submitted_at + lag * SECOND
        transition = Transition(
            "attempt",
            row,
            None,
            self.actor,
            "looked_for_lost_submission",
            facts={
                "last_observation": json.dumps({"lost_looks": looks_of(row) + (tx.now >= sent)}),
                "next_poll_at": max(tx.now + LOOK_SECONDS * SECOND, sent),
            },
            usage=possible_start(tx, row),
            release=True,
        )
        return result_of(tx, transition, "looking")


def looks_of(row: sa.Row[Any]) -> int:
    """Looks after the lag that found nothing, as the row remembers them."""
    seen = json.loads(row.last_observation or "{}")
    return int(seen.get("lost_looks", 0)) if isinstance(seen, dict) else 0
