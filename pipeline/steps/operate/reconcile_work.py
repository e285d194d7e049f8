"""Looks at what moves work on: messages, leases, lots, lanes, polls, due times (E6, L7, L11).

Belongs here: those looks and their repairs. Does not belong here: what is owned (`reconcile_owned`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from pipeline.domain.follow_ons import Stage
from pipeline.domain.lifecycle import AttemptState, SourceSetState, Submission
from pipeline.domain.next_action import Action, ItemFacts, NextAction, next_action
from pipeline.steps.operate.reconciled import ACTOR, FAR, ROWS, SECOND, SETTLED, Done, Finding, Item
from pipeline.steps.operate.relay_outbox import relay_outbox
from pipeline.steps.operate.request_lots import LOST_RUN
from pipeline.steps.operate.retry import may_try_anew
from pipeline.steps.produce.publish import Next, what_next
from pipeline.steps.produce.stages import poll_tick
from resources.adapters import Adapters
from resources.database.attempts import attempts_by_id
from resources.database.database import Database, Transaction
from resources.database.lanes import leave
from resources.database.lots import Lot, begun_lots, end_lot
from resources.database.outputs import ACCEPT, DECLINE, is_shown, outputs, settings_of
from resources.database.pauses import active_pauses, is_paused
from resources.database.transitions import TABLES, Transition, Verdict, apply
from resources.database.upkeep import (
    abandoned,
    dead_letters,
    forgotten_attempts,
    forgotten_revisions,
    holds_place_unsent,
    lane_providers,
    overdue_polls,
    recount_lanes,
    unended_lots,
    waiting_topics,
)

#: Providers are asked for so long; what is left stays due.
POLL_SECONDS = 20.0
#: A lease that ended so long ago is nobody's: its worker would have renewed it thirty times.
LEASE_OVER = 600 * SECOND


def messages(adapters: Adapters, now: int) -> Iterator[Finding]:
    """Deliver what waits; a message that was given up waits for a person."""
    database = adapters.database
    with database.reading() as connection:
        late = waiting_topics(connection, now - SETTLED)
    relay_outbox(database)
    with database.reading() as connection:
        left = waiting_topics(connection, now - SETTLED)
        dead = dead_letters(connection, ROWS)
    for topic, number in sorted(late.items()):
        done = Done.WAITS if topic in left else Done.MENDED
        after = f"{left.get(topic, 0)} undelivered"
        yield Finding(Item.MESSAGES, done, topic, "nobody relayed them", f"{number} undelivered", after)
    for one in dead:
        why = one.last_error or "given up"
        yield Finding(Item.MESSAGES, Done.LISTED, one.id, why, "a dead letter of a release that knew it")


def leases(adapters: Adapters, now: int) -> Iterator[Finding]:
    """Fence whoever left a lease long ago, and free what it held."""
    database = adapters.database
    for kind in ("attempt", "revision"):
        with database.reading() as connection:
            rows = abandoned(connection, TABLES[kind], now, before=now - LEASE_OVER, limit=ROWS)
        for row in rows:
            done = database.run(lambda tx, row=row, kind=kind: _free(tx, kind, row))  # type: ignore[misc]
            before = f"leased by {row.lease_owner} until {_time(row.lease_until)}"
            yield _of(row, Item.LEASES, done, "its worker is gone", before, f"token {row.lease_token + 1}")


def _free(tx: Transaction, kind: str, row: sa.Row[Any]) -> Done:
    """The token rises, so that the worker changes nothing should it come back."""
    detail = {"leased_by": row.lease_owner, "until": row.lease_until, "observed": row.entity_version}
    done = _apply(tx, Transition(kind, row, None, ACTOR, "lease_long_over", detail=detail, take_over=True))
    if done is Done.MENDED and kind == "attempt" and holds_place_unsent(row):
        leave(tx, [row])
    return done


def lots(adapters: Adapters, now: int, is_run_over: Callable[[str], bool] | None = None) -> Iterator[Finding]:
    """Close the rows of lots whose run is over, or so old that it must be."""
    database = adapters.database
    with database.reading() as connection:
        old = unended_lots(connection, now)
        begun = begun_lots(connection, now) if is_run_over else ()
    over = [row for row in begun if is_run_over and is_run_over(row.run_id)]
    for row in {(row.stage, row.number): row for row in (*old, *over)}.values():
        lot = Lot(Stage(row.stage), row.number)
        database.run(lambda tx, lot=lot: end_lot(tx, lot, {LOST_RUN: 1}))  # type: ignore[misc]
        began = f"began {_time(row.started_at)}" if row.started_at else "never began"
        subject = f"{row.stage}-{row.number}"
        yield Finding(Item.LOTS, Done.MENDED, subject, "its run is gone", f"open, {began}", LOST_RUN)


def lanes(adapters: Adapters, now: int) -> Iterator[Finding]:  # noqa: ARG001 - one signature for all looks
    """Set counters of jobs in flight to what they count, under the gate that claims pass."""
    with adapters.database.reading() as connection:
        providers = lane_providers(connection)
    for name in providers:
        recount = adapters.database.run(lambda tx, name=name: recount_lanes(tx, name))  # type: ignore[misc]
        for attempt in recount.given:
            yield Finding(
                Item.LANES, Done.MENDED, attempt, "it is in flight", "no place held", "a place held"
            )
        for attempt in recount.taken:
            yield Finding(
                Item.LANES, Done.MENDED, attempt, "it is not in flight", "a place held", "none held"
            )
        for one in recount.drifts:
            why = "the counter is not the number of attempts that hold a place"
            before, after = f"{one.counted} in flight", f"{one.found} in flight"
            yield Finding(Item.LANES, Done.MENDED, f"{name} {one.tenant}", why, before, after)


def polls(adapters: Adapters, now: int) -> Iterator[Finding]:
    """Ask providers about jobs that nobody looked at for long; the poller's own step does it.

    What follows is the provider's evidence and stands in the audit under whoever asked it, the poller.
    """
    late = _unpaused_polls(adapters.database, now)
    if not late:
        return
    poll_tick(adapters, POLL_SECONDS)
    with adapters.database.reading() as connection:
        fresh = attempts_by_id(connection, [row.id for row in late])
    for row in late:
        is_still = fresh[row.id].next_poll_at == row.next_poll_at and fresh[row.id].version == row.version
        done = Done.WAITS if is_still else Done.MENDED
        after = f"{fresh[row.id].state}, next look {_time(fresh[row.id].next_poll_at)}"
        why = "its look was due and nobody polled"
        yield _of(row, Item.POLLS, done, why, f"due since {_time(row.next_poll_at)}", after)


def _unpaused_polls(database: Database, now: int) -> list[sa.Row[Any]]:
    with database.reading() as connection:
        pauses = active_pauses(connection)
        late = overdue_polls(connection, now, before=now - SETTLED, limit=ROWS)
    return [row for row in late if not is_paused(pauses, "poll", row.provider, row.tenant)]


def states(adapters: Adapters, now: int) -> Iterator[Finding]:
    """Make due what has a next step and is due at no time: `next_action` decides, as it does for the plan."""
    database = adapters.database
    with database.reading() as connection:
        found = forgotten_attempts(connection, now, far=now + FAR, limit=ROWS)
        sets = forgotten_revisions(connection, now, far=now + FAR, limit=ROWS)
        owned = outputs(connection, [row.id for row in found])
        settings = settings_of(connection, owned.values(), now)
    for row in found:
        next_ = next_action(_facts(adapters, row, owned[row.id], settings[row.campaign]))
        if next_.action in _DUE_BY:
            column = _DUE_BY[next_.action]
            done = database.run(lambda tx, row=row, at=column: _make_due(tx, "attempt", row, at))  # type: ignore[misc]
            yield _due_again(row, done, next_, column)
    for row in sets:
        done = database.run(lambda tx, row=row: _make_due(tx, "revision", row, "next_action_at"))  # type: ignore[misc]
        yield _of(row, Item.STATES, done, "its round was never judged", f"{row.state}, due never", "due now")


#: The column that makes a next action due; all the others wait for a person, or for nobody.
_DUE_BY = {
    Action.SUBMIT: "next_action_at",
    Action.CHECK_DELIVERY: "next_action_at",
    Action.RESUME_PROCESSING: "next_action_at",
    Action.RETRY_BY_ITSELF: "next_action_at",
    Action.RECONCILE_UNKNOWN: "next_poll_at",
    Action.CONTINUE_POLLING: "next_poll_at",
}


def _facts(adapters: Adapters, row: sa.Row[Any], output: sa.Row[Any], settings: sa.Row[Any]) -> ItemFacts:
    """As the recovery plan sees it, and with what publication itself would do: it may be held by a person."""
    publication = what_next(output, settings)
    return ItemFacts(
        SourceSetState.APPROVED,
        attempt=AttemptState(row.state),
        submission=Submission(row.submission),
        is_selected=output.selected_attempt == row.id,
        is_wanted=output.wanted_rendition == output.rendition,
        is_published=is_shown(output),
        is_derived=row.derived_version is not None,
        by_approval=publication is Next.AWAITS,
        is_accepted=output.verdict == ACCEPT,
        is_declined=output.verdict == DECLINE,
        is_purged=row.object is not None and publication is Next.GONE,
        is_withdrawn=publication in (Next.HELD, Next.CANCELLED),
        may_try_anew=may_try_anew(row, row.attempts_made, adapters.terms.get(row.provider)),
    )


def _due_again(row: sa.Row[Any], done: Done, next_: NextAction, column: str) -> Finding:
    was = getattr(row, column)
    before = f"{row.state}, due {_time(was) if was else 'never'}"
    return _of(row, Item.STATES, done, f"{next_.action}: {next_.why}", before, "due now")


def _make_due(tx: Transaction, kind: str, row: sa.Row[Any], column: str) -> Done:
    detail = {"state": row.state, "was_due": getattr(row, column), "observed": row.entity_version}
    facts = {column: tx.now}
    return _apply(tx, Transition(kind, row, None, ACTOR, "made_due", facts=facts, detail=detail))


def _apply(tx: Transaction, one: Transition) -> Done:
    [verdict] = apply(tx, [one])
    return Done.MENDED if verdict is Verdict.APPLIED else Done.OVERTAKEN


def _of(row: sa.Row[Any], item: Item, done: Done, why: str, before: str, after: str) -> Finding:
    return Finding(item, done, row.id, why, before, after, row.campaign, int(row.version))


def _time(micros: int | None) -> str:
    return "never" if micros is None else datetime.fromtimestamp(micros // SECOND, UTC).isoformat()
