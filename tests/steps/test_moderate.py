"""I3, L1, L6: decisions by policy and by hand; rejection, review, withdrawal."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipeline.documents.moderation_policy import read_moderation_policy
from pipeline.domain.errors import NotAllowed, UnknownSubject
from pipeline.domain.moderation import Decision
from pipeline.steps.produce import moderate
from pipeline.steps.produce.receipts import write_due_receipts
from resources.database import schema
from tests.steps.author import CAMPAIGN, Author

R1 = f"{CAMPAIGN}/r1"
STRICT = """
version: strict-1
images: []
copy:
  - {id: forbidden_word, effect: reject, phrases: {"*": [parcel, Paket]}}
"""
DOUBTFUL = STRICT.replace("strict-1", "doubt-1").replace("reject", "review")


def with_rules(author: Author, text: str) -> Author:
    return author.with_policy(read_moderation_policy(text, name="policy.yaml"))


def decide(
    author: Author, decision: Decision, reason: str = "looks_fine", who: str = "ada"
) -> moderate.Moderated:
    return moderate.decide(
        author.database, author.policy, author.rules, R1, decision, reason=reason, actor=who
    )


def verdicts(author: Author) -> list[tuple[str, str, str, str, int]]:
    return [
        (row.kind, row.verdict, row.reason, row.policy_version, row.round)
        for row in author.rows(schema.decisions)
    ]


def test_the_policy_approves_with_its_version_kept_as_a_document(author: Author) -> None:
    author.deliver()

    assert author.revision().state == "approved"
    assert verdicts(author) == [("moderation", "approved", "no_objection", "1", 0)]
    [document] = author.rows(schema.documents)
    assert (document.kind, document.version) == ("moderation_policy", "1")
    assert "placeholder_text" in document.body


def test_the_policy_rejects_by_name_and_nothing_is_planned(author: Author) -> None:
    with_rules(author, STRICT).deliver()

    assert author.revision().state == "rejected"
    assert verdicts(author) == [("moderation", "rejected", "forbidden_word", "strict-1", 0)]
    assert author.rows(schema.decisions)[0].detail["findings"] == [
        {"effect": "reject", "rule": "forbidden_word", "subject": "de-DE"},
        {"effect": "reject", "rule": "forbidden_word", "subject": "en-GB"},
    ]
    assert author.rows(schema.attempts) == []
    assert author.words() == {"rejected"}


def test_an_undecided_set_waits_without_being_due_and_is_said_once(author: Author) -> None:
    doubtful = with_rules(author, DOUBTFUL)
    doubtful.deliver()
    again = doubtful.moderate()

    assert (author.revision().state, author.revision().next_action_at) == ("moderating", None)
    assert author.revision().lease_until == 0
    assert [verdict for _, verdict, *_ in verdicts(author)] == ["undecided"]
    assert again.results == ()


def test_a_person_decides_what_the_policy_cannot(author: Author) -> None:
    with_rules(author, DOUBTFUL).deliver()

    decided = decide(author, Decision.APPROVED)

    assert decided.plan is not None
    assert decided.plan.made == 4
    row = author.rows(schema.decisions)[-1]
    assert (row.verdict, row.reason, row.actor) == ("approved", "looks_fine", "ada")
    assert author.words() == {"queued"}


def test_the_same_decision_twice_is_one_and_the_opposite_is_refused(author: Author) -> None:
    with_rules(author, DOUBTFUL).deliver()
    decide(author, Decision.APPROVED)
    count = len(author.rows(schema.attempts))

    again = decide(author, Decision.APPROVED)
    with pytest.raises(NotAllowed, match="it is approved"):
        decide(author, Decision.REJECTED)

    assert (again.is_new, len(author.rows(schema.attempts)), len(verdicts(author))) == (False, count, 2)


def test_a_decision_needs_a_reason_and_a_revision(author: Author) -> None:
    with_rules(author, DOUBTFUL).deliver()

    with pytest.raises(NotAllowed):
        decide(author, Decision.APPROVED, reason=" ")
    with pytest.raises(UnknownSubject):
        moderate.decide(
            author.database, author.policy, author.rules, f"{CAMPAIGN}/r9", Decision.APPROVED,
            reason="x", actor="ada",
        )  # fmt: skip


def test_a_review_reopens_a_rejection_as_a_new_round_for_a_person(author: Author) -> None:
    strict = with_rules(author, STRICT)
    strict.deliver()

    moderate.review(author.database, R1, reason="the word is our name", actor="ada")
    strict.moderate()

    assert (author.revision().state, author.revision().round) == ("moderating", 1)
    assert [(kind, verdict, reason) for kind, verdict, reason, *_ in verdicts(author)] == [
        ("moderation", "rejected", "forbidden_word"),
        ("review", "reopened", "the word is our name"),
        ("moderation", "undecided", "awaits_reviewer"),
    ]
    assert decide(author, Decision.APPROVED).plan is not None


def test_a_review_under_changed_rules_is_decided_by_them(author: Author) -> None:
    with_rules(author, STRICT).deliver()
    moderate.review(author.database, R1, reason="rules changed", actor="ada")

    author.moderate()

    assert author.revision().state == "approved"


def test_what_a_person_rejected_no_policy_approves(author: Author) -> None:
    with_rules(author, DOUBTFUL).deliver()
    decide(author, Decision.REJECTED, "off_brand")
    moderate.review(author.database, R1, reason="please look again", actor="ben")

    author.moderate()

    assert author.revision().state == "moderating"


def test_a_review_is_refused_by_name_once_a_newer_revision_is_there(author: Author) -> None:
    with_rules(author, STRICT).deliver()
    author.clock.pass_seconds(60)
    author.drop("two.yaml", revision=2)
    author.ingest()

    with pytest.raises(NotAllowed, match="revision 2 is newer"):
        moderate.review(author.database, R1, reason="again", actor="ada")
    with pytest.raises(NotAllowed, match="not rejected"):
        moderate.review(author.database, f"{CAMPAIGN}/r2", reason="again", actor="ada")


def test_an_author_withdraws_before_the_decision_only(author: Author) -> None:
    with_rules(author, DOUBTFUL).deliver()

    assert moderate.withdraw(author.database, R1, reason="wrong van", actor="ada")
    assert not moderate.withdraw(author.database, R1, reason="wrong van", actor="ada")
    with pytest.raises(NotAllowed):
        decide(author, Decision.APPROVED)

    assert author.words() == {"withdrawn"}


def test_an_approved_revision_cannot_be_withdrawn(author: Author) -> None:
    author.deliver()

    with pytest.raises(NotAllowed, match="approved"):
        moderate.withdraw(author.database, R1, reason="late", actor="ada")


def test_a_message_that_comes_after_a_withdrawal_leaves_nothing_due(author: Author) -> None:
    author.drop_images(author.folder())
    author.drop()
    author.ingest()
    moderate.withdraw(author.database, R1, reason="wrong van", actor="ada")

    report = author.moderate()

    assert report.counts == {"nothing_due": 1}
    assert author.revision().next_action_at is None
    assert author.revision().state == "withdrawn"


def test_the_author_learns_the_decision_where_the_brief_lies(author: Author) -> None:
    with_rules(author, STRICT).deliver()
    author.relay()
    written = write_due_receipts(author.database, author.intake.store)

    receipt = author.receipt()
    assert written == 1
    assert (receipt["state"], receipt["decision"]["reason"]) == ("rejected", "forbidden_word")
    assert receipt["next_steps"] == ["change the brief under a new revision, or ask for a review"]
    assert write_due_receipts(author.database, author.intake.store) == 0


def test_the_audit_chain_of_a_reviewed_revision_has_no_gap(author: Author) -> None:
    strict = with_rules(author, STRICT)
    strict.deliver()
    moderate.review(author.database, R1, reason="again", actor="ada")
    decide(replace(strict), Decision.APPROVED)

    chain = [
        (row.from_state, row.to_state, row.version)
        for row in author.rows(schema.audit)
        if row.subject_id == R1 and row.version is not None
    ]
    assert chain == [
        (None, "uploaded", 0),
        ("uploaded", "moderating", 1),
        ("moderating", "rejected", 2),
        ("rejected", "moderating", 3),
        ("moderating", "approved", 4),
    ]
