"""How OpenSearch holds entries: mapping, settings, documents, and whether an index is laid out like that.

Belongs here: everything about the shape of one index, as data. Does not belong here: questions
(`opensearch_queries`) or calls.

Nothing is analysed or guessed: tokens come ready, each is one word to the whitespace analyser; a field that
is not named here is refused; no keyword is cut or left out. A tombstone is a document without fields: a
deleted document's version is forgotten after `index.gc_deletes` (60 s), and a late write would bring it back.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from pipeline.domain.errors import IndexMismatch
from pipeline.domain.tags import Visibility, exact
from resources.tag_index.protocol import FIELDS, Change, Entry, Standing, Tombstone

#: Rises when PROPERTIES or the meaning of a field changes; an index of another layout is rebuilt.
LAYOUT = 1
TOMBSTONE = "tombstone"
#: Between the name and the value of a free tag; names never hold it.
JOINS = "="

_KEYWORD = {"type": "keyword"}
_KEPT = {"type": "keyword", "index": False, "doc_values": False}
_NUMBER_KEPT = {"type": "long", "index": False, "doc_values": False}

PROPERTIES: Mapping[str, Any] = MappingProxyType(
    {
        "tenant": _KEYWORD,
        "entry_id": _KEYWORD,
        "rendition": _KEPT,
        "object": _KEPT,
        "slot": _KEYWORD,
        **dict.fromkeys(FIELDS, _KEYWORD),
        "standing": _KEYWORD,
        "version": _NUMBER_KEPT,
        "created_at": {"type": "long"},
        "tags": {"type": "object", "enabled": False},  # as written: kept, never a field of its own
        "tag": _KEYWORD,  # name=value, exact
        "tag_value": _KEYWORD,  # value, exact, of any name
        "text": {"type": "text", "analyzer": "whitespace", "index_options": "docs", "norms": False},
    }
)

#: An entry is always looked for in its tenant's shard, so that counts are exact.
MAPPING: Mapping[str, Any] = MappingProxyType(
    {"dynamic": "strict", "_routing": {"required": True}, "properties": dict(PROPERTIES)}
)

#: Stated, because an index without a stated interval stops refreshing while nobody searches.
SETTINGS: Mapping[str, Any] = MappingProxyType(
    {"number_of_shards": 3, "auto_expand_replicas": "0-1", "refresh_interval": "1s"}
)


#: Campaigns have the same tags again and again.
_exact = lru_cache(2**15)(exact)


def new_index(meta: Mapping[str, Any]) -> dict[str, Any]:
    """The body that creates an index of this layout; the caller's own."""
    mappings = {**deepcopy(dict(MAPPING)), "_meta": {"layout": LAYOUT, **meta}}
    return {"settings": {"index": dict(SETTINGS)}, "mappings": mappings}


def document_id(tenant: str, entry_id: str) -> str:
    """Entries of two tenants may share an id, and a shard."""
    return f"{tenant}/{entry_id}"


def document(change: Change) -> dict[str, Any]:
    held = {"tenant": change.tenant, "entry_id": change.entry_id, "version": change.version}
    if isinstance(change, Tombstone):
        return {**held, "standing": TOMBSTONE}
    pairs = {(name, _exact(value)) for name, values in change.tags.items() for value in values}
    return {
        **held,
        "rendition": change.rendition_id,
        "object": change.object_id,
        "campaign": change.campaign,
        "slot": change.slot,
        "locale": change.locale,
        "asset_type": change.asset_type,
        "visibility": change.visibility,
        "retention_class": change.retention_class,
        "standing": change.standing,
        "created_at": change.created_at,
        "tags": change.tags,
        "tag": [f"{name}{JOINS}{value}" for name, value in pairs],
        "tag_value": list({value for _, value in pairs}),
        "text": change.text,
    }


def entry(source: Mapping[str, Any]) -> Entry:
    """The entry that a document was made of."""
    return Entry(
        entry_id=source["entry_id"],
        tenant=source["tenant"],
        rendition_id=source["rendition"],
        object_id=source["object"],
        campaign=source["campaign"],
        slot=source["slot"],
        locale=source["locale"],
        asset_type=source["asset_type"],
        visibility=Visibility(source["visibility"]),
        retention_class=source["retention_class"],
        standing=Standing(source["standing"]),
        version=source["version"],
        created_at=source["created_at"],
        tags={name: tuple(values) for name, values in source["tags"].items()},
        text=tuple(source["text"]),
    )


def require_layout(alias: str, found: Mapping[str, Any]) -> None:
    """IndexMismatch unless *found*, what stands behind *alias* by name, is as this release writes it."""
    refuse_plain_index(alias, found)
    if not found:
        raise IndexMismatch(f"the tag index has no alias {alias}")
    if len(found) > 1:
        raise IndexMismatch(f"the alias {alias} leads to {len(found)} indices: {', '.join(sorted(found))}")
    ((name, described),) = found.items()
    if described["aliases"].get(alias):
        raise IndexMismatch(f"the alias {alias} filters or routes: {described['aliases'][alias]}")
    problem = _mapping_problem(described["mappings"])
    if problem:
        raise IndexMismatch(f"the index {name} behind {alias} {problem}")


def write_blocks(found: Mapping[str, Any]) -> list[str]:
    """What keeps the server from writing, as it puts `read_only_allow_delete` on when its disks run full."""
    on = [one["settings"]["index"].get("blocks", {}) for one in found.values()]
    return sorted(
        f"index.blocks.{name}" for blocks in on for name, value in blocks.items() if value == "true"
    )


def refuse_plain_index(alias: str, found: Mapping[str, Any]) -> None:
    """A rebuild would have to delete it, and nobody says that it is ours."""
    if alias in found:
        refused = IndexMismatch(f"{alias} is an index and no alias")
        refused.remedy = "name an alias that is free in REELWRIGHT_INDEX_URL"
        raise refused


def _mapping_problem(mapping: Mapping[str, Any]) -> str | None:
    layout = mapping.get("_meta", {}).get("layout")
    if layout != LAYOUT:
        return f"has layout {layout}, this release writes layout {LAYOUT}"
    for key in ("dynamic", "_routing"):
        if mapping.get(key) != MAPPING[key]:
            return f"has {key} {mapping.get(key)}, not {MAPPING[key]}"
    there = mapping.get("properties", {})
    wrong = sorted(field for field in {*there, *PROPERTIES} if there.get(field) != PROPERTIES.get(field))
    return f"maps other fields than this release writes: {', '.join(wrong)}" if wrong else None
