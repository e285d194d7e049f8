"""C1-C4: plan, approve, mark, wait, purge, prove."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from pipeline.domain.errors import IndexUnavailable, NotAllowed
from pipeline.steps.retain.approve import approve
from pipeline.steps.retain.plan import plan
from pipeline.steps.retain.run import run
from pipeline.steps.retain.undo import undo
from pipeline.steps.retain.verify import prove
from resources.database.engine import READ_ONLY
from resources.object_store.local import LocalStore
from resources.tag_index.protocol import Change, WriteResult
from resources.tag_index.sql import SqlTagIndex
from tests.steps.retain.vault import ALWAYS, Vault


def test_what_is_due_is_planned_approved_marked_purged_and_proven(vault: Vault) -> None:
    asset = vault.source()
    video = vault.video(sources=[asset])
    vault.publish("r-1")
    vault.pass_days(60)
    made = plan(vault.retaining())

    assert {item.what for item in made.items} == {"source_asset", "approved_rendition", "derivative"}
    assert len(made.items) == 4
    assert made.size_bytes == sum(one.size for one in vault.store.list(""))
    with pytest.raises(NotAllowed, match="approval"):
        run(vault.retaining(), made.id)

    approve(vault.retaining(), made.id[:12])
    assert run(vault.retaining()).counts == {"marked": 4}
    assert vault.state(video) == "marked"
    assert vault.found() == {video}
    vault.pass_days(7)
    done = run(vault.retaining())

    assert done.counts["purged"] == 4
    assert vault.keys() == set()
    assert vault.found() == set()
    proven = prove(vault.retaining(), video)
    assert proven.holds
    assert json.loads(proven.receipts[0])["policy_row"] == "approved@1"
    assert vault.broken(ALWAYS) == []


def test_an_undone_object_stays_and_this_version_of_the_policy_lets_it_be(vault: Vault) -> None:
    video = vault.video()
    vault.publish("r-1")
    vault.pass_days(60)
    made = plan(vault.retaining())
    approve(vault.retaining(), made.id)
    run(vault.retaining())
    undone = undo(vault.retaining(), made.id, [video], reason="still on air")
    vault.pass_days(8)
    run(vault.retaining())

    assert len(undone.subjects) == 2
    assert vault.state(video) == "live"
    assert {(one.reason, one.objects) for one in plan(vault.retaining()).kept} >= {("exempt", 1)}
    assert vault.broken(ALWAYS) == []


def test_a_store_that_keeps_what_it_said_is_gone_gets_no_receipt(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    video = vault.video()
    vault.pass_days(60)
    made = plan(vault.retaining())
    approve(vault.retaining(), made.id)
    run(vault.retaining())
    vault.pass_days(7)
    real = LocalStore.delete_all
    monkeypatch.setattr(LocalStore, "delete_all", lambda _, keys: dict.fromkeys(keys, True))
    assert run(vault.retaining()).counts == {"not_gone": 2}

    assert vault.state(video) == "purging"
    assert vault.receipts() == []
    monkeypatch.setattr(LocalStore, "delete_all", real)
    assert run(vault.retaining()).counts == {"purged": 2}
    assert prove(vault.retaining(), video).holds


class Deaf(SqlTagIndex):
    """An index that is down for writers."""

    def put(self, changes: Sequence[Change]) -> tuple[WriteResult, ...]:
        raise IndexUnavailable(f"{len(changes)} changes were not taken")


def test_nothing_goes_before_the_index_heard_of_it(vault: Vault) -> None:
    video = vault.video()
    vault.publish("r-1")
    vault.pass_days(60)
    made = plan(vault.retaining())
    approve(vault.retaining(), made.id)
    run(vault.retaining())
    vault.pass_days(7)
    engine = vault.database.engine
    whole, deaf = vault.adapters, Deaf(engine, engine.execution_options(**READ_ONLY))
    vault.adapters = replace(whole, index=deaf)
    assert run(vault.retaining()).counts == {"waiting": 2}

    assert vault.store.exists(vault.row(video).key)
    assert vault.state(video) == "marked"
    vault.adapters = whole
    assert run(vault.retaining()).counts == {"purged": 2}
    assert vault.found() == set()
