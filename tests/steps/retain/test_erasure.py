"""C2, C3: a person's data goes in one go; and what stays proves what was made of it."""

from __future__ import annotations

import json

import pytest
import sqlalchemy as sa

from pipeline.domain.errors import UnknownSubject
from pipeline.domain.retention import Scope
from pipeline.steps.operate.checks import Name, run_check
from pipeline.steps.retain.approve import approve
from pipeline.steps.retain.hold import place
from pipeline.steps.retain.plan import draft_erasure, plan, plan_erasure
from pipeline.steps.retain.run import run
from pipeline.steps.retain.verify import prove
from resources.database import schema
from resources.database.receipts import digest
from tests.database import rows
from tests.steps.retain.vault import ALWAYS, TENANT, Vault

OPEN = f"{TENANT}.open"


def erase(vault: Vault, asset: str) -> str:
    made = plan_erasure(vault.retaining(), asset, reason="request 1188")
    approve(vault.retaining(), made.id)
    run(vault.retaining())
    vault.pass_days(7)
    run(vault.retaining())
    return made.id


def test_everything_of_one_source_asset_goes_at_once_and_nothing_else(vault: Vault) -> None:
    vault.campaign(OPEN, None)
    asset, other = vault.source(b"a face", OPEN), vault.source(b"a depot", OPEN)
    hers = vault.video("r-1", sources=[other, asset], campaign=OPEN)
    vault.publish("r-1", campaign=OPEN)
    older = vault.video("r-2", sources=[asset], campaign=OPEN)
    vault.decline("r-2")
    theirs = vault.video("r-3", sources=[other], campaign=OPEN)
    vault.publish("r-3", campaign=OPEN)
    vault.pass_days(3)
    before = vault.keys()
    assert plan(vault.retaining()).items == ()
    erase(vault, asset)
    gone = before - vault.keys()
    sha256 = asset.partition("/")[2]

    assert len(gone) == 6
    assert {vault.state(hers), vault.state(older)} == {"purged"}
    assert all(sha256 in key or "/r-1/" in key or "/r-2/" in key or "tiny" in key for key in gone)
    assert vault.state(theirs) == "live"
    assert vault.found() == {theirs}
    assert all(prove(vault.retaining(), row.subject).holds for row in vault.receipts())
    assert vault.broken(ALWAYS) == []


def test_an_erasure_names_what_holds_it_up(vault: Vault) -> None:
    vault.campaign(OPEN, None)
    asset = vault.source(b"a face", OPEN)
    vault.video("r-1", sources=[asset], campaign=OPEN)
    assert {one.reason for one in draft_erasure(vault.retaining(), asset).kept} == {"too_young"}
    vault.pass_days(3)
    attempt = rows.attempt(vault.database, OPEN, "r-1", 2, state="generating")
    assert ("source_asset", "needed") in {
        (one.what, one.reason) for one in draft_erasure(vault.retaining(), asset).kept
    }
    ended = sa.update(schema.attempts).where(schema.attempts.c.id == attempt).values(state="cancelled")
    vault.run(lambda tx: tx.connection.execute(ended))
    place(vault.retaining(), TENANT, Scope.SOURCE_ASSET, asset, matter="H-1", reason="dispute")

    assert {one.reason for one in draft_erasure(vault.retaining(), asset).kept} == {"held"}


def test_an_asset_that_nobody_delivered_is_refused(vault: Vault) -> None:
    with pytest.raises(UnknownSubject):
        draft_erasure(vault.retaining(), f"{TENANT}/{'0' * 64}")
    asset = vault.source()
    with pytest.raises(UnknownSubject):
        draft_erasure(vault.retaining(), f"southwind/{asset.partition('/')[2]}")


def test_receipts_hold_nothing_personal_and_history_still_says_what_was_made_of_what(vault: Vault) -> None:
    asset = vault.source(b"a face")
    video = vault.video("r-1", sources=[asset])
    vault.publish("r-1")
    vault.pass_days(60)
    erase(vault, asset)
    bodies = [json.loads(row.body) for row in vault.receipts()]

    words = json.dumps(bodies)
    assert not any(name in words for name in ("olive", "photo.png", "author", "request 1188", "publisher"))
    rendition = rows.read(vault.database, schema.renditions, "r-1")
    assert rendition.sources == [asset.partition("/")[2]]
    moves = [row.to_state for row in rows.rows(vault.database, schema.audit) if row.subject_id == video]
    assert moves == ["marked", "purging", "purged"]
    assert vault.row(video).sha256 in {body["sha256"] for body in bodies}


@pytest.mark.parametrize("harm", ["altered", "removed", "cut", "another_end", "rewritten"])
def test_a_chain_that_was_touched_shows(vault: Vault, harm: str) -> None:
    vault.source()
    vault.pass_days(60)
    asset = rows.rows(vault.database, schema.source_assets)[0].id
    erase(vault, asset)
    first, last = vault.receipts()
    proven = prove(vault.retaining(), first.subject)
    assert proven.holds
    known = proven.chain.sha256
    table, heads = schema.retention_receipts, schema.retention_heads
    body = first.body.replace('"size_bytes":5', '"size_bytes":4')
    assert body != first.body

    def touch(tx):  # type: ignore[no-untyped-def]
        if harm == "altered":
            tx.connection.execute(sa.update(table).where(table.c.number == 1).values(body=body))
        if harm in ("removed", "cut"):
            number = 1 if harm == "removed" else 2
            tx.connection.execute(sa.delete(table).where(table.c.number == number))
        if harm == "another_end":
            text = last.body.replace('"size_bytes":', '"size_bytes":1')
            changed = {"body": text, "sha256": digest(text)}
            tx.connection.execute(sa.update(table).where(table.c.number == 2).values(changed))
        if harm == "rewritten":
            second = last.body.replace(first.sha256, digest(body))
            for number, text, previous in ((1, body, ""), (2, second, digest(body))):
                changed = {"body": text, "sha256": digest(text), "previous": previous}
                tx.connection.execute(sa.update(table).where(table.c.number == number).values(changed))
            end = sa.update(heads).where(heads.c.name == "receipts").values(sha256=digest(second))
            tx.connection.execute(end)

    vault.run(touch)

    checked = run_check(vault.retaining().adapters, Name.PURGES)
    assert (checked.count == 0) is (harm == "rewritten")
    assert not prove(vault.retaining(), first.subject, known=known).holds
    assert prove(vault.retaining(), first.subject).holds is (harm == "rewritten")


def test_purged_bytes_that_come_anew_are_a_new_object_and_the_old_receipt_holds(vault: Vault) -> None:
    asset = vault.source(b"a face")
    vault.pass_days(60)
    erase(vault, asset)
    first = vault.receipts()[0].subject
    vault.campaign(OPEN, None)
    again = vault.source(b"a face", OPEN)

    assert again == asset
    proven = prove(vault.retaining(), first)
    assert (proven.holds, proven.key_is_used_again) == (True, True)
    assert vault.broken(ALWAYS) == []
