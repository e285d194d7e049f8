"""A child's answer as domain values. What it says is checked for form; a child may have been taken over.

Length, digest and type are not taken from it: the parent knows them itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

from pipeline.domain.errors import SandboxFailed
from pipeline.domain.media import (
    Derivative,
    DerivativeFile,
    ImageFacts,
    MediaKind,
    QualityMeasures,
    VideoFacts,
)
from resources.media.sniff import Sniffed

_SUFFIXES = {"jpeg": "jpg"}


@contextmanager
def believed() -> Iterator[None]:
    """A child that was taken over may answer nonsense: that is its failure, not ours."""
    try:
        yield
    except (KeyError, TypeError, ValueError, IndexError, ZeroDivisionError) as error:
        raise SandboxFailed(
            "no_answer", f"the child answered with something else: {error!r}"[:200]
        ) from error


def video_facts(found: dict[str, Any], sniffed: Sniffed, size_bytes: int, sha256: str) -> VideoFacts:
    rate = found["frame_rate"]
    return VideoFacts(
        container=sniffed.container,
        content_type=sniffed.content_type,
        video_codec=str(found["video_codec"]),
        audio_codec=None if found["audio_codec"] is None else str(found["audio_codec"]),
        pixel_format=str(found["pixel_format"]),
        coded_width=int(found["coded_width"]),
        coded_height=int(found["coded_height"]),
        sample_aspect_ratio=Fraction(found["sample_aspect_ratio"]),
        rotation=int(found["rotation"]),
        mirrored=bool(found["mirrored"]),
        display_width=int(found["display_width"]),
        display_height=int(found["display_height"]),
        duration_seconds=Fraction(found["duration_seconds"]),
        frame_rate=None if rate is None else Fraction(rate),
        frame_count=int(found["frame_count"]),
        has_alpha=bool(found["has_alpha"]),
        has_audio=bool(found["has_audio"]),
        size_bytes=size_bytes,
        sha256=sha256,
        measures=QualityMeasures(
            black_share=float(found["black_share"]),
            frozen_share=float(found["frozen_share"]),
            silent_share=_share(found["silent_share"]),
            clipped_share=_share(found["clipped_share"]),
        ),
        read_by=str(found["read_by"]),
    )


def _share(value: object) -> float | None:
    return None if value is None else float(str(value))


def image_facts(found: dict[str, Any], sniffed: Sniffed, size_bytes: int, sha256: str) -> ImageFacts:
    duration, rate = found["duration_seconds"], found["frame_rate"]
    return ImageFacts(
        kind=MediaKind(found["kind"]),
        container=sniffed.container,
        content_type=sniffed.content_type,
        stored_width=int(found["stored_width"]),
        stored_height=int(found["stored_height"]),
        orientation=int(found["orientation"]),
        display_width=int(found["display_width"]),
        display_height=int(found["display_height"]),
        colour_mode=str(found["colour_mode"]),
        has_alpha=bool(found["has_alpha"]),
        has_profile=bool(found["has_profile"]),
        frame_count=int(found["frame_count"]),
        duration_seconds=None if duration is None else Fraction(duration),
        frame_rate=None if rate is None else Fraction(rate),
        size_bytes=size_bytes,
        sha256=sha256,
        read_by=str(found["read_by"]),
    )


def derivative_file(asked: Derivative, row: dict[str, Any], blob: bytes) -> DerivativeFile:
    return DerivativeFile(
        name=asked.name,
        format=asked.format,
        width=int(row["width"]),
        height=int(row["height"]),
        size_bytes=len(blob),
        sha256=hashlib.sha256(blob).hexdigest(),
        asked_width=asked.width,
        at_source_width=bool(row["at_source_width"]),
        filename=f"{asked.name}.{_SUFFIXES.get(asked.format, asked.format)}",
    )
