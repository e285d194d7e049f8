"""C1, C2: what refuses a whole plan, what skips a part of it, and that a slip of the pen deletes nothing."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa

from pipeline.domain.errors import NotAllowed, UnknownSubject
from pipeline.domain.retention import Scope
from pipeline.steps.operate.pause import pause, resume
from pipeline.steps.retain.approve import approve
from pipeline.steps.retain.hold import place, release
from pipeline.steps.retain.plan import Plan, draft, plan, plan_hash
from pipeline.steps.retain.purge import purge
from pipeline.steps.retain.retaining import Retaining
from pipeline.steps.retain.run import run
from pipeline.steps.retain.undo import undo
from resources.database import schema
from tests.database import rows
from tests.steps.retain.vault import ALWAYS, CAMPAIGN, TENANT, Vault, policy_of


def due(vault: Vault) -> Plan:
    """A plan over one published video with its picture, which are due."""
    vault.video()
    vault.publish("r-1")
    vault.pass_days(60)
    return plan(vault.retaining())


def reasons(made: Plan) -> dict[str, str]:
    return {one.what: one.reason for one in made.kept}


def items(vault: Vault) -> dict[str, tuple[str, str | None]]:
    return {row.subject: (row.standing, row.why) for row in rows.rows(vault.database, schema.retention_items)}


def test_the_dry_run_is_the_run_on_an_unchanged_world(vault: Vault) -> None:
    asset = vault.source()
    vault.video("r-1", sources=[asset])
    vault.publish("r-1")
    vault.video("r-2")
    vault.decline("r-2")
    vault.video("r-3", campaign=vault.campaign(f"{TENANT}.open", None))
    vault.pass_days(60)
    dry = draft(vault.retaining())
    made = plan(vault.retaining())
    approve(vault.retaining(), made.id)
    run(vault.retaining())
    vault.pass_days(7)
    run(vault.retaining())

    assert dry == made
    assert plan_hash(made) == made.id
    assert {row.subject for row in vault.receipts()} == {one.subject for one in made.items}
    assert (
        sum(row.size_bytes for row in rows.rows(vault.database, schema.objects) if row.purged_at)
        == made.size_bytes
    )


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        ({"objects": 1, "bytes": "1 GiB"}, "2 things would go, 1 may"),
        ({"objects": 9, "bytes": "1 B"}, "bytes would go, 1 may"),
    ],
)
def test_a_plan_beyond_a_limit_is_refused_as_a_whole(vault: Vault, limits: dict[str, Any], says: str) -> None:
    vault.policy = policy_of(guards={"limits": limits})
    made = due(vault)

    assert made.refused is not None
    assert says in made.refused
    with pytest.raises(NotAllowed, match="refused"):
        approve(vault.retaining(), made.id)
    assert run(vault.retaining()).counts == {}


@pytest.mark.parametrize(
    "changed",
    [
        policy_of(version="test-2"),
        policy_of(guards={"roots": [f"{TENANT}/renditions/"]}),
        policy_of(guards={"limits": {"objects": 999, "bytes": "1 GiB"}}),
        policy_of(rows={"superseded": {"keep_days": 14}}),
    ],
)
def test_a_plan_of_another_policy_roots_or_limits_is_refused_as_a_whole(vault: Vault, changed: Any) -> None:
    made = due(vault)
    with pytest.raises(NotAllowed, match="changed since"):
        approve(vault.retaining(policy=changed), made.id)
    approve(vault.retaining(), made.id)

    with pytest.raises(NotAllowed, match="changed since"):
        run(vault.retaining(policy=changed), made.id)
    assert [said for said in run(vault.retaining(policy=changed)).refused if "changed since" in said]
    assert set(items(vault).values()) == {("planned", None)}


def test_a_plan_older_than_a_day_is_neither_approved_nor_begun(vault: Vault) -> None:
    made = due(vault)
    approve(vault.retaining(), made.id)
    vault.pass_days(1.01)

    with pytest.raises(NotAllowed, match="24 hours old"):
        approve(vault.retaining(), made.id)
    with pytest.raises(NotAllowed, match="24 hours old"):
        run(vault.retaining(), made.id)


def test_every_role_that_a_row_names_must_approve(vault: Vault) -> None:
    vault.source()
    vault.policy = policy_of(approvers={"operator": ["olive"], "legal": ["lee"]})
    made = due(vault)
    with pytest.raises(NotAllowed, match="none of the roles"):
        approve(vault.retaining("mallory"), made.id)

    assert approve(vault.retaining("olive"), made.id).missing == ("legal",)
    with pytest.raises(NotAllowed, match="approval of legal"):
        run(vault.retaining(), made.id)
    assert run(vault.retaining()).counts == {}
    assert approve(vault.retaining("lee"), made.id).missing == ()
    assert run(vault.retaining()).counts == {"marked": 4}


def test_a_plan_is_approved_by_enough_of_its_hash(vault: Vault) -> None:
    made = due(vault)
    with pytest.raises(UnknownSubject):
        approve(vault.retaining(), made.id[:5])
    with pytest.raises(UnknownSubject):
        approve(vault.retaining(), "0" * 64)

    assert approve(vault.retaining(), made.id[:8]).plan == made.id


def test_a_clock_a_year_ahead_plans_and_purges_nothing_and_says_why(vault: Vault) -> None:
    made = due(vault)
    approve(vault.retaining(), made.id)
    run(vault.retaining())
    before = vault.keys()
    vault.clock.at += 365 * 86_400 * 1_000_000
    honest = Retaining(
        vault.adapters, vault.policy, None, "olive", lambda: vault.clock.at - 365 * 86_400 * 1_000_000
    )

    for deed in (plan, run, purge):
        with pytest.raises(NotAllowed, match="apart"):
            deed(honest)
    assert vault.keys() == before


def test_a_clock_that_leapt_on_one_machine_is_told_by_the_silence_before_it(vault: Vault) -> None:
    due(vault)
    vault.policy = policy_of(guards={"longest_silence_days": 30})
    vault.pass_days(365)

    with pytest.raises(NotAllowed, match="nothing was recorded since 2026-03-02, 365 days"):
        plan(vault.retaining())


def test_an_unknown_class_a_wrong_root_and_a_missing_end_keep_and_say_so(vault: Vault) -> None:
    made = due(vault)
    assert len(made.items) == 2
    other_root = policy_of(guards={"roots": ["southwind/renditions/"]})
    gone_class = policy_of(rows={"approved": {"class": "standrad"}})

    assert reasons(draft(vault.retaining(policy=other_root))) == {
        "approved_rendition": "outside_roots", "derivative": "outside_roots",
    }  # fmt: skip
    assert reasons(draft(vault.retaining(policy=gone_class)))["approved_rendition"] == "unknown_class"
    vault.amend(CAMPAIGN, ends_on=None)
    assert reasons(draft(vault.retaining())) == {
        "approved_rendition": "unknown_anchor", "derivative": "master_stays",
    }  # fmt: skip


def test_a_pause_is_read_before_each_batch(vault: Vault) -> None:
    made = due(vault)
    approve(vault.retaining(), made.id)
    held = {"stage": "retention", "provider": "*", "tenant": TENANT}
    pause(vault.database, **held, actor="olive", reason="audit")
    assert run(vault.retaining()).counts == {"paused": 2}
    resume(vault.database, **held, actor="olive")
    assert run(vault.retaining()).counts == {"marked": 2}
    vault.pass_days(7)
    pause(vault.database, **held, actor="olive", reason="audit")
    assert run(vault.retaining()).counts == {"paused": 2}
    resume(vault.database, **held, actor="olive")

    assert run(vault.retaining()).counts["purged"] == 2


def test_what_changed_since_the_plan_is_skipped_with_its_reason(vault: Vault) -> None:
    vault.video("r-2")
    made = due(vault)
    approve(vault.retaining(), made.id)
    shown = next(one.subject for one in made.items if "/r-1/" in one.key)
    other = next(one.subject for one in made.items if "/r-2/" in one.key)
    place(vault.retaining(), TENANT, Scope.RENDITION, "r-1", matter="H-1", reason="dispute")
    objects = schema.objects
    vault.run(
        lambda tx: tx.connection.execute(sa.update(objects).where(objects.c.id == other).values(size_bytes=1))
    )
    run(vault.retaining())
    found = items(vault)

    assert found[shown] == ("skipped", "held")
    assert found[other] == ("skipped", "changed")
    assert {why for name, (_, why) in found.items() if name not in (shown, other)} == {
        "held", "master_stays",
    }  # fmt: skip


def test_a_hold_returns_what_is_marked_and_its_release_lets_the_next_plan_take_it(vault: Vault) -> None:
    made = due(vault)
    approve(vault.retaining(), made.id)
    run(vault.retaining())
    held = place(vault.retaining(), TENANT, Scope.CAMPAIGN, CAMPAIGN, matter="H-1", reason="dispute")
    vault.pass_days(30)

    assert len(held.returned) == 2
    assert run(vault.retaining()).counts == {}
    assert set(items(vault).values()) == {("skipped", "held")}
    assert {one.reason for one in plan(vault.retaining()).kept} == {"held"}
    release(vault.retaining(), held.id, reason="settled")
    assert len(plan(vault.retaining()).items) == 2
    assert vault.broken(ALWAYS) == []


def test_a_hold_on_what_nobody_delivered_is_refused(vault: Vault) -> None:
    with pytest.raises(UnknownSubject):
        place(vault.retaining(), TENANT, Scope.CAMPAIGN, f"{TENANT}.autumn", matter="H", reason="x")
    with pytest.raises(UnknownSubject):
        place(vault.retaining(), "southwind", Scope.CAMPAIGN, CAMPAIGN, matter="H", reason="x")


@pytest.mark.parametrize("scope", ["tenant", "campaign", "rendition", "source_asset"])
def test_a_hold_reaches_pictures_and_sources_of_what_it_holds(vault: Vault, scope: str) -> None:
    asset = vault.source()
    vault.video("r-1", sources=[asset])
    other = vault.source(b"another photo")
    vault.video("r-2", sources=[other])
    vault.pass_days(60)
    assert len(draft(vault.retaining()).items) == 8
    subject = {"tenant": TENANT, "campaign": CAMPAIGN, "rendition": "r-1", "source_asset": asset}[scope]
    place(vault.retaining(), TENANT, Scope(scope), subject, matter="H-1", reason="dispute")
    goes = {item.key for item in draft(vault.retaining()).items}

    assert len(goes) == (0 if scope in ("tenant", "campaign") else 4)
    assert not any("/r-1/" in key or asset.partition("/")[2] in key for key in goes)


def test_undo_of_what_is_not_marked_says_so(vault: Vault) -> None:
    made = due(vault)
    with pytest.raises(NotAllowed, match="nothing of it is marked"):
        undo(vault.retaining(), made.id, reason="too early")
