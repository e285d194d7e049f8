"""Databases as earlier releases left them: at any revision of the chain, with rows in every table.

Belongs here: building, filling and reading them, by what is found in the database and never by today's
tables. Does not belong here: what must hold.

`tests/data/revisions/0001.json` holds the rows of a small sound installation as the first release wrote it. A
table that came later gets rows that are made up from its columns.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import event

from resources.database.engine import open_engine
from resources.database.migrate import READERS, config
from resources.database.schema import metadata
from resources.database.schema.base import JsonText
from resources.database.schema.index import SEARCH_TEXT

KEPT = Path(__file__).parents[1] / "data/revisions/0001.json"
Rows = Mapping[str, list[dict[str, Any]]]


def revisions() -> list[str]:
    """Every revision of the chain, the first one first."""
    chain = ScriptDirectory.from_config(config()).walk_revisions()
    return [one.revision for one in chain][::-1]


@contextmanager
def engine_of(url: str) -> Iterator[sa.Engine]:
    Path(sa.engine.make_url(url).database or "").parent.mkdir(parents=True, exist_ok=True)
    engine = open_engine(url)
    try:
        yield engine
    finally:
        engine.dispose()


def bring_to(url: str, revision: str) -> list[str]:
    """The database at *url*, at *revision* and no further; what was executed on the way."""
    executed: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        executed.append(" ".join(statement.split()))

    with engine_of(url) as engine, engine.connect() as connection, connection.begin():
        event.listen(engine, "before_cursor_execute", note)
        command.upgrade(config(connection), revision)
    return executed


def tables_of(connection: sa.Connection) -> list[sa.Table]:
    """Tables as the database has them, parents first, without what a rebuild makes anew."""
    found = sa.MetaData()
    found.reflect(connection, only=lambda name, _: not name.startswith((SEARCH_TEXT, "alembic_", READERS)))
    return [table for table in found.sorted_tables if not table.name.startswith("sqlite_")]


def fill(url: str) -> None:
    """The kept rows, and made-up ones in every table that is still empty."""
    with engine_of(url) as engine, engine.connect() as connection, connection.begin():
        tables = tables_of(connection)
        insert(connection, json.loads(KEPT.read_text("utf-8")))
        for table in tables:
            if connection.scalar(sa.select(sa.func.count()).select_from(table)) == 0:
                connection.execute(sa.insert(table), _made_up(connection, table, 0))
                with suppress(sa.exc.IntegrityError), connection.begin_nested():  # one parent, one row
                    connection.execute(sa.insert(table), _made_up(connection, table, 1))


def insert(connection: sa.Connection, rows: Rows) -> None:
    for table in tables_of(connection):
        if rows.get(table.name):
            connection.execute(sa.insert(table), rows[table.name])


def _made_up(connection: sa.Connection, table: sa.Table, number: int) -> dict[str, Any]:
    """The second row leaves open what may be left open."""
    columns = [one for one in table.columns if not (number and one.nullable and not one.primary_key)]
    return {one.name: _value(connection, one, number) for one in columns}


def _value(connection: sa.Connection, column: sa.Column[Any], number: int) -> Any:
    for key in column.foreign_keys:
        parents = connection.scalars(sa.select(key.column).order_by(key.column)).all()
        return parents[min(number, len(parents) - 1)]
    if isinstance(column.type, sa.Integer):
        return number + 1
    if isinstance(column.type, sa.LargeBinary):
        return f"{column.table.name}.{number}".encode()
    known = metadata.tables.get(column.table.name)
    is_json = known is not None and column.name in known.c and isinstance(known.c[column.name].type, JsonText)
    return "{}" if is_json else f"{column.table.name}.{column.name}.{number}"


def contents(url: str) -> Rows:
    """Every row of every table, in an order that depends on nothing but the rows."""
    with engine_of(url) as engine, engine.connect() as connection:
        return {
            table.name: sorted(
                (dict(row._mapping) for row in connection.execute(sa.select(table))), key=_in_order
            )
            for table in tables_of(connection)
        }


def _in_order(row: dict[str, Any]) -> str:
    return json.dumps(row, sort_keys=True, default=bytes.hex)


def only(rows: Rows, shape: Rows) -> Rows:
    """*rows* of the tables and columns of *shape* alone."""
    columns = {name: set().union(*found) for name, found in shape.items()}
    return {
        name: sorted(({key: row[key] for key in columns[name]} for row in rows[name]), key=_in_order)
        for name in shape
    }
