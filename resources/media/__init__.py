"""Judging and deriving media, video and still: everything that opens untrusted bytes, inside a bounded child.

Callers keep one `Sandbox` a process and hand it to the functions below. Rules about what was found are
`pipeline.domain.quality`; keys and stores are not known here.
"""

from resources.media.examine import (
    WHITE,
    FirstLook,
    UprightPicture,
    derive,
    examine_image,
    examine_video,
    first_look,
    upright_image,
)
from resources.media.limits import Limits
from resources.media.sandbox import Sandbox
from resources.media.walls import WallLevel

__all__ = [
    "WHITE",
    "FirstLook",
    "Limits",
    "Sandbox",
    "UprightPicture",
    "WallLevel",
    "derive",
    "examine_image",
    "examine_video",
    "first_look",
    "upright_image",
]
