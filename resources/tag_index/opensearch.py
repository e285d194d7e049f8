"""The tag index in OpenSearch: one alias, an index of the stated layout behind it, the tenant as routing.

Belongs here: the calls. Does not belong here: the layout, the questions and the errors (modules beside), or
how another index takes this one's place (`opensearch_rebuild`).

While another index is filled beside the live one, writers write to both, to the new one first: whoever looked
before it was there had committed what it writes, so that the filling reads it from the database.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from typing import Any

from opensearchpy import OpenSearch
from opensearchpy.exceptions import OpenSearchException, TransportError

from pipeline.domain.errors import IndexMismatch, IndexUnavailable
from pipeline.domain.tags import Query
from resources.tag_index import opensearch_layout as layout
from resources.tag_index import opensearch_queries as queries
from resources.tag_index.opensearch_bulk import Write, write, write_beside, written
from resources.tag_index.opensearch_errors import named_refusal, named_trouble, read_only
from resources.tag_index.protocol import (
    BOTH_STANDINGS,
    MAX_PAGE,
    Change,
    Entry,
    Page,
    Standing,
    WriteResult,
)

TIMEOUT_SECONDS = 30.0
CONNECTIONS = 8  #: of one process, kept open
#: How long the server remembers where a listing stands, from page to page.
KEEPS_POINT_IN_TIME = "2m"
#: A shard that does not answer is trouble, not a shorter list.
_WHOLE = {"allow_partial_search_results": "false"}


def filling(alias: str) -> str:
    """The alias of the index that is being filled beside the live one."""
    return f"{alias}-next"


def client(url: str, user: str = "", password: str = "", *, timeout: float = TIMEOUT_SECONDS) -> OpenSearch:
    """One node or load balancer. A lost connection is tried again, as every call may be; a slow one not."""
    account = (user, password) if user else None
    return OpenSearch(
        [url],
        http_auth=account,
        timeout=timeout,
        max_retries=1,
        retry_on_timeout=False,
        pool_maxsize=CONNECTIONS,
    )


def described(client: OpenSearch, alias: str) -> Mapping[str, Any]:
    """What stands behind *alias*, index by index; empty when nothing does."""
    found = client.indices.get(index=alias, ignore_unavailable=True)
    if not isinstance(found, dict):
        raise TypeError(f"indices are described by {type(found).__name__}")
    return found


class OpenSearchTagIndex:
    """TagIndex behind *alias*. The layout is checked before the first call that gets an answer."""

    def __init__(self, client: OpenSearch, alias: str) -> None:
        self._client = client
        self._alias = alias
        self._is_checked = False

    @classmethod
    def opened(cls, server: str, user: str, password: str, alias: str) -> OpenSearchTagIndex:
        """Checked at once, so that no work begins on a wrong one.

        A server that does not answer stops nothing: what needs it waits, and is checked before it is asked.
        """
        index = cls(client(server, user, password), alias)
        try:
            index.check()
        except IndexMismatch:
            raise
        except IndexUnavailable:
            pass
        return index

    def check(self) -> None:
        """Raises IndexMismatch for an index or alias that is not as this release writes it."""
        with named_trouble():
            found = described(self._client, self._alias)
        layout.require_layout(self._alias, found)
        self._is_checked = True

    def put(self, changes: Sequence[Change]) -> tuple[WriteResult, ...]:
        if not changes:
            return ()
        self._ready()
        with named_trouble():
            return tuple(written(changes, self._writer()))

    def _writer(self) -> Write:
        """To the live index, and to the one that is being filled beside it."""
        beside = filling(self._alias)
        if self._client.indices.exists_alias(name=beside):
            return partial(write_beside, self._client, beside, self._alias)
        return partial(write, self._client, self._alias)

    def get(self, tenant: str, entry_ids: Sequence[str]) -> Mapping[str, Entry]:
        """As searches see them: an entry that is written and not visible yet is absent."""
        if not entry_ids:
            return {}
        self._ready()
        wanted = [
            {"_id": layout.document_id(tenant, entry_id), "routing": tenant}
            for entry_id in dict.fromkeys(entry_ids)
        ]
        with named_trouble():
            found = self._client.mget(body={"docs": wanted}, index=self._alias, realtime=False)["docs"]
            trouble = next((one["error"] for one in found if "error" in one), None)
            if trouble:
                raise IndexUnavailable(f"the tag index did not read everything: {trouble.get('reason')}")
            sources = [one["_source"] for one in found if one["found"]]
            live = [layout.entry(source) for source in sources if source["standing"] != layout.TOMBSTONE]
        return {entry.entry_id: entry for entry in live}

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
        size = max(1, min(limit, MAX_PAGE))
        cursor = None if after is None else queries.Cursor.read(after)
        body = queries.page_body(tenant, query, standings, size + 1, cursor, facets)
        self._ready()
        with named_trouble(), named_refusal():
            answer = self._ask(tenant, body) if cursor is None else self._ask_on(tenant, body, cursor)
            found = [layout.entry(hit["_source"]) for hit in answer["hits"]["hits"]]
            point, total = answer.get("pit_id", ""), answer["hits"]["total"]["value"]
            counted = queries.facets(answer, facets) if facets else None
        if len(found) <= size:
            self._forget(point)
            return Page(tuple(found), None, total, counted)
        last = found[size - 1]
        onward = str(queries.Cursor(last.created_at, last.entry_id, point))
        return Page(tuple(found[:size]), onward, total, counted)

    def require_writable(self) -> None:
        with named_trouble():
            found = described(self._client, self._alias)
        layout.require_layout(self._alias, found)
        blocks = layout.write_blocks(found)
        if blocks:
            raise read_only(", ".join(blocks))

    def _ready(self) -> None:
        if not self._is_checked:
            self.check()

    def _ask(self, tenant: str, body: Mapping[str, Any]) -> Any:
        return self._client.search(body=body, index=self._alias, params={"routing": tenant, **_WHOLE})

    def _ask_on(self, tenant: str, body: Mapping[str, Any], cursor: queries.Cursor) -> Any:
        """The listing as it was when its second page was asked for. Where the server holds that no longer,
        it goes on behind the same hit, as it is now."""
        if cursor.point_in_time:
            try:
                return self._ask_at(body, cursor.point_in_time)
            except TransportError as error:
                if not isinstance(error.status_code, int):
                    raise
        try:
            return self._ask_at(body, self._point_in_time(tenant))
        except TransportError as error:
            if error.status_code != HTTPStatus.TOO_MANY_REQUESTS:
                raise
            return self._ask(tenant, body)  # it holds as many points in time as it may

    def _ask_at(self, body: Mapping[str, Any], point_in_time: str) -> Any:
        point = {"id": point_in_time, "keep_alive": KEEPS_POINT_IN_TIME}
        return self._client.search(body={**body, "pit": point}, params=_WHOLE)

    def _point_in_time(self, tenant: str) -> str:
        how = {"keep_alive": KEEPS_POINT_IN_TIME, "routing": tenant, "allow_partial_pit_creation": "false"}
        return str(self._client.create_pit(index=self._alias, params=how)["pit_id"])

    def _forget(self, point_in_time: str) -> None:
        """The server forgets by itself, later."""
        if point_in_time:
            with suppress(OpenSearchException):
                self._client.delete_pit(body={"pit_id": [point_in_time]})
