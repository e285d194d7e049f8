"""Derivative manifests: which pictures were made of a source's bytes under one transform version (D1).

Belongs here: the manifest's rows. Does not belong here: making the pictures (`resources.media`), or their
keys (`pipeline.domain.renditions`).

A manifest belongs to a tenant's bytes, not to a rendition: another one with equal bytes shares it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from resources.database.database import Transaction
from resources.database.objects import SERVING_STATES
from resources.database.schema import attempts, derivatives, objects
from resources.database.upsert import insert_for


@dataclass(frozen=True, slots=True)
class Picture:
    """One row of a manifest; `object` holds its bytes."""

    name: str
    object: str
    width: int
    height: int
    format: str
    size_bytes: int
    at_source_width: bool


def picture_count() -> sa.ScalarSelect[int]:
    """How many pictures a statement's object has in the version that its attempt was derived under."""
    return (
        sa.select(sa.func.count())
        .select_from(derivatives)
        .where(
            derivatives.c.tenant == objects.c.tenant,
            derivatives.c.source_sha256 == objects.c.sha256,
            derivatives.c.transform_version == attempts.c.derived_version,
        )
        .correlate(objects, attempts)
        .scalar_subquery()
    )


def manifests(
    connection: sa.Connection, version: str, sources: Collection[tuple[str, str]]
) -> dict[tuple[str, str], list[sa.Row[Any]]]:
    """The rows under *version* for each (tenant, source SHA-256), with `key` and `state` of their objects.

    Only pictures that still serve are named: one that was purged is to be made again.
    """
    found = connection.execute(
        sa.select(derivatives, objects.c.key, objects.c.state)
        .join(objects, objects.c.id == derivatives.c.object)
        .where(
            derivatives.c.transform_version == version,
            derivatives.c.source_sha256.in_({sha256 for _, sha256 in sources}),
            objects.c.state.in_(SERVING_STATES),
        )
        .order_by(derivatives.c.name)
    )
    rows: dict[tuple[str, str], list[sa.Row[Any]]] = defaultdict(list)
    for row in found:
        if (row.tenant, row.source_sha256) in sources:
            rows[row.tenant, row.source_sha256].append(row)
    return rows


def record_manifest(
    tx: Transaction, tenant: str, source_sha256: str, version: str, pictures: Sequence[Picture]
) -> None:
    """Write a manifest; the same one twice is one, and a picture that was made again replaces its row."""
    insert = insert_for(tx.connection, derivatives)
    changed = ("object", "width", "height", "format", "size_bytes", "at_source_width")
    tx.connection.execute(
        insert.on_conflict_do_update(
            index_elements=["tenant", "source_sha256", "transform_version", "name"],
            set_={name: insert.excluded[name] for name in changed},
        ),
        [
            {
                "tenant": tenant,
                "source_sha256": source_sha256,
                "transform_version": version,
                "name": one.name,
                "object": one.object,
                "width": one.width,
                "height": one.height,
                "format": one.format,
                "size_bytes": one.size_bytes,
                "at_source_width": int(one.at_source_width),
            }
            for one in pictures
        ],
    )
