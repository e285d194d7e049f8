"""The moderation policy's document: the shipped one lets ordinary content pass, faults are named."""

from __future__ import annotations

from fractions import Fraction

import pytest

from pipeline.documents.moderation_policy import default_moderation_policy, read_moderation_policy
from pipeline.domain.errors import BadDocument
from pipeline.domain.moderation import (
    CopyRule,
    Decision,
    Effect,
    ImageFact,
    ImageRule,
    ModerationPolicy,
    judge,
)
from tests.domain.test_moderation import PICTURE

COPY = {"en-GB": "Your parcel, on time.", "de-DE": "Ihr Paket, pünktlich.", "ja": "荷物は時間通り"}


def test_the_shipped_policy_lets_ordinary_content_pass() -> None:
    assert judge(default_moderation_policy(), {"depot.jpg": PICTURE}, COPY).decision is Decision.APPROVED


@pytest.mark.parametrize("text", ["Lorem ipsum dolor", "<Insert copy here>", "PLATZHALTERTEXT"])
def test_the_shipped_policy_shows_placeholders_to_a_person(text: str) -> None:
    verdict = judge(default_moderation_policy(), {"depot.jpg": PICTURE}, {"de-DE": text})

    assert (verdict.decision, verdict.reason) == (Decision.UNDECIDED, "placeholder_text")


def test_a_policy_is_read_with_exact_bounds_and_folded_phrases() -> None:
    text = """
        version: "2"
        images:
          - {id: wide, effect: review, fact: aspect_ratio, at_most: "21:9", at_least: 0.1}
        copy:
          - {id: words, effect: reject, phrases: {"*": [Été], pt_BR: [a], pt-BR: [b c]}, max_characters: 9}
    """

    assert read_moderation_policy(text, name="p") == ModerationPolicy(
        "2",
        (ImageRule("wide", Effect.REVIEW, ImageFact.ASPECT_RATIO, Fraction(1, 10), Fraction(7, 3)),),
        (CopyRule("words", Effect.REJECT, {"*": (("ete",),), "pt-BR": (("a",), ("b", "c"))}, 9),),
    )


IMAGE = "images: [{id: a, effect: reject, fact: width"
COPY_RULE = "copy: [{id: a, effect: reject"


@pytest.mark.parametrize(
    ("rules", "field", "problem"),
    [
        (IMAGE.replace("reject", "refuse") + ", at_least: 1}]", "images[0].effect", "not one of"),
        (IMAGE.replace("width", "colour") + ", at_least: 1}]", "images[0].fact", "not one of"),
        (IMAGE.replace("id: a", "id: A") + ", at_least: 1}]", "images[0].id", "another form"),
        (IMAGE + "}]", "images[0]", "no bound"),
        (IMAGE + ", at_least: 2, at_most: 1}]", "images[0]", "above at_most"),
        (IMAGE + ", at_least: -1}]", "images[0].at_least", "not a bound"),
        (IMAGE + ", at_least: 1:0}]", "images[0].at_least", "not a bound"),
        (IMAGE + ", at_least: [1]}]", "images[0].at_least", "not a bound"),
        (COPY_RULE + "}]", "copy[0]", "nothing to look for"),
        (COPY_RULE + ", phrases: {xx: [b]}}]", "copy[0].phrases.xx", "not a language"),
        (COPY_RULE + ", phrases: {de: ['!']}}]", "copy[0].phrases.de[0]", "no word"),
        (COPY_RULE + ", max_characters: 0}]", "copy[0].max_characters", "too small"),
        (IMAGE + ", at_least: 1}]\n" + COPY_RULE + ", max_characters: 1}]", "", "a more than once"),
    ],
)
def test_each_fault_of_a_policy_is_named(rules: str, field: str, problem: str) -> None:
    with pytest.raises(BadDocument) as caught:
        read_moderation_policy(f'version: "1"\n{rules}\n', name="policy.yaml")

    (fault,) = caught.value.faults
    assert fault.field == field
    assert problem in fault.problem
    assert fault.allowed
