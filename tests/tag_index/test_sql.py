"""The SQL tag index on both databases: the contract, and what a database that is gone looks like."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from pipeline.domain.errors import IndexUnavailable
from pipeline.domain.renditions import entry_id
from pipeline.domain.tags import Query
from resources.database.engine import READ_ONLY, open_engine
from resources.tag_index.protocol import TagIndex
from resources.tag_index.sql import SqlTagIndex
from tests.contracts.tag_index import CASES, NORTHWIND, TagIndexContract, entry


@pytest.fixture
def engine(database_url: str) -> Iterator[sa.Engine]:
    opened = open_engine(database_url)
    yield opened
    opened.dispose()


@pytest.fixture
def index(engine: sa.Engine) -> TagIndex:
    return SqlTagIndex(engine, engine.execution_options(**READ_ONLY))


class TestSql(TagIndexContract):
    pass


def test_a_search_waits_for_no_writer(index: TagIndex, engine: sa.Engine) -> None:
    index.put([entry()])

    with engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM search_tags")
        assert index.search(NORTHWIND, Query()).total == 1


@pytest.mark.parametrize("url", ["sqlite:////nowhere/at/all.db", "postgresql+psycopg2://u@/d?host=/nowhere"])
def test_a_database_that_is_gone_is_named_as_such(url: str) -> None:
    engine = sa.create_engine(url)
    index = SqlTagIndex(engine, engine)

    for call in (
        lambda: index.put([entry()]),
        lambda: index.get(NORTHWIND, ["x"]),
        lambda: index.search(NORTHWIND, Query()),
        index.require_writable,
        lambda: index.search(NORTHWIND, Query(), facets=["locale"]),
    ):
        with pytest.raises(IndexUnavailable):
            call()


def test_a_bulk_that_fails_halfway_leaves_nothing(index: TagIndex, engine: sa.Engine) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE search_tags RENAME TO away")

    with pytest.raises((IndexUnavailable, sa.exc.ProgrammingError)):
        index.put([entry("1"), entry("2", tags={"product": ("van",)})])
    assert index.get(NORTHWIND, [entry("1").entry_id]) == {}


@pytest.mark.parametrize("key", json.loads((CASES / "os_long_ids.json").read_text(encoding="utf-8"))["ids"])
def test_an_id_made_of_a_long_key_stays_short(key: str) -> None:
    assert len(entry_id(NORTHWIND, key, key).encode()) == 64
