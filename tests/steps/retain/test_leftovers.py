"""C1: what lies around and is no object goes the same way, by rows and a clock of its own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pipeline.domain.retention import Scope
from pipeline.steps.retain.approve import approve
from pipeline.steps.retain.hold import place
from pipeline.steps.retain.plan import Plan, plan
from pipeline.steps.retain.run import run
from pipeline.steps.retain.undo import undo
from resources.database import schema
from tests.database import rows
from tests.steps.retain.vault import ALWAYS, TENANT, Vault, policy_of

ORPHAN = f"{TENANT}/renditions/lost/1.mp4"


@pytest.fixture
def lying(vault: Vault) -> Vault:
    """An orphan, the copy of a killed write, a picture in the spool, and a file that somebody dropped."""
    vault.put(ORPHAN, b"nobody names this")
    vault.put("intake/northwind/brief.yaml", b"theirs")
    temporary = vault.folder / "objects/.tmp/1-abc"
    temporary.write_bytes(b"half")
    cached = vault.adapters.spool / "inputs" / "f"
    cached.parent.mkdir(parents=True, exist_ok=True)
    cached.write_bytes(b"picture")
    for path in (temporary, cached):
        os.utime(path, (0, 0))  # an old file's time proves nothing
    return vault


def after(vault: Vault, days: float) -> Plan:
    vault.pass_days(days)
    return plan(vault.retaining())


def test_it_goes_so_long_after_a_plan_saw_it_first_whatever_its_file_says(lying: Vault) -> None:
    assert plan(lying.retaining()).items == ()
    assert {one.what for one in after(lying, 2.5).items} == {"temporary_object", "spool_file"}
    made = after(lying, 1)
    assert {one.what for one in made.items} == {"temporary_object", "spool_file", "orphan_object"}
    approve(lying.retaining(), made.id)
    assert run(lying.retaining()).counts == {"marked": 3}
    assert lying.keys() == {ORPHAN, "intake/northwind/brief.yaml"}
    lying.pass_days(7)
    assert run(lying.retaining()).counts == {"purged": 3}

    assert lying.keys() == {"intake/northwind/brief.yaml"}
    assert list(lying.store.list_temporary()) == []
    assert len(lying.receipts()) == 3
    assert not list(Path(lying.adapters.spool).rglob("f"))
    assert lying.broken((*ALWAYS, "no_orphan_objects")) == []


def test_what_was_written_again_starts_anew(lying: Vault) -> None:
    plan(lying.retaining())
    cached = lying.adapters.spool / "inputs" / "f"
    lying.pass_days(2.5)
    cached.write_bytes(b"another picture")

    assert {one.what for one in plan(lying.retaining()).items} == {"temporary_object"}


def test_what_somebody_owns_by_now_is_kept(lying: Vault) -> None:
    plan(lying.retaining())
    made = after(lying, 4)
    approve(lying.retaining(), made.id)
    run(lying.retaining())
    rows.insert(lying.database, schema.objects, {
        "id": "o-late", "tenant": TENANT, "kind": "rendition", "retention_class": "standard", "key": ORPHAN,
        "sha256": lying.store.sha256(ORPHAN), "size_bytes": 17, "media_type": "any", "facts": {},
        "state": "live", "created_at": lying.clock.at,
    })  # fmt: skip
    lying.pass_days(7)
    counts = run(lying.retaining()).counts

    assert (counts["purged"], counts["kept"]) == (2, 1)
    assert lying.store.exists(ORPHAN)
    assert lying.broken(ALWAYS) == []


def test_a_hold_in_a_tenant_keeps_its_orphans_and_an_undo_exempts_them(lying: Vault) -> None:
    lying.video()
    plan(lying.retaining())
    made = after(lying, 4)
    approve(lying.retaining(), made.id)
    run(lying.retaining())
    undo(lying.retaining(), made.id, [ORPHAN], reason="being looked at")
    assert ORPHAN not in {one.subject for one in plan(lying.retaining()).items}
    place(lying.retaining(), TENANT, Scope.RENDITION, "r-1", matter="H", reason="dispute")
    lying.policy = policy_of(version="next")

    assert ("orphan_object", "held") in {(one.what, one.reason) for one in plan(lying.retaining()).kept}


def test_grants_that_were_over_long_ago_go_and_those_of_late_stay(vault: Vault) -> None:
    video = vault.video(campaign=vault.campaign(f"{TENANT}.open", None))
    vault.publish("r-1", campaign=f"{TENANT}.open")
    vault.grant(video, 60)
    vault.pass_days(20)
    late = vault.grant(video, 60)
    assert plan(vault.retaining()).items == ()
    made = after(vault, 11)

    assert [(one.what, one.reason) for one in made.items] == [("grant", "due")]
    approve(vault.retaining(), made.id)
    run(vault.retaining())
    vault.pass_days(7)
    assert run(vault.retaining()).counts == {"purged": 1}
    assert [row.id for row in rows.rows(vault.database, schema.grants)] == [late]
    assert len(vault.receipts()) == 1


def test_pictures_of_a_set_that_nothing_shows_go_and_those_in_use_stay(vault: Vault) -> None:
    video = vault.video(campaign=vault.campaign(f"{TENANT}.open", None))
    vault.publish("r-1", campaign=f"{TENANT}.open")
    sha256 = vault.row(video).sha256
    old = vault.picture(video, sha256, "r-1-a1", f"{TENANT}.open", version="tiny-0")
    vault.pass_days(6)
    made = plan(vault.retaining())

    assert [(one.subject, one.what) for one in made.items] == [(old, "inactive_derivative")]
    approve(vault.retaining(), made.id)
    run(vault.retaining())
    vault.pass_days(7)
    run(vault.retaining())
    assert vault.state(old) == "purged"
    assert vault.broken(ALWAYS) == []
