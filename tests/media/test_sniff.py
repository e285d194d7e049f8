"""Type by content: what a file is called changes nothing (C19)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resources.media.sniff import HEAD_BYTES, IMAGE_DECODERS, VIDEO_DEMUXERS, sniff
from tests.media.cases import DATA, read_cases

NAMED_OTHERWISE = {
    "jpeg_inside.heic": "jpeg",
    "webp_inside.jpg": "webp",
    "webm_inside.mp4": "webm",
    "start_3600s.ts": "mpegts",
    "html_inside.mp4": "",
    "json_error_inside.mp4": "",
    "zero_bytes.mp4": "",
    "audio_with_cover.mp3": "",
}
SUFFIXES = {"jpg": "jpeg"}


@pytest.mark.parametrize("case", read_cases(), ids=str)
def test_every_case_file_is_known_by_its_content(case) -> None:  # type: ignore[no-untyped-def]
    suffix = case.file.rpartition(".")[2]

    found = sniff(case.path.read_bytes()[:HEAD_BYTES]).container

    assert found == NAMED_OTHERWISE.get(case.file, SUFFIXES.get(suffix, suffix))


FOREIGN = {
    "text/html": b"\xef\xbb\xbf  <!DOCTYPE HTML><html>",
    "application/json": b' {"error": 1}',
    "application/xml": b"<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>",
    "image/svg+xml": b"<?xml version='1.0'?><svg/>",
    "text/plain": b"Bad Gateway",
    "application/vnd.apple.mpegurl": b"#EXTM3U\n",
    "text/x-ffconcat": b"ffconcat version 1.0",
    "audio/mpeg": b"\xff\xfb\x90\x00" + bytes(100),
    "audio/wav": b"RIFF\0\0\0\0WAVEfmt ",
    "video/x-msvideo": b"RIFF\0\0\0\0AVI LIST",
    "image/tiff": b"II*\0\x08\0\0\0",
    "application/postscript": b"%!PS-Adobe-3.0 EPSF-3.0",
    "application/pdf": b"%PDF-1.7",
    "application/octet-stream": bytes(2000),
    "empty": b"",
}


@pytest.mark.parametrize("name", FOREIGN)
def test_what_is_not_taken_is_named(name: str) -> None:
    found = sniff(FOREIGN[name])

    assert (found.container, found.content_type) == ("", name)


BRANDS = {
    (b"isom", b"isomavc1"): "mp4",
    (b"qt  ", b"qt  "): "mov",
    (b"avis", b"avifmsf1"): "avif",
    (b"mif1", b"avifmif1"): "avif",
    (b"mif1", b"heicmif1"): "heic",
    (b"heix", b"mif1"): "heic",
    (b"dash", b"iso6mp41"): "mp4",
}


@pytest.mark.parametrize("brands", BRANDS)
def test_the_brand_decides_between_films_and_pictures(brands: tuple[bytes, bytes]) -> None:
    major, others = brands
    head = (16 + len(others)).to_bytes(4, "big") + b"ftyp" + major + bytes(4) + others

    assert sniff(head + b"\0\0\0\x08free").container == BRANDS[brands]


@given(st.binary(max_size=600))
def test_any_bytes_have_an_answer(head: bytes) -> None:
    found = sniff(head)

    assert found.container in {*IMAGE_DECODERS, *VIDEO_DEMUXERS, ""}
    assert found.content_type


def test_the_collection_lies_where_the_test_looks() -> None:
    assert (DATA / "exif_6.jpg").is_file()
