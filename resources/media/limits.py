"""How much of the machine one file may take, as formulas in bytes and pixels (SPEC R7).

A file starts with what its length justifies. Once its header is read and its packets are counted, the child
states the work it is about to do, and both sides give it what that justifies, up to the ceilings.
"""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1 << 20

MAX_IMAGE_PIXELS = 120_000_000  #: stored width x height; the largest cameras on sale have 102 million
MAX_ANIMATION_PIXELS = 1_000_000_000  #: canvas x frames of an animated picture
MAX_VIDEO_PIXELS = 8_912_896  #: 4096 x 2176, coded; a 390 kB clip of 15360 x 8640 takes 1 GB (measured)
MAX_FRAMES = 216_000  #: an hour at 60 a second
MAX_STREAMS = 16
MAX_PROFILE_BYTES = MIB  #: ICC profiles; a press profile has 0.5 to 2.5 MB and is then left unread
MAX_OUTPUT_BYTES = 512 * MIB  #: all pictures of one answer; PNG of 120 million pixels
MAX_ANSWER_BYTES = MIB  #: the JSON before them


@dataclass(frozen=True, slots=True)
class Limits:
    """The coefficients. A slow machine raises `seconds_factor`, nothing else."""

    base_seconds: float = 10.0
    seconds_per_mib: float = 0.5
    pixels_per_second: float = 10_000_000.0  #: a tenth of what one slow core decodes and measures
    max_cpu_seconds: float = 1_800.0
    wall_factor: float = 2.0  #: wall to CPU time: other work shares the cores
    seconds_factor: float = 1.0
    base_memory_bytes: int = 512 * MIB
    memory_bytes_per_pixel: int = 20  #: a picture in four bytes, twice converted; a video's reference frames
    max_memory_bytes: int = 3_584 * MIB
    open_files: int = 64

    def cpu_seconds(self, size_bytes: int, pixels: int = 0) -> float:
        """CPU time for a file of that length, once its work (decoded pixels) is known."""
        by_bytes = self.base_seconds + self.seconds_per_mib * size_bytes / MIB
        wanted = (by_bytes + pixels / self.pixels_per_second) * self.seconds_factor
        return min(wanted, self.max_cpu_seconds)

    def wall_seconds(self, size_bytes: int, pixels: int = 0) -> float:
        return self.cpu_seconds(size_bytes, pixels) * self.wall_factor

    def memory_bytes(self, pixels_at_once: int) -> int:
        """Address space beyond what the warm parent maps, for that many pixels held at a time."""
        wanted = self.base_memory_bytes + self.memory_bytes_per_pixel * pixels_at_once
        return min(wanted, self.max_memory_bytes)
