"""What is this file, would it be taken, and what would be made of it: `reelwright inspect`.

The very rules of intake (pictures) and retrieval (videos), without a wanted ratio or duration, since none is
given. Nothing is stored but the pictures, and those only where a folder is named.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from pipeline.domain.errors import MediaRefused, MediaUnproven, SandboxFailed
from pipeline.domain.media import DerivativeFile, ImageFacts, MediaKind, TransformSet, VideoFacts
from pipeline.domain.quality import QualityReport, TargetProfile, Wanted, judge, quality_report
from resources import media

ACCEPTED = "accepted"
REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Inspection:
    """One file's answer; what does not apply is None."""

    file: str
    kind: MediaKind
    verdict: str  #: `accepted` or `refused`
    reason: str | None = None  #: stable code of the first broken rule
    problem: str | None = None  #: every broken rule in words
    remedy: str | None = None
    container: str | None = None
    content_type: str | None = None
    display_width: int | None = None
    display_height: int | None = None
    duration_seconds: Fraction | None = None
    frame_rate: Fraction | None = None
    frame_count: int | None = None
    has_alpha: bool | None = None
    has_audio: bool | None = None
    video_codec: str | None = None
    audio_codec: str | None = None
    colour_mode: str | None = None  #: of a picture
    orientation: int | None = None  #: of a picture: the EXIF number that is applied
    rotation: int | None = None  #: of a video: degrees clockwise
    mirrored: bool | None = None
    size_bytes: int | None = None
    sha256: str | None = None
    quality: QualityReport | None = None
    thumbnails: tuple[DerivativeFile, ...] = ()
    thumbnails_dir: str | None = None

    @property
    def accepted(self) -> bool:
        return self.verdict == ACCEPTED


def inspect_file(
    path: Path,
    sandbox: media.Sandbox,
    profile: TargetProfile,
    transforms: TransformSet,
    thumbnails_dir: Path | None = None,
) -> Inspection:
    """Never raises for what a file is; StoreUnavailable when the folder takes no pictures."""
    found = _judged(path, sandbox, profile)
    if thumbnails_dir is None or not found.accepted:
        return found
    folder = thumbnails_dir / safe_name(path, found.sha256 or "")
    try:
        rows = media.derive(sandbox, path, transforms, folder)
    except (MediaRefused, MediaUnproven, SandboxFailed) as error:
        return replace(found, verdict=REFUSED, reason="underivable", problem=str(error))
    return replace(found, thumbnails=tuple(rows), thumbnails_dir=str(folder))


def as_json(inspection: Inspection) -> dict[str, Any]:
    """`duration_seconds` and `frame_rate` as decimal numbers, the exact rate beside it as a ratio."""
    plain = asdict(inspection)
    for name in ("duration_seconds", "frame_rate"):
        exact: Fraction | None = getattr(inspection, name)
        plain[name] = None if exact is None else round(float(exact), 6)
    for thumbnail in plain["thumbnails"]:
        thumbnail["path"] = str(Path(inspection.thumbnails_dir or "") / thumbnail.pop("filename"))
    plain["frame_rate_ratio"] = None if inspection.frame_rate is None else str(inspection.frame_rate)
    return plain


def safe_name(path: Path, sha256: str) -> str:
    """Folder of one file's pictures: by content and place, never by a name that somebody else chose."""
    place = hashlib.blake2s(os.fsencode(path.absolute()), digest_size=4).hexdigest()
    return f"{sha256[:16]}-{place}"


def _judged(path: Path, sandbox: media.Sandbox, profile: TargetProfile) -> Inspection:
    look: media.FirstLook | None = None
    try:
        look = media.first_look(path)
        if look.kind is MediaKind.IMAGE:
            return _picture(path, media.examine_image(sandbox, path, sha256=look.sha256))
        return _video(path, media.examine_video(sandbox, path, sha256=look.sha256), profile)
    except MediaRefused as refused:
        return _refused(path, look, refused.reason, str(refused), refused.remedy)
    except MediaUnproven as unproven:
        return _refused(path, look, unproven.reason, str(unproven), "fetch or copy the file again")
    except SandboxFailed as failed:
        return _refused(
            path, look, f"parser_{failed.reason}", str(failed), "look at the file before using it"
        )


def _refused(path: Path, look: media.FirstLook | None, reason: str, problem: str, remedy: str) -> Inspection:
    sound_only = reason == "no_video_stream"
    return Inspection(
        file=str(path),
        kind=MediaKind.UNKNOWN if look is None or sound_only else look.kind,
        verdict=REFUSED,
        reason=reason,
        problem=problem,
        remedy=remedy or None,
        container=look.container if look else None,
        content_type=look.content_type if look else None,
        size_bytes=look.size_bytes if look else None,
        sha256=look.sha256 if look else None,
    )


def _picture(path: Path, facts: ImageFacts) -> Inspection:
    return Inspection(
        file=str(path),
        kind=facts.kind,
        verdict=ACCEPTED,
        container=facts.container,
        content_type=facts.content_type,
        display_width=facts.display_width,
        display_height=facts.display_height,
        duration_seconds=facts.duration_seconds,
        frame_rate=facts.frame_rate,
        frame_count=facts.frame_count,
        has_alpha=facts.has_alpha,
        colour_mode=facts.colour_mode,
        orientation=facts.orientation,
        size_bytes=facts.size_bytes,
        sha256=facts.sha256,
    )


def _video(path: Path, facts: VideoFacts, profile: TargetProfile) -> Inspection:
    verdict = judge(profile, Wanted(), facts)
    problems = [f"{breach.reason}: {breach.problem}" for breach in verdict.breaches]
    return Inspection(
        file=str(path),
        kind=MediaKind.VIDEO,
        verdict=ACCEPTED if verdict.accepted else REFUSED,
        reason=None if verdict.accepted else verdict.breaches[0].reason,
        problem="; ".join(problems) or None,
        container=facts.container,
        content_type=facts.content_type,
        display_width=facts.display_width,
        display_height=facts.display_height,
        duration_seconds=facts.duration_seconds,
        frame_rate=facts.frame_rate,
        frame_count=facts.frame_count,
        has_alpha=facts.has_alpha,
        has_audio=facts.has_audio,
        video_codec=facts.video_codec,
        audio_codec=facts.audio_codec,
        rotation=facts.rotation,
        mirrored=facts.mirrored,
        size_bytes=facts.size_bytes,
        sha256=facts.sha256,
        quality=quality_report(profile, Wanted(), facts),
    )
