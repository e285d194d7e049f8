"""What comes in and what goes out, examined in the media sandbox by the code that the pipeline uses too.

Belongs here: stills made upright before a job is rendered, the proof of its output after. Does not belong
here: rendering, or what a job becomes by a fault (workers).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from pipeline.domain.errors import MediaRefused
from resources.local_renderer.wanted import Wanted
from resources.media import Sandbox, examine_video, upright_image

#: More than the closest view of the largest frame can show.
_MAX_SIDE = 4096


class SourceUnusable(MediaRefused):
    """One of the job's own images is no picture; the same job will fail again."""


def upright_stills(sandbox: Sandbox, assets: Sequence[Path], folder: Path) -> list[Path]:
    """Upright, sRGB, opaque pictures in *folder*, in order. Raises `SourceUnusable`, SandboxFailed."""
    stills = []
    for number, asset in enumerate(assets):
        path = folder / f"still-{number}.png"
        try:
            upright_image(sandbox, asset, path, format="png", max_side=_MAX_SIDE)
        except MediaRefused as error:
            raise SourceUnusable(error.reason, f"image {asset.name[:12]}: {error}", error.remedy) from error
        stills.append(path)
    return stills


def require_as_wanted(sandbox: Sandbox, wanted: Wanted, path: Path) -> None:
    """Every frame decodes, and size, rate, count and length are exactly what was asked for.

    Raises MediaRefused, MediaUnproven, SandboxFailed.
    """
    facts = examine_video(sandbox, path)
    made = (
        facts.display_width,
        facts.display_height,
        facts.frame_rate,
        facts.frame_count,
        facts.duration_seconds,
    )
    asked = (
        *(wanted.width, wanted.height),
        *(Fraction(wanted.fps), wanted.frame_count, Fraction(wanted.duration_seconds)),
    )
    if made != asked:
        raise MediaRefused("not_as_wanted", f"asked for {asked}, made {made}")
