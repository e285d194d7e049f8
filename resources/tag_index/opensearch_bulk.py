"""Bulks for OpenSearch: changes as lines, sent in one request, one result an item.

Belongs here: how changes are written, to one index or to two. Does not belong here: which are (callers).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any, NamedTuple

from opensearchpy import OpenSearch

from resources.tag_index.opensearch_errors import write_result
from resources.tag_index.opensearch_layout import document, document_id
from resources.tag_index.protocol import Change, Outcome, WriteResult, change_problem

#: Servers refuse requests above 100 MB; a character has four bytes at most.
MAX_BULK_CHARACTERS = 8 * 2**20
#: What is read of an answer.
_ITEMS = "items.*.status,items.*.error.type,items.*.error.reason"
_encoded = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


Write = Callable[["Bulk"], list[WriteResult]]


class Bulk(NamedTuple):
    entry_ids: Sequence[str]
    lines: str


def written(changes: Sequence[Change], write: Write) -> list[WriteResult]:
    """Results in order: those that no index takes are refused here, as one could refuse a whole request."""
    results = [
        None if problem is None else WriteResult(change.entry_id, Outcome.REFUSED, problem)
        for change, problem in ((change, change_problem(change)) for change in changes)
    ]
    good = [change for change, refused in zip(changes, results, strict=True) if refused is None]
    taken = iter([result for bulk in bulks(good) for result in write(bulk)])
    return [next(taken) if refused is None else refused for refused in results]


def bulks(changes: Sequence[Change]) -> Iterator[Bulk]:
    """*changes* in order, in as few requests as servers take."""
    ids: list[str] = []
    lines: list[str] = []
    size = 0
    for change in changes:
        line = _lines(change)
        if lines and size + len(line) > MAX_BULK_CHARACTERS:
            yield Bulk(ids, "".join(lines))
            ids, lines, size = [], [], 0
        ids.append(change.entry_id)
        lines.append(line)
        size += len(line)
    if lines:
        yield Bulk(ids, "".join(lines))


def _lines(change: Change) -> str:
    """`external`: only a version above the document's own wins."""
    action = {
        "_id": document_id(change.tenant, change.entry_id),
        "routing": change.tenant,
        "version": change.version,
        "version_type": "external",
    }
    return f"{_encoded({'index': action})}\n{_encoded(document(change))}\n"


def write(client: OpenSearch, alias: str, bulk: Bulk, *, is_shown: bool = True) -> list[WriteResult]:
    """Results in order; with *is_shown* what is written can be found when this returns."""
    items = _sent(client, alias, bulk, is_shown=is_shown)
    return [write_result(entry_id, item) for entry_id, item in zip(bulk.entry_ids, items, strict=True)]


def write_beside(client: OpenSearch, filling: str, alias: str, bulk: Bulk) -> list[WriteResult]:
    """To the index that is being filled, then to the live one: an item is done when both have it.

    Where the first is gone meanwhile it has become the live one, or was given up: then the live one decides.
    """
    first = _sent(client, filling, bulk, is_shown=True)
    live = write(client, alias, bulk)
    beside = [write_result(entry_id, item) for entry_id, item in zip(bulk.entry_ids, first, strict=True)]
    return [
        result if other.is_done or item["status"] == HTTPStatus.NOT_FOUND else other
        for result, other, item in zip(live, beside, first, strict=True)
    ]


def _sent(client: OpenSearch, alias: str, bulk: Bulk, *, is_shown: bool) -> list[Mapping[str, Any]]:
    """The items' answers. A missing alias is no index to make up: `require_alias`."""
    how = {"refresh": "wait_for"} if is_shown else {}
    answer = client.bulk(body=bulk.lines, index=alias, require_alias=True, filter_path=_ITEMS, **how)
    return [item["index"] for item in answer["items"]]
