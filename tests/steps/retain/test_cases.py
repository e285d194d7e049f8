"""Every row of the hand-written retention cases: who still refers to an object decides."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.domain.errors import NotAllowed
from pipeline.domain.grants import is_over
from pipeline.steps.retain.approve import approve
from pipeline.steps.retain.plan import draft, plan
from pipeline.steps.retain.run import run
from resources.database import schema
from resources.database.grants import revoke_grant
from tests.database import rows
from tests.steps.retain.vault import ALWAYS, CAMPAIGN, Vault, policy_of

CASES = json.loads((Path(__file__).parents[2] / "data/retention/retention_cases.json").read_text())
#: Forty days after it was superseded a video goes; a campaign that runs on keeps what it shows.
KEEPS_SHOWN = policy_of(rows={"approved": {"action": "purge"}})


def case(number: int) -> dict[str, Any]:
    found: dict[str, Any] = CASES[number]
    return found


def swept(vault: Vault, days: float = 7) -> None:
    """One plan, approved and run, and its grace."""
    made = plan(vault.retaining())
    approve(vault.retaining(), made.id)
    run(vault.retaining())
    vault.pass_days(days)
    run(vault.retaining())


@pytest.fixture
def world(vault: Vault) -> Vault:
    """v1 is shown; v0 was, before it: both are of the slot of v1."""
    vault.policy = KEEPS_SHOWN
    vault.video("v-0")
    vault.publish("v-0")
    vault.video("v-1", slot=vault.slot_of("v-0"))
    vault.publish("v-1", slot=vault.slot_of("v-0"))
    return vault


def objects(vault: Vault) -> dict[str, str]:
    return {row.id: row.object for row in rows.rows(vault.database, schema.attempts)}


def test_every_case_has_its_test() -> None:
    assert len(CASES) == 8


def test_0_what_is_published_is_kept(vault: Vault) -> None:
    assert case(0)["expect"] == "kept"
    vault.policy = KEEPS_SHOWN
    master = vault.video("v-1")
    vault.publish("v-1")
    vault.pass_days(case(0)["age_days"])
    swept(vault)

    assert vault.state(master) == "live"
    assert vault.found() == {master}
    assert {(one.what, one.reason) for one in draft(vault.retaining()).kept} == {
        ("approved_rendition", "shown"), ("derivative", "master_stays"),
    }  # fmt: skip


def test_1_an_unexpired_grant_keeps_until_it_ends(vault: Vault) -> None:
    assert case(1)["expect"] == "kept until the grant ends"
    master = vault.video("v-1")
    vault.publish("v-1")
    vault.pass_days(case(1)["age_days"])
    made = plan(vault.retaining())
    approve(vault.retaining(), made.id)
    run(vault.retaining())
    vault.pass_days(7)
    vault.grant(master, 7200)
    assert run(vault.retaining()).counts == {"waiting": 2}

    assert vault.state(master) == "marked"
    assert vault.found() == set()
    with pytest.raises(NotAllowed):
        vault.grant(master, 7200)
    vault.clock.at += 7200 * 1_000_000 - 1
    assert run(vault.retaining()).counts == {"waiting": 2}
    vault.clock.at += 1
    assert run(vault.retaining()).counts == {"purged": 2}
    assert vault.broken(ALWAYS) == []


def test_1_a_grant_that_was_revoked_keeps_nothing(vault: Vault) -> None:
    master = vault.video("v-1")
    vault.publish("v-1")
    vault.pass_days(40)
    made = plan(vault.retaining())
    approve(vault.retaining(), made.id)
    run(vault.retaining())
    vault.pass_days(7)
    grant = vault.grant(master, 7200)
    assert run(vault.retaining()).counts == {"waiting": 2}
    assert vault.run(lambda tx: revoke_grant(tx, grant))

    assert run(vault.retaining()).counts == {"purged": 2}


def test_2_what_nothing_refers_to_goes_with_index_pictures_and_byte_hours(world: Vault) -> None:
    assert case(2)["expect"] == "deleted; index document, thumbnails and byte-hours end together"
    old, new = objects(world)["v-0-a1"], objects(world)["v-1-a1"]
    world.pass_days(case(2)["age_days"])
    swept(world)
    purged = {row.id: row.purged_at for row in rows.rows(world.database, schema.objects) if row.purged_at}
    ended = {
        row.object: row.until_at for row in rows.rows(world.database, schema.object_uses) if row.until_at
    }

    assert len(purged) == 2
    assert old in purged
    assert set(purged.values()) == {world.clock.at}
    assert ended == purged
    assert world.found() == {new}
    assert world.state(new) == "live"
    assert world.broken(ALWAYS) == []


def test_3_what_was_just_uploaded_is_kept(vault: Vault) -> None:
    assert case(3)["expect"] == "kept (grace)"
    vault.pass_days(60)
    vault.video("v-2")
    vault.wants(vault.slot_of("v-2"), None)
    orphan = f"{CAMPAIGN.partition('.')[0]}/renditions/v-3/1.mp4"
    vault.put(orphan, b"upload done, row not yet written")
    made = plan(vault.retaining())

    assert made.items == ()
    assert {(one.what, one.reason) for one in made.kept} == {
        ("superseded_rendition", "too_young"), ("derivative", "too_young"), ("orphan_object", "too_young"),
    }  # fmt: skip


def test_4_a_picture_is_kept_with_its_master(world: Vault) -> None:
    assert case(4)["expect"] == "kept with its master"
    world.pass_days(case(4)["age_days"])
    keys = {row.id: row.key for row in rows.rows(world.database, schema.objects)}
    swept(world)
    pictures = [name for name, key in keys.items() if "/derivatives/" in key]

    assert sorted(world.state(name) for name in pictures) == ["live", "purged"]


def test_5_a_grant_for_bytes_that_came_anew_never_shows_the_old_ones(vault: Vault) -> None:
    assert case(5)["expect"] == "new grant never shows files of the old one"
    old = vault.video("v-1", b"old")
    vault.publish("v-1")
    first = vault.grant(old, 60)
    vault.pass_days(60)
    swept(vault)
    new = vault.arrives("v-1", 2, b"new")
    selected = schema.renditions.update().values(selected_attempt="v-1-a2", attempts_made=2)
    vault.run(lambda tx: tx.connection.execute(selected))
    vault.publish("v-1", 2)
    second = vault.grant(new, 60)
    grants = {row.id: row.object for row in rows.rows(vault.database, schema.grants)}

    assert grants == {second: new}  # the first was over for longer than the policy keeps grants
    assert first not in grants
    assert vault.row(old).key != vault.row(new).key
    with pytest.raises(NotAllowed):
        vault.grant(old, 60)


def test_6_expired_at_exactly_now_is_one_rule_for_grant_and_clean_up(vault: Vault) -> None:
    assert case(6)["expect"] == "one rule (<= or <) for grant check and cleanup"
    master = vault.video("v-1")
    vault.publish("v-1")
    vault.pass_days(40)
    made = plan(vault.retaining())
    approve(vault.retaining(), made.id)
    run(vault.retaining())
    vault.pass_days(7)
    vault.grant(master, 10)
    [grant] = rows.rows(vault.database, schema.grants)
    assert run(vault.retaining()).counts == {"waiting": 2}
    vault.clock.at = grant.expires_at

    assert is_over(grant.expires_at, vault.clock.at)
    assert run(vault.retaining()).counts == {"purged": 2}


def test_7_what_somebody_else_deleted_counts_as_done(vault: Vault) -> None:
    assert case(7)["expect"] == "counts as done"
    master = vault.video("v-1")
    vault.publish("v-1")
    vault.pass_days(40)
    made = plan(vault.retaining())
    approve(vault.retaining(), made.id)
    run(vault.retaining())
    vault.pass_days(7)
    assert vault.store.delete(vault.row(master).key)
    assert run(vault.retaining()).counts == {"purged": 2}
    said = {row.subject: json.loads(row.body)["was_there"] for row in vault.receipts()}

    assert said[master] is False
    assert sorted(said.values()) == [False, True]
