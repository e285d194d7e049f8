"""Parquet by DuckDB: rows in blocks, in their order, from a local file, with no extension to download."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.domain.errors import LogRefused

if TYPE_CHECKING:
    import duckdb

ROWS = 10_000
_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "memory_limit": "256MB",
    "threads": 1,
}


def rows(path: Path) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
    """Names of the columns, and the rows; `LogRefused` from either for a file that is damaged."""
    import duckdb  # few runs read Parquet, and all would wait for it

    connection = duckdb.connect(config=_SETTINGS)
    try:
        found = connection.execute("SELECT * FROM read_parquet(?)", [str(path)])
        names = [column[0] for column in found.description or ()]
    except duckdb.Error as error:
        connection.close()
        raise _damaged() from error
    return names, _blocks(connection)


def _blocks(connection: duckdb.DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
    import duckdb

    try:
        while block := connection.fetchmany(ROWS):
            yield from block
    except duckdb.Error as error:
        raise _damaged() from error
    finally:
        connection.close()


def _damaged() -> LogRefused:
    return LogRefused("damaged_parquet", "is not whole as Parquet", "deliver it again")
