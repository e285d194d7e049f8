"""`reelwright explain`, as someone who must prove where a video came from would use it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
import sqlalchemy as sa

from pipeline.domain.storage_price import StoragePrice
from pipeline.steps.retain.approve import approve
from pipeline.steps.retain.plan import plan_erasure
from pipeline.steps.retain.retaining import Retaining
from pipeline.steps.retain.run import run
from resources.connect import connected
from resources.database import schema
from resources.database.database import Database
from tests.cli.desk import CAMPAIGN, SLOT, Desk
from tests.conftest import Clock
from tests.steps.retain.vault import DAY_SECONDS, policy_of

COPY = "Your parcel, on time."


def purge(desk: Desk, asset: str) -> None:
    """Everything of *asset*, two months from now."""
    clock = Clock(int(datetime.now(UTC).timestamp()) * 1_000_000)
    clock.pass_seconds(60 * DAY_SECONDS)
    with connected(desk.settings()) as adapters:
        adapters.database.clock = clock
        retaining = Retaining(adapters, policy_of(), StoragePrice("EUR", 23_000), "olive", lambda: clock.at)
        made = plan_erasure(retaining, asset, reason="request 7")
        approve(retaining, made.id)
        run(retaining)
        clock.pass_seconds(8 * DAY_SECONDS)
        run(retaining)


def change(desk: Desk, statement: sa.Update) -> None:
    database = Database.at(desk.database_url)
    try:
        database.run(lambda tx: tx.connection.execute(statement))
    finally:
        database.close()


def test_a_video_is_proven_before_its_purge_and_after_it(working: Desk) -> None:
    working.deliver()
    made = working.work()["wishes"][0]
    before = working.json("explain", SLOT)
    again = [
        working.json("explain", name)
        for name in (made["rendition"], made["attempt"], before["objects"][0]["id"],
                     before["objects"][0]["key"], f"{CAMPAIGN}/r1/en-GB/16:9/1s", "en-GB/16:9/1s")
    ]  # fmt: skip
    purge(working, before["sources"][0]["id"])
    after = working.json("explain", made["rendition"])
    text = working.run("explain", made["rendition"]).stdout

    assert before["proof"]["missing"] == []
    assert before["proof"]["provable"] is True
    assert [{**one, "asked": SLOT} for one in again] == [before] * len(again)
    assert before["moderation"][0]["verdict"] == "approved"
    assert before["moderation"][0]["policy_version"]
    assert before["sends"][0]["result"] == "accepted"
    assert before["objects"][0]["quality"]
    assert {one["state"] for one in (*after["objects"], *after["sources"])} == {"purged"}
    assert after["proof"]["missing"] == []
    assert len(after["receipts"]) >= 2
    for kept in ("inputs", "revisions", "moderation", "fingerprint", "sends", "remote_jobs", "acceptance"):
        assert after[kept] == before[kept]
    assert text.splitlines()[1].startswith("provable: yes, because ")
    assert f"    sha256: {after['receipts'][0]['sha256']}" in text.splitlines()
    assert "  none" in text.splitlines()
    assert COPY not in text


@pytest.mark.parametrize(
    ("table", "values", "missing"),
    [
        (schema.renditions, {"copy": "Another text."}, "the fingerprint is not that of the kept parts"),
        (schema.revisions, {"creative_sha256": "0"}, "/r1 has another hash"),
        (schema.revisions, {"asset_set_sha256": "0"}, "the source set of northwind.spring-depot/r1 has"),
        (schema.decisions, {"verdict": "undecided"}, "no moderation decision approves"),
        (schema.attempts, {"handle": "another"}, "has no single accepted job"),
        (schema.attempts, {"object": None}, "it owns no video"),
    ],
)  # fmt: skip
def test_what_was_tampered_with_is_named(
    working: Desk, table: sa.Table, values: dict[str, object], missing: str
) -> None:
    working.deliver()
    working.work()
    change(working, sa.update(table).values(**values))
    found = working.json("explain", SLOT)["proof"]
    text = working.run("explain", SLOT).stdout

    assert found["provable"] is False
    assert [one for one in found["missing"] if missing in one]
    assert "provable: no, because " in text


def test_an_unknown_subject_is_one_line(both: Desk) -> None:
    refused = both.run("explain", "nothing")

    assert refused.exit_code == 4
    assert refused.stderr.count("no video 'nothing'") == 1
    assert "Traceback" not in refused.stderr
    assert refused.stdout == ""
