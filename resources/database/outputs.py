"""How owned outputs stand: wanted, selected, judged, shown. One batched read for derive, index and publish.

Belongs here: that read, and the newest verdict on an output. Does not belong here: what follows from it
(steps), or the pointer's move (`publications`).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import sqlalchemy as sa

from resources.database.schema import attempts, decisions, objects, publications, renditions, slots


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
    """By attempt id: its slot's columns, and `attempt`, `rendition`, `selected_attempt`, `object`,
    `object_state`, `verdict`, `verdict_at`, `withdrawn_at`.

    `withdrawn_at` is when this very object was withdrawn from the slot, if nothing was shown there since.
    With *lock_slots* the slots stay as they are until the transaction ends.
    """
    last, before = publications.alias("last"), publications.alias("before")
    withdrawn = sa.case(
        (sa.and_(last.c.move == "withdraw", before.c.object == attempts.c.object), last.c.from_at)
    )
    wanted = (
        sa.select(
            slots,
            attempts.c.id.label("attempt"),
            attempts.c.state.label("attempt_state"),
            renditions.c.id.label("rendition"),
            renditions.c.selected_attempt,
            attempts.c.object.label("object"),
            objects.c.state.label("object_state"),
            newest_verdict(attempts.c.id).label("verdict"),
            newest_verdict(attempts.c.id, decisions.c.at).label("verdict_at"),
            withdrawn.label("withdrawn_at"),
        )
        .select_from(attempts)
        .join(renditions, renditions.c.id == attempts.c.rendition)
        .join(slots, slots.c.id == renditions.c.slot)
        .outerjoin(objects, objects.c.id == attempts.c.object)
        .outerjoin(last, sa.and_(last.c.slot == slots.c.id, last.c.number == slots.c.version))
        .outerjoin(before, sa.and_(before.c.slot == slots.c.id, before.c.number == slots.c.version - 1))
        .where(attempts.c.id.in_(attempt_ids))
        .order_by(slots.c.id)
    )
    if lock_slots:
        wanted = wanted.with_for_update(of=slots)
    return {row.attempt: row for row in connection.execute(wanted)}


def is_to_be_shown(output: sa.Row[Any]) -> bool:
    """Whether it is the selected attempt of the rendition that its slot wants; any other one rests (L4)."""
    is_selected: bool = output.selected_attempt == output.attempt
    return is_selected and bool(output.wanted_rendition == output.rendition)
