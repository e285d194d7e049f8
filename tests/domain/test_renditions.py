"""Identity: golden values (a change of one is a second payment for everything), and no two things meet."""

from __future__ import annotations

import string
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.domain.brief import Creative, Generation, Variants
from pipeline.domain.renditions import (
    ASPECT_RATIOS,
    Variant,
    asset_set_sha256,
    attempt_id,
    creative_sha256,
    derivative_key,
    entry_id,
    fingerprint,
    idempotency_key,
    matrix,
    partition_key,
    pixel_size,
    rendition_id,
    rendition_key,
    request_fingerprint,
    slot_id,
    source_key,
    split_partition_key,
    wish_id,
)

SHA = "a" * 64
WIDE = Variant("en-GB", "16:9", 6)
CREATIVE = Creative(
    sources=("depot.jpg", "van.png"),
    copy={"en-GB": "Your parcel, on time.", "de-DE": "Ihr Paket, pünktlich."},
    variants=Variants(("en-GB", "de-DE"), ("16:9", "9:16", "1:1"), (6,)),
    generation=Generation("local", "kenburns-1", {"fps": 25}),
)
SHAPE: dict[str, Any] = {
    "tenant": "northwind",
    "campaign": "spring-depot",
    "variant": WIDE,
    "source_sha256s": (SHA, "b" * 64),
    "copy": "Your parcel, on time.",
    "provider": "local",
    "model": "kenburns-1",
    "settings": {"fps": 25},
    "profile_version": "1",
}
GOLDEN = {
    "creative": "86ca91e029a736adf183454c6267935842f5632f00d1b16b54a118db18fe57c8",
    "asset_set": "15b3a689039777ca6aeca5d2099de827cf458299a9851fa531e963d2af9c5ea8",
    "fingerprint": "86a91b31b5d13694ea547c145107f4f23871d9c31b33779e0067507e2a6d1ea5",
    "request": "6738d847b403205f43a3c1eac408e23b070f3493754c16deae3889c718aab016",
    "rendition": "r-dde4554d73ca7072ec366f7fe3704315",
    "attempt": "r-dde4554d73ca7072ec366f7fe3704315-a1",
    "idempotency": "rw-23b5e7c5ff0b3ccc1cb18e437eaa25b235511619",
    "entry": "8a63f3a248971aba9bd0dc027ef1d071ccd3031ef8d7d87866ada61230ed2172",
}
slugs = st.from_regex(r"[a-z0-9]+(-[a-z0-9]+)*", fullmatch=True).filter(lambda slug: len(slug) <= 63)
variants = st.builds(
    Variant,
    st.sampled_from(["en-GB", "en", "de-DE-1996", "zh-Hant-TW", "no"]),
    st.sampled_from(list(ASPECT_RATIOS)),
    st.integers(1, 120),
)
texts = st.text(st.characters(codec="utf-8"), max_size=20)


def test_the_matrix_holds_every_cell_once_in_the_authors_order() -> None:
    keys = [variant.key for variant in matrix(CREATIVE.variants)]

    assert keys == [
        "en-GB/16x9/6s",
        "en-GB/9x16/6s",
        "en-GB/1x1/6s",
        "de-DE/16x9/6s",
        "de-DE/9x16/6s",
        "de-DE/1x1/6s",
    ]


@given(variants)
def test_a_variant_key_names_its_variant_and_no_other(variant: Variant) -> None:
    assert Variant.from_key(variant.key) == variant


@pytest.mark.parametrize("key", ["en-GB/16x9/06s", "en-GB/2x1/6s", "en-GB/16x9", "en-GB/16x9/6", "a/b/c/d"])
def test_other_spellings_are_not_variant_keys(key: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        Variant.from_key(key)


@pytest.mark.parametrize(
    ("ratio", "size"),
    [
        ("16:9", (1280, 720)),
        ("9:16", (720, 1280)),
        ("1:1", (720, 720)),
        ("4:5", (720, 900)),
        ("5:4", (900, 720)),
        ("4:3", (960, 720)),
        ("21:9", (1680, 720)),
    ],
)
def test_sizes_at_a_short_side_of_720(ratio: str, size: tuple[int, int]) -> None:
    assert pixel_size(ratio, 720) == size


@given(st.sampled_from(list(ASPECT_RATIOS)), st.integers(90, 2160))
def test_sizes_are_even_and_as_near_to_the_ratio_as_even_sides_allow(ratio: str, short_side: int) -> None:
    width, height = pixel_size(ratio, short_side)

    assert width % 2 == height % 2 == 0
    assert abs(min(width, height) - short_side) <= 1
    assert abs(Fraction(width, height) / ASPECT_RATIOS[ratio] - 1) < Fraction(1, 30)


def test_golden_values_that_must_never_change() -> None:
    of = fingerprint(**SHAPE)
    rendition = rendition_id("northwind", "spring-depot", WIDE, of)

    assert {
        "creative": creative_sha256(CREATIVE),
        "asset_set": asset_set_sha256([SHA], CREATIVE.copy),
        "fingerprint": of,
        "request": request_fingerprint(
            model="kenburns-1",
            settings={"fps": 25},
            image_sha256s=[SHA],
            copy="Your parcel, on time.",
            locale="en-GB",
            width=1280,
            height=720,
            duration_seconds=6,
        ),
        "rendition": rendition,
        "attempt": attempt_id(rendition, 1),
        "idempotency": idempotency_key("northwind", rendition, 1),
        "entry": entry_id("northwind", rendition, "o-1"),
    } == GOLDEN


def test_readable_names() -> None:
    assert slot_id("northwind", "spring-depot", WIDE) == "northwind.spring-depot/en-GB/16x9/6s"
    assert wish_id("northwind", "spring-depot", 3, WIDE) == "northwind.spring-depot/r3/en-GB/16x9/6s"
    assert source_key("northwind", SHA) == f"northwind/sources/{SHA}"
    assert rendition_key("northwind", "r-1", 2) == "northwind/renditions/r-1/2.mp4"
    assert derivative_key("northwind", SHA, "v1", "thumb-320", "webp") == (
        f"northwind/derivatives/{SHA}/v1/thumb-320.webp"
    )


def test_the_form_of_the_brief_does_not_change_its_creative_hash() -> None:
    reordered = replace(
        CREATIVE,
        copy=dict(reversed(CREATIVE.copy.items())),
        variants=Variants(("de-DE", "en-GB"), ("1:1", "16:9", "9:16"), (6,)),
        generation=replace(CREATIVE.generation, settings={"fps": 25.0}),
    )

    assert creative_sha256(reordered) == creative_sha256(CREATIVE)


@pytest.mark.parametrize(
    "changed",
    [
        replace(CREATIVE, sources=("van.png", "depot.jpg")),
        replace(CREATIVE, sources=("depot.jpg",)),
        replace(CREATIVE, copy={**CREATIVE.copy, "en-GB": "Your parcel, on time!"}),
        replace(CREATIVE, variants=Variants(("en-GB", "de-DE"), ("16:9", "9:16", "1:1"), (6, 15))),
        replace(CREATIVE, generation=Generation("local", "kenburns-2", {"fps": 25})),
        replace(CREATIVE, generation=Generation("other", "kenburns-1", {"fps": 25})),
        replace(CREATIVE, generation=Generation("local", "kenburns-1", {"fps": True})),
    ],
)
def test_every_creative_change_changes_the_creative_hash(changed: Creative) -> None:
    assert creative_sha256(changed) != creative_sha256(CREATIVE)


@pytest.mark.parametrize(
    ("part", "other"),
    [
        ("tenant", "southwind"),
        ("campaign", "spring"),
        ("variant", Variant("en-GB", "16:9", 7)),
        ("source_sha256s", ("b" * 64, SHA)),
        ("copy", ""),
        ("provider", "x"),
        ("model", "kenburns-2"),
        ("settings", {"fps": 30}),
        ("profile_version", "2"),
        ("take", 2),
    ],
)
def test_each_part_that_shapes_a_video_changes_its_fingerprint(part: str, other: Any) -> None:
    assert fingerprint(**{**SHAPE, part: other}) != fingerprint(**SHAPE)


@given(st.tuples(texts, texts, texts), st.tuples(texts, texts, texts))
def test_no_text_moved_between_fields_makes_two_shapes_one(
    left: tuple[str, str, str], right: tuple[str, str, str]
) -> None:
    hashes = {
        fingerprint(**SHAPE | dict(zip(("copy", "provider", "model"), of, strict=True)))
        for of in (left, right)
    }

    assert len(hashes) == len({left, right})


@given(st.tuples(slugs, slugs), st.tuples(slugs, slugs))
def test_partition_keys_split_one_way_only(left: tuple[str, str], right: tuple[str, str]) -> None:
    assert (partition_key(*left) == partition_key(*right)) == (left == right)
    assert split_partition_key(partition_key(*left)) == left


@given(
    slugs, st.text(st.characters(codec="ascii"), min_size=1, max_size=5), st.integers(1, 9), st.integers(1, 9)
)
def test_idempotency_keys_differ_by_attempt_and_are_stable(
    tenant: str, rendition: str, a: int, b: int
) -> None:
    left, right = idempotency_key(tenant, rendition, a), idempotency_key(tenant, rendition, b)

    assert (left == right) == (a == b)
    assert len(left) == 43


def test_the_longest_names_stay_within_200_bytes_of_safe_characters() -> None:
    slug, variant = "a" * 63, Variant("a" * 35, "21:9", 120)
    rendition = rendition_id(slug, slug, variant, SHA)
    names = [
        slot_id(slug, slug, variant),
        wish_id(slug, slug, 10**9, variant),
        attempt_id(rendition, 10**6),
        source_key(slug, SHA),
        rendition_key(slug, rendition, 10**6),
        derivative_key(slug, SHA, "v" * 20, "poster-1280", "webp"),
    ]

    assert max(map(len, names)) <= 200
    assert set("".join(names)) <= set(string.ascii_letters + string.digits + "./_-")
