"""L4, L5, T6, B1: what is made, carried, dropped, taken anew; once, however many ask at once."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import pytest

from pipeline.domain.errors import NotAllowed, UnknownSubject
from pipeline.domain.moderation import Decision
from pipeline.steps.produce.deliver import receipt_for, submit_brief, take
from pipeline.steps.produce.ingest import ingest_lot, micros
from pipeline.steps.produce.moderate import decide, moderate_due
from resources.database import schema
from resources.database.campaigns import lock_campaign
from resources.database.invariants import SeenObject, Snapshot, broken
from resources.database.planning import wishes_of
from resources.database.revisions import revision_by_id
from tests.steps.author import CAMPAIGN, Author, brief

R1, R2, R3 = (f"{CAMPAIGN}/r{number}" for number in (1, 2, 3))
WIDE = "en-GB/16x9/6s"
ONE_COPY_CHANGED = {"en-GB": "Your parcel, today.", "de-DE": "Ihr Paket, pünktlich."}


def next_revision(author: Author, number: int, **changes: Any) -> None:
    author.clock.pass_seconds(60)
    author.drop(f"r{number}.yaml", revision=number, **changes)
    author.ingest()
    author.moderate()


def by_variant(author: Author, number: int) -> dict[str, Any]:
    return {row.variant: row for row in author.rows(schema.wishes) if row.revision == f"{CAMPAIGN}/r{number}"}


def settle(author: Author, rendition: str, **columns: Any) -> None:
    author.change(schema.attempts, f"{rendition}-a1", **columns)


def publish(author: Author, rendition: str) -> None:
    """The slot shows the rendition, as the publish step leaves it."""
    settle(author, rendition, state="indexed", submission="accepted")
    [row] = [row for row in author.rows(schema.renditions) if row.id == rendition]
    author.change(schema.slots, row.slot, published_rendition=rendition)


def topics(author: Author, topic: str) -> list[str]:
    return [row.subject_id for row in author.rows(schema.outbox) if row.topic == topic]


def test_an_approval_plans_one_rendition_and_attempt_a_wish(author: Author) -> None:
    author.deliver()

    renditions = author.rows(schema.renditions)
    attempts = author.rows(schema.attempts)
    assert len(renditions) == len(attempts) == 4
    assert {(row.width, row.height) for row in renditions} == {(1280, 720), (720, 720)}
    assert {(row.state, row.submission, row.quote, row.currency) for row in attempts} == {
        ("queued", "not_sent", 300_000, "EUR")
    }
    assert {row.selected_attempt for row in renditions} == {row.id for row in attempts}
    assert sorted(topics(author, "approved")) == sorted(row.id for row in attempts)
    assert {row.attempt for row in author.rows(schema.selections)} == {row.id for row in attempts}
    wanted = {row.id: row.wanted_rendition for row in author.rows(schema.slots)}
    assert set(wanted.values()) == {row.id for row in renditions}
    assert len(author.rows(schema.slot_wants)) == 4


def test_a_batch_and_its_items_stand_before_anything_is_sent(author: Author) -> None:
    author.deliver()

    [batch] = author.rows(schema.batches)
    items = author.rows(schema.batch_items)
    assert (batch.kind, batch.revision, batch.completion) == ("submission", R1, "all_terminal")
    assert len(items) == 4
    assert {row.accepted_at for row in items} == {None}


def test_the_audit_chain_of_an_attempt_begins_at_nothing(author: Author) -> None:
    author.deliver()

    begun = [row for row in author.rows(schema.audit) if row.subject_kind == "attempt"]
    assert {(row.from_state, row.to_state, row.version) for row in begun} == {(None, "queued", 0)}
    assert len(begun) == 4


def test_a_relayed_approval_makes_its_attempt_due(author: Author) -> None:
    author.deliver()
    before = {row.next_action_at for row in author.rows(schema.attempts)}

    author.relay()

    assert before == {None}
    assert {row.next_action_at for row in author.rows(schema.attempts)} == {author.clock.at}


def test_a_new_revision_makes_only_what_changed_and_carries_the_rest(author: Author) -> None:
    author.deliver()
    first = by_variant(author, 1)
    next_revision(author, 2, copy=ONE_COPY_CHANGED)

    second = by_variant(author, 2)
    assert {key: wish.origin for key, wish in second.items()} == {
        "de-DE/16x9/6s": "carried", "de-DE/1x1/6s": "carried",
        "en-GB/16x9/6s": "made", "en-GB/1x1/6s": "made",
    }  # fmt: skip
    assert second["de-DE/1x1/6s"].rendition == first["de-DE/1x1/6s"].rendition
    assert len(author.rows(schema.attempts)) == 6
    assert len(topics(author, "approved")) == 6
    assert first[WIDE].rendition == by_variant(author, 1)[WIDE].rendition, "old output stays attributable"


def test_an_unsent_attempt_that_nobody_wants_is_cancelled_and_a_sent_one_runs_on(author: Author) -> None:
    author.deliver()
    first = by_variant(author, 1)
    settle(author, first["en-GB/1x1/6s"].rendition, state="generating", submission="accepted")
    next_revision(author, 2, copy=ONE_COPY_CHANGED)

    states = {row.rendition: (row.state, row.outcome_reason) for row in author.rows(schema.attempts)}
    assert states[first[WIDE].rendition] == ("cancelled", "unwanted")
    assert states[first["en-GB/1x1/6s"].rendition] == ("generating", None)
    assert states[first["de-DE/1x1/6s"].rendition] == ("queued", None)


def test_cancelling_a_claimed_unsent_attempt_frees_its_hold_and_its_lane(author: Author) -> None:
    author.deliver()
    old = by_variant(author, 1)[WIDE].rendition
    settle(author, old, state="submitting", lane_held=1, lease_token=3, lease_until=author.clock.at + 10**9)

    def hold(tx: Any) -> None:
        home = {"tenant": "northwind", "campaign": CAMPAIGN, "currency": "EUR"}
        tx.connection.execute(
            schema.holds.insert().values(
                attempt=f"{old}-a1", amount=300_000, state="open", opened_at=1, **home
            )
        )
        tx.connection.execute(schema.budgets.update().values(held=300_000))
        for tenant in ("*", "northwind"):
            tx.connection.execute(
                schema.lanes.insert().values(provider="local", tenant=tenant, in_flight=1, cap=5)
            )

    author.database.run(hold)
    next_revision(author, 2, copy=ONE_COPY_CHANGED)

    [attempt] = [row for row in author.rows(schema.attempts) if row.rendition == old]
    assert (attempt.state, attempt.lease_token, attempt.lane_held) == ("cancelled", 4, 0)
    assert author.rows(schema.budgets)[0].held == 0
    assert [row.state for row in author.rows(schema.holds)] == ["released"]
    assert {row.in_flight for row in author.rows(schema.lanes)} == {0}


def test_a_dropped_variant_stays_published_and_the_receipt_says_so(author: Author) -> None:
    author.deliver()
    first = by_variant(author, 1)
    publish(author, first["en-GB/1x1/6s"].rendition)
    only_wide = brief()["variants"] | {"aspect_ratios": ["16:9"]}
    next_revision(author, 2, variants=only_wide)

    slots = {row.variant: row for row in author.rows(schema.slots)}
    assert slots["en-GB/1x1/6s"].published_rendition == first["en-GB/1x1/6s"].rendition
    assert slots["en-GB/1x1/6s"].wanted_rendition == first["en-GB/1x1/6s"].rendition
    assert receipt_for(author.database, R2).still_published == ("en-GB/1x1/6s",)


def test_a_dropped_variant_that_was_never_shown_is_wanted_no_more(author: Author) -> None:
    author.deliver()
    dropped = by_variant(author, 1)["en-GB/1x1/6s"].rendition
    next_revision(author, 2, variants=brief()["variants"] | {"aspect_ratios": ["16:9"]})

    slots = {row.variant: row for row in author.rows(schema.slots)}
    assert slots["en-GB/1x1/6s"].wanted_rendition is None
    states = {row.rendition: row.state for row in author.rows(schema.attempts)}
    assert states[dropped] == "cancelled"
    assert receipt_for(author.database, R2).still_published == ()


def test_a_rendition_that_is_wanted_again_is_published_again_and_not_made_again(author: Author) -> None:
    author.deliver()
    old = by_variant(author, 1)[WIDE].rendition
    publish(author, old)
    next_revision(author, 2, copy=ONE_COPY_CHANGED)
    new = by_variant(author, 2)[WIDE].rendition
    publish(author, new)
    next_revision(author, 3)

    wish = by_variant(author, 3)[WIDE]
    assert (wish.rendition, wish.origin) == (old, "carried")
    slots = {row.variant: row for row in author.rows(schema.slots)}
    assert (slots[WIDE].wanted_rendition, slots[WIDE].published_rendition) == (old, new)
    assert topics(author, "indexed") == [f"{old}-a1"]
    assert len(author.rows(schema.renditions)) == 6
    [item] = [row for row in author.rows(schema.batch_items) if row.wish == wish.id]
    assert (item.media_at, item.processed_at, item.usable_at) == (author.clock.at, author.clock.at, None)


def test_a_rendition_that_rests_stored_goes_on_when_it_is_wanted_again(author: Author) -> None:
    author.deliver()
    old = by_variant(author, 1)[WIDE].rendition
    settle(author, old, state="stored", submission="accepted")
    next_revision(author, 2, copy=ONE_COPY_CHANGED)
    next_revision(author, 3)

    assert topics(author, "owned") == [f"{old}-a1"]


@pytest.mark.parametrize("outcome", ["invalid_request", "source_rejected"])
def test_what_would_be_refused_again_is_not_sent_into_another_attempt_by_its_receipt(
    author: Author, outcome: str
) -> None:
    author.deliver()
    settle(author, by_variant(author, 1)["de-DE/1x1/6s"].rendition, state="failed", outcome_class=outcome)

    [variant] = [one for one in receipt_for(author.database, R1).variants if one.word == "failed"]

    assert "raise `revision`" in (variant.remedy or "")


@pytest.mark.parametrize(("state", "word"), [("failed", "failed"), ("cancelled", "cancelled")])
def test_what_ended_is_not_made_again_silently_and_the_receipt_names_the_remedy(
    author: Author, state: str, word: str
) -> None:
    author.deliver()
    ended = by_variant(author, 1)["de-DE/1x1/6s"].rendition
    settle(author, ended, state=state, outcome_class="output_rejected")
    next_revision(author, 2, copy=ONE_COPY_CHANGED)

    [variant] = [one for one in receipt_for(author.database, R2).variants if one.variant == "de-DE/1x1/6s"]
    assert (variant.rendition, variant.origin, variant.word) == (ended, "carried", word)
    assert variant.remedy is not None
    assert "--take" in variant.remedy
    assert [row.number for row in author.rows(schema.attempts) if row.rendition == ended] == [1]


def test_a_take_makes_a_fresh_rendition_of_an_approved_revision(author: Author) -> None:
    author.deliver()
    old = by_variant(author, 1)[WIDE]
    before = {one.wish: one.entity_version for one in author.status()}

    plan = take(author.database, author.rules, R1, [WIDE], actor="ada")

    assert plan is not None
    [planned] = plan.wishes
    assert (planned.take, planned.origin) == (2, "made")
    wish = by_variant(author, 1)[WIDE]
    assert wish.rendition == planned.rendition != old.rendition
    after = {one.wish: one.entity_version for one in author.status()}
    assert after[wish.id] > before[wish.id], "an entity version never falls"
    assert [row.kind for row in author.rows(schema.batches)] == ["submission", "take"]
    slots = {row.variant: row.wanted_rendition for row in author.rows(schema.slots)}
    assert slots[WIDE] == planned.rendition


def test_the_newest_take_is_the_one_that_is_carried_forward(author: Author) -> None:
    author.deliver()
    take(author.database, author.rules, R1, ["de-DE/1x1/6s"], actor="ada")
    taken = by_variant(author, 1)["de-DE/1x1/6s"].rendition
    next_revision(author, 2, copy=ONE_COPY_CHANGED)

    wish = by_variant(author, 2)["de-DE/1x1/6s"]
    assert (wish.rendition, wish.origin) == (taken, "carried")


def test_a_take_of_an_undecided_revision_is_remembered_until_the_approval(author: Author) -> None:
    author.deliver()
    author.clock.pass_seconds(60)
    author.drop("two.yaml", revision=2)
    author.ingest()

    assert take(author.database, author.rules, R2, [WIDE], actor="ada") is None
    author.moderate()

    wishes = by_variant(author, 2)
    assert Counter(wish.origin for wish in wishes.values()) == {"carried": 3, "made": 1}
    assert wishes[WIDE].take_wanted == 0


def test_takes_are_refused_where_they_make_no_sense(author: Author) -> None:
    author.deliver()
    next_revision(author, 2)

    with pytest.raises(NotAllowed, match="newest is revision 2"):
        take(author.database, author.rules, R1, [], actor="ada")
    with pytest.raises(UnknownSubject, match="fr-FR"):
        take(author.database, author.rules, R2, ["fr-FR/1x1/6s"], actor="ada")
    with pytest.raises(UnknownSubject):
        take(author.database, author.rules, R3, [], actor="ada")

    assert len(author.rows(schema.renditions)) == 4


def test_the_short_side_is_ours_and_the_other_settings_go_to_the_provider(author: Author) -> None:
    made = {"provider": "local", "model": "kenburns-1", "settings": {"fps": 25, "short_side": 360}}
    author.deliver(generation=made)

    assert {(row.width, row.height) for row in author.rows(schema.renditions)} == {(640, 360), (360, 360)}
    assert {tuple(row.settings.items()) for row in author.rows(schema.renditions)} == {(("fps", 25),)}


def test_a_provider_that_left_the_list_gets_no_quote_and_its_attempt_waits_to_fail_by_name(
    author: Author,
) -> None:
    author.drop_images(author.folder())
    author.drop()
    author.ingest()
    author.relay()
    gone = type(author.rules)({}, "profile-1")

    moderate_due(author.database, author.policy, gone)

    assert {(row.quote, row.currency, row.state) for row in author.rows(schema.attempts)} == {
        (0, "EUR", "queued")
    }


def test_many_submissions_and_approvals_at_once_make_each_rendition_once(
    author: Author, tmp_path: Any
) -> None:
    author.drop_images(author.folder())
    author.drop()
    homes = [tmp_path / f"desk-{number}" for number in range(3)]
    for home in homes:
        author.drop_images(home)
        author.drop("mine.yaml", folder=home)
    author.ingest()
    author.relay()
    failures: list[BaseException] = []

    def deliver_and_judge(home: Any) -> None:
        try:
            submit_brief(author.intake, home / "mine.yaml")
            moderate_due(author.database, author.policy, author.rules)
            ingest_lot(author.intake)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=deliver_and_judge, args=(home,)) for home in homes * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    assert len(author.rows(schema.renditions)) == len(author.rows(schema.attempts)) == 4
    assert [row.kind for row in author.rows(schema.batches)] == ["submission"]
    assert len(author.rows(schema.decisions)) == 1
    assert author.revision().state == "approved"


def test_a_decision_that_fails_halfway_leaves_nothing_of_its_plan(
    author: Author, monkeypatch: pytest.MonkeyPatch
) -> None:
    author.drop_images(author.folder())
    author.drop()
    author.ingest()

    def broken(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("resources.database.planning.move_wants", broken)
        with pytest.raises(KeyboardInterrupt):
            decide(
                author.database, author.policy, author.rules, R1, Decision.APPROVED, reason="ok", actor="ada"
            )

    assert author.revision().state == "moderating"
    for table in (schema.renditions, schema.attempts, schema.batches, schema.decisions):
        assert author.rows(table) == [], table.name


def test_locks_and_readings_of_what_is_not_there_say_so(author: Author) -> None:
    found = author.database.run(
        lambda tx: (lock_campaign(tx, "a.b"), revision_by_id(tx.connection, "x"), wishes_of(tx, "x"))
    )

    assert found == (None, None, [])


def test_the_invariants_hold_after_revisions_takes_and_drops(author: Author) -> None:
    author.deliver()
    next_revision(author, 2, copy=ONE_COPY_CHANGED)
    take(author.database, author.rules, R2, [WIDE], actor="ada")
    next_revision(author, 3, variants=brief()["variants"] | {"aspect_ratios": ["16:9"]})
    author.relay()
    now = author.clock.at
    stored = [
        SeenObject(one.key, one.size, micros(one.modified_at), sha256=author.intake.store.sha256(one.key))
        for one in author.intake.store.list("northwind/")
    ]

    with author.database.engine.begin() as connection:
        found = list(broken(connection, Snapshot(now, objects=stored), now=now, overdue=now - 600_000_000))

    assert found == []
    assert len(stored) == 4
