"""Tags and search words: how text becomes exact tags and tokens, once, for entries and queries alike (T4).

Belongs here: required tags (T1, T2), the exact form, the tokens, the query. Does not belong here: how an
index stores or finds them (`resources.tag_index`).
"""

from __future__ import annotations

import enum
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, pairwise


class Visibility(enum.StrEnum):
    PUBLIC = "public"  #: Anybody who holds a grant.
    INTERNAL = "internal"  #: Members of the tenant.
    PRIVATE = "private"  #: Members with a role in the campaign.


#: Without these nothing is published (T1), and none of them is ever enrichment (T2).
REQUIRED_TAGS = ("tenant", "campaign", "locale", "asset_type", "visibility", "retention_class")
#: Names that a free tag may not take: a filter of that name means the entry's own field.
RESERVED_TAG_NAMES = frozenset({*REQUIRED_TAGS, "slot", "standing", "text"})

MAX_TAG_CHARACTERS = 256
MAX_TOKEN_CHARACTERS = 64
_TAG_NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}")


def missing_required(tags: Mapping[str, str | None]) -> tuple[str, ...]:
    """The required tags that are absent or blank, in their own order."""
    return tuple(name for name in REQUIRED_TAGS if not (tags.get(name) or "").strip())


def exact(tag: str) -> str:
    """The form in which exact tags meet: NFC and casefold, nothing else; no word is cut out of it."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", tag).casefold())


def tag_problem(tag: str) -> str | None:
    """Why *tag* cannot be a tag's value, or None. A tag that cannot be found again is refused, not cut."""
    if not tag.strip():
        return "is blank"
    if len(exact(tag)) > MAX_TAG_CHARACTERS:
        return f"is longer than {MAX_TAG_CHARACTERS} characters"
    if any(unicodedata.category(character) in {"Cc", "Cs"} for character in tag):
        return "holds a control character"
    return None


def tag_name_problem(name: str) -> str | None:
    """Why *name* cannot name a free tag, or None."""
    if name in RESERVED_TAG_NAMES:
        return "is a required field and cannot be a free tag"
    if not _TAG_NAME.fullmatch(name):
        return "is not of the form a-z, then a-z 0-9 _ -, at most 63 characters"
    return None


def words(text: str) -> tuple[str, ...]:
    """The tokens of *text* in order, repeats kept: words, or overlapping pairs in unspaced scripts."""
    return tuple(_cut(fold(text)))


def tokens(text: str) -> tuple[str, ...]:
    """The tokens of *text*, each once. Letters, marks and digits only, folded, at most 64 characters."""
    return tuple(dict.fromkeys(words(text)))


def all_tokens(texts: Iterable[str]) -> tuple[str, ...]:
    """The tokens of several texts; no pair ever spans two of them."""
    return tuple(dict.fromkeys(token for text in texts for token in words(text)))


def fold(text: str) -> str:
    """NFKC, casefold, accents removed."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    bare = "".join(c for c in unicodedata.normalize("NFD", folded) if not _ACCENTS.match(c))
    return unicodedata.normalize("NFC", bare)


#: Marks that are accents: general diacritics, and the optional vowel points of Hebrew and Arabic. The
#: vowel signs of Indic scripts and the voicing marks of kana are letters to their readers and stay.
_ACCENTS = re.compile(
    "[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f\u0591-\u05c7\u064b-\u065f\u0670]"
)

#: Scripts written without spaces between words, or (Hangul) with particles joined to them.
_UNSPACED = re.compile(
    "[\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af\U00020000-\U0003ffff]"
)


def _cut(folded: str) -> Iterator[str]:
    for kind, run in groupby(folded, key=_kind):
        if kind == "word":
            yield "".join(run)[:MAX_TOKEN_CHARACTERS]
        elif kind == "unspaced":
            yield from _pairs("".join(run))


def _kind(character: str) -> str:
    if unicodedata.category(character)[0] not in "LMN":
        return "gap"
    return "unspaced" if _UNSPACED.match(character) else "word"


def _pairs(run: str) -> Iterator[str]:
    if len(run) == 1:
        yield run
    yield from map("".join, pairwise(run))


@dataclass(frozen=True, slots=True)
class Query:
    """What to look for; every part narrows (AND). The tenant is not part of it: each call names its own."""

    text: tuple[str, ...] = ()  #: ready tokens
    tags: tuple[tuple[str, str], ...] = ()  #: exact (name, value); an empty name means a tag of any name
    campaign: str | None = None
    locale: str | None = None  #: canonical BCP 47; no locale falls back to another
    visibility: frozenset[Visibility] | None = None  #: None means any
    asset_type: str | None = None


def parse_tag_filter(text: str) -> tuple[str, str]:
    """`product=parcel` as (name, exact value); text without a tag name before `=` is a value of any name."""
    name, equals, value = text.partition("=")
    if equals and _TAG_NAME.fullmatch(name):
        return name, exact(value)
    return "", exact(text)


def query(
    text: str = "",
    tags: Iterable[str] = (),
    *,
    campaign: str | None = None,
    locale: str | None = None,
    visibility: Iterable[Visibility] | None = None,
    asset_type: str | None = None,
) -> Query:
    """A query from what a person typed; *locale* must be canonical already."""
    return Query(
        text=tokens(text),
        tags=tuple(parse_tag_filter(tag) for tag in tags),
        campaign=campaign,
        locale=locale,
        visibility=None if visibility is None else frozenset(visibility),
        asset_type=asset_type,
    )
