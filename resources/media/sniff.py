"""What the first bytes say a file is. Names, extensions and content types are not believed (SPEC R3, I2).

Plain byte comparison, no decoder: it runs before anything that could be attacked. Also names what is *not*
taken (a web page, a playlist, a sound), so that the refusal can say so.
"""

from __future__ import annotations

from dataclasses import dataclass

HEAD_BYTES = 4096  #: how much of a file `sniff` wants to see

#: The decoder list of pictures (SPEC I2): ours -> Pillow's name. Nothing else is ever opened as a picture.
IMAGE_DECODERS = {
    "jpeg": "JPEG",
    "png": "PNG",
    "webp": "WEBP",
    "avif": "AVIF",
    "heic": "HEIF",
    "gif": "GIF",
}

#: The demuxer list of videos: ours -> FFmpeg's demuxer, which is pinned so that none is guessed.
VIDEO_DEMUXERS = {
    "mp4": "mov",
    "mov": "mov",
    "webm": "matroska",
    "matroska": "matroska",
    "mpegts": "mpegts",
}

CONTENT_TYPES = {
    "jpeg": "image/jpeg",
    "png": "image/png",
    "webp": "image/webp",
    "avif": "image/avif",
    "heic": "image/heic",
    "gif": "image/gif",
    "mp4": "video/mp4",
    "mov": "video/quicktime",
    "webm": "video/webm",
    "matroska": "video/x-matroska",
    "mpegts": "video/mp2t",
}

_AVIF_BRANDS = {b"avif", b"avis"}
_HEIC_BRANDS = {b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"hevm", b"hevs", b"mif1", b"msf1"}

#: Prefixes of what is known and not taken; only for naming it.
_NOT_TAKEN = (
    (b"ID3", "audio/mpeg"),
    (b"fLaC", "audio/flac"),
    (b"OggS", "audio/ogg"),
    (b"#!AMR", "audio/amr"),
    (b"%PDF", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
    (b"8BPS", "image/vnd.adobe.photoshop"),
    (b"%!PS", "application/postscript"),
    (b"BM", "image/bmp"),
    (b"FLV\x01", "video/x-flv"),
    (b"\x30\x26\xb2\x75\x8e\x66\xcf\x11", "video/x-ms-asf"),
    (b"#EXTM3U", "application/vnd.apple.mpegurl"),
    (b"ffconcat", "text/x-ffconcat"),
)
_RIFF_FORMS = {b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}


@dataclass(frozen=True, slots=True)
class Sniffed:
    """`container` is a key of one of the two lists, or empty for what is not taken."""

    container: str
    content_type: str

    @property
    def is_image(self) -> bool:
        return self.container in IMAGE_DECODERS

    @property
    def is_video(self) -> bool:
        return self.container in VIDEO_DEMUXERS

    @property
    def is_audio(self) -> bool:
        return self.content_type.startswith("audio/")


def sniff(head: bytes) -> Sniffed:
    """Type by content of the first `HEAD_BYTES` bytes."""
    container = _picture(head) or _isobmff(head) or _matroska(head) or _transport_stream(head)
    if container:
        return Sniffed(container, CONTENT_TYPES[container])
    return Sniffed("", _name_of_foreign(head))


def _picture(head: bytes) -> str:
    if head.startswith(b"\xff\xd8\xff"):
        return "jpeg"
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "png"
    if head[:6] in (b"GIF87a", b"GIF89a"):
        return "gif"
    return "webp" if head[:4] == b"RIFF" and head[8:12] == b"WEBP" else ""


def _isobmff(head: bytes) -> str:
    if head[4:8] in (b"moov", b"mdat", b"wide", b"free", b"skip") and b"ftyp" not in head[8:64]:
        return "mov" if head[:2] == b"\x00\x00" else ""  # QuickTime before `ftyp` existed
    if head[4:8] != b"ftyp":
        return ""
    end = min(int.from_bytes(head[:4], "big"), len(head))
    major = head[8:12]
    brands = {major, *(head[at : at + 4] for at in range(16, end - 3, 4))}
    if major in _AVIF_BRANDS or (major in (b"mif1", b"msf1") and brands & _AVIF_BRANDS):
        return "avif"
    if major in _HEIC_BRANDS:
        return "heic"
    return "mov" if major == b"qt  " else "mp4"


def _matroska(head: bytes) -> str:
    if not head.startswith(b"\x1a\x45\xdf\xa3"):
        return ""
    return "webm" if b"\x42\x82\x84webm" in head[:256] else "matroska"


def _transport_stream(head: bytes) -> str:
    packets = min(len(head) // 188, 4)
    return "mpegts" if packets and all(head[188 * n] == 0x47 for n in range(packets)) else ""


def _name_of_foreign(head: bytes) -> str:
    if not head:
        return "empty"
    for prefix, name in _NOT_TAKEN:
        if head.startswith(prefix):
            return name
    if head[:4] == b"RIFF":
        return _RIFF_FORMS.get(head[8:12], "application/octet-stream")
    if head[0] == 0xFF and len(head) > 1 and head[1] & 0xE6 in (0xE2, 0xE4, 0xE6):
        return "audio/mpeg"
    return _name_of_text(head)


def _name_of_text(head: bytes) -> str:
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:512].lower()
    if start.startswith((b"<!doctype html", b"<html", b"<head", b"<body")):
        return "text/html"
    if start.startswith(b"<svg") or (start.startswith(b"<?xml") and b"<svg" in start):
        return "image/svg+xml"
    if start.startswith(b"<"):
        return "text/html" if b"<html" in start else "application/xml"
    if start.startswith((b"{", b"[")):
        return "application/json"
    printable = sum(byte >= 32 or byte in b"\t\r\n" for byte in start)
    return "text/plain" if start and printable == len(start) else "application/octet-stream"
