"""The policy's judgement: bounds, phrases in any script, and which effect outweighs which (I3)."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from pipeline.domain.errors import NotAllowed
from pipeline.domain.media import ImageFacts, MediaKind
from pipeline.domain.moderation import (
    NO_OBJECTION,
    CopyRule,
    Decision,
    Effect,
    Finding,
    ImageFact,
    ImageRule,
    ModerationPolicy,
    by_hand,
    judge,
)
from pipeline.domain.tags import words

PICTURE = ImageFacts(
    kind=MediaKind.IMAGE,
    container="jpeg",
    content_type="image/jpeg",
    stored_width=480,
    stored_height=640,
    orientation=6,
    display_width=640,
    display_height=480,
    colour_mode="RGB",
    has_alpha=False,
    has_profile=False,
    frame_count=1,
    duration_seconds=None,
    frame_rate=None,
    size_bytes=1_000,
    sha256="a" * 64,
    read_by="test",
)
SMALL = ImageRule("small", Effect.REJECT, ImageFact.SHORT_SIDE, at_least=Fraction(100))
LONG = ImageRule("long", Effect.REVIEW, ImageFact.ASPECT_RATIO, Fraction(1, 3), Fraction(3))


def policy(*rules: ImageRule | CopyRule) -> ModerationPolicy:
    return ModerationPolicy(
        "7",
        tuple(rule for rule in rules if isinstance(rule, ImageRule)),
        tuple(rule for rule in rules if isinstance(rule, CopyRule)),
    )


def forbids(*phrases: str, locale: str = "*", effect: Effect = Effect.REJECT) -> CopyRule:
    return CopyRule("forbidden", effect, {locale: tuple(map(words, phrases))})


def test_what_no_rule_matches_is_approved_under_the_policys_version() -> None:
    verdict = judge(policy(SMALL, LONG, forbids("free money")), {"a.jpg": PICTURE}, {"en-GB": "On time."})

    assert verdict.decision is Decision.APPROVED
    assert (verdict.reason, verdict.policy_version, verdict.rules) == (NO_OBJECTION, "7", ())


def test_one_bad_picture_rejects_the_set_and_is_named() -> None:
    images = {"a.jpg": PICTURE, "b.jpg": replace(PICTURE, display_height=99)}

    verdict = judge(policy(SMALL), images, {})

    assert (verdict.decision, verdict.reason) == (Decision.REJECTED, "small")
    assert verdict.findings == (Finding("small", Effect.REJECT, "b.jpg"),)


def test_a_rejection_outweighs_a_review_and_both_are_found() -> None:
    images = {"a.jpg": replace(PICTURE, display_width=2_000, display_height=50)}

    verdict = judge(policy(LONG, SMALL), images, {})

    assert (verdict.decision, verdict.reason) == (Decision.REJECTED, "small")
    assert verdict.rules == ("long", "small")


def test_a_review_leaves_it_undecided() -> None:
    images = {"a.jpg": replace(PICTURE, display_width=2_000, display_height=500)}

    assert judge(policy(SMALL, LONG), images, {}).decision is Decision.UNDECIDED


@pytest.mark.parametrize(
    ("fact", "value"),
    [
        (ImageFact.WIDTH, Fraction(640)),
        (ImageFact.HEIGHT, Fraction(480)),
        (ImageFact.SHORT_SIDE, Fraction(480)),
        (ImageFact.LONG_SIDE, Fraction(640)),
        (ImageFact.PIXELS, Fraction(307_200)),
        (ImageFact.ASPECT_RATIO, Fraction(4, 3)),
        (ImageFact.FRAMES, Fraction(1)),
        (ImageFact.SIZE_BYTES, Fraction(1_000)),
    ],
)
def test_every_fact_is_that_of_the_displayed_picture_and_its_bounds_are_within(
    fact: ImageFact, value: Fraction
) -> None:
    def decision(at_least: Fraction | None, at_most: Fraction | None) -> Decision:
        rule = ImageRule("rule", Effect.REJECT, fact, at_least, at_most)
        return judge(policy(rule), {"a.jpg": PICTURE}, {}).decision

    assert decision(value, value) is Decision.APPROVED
    assert decision(None, value) is decision(value, None) is Decision.APPROVED
    assert decision(value + Fraction(1, 1000), None) is Decision.REJECTED
    assert decision(None, value - Fraction(1, 1000)) is Decision.REJECTED


@pytest.mark.parametrize(
    ("phrase", "text", "matches"),
    [
        ("free money", "Get FREE money now", True),
        ("free money", "free, money!", True),
        ("free money", "free your money", False),
        ("free money", "money free", False),
        ("ass", "first class", False),
        ("gratuit", "GRATUÌT", True),
        ("無料", "今だけ無料です", True),
        ("無料", "無の料", False),
        ("free money", "free", False),
    ],
)
def test_a_phrase_matches_whole_words_in_a_row_in_any_spelling(phrase: str, text: str, matches: bool) -> None:
    verdict = judge(policy(forbids(phrase)), {}, {"en-GB": text})

    assert (verdict.decision is Decision.REJECTED) == matches


@pytest.mark.parametrize(
    ("scope", "locale", "matches"),
    [("*", "de-DE", True), ("de", "de-DE", True), ("de-DE", "de-DE", True), ("de-AT", "de-DE", False),
     ("de-DE", "de", False), ("d", "de", False), ("en", "enm", False)],
)  # fmt: skip
def test_a_phrase_of_a_language_holds_for_its_regions(scope: str, locale: str, matches: bool) -> None:
    verdict = judge(policy(forbids("bad", locale=scope)), {}, {locale: "bad", "fr": "bon"})

    assert (verdict.decision is Decision.REJECTED) == matches


def test_long_copy_is_measured_in_characters_and_never_quoted() -> None:
    rule = CopyRule("long_copy", Effect.REVIEW, {}, max_characters=5)

    assert judge(policy(rule), {}, {"en": "12345"}).decision is Decision.APPROVED
    verdict = judge(policy(rule), {}, {"en": "123456", "de": "1"})
    assert (verdict.decision, verdict.findings) == (
        Decision.UNDECIDED,
        (Finding("long_copy", Effect.REVIEW, "en"),),
    )


def test_a_person_decides_with_a_reason_or_not_at_all() -> None:
    verdict = by_hand(policy(), Decision.APPROVED, " seen_and_fine ")

    assert (verdict.decision, verdict.reason, verdict.policy_version) == (
        Decision.APPROVED,
        "seen_and_fine",
        "7",
    )
    with pytest.raises(NotAllowed):
        by_hand(policy(), Decision.UNDECIDED, "later")
    with pytest.raises(NotAllowed):
        by_hand(policy(), Decision.REJECTED, " ")
