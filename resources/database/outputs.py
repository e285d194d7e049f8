"""How owned outputs stand: wanted, selected, judged, shown. One batched read for derive, index and publish.

Belongs here: that read, the newest verdict on an output, and the plain predicates over a row. Does not
belong here: what follows from it (steps), or the pointer's move (`publications`).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import sqlalchemy as sa

from resources.database.objects import SERVING_STATES
from resources.database.schema import (
    attempts,
    decisions,
    objects,
    publications,
    renditions,
    selections,
    slot_wants,
    slots,
)
from resources.database.settings import in_force

ACCEPT, DECLINE = "accept", "decline"
#: Moves that a person makes, and that nothing undoes by itself.
_BY_PEOPLE = ("withdraw", "roll_back")


def newest_verdict(
    attempt: sa.ColumnElement[Any], column: sa.Column[Any] = decisions.c.verdict
) -> sa.ScalarSelect[Any]:
    """What a reviewer said last about the attempt's output; NULL when nothing was said."""
    return (
        sa.select(column)
        .where(
            decisions.c.kind == "acceptance",
            decisions.c.subject_kind == "attempt",
            decisions.c.subject_id == attempt,
        )
        .order_by(decisions.c.id.desc())
        .limit(1)
        .correlate(attempts)
        .scalar_subquery()
    )


def outputs(
    connection: sa.Connection, attempt_ids: Collection[str], *, lock_slots: bool = False
) -> dict[str, sa.Row[Any]]:
    """By attempt id: its slot's columns, and `attempt`, `attempt_state`, `rendition`, `locale`,
    `selected_attempt`, `object`, `object_state`, `cancel_wanted_at`, `verdict`, `tags_version` of the slot's
    newest publication, and the times that `is_held` compares.

    With *lock_slots* the slots stay as they are until the transaction ends.
    """
    last = publications.alias("last")
    wanted = (
        sa.select(
            slots,
            attempts.c.id.label("attempt"),
            attempts.c.state.label("attempt_state"),
            renditions.c.id.label("rendition"),
            renditions.c.locale,
            renditions.c.selected_attempt,
            attempts.c.object.label("object"),
            attempts.c.cancel_wanted_at,
            objects.c.state.label("object_state"),
            newest_verdict(attempts.c.id).label("verdict"),
            newest_verdict(attempts.c.id, decisions.c.at).label("verdict_at"),
            last.c.tags_version,
            _held_since(last).label("held_since"),
            _newest(slot_wants.c.at, slot_wants.c.slot == slots.c.id).label("wanted_at"),
            _newest(selections.c.at, selections.c.rendition == renditions.c.id).label("selected_at"),
        )
        .select_from(attempts)
        .join(renditions, renditions.c.id == attempts.c.rendition)
        .join(slots, slots.c.id == renditions.c.slot)
        .outerjoin(objects, objects.c.id == attempts.c.object)
        .outerjoin(last, sa.and_(last.c.slot == slots.c.id, last.c.number == slots.c.version))
        .where(attempts.c.id.in_(attempt_ids))
        .order_by(slots.c.id)
    )
    if lock_slots:
        wanted = wanted.with_for_update(of=slots)
    return {row.attempt: row for row in connection.execute(wanted)}


def _held_since(last: sa.FromClause) -> sa.ColumnElement[Any]:
    """When a person moved the slot away from this object, if that is the slot's newest move."""
    earlier = publications.alias("earlier")
    was_shown = sa.exists().where(
        earlier.c.slot == slots.c.id,
        earlier.c.object == attempts.c.object,
        earlier.c.number < slots.c.version,
    )
    return sa.case((sa.and_(last.c.move.in_(_BY_PEOPLE), was_shown), last.c.from_at))


def _newest(column: sa.Column[Any], where: sa.ColumnElement[bool]) -> sa.ScalarSelect[Any]:
    return sa.select(sa.func.max(column)).where(where).correlate(slots, renditions).scalar_subquery()


def settings_of(connection: sa.Connection, found: Collection[sa.Row[Any]], at: int) -> dict[str, sa.Row[Any]]:
    """The settings that hold at *at* for the campaign of each row, by campaign."""
    settings = {name: in_force(connection, name, at) for name in {row.campaign for row in found}}
    return {name: row for name, row in settings.items() if row is not None}


def is_to_be_shown(output: sa.Row[Any]) -> bool:
    """Whether it is the selected attempt of the rendition that its slot wants; any other one rests (L4)."""
    is_selected: bool = output.selected_attempt == output.attempt
    return is_selected and bool(output.wanted_rendition == output.rendition)


def is_shown(output: sa.Row[Any]) -> bool:
    return bool(output.published_object == output.object and output.published_rendition == output.rendition)


def serves(output: sa.Row[Any]) -> bool:
    return output.object_state in SERVING_STATES


def is_unwanted(output: sa.Row[Any]) -> bool:
    """A person asked to cancel it and its output came all the same: it is shown only when accepted (L1)."""
    if output.cancel_wanted_at is None:
        return False
    return output.verdict != ACCEPT or bool(output.verdict_at < output.cancel_wanted_at)


def is_held(output: sa.Row[Any]) -> bool:
    """A person withdrew it or rolled back from it, and nobody wanted, selected or accepted it since (T6)."""
    if output.held_since is None:
        return False
    accepted_at = output.verdict_at if output.verdict == ACCEPT else None
    since = [at for at in (output.wanted_at, output.selected_at, accepted_at) if at is not None]
    return all(at <= output.held_since for at in since)
