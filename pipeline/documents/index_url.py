"""`sql`, or `https://[USER@]HOST[:PORT]/ALIAS`: the tag index, as people write it.

Belongs here: reading the URL. Does not belong here: opening anything, or the password: it is a setting of its
own, and a URL that holds one is refused, since URLs are shown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from pipeline.domain.errors import BadSettings

SETTING = "index_url"
SQL = "sql"
_FORM = "use `sql` or https://[USER@]HOST[:PORT]/ALIAS"
_HOST = re.compile(r"[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]")
#: What the server takes as a name, in a length that leaves room for what rebuilds append.
_ALIAS = re.compile(r"[a-z0-9][a-z0-9_.-]{0,127}")
_PORTS = {"http": 9200, "https": 443}


@dataclass(frozen=True, slots=True)
class IndexAddress:
    server: str  #: `https://HOST:PORT`
    user: str
    alias: str


def read_index_url(url: str) -> IndexAddress | None:
    """None for the SQL index. Raises `BadSettings` that says what is wrong, without what may be secret."""
    if url == SQL:
        return None
    try:
        split = urlsplit(url)
        port = split.port or _PORTS.get(split.scheme)
    except ValueError as error:
        raise BadSettings(SETTING, "is no URL", _FORM) from error
    if split.password is not None:
        raise BadSettings(SETTING, "holds a password", "put it into REELWRIGHT_INDEX_PASSWORD")
    account, _, host = split.netloc.rpartition("@")
    name = re.sub(r":\d*$", "", host)
    if port is None or not _HOST.fullmatch(name) or split.query or split.fragment:
        raise BadSettings(SETTING, "is neither `sql` nor the URL of a server and an alias", _FORM)
    alias = split.path.strip("/")
    if not _ALIAS.fullmatch(alias):
        raise BadSettings(SETTING, f"{alias!r} cannot be the name of an alias", f"{_FORM}; a-z 0-9 - _ .")
    return IndexAddress(f"{split.scheme}://{name}:{port}", unquote(account), alias)
