"""How the newest revisions of campaigns stand, part by part, in a few batched reads (E1).

Belongs here: counts and versions as the rows say them. Does not belong here: whether a part is complete
(`pipeline.steps.answer.standing`), or the projected words (`wish_facts`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from resources.database.derivatives import picture_count
from resources.database.schema import (
    attempts,
    campaigns,
    decisions,
    index_entries,
    objects,
    renditions,
    revision_sources,
    revisions,
    wishes,
)


@dataclass(frozen=True, slots=True)
class RevisionParts:
    """What there is of one campaign's newest revision."""

    campaign: str
    title: str
    revision: str
    number: int
    state: str
    asset_set_sha256: str | None
    decision: Mapping[str, str] = field(default_factory=dict)  #: verdict, policy, reason, actor
    sources: Mapping[str, int] = field(default_factory=dict)  #: by standing
    attempts: Mapping[str, int] = field(default_factory=dict)  #: by state, of every attempt
    videos: int = 0  #: owned by the selected attempts
    video_bytes: int = 0
    pictures: int = 0
    entries: Mapping[str, int] = field(default_factory=dict)  #: of the tag index, by standing
    profile_versions: frozenset[str] = frozenset()
    transform_versions: frozenset[str] = frozenset()


Counts = Mapping[str, Mapping[str, int]]


def revision_parts(connection: sa.Connection, campaign_ids: Collection[str]) -> dict[str, RevisionParts]:
    """By campaign; one that has no revision is absent."""
    found = _newest(connection, campaign_ids)
    ids = [row.id for row in found]
    sources, made, entries = (
        _counted(connection, statement) for statement in (_sources(ids), _attempts(ids), _entries(ids))
    )
    outputs, decided = _outputs(connection, ids), _decided(connection, ids)
    return {
        row.campaign: RevisionParts(
            campaign=row.campaign,
            title=row.title,
            revision=row.id,
            number=row.number,
            state=row.state,
            asset_set_sha256=row.asset_set_sha256,
            decision=decided.get(row.id, {}),
            sources=sources.get(row.id, {}),
            attempts=made.get(row.id, {}),
            entries=entries.get(row.id, {}),
            **outputs.get(row.id, {}),
        )
        for row in found
    }


def _newest(connection: sa.Connection, campaign_ids: Collection[str]) -> list[sa.Row[Any]]:
    wanted = (
        sa.select(revisions, campaigns.c.title)
        .join(campaigns, campaigns.c.id == revisions.c.campaign)
        .where(campaigns.c.id.in_(campaign_ids), revisions.c.number == campaigns.c.newest_revision)
    )
    return list(connection.execute(wanted.order_by(revisions.c.campaign)))


def _counted(connection: sa.Connection, statement: sa.Select[Any]) -> Counts:
    counts: dict[str, dict[str, int]] = defaultdict(dict)
    for revision, word, number in connection.execute(statement):
        counts[revision][word] = number
    return counts


def _sources(ids: Collection[str]) -> sa.Select[Any]:
    return (
        sa.select(revision_sources.c.revision, revision_sources.c.standing, sa.func.count())
        .where(revision_sources.c.revision.in_(ids))
        .group_by(revision_sources.c.revision, revision_sources.c.standing)
    )


def _attempts(ids: Collection[str]) -> sa.Select[Any]:
    return (
        sa.select(wishes.c.revision, attempts.c.state, sa.func.count())
        .join(attempts, attempts.c.rendition == wishes.c.rendition)
        .where(wishes.c.revision.in_(ids))
        .group_by(wishes.c.revision, attempts.c.state)
    )


def _entries(ids: Collection[str]) -> sa.Select[Any]:
    return (
        sa.select(wishes.c.revision, index_entries.c.standing, sa.func.count())
        .join(index_entries, index_entries.c.rendition == wishes.c.rendition)
        .where(wishes.c.revision.in_(ids))
        .group_by(wishes.c.revision, index_entries.c.standing)
    )


def _outputs(connection: sa.Connection, ids: Collection[str]) -> dict[str, dict[str, Any]]:
    rows: dict[str, list[sa.Row[Any]]] = defaultdict(list)
    for row in connection.execute(_owned(ids)):
        rows[row.revision].append(row)
    return {
        revision: {
            "videos": len(owned),
            "video_bytes": sum(row.size_bytes for row in owned),
            "pictures": sum(row.pictures for row in owned),
            "profile_versions": frozenset(row.profile_version for row in owned),
            "transform_versions": _known(row.derived_version for row in owned),
        }
        for revision, owned in rows.items()
    }


def _known(versions: Iterable[str | None]) -> frozenset[str]:
    return frozenset(version for version in versions if version is not None)


def _owned(ids: Collection[str]) -> sa.Select[Any]:
    """One row a video that the selected attempt of a wish owns."""
    return (
        sa.select(
            wishes.c.revision,
            objects.c.size_bytes,
            renditions.c.profile_version,
            attempts.c.derived_version,
            picture_count().label("pictures"),
        )
        .join(renditions, renditions.c.id == wishes.c.rendition)
        .join(attempts, attempts.c.id == renditions.c.selected_attempt)
        .join(objects, objects.c.id == attempts.c.object)
        .where(wishes.c.revision.in_(ids))
    )


def _decided(connection: sa.Connection, ids: Collection[str]) -> dict[str, dict[str, str]]:
    """The newest moderation decision of each revision."""
    wanted = (
        sa.select(decisions)
        .where(
            decisions.c.kind == "moderation",
            decisions.c.subject_kind == "revision",
            decisions.c.subject_id.in_(ids),
        )
        .order_by(decisions.c.id)
    )
    return {
        row.subject_id: {
            "verdict": row.verdict,
            "policy": row.policy_version,
            "reason": row.reason,
            "actor": row.actor,
        }
        for row in connection.execute(wanted)
    }
