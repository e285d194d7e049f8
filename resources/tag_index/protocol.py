"""What every tag index promises: entries with a version of their own, found exactly and only in their tenant.

Belongs here: the protocol, its values, and the rules for entries that hold for every index. Does not belong
here: how text becomes tokens and tags exact (`pipeline.domain.tags`), or what the index should say
(`resources.database`).
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pipeline.domain.tags import Query, Visibility, missing_required, tag_name_problem, tag_problem, tokens

MAX_ENTRY_ID_BYTES = 64  #: longer ids pass one road into OpenSearch and not another
MAX_TENANT_BYTES = 256  #: document ids hold both, in 512 bytes
MAX_FIELD_CHARACTERS = 1_024
MAX_TOKENS = 2_000
MAX_QUERY_TOKENS = 200
MAX_QUERY_TAGS = 50
MAX_PAGE = 1_000
MAX_FACET_VALUES = 100


class Standing(enum.StrEnum):
    CANDIDATE = "candidate"  #: Visible to those who ask for candidates; not in its slot.
    CURRENT = "current"  #: Published in its slot, as far as the index knows.


BOTH_STANDINGS = frozenset(Standing)


@dataclass(frozen=True, slots=True)
class Entry:
    """One rendition and object as it can be found."""

    entry_id: str  #: `renditions.entry_id`
    tenant: str
    rendition_id: str
    object_id: str
    campaign: str
    slot: str
    locale: str  #: canonical BCP 47
    asset_type: str
    visibility: Visibility
    retention_class: str
    standing: Standing
    version: int  #: the entry's own counter, from 1; the highest one wins
    created_at: int  #: microseconds; newest first in every list
    tags: Mapping[str, tuple[str, ...]]  #: free tags as written; found in their exact form
    text: tuple[str, ...]  #: ready tokens, each once


@dataclass(frozen=True, slots=True)
class Tombstone:
    """The end of an entry at a version: no lower version brings it back."""

    entry_id: str
    tenant: str
    version: int


Change = Entry | Tombstone


class Outcome(enum.StrEnum):
    WRITTEN = "written"
    NEWER_IS_THERE = "newer_is_there"  #: The index holds this version or a newer one; nothing was changed.
    REFUSED = "refused"  #: For good; the reason names the field.
    TRY_AGAIN = "try_again"  #: This item alone did not get through.


@dataclass(frozen=True, slots=True)
class WriteResult:
    entry_id: str
    outcome: Outcome
    reason: str = ""

    @property
    def is_done(self) -> bool:
        """Whether the index says now what the change says, or something newer."""
        return self.outcome in (Outcome.WRITTEN, Outcome.NEWER_IS_THERE)


@dataclass(frozen=True, slots=True)
class Facets:
    """Counts of current entries by value (the 100 most frequent), a mapping a wanted name."""

    counts: Mapping[str, Mapping[str, int]]
    slots_with_candidates: int  #: slots whose matching candidates the counts leave out


@dataclass(frozen=True, slots=True)
class Page:
    """Hits newest first; `cursor` leads on to the next page and is None at the end."""

    hits: tuple[Entry, ...]
    cursor: str | None
    total: int  #: exact, of the whole query
    facets: Facets | None = None  #: of the whole query, where they were asked for


class TagIndex(Protocol):
    """Every call raises IndexUnavailable when the index does not answer; nothing crosses tenants."""

    def put(self, changes: Sequence[Change]) -> tuple[WriteResult, ...]:
        """Write in one bulk; one result a change, in order. What is reported written can be found at once.

        A change wins only with a version higher than the entry's own, so repeats, late and concurrent
        writes are harmless. One refused item refuses no other.
        """
        ...

    def get(self, tenant: str, entry_ids: Sequence[str]) -> Mapping[str, Entry]:
        """The entries that are there by id; tombstones and strangers are absent."""
        ...

    def search(
        self,
        tenant: str,
        query: Query,
        *,
        standings: frozenset[Standing] = BOTH_STANDINGS,
        limit: int = 50,
        after: str | None = None,
        facets: Sequence[str] = (),
    ) -> Page:
        """One page of what matches every part of *query*; IndexRefused for a cursor or a token that is none.

        Paging is stable beyond any depth: what was there all the time is seen exactly once. *facets* are
        names of fields (`FIELDS`) or free tags to count by; page and *standings* do not narrow the counts.
        """
        ...

    def require_writable(self) -> None:
        """Raises IndexUnavailable when it would take no change now; nothing is written."""
        ...


#: Fields of an entry that a facet may count by.
FIELDS = ("campaign", "locale", "asset_type", "visibility", "retention_class")


def change_problem(change: Change) -> str | None:
    """Why no index takes *change*, naming the field; None for a good one."""
    if not 1 <= len(change.entry_id.encode()) <= MAX_ENTRY_ID_BYTES:
        return f"entry_id is not 1 to {MAX_ENTRY_ID_BYTES} bytes long"
    if not 1 <= len(change.tenant.encode()) <= MAX_TENANT_BYTES:
        return f"tenant is not 1 to {MAX_TENANT_BYTES} bytes long"
    if not 1 <= change.version < 2**63:
        return "version is below 1, or above what any index holds"
    return None if isinstance(change, Tombstone) else _entry_problem(change)


def _entry_problem(entry: Entry) -> str | None:
    missing = missing_required({name: getattr(entry, name) for name in ("tenant", *FIELDS)})
    if missing:
        return f"{', '.join(missing)} missing"
    for name in (*FIELDS, "rendition_id", "object_id", "slot"):
        if len(getattr(entry, name)) > MAX_FIELD_CHARACTERS:
            return f"{name} is longer than {MAX_FIELD_CHARACTERS} characters"
    for name, values in entry.tags.items():
        problem = tag_name_problem(name) or next(filter(None, map(_tag_problem, values)), None)
        if problem:
            return f"tag {name} {problem}"
    return text_problem(entry.text)


def query_problem(query: Query) -> str | None:
    """Why no index looks for *query*; None when every one does."""
    if len(query.text) > MAX_QUERY_TOKENS or len(query.tags) > MAX_QUERY_TAGS:
        return f"more than {MAX_QUERY_TOKENS} words or {MAX_QUERY_TAGS} tags are asked for"
    return text_problem(query.text)


def text_problem(text: tuple[str, ...]) -> str | None:
    """Why *text* is not made of ready tokens; None when it is."""
    if len(text) > MAX_TOKENS:
        return f"text has more than {MAX_TOKENS} tokens"
    unready = next((token for token in text if not _is_ready(token)), None)
    return None if unready is None else f"text holds {unready[:20]!r}, which is no ready token"


#: Campaigns say the same words again and again, and looking at each character costs more than sending it.
_REMEMBERED = 2**15
_tag_problem = functools.lru_cache(_REMEMBERED)(tag_problem)


@functools.lru_cache(_REMEMBERED)
def _is_ready(token: str) -> bool:
    return tokens(token) == (token,)
