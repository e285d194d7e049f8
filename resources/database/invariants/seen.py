"""What was seen outside of the database, beside it for the length of one transaction.

Belongs here: the temporary tables that invariants read, and filling them. Does not belong here: looking
into store, index or provider (`pipeline.steps.operate.check`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import sqlalchemy as sa

from resources.database.schema.base import JsonText

_seen = sa.MetaData()


def _table(name: str, *columns: sa.schema.SchemaItem) -> sa.Table:
    """Gone at the end of the transaction, also where a connection goes back into a pool."""
    return sa.Table(name, _seen, *columns, prefixes=["TEMPORARY"], postgresql_on_commit="DROP")


object_seen = _table(
    "object_seen",
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("size_bytes", sa.BigInteger, nullable=False),
    sa.Column("sha256", sa.Text),  # NULL: the bytes were not read
    sa.Column("modified_at", sa.BigInteger, nullable=False),
    sa.Column("is_temporary", sa.BigInteger, nullable=False),  # what a write left that never ended
)

index_seen = _table(
    "index_seen",
    sa.Column("entry_id", sa.Text, nullable=False),
    sa.Column("tenant", sa.Text, nullable=False),
    sa.Column("rendition", sa.Text, nullable=False),
    sa.Column("object", sa.Text, nullable=False),
    sa.Column("standing", sa.Text, nullable=False),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("required_tags", JsonText, nullable=False),
    sa.PrimaryKeyConstraint("tenant", "entry_id"),
)

remote_seen = _table(
    "remote_seen",
    sa.Column("provider", sa.Text, primary_key=True),
    sa.Column("handle", sa.Text, primary_key=True),
    sa.Column("reference", sa.Text, nullable=False),
    sa.Column("idempotency_key", sa.Text),  # NULL where the provider does not name it
)

#: The pictures of the transform version in force; of an older one nobody knows the full number any more.
picture_wanted = _table(
    "picture_wanted",
    sa.Column("transform_version", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
)

#: How each provider finds a lost submission again (G9): by key, look-up, listing, or not at all.
provider_class = _table(
    "provider_class",
    sa.Column("provider", sa.Text, primary_key=True),
    sa.Column("class", sa.Text, nullable=False),
)


@dataclass(frozen=True, slots=True)
class SeenObject:
    key: str
    size_bytes: int
    modified_at: int  #: UTC microseconds
    sha256: str | None = None
    is_temporary: bool = False


@dataclass(frozen=True, slots=True)
class SeenEntry:
    entry_id: str
    tenant: str
    rendition: str
    object: str
    standing: str
    version: int
    required_tags: dict[str, str]


@dataclass(frozen=True, slots=True)
class SeenJob:
    """A remote job as the provider's listing, look-up or bill names it."""

    provider: str
    handle: str
    reference: str
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What was looked at; None: not looked at, so nothing is said that depends on it."""

    at: int  #: UTC microseconds, before the first look
    objects: Sequence[SeenObject] | None = None
    entries: Sequence[SeenEntry] | None = None
    jobs: Sequence[SeenJob] | None = None
    pictures: Sequence[tuple[str, str]] = ()  #: transform version and name
    classes: Mapping[str, str] = field(default_factory=dict)  #: reconciliation class by provider


def lay_beside(connection: sa.Connection, seen: Snapshot) -> None:
    """Make and fill the temporary tables in the connection's transaction."""
    _seen.create_all(connection, checkfirst=False)
    objects = ({**asdict(one), "is_temporary": int(one.is_temporary)} for one in seen.objects or ())
    _fill(connection, object_seen, objects)
    _fill(connection, index_seen, map(asdict, seen.entries or ()))
    _fill(connection, remote_seen, map(asdict, seen.jobs or ()))
    _fill(
        connection,
        picture_wanted,
        ({"transform_version": version, "name": name} for version, name in seen.pictures),
    )
    _fill(connection, provider_class, ({"provider": name, "class": of} for name, of in seen.classes.items()))


def _fill(connection: sa.Connection, table: sa.Table, rows: Iterable[dict[str, Any]]) -> None:
    values = list(rows)
    if values:
        connection.execute(sa.insert(table), values)
