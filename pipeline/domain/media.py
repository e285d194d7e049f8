"""What is known of a media file once it was opened, and what is to be derived from one.

Values only: how facts are found is `resources.media`, what is thought of them `pipeline.domain.quality`.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from fractions import Fraction


class MediaKind(enum.StrEnum):
    """What the bytes are, whatever the name says."""

    VIDEO = "video"
    IMAGE = "image"  #: one picture
    ANIMATED = "animated"  #: a picture format with more than one frame
    UNKNOWN = "unknown"  #: nothing that Reelwright reads


@dataclass(frozen=True, slots=True)
class QualityMeasures:
    """Measured on every decoded frame and sample; shares run from 0 to 1 (SPEC R3)."""

    black_share: float  #: frames of which 98 % of the pixels lie in the darkest tenth
    frozen_share: float  #: frames that equal the one before
    silent_share: float | None  #: samples in stretches of 50 ms below -60 dBFS; None without sound
    clipped_share: float | None  #: samples at full scale; None without sound


@dataclass(frozen=True, slots=True)
class VideoFacts:
    """A whole video of which every frame was decoded. Sizes in pixels, times in seconds."""

    container: str  #: by content: `mp4`, `mov`, `webm`, `matroska`, `mpegts`
    content_type: str
    video_codec: str  #: FFmpeg's name of the codec, e.g. `h264`
    audio_codec: str | None
    pixel_format: str
    coded_width: int
    coded_height: int
    sample_aspect_ratio: Fraction
    rotation: int  #: degrees clockwise that the picture is turned for display
    mirrored: bool  #: flipped left to right before it is turned
    display_width: int  #: after pixel aspect and turn
    display_height: int
    duration_seconds: Fraction  #: from the shown packets, never from a header
    frame_rate: Fraction | None  #: average over the shown frames; None when unknown
    frame_count: int  #: shown frames; what an edit list hides is not counted
    has_alpha: bool
    has_audio: bool
    size_bytes: int
    sha256: str
    measures: QualityMeasures
    read_by: str  #: library and version that decoded it


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """A whole picture, every frame of it decoded. Sizes in pixels, times in seconds."""

    kind: MediaKind  #: IMAGE or ANIMATED
    container: str  #: by content: `jpeg`, `png`, `webp`, `avif`, `heic`, `gif`
    content_type: str
    stored_width: int
    stored_height: int
    orientation: int  #: EXIF number 1 to 8 that was applied; 1 when none, or an invalid one, stands there
    display_width: int
    display_height: int
    colour_mode: str  #: as stored: `RGB`, `CMYK`, `L`, `P`, `I;16` …
    has_alpha: bool
    has_profile: bool  #: an ICC profile was found and converted from
    frame_count: int
    duration_seconds: Fraction | None  #: one loop; None for one picture
    frame_rate: Fraction | None
    size_bytes: int
    sha256: str
    read_by: str


@dataclass(frozen=True, slots=True)
class Derivative:
    """One picture to be made; `width` is asked for and never exceeded."""

    name: str
    width: int
    format: str  #: `webp` or `jpeg`
    quality: int  #: encoder's scale, 1 to 100


@dataclass(frozen=True, slots=True)
class TransformSet:
    """All pictures made of one object; a changed rule is a new version (SPEC D1)."""

    version: str
    derivatives: tuple[Derivative, ...]
    background: tuple[int, int, int]  #: what shows through transparent pixels, sRGB


@dataclass(frozen=True, slots=True)
class DerivativeFile:
    """One picture that was made: a row of the derivative manifest without its key."""

    name: str
    format: str
    width: int
    height: int
    size_bytes: int
    sha256: str
    asked_width: int
    at_source_width: bool  #: the asked width lies beyond the display width, so the source's width was taken
    filename: str  #: below the folder that was given, `{name}.{ext}`
