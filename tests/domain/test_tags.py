"""Tags and tokens: one way in, the same way out, in any script (T1, T2, T4)."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.domain.tags import (
    MAX_TOKEN_CHARACTERS,
    REQUIRED_TAGS,
    RESERVED_TAG_NAMES,
    Query,
    Visibility,
    all_tokens,
    exact,
    missing_required,
    parse_tag_filter,
    query,
    tag_name_problem,
    tag_problem,
    tokens,
    words,
)

texts = st.text(st.characters(codec="utf-8"), max_size=40)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Your parcel, on time.", ("your", "parcel", "on", "time")),
        ("A/23-2026", ("a", "23", "2026")),
        ("ÉTÉ été ete", ("ete",)),
        ("Straße STRASSE", ("strasse",)),
        ("ﬁne İstanbul ①", ("fine", "istanbul", "1")),
        ("pünktlich p\u0075\u0308nktlich", ("punktlich",)),
        ("荷物は時間通り", ("荷物", "物は", "は時", "時間", "間通", "通り")),
        ("包", ("包",)),
        ("新LOGO発表", ("新", "logo", "発表")),
        ("ｶﾞｷﾞ", ("ガギ",)),
        ("택배 도착", ("택배", "도착")),
        ("हिन्दी में", ("हिन्दी", "में")),
        ("مَرْحَبًا", ("مرحبا",)),
        ("naïve_test", ("naive", "test")),
        ("🎉 – ' \" *", ()),
        ("x" * 300, ("x" * MAX_TOKEN_CHARACTERS,)),
        ("", ()),
    ],
)
def test_text_is_cut_into_folded_tokens(text: str, expected: tuple[str, ...]) -> None:
    assert tokens(text) == expected


@given(texts)
def test_a_text_always_finds_itself_however_it_is_composed_and_cased(text: str) -> None:
    assert set(tokens(unicodedata.normalize("NFD", text))) == set(tokens(text))
    assert set(tokens(text.upper().casefold())) == set(tokens(text.casefold().upper().casefold()))


@given(texts)
def test_tokens_hold_nothing_that_a_query_language_could_read(text: str) -> None:
    for token in tokens(text):
        assert 1 <= len(token) <= MAX_TOKEN_CHARACTERS
        assert {unicodedata.category(character)[0] for character in token} <= set("LMN")


def test_no_pair_spans_two_texts() -> None:
    assert all_tokens(["荷物", "時間"]) == ("荷物", "時間")


def test_words_keep_order_and_repeats() -> None:
    assert words("On time, on TIME") == ("on", "time", "on", "time")


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ("Summer", "summer"),
        ("ÉTÉ", "été"),
        ("E\u0301te\u0301", "été"),
        ("big summer", "big summer"),
        ("ﬁne", "fine"),
    ],
)
def test_exact_tags_are_only_composed_and_casefolded(tag: str, expected: str) -> None:
    assert exact(tag) == expected


@given(texts)
def test_the_exact_form_is_stable(text: str) -> None:
    assert exact(exact(text)) == exact(text)


@pytest.mark.parametrize(
    ("tag", "problem"),
    [
        ("summer", None),
        ("t" * 256, None),
        ("t" * 257, "longer than 256"),
        ("ß" * 200, "longer than 256"),
        (" ", "blank"),
        ("a\nb", "control character"),
    ],
)
def test_a_tag_that_could_not_be_found_again_is_refused(tag: str, problem: str | None) -> None:
    said = tag_problem(tag)

    assert said == problem or (said is not None and problem is not None and problem in said)


@pytest.mark.parametrize("name", [*sorted(RESERVED_TAG_NAMES), "Product", "1st", "", "a.b", "x" * 64])
def test_required_fields_and_odd_names_are_no_free_tags(name: str) -> None:
    assert tag_name_problem(name)


def test_missing_required_tags_are_named_in_order() -> None:
    full = dict.fromkeys(REQUIRED_TAGS, "x")

    assert missing_required(full) == ()
    assert missing_required({**full, "locale": " ", "visibility": None}) == ("locale", "visibility")
    assert missing_required({}) == REQUIRED_TAGS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("product=Parcel", ("product", "parcel")),
        ("Big Summer", ("", "big summer")),
        ("a=b=c", ("a", "b=c")),
        ("X=1", ("", "x=1")),
        ("=1", ("", "=1")),
    ],
)
def test_a_filter_names_a_tag_or_any(text: str, expected: tuple[str, str]) -> None:
    assert parse_tag_filter(text) == expected


def test_a_query_is_made_of_ready_tokens_and_exact_filters() -> None:
    made = query("On Time on", ["product=Parcel"], locale="de-DE", visibility=[Visibility.PUBLIC])

    assert made == Query(
        text=("on", "time"),
        tags=(("product", "parcel"),),
        locale="de-DE",
        visibility=frozenset({Visibility.PUBLIC}),
    )
