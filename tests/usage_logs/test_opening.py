"""F3: a file is read whole or not at all, whatever its name says."""

from __future__ import annotations

from pathlib import Path

import pytest

from resources.usage_logs import opening
from tests.usage_logs.logs import cloudfront, header, line, packed, read, told

WHOLE = ("read", 3, 0, 0, 3000)


def test_members_of_a_gzip_are_one_file(tmp_path: Path) -> None:
    members = packed(header()) + packed(line(number=0)[:20]) + packed(line(number=0)[20:] + line(number=1))

    assert told(read(tmp_path, members + packed(line(number=2)))) == WHOLE


@pytest.mark.parametrize("name", ["a.gz", "a.log", "a"])
@pytest.mark.parametrize("content", [cloudfront(), packed(cloudfront())])
def test_a_name_says_nothing_of_the_form(tmp_path: Path, name: str, content: bytes) -> None:
    assert told(read(tmp_path, content, name)) == WHOLE


@pytest.mark.parametrize("cut", range(1, 40))
def test_a_gzip_that_is_cut_anywhere_is_refused_whole(tmp_path: Path, cut: int) -> None:
    reading = read(tmp_path, packed(cloudfront())[:-cut])

    assert told(reading) == ("refused", 0, 0, 0, 0)
    assert reading.reason.startswith("cut_gzip: ")


@pytest.mark.parametrize("left", range(1, 30))
def test_a_gzip_whose_last_member_is_cut_anywhere_is_refused_whole(tmp_path: Path, left: int) -> None:
    reading = read(tmp_path, packed(cloudfront()) + packed(line(number=9))[:left])

    assert reading.reason.startswith("cut_gzip: ")


def test_a_gzip_with_a_wrong_checksum_is_refused(tmp_path: Path) -> None:
    content = bytearray(packed(cloudfront()))
    content[-8] ^= 1

    assert read(tmp_path, bytes(content)).reason.startswith("damaged_gzip: ")


def test_what_follows_the_last_member_must_be_a_member_or_zeros(tmp_path: Path) -> None:
    assert read(tmp_path, packed(cloudfront()) + b"garbage").reason.startswith("trailing_garbage: ")
    assert told(read(tmp_path, packed(cloudfront()) + bytes(700))) == WHOLE
    assert told(read(tmp_path, packed(header()) + bytes(9) + packed(cloudfront()))) == WHOLE


@pytest.mark.parametrize("size", [1, 7, 64])
def test_blocks_of_any_size_give_the_same_lines(
    tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "BLOCK_BYTES", size)

    assert told(read(tmp_path, packed(header()) + bytes(size) + packed(cloudfront()))) == WHOLE
    assert told(read(tmp_path, b"\xef\xbb\xbf" + cloudfront().replace(b"\n", b"\r\n"))) == WHOLE


def test_a_byte_order_mark_and_ends_of_windows_do_not_hurt(tmp_path: Path) -> None:
    assert told(read(tmp_path, b"\xef\xbb\xbf" + cloudfront().replace(b"\n", b"\r\n"))) == WHOLE
    assert told(read(tmp_path, cloudfront().rstrip(b"\n"))) == WHOLE


def test_text_of_two_bytes_a_character_is_refused(tmp_path: Path) -> None:
    assert read(tmp_path, cloudfront().decode().encode("utf-16")).reason.startswith("not_utf8: ")


def test_a_file_without_bytes_is_refused_and_one_without_lines_is_read(tmp_path: Path) -> None:
    assert read(tmp_path, b"").reason.startswith("empty: ")
    assert told(read(tmp_path, packed(b""))) == ("read", 0, 0, 0, 0)
    assert told(read(tmp_path, header())) == ("read", 0, 0, 0, 0)


def test_a_line_beyond_all_measure_is_set_aside_without_being_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(opening, "MAX_LINE_BYTES", 2000)
    reading = read(tmp_path, cloudfront() + b"x" * 50_000 + b"\n" + line(number=7) + b"y" * 50_000)

    assert told(reading) == ("read", 4, 0, 2, 4000)
    assert reading.reason == "line_too_long 2"


@pytest.mark.parametrize(
    "content", [b"\x00\x01\x02\x03", b"hello\n", b"[1, 2]\n", b"PAR1PAR1", b'{"a": 1}\n']
)
def test_what_is_no_log_is_refused(tmp_path: Path, content: bytes) -> None:
    assert told(read(tmp_path, content)) == ("refused", 0, 0, 0, 0)
