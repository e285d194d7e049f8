"""Looks at time: attempts that are longer where they are than their state allows, unfinished revisions (E5).

Belongs here: how long is too long, from each provider's own terms. Does not belong here: mending it
(`reconcile`), or broken promises (`resources.database.invariants`).

Who holds a lease works on it, and what is paused waits on purpose: neither is too old. A provider's purge
horizon knows no lease and no pause.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import sqlalchemy as sa

from pipeline.domain.completion import is_complete
from pipeline.domain.lifecycle import AttemptState, Parked, Submission, Word
from pipeline.domain.provider_terms import ProviderTerms
from pipeline.steps.answer.status import Wanted, WishStatus, completion_of, counts, projected
from pipeline.steps.operate.checked import Looked, Offence, Severity
from pipeline.steps.operate.recover import STAGE_OF
from resources.adapters import Adapters
from resources.database.ageing import unfinished_attempts, unshown_campaigns
from resources.database.pauses import active_pauses, is_paused

SECOND = 1_000_000
#: An item that is due for longer than this is stuck: several ticks of every sensor went by.
SETTLED_SECONDS = 900
#: The longest wait between two tries of a fetch, of a send or of derivation.
LONGEST_WAIT_SECONDS = 600
#: An output that its provider deletes within this time and that nobody fetched.
LAST_HOUR_SECONDS = 3_600
#: Unfinished campaigns that are asked one by one; more of them are read in one go.
ONE_BY_ONE = 20

_A, _E, _W = AttemptState, Severity.ERROR, Severity.WARN


@dataclass(frozen=True, slots=True)
class Limit:
    """Too old is what is later than *column* of its row (a time) and *seconds* more."""

    severity: Severity
    reason: str
    column: str
    seconds: Callable[[ProviderTerms], float]
    knows_no_pause: bool = False

    def is_passed(self, row: sa.Row[Any], terms: ProviderTerms, now: int) -> bool:
        start = getattr(row, self.column)
        return start is not None and start + self.seconds(terms) * SECOND < now


def _always(seconds: float) -> Callable[[ProviderTerms], float]:
    return lambda _terms: seconds


#: By state, the worst first; `lost` is a submission whose answer was lost.
LIMITS: Mapping[str, tuple[Limit, ...]] = MappingProxyType(
    {
        _A.QUEUED: (
            Limit(_W, "not sent for as long as a job may run", "since", lambda terms: terms.deadline_seconds),
        ),
        _A.SUBMITTING: (
            Limit(
                _W, "not sent for as long as all its tries may take", "since",
                lambda terms: terms.send_tries * LONGEST_WAIT_SECONDS,
            ),
        ),
        "lost": (
            Limit(
                _W, "nobody found out what became of its send", "submitted_at", _always(SETTLED_SECONDS)
            ),
        ),
        _A.GENERATING: (
            Limit(
                _E, "the provider has surely deleted its output by now", "purge_horizon_at",
                _always(SETTLED_SECONDS), knows_no_pause=True,
            ),
            Limit(_W, "past its deadline", "deadline_at", _always(0)),
        ),
        _A.RETRIEVING: (
            Limit(
                _E, "the provider deletes its output within the hour", "result_expires_at",
                _always(-LAST_HOUR_SECONDS), knows_no_pause=True,
            ),
            Limit(
                _W, "not fetched for as long as all its tries may take", "since",
                lambda terms: terms.fetch_tries * LONGEST_WAIT_SECONDS,
            ),
        ),
        _A.STORED: (Limit(_W, "owned and not shown", "since", _always(3 * LONGEST_WAIT_SECONDS)),),
    }
)  # fmt: skip

#: What a person must decide; no age makes it worse. A budget is the campaign's own affair and only counts.
_PARKED: Mapping[str, str] = MappingProxyType(
    {
        Parked.AWAITING_VERDICT: "only a person can say whether its send was taken",
        Parked.UNDERIVABLE: "no pictures can be made of it",
        Parked.UNINDEXABLE: "the tag index refuses it",
    }
)


def attempt_ages(adapters: Adapters) -> Looked:
    """No attempt is longer in its state than that state allows."""
    database = adapters.database
    with database.reading() as connection:
        now, pauses = database.clock(connection), active_pauses(connection)
        rows = unfinished_attempts(connection)
    found = [one for row in rows for one in _too_old(row, adapters.terms, pauses, now)]
    return Looked(tuple(found), len(found), f"every one of {len(rows)} unfinished attempts")


def _too_old(
    row: sa.Row[Any], terms: Mapping[str, ProviderTerms], pauses: Sequence[sa.Row[Any]], now: int
) -> Iterator[Offence]:
    """At most one offence a row: the worst."""
    if row.parked_reason is not None:
        if row.parked_reason in _PARKED:
            yield Offence(row.id, _PARKED[row.parked_reason], _W)
        return
    if row.provider not in terms:
        yield Offence(row.id, f"its provider {row.provider} is not in the provider list", _W)
        return
    rests = row.lease_until > now or is_paused(pauses, _stage(row), row.provider, row.tenant)
    for limit in LIMITS.get(_key(row), ()):
        if limit.is_passed(row, terms[row.provider], now) and (limit.knows_no_pause or not rests):
            yield Offence(row.id, f"{row.state}: {limit.reason}", limit.severity)
            return


def _key(row: sa.Row[Any]) -> str:
    is_lost = row.state == _A.SUBMITTING and row.submission == Submission.UNKNOWN
    return "lost" if is_lost else str(row.state)


def _stage(row: sa.Row[Any]) -> str:
    if _key(row) == "lost":
        return "poll"
    if row.state == _A.STORED and row.derived_version is not None:
        return "publish"
    return STAGE_OF.get(row.state, "")


#: Wishes that want a look stand first, those that move by themselves last.
_FIRST = (Word.FAILED, Word.UNRESOLVED, Word.CANCELLED, Word.REJECTED, Word.AWAITING_ACCEPTANCE)


def unfinished_revisions(adapters: Adapters) -> Looked:
    """Every campaign's newest revision is complete by its own policy; else the wishes that are not ready."""
    database = adapters.database
    with database.reading() as connection:
        unshown = unshown_campaigns(connection)
        wishes = _wishes(connection, unshown, database.clock(connection))
    unfinished = [found for found in wishes.values() if not is_complete(completion_of(found), counts(found))]
    waiting = [one for found in unfinished for one in found if one.word is not Word.READY]
    waiting.sort(key=lambda one: (_urgency(one.word), one.wish))
    offences = [Offence(one.wish, _said(one), _W) for one in waiting]
    return Looked(tuple(offences), len(offences), f"{len(unfinished)} campaigns that are not complete")


def _wishes(connection: sa.Connection, campaigns: Sequence[str], now: int) -> dict[str, list[WishStatus]]:
    if len(campaigns) <= ONE_BY_ONE:
        return {name: projected(connection, Wanted(campaign=name), now) for name in campaigns}
    found: dict[str, list[WishStatus]] = {name: [] for name in campaigns}
    for one in projected(connection, Wanted(), now):
        if one.campaign in found:
            found[one.campaign].append(one)
    return found


def _urgency(word: Word) -> int:
    return _FIRST.index(word) if word in _FIRST else len(_FIRST)


def _said(wish: WishStatus) -> str:
    why = ", ".join(wish.why) or (wish.outcome or "")
    return f"{wish.word} ({why})" if why else str(wish.word)
