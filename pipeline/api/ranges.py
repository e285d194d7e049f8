"""Parts of a body: what a `Range` header asks for, as RFC 9110 reads it.

Belongs here: the pure reading. Does not belong here: headers of the answer, or bytes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_ONE_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")


@dataclass(frozen=True, slots=True)
class Part:
    """Bytes from `start` on, `length` of them; never empty."""

    start: int
    length: int

    def content_range(self, size: int) -> str:
        return f"bytes {self.start}-{self.start + self.length - 1}/{size}"


class Unsatisfiable(ValueError):
    """The range begins behind the end."""


def wanted_part(header: str | None, size: int) -> Part | None:
    """The one part that *header* asks of *size* bytes; None for the whole.

    What is no range, or asks for several, is answered with the whole, as the standard permits.
    """
    asked = _ONE_RANGE.fullmatch(header.strip()) if header else None
    if asked is None or asked.group(1, 2) == ("", ""):
        return None
    first, last = asked.group(1, 2)
    if not first:
        return _suffix(int(last), size)
    start, end = int(first), min(int(last), size - 1) if last else size - 1
    if last and int(last) < start:
        return None
    if start >= size:
        raise Unsatisfiable
    return Part(start, end - start + 1)


def _suffix(length: int, size: int) -> Part:
    if length == 0 or size == 0:
        raise Unsatisfiable
    return Part(max(0, size - length), min(length, size))
