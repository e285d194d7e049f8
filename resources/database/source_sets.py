"""What became of a revision's sources: judged files, owned originals with their upright pictures, the set.

Belongs here: statements over `revision_sources` and `source_assets`. Does not belong here: judging a picture
(`resources.media`), or bytes in the store.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from pipeline.domain.errors import StoreUnavailable
from resources.database.database import Transaction
from resources.database.derivatives import Picture, record_manifest
from resources.database.objects import (
    SERVING_STATES,
    NewObject,
    Use,
    descend,
    hold_objects,
    is_used,
    own,
    use,
)
from resources.database.schema import objects, revision_sources, source_assets
from resources.database.upsert import insert_for

MISSING, GROWING, REFUSED, PRESENT = "missing", "growing", "refused", "present"


@dataclass(frozen=True, slots=True)
class OwnedSource:
    """An original that lies durably in the store, with the cleaned picture that was made of it."""

    original: NewObject
    upright: NewObject
    transform_version: str
    name: str  #: of the derivative
    width: int
    height: int
    format: str


@dataclass(frozen=True, slots=True)
class Judged:
    """What a look at one named source came to."""

    position: int
    standing: str
    reason: str | None = None
    problem: str | None = None
    seen_size: int | None = None  #: the file as it was judged; None when there was none to judge
    seen_modified_at: int | None = None
    asset: str | None = None  #: a source asset that is known already …
    owned: OwnedSource | None = None  #: … or one that becomes one now


def asset_id(tenant: str, sha256: str) -> str:
    return f"{tenant}/{sha256}"


def asset_by_sha256(connection: sa.Connection, tenant: str, sha256: str) -> sa.Row[Any] | None:
    """With `object_state`: an original that was purged is to be delivered again."""
    wanted = (
        sa.select(source_assets, objects.c.state.label("object_state"))
        .join(objects, objects.c.id == source_assets.c.object)
        .where(source_assets.c.id == asset_id(tenant, sha256))
    )
    return connection.execute(wanted).one_or_none()


def facts_by_name(connection: sa.Connection, revision: str) -> dict[str, Any]:
    """The recorded facts of a revision's pictures by the name that the brief gives them, in scene order."""
    rows = connection.execute(
        sa.select(revision_sources.c.name, source_assets.c.facts)
        .join(source_assets, source_assets.c.id == revision_sources.c.source_asset)
        .where(revision_sources.c.revision == revision)
        .order_by(revision_sources.c.position)
    )
    return {row.name: row.facts for row in rows}


def record_judged(tx: Transaction, revision: sa.Row[Any], judged: Sequence[Judged]) -> None:
    """Write what was found; originals that are new become source assets of the tenant."""
    for one in judged:
        asset = _own(tx, revision, one.owned) if one.owned else one.asset
        tx.connection.execute(
            sa.update(revision_sources)
            .where(revision_sources.c.revision == revision.id, revision_sources.c.position == one.position)
            .values(
                standing=one.standing,
                reason=one.reason,
                problem=one.problem,
                seen_size=one.seen_size,
                seen_modified_at=one.seen_modified_at,
                source_asset=asset,
            )
        )
        if asset is not None:
            _use(tx, revision, asset)


def _own(tx: Transaction, revision: sa.Row[Any], new: OwnedSource) -> str:
    """Original, upright picture, source asset; equal bytes of one tenant are one (I2)."""
    tenant, sha256 = revision.tenant, new.original.sha256
    ids = own(tx, [new.original, new.upright])
    original, upright = ids[new.original.key], ids[new.upright.key]
    insert = insert_for(tx.connection, source_assets).values(
        id=asset_id(tenant, sha256),
        tenant=tenant,
        sha256=sha256,
        object=original,
        media_type=new.original.media_type,
        facts=dict(new.original.facts),
        created_at=tx.now,
    )
    again = {"object": original}  # the same bytes may come again after their purge
    tx.connection.execute(insert.on_conflict_do_update(index_elements=["id"], set_=again))
    descend(tx, tenant, original, [upright])
    picture = Picture(
        new.name, upright, new.width, new.height, new.format, new.upright.size_bytes, at_source_width=True
    )
    record_manifest(tx, tenant, sha256, new.transform_version, [picture])
    return asset_id(tenant, sha256)


def _use(tx: Transaction, revision: sa.Row[Any], asset: str) -> None:
    """The revision needs the original, and its campaign pays for it.

    Raises StoreUnavailable (`purged_meanwhile`) when retention was first; the next look takes it up anew.
    """
    held = str(tx.connection.scalar(sa.select(source_assets.c.object).where(source_assets.c.id == asset)))
    wanted = Use(held, "revision", revision.id, revision.tenant)
    if is_used(tx, wanted):
        return
    hold_objects(tx, [held])
    if tx.connection.scalar(sa.select(objects.c.state).where(objects.c.id == held)) not in SERVING_STATES:
        raise StoreUnavailable("purged_meanwhile", f"source asset {asset} is or was being purged meanwhile")
    use(tx, [wanted])
