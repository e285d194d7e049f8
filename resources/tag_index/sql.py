"""The tag index in Reelwright's own database: FTS5 on SQLite, tsvector on PostgreSQL.

Belongs here: writing and reading `search_entries`, `search_tags` and the text table, in transactions of its
own. Does not belong here: analysis of any kind; tokens and exact tags come from `pipeline.domain.tags`.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from pipeline.domain.errors import IndexRefused, IndexUnavailable
from pipeline.domain.tags import Query, Visibility, exact
from resources.database.schema.index import search_entries, search_tags
from resources.tag_index.protocol import (
    BOTH_STANDINGS,
    FIELDS,
    MAX_FACET_VALUES,
    MAX_PAGE,
    Change,
    Entry,
    Facets,
    Outcome,
    Page,
    Standing,
    Tombstone,
    WriteResult,
    change_problem,
    query_problem,
)
from resources.tag_index.sql_dialects import DIALECTS

TOMBSTONE = "tombstone"
_E, _T = search_entries.c, search_tags.c
_BIGINT = 2**63
_LOST = (sa.exc.OperationalError, sa.exc.InterfaceError, sa.exc.TimeoutError)


class SqlTagIndex:
    """TagIndex on two engines of one database: transactions of *reader* take no write lock."""

    def __init__(self, writer: sa.Engine, reader: sa.Engine) -> None:
        self._writer = writer
        self._reader = reader
        self._dialect = DIALECTS[writer.dialect.name]

    def put(self, changes: Sequence[Change]) -> tuple[WriteResult, ...]:
        results = [WriteResult(change.entry_id, Outcome.NEWER_IS_THERE) for change in changes]
        good: list[int] = []
        for n, change in enumerate(changes):
            problem = change_problem(change)
            if problem:
                results[n] = WriteResult(change.entry_id, Outcome.REFUSED, problem)
            else:
                good.append(n)
        with _named_trouble(), self._writer.begin() as connection:
            for turn in _turns(changes, good):
                for n in self._write(connection, {n: changes[n] for n in turn}):
                    results[n] = WriteResult(changes[n].entry_id, Outcome.WRITTEN)
        return tuple(results)

    def _write(self, connection: sa.Connection, changes: Mapping[int, Change]) -> Collection[int]:
        """Write changes of different entries; says which won. The others' rows do not come back."""
        rows = [_row(change) for change in changes.values()]
        numbers = {
            (row.tenant, row.entry_id): row.number for row in connection.execute(self._upsert(rows[0]), rows)
        }
        won = {n: numbers[_name(change)] for n, change in changes.items() if _name(change) in numbers}
        self._replace_words(connection, {number: changes[n] for n, number in won.items()})
        return won

    def _upsert(self, columns: Mapping[str, Any]) -> sa.Executable:
        statement = self._dialect.insert(search_entries)
        upsert: sa.Executable = statement.on_conflict_do_update(
            index_elements=["tenant", "entry_id"],
            set_={name: statement.excluded[name] for name in columns},
            where=_E.version < statement.excluded.version,
        ).returning(_E.number, _E.tenant, _E.entry_id)
        return upsert

    def _replace_words(self, connection: sa.Connection, changes: Mapping[int, Change]) -> None:
        """Tags and text of entries by number; tombstones keep none."""
        live = {number: change for number, change in changes.items() if isinstance(change, Entry)}
        tags = [row for number, entry in live.items() for row in _tag_rows(number, entry)]
        text = [
            {"number": number, "words": self._dialect.as_tokens(entry.text)} for number, entry in live.items()
        ]
        connection.execute(sa.delete(search_tags).where(_T.entry.in_(list(changes))))
        connection.execute(self._dialect.forget_text(list(changes)))
        if tags:
            connection.execute(sa.insert(search_tags), tags)
        if text:
            connection.execute(self._dialect.write_text, text)

    def get(self, tenant: str, entry_ids: Sequence[str]) -> Mapping[str, Entry]:
        statement = sa.select(search_entries).where(
            _E.tenant == tenant, _E.entry_id.in_(list(entry_ids)), _E.standing != TOMBSTONE
        )
        with self._reading() as connection:
            entries = [_entry(row) for row in connection.execute(statement)]
        return {entry.entry_id: entry for entry in entries}

    def search(
        self,
        tenant: str,
        query: Query,
        *,
        standings: frozenset[Standing] = BOTH_STANDINGS,
        limit: int = 50,
        after: str | None = None,
        facets: Sequence[str] = (),
    ) -> Page:
        size = max(1, min(limit, MAX_PAGE))
        matches = self._matches(tenant, query, standings)
        page = sa.select(search_entries).where(*matches).order_by(_E.created_at.desc(), _E.entry_id)
        if after is not None:
            page = page.where(_follows(after))
        with self._reading() as connection:
            rows = connection.execute(page.limit(size + 1)).all()
            total = connection.execute(sa.select(sa.func.count()).where(*matches)).scalar_one()
            counted = self._counted(connection, tenant, query, facets) if facets else None
        hits = tuple(_entry(row) for row in rows[:size])
        return Page(hits, _cursor(hits[-1]) if len(rows) > size else None, total, counted)

    def require_writable(self) -> None:
        with _named_trouble(), self._writer.begin():
            pass

    def _counted(self, connection: sa.Connection, tenant: str, query: Query, names: Sequence[str]) -> Facets:
        current = self._matches(tenant, query, frozenset({Standing.CURRENT}))
        candidates = self._matches(tenant, query, frozenset({Standing.CANDIDATE}))
        waiting = sa.select(sa.func.count(_E.slot.distinct())).where(*candidates)
        counts = {name: _counted(connection, name, current) for name in dict.fromkeys(names)}
        return Facets(counts, connection.execute(waiting).scalar_one())

    def _matches(
        self, tenant: str, query: Query, standings: frozenset[Standing]
    ) -> list[sa.ColumnElement[bool]]:
        """Every condition of a search; the tenant is always the first."""
        problem = query_problem(query)
        if problem:
            raise IndexRefused(problem)
        fields = ((_E.campaign, query.campaign), (_E.locale, query.locale), (_E.asset_type, query.asset_type))
        conditions = [_E.tenant == tenant, _E.standing.in_(sorted(standings))]
        conditions += [column == value for column, value in fields if value is not None]
        if query.visibility is not None:
            conditions.append(_E.visibility.in_(sorted(query.visibility)))
        conditions += [_E.number.in_(_tagged(tenant, name, value)) for name, value in query.tags]
        if query.text:
            conditions.append(self._dialect.has_text(query.text))
        return conditions

    @contextmanager
    def _reading(self) -> Iterator[sa.Connection]:
        with _named_trouble(), self._reader.connect() as connection:
            yield connection


@contextmanager
def _named_trouble() -> Iterator[None]:
    try:
        yield
    except _LOST as error:
        raise IndexUnavailable(f"the tag index's database did not answer: {error}") from error


def _name(change: Change) -> tuple[str, str]:
    return change.tenant, change.entry_id


def _turns(changes: Sequence[Change], good: Sequence[int]) -> list[list[int]]:
    """Numbers of *changes* in groups that hold no entry twice. Each group is in one order everywhere, so
    that two bulks wait for each other instead of locking each other out."""
    turns: list[dict[tuple[str, str], int]] = []
    for n in good:
        name = _name(changes[n])
        turn = next((turn for turn in turns if name not in turn), None)
        if turn is None:
            turns.append(turn := {})
        turn[name] = n
    return [[turn[name] for name in sorted(turn)] for turn in turns]


def _tag_rows(number: int, entry: Entry) -> list[dict[str, Any]]:
    pairs = {(name, exact(value)) for name, values in entry.tags.items() for value in values}
    return [
        {"entry": number, "tenant": entry.tenant, "name": name, "value": value}
        for name, value in sorted(pairs)
    ]


def _row(change: Change) -> dict[str, Any]:
    """Every column but the number; those of a tombstone are empty, so that nothing of it is found."""
    held = {"entry_id": change.entry_id, "tenant": change.tenant, "version": change.version}
    if isinstance(change, Tombstone):
        empty = dict.fromkeys(("rendition", "object", "slot", *FIELDS), "")
        return {**held, **empty, "standing": TOMBSTONE, "created_at": 0, "tags": {}, "tokens": []}
    fields = {name: str(getattr(change, name)) for name in FIELDS}
    return {
        **held,
        **fields,
        "rendition": change.rendition_id,
        "object": change.object_id,
        "slot": change.slot,
        "standing": str(change.standing),
        "created_at": change.created_at,
        "tags": {name: list(values) for name, values in change.tags.items()},
        "tokens": list(change.text),
    }


def _entry(row: sa.Row[Any]) -> Entry:
    return Entry(
        entry_id=row.entry_id,
        tenant=row.tenant,
        rendition_id=row.rendition,
        object_id=row.object,
        campaign=row.campaign,
        slot=row.slot,
        locale=row.locale,
        asset_type=row.asset_type,
        visibility=Visibility(row.visibility),
        retention_class=row.retention_class,
        standing=Standing(row.standing),
        version=row.version,
        created_at=row.created_at,
        tags={name: tuple(values) for name, values in row.tags.items()},
        text=tuple(row.tokens),
    )


def _tagged(tenant: str, name: str, value: str) -> sa.Select[Any]:
    """Entries with the exact *value*, under *name* or, when that is empty, under any."""
    found = sa.select(_T.entry).where(_T.tenant == tenant, _T.value == exact(value))
    return found.where(_T.name == name) if name else found


def _counted(
    connection: sa.Connection, name: str, matches: Sequence[sa.ColumnElement[bool]]
) -> Mapping[str, int]:
    """How many matching entries have each value of *name*: most frequent first, then by value."""
    number = sa.func.count().label("number")
    if name in FIELDS:
        value, statement = _E[name], sa.select(_E[name], number).where(*matches)
    else:
        joined = search_entries.join(search_tags, _T.entry == _E.number)
        value, statement = _T.value, sa.select(_T.value, number).select_from(joined)
        statement = statement.where(_T.name == name, *matches)
    ordered = statement.group_by(value).order_by(number.desc(), value).limit(MAX_FACET_VALUES)
    return {row[0]: row.number for row in connection.execute(ordered)}


def _cursor(last: Entry) -> str:
    return base64.urlsafe_b64encode(json.dumps([last.created_at, last.entry_id]).encode()).decode()


def _follows(cursor: str) -> sa.ColumnElement[bool]:
    """What stands behind the cursor's entry, whether or not that one is still there."""
    try:
        created_at, entry_id = json.loads(base64.b64decode(cursor, altchars=b"-_", validate=True))
        created_at, entry_id = int(created_at) % _BIGINT, str(entry_id)
    except (ValueError, TypeError, OverflowError) as error:
        raise IndexRefused("cursor is not one that a search gave") from error
    return sa.or_(_E.created_at < created_at, sa.and_(_E.created_at == created_at, _E.entry_id > entry_id))
