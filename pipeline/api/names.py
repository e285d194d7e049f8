"""Names in requests: what could be a name of ours at all.

Belongs here: that one check. Does not belong here: whether such a thing exists.
"""

from __future__ import annotations

import re

from pipeline.domain.errors import UnknownSubject

#: Ids, partition keys, revisions. PostgreSQL refuses a NUL in any text, and nobody is helped by an echo.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,199}")
SHOWN = 80


def named(kind: str, text: str) -> str:
    """*text* itself; UnknownSubject when nothing of ours can be called so."""
    if not _NAME.fullmatch(text):
        raise UnknownSubject(kind, text[:SHOWN])
    return text
