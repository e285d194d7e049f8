"""The SQL tag index: a copy of what may be found, which can be thrown away and rebuilt (T5).

Belongs here: the tables of `resources.tag_index.sql` and the DDL that metadata cannot hold. Does not belong
here: `index_entries`, which says what any tag index should hold.

The free-text table differs by dialect and is no part of the metadata: the migration runs each statement of
`CREATE_SEARCH_TEXT[dialect]` after the tables, and `DROP_SEARCH_TEXT` before them on the way down. A
comparison of metadata and database leaves out every table whose name starts with `SEARCH_TEXT` (FTS5 keeps
its data in four more tables of that prefix).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import sqlalchemy as sa

from resources.database.schema.base import JsonText, RowNumber, metadata

search_entries = sa.Table(
    "search_entries",
    metadata,
    sa.Column("number", RowNumber, primary_key=True, autoincrement=True),  # joins tags and text
    sa.Column("entry_id", sa.Text, nullable=False),
    sa.Column("tenant", sa.Text, nullable=False),
    sa.Column("rendition", sa.Text, nullable=False, server_default=""),  # this and below: '' in a tombstone
    sa.Column("object", sa.Text, nullable=False, server_default=""),
    sa.Column("campaign", sa.Text, nullable=False, server_default=""),
    sa.Column("slot", sa.Text, nullable=False, server_default=""),
    sa.Column("locale", sa.Text, nullable=False, server_default=""),
    sa.Column("asset_type", sa.Text, nullable=False, server_default=""),
    sa.Column("visibility", sa.Text, nullable=False, server_default=""),
    sa.Column("retention_class", sa.Text, nullable=False, server_default=""),
    sa.Column("standing", sa.Text, nullable=False),  # candidate, current, tombstone
    sa.Column("version", sa.BigInteger, nullable=False),  # the entry's own counter; a lower one never wins
    sa.Column("created_at", sa.BigInteger, nullable=False, server_default="0"),  # microseconds
    sa.Column("tags", JsonText, nullable=False, server_default="{}"),  # as written
    sa.Column("tokens", JsonText, nullable=False, server_default="[]"),
    sa.UniqueConstraint("tenant", "entry_id"),
    sa.Index(None, "tenant", "created_at", "entry_id"),
    sa.Index(None, "tenant", "campaign"),
)

#: One row an exact tag value, in its exact form (NFC, casefold).
search_tags = sa.Table(
    "search_tags",
    metadata,
    sa.Column("entry", RowNumber, sa.ForeignKey("search_entries.number"), primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, primary_key=True),
    sa.Column("tenant", sa.Text, nullable=False),
    sa.Index(None, "tenant", "value", "name", "entry"),
)

SEARCH_TEXT = "search_text"

#: Ready tokens, no analysis: FTS5's `ascii` tokenizer takes every other character as part of a word, and
#: array_to_tsvector takes lexemes as they are.
CREATE_SEARCH_TEXT: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "sqlite": (
            """CREATE VIRTUAL TABLE search_text
            USING fts5(tokens, tokenize = 'ascii', detail = 'none', columnsize = 0)""",
        ),
        "postgresql": (
            """CREATE TABLE search_text (
            entry BIGINT NOT NULL CONSTRAINT pk_search_text PRIMARY KEY
            CONSTRAINT fk_search_text_entry_search_entries REFERENCES search_entries (number),
            tokens TSVECTOR NOT NULL)""",
            "CREATE INDEX ix_search_text_tokens ON search_text USING gin (tokens)",
        ),
    }
)
DROP_SEARCH_TEXT = f"DROP TABLE {SEARCH_TEXT}"
