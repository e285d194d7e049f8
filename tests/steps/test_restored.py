"""A dump that was put back: what it forgot is looked for before it is sent, as each class allows (E6, G9)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.domain.errors import BadSettings
from pipeline.steps.operate.reconcile_restored import jobs, restored, restored_is_over, unnamed
from pipeline.steps.operate.reconciled import Done
from pipeline.steps.produce.sending import job_of
from pipeline.steps.retain.leftovers import orphans
from resources.adapters import Adapters
from resources.database import schema
from resources.database.attempts import renditions_of
from resources.http.client import HttpClient
from resources.providers.protocol import Accepted
from tests.conftest import NOON, SECOND, Clock
from tests.database import rows
from tests.steps.house import House
from tests.steps.remote import Remote

DUMPED = datetime.fromtimestamp(NOON / SECOND, UTC) - timedelta(hours=1)
CLASSES = pytest.mark.parametrize("remote", ["k", "l", "w", "n"], indirect=True)
#: The renderer names a job in look-ups and listings after two seconds.
SHOWN_SECONDS = 2.2


def forgotten(remote: Remote, name: str, reference: str = "") -> str:
    """The provider takes, and bills, a job that the database knows nothing of; its handle."""
    row = remote.attempt(name)
    with remote.database.reading() as connection:
        rendition = renditions_of(connection, [row])[row.rendition]
    job = job_of(row, rendition, [])

    async def send() -> Any:
        async with HttpClient() as client:
            return await remote.provider.submit(client, job)

    if reference:
        job = job_of(rows.read(remote.database, schema.attempts, reference), rendition, [])
    answer = asyncio.run(send())
    assert isinstance(answer, Accepted)
    time.sleep(SHOWN_SECONDS)
    return answer.handle


def looks(remote: Remote, clock: Clock, times: int = 3) -> list[str]:
    """What each look for lost submissions comes to, far enough apart."""
    found: list[str] = []
    for _ in range(times):
        clock.pass_seconds(30)
        found += remote.reconcile()
    return found


def posts(remote: Remote) -> int:
    return remote.renderer.seen().get("POST /jobs", 0)


@CLASSES
def test_a_forgotten_job_is_taken_over_and_never_paid_for_again(remote: Remote, clock: Clock) -> None:
    [name] = remote.queue("r-1", quote=6_000_000)
    handle = forgotten(remote, name)
    restored(remote.database, DUMPED, "anna")

    assert remote.submit() == {"unknown": 1}
    assert posts(remote) == 1
    found = looks(remote, clock)

    row = remote.attempt(name)
    assert len(remote.renderer.bill()) == 1
    if remote.provider.reconciliation == "N":
        assert (row.state, row.parked_reason) == ("submitting", "awaiting_verdict")
        return
    assert found[0] == "accepted"
    assert (row.state, row.handle) == ("generating", handle)
    [hold] = rows.rows(remote.database, schema.holds)
    assert (hold.amount, hold.state) == (6_000_000, "open")
    starts = [one.quantity for one in rows.rows(remote.database, schema.usage_facts)
              if one.meter == "starts_unconfirmed"]  # fmt: skip
    assert sum(starts) == 0


@pytest.mark.parametrize(("remote", "words"), [
    ("k", ["accepted"]), ("l", ["looking", "not_sent"]), ("w", ["looking", "awaiting_verdict"]),
    ("n", ["awaiting_verdict"]),
], indirect=["remote"])  # fmt: skip
def test_what_was_never_sent_is_sent_where_absence_can_be_proven(
    remote: Remote, clock: Clock, words: Sequence[str]
) -> None:
    remote.queue("r-1")
    restored(remote.database, DUMPED, "anna")
    remote.submit()

    found = looks(remote, clock)
    clock.pass_seconds(30)
    remote.submit()

    assert found == words
    is_sent = remote.provider.reconciliation in ("K", "L")
    assert len(remote.renderer.bill()) == int(is_sent)


def test_a_key_that_may_have_run_out_since_the_dump_is_not_sent_again(remote: Remote, clock: Clock) -> None:
    [name] = remote.queue("r-1")
    restored(remote.database, DUMPED - timedelta(hours=22), "anna")
    remote.submit()

    looks(remote, clock)

    assert posts(remote) == 0
    assert remote.attempt(name).parked_reason == "awaiting_verdict"


def test_what_this_database_sent_itself_goes_on_as_before(remote: Remote, clock: Clock) -> None:
    remote.queue("r-1")
    remote.renderer.kill()
    remote.submit()
    remote.renderer.start()
    restored(remote.database, DUMPED, "anna")
    clock.pass_seconds(30)

    assert remote.submit() == {"accepted": 1}


def test_once_it_is_over_what_is_new_is_sent_at_once(remote: Remote) -> None:
    restored(remote.database, DUMPED, "anna")

    assert restored_is_over(remote.database, "anna")
    assert not restored_is_over(remote.database, "anna")
    remote.queue("r-1")
    assert remote.submit() == {"accepted": 1}
    restored(remote.database, DUMPED, "anna")
    remote.queue("r-2")
    assert remote.submit() == {"unknown": 1}


def test_a_dump_of_tomorrow_is_refused(remote: Remote) -> None:
    with pytest.raises(BadSettings, match="still to come"):
        restored(remote.database, DUMPED + timedelta(days=1), "anna")


@pytest.mark.parametrize("remote", ["l"], indirect=True)
def test_a_try_that_a_person_asked_for_since_the_dump_is_named(remote: Remote) -> None:
    [first] = remote.queue("r-1", state="failed", ended_at=NOON)
    second = rows.attempt(remote.database, "northwind.spring", "r-1", 2, provider="fault")
    handle = forgotten(remote, first, second)
    with remote.database.engine.begin() as connection:
        connection.execute(schema.attempts.delete().where(schema.attempts.c.id == second))
    adapters: Any = {"database": remote.database, "providers": {"fault": remote.provider}}
    around = Adapters(**dict.fromkeys(Adapters.__dataclass_fields__) | adapters)

    before = list(jobs(around, NOON))
    restored(remote.database, DUMPED, "anna")
    [found] = jobs(around, NOON)

    assert before == []
    assert (found.subject, found.done) == (f"fault {handle}", Done.LISTED)
    assert second in found.before
    assert "reelwright retry" in found.after


def test_what_lies_in_the_store_since_the_dump_is_named_with_who_made_it(
    database: Any, clock: Clock, tmp_path: Path
) -> None:
    house = House(database, tmp_path, clock)
    for key in ("northwind/renditions/r-3/1.mp4", "northwind/renditions/r-9/2.mp4", "northwind/sources/ab"):
        house.lay(key, b"video")
    house.lay("intake/northwind/spring/brief.yaml", b"tenant: northwind")

    before = list(unnamed(house.adapters, NOON))
    restored(database, DUMPED, "anna")
    found = {one.subject: one for one in unnamed(house.adapters, NOON)}

    assert before == []
    assert {key: one.done for key, one in found.items()} == {
        "northwind/renditions/r-3/1.mp4": Done.WAITS,
        "northwind/renditions/r-9/2.mp4": Done.LISTED,
        "northwind/sources/ab": Done.LISTED,
    }
    assert "r-3-a1 is queued" in found["northwind/renditions/r-3/1.mp4"].after
    assert "r-9-a2" in found["northwind/renditions/r-9/2.mp4"].why


def test_retention_takes_nothing_for_orphaned_that_a_dump_may_have_forgotten(
    database: Any, clock: Clock, tmp_path: Path
) -> None:
    house = House(database, tmp_path, clock)
    house.lay("northwind/renditions/r-9/2.mp4", b"paid for")
    retaining: Any = SimpleNamespace(adapters=house.adapters)

    def orphaned() -> list[str]:
        with database.reading() as connection:
            return [one.subject for one in orphans(retaining, connection)]

    before = orphaned()
    restored(database, DUMPED, "anna")
    meanwhile = orphaned()
    restored_is_over(database, "anna")

    assert before == orphaned() == ["northwind/renditions/r-9/2.mp4"]
    assert meanwhile == []
