"""`s3://BUCKET[/PREFIX]?endpoint=…&region=…&sse=…&kms_key=…&owner=…`: the object store, as people write it.

Belongs here: reading the URL. Does not belong here: opening anything, or secrets: they come from the AWS
environment or profile, and a URL that holds one is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from urllib.parse import parse_qsl, unquote, urlsplit

from pipeline.domain.bucket import Bucket
from pipeline.domain.errors import BadSettings

SETTING = "store_url"
_FORM = "use s3://BUCKET[/PREFIX][?endpoint=https://HOST&region=…&sse=…&kms_key=…&owner=…]"
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
#: What each part of the query must look like, and that in words.
PARTS: Mapping[str, tuple[re.Pattern[str], str]] = MappingProxyType(
    {
        "endpoint": (re.compile(r"https?://[A-Za-z0-9.\[\]:-]+/?"), "http:// or https://, a host, no path"),
        "region": (re.compile(r"[a-z0-9-]{1,40}"), "the name of a region, as eu-central-1"),
        "sse": (re.compile(r"AES256|aws:kms|aws:kms:dsse"), "AES256, aws:kms or aws:kms:dsse"),
        "kms_key": (re.compile(r"[A-Za-z0-9:/_-]{1,2048}"), "a key's id, alias or ARN"),
        "owner": (re.compile(r"[A-Za-z0-9_.-]{1,128}"), "the account's number"),
    }
)


def read_store_url(url: str) -> Bucket:
    """Raises `BadSettings` that says what is wrong, without what may be secret."""
    split = urlsplit(url)
    if "@" in split.netloc:
        raise BadSettings(
            SETTING, "holds a user or password", "put secrets into AWS's environment or profile"
        )
    if not _NAME.fullmatch(split.netloc):
        raise BadSettings(SETTING, f"{split.netloc!r} is not the name of a bucket", _FORM)
    if split.fragment:
        raise BadSettings(SETTING, "holds `#…`, which means nothing here", _FORM)
    said = _query(split.query)
    if said.get("kms_key") and not said.get("sse", "").startswith("aws:kms"):
        raise BadSettings(SETTING, "`kms_key` without sse=aws:kms encrypts nothing", "add sse=aws:kms")
    return Bucket(split.netloc, _prefix(split.path), **said)


def _prefix(path: str) -> str:
    prefix = unquote(path).strip("/")
    if prefix and not {"", ".", ".."}.isdisjoint(prefix.split("/")):
        raise BadSettings(SETTING, f"the prefix {prefix!r} leads out of its place", "name plain folders")
    return prefix


def _query(query: str) -> dict[str, str]:
    said: dict[str, str] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in PARTS:
            raise BadSettings(SETTING, f"{name[:40]!r} is not known", f"known are {', '.join(PARTS)}")
        form, words = PARTS[name]
        if name in said or not form.fullmatch(value):
            raise BadSettings(SETTING, f"`{name}` cannot be read", f"give it once: {words}")
        said[name] = value.rstrip("/")
    return said
