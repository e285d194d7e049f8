"""Foreign answers become plain values or a named refusal, never a crash (B6, G6)."""

from __future__ import annotations

import contextlib
import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.domain.errors import RemoteUnavailable
from resources.providers.answers import (
    count_of,
    evidence,
    handle_of,
    read_json,
    read_object,
    sha256_of,
    time_of,
    word,
)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b'{"a": 1',
        b'{"a": NaN}',
        b'{"a": -Infinity}',
        b'{"a": 1e999}',
        b'{"a": ' + b"9" * 6000 + b"}",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"[" * 65 + b"]" * 65,
        b"\xff\xfe\x00",
        b'"\xc3("',
    ],
)
def test_what_is_no_sound_json_is_unreadable(body: bytes) -> None:
    with pytest.raises(RemoteUnavailable) as error:
        read_json(body)

    assert error.value.reason == "unreadable"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32-le"])
def test_every_encoding_of_json_is_read(encoding: str) -> None:
    assert read_json('["ü"]'.encode(encoding)) == ["ü"]


def test_many_brackets_side_by_side_are_not_deep() -> None:
    assert read_json(b"[" + b"[]," * 1000 + b"{}]")[-1] == {}


def test_of_duplicate_keys_the_last_one_counts() -> None:
    assert read_object(b'{"status": "queued", "status": "running"}') == {"status": "running"}


@pytest.mark.parametrize("body", [b"[]", b"null", b"1", b'"text"'])
def test_json_that_is_no_object_is_unreadable_where_one_is_needed(body: bytes) -> None:
    with pytest.raises(RemoteUnavailable):
        read_object(body)


@given(st.binary(max_size=200))
def test_no_bytes_crash_the_reader(body: bytes) -> None:
    with contextlib.suppress(RemoteUnavailable):
        json.dumps(read_json(body), allow_nan=False)


@given(st.text(max_size=400) | st.integers() | st.none() | st.lists(st.integers()))
def test_evidence_is_short_and_printable_whatever_comes(value: object) -> None:
    text = evidence(value)

    assert len(text) <= 200
    assert text.isprintable()
    text.encode()


@pytest.mark.parametrize("said", ["Post-Processing", "post processing", " POST_PROCESSING "])
def test_words_are_compared_without_case_and_spelling(said: str) -> None:
    assert word(said) == "post_processing"


@pytest.mark.parametrize("value", ["", "a b", "a\n", "é", "x" * 201, None, True, 1.5, ["a"], {"a": 1}])
def test_a_handle_that_cannot_be_kept_is_none(value: object) -> None:
    assert handle_of(value) is None


def test_a_number_is_a_handle_as_text() -> None:
    assert handle_of(14) == "14"


@pytest.mark.parametrize("value", [-1, True, 1.0, "3", None, 1 << 63])
def test_a_count_is_a_whole_number_that_can_be_kept(value: object) -> None:
    assert count_of(value) is None
    assert count_of(3) == 3


def test_a_hash_is_compared_in_lower_case() -> None:
    assert sha256_of("AB" * 32) == "ab" * 32
    assert sha256_of("ab") is None
    assert sha256_of(5) is None


def test_times_are_aware_or_none() -> None:
    plain = datetime(2026, 4, 2, 10, tzinfo=UTC)

    assert time_of("2026-04-02T10:00:00Z") == time_of("2026-04-02T10:00:00") == plain
    assert time_of("2026-04-02T10:00:00+02:00") == plain.astimezone(timezone(timedelta(hours=2))) - timedelta(
        hours=2
    )
    assert time_of("soon") is None
    assert time_of(1775124000) is None
