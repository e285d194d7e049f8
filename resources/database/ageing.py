"""How long unfinished attempts are where they are, and which campaigns are unfinished (E5).

Belongs here: the rows. Does not belong here: how long is too long (`pipeline.steps.operate.check_ages`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from pipeline.domain.lifecycle import UNOWNED_STATES, AttemptState
from resources.database.schema import attempts, audit, campaigns, renditions, revisions, slots, wishes

_UNOWNED = [str(state) for state in UNOWNED_STATES]


def unfinished_attempts(connection: sa.Connection) -> Sequence[sa.Row[Any]]:
    """Attempts that are not owned yet, that wait in `stored` to be shown, or that are parked; with `since`,
    when they came to their state (its move stands in the audit, found by the unique index of the chain)."""
    is_wanted = sa.and_(
        renditions.c.selected_attempt == attempts.c.id, slots.c.wanted_rendition == renditions.c.id
    )
    waits = sa.or_(
        attempts.c.state.in_(_UNOWNED),
        sa.and_(
            attempts.c.state.in_([str(AttemptState.STORED), str(AttemptState.INDEXED)]),
            is_wanted,
            sa.or_(attempts.c.state == str(AttemptState.STORED), attempts.c.parked_reason.is_not(None)),
        ),
    )
    moved = sa.and_(
        audit.c.subject_kind == "attempt",
        audit.c.subject_id == attempts.c.id,
        audit.c.version == attempts.c.version,
    )
    since = sa.func.coalesce(audit.c.at, attempts.c.created_at).label("since")
    return connection.execute(
        sa.select(attempts, since)
        .select_from(attempts.outerjoin(audit, moved))
        .join(renditions, renditions.c.id == attempts.c.rendition)
        .join(slots, slots.c.id == renditions.c.slot)
        .where(waits)
        .order_by(attempts.c.id)
    ).all()


def unshown_campaigns(connection: sa.Connection) -> list[str]:
    """Campaigns whose newest revision wants something that its slot does not show."""
    newest = sa.and_(
        revisions.c.campaign == campaigns.c.id, revisions.c.number == campaigns.c.newest_revision
    )
    is_elsewhere = sa.or_(
        wishes.c.rendition.is_(None), slots.c.published_rendition.is_distinct_from(wishes.c.rendition)
    )
    found = connection.scalars(
        sa.select(campaigns.c.id)
        .join(revisions, newest)
        .join(wishes, wishes.c.revision == revisions.c.id)
        .join(slots, slots.c.id == wishes.c.slot)
        .where(is_elsewhere)
        .distinct()
        .order_by(campaigns.c.id)
    )
    return list(found)
