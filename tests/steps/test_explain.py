"""C3, F5: rows alone say what made a video and what it cost, before and after its purge."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
import sqlalchemy as sa

from pipeline.domain.errors import AmbiguousName, UnknownSubject
from pipeline.domain.periods import midnight
from pipeline.steps.answer.explain import Explanation, explain
from pipeline.steps.retain.approve import approve
from pipeline.steps.retain.plan import plan_erasure
from pipeline.steps.retain.run import run
from resources.database import schema
from resources.database.database import Database
from resources.object_store.local import LocalStore
from tests.conftest import Clock
from tests.database import rows
from tests.steps.account.books import MARCH, Books
from tests.steps.retain.vault import CAMPAIGN, TENANT, Vault

VIDEO, OTHER = "r-" + "1" * 32, "r-" + "2" * 32


@pytest.fixture
def vault(database: Database, clock: Clock, tmp_path: Path) -> Vault:
    return Vault(database, clock, LocalStore(tmp_path / "objects"), tmp_path)


def told(database: Database, name: str) -> Explanation:
    with database.reading() as connection:
        return explain(connection, name)


def purge(vault: Vault, asset: str) -> str:
    vault.pass_days(60)
    made = plan_erasure(vault.retaining(), asset, reason="request 7")
    approve(vault.retaining(), made.id)
    run(vault.retaining())
    vault.pass_days(8)
    run(vault.retaining())
    return made.id


def test_every_name_of_a_video_leads_to_it_before_and_after_its_purge(vault: Vault) -> None:
    asset = vault.source(b"a depot")
    object_ = vault.video(VIDEO, sources=[asset])
    vault.publish(VIDEO)
    keys = [key for key in vault.states() if "upright" not in key]
    names = [VIDEO, f"{VIDEO}-a1", vault.slot_of(VIDEO), object_, *keys]
    before = {told(vault.database, name).attempt for name in names}
    purge(vault, asset)
    after = {told(vault.database, name).attempt for name in [VIDEO, f"{VIDEO}-a1", object_, *keys]}

    assert len(keys) == 3
    assert before == after == {f"{VIDEO}-a1"}


def test_a_purge_adds_plan_approval_receipt_and_tombstone_and_takes_nothing_away(vault: Vault) -> None:
    asset = vault.source(b"a depot")
    object_ = vault.video(VIDEO, sources=[asset])
    vault.publish(VIDEO)
    before = told(vault.database, VIDEO)
    plan = purge(vault, asset)
    after = told(vault.database, VIDEO)
    receipts = {row.subject: row for row in vault.receipts()}

    assert (before.receipts, before.retention, before.tombstones) == ((), (), ())
    assert [one["sha256"] for one in after.sources] == [asset.partition("/")[2]]
    assert after.sources[0]["state"] == after.objects[0]["state"] == "purged"
    assert after.objects[0]["purged_at"] is not None
    assert [(one["key"], one["sha256"]) for one in after.objects] == [
        (one["key"], one["sha256"]) for one in before.objects
    ]
    assert {one["subject"]: one["sha256"] for one in after.receipts}[object_] == receipts[object_].sha256
    assert {(one["plan"], one["actor"]) for one in after.approvals} == {(plan, "olive")}
    assert [one["standing"] for one in after.tombstones] == ["tombstone"]
    assert [one["move"] for one in after.publications] == ["publish", "withdraw"]
    assert f"receipt {receipts[object_].number} " in " ".join(after.proof.proven)


@pytest.mark.parametrize("change", ["altered", "removed", "relinked"])
def test_a_receipt_that_was_touched_proves_nothing(vault: Vault, change: str) -> None:
    asset = vault.source(b"a depot")
    object_ = vault.video(VIDEO, sources=[asset])
    purge(vault, asset)
    table = schema.retention_receipts
    mine = table.c.subject == object_
    sound = told(vault.database, VIDEO).proof.missing
    touched: sa.Update | sa.Delete = {
        "altered": sa.update(table).where(mine).values(body=table.c.body + " "),
        "removed": sa.delete(table).where(mine),
        "relinked": sa.update(table).where(mine).values(previous="0" * 64),
    }[change]  # fmt: skip
    vault.run(lambda tx: tx.connection.execute(touched))
    missing = set(told(vault.database, VIDEO).proof.missing) - set(sound)

    assert not [one for one in sound if "receipt" in one]
    assert any(object_ in one and "receipt" in one for one in missing)


def test_a_source_of_two_videos_names_them(vault: Vault) -> None:
    asset = vault.source(b"a depot")
    vault.video(VIDEO, sources=[asset])
    vault.video(OTHER, sources=[asset])
    [key] = [key for key in vault.states() if "/sources/" in key]
    with pytest.raises(AmbiguousName) as raised:
        told(vault.database, key)

    assert set(raised.value.meanings) == {VIDEO, OTHER}


@pytest.mark.parametrize(
    "name", ["nothing", CAMPAIGN, f"{CAMPAIGN}/r9/en-GB/16x9/6s", f"{TENANT}/sources/0", "r-" + "0" * 32]
)
def test_what_means_no_video_is_one_clear_refusal(vault: Vault, name: str) -> None:
    with pytest.raises(UnknownSubject, match="no video"):
        told(vault.database, name)


def test_a_source_that_no_video_shows_is_refused(vault: Vault) -> None:
    vault.source(b"a depot")
    [key] = [key for key in vault.states() if "/sources/" in key]
    with pytest.raises(UnknownSubject, match="no video of the object"):
        told(vault.database, key)


def test_money_adds_up_and_names_its_facts_and_log_files(database: Database, clock: Clock) -> None:
    clock.at = midnight(date(2026, 4, 20))
    books = Books(database)
    books.video(VIDEO)
    start = midnight(MARCH.first_day)
    books.use(start + 1, 1234, name="spent", rendition=VIDEO, attempt=f"{VIDEO}-a1")
    books.use(start + 2, 66, name="more", rendition=VIDEO, attempt=f"{VIDEO}-a1")
    books.use(start + 3, 9, name="hers")
    books.deliver(date(2026, 3, 4), 1_000_000_000, rendition=VIDEO)
    before = told(database, VIDEO).money
    books.rate(MARCH)
    money = told(database, VIDEO).money
    stated = books.by_rendition(MARCH)[VIDEO]

    assert (before.sums, before.not_rated) == ((), ("delivered_bytes", "provider_units"))
    assert {one["meter"]: one["amount"] for one in money.sums} == {
        "delivered_bytes": Decimal("0.09"), "provider_units": Decimal("13"),
    }  # fmt: skip
    assert sum(one["amount"] for one in money.sums) == stated
    assert money.not_rated == ()
    assert [(one["fact"], one["quantity"]) for one in money.usage] == [("spent", 1234), ("more", 66)]
    assert [(one["day"], one["file"], one["file_sha256"]) for one in money.delivery] == [
        ("2026-03-04", "f", "file")
    ]


def test_reading_writes_nothing_and_prints_no_copy(vault: Vault) -> None:
    vault.video(VIDEO)
    table = schema.renditions
    change = sa.update(table).values(copy="A secret line", settings={"prompt": "a red van", "fps": 24})
    vault.run(lambda tx: tx.connection.execute(change))
    before = rows.rows(vault.database, schema.audit)
    said = repr(told(vault.database, VIDEO))

    assert "secret" not in said
    assert "red van" not in said
    assert "'fps': 24" in said
    assert rows.rows(vault.database, schema.audit) == before
