"""Range headers, as RFC 9110 reads them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.api.caching import is_known
from pipeline.api.ranges import Part, Unsatisfiable, wanted_part


@pytest.mark.parametrize(
    ("header", "part"),
    [
        ("bytes=0-0", Part(0, 1)),
        ("bytes=5-", Part(5, 5)),
        ("bytes=5-500", Part(5, 5)),
        ("bytes=-3", Part(7, 3)),
        ("bytes=-300", Part(0, 10)),
        (None, None),
        ("", None),
        ("bytes=-", None),
        ("bytes=5-4", None),
        ("bytes=0-1,3-4", None),
        ("lines=1-2", None),
        ("bytes=a-b", None),
    ],
)
def test_one_part_of_ten_bytes(header: str | None, part: Part | None) -> None:
    assert wanted_part(header, 10) == part


@pytest.mark.parametrize("header", ["bytes=10-", "bytes=10-11", "bytes=-0"])
def test_a_part_behind_the_end_is_unsatisfiable(header: str) -> None:
    with pytest.raises(Unsatisfiable):
        wanted_part(header, 10)


@given(st.text(st.sampled_from("bytes=-,0123456789 "), max_size=30), st.integers(0, 10**9))
def test_a_part_never_leads_out_of_the_object(header: str, size: int) -> None:
    try:
        part = wanted_part(f"bytes={header}", size)
    except Unsatisfiable:
        return

    assert part is None or (part.start >= 0 and part.length >= 1 and part.start + part.length <= size)


@pytest.mark.parametrize(
    ("header", "known"),
    [
        (None, False),
        ('"a"', True),
        ('W/"a"', True),
        ('"b", "a"', True),
        ("*", True),
        ('"b"', False),
        ("a", False),
    ],
)
def test_a_tag_is_known_by_whole_comparison(header: str | None, known: bool) -> None:
    assert is_known(header, "a") is known
