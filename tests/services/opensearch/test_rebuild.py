"""The index is rebuilt beside the live one: resumed, given up, swapped, with writers (T5)."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from opensearchpy import OpenSearch

from pipeline.domain.errors import IndexMismatch, IndexUnavailable
from pipeline.domain.tags import Query, query
from resources.tag_index.opensearch import OpenSearchTagIndex, filling
from resources.tag_index.opensearch_rebuild import IndexRebuild
from resources.tag_index.protocol import Change, Entry, Outcome, Tombstone
from tests.contracts.tag_index import NORTHWIND, entry, found, names


@pytest.fixture
def rebuild(bare: OpenSearch, alias: str) -> IndexRebuild:
    return IndexRebuild(bare, alias)


def indices(bare: OpenSearch, alias: str) -> set[str]:
    return set(bare.indices.get(index=f"{alias}-*"))


def test_the_new_index_takes_the_place_of_the_live_one(
    bare: OpenSearch, alias: str, index: OpenSearchTagIndex, rebuild: IndexRebuild
) -> None:
    index.put([entry("stray"), entry("1", say="old words")])

    assert rebuild.begin() == ""
    rebuild.fill([entry("1", version=2, say="new words"), Tombstone(entry("2").entry_id, NORTHWIND, 3)])
    assert found(index, Query()) == {"stray", "1"}
    rebuild.swap()

    assert found(index, Query()) == {"1"}
    assert found(index, query("new")) == {"1"}
    rebuild.drop_replaced()
    assert indices(bare, alias) == {f"{alias}-000002"}
    index.check()
    late = index.put([entry("2", version=2), entry("1", version=1)])
    assert {result.outcome for result in late} == {Outcome.NEWER_IS_THERE}


def test_what_is_given_up_leaves_nothing(
    bare: OpenSearch, alias: str, index: OpenSearchTagIndex, rebuild: IndexRebuild
) -> None:
    index.put([entry("1")])
    rebuild.begin()
    rebuild.fill([entry("2")])
    index.put([entry("3")])

    assert rebuild.abandon()
    assert not rebuild.abandon()
    assert indices(bare, alias) == {f"{alias}-000001"}
    assert found(index, Query()) == {"1", "3"}
    assert index.put([entry("4")])[0].outcome is Outcome.WRITTEN


def test_a_rebuild_goes_on_where_the_one_that_died_was(
    bare: OpenSearch, alias: str, index: OpenSearchTagIndex, rebuild: IndexRebuild
) -> None:
    rebuild.begin()
    rebuild.fill([entry("1")])
    rebuild.filled_to("e-1")

    another = IndexRebuild(bare, alias)
    assert another.begin() == "e-1"
    another.fill([entry("2")])
    another.swap()

    assert found(index, Query()) == {"1", "2"}
    with pytest.raises(IndexUnavailable, match="somebody else"):
        rebuild.swap()


def test_what_another_release_began_is_begun_anew(
    bare: OpenSearch, alias: str, index: OpenSearchTagIndex, rebuild: IndexRebuild
) -> None:
    older = {"mappings": {"_meta": {"layout": 0, "filled_to": "e-9"}}, "aliases": {filling(alias): {}}}
    bare.indices.create(index=f"{alias}-000007", body=older)

    assert rebuild.begin() == ""
    rebuild.swap()

    assert found(index, Query()) == set()
    index.check()


def test_without_an_alias_nothing_is_taken_until_a_rebuild_made_it(bare: OpenSearch, alias: str) -> None:
    name = f"{alias}-first"
    index, rebuild = OpenSearchTagIndex(bare, name), IndexRebuild(bare, name)

    with pytest.raises(IndexMismatch, match="no alias") as refused:
        index.put([entry("1")])
    assert "reelwright rebuild" in refused.value.remedy
    rebuild.begin()
    with pytest.raises(IndexMismatch):
        index.put([entry("1")])
    rebuild.fill([entry("1")])
    rebuild.swap()

    assert found(index, Query()) == {"1"}


def test_an_index_that_somebody_else_named_is_left_to_them(
    bare: OpenSearch, alias: str, rebuild: IndexRebuild
) -> None:
    theirs = f"{alias}-theirs"
    bare.indices.create(index=theirs)
    bare.indices.update_aliases(
        body={
            "actions": [
                {"remove_index": {"index": f"{alias}-000001"}},
                {"add": {"index": theirs, "alias": alias}},
            ]
        }
    )

    rebuild.begin()
    rebuild.swap()
    rebuild.drop_replaced()

    assert bare.indices.exists(index=theirs)
    OpenSearchTagIndex(bare, alias).check()
    with pytest.raises(IndexMismatch, match="is an index") as refused:
        IndexRebuild(bare, theirs).begin()
    assert "REELWRIGHT_INDEX_URL" in refused.value.remedy


def test_a_listing_goes_on_over_a_swap(index: OpenSearchTagIndex, rebuild: IndexRebuild) -> None:
    held = [entry(str(n), created_at=n) for n in range(9)]
    index.put(held)
    first = index.search(NORTHWIND, Query(), limit=3)
    second = index.search(NORTHWIND, Query(), limit=3, after=first.cursor)

    rebuild.begin()
    rebuild.fill(held)
    rebuild.swap()
    rebuild.drop_replaced()
    third = index.search(NORTHWIND, Query(), limit=3, after=second.cursor)

    assert [*names(first), *names(second), *names(third)] == [str(n) for n in range(8, -1, -1)]


class Truth:
    """What a database would hold: the newest change of each entry, committed before any index is told."""

    def __init__(self) -> None:
        self._held: dict[str, Change] = {}
        self._lock = threading.Lock()

    def commit(self, name: str) -> Change:
        with self._lock:
            before = self._held.get(entry(name).entry_id)
            version = before.version + 1 if before else 1
            new: Change = entry(name, version=version, say=f"v{version}")
            if before is not None and random.random() < 0.2:
                new = Tombstone(new.entry_id, new.tenant, version)
            self._held[new.entry_id] = new
            return new

    def after(self, entry_id: str, limit: int) -> list[Change]:
        with self._lock:
            return [self._held[name] for name in sorted(self._held) if name > entry_id][:limit]

    @property
    def shown(self) -> dict[str, Entry]:
        return {name: held for name, held in self._held.items() if isinstance(held, Entry)}


@contextmanager
def writing(index: OpenSearchTagIndex, truth: Truth, seed: int) -> Iterator[None]:
    """Commits and tells, and finds each time what it was told is there."""
    done, chance, lost = threading.Event(), random.Random(seed), list[str]()

    def write() -> None:
        while not done.is_set():
            told = [truth.commit(str(chance.randrange(300))) for _ in range(10)]
            newest = {change.entry_id: change for change in told}
            assert all(result.is_done for result in index.put(told))
            shown = index.get(NORTHWIND, list(newest))
            lost.extend(
                name
                for name, change in newest.items()
                if isinstance(change, Entry) and (name not in shown or shown[name].version < change.version)
                and truth.shown.get(name) == change
            )  # fmt: skip

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
    assert lost == []


def test_writes_during_a_rebuild_are_in_it_and_found_all_the_time(
    index: OpenSearchTagIndex, rebuild: IndexRebuild
) -> None:
    truth = Truth()
    index.put([truth.commit(str(n)) for n in range(300)])

    for turn in range(3):
        with writing(index, truth, turn):
            after = rebuild.begin()
            while changes := truth.after(after, 20):
                assert all(result.is_done for result in rebuild.fill(changes))
                after = changes[-1].entry_id
            rebuild.swap()

        shown = index.get(NORTHWIND, list(truth.shown))
        assert shown == truth.shown
        assert index.search(NORTHWIND, Query()).total == len(shown)


def test_a_write_that_only_one_of_the_two_indices_took_is_not_done(
    bare: OpenSearch, alias: str, index: OpenSearchTagIndex, rebuild: IndexRebuild
) -> None:
    rebuild.begin()
    bare.indices.put_settings(index=filling(alias), body={"index.blocks.read_only_allow_delete": True})

    half = index.put([entry("1")])[0]
    assert half.outcome is Outcome.TRY_AGAIN
    assert "cluster_block" in half.reason
    bare.indices.put_settings(index=filling(alias), body={"index.blocks.read_only_allow_delete": None})
    assert index.put([entry("1"), replace(entry("1"), version=2)])[1].outcome is Outcome.WRITTEN
    rebuild.swap()

    assert found(index, Query()) == {"1"}
