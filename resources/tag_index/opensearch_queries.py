"""What OpenSearch is asked, as data: conditions, pages, facets, and the cursor between two pages.

Belongs here: bodies and what their answers mean. Does not belong here: the mapping (`opensearch_layout`) or
calls.

Every condition is a filter (nothing is scored), and the tenant is always the first.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.domain.errors import IndexRefused
from pipeline.domain.tags import Query, exact, tag_name_problem
from resources.tag_index.opensearch_layout import JOINS
from resources.tag_index.protocol import (
    BOTH_STANDINGS,
    FIELDS,
    MAX_FACET_VALUES,
    Facets,
    Standing,
    query_problem,
)

#: Slots are counted exactly up to about this many; the server allows no more.
COUNTED_SLOTS = 40_000
_NEWEST_FIRST = ({"created_at": "desc"}, {"entry_id": "asc"})
_CURRENT, _CANDIDATES, _SLOTS = "current", "candidates", "slots"
_LONG = 2**63


@dataclass(frozen=True, slots=True)
class Cursor:
    """The last hit of a page, and the point in time that the listing looks at, while the server holds it."""

    created_at: int
    entry_id: str
    point_in_time: str = ""

    def __str__(self) -> str:
        held = [self.created_at, self.entry_id, self.point_in_time]
        return base64.urlsafe_b64encode(json.dumps(held).encode()).decode()

    @classmethod
    def read(cls, text: str) -> Cursor:
        try:
            created_at, entry_id, *rest = json.loads(base64.b64decode(text, altchars=b"-_", validate=True))
            return cls(int(created_at) % _LONG, str(entry_id), *map(str, rest[:1]))
        except (ValueError, TypeError, OverflowError) as error:
            raise IndexRefused("cursor is not one that a search gave") from error


def conditions(tenant: str, query: Query) -> list[dict[str, Any]]:
    """Every condition but the standing; raises IndexRefused for a query that is none."""
    problem = query_problem(query)
    if problem:
        raise IndexRefused(problem)
    fields = {"campaign": query.campaign, "locale": query.locale, "asset_type": query.asset_type}
    terms = [("tenant", tenant), *((name, value) for name, value in fields.items() if value is not None)]
    terms += [
        ("tag", f"{name}{JOINS}{exact(value)}") if name else ("tag_value", exact(value))
        for name, value in query.tags
    ]
    terms += [("text", token) for token in query.text]
    wanted: list[dict[str, Any]] = [{"term": {name: value}} for name, value in terms]
    if query.visibility is not None:
        wanted.append({"terms": {"visibility": sorted(query.visibility)}})
    return wanted


def page_body(
    tenant: str,
    query: Query,
    standings: Collection[Standing],
    size: int,
    after: Cursor | None,
    facets: Sequence[str] = (),
) -> dict[str, Any]:
    """Facets count over the query; where its page shows less of it, the rest is left out after counting."""
    wanted, standing = conditions(tenant, query), {"terms": {"standing": sorted(standings)}}
    body: dict[str, Any] = {
        "sort": list(_NEWEST_FIRST),
        "size": size,
        "track_total_hits": True,  # else 10,000 stands for anything above
    }
    if facets and standings != BOTH_STANDINGS:
        body["post_filter"] = standing
    else:
        wanted.append(standing)
    if facets:
        body["aggs"] = _aggregations(facets)
    if after:
        body["search_after"] = [after.created_at, after.entry_id]
    return body | {"query": {"bool": {"filter": wanted}}}


def _aggregations(names: Sequence[str]) -> dict[str, Any]:
    counted = {name: _counted(name) for name in names if name in FIELDS or tag_name_problem(name) is None}
    slots = {"cardinality": {"field": "slot", "precision_threshold": COUNTED_SLOTS}}
    return {
        _CURRENT: {"filter": {"term": {"standing": Standing.CURRENT}}, "aggs": counted},
        _CANDIDATES: {"filter": {"term": {"standing": Standing.CANDIDATE}}, "aggs": {_SLOTS: slots}},
    }


def _counted(name: str) -> dict[str, Any]:
    """Counts by value: most frequent first, then by value. Names hold nothing that a pattern could mean."""
    order = [{"_count": "desc"}, {"_key": "asc"}]
    field = {"field": name} if name in FIELDS else {"field": "tag", "include": f"{name}{JOINS}.*"}
    return {"terms": {**field, "size": MAX_FACET_VALUES, "order": order}}


def facets(answer: Mapping[str, Any], names: Sequence[str]) -> Facets:
    found = answer["aggregations"]
    counts = {name: _counts(name, found[_CURRENT].get(name, {})) for name in names}
    return Facets(counts, found[_CANDIDATES][_SLOTS]["value"])


def _counts(name: str, terms: Mapping[str, Any]) -> dict[str, int]:
    cut = 0 if name in FIELDS else len(name) + len(JOINS)
    return {bucket["key"][cut:]: bucket["doc_count"] for bucket in terms.get("buckets", ())}
