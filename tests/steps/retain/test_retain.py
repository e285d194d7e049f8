"""C1-C4: plan, approve, mark, wait, purge, prove."""

from __future__ import annotations

import json

import pytest

from pipeline.domain.errors import NotAllowed
from pipeline.steps.retain.approve import approve
from pipeline.steps.retain.plan import plan
from pipeline.steps.retain.run import run
from pipeline.steps.retain.undo import undo
from pipeline.steps.retain.verify import prove
from tests.steps.retain.vault import ALWAYS, CAMPAIGN, Vault


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
    assert CAMPAIGN
