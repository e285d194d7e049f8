"""How long an answer may be kept, and by whom (D5).

Belongs here: cache policies and the comparison of entity tags. Does not belong here: what makes a tag.
"""

from __future__ import annotations

#: Status moves: a moment, so that a page of many widgets asks once, and then the tag decides.
SHORT = "private, max-age=2"
#: Bytes that never change under their name. Private: an answer to one viewer is no shared cache's business.
IMMUTABLE = "private, max-age=31536000, immutable"


def quoted(tag: str) -> str:
    return f'"{tag}"'


def is_known(if_none_match: str | None, tag: str) -> bool:
    """Whether the client holds this version: `If-None-Match` of RFC 9110, compared weakly."""
    if if_none_match is None:
        return False
    held = {one.strip().removeprefix("W/") for one in if_none_match.split(",")}
    return "*" in held or quoted(tag) in held
