"""A sample campaign that needs nothing: pictures drawn by code and the brief that wants videos of them.

Belongs here: writing the sample into a folder. Does not belong here: delivering or following it (demo).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from PIL import Image

from pipeline.cli.sample.pictures import depot, parcels, van

BRIEF_NAME = "spring-depot.yaml"

_BRIEF = """\
# The sample campaign: change the copy, raise `revision`, deliver it again, and only what changed is made.
tenant: northwind
campaign: spring-depot
title: Spring depot opening
revision: 1
cost_center: MKT-4410
sources: [depot.jpg, van.png, parcels.jpg]
copy:
  en-GB: "Your parcel, on time."
  de-DE: "Ihr Paket, pünktlich."
variants:
  locales: [en-GB, de-DE]
  aspect_ratios: ["16:9", "9:16", "1:1"]
  duration_seconds: [4]
generation: {provider: local, model: kenburns-1, settings: {fps: 25}}
tags: {asset_type: marketing-video, visibility: public, product: [parcel], season: [spring]}
publish: auto
submit: when_complete
budget: {cap: "50.00", currency: EUR}
retention_class: standard
completion: all_terminal
"""

_PICTURES: Mapping[str, Callable[[], Image.Image]] = {
    "depot.jpg": depot,
    "van.png": van,
    "parcels.jpg": parcels,
}


def write_sample(folder: Path) -> Path:
    """Write pictures, then the brief, into *folder*; gives the brief's path.

    What is already there is left as it is, so that a second run delivers the same bytes at the same time.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in _PICTURES.items():
        if not (folder / name).exists():
            half = folder / f".{name}"
            draw().save(half, format="PNG" if name.endswith(".png") else "JPEG", quality=92)
            half.replace(folder / name)
    brief = folder / BRIEF_NAME
    if not brief.exists():
        brief.write_text(_BRIEF, encoding="utf-8")
    return brief
