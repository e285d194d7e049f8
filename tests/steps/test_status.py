"""L8, L9, B3: one word a wish, why, and counters that only rise."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa

from pipeline.domain.completion import CompletionPolicy
from pipeline.steps.answer.status import Wanted, completion_of, counts, status
from pipeline.steps.produce.deliver import receipt_for
from resources.database import schema
from resources.database.database import Database
from resources.database.decisions import Decision, record_decision
from tests.steps.author import CAMPAIGN, Author

WIDE = "en-GB/16x9/6s"
R1 = f"{CAMPAIGN}/r1"


def wide(author: Author) -> Any:
    [one] = [one for one in author.status() if one.variant == WIDE]
    return one


@pytest.fixture
def approved(author: Author) -> Author:
    author.deliver()
    return author


def test_before_the_approval_a_wish_shows_its_source_set(author: Author) -> None:
    author.drop()
    author.ingest()

    assert author.words() == {"uploaded"}
    assert {(one.rendition, one.retry_after_seconds) for one in author.status()} == {(None, 10)}


FACTS = [
    ({"parked_reason": None}, "queued", ()),
    ({"parked_reason": "over_budget"}, "queued", ("over_budget",)),
    ({"state": "submitting", "submission": "unknown"}, "unresolved", ()),
    ({"state": "submitting", "submission": "unknown", "lease_until": 2**60}, "queued", ()),
    ({"state": "generating", "submission": "accepted", "overdue_at": 1}, "generating", ("overdue",)),
    ({"state": "generating", "cancel_wanted_at": 1}, "generating", ("cancel_wanted",)),
    ({"state": "retrieving"}, "downloading", ()),
    ({"state": "stored"}, "processing", ()),
    ({"state": "stored", "parked_reason": "underivable"}, "processing", ("underivable",)),
    ({"state": "failed", "outcome_class": "provider_fault"}, "failed", ()),
    ({"state": "cancelled"}, "cancelled", ()),
    ({"state": "dreaming"}, "processing", ("unknown_state:dreaming",)),
    ({"parked_reason": "moon_phase"}, "queued", ("moon_phase",)),
    ({"submission": "telepathic", "state": "submitting"}, "unresolved", ()),
]


def test_an_attempts_facts_project_to_one_word_and_why(approved: Author) -> None:
    attempt = wide(approved).attempt
    [before] = [row for row in approved.rows(schema.attempts) if row.id == attempt]
    found = []
    for facts, _, _ in FACTS:
        approved.change(schema.attempts, attempt, **facts)
        found.append((facts, str(wide(approved).word), wide(approved).why))
        approved.change(schema.attempts, attempt, **{name: getattr(before, name) for name in facts})

    assert found == FACTS


@pytest.mark.parametrize(
    ("cap", "held", "settled", "is_at_rest"),
    [
        (1_000_000, 800_000, 100_000, False),
        (1_000_000, 0, 800_000, True),
        (1_000_000, 100_000, 700_000, False),
    ],
    ids=["a hold may come free", "spent for good", "just enough when the hold comes free"],
)
def test_what_is_over_budget_is_asked_again_only_where_a_hold_may_come_free(
    approved: Author, cap: int, held: int, settled: int, is_at_rest: bool
) -> None:
    table, attempt = schema.attempts, wide(approved).attempt

    def park(tx: Any) -> None:
        tx.connection.execute(sa.update(schema.budgets).values(cap=cap, held=held, settled=settled))
        tx.connection.execute(
            sa.update(table).where(table.c.id == attempt).values(parked_reason="over_budget", quote=300_000)
        )

    approved.database.run(park)

    assert (wide(approved).retry_after_seconds is None) is is_at_rest


@pytest.mark.parametrize("reason", ["underivable", "unindexable"])
def test_what_was_refused_for_good_is_not_asked_for_again(approved: Author, reason: str) -> None:
    table, attempt = schema.attempts, wide(approved).attempt
    facts = {"state": "stored", "parked_reason": reason}
    approved.database.run(
        lambda tx: tx.connection.execute(sa.update(table).where(table.c.id == attempt).values(**facts))
    )

    assert wide(approved).why == (reason,)
    assert wide(approved).retry_after_seconds is None


def test_an_unknown_state_of_a_source_set_breaks_no_reader(approved: Author) -> None:
    approved.change(schema.revisions, R1, state="haunted")

    assert wide(approved).why == ("unknown_state:haunted",)
    assert receipt_for(approved.database, R1).state == "haunted"


def test_another_attempt_that_is_still_out_shows_behind_an_ended_one(approved: Author) -> None:
    before = wide(approved)
    approved.change(schema.attempts, before.attempt, state="failed")
    [row] = [dict(row._mapping) for row in approved.rows(schema.attempts) if row.id == before.attempt]
    other = row | {
        "id": "other",
        "number": 2,
        "idempotency_key": "k2",
        "state": "generating",
        "submission": "accepted",
    }
    approved.database.run(lambda tx: tx.connection.execute(sa.insert(schema.attempts).values(**other)))

    found = wide(approved)

    assert (str(found.word), found.why) == ("generating", ("not_selected",))


def published(author: Author) -> str:
    """The wide slot shows its rendition, as the publish step leaves rows."""
    one = wide(author)
    video = {
        "id": "o-1", "tenant": "northwind", "campaign": CAMPAIGN, "kind": "rendition",
        "retention_class": "standard", "key": "northwind/renditions/x/1.mp4", "sha256": "0", "size_bytes": 1,
        "media_type": "video/mp4", "facts": {}, "state": "live", "created_at": 1,
    }  # fmt: skip
    move = {
        "id": f"{one.slot}@1", "tenant": "northwind", "slot": one.slot, "number": 1, "move": "publish",
        "rendition": one.rendition, "attempt": one.attempt, "object": "o-1", "tags": {}, "from_at": 5_000_001,
        "actor": "a", "reason": "r", "operation_id": "x",
    }  # fmt: skip

    def work(tx: Any) -> None:
        tx.connection.execute(sa.insert(schema.objects).values(**video))
        tx.connection.execute(sa.insert(schema.publications).values(**move))

    author.database.run(work)
    author.change(schema.attempts, one.attempt, state="indexed", object="o-1", submission="accepted")
    shown = {"publication": move["id"], "published_rendition": one.rendition, "published_object": "o-1"}
    author.change(schema.slots, one.slot, **shown)
    return one.slot


def test_a_published_rendition_is_ready_with_its_key(approved: Author) -> None:
    published(approved)

    found = wide(approved)

    assert (str(found.word), found.object_key) == ("ready", "northwind/renditions/x/1.mp4")
    assert found.published_at is not None
    assert found.published_at.isoformat() == "1970-01-01T00:00:05.000001+00:00"
    [variant] = [one for one in receipt_for(approved.database, R1).variants if one.variant == WIDE]
    assert variant.video == "northwind/renditions/x/1.mp4"


def test_what_was_ready_and_left_its_slot_stays_usable_in_the_counts(approved: Author) -> None:
    slot = published(approved)
    approved.change(
        schema.slots,
        slot,
        publication=None,
        published_rendition=None,
        published_object=None,
        wanted_rendition="r-x",
    )

    found = counts(approved.status())

    assert str(wide(approved).word) == "superseded"
    assert (found.usable, found.ready, found.active, found.total) == (1, 0, 3, 4)


def test_a_purged_object_shows_as_expired_and_names_no_key(approved: Author) -> None:
    slot = published(approved)
    approved.change(schema.slots, slot, publication=None, published_rendition=None, published_object=None)
    approved.change(schema.objects, "o-1", state="purged")

    assert (str(wide(approved).word), wide(approved).object_key) == ("expired", None)


@pytest.mark.parametrize(
    ("verdict", "word"), [(None, "awaiting_acceptance"), ("accept", "processing"), ("decline", "declined")]
)
def test_publication_by_approval_waits_for_the_newest_decision(
    approved: Author, verdict: str | None, word: str
) -> None:
    approved.clock.pass_seconds(60)
    approved.drop(publish="on_approval")
    approved.ingest()
    one = wide(approved)
    approved.change(schema.attempts, one.attempt, state="indexed")
    if verdict is not None:
        said = Decision("acceptance", "attempt", one.attempt, verdict, "seen", "ada")
        approved.database.run(lambda tx: record_decision(tx, "northwind", said))

    assert str(wide(approved).word) == word


def pause(author: Author, stage: str, provider: str = "*", tenant: str = "*") -> None:
    row = {"stage": stage, "provider": provider, "tenant": tenant, "paused_by": "ada", "reason": "x"}
    author.database.run(
        lambda tx: tx.connection.execute(schema.pauses.insert().values(paused_at=tx.now, **row))
    )


PAUSES = [
    (("submit",), "queued", True),
    (("*",), "queued", True),
    (("submit", "local", "northwind"), "queued", True),
    (("submit", "other"), "queued", False),
    (("submit", "*", "acme"), "queued", False),
    (("poll",), "queued", False),
    (("poll",), "generating", True),
    (("retrieve",), "retrieving", True),
    (("derive",), "stored", True),
    (("publish",), "stored", False),
    (("publish",), "indexed", True),
    (("submit",), "failed", False),
]


def test_a_pause_shows_on_the_work_it_holds_up(approved: Author) -> None:
    attempt, found = wide(approved).attempt, []
    for scope, state, _ in PAUSES:
        approved.change(schema.attempts, attempt, state=state)
        pause(approved, *scope)
        one = wide(approved)
        found.append((scope, state, "paused" in one.why))
        assert one.retry_after_seconds is None or "paused" not in one.why
        approved.database.run(
            lambda tx: tx.connection.execute(
                schema.pauses.update().values(resumed_at=tx.now, resumed_by="ada")
            )
        )

    assert found == PAUSES


def test_a_pause_and_its_end_raise_the_entity_version(approved: Author) -> None:
    before = wide(approved).entity_version
    pause(approved, "submit")
    paused = wide(approved).entity_version
    approved.database.run(
        lambda tx: tx.connection.execute(schema.pauses.update().values(resumed_at=tx.now, resumed_by="ada"))
    )

    assert before < paused < wide(approved).entity_version


def test_the_entity_version_rises_with_an_amendment_and_a_fact(approved: Author) -> None:
    first = wide(approved).entity_version
    approved.clock.pass_seconds(60)
    approved.drop(publish="on_approval")
    approved.ingest()
    second = wide(approved).entity_version
    approved.change(schema.attempts, wide(approved).attempt, entity_version=1)

    assert first < second < wide(approved).entity_version


def test_status_reads_the_newest_revision_or_the_one_asked_for(approved: Author) -> None:
    approved.clock.pass_seconds(60)
    approved.drop("two.yaml", revision=2)
    approved.ingest()

    assert {one.revision for one in approved.status()} == {2}
    assert {one.revision for one in approved.status(revision=1)} == {1}
    assert {one.revision for one in approved.status(every_revision=True)} == {1, 2}
    assert approved.status(tenant="acme") == []
    assert approved.status(campaign="acme.spring-depot") == []
    rendition = approved.status(revision=1)[0].rendition
    assert [one.rendition for one in approved.status(rendition=rendition, every_revision=True)] == [rendition]


def test_status_takes_two_queries_whatever_the_number(approved: Author) -> None:
    assert (
        queries_of(approved.database, Wanted()) == queries_of(approved.database, Wanted(tenant="acme")) == 2
    )


def queries_of(database: Database, wanted: Wanted) -> int:
    seen: list[str] = []

    def note(*args: Any) -> None:
        seen.append(str(args[2]))

    sa.event.listen(database.engine, "before_cursor_execute", note)
    try:
        status(database, wanted)
    finally:
        sa.event.remove(database.engine, "before_cursor_execute", note)
    return len([statement for statement in seen if "FROM" in statement])


def test_the_completion_policy_is_read_with_the_status(approved: Author) -> None:
    assert completion_of(approved.status()) is CompletionPolicy.ALL_TERMINAL
    assert completion_of([]) is CompletionPolicy.ALL_TERMINAL
