"""A server that is down, killed, full, slow or laid out otherwise: named, nothing lost, caught up later."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from opensearchpy import OpenSearch, exceptions

from pipeline.domain.errors import IndexMismatch, IndexRefused, IndexUnavailable
from pipeline.domain.tags import Query, query
from resources.tag_index.opensearch import OpenSearchTagIndex, client
from resources.tag_index.opensearch_errors import MEANINGS
from resources.tag_index.opensearch_layout import PROPERTIES, new_index
from resources.tag_index.opensearch_rebuild import IndexRebuild
from resources.tag_index.protocol import Entry, Outcome, TagIndex, Tombstone, WriteResult
from tests.contracts.tag_index import NORTHWIND, entry, found, outcomes
from tests.services.opensearch.server import Server
from tests.services.relay import Relay

BLOCK = "index.blocks.read_only_allow_delete"


def every_call(index: TagIndex) -> Iterator[Any]:
    yield lambda: index.put([entry("1")])
    yield lambda: index.get(NORTHWIND, [entry("1").entry_id])
    yield lambda: index.search(NORTHWIND, Query())
    yield index.require_writable
    yield lambda: index.search(NORTHWIND, Query(), facets=["locale"])


def named(index: TagIndex) -> set[str]:
    """What every call says of its trouble."""
    said = set()
    for call in every_call(index):
        with pytest.raises(IndexUnavailable) as trouble:
            call()
        said.add(str(trouble.value))
        assert trouble.value.remedy
    return said


def test_a_server_that_is_down_is_named_and_used_again_when_it_is_back(
    opensearch: Server, index: OpenSearchTagIndex
) -> None:
    index.put([entry("1")])
    opensearch.stop()
    try:
        assert all("is not reached" in said for said in named(index))
        opened = OpenSearchTagIndex.opened(opensearch.url, "", "", "tags")
    finally:
        opensearch.start()

    assert index.put([entry("2")])[0].outcome is Outcome.WRITTEN
    assert found(index, Query()) == {"1", "2"}
    with pytest.raises(IndexMismatch, match="no alias tags"):
        opened.search(NORTHWIND, Query())


def test_a_server_killed_in_the_middle_of_a_bulk_loses_nothing_that_it_reported(
    opensearch: Server, index: OpenSearchTagIndex
) -> None:
    told = [entry(str(n), created_at=n) for n in range(4_000)]
    reported: list[WriteResult] = []
    cut = threading.Event()

    def tell() -> None:
        for start in range(0, len(told), 200):
            try:
                reported.extend(index.put(told[start : start + 200]))
            except IndexUnavailable:
                cut.set()
                return

    thread = threading.Thread(target=tell)
    thread.start()
    while len(reported) < 600:
        time.sleep(0.01)
    opensearch.kill()
    thread.join()
    opensearch.start()

    assert cut.is_set()
    done = [result.entry_id for result in reported if result.is_done]
    assert len(index.get(NORTHWIND, done)) == len(done)
    again = index.put(told)
    assert all(result.is_done for result in again)
    assert index.search(NORTHWIND, Query()).total == len(told)


@pytest.mark.parametrize("spoilt", [{"lose_answer": True}, {"cut_answer_at": 20}, {"cut_request_at": 400}])
def test_a_bulk_whose_answer_is_lost_is_told_again_and_done_once(
    opensearch: Server, alias: str, index: OpenSearchTagIndex, spoilt: Any
) -> None:
    relay = Relay(("127.0.0.1", opensearch.port))
    through = OpenSearchTagIndex(client(relay.endpoint), alias)
    bulk = [entry(str(n)) for n in range(20)]
    through.check()
    relay.order(f"POST /{alias}/_bulk", times=3, **spoilt)
    unheard, reported = 0, tuple[WriteResult, ...]()
    try:
        while not reported:
            try:
                reported = through.put(bulk)
            except IndexUnavailable:
                unheard += 1
    finally:
        relay.close()

    assert unheard in (1, 3)  # a lost connection is tried again at once, an answer that breaks off is not
    assert all(result.is_done for result in reported)
    assert found(index, Query()) == {str(n) for n in range(20)}


def test_a_full_disk_takes_nothing_names_why_and_is_searched_on(
    bare: OpenSearch, alias: str, index: OpenSearchTagIndex
) -> None:
    live = entry("1")
    index.put([live])
    bare.indices.put_settings(index=alias, body={BLOCK: True})

    results = index.put([entry("2"), replace(live, version=2), Tombstone(live.entry_id, NORTHWIND, 3)])

    with pytest.raises(IndexUnavailable, match="is read-only") as full:
        index.require_writable()
    assert BLOCK in full.value.remedy
    assert outcomes(results) == [Outcome.TRY_AGAIN] * 3
    assert all("read-only" in result.reason for result in results)
    assert found(index, Query()) == {"1"}
    assert index.get(NORTHWIND, [live.entry_id]) == {live.entry_id: live}
    bare.indices.put_settings(index=alias, body={BLOCK: None})
    assert outcomes(index.put([entry("2"), Tombstone(live.entry_id, NORTHWIND, 3)])) == [Outcome.WRITTEN] * 2
    assert found(index, Query()) == {"2"}


@contextmanager
def mapped_otherwise(bare: OpenSearch, alias: str, **fields: Any) -> Iterator[None]:
    """Somebody points the alias at an index of another mapping, behind a running process's back."""
    body = new_index({})
    body["mappings"]["properties"] |= fields
    name = f"{alias}-otherwise"
    bare.indices.create(index=name, body=body)
    live = f"{alias}-000001"
    to, back = {"index": name, "alias": alias}, {"index": live, "alias": alias}
    bare.indices.update_aliases(body={"actions": [{"remove": back}, {"add": to}]})
    yield
    bare.indices.update_aliases(body={"actions": [{"remove": to}, {"add": back}]})


def test_a_conflict_with_the_mapping_stops_its_items_alone_and_they_are_written_later(
    bare: OpenSearch, alias: str, index: OpenSearchTagIndex
) -> None:
    index.check()
    bulk = [entry("1", campaign="7"), entry("2"), Tombstone("e-3", NORTHWIND, 1)]

    with mapped_otherwise(bare, alias, campaign={"type": "integer"}):
        partly = index.put(bulk)
        with pytest.raises(IndexMismatch, match="other fields than this release writes: campaign"):
            OpenSearchTagIndex(bare, alias).check()

    assert outcomes(partly) == [Outcome.WRITTEN, Outcome.TRY_AGAIN, Outcome.WRITTEN]
    assert "campaign" in partly[1].reason
    assert outcomes(index.put(bulk)) == [Outcome.WRITTEN] * 3


def _other_dynamic(body: dict[str, Any]) -> None:
    body["mappings"]["dynamic"] = "true"


def _cut_keyword(body: dict[str, Any]) -> None:
    body["mappings"]["properties"]["tag"] = {"type": "keyword", "ignore_above": 256}


def _free_routing(body: dict[str, Any]) -> None:
    del body["mappings"]["_routing"]


def _other_layout(body: dict[str, Any]) -> None:
    body["mappings"]["_meta"]["layout"] = 99


def _missing_field(body: dict[str, Any]) -> None:
    del body["mappings"]["properties"]["standing"]


def _filtered_alias(body: dict[str, Any]) -> None:
    body["aliases"] = {name: {"filter": {"term": {"tenant": NORTHWIND}}} for name in body["aliases"]}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_other_dynamic, "dynamic"),
        (_cut_keyword, "other fields.*tag"),
        (_free_routing, "_routing"),
        (_other_layout, "layout 99"),
        (_missing_field, "other fields.*standing"),
        (_filtered_alias, "filters or routes"),
    ],
)
def test_what_is_laid_out_otherwise_is_refused_by_name_until_it_is_rebuilt(
    bare: OpenSearch, alias: str, change: Any, said: str
) -> None:
    name = f"{alias}-other"
    body = {**new_index({}), "aliases": {name: {}}}
    change(body)
    bare.indices.create(index=f"{name}-000001", body=body)
    index = OpenSearchTagIndex(bare, name)

    with pytest.raises(IndexMismatch, match=said) as refused:
        index.check()
    assert "reelwright rebuild" in refused.value.remedy
    with pytest.raises(IndexMismatch):
        index.put([entry("1")])
    rebuild = IndexRebuild(bare, name)
    rebuild.begin()
    rebuild.swap()

    index.check()


def test_an_alias_of_two_indices_is_refused(bare: OpenSearch, alias: str, index: OpenSearchTagIndex) -> None:
    bare.indices.create(index=f"{alias}-more", body={"aliases": {alias: {}}})

    with pytest.raises(IndexMismatch, match="leads to 2 indices"):
        index.check()


def test_a_server_that_hangs_is_given_up_in_time(opensearch: Server, index: OpenSearchTagIndex) -> None:
    index.put([entry("1")])
    impatient = OpenSearchTagIndex(client(opensearch.url, timeout=0.5), index._alias)
    impatient.check()

    with opensearch.hanging():
        began = time.monotonic()
        assert all("did not answer in time" in said for said in named(impatient))
        assert time.monotonic() - began < 10

    assert found(impatient, Query()) == {"1"}


def test_a_tombstone_outlives_what_the_server_forgets(
    bare: OpenSearch, alias: str, index: OpenSearchTagIndex
) -> None:
    """A deleted document's version is forgotten after a minute; here at once."""
    bare.indices.put_settings(index=alias, body={"index.gc_deletes": "0ms"})
    live = entry("1", version=3)
    index.put([live])
    index.put([Tombstone(live.entry_id, NORTHWIND, 4)])
    bare.indices.forcemerge(index=alias, params={"max_num_segments": 1})

    assert outcomes(index.put([live])) == [Outcome.NEWER_IS_THERE]
    assert found(index, Query()) == set()


def test_the_mapping_has_as_many_fields_as_before(bare: OpenSearch, index: OpenSearchTagIndex) -> None:
    index.put([entry(str(n), tags={f"tag_{n}": ("v",)}) for n in range(50)])

    mapped = next(iter(bare.indices.get_mapping(index=index._alias).values()))["mappings"]
    assert mapped["properties"] == dict(PROPERTIES)


def test_a_listing_is_the_same_from_its_second_page_on_and_outlives_the_servers_memory(
    bare: OpenSearch, index: OpenSearchTagIndex
) -> None:
    index.put([entry(str(n), created_at=n) for n in range(12)])
    first = index.search(NORTHWIND, Query(), limit=3)
    second = index.search(NORTHWIND, Query(), limit=3, after=first.cursor)

    index.put([Tombstone(entry("5").entry_id, NORTHWIND, 2), entry("new", created_at=4)])
    third = index.search(NORTHWIND, Query(), limit=3, after=second.cursor)
    bare.delete_all_pits()
    now = index.search(NORTHWIND, Query(), limit=3, after=second.cursor)

    assert ([hit.rendition_id for hit in third.hits], third.total) == (["5", "4", "3"], 12)
    assert [hit.created_at for hit in now.hits] == [4, 4, 3]


def test_a_listing_leaves_no_point_in_time_behind(bare: OpenSearch, index: OpenSearchTagIndex) -> None:
    bare.delete_all_pits()
    index.put([entry(str(n), created_at=n) for n in range(6)])
    cursor = index.search(NORTHWIND, Query(), limit=2).cursor
    while cursor is not None:
        cursor = index.search(NORTHWIND, Query(), limit=2, after=cursor).cursor

    assert bare.get_all_pits()["pits"] == []


class _Answers(BaseHTTPRequestHandler):
    status, kind, body = HTTPStatus.OK, "text/html", b"<html>proxy</html>"

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.send_response(self.status)
        self.send_header("content-type", self.kind)
        self.send_header("content-length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    do_GET = do_POST = do_HEAD = do_PUT = _answer  # noqa: N815

    def log_message(self, *_: Any) -> None: ...


@contextmanager
def answering(**how: Any) -> Iterator[str]:
    """A server that is no OpenSearch, or one in front of it that lets nobody through."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Answers", (_Answers,), how))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({}, "no answer that can be read"),
        ({"kind": "application/json", "body": b"{"}, "no answer that can be read"),
        ({"kind": "text/plain", "body": b"hello"}, "no answer that can be read"),
        ({"kind": "application/json", "body": b"[]"}, "no answer that can be read"),
        ({"status": HTTPStatus.UNAUTHORIZED}, "does not know the account"),
        ({"status": HTTPStatus.FORBIDDEN}, "does not let the account"),
        ({"status": HTTPStatus.BAD_GATEWAY}, "answered with an error"),
        ({"status": HTTPStatus.TOO_MANY_REQUESTS}, "answered with an error"),
    ],
)  # fmt: skip
def test_an_answer_that_is_none_is_named(how: Any, said: str) -> None:
    with answering(**how) as url:
        index = OpenSearchTagIndex.opened(url, "ada", "s3cret", "tags")
        for call in every_call(index):
            with pytest.raises(IndexUnavailable, match=said) as trouble:
                call()
            assert "s3cret" not in str(trouble.value)


def test_every_error_of_the_client_has_a_meaning() -> None:
    """A new class of the client's would otherwise fall into the last line unseen."""
    known = {kind for kind in MEANINGS if kind is not Exception}
    raised = {
        kind
        for kind in vars(exceptions).values()
        if isinstance(kind, type) and issubclass(kind, exceptions.TransportError)
    }

    assert raised - known == {exceptions.ConflictError, exceptions.RequestError}


def test_a_question_that_the_server_cannot_read_is_the_questions_fault(index: OpenSearchTagIndex) -> None:
    with pytest.raises(IndexRefused, match="does not take the question"):
        index.search(NORTHWIND, query(campaign="\udcff"))


def test_a_bulk_above_what_servers_take_goes_in_several(index: OpenSearchTagIndex) -> None:
    def wordy(n: int) -> Entry:
        return entry(str(n), text=tuple(f"w{n}x{word:055d}" for word in range(2_000)))

    results = index.put([wordy(n) for n in range(80)])

    assert set(outcomes(results)) == {Outcome.WRITTEN}
    assert index.search(NORTHWIND, Query()).total == 80
