"""Make outputs findable, then show them: entry visible first, pointer second, standing last (T1, T6, L4).

Belongs here: what becomes of each claimed attempt in `stored` and `indexed`, and the order of the three.
Does not belong here: what the index is told (`index`), or a person's moves (`withdraw`, `roll_back`).
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from pipeline.domain.brief import Publish
from pipeline.domain.follow_ons import Topic
from pipeline.domain.lifecycle import AttemptState, Move, Parked
from pipeline.domain.renditions import entry_id
from pipeline.steps.produce.lot import ItemResult
from pipeline.steps.produce.shown import candidate, shown
from pipeline.steps.produce.telling import SECOND, Heard, Told, note, say, tell, wait_seconds
from resources.database.database import Database, Transaction
from resources.database.index_entries import say_again, want_candidates
from resources.database.objects import hold_objects
from resources.database.outputs import (
    ACCEPT,
    DECLINE,
    is_held,
    is_shown,
    is_to_be_shown,
    is_unwanted,
    outputs,
    serves,
    settings_of,
)
from resources.database.publications import PointerMove, PublicationMove, move_pointers
from resources.database.transitions import Transition, Verdict, apply, message, post
from resources.tag_index.protocol import TagIndex

_S = AttemptState


class Next(enum.StrEnum):
    """What is right for one owned output now."""

    SHOW = "show"
    SHOWN = "shown"  #: its slot shows it already
    RESTS = "rests"  #: not selected, or not wanted: kept for audit
    AWAITS = "awaits_acceptance"  #: the campaign publishes on approval
    DECLINED = "declined"  #: a reviewer said no
    CANCELLED = "cancel_wanted"  #: it came although a person asked to cancel it
    HELD = "held"  #: a person moved the slot away from it
    GONE = "gone"  #: its bytes do not serve any more


def what_next(output: sa.Row[Any], settings: sa.Row[Any]) -> Next:
    """The first that holds. Anything but SHOW leaves the slot as it is."""
    by_approval = settings.publish != Publish.AUTO
    rules: tuple[tuple[bool, Next], ...] = (
        (not serves(output), Next.GONE),
        (is_shown(output), Next.SHOWN),
        (not is_to_be_shown(output), Next.RESTS),
        (output.verdict == DECLINE, Next.DECLINED),
        (by_approval and output.verdict != ACCEPT, Next.AWAITS),
        (is_unwanted(output), Next.CANCELLED),
        (is_held(output), Next.HELD),
    )
    return next((what for holds, what in rules if holds), Next.SHOW)


def publish_group(
    database: Database, rows: Sequence[sa.Row[Any]], *, index: TagIndex, actor: str = "publisher"
) -> list[ItemResult]:
    """Index and publish claimed *rows* (attempts in `stored` with a manifest, or `indexed`).

    Words: `published`, `indexed` (visible as a candidate; the reason says what it waits for), `rests`,
    `unchanged`, `parked` (the index refuses it for good), `postponed`, `lost`.
    """
    if not rows:
        return []
    publishing = _Publishing(database, index, actor)
    told = publishing.make_visible(rows)
    results, touched = database.run(lambda tx: publishing.settle(tx, rows, told))
    tell(database, index, touched)
    return results


@dataclass(frozen=True, slots=True)
class _Settled:
    """One attempt, what is right for it, and the transition that says so."""

    row: sa.Row[Any]
    what: Next
    transition: Transition
    word: str


@dataclass(frozen=True, slots=True)
class _Publishing:
    database: Database
    index: TagIndex
    actor: str

    def make_visible(self, rows: Sequence[sa.Row[Any]]) -> dict[str, Told]:
        """See that searches find what is to be indexed or shown, before any pointer moves; by attempt."""
        with self.database.reading() as connection:
            found = outputs(connection, [row.id for row in rows])
            settings = settings_of(connection, found.values(), self.database.clock(connection))
        wanted = [
            candidate(found[row.id], settings[row.campaign])
            for row in rows
            if _needs_entry(row, found[row.id], settings[row.campaign])
        ]
        if not wanted:
            return {}
        self.database.run(lambda tx: want_candidates(tx, wanted))
        told = say(self.database, self.index, [one.entry for one in wanted])
        return {one.attempt: told[one.entry] for one in wanted}

    def settle(
        self, tx: Transaction, rows: Sequence[sa.Row[Any]], told: Mapping[str, Told]
    ) -> tuple[list[ItemResult], list[str]]:
        """Commit what is right by fresh facts; results, and the entries whose standing changed.

        Slots are locked first. A row whose lease is lost moves nothing, so a decline or a roll-back that
        took the lease over cannot be overtaken.
        """
        fresh = outputs(tx.connection, [row.id for row in rows], lock_slots=True)
        note(tx, told.values())
        hold_objects(tx, {output.object for output in fresh.values() if output.object})
        settings = settings_of(tx.connection, fresh.values(), tx.now)
        settled = [
            self._settled(tx, row, what_next(fresh[row.id], settings[row.campaign]), told.get(row.id))
            for row in rows
        ]
        verdicts = apply(tx, [one.transition for one in settled])
        words = {
            one.row.id: one.word if verdict is Verdict.APPLIED else "lost"
            for one, verdict in zip(settled, verdicts, strict=True)
        }
        to_show = [fresh[attempt] for attempt, word in words.items() if word == "published"]
        words |= self._show(tx, to_show, settings)
        _say_amended_again(tx, fresh.values(), settings)
        results = [
            ItemResult(one.row.id, one.row.campaign, words[one.row.id], one.transition.reason)
            for one in settled
        ]
        touched = [entry for output in to_show for entry in _entries(output)]
        return results, touched

    def _settled(self, tx: Transaction, row: sa.Row[Any], what: Next, told: Told | None) -> _Settled:
        is_stored = row.state == _S.STORED
        needs_entry = what not in (Next.RESTS, Next.GONE) if is_stored else what is Next.SHOW
        if told is None and needs_entry:
            return self._later(tx, row, what, "wanted_meanwhile", 0)
        if told is not None and told.heard is Heard.REFUSED:
            return self._parked(row, what, told)
        if told is not None and told.heard is Heard.LATER:
            return self._later(tx, row, what, told.reason, row.work_tries + 1)
        moves = is_stored and told is not None
        word = _WORDS[what] if not moves or what is Next.SHOW else "indexed"
        facts = {"next_action_at": None, "work_tries": 0, "parked_reason": None}
        move = Move(_S.STORED, _S.INDEXED) if moves else None
        transition = Transition("attempt", row, move, self.actor, str(what), facts=facts, release=True)
        return _Settled(row, what, transition, word)

    def _later(self, tx: Transaction, row: sa.Row[Any], what: Next, reason: str, tries: int) -> _Settled:
        wait = int(wait_seconds(row.work_tries) * SECOND) if tries else 0
        facts = {"next_action_at": tx.now + wait, "work_tries": tries}
        detail = {"problem": reason}
        transition = Transition(
            "attempt", row, None, self.actor, "index_later", facts=facts, detail=detail, release=True
        )
        return _Settled(row, what, transition, "postponed")

    def _parked(self, row: sa.Row[Any], what: Next, told: Told) -> _Settled:
        facts = {
            "parked_reason": str(Parked.UNINDEXABLE),
            "outcome_reason": told.reason[:200],
            "next_action_at": None,
        }
        detail = {"problem": told.reason}
        transition = Transition(
            "attempt", row, None, self.actor, "index_refused", facts=facts, detail=detail, release=True
        )
        return _Settled(row, what, transition, "parked")

    def _show(
        self, tx: Transaction, found: Sequence[sa.Row[Any]], settings: Mapping[str, sa.Row[Any]]
    ) -> dict[str, str]:
        """Move pointers; words by attempt. One that lost comes again."""
        moves = [
            PointerMove(
                output,
                PublicationMove.PUBLISH,
                shown(output, settings[output.campaign]),
                self.actor,
                "newest_wanted_output",
            )
            for output in found
        ]
        moved = dict(zip([output.attempt for output in found], move_pointers(tx, moves), strict=True))
        lost = [output for output in found if not moved[output.attempt]]
        post(tx, [message(tx, Topic.INDEXED, one.tenant, one.attempt, tx.operation_id) for one in lost])
        return {attempt: "published" if holds else "postponed" for attempt, holds in moved.items()}


_WORDS: Mapping[Next, str] = {
    Next.SHOW: "published",
    Next.SHOWN: "unchanged",
    Next.RESTS: "rests",
    Next.AWAITS: "unchanged",
    Next.DECLINED: "unchanged",
    Next.CANCELLED: "unchanged",
    Next.HELD: "unchanged",
    Next.GONE: "rests",
}


def _needs_entry(row: sa.Row[Any], output: sa.Row[Any], settings: sa.Row[Any]) -> bool:
    if row.state == _S.STORED:
        return is_to_be_shown(output) and serves(output)
    return what_next(output, settings) is Next.SHOW


def _say_amended_again(
    tx: Transaction, found: Collection[sa.Row[Any]], settings: Mapping[str, sa.Row[Any]]
) -> None:
    """What is shown under other required tags than hold now is due for its retag (`index`)."""
    behind = [
        one for one in found if is_shown(one) and one.tags_version != settings[one.campaign].tags_version
    ]
    if behind:
        say_again(tx, [entry_id(one.tenant, one.rendition, one.object) for one in behind])


def _entries(output: sa.Row[Any]) -> list[str]:
    """The entry that became current, and the one that made way for it."""
    entries = [entry_id(output.tenant, output.rendition, output.object)]
    if output.published_object is not None:
        entries.append(entry_id(output.tenant, output.published_rendition, output.published_object))
    return entries
