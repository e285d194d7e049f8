"""F3: logs into facts: each line once, whose bytes they were, whole files or nothing."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from pipeline.domain.delivery import PathRule, path_rules
from pipeline.steps.account.fetch_delivery_logs import delivered_on, fetch_delivery_logs
from pipeline.steps.account.meter_delivery import Keeping, Looking, read_file
from resources.adapters import Adapters
from resources.database import schema
from resources.database.database import Database
from resources.object_store.local import LocalStore
from tests.conftest import Clock
from tests.jobs.window import adapters, home, sandbox
from tests.usage_logs.logs import CASES, NOW, cloudfront, header, line, packed, read, s3_line, told

__all__ = ["adapters", "home", "sandbox"]

SECOND, DAY = 1_000_000, 86_400_000_000
MARCH_31 = 1_774_915_200 * SECOND
SET = sorted(CASES.glob("E2EXAMPLE*.gz"))


@pytest.fixture(autouse=True)
def _later(clock: Clock) -> None:
    clock.at = NOW * SECOND


def rows(database: Database, table: sa.Table) -> list[Any]:
    with database.reading() as connection:
        return list(connection.execute(sa.select(table)))


def own(database: Database, key: str, size: int = 2_000_000, **changes: Any) -> None:
    """An object of ours under *key*."""
    row = {
        "id": f"o-{key}", "tenant": key.partition("/")[0], "campaign": None, "kind": "rendition",
        "retention_class": "standard", "key": key, "sha256": "0" * 64, "size_bytes": size,
        "media_type": "video/mp4", "facts": {}, "state": "live", "created_at": 1,
    } | changes  # fmt: skip
    with database.engine.begin() as connection:
        connection.execute(sa.insert(schema.objects), row)


def sums(database: Database, **where: Any) -> dict[str, int]:
    """Quantities a meter of the facts with these values."""
    found: dict[str, int] = {}
    for row in rows(database, schema.delivery_facts):
        if all(getattr(row, name) == value for name, value in where.items()):
            found[row.meter] = found.get(row.meter, 0) + row.quantity
    return found


def keep(database: Database, *paths: Path) -> list[tuple[Any, ...]]:
    return [told(read_file(Keeping(database), path_rules(), path, path.name)) for path in paths]


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_late_repeated_and_misfiled_logs_count_once_in_any_order(order: tuple[int, ...]) -> None:
    book = Looking(None, NOW)
    readings = [read_file(book, path_rules(), SET[number], SET[number].name) for number in (*order, *order)]

    assert sum(one.events for one in readings) == 6
    assert sum(one.bytes_sent for one in readings) == 63_000
    assert [one.verdict for one in readings].count("known") == 5


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (1, 3, 0, 2)])
def test_days_are_those_of_the_lines(database: Database, order: tuple[int, ...]) -> None:
    for number in (*order, *order):
        keep(database, SET[number])

    assert delivered_on(database, MARCH_31)["delivered_bytes"] == 31_000
    assert delivered_on(database, MARCH_31 + DAY)["delivered_bytes"] == 32_000
    assert sums(database)["delivery_requests"] == 6
    assert len(rows(database, schema.delivery_files)) == 3


def test_a_day_that_is_read_again_holds_what_it_held(database: Database) -> None:
    wanted = json.loads((CASES / "finance_rerun.json").read_text())["expected_bytes_after_each"]
    found = []
    for files in (SET[:1], SET[:2], SET[:2]):
        keep(database, *files)
        found.append(delivered_on(database, MARCH_31)["delivered_bytes"])

    assert found == wanted


def test_bytes_belong_to_the_campaign_of_the_object(database: Database) -> None:
    wanted = json.loads((CASES / "cf_mixed.expected.json").read_text())["by_campaign_segment"]
    for campaign, key in {
        "spring-launch": "c/spring-launch/v3/master.mp4", "a+b c": "c/a+b c/naïve €.mp4",
        "autumn": "c/autumn/v1/master.mp4",
    }.items():  # fmt: skip
        own(database, key, campaign=campaign)
    own(database, "c/spring-launch/v3/thumb.jpg", campaign="spring-launch", kind="derivative")
    [reading] = keep(database, CASES / "cf_mixed.log.gz")

    assert reading == ("read", 11, 0, 0, 1_805_224)
    assert {name: sums(database, campaign=name)["delivered_bytes"] for name in wanted} == wanted
    assert sums(database, traffic="aborted") == {"delivered_bytes": 65_536, "delivery_requests": 1}
    assert sums(database, tenant=None) == {}


def test_bytes_of_nothing_that_is_ours_are_kept_and_shown(database: Database, tmp_path: Path) -> None:
    own(database, "acme/a.mp4")
    reading = read(tmp_path, cloudfront() + line(number=9, cs_uri_stem="/x.mp4"), book=Keeping(database))

    assert (reading.bytes_sent, reading.unattributed_bytes) == (4000, 1000)
    assert sums(database, tenant=None)["delivered_bytes"] == 1000
    assert delivered_on(database, MARCH_31)["unattributed_bytes"] == 1000


def test_a_path_becomes_a_key_by_the_longest_rule(database: Database, tmp_path: Path) -> None:
    own(database, "acme/a.mp4")
    (tmp_path / "a.log").write_bytes(header() + line(cs_uri_stem="/media/v/a.mp4"))
    rules = path_rules((PathRule("/media/", ""), PathRule("/media/v/", "acme/")))
    reading = read_file(Looking(database, NOW), rules, tmp_path / "a.log", "a.log")

    assert reading.unattributed_bytes == 0


def test_the_cost_centre_is_the_one_of_the_time_of_the_line(database: Database, tmp_path: Path) -> None:
    with database.engine.begin() as connection:
        connection.execute(
            sa.insert(schema.campaigns),
            {"id": "acme.c", "tenant": "acme", "slug": "c", "title": "C", "created_at": 1},
        )
        for number, (since, center) in enumerate(
            [(1, "A"), (MARCH_31 + 23 * 3600 * SECOND + 2 * SECOND, "B")]
        ):
            connection.execute(
                sa.insert(schema.campaign_settings),
                {
                    "campaign": "acme.c", "number": number, "tenant": "acme", "effective_from": since,
                    "actor": "a", "cost_center": center, "retention_class": "s", "asset_type": "t",
                    "visibility": "public", "tags": {}, "publish": "auto",
                    "completion": "all_usable", "budget_cap": 1, "currency": "EUR",
                },
            )  # fmt: skip
    own(database, "acme/a.mp4", campaign="acme.c")
    read(tmp_path, cloudfront(5), book=Keeping(database))

    assert sums(database, cost_center="A")["delivered_bytes"] == 2000
    assert sums(database, cost_center="B")["delivered_bytes"] == 3000


@pytest.mark.parametrize(
    ("changes", "is_too_much"),
    [
        ({"sc_bytes": "66535"}, False),
        ({"sc_bytes": "66537"}, True),
        ({"sc_bytes": "66537", "sc_status": "206"}, True),
        ({"sc_bytes": "65537", "cs_method": "HEAD"}, True),
        ({"sc_bytes": "65536", "cs_method": "HEAD"}, False),
        ({"sc_bytes": "65537", "sc_status": "304"}, True),
        ({"sc_bytes": "1000000", "sc_status": "403"}, False),
        ({"sc_bytes": "99999999999", "sc_status": "403"}, True),
    ],
)
def test_no_line_may_say_more_than_our_object_could_yield(
    database: Database, tmp_path: Path, changes: dict[str, str], is_too_much: bool
) -> None:
    own(database, "acme/a.mp4", size=1000)
    reading = read(tmp_path, header() + line(**changes), book=Looking(database, NOW))

    assert (reading.events, reading.quarantined) == ((0, 1) if is_too_much else (1, 0))


def test_a_cut_file_is_refused_and_taken_once_it_comes_whole_under_its_name(
    database: Database, tmp_path: Path
) -> None:
    whole = packed(cloudfront())
    cut = read(tmp_path, whole[:-9], book=Keeping(database))
    again = read(tmp_path, whole[:-9], book=Keeping(database))
    complete = read(tmp_path, whole, book=Keeping(database))
    other_name = read(tmp_path, whole, "b.log", book=Keeping(database))

    assert [one.verdict for one in (cut, again, complete, other_name)] == [
        "refused",
        "refused",
        "read",
        "known",
    ]
    assert sums(database)["delivered_bytes"] == 3000
    assert [row.verdict for row in rows(database, schema.delivery_files)].count("refused") == 1


def test_a_file_that_holds_others_brings_only_what_is_new(database: Database, tmp_path: Path) -> None:
    read(tmp_path, cloudfront(3), book=Keeping(database))
    grown = read(tmp_path, cloudfront(5), book=Keeping(database))
    looked = read(tmp_path, packed(cloudfront(7)), book=Looking(database, NOW))

    assert told(grown) == ("read", 2, 3, 0, 2000)
    assert told(looked) == ("read", 2, 5, 0, 2000)
    assert sums(database)["delivery_requests"] == 5


def test_quarantine_keeps_where_and_why_and_nothing_that_a_line_says(
    database: Database, tmp_path: Path
) -> None:
    read(tmp_path, cloudfront(2) + line(number=9, sc_bytes="-1"), book=Keeping(database))
    [row] = rows(database, schema.delivery_quarantine)
    [file] = rows(database, schema.delivery_files)

    assert (row.line, row.reason, row.field) == (5, "bytes_not_a_number", "sc-bytes")
    assert file.reasons == {"bytes_not_a_number": 1}
    assert file.hours == {str(MARCH_31 + 23 * 3600 * SECOND): 2}


def test_deletions_in_the_stores_log_are_kept_as_evidence(database: Database, tmp_path: Path) -> None:
    own(database, "acme/a.mp4")
    (tmp_path / "s3").write_bytes(
        s3_line(operation="S3.EXPIRE.OBJECT", numbers="- - - 113 - -", uri='"-"') * 2
    )
    read_file(Keeping(database), path_rules(bucket="videos"), tmp_path / "s3", "s3")
    [row] = rows(database, schema.delivery_deletions)

    assert (row.object, row.operation, row.line) == ("o-acme/a.mp4", "S3.EXPIRE.OBJECT", 1)


def test_each_part_of_a_sum_is_told_apart(database: Database, tmp_path: Path) -> None:
    content = header() + b"".join(
        line(number=number, x_edge_result_type=("Hit", "Miss")[number % 2], cs_protocol="http")
        for number in range(4)
    )
    read(tmp_path, content, book=Keeping(database))

    assert sums(database, scheme="http", region="FRA", agent="viewer", traffic="full") == {
        "delivered_bytes": 4000, "delivery_requests": 4, "cache_hits": 2, "cache_misses": 2,
    }  # fmt: skip


_DIES = """
import os, signal, sys
from pathlib import Path
from sqlalchemy import event
import sqlalchemy as sa
from pipeline.domain.delivery import path_rules
from pipeline.steps.account.meter_delivery import Keeping, read_file
from resources.database.database import Database
@event.listens_for(sa.Engine, "after_cursor_execute")
def die(connection, cursor, statement, parameters, context, executemany):
    if sys.argv[3] in statement:
        os.kill(os.getpid(), signal.SIGKILL)
read_file(Keeping(Database.at(sys.argv[1])), path_rules(), Path(sys.argv[2]), "a.log")
"""


@pytest.mark.parametrize(
    "statement", ["INTO delivery_files", "INTO delivery_facts", "INTO delivery_quarantine"]
)
def test_a_run_that_is_killed_leaves_the_file_unread(
    database: Database, database_url: str, tmp_path: Path, statement: str
) -> None:
    (tmp_path / "a.log").write_bytes(cloudfront() + line(number=9, sc_bytes="-1"))
    killed = subprocess.run(
        [sys.executable, "-c", _DIES, database_url, str(tmp_path / "a.log"), statement],
        check=False, capture_output=True, timeout=60, cwd=Path(__file__).parents[2], env={**os.environ},
    )  # fmt: skip

    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    assert rows(database, schema.delivery_files) == rows(database, schema.delivery_facts) == []
    assert keep(database, tmp_path / "a.log") == [("read", 3, 0, 1, 3000)]


@pytest.fixture
def place(adapters: Adapters, tmp_path: Path) -> tuple[Adapters, Path]:
    folder = tmp_path / "logs"
    (folder / "cdn").mkdir(parents=True)
    return replace(adapters, delivery_logs=LocalStore(folder)), folder / "cdn"


def test_what_is_new_or_changed_in_the_place_is_brought_and_nothing_else(
    place: tuple[Adapters, Path], database: Database
) -> None:
    ours, folder = place
    for path in SET:
        shutil.copy(path, folder / path.name)
    first = fetch_delivery_logs(ours)
    again = fetch_delivery_logs(ours)
    (folder / SET[0].name).write_bytes(packed(cloudfront()))
    changed = fetch_delivery_logs(ours)

    assert (len(first.those("read")), len(first.those("known"))) == (3, 1)
    assert (again.readings, again.unchanged) == ((), 4)
    assert [told(one) for one in changed.readings] == [("read", 3, 0, 0, 3000)]
    assert delivered_on(database, MARCH_31)["delivered_bytes"] == 34_000
    assert list(ours.spool.iterdir()) == []


def test_a_refused_file_is_not_brought_again_until_it_changes(place: tuple[Adapters, Path]) -> None:
    ours, folder = place
    (folder / "a.gz").write_bytes(packed(cloudfront())[:-9])
    refused = fetch_delivery_logs(ours)
    left = fetch_delivery_logs(ours)
    (folder / "a.gz").write_bytes(packed(cloudfront()))
    whole = fetch_delivery_logs(ours)

    assert [one.verdict for one in refused.readings] == ["refused"]
    assert left.readings == ()
    assert [told(one) for one in whole.readings] == [("read", 3, 0, 0, 3000)]


def test_without_a_place_of_logs_nothing_is_looked_for(adapters: Adapters) -> None:
    assert fetch_delivery_logs(adapters).readings == ()
