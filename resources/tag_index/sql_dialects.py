"""Where the two databases differ in free text: how tokens are written, forgotten and matched.

Belongs here: what only one dialect understands. Does not belong here: anything both share (`sql`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from resources.database.schema.index import SEARCH_TEXT, search_entries

_NUMBER = search_entries.c.number
_FTS5 = sa.table(SEARCH_TEXT, sa.column("rowid", sa.Integer), sa.column("tokens", sa.Text))
_TSVECTOR = sa.table(SEARCH_TEXT, sa.column("entry", sa.BigInteger), sa.column("tokens", postgresql.TSVECTOR))


@dataclass(frozen=True, slots=True)
class Dialect:
    insert: Callable[[sa.Table], Any]  #: the INSERT that knows ON CONFLICT
    write_text: sa.Insert  #: rows of `number` and `words`
    forget_text: Callable[[Sequence[int]], sa.Delete]
    as_tokens: Callable[[Sequence[str]], Any]  #: the value of `words`
    has_text: Callable[[Sequence[str]], sa.ColumnElement[bool]]  #: whether an entry has every token


def _fts5_has(tokens: Sequence[str]) -> sa.ColumnElement[bool]:
    wanted = " AND ".join(f'"{token}"' for token in tokens)
    return _NUMBER.in_(sa.select(_FTS5.c.rowid).where(sa.column(SEARCH_TEXT).op("MATCH")(wanted)))


def _tsvector_has(tokens: Sequence[str]) -> sa.ColumnElement[bool]:
    wanted = sa.cast(" & ".join(f"'{token}'" for token in tokens), postgresql.TSQUERY)
    return _NUMBER.in_(sa.select(_TSVECTOR.c.entry).where(_TSVECTOR.c.tokens.op("@@")(wanted)))


_LEXEMES = sa.cast(sa.bindparam("words"), postgresql.ARRAY(sa.Text))

#: Tokens are letters, marks and digits (`text_problem`), so that quoting them is all the syntax there is.
DIALECTS: Mapping[str, Dialect] = MappingProxyType(
    {
        "sqlite": Dialect(
            insert=sqlite.insert,
            write_text=sa.insert(_FTS5).values(rowid=sa.bindparam("number"), tokens=sa.bindparam("words")),
            forget_text=lambda numbers: sa.delete(_FTS5).where(_FTS5.c.rowid.in_(numbers)),
            as_tokens=" ".join,
            has_text=_fts5_has,
        ),
        "postgresql": Dialect(
            insert=postgresql.insert,
            write_text=sa.insert(_TSVECTOR).values(
                entry=sa.bindparam("number"), tokens=sa.func.array_to_tsvector(_LEXEMES)
            ),
            forget_text=lambda numbers: sa.delete(_TSVECTOR).where(_TSVECTOR.c.entry.in_(numbers)),
            as_tokens=list,
            has_text=_tsvector_has,
        ),
    }
)
