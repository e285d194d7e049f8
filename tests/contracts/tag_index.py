"""What every tag index must do (T1, T2, T4); each implementation runs it from tests/tag_index/.

A subclass gives a fixture `index`: an empty TagIndex.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline.domain.errors import IndexRefused
from pipeline.domain.renditions import entry_id
from pipeline.domain.tags import MAX_TAG_CHARACTERS, Query, Visibility, query, tokens
from resources.tag_index.protocol import (
    MAX_FACET_VALUES,
    MAX_FIELD_CHARACTERS,
    MAX_QUERY_TAGS,
    MAX_QUERY_TOKENS,
    Entry,
    Facets,
    Outcome,
    Page,
    Standing,
    TagIndex,
    Tombstone,
    WriteResult,
)

CASES = Path(__file__).parent.parent / "data/search"
NORTHWIND, SOUTHWIND = "northwind", "southwind"
CURRENT = frozenset({Standing.CURRENT})


def case(name: str) -> Any:
    return json.loads((CASES / f"{name}.json").read_text(encoding="utf-8"))


def entry(name: str = "1", **changes: Any) -> Entry:
    """A good entry; *name* makes its ids, `say` its text."""
    say = changes.pop("say", f"parcel {name}")
    tenant = changes.get("tenant", NORTHWIND)
    fields: dict[str, Any] = {
        "entry_id": entry_id(tenant, name, f"o-{name}"),
        "tenant": tenant,
        "rendition_id": name,
        "object_id": f"o-{name}",
        "campaign": "spring-depot",
        "slot": f"{tenant}.spring-depot/en-GB/16x9/{name}s",
        "locale": "en-GB",
        "asset_type": "marketing-video",
        "visibility": Visibility.PUBLIC,
        "retention_class": "standard",
        "standing": Standing.CURRENT,
        "version": 1,
        "created_at": 1_000,
        "tags": {},
        "text": tokens(say),
    }
    return Entry(**{**fields, **changes})


def names(page: Page) -> list[str]:
    return [hit.rendition_id for hit in page.hits]


def found(index: TagIndex, wanted: Query, tenant: str = NORTHWIND, **how: Any) -> set[str]:
    page = index.search(tenant, wanted, **how)
    assert page.total == len(page.hits)
    return set(names(page))


def counted(index: TagIndex, tenant: str, wanted: Query, by: Sequence[str]) -> Facets:
    """What the first page says, and every other one too, whatever standings it shows."""
    first = index.search(tenant, wanted, limit=1, facets=by)
    current = index.search(tenant, wanted, standings=CURRENT, facets=by)
    assert first.facets is not None
    assert first.facets == current.facets
    if first.cursor is not None:
        assert index.search(tenant, wanted, after=first.cursor, facets=by).facets == first.facets
    return first.facets


def outcomes(results: Iterable[WriteResult]) -> list[Outcome]:
    return [result.outcome for result in results]


class TagIndexContract:
    def test_what_is_reported_written_is_found_at_once_as_it_was(self, index: TagIndex) -> None:
        written = entry(tags={"product": ("Parcel", "Big Summer"), "season": ("spring",)})

        results = index.put([written])

        assert results == (WriteResult(written.entry_id, Outcome.WRITTEN),)
        assert results[0].is_done
        assert index.search(NORTHWIND, query("parcel")).hits == (written,)
        assert index.get(NORTHWIND, [written.entry_id, "x"]) == {written.entry_id: written}
        index.put([Tombstone(written.entry_id, NORTHWIND, 2)])
        assert index.search(NORTHWIND, query("parcel")).hits == ()
        assert index.get(NORTHWIND, [written.entry_id]) == {}

    def test_an_empty_bulk_and_an_empty_index_are_no_trouble(self, index: TagIndex) -> None:
        assert index.put([]) == ()
        assert index.get(NORTHWIND, []) == {}
        assert index.search(NORTHWIND, Query()) == Page((), None, 0)
        facets = counted(index, NORTHWIND, Query(), ["locale", "product"])
        assert facets.counts == {"locale": {}, "product": {}}
        assert facets.slots_with_candidates == 0
        index.require_writable()

    def test_only_a_higher_version_wins(self, index: TagIndex) -> None:
        second = entry(version=2, say="second")
        index.put([second])

        late = index.put([entry(version=1, say="first"), entry(version=2, say="other")])

        assert outcomes(late) == [Outcome.NEWER_IS_THERE] * 2
        assert all(result.is_done for result in late)
        assert index.get(NORTHWIND, [second.entry_id])[second.entry_id] == second
        assert outcomes(index.put([entry(version=3, say="third")])) == [Outcome.WRITTEN]
        assert found(index, query("third")) == {"1"}
        assert found(index, query("second")) == set()

    def test_a_late_write_never_resurrects_what_has_a_tombstone(self, index: TagIndex) -> None:
        live = entry(version=1, tags={"product": ("parcel",)})
        grave = Tombstone(live.entry_id, NORTHWIND, 5)

        assert outcomes(index.put([grave])) == [Outcome.WRITTEN]
        assert outcomes(index.put([live, replace(live, version=5)])) == [Outcome.NEWER_IS_THERE] * 2
        assert found(index, Query()) == set()
        assert counted(index, NORTHWIND, Query(), ["product"]).counts == {"product": {}}
        assert outcomes(index.put([grave])) == [Outcome.NEWER_IS_THERE]
        assert outcomes(index.put([replace(live, version=6)])) == [Outcome.WRITTEN]
        assert found(index, Query()) == {"1"}

    def test_versions_may_jump_and_are_exact_beyond_what_a_double_holds(self, index: TagIndex) -> None:
        high = entry(version=2**53 + 1, created_at=2**53 + 1, say="high")
        index.put([entry(version=7), high])

        late = index.put([entry(version=2**53, say="late"), Tombstone(high.entry_id, NORTHWIND, 2**53 + 1)])

        assert outcomes(late) == [Outcome.NEWER_IS_THERE] * 2
        assert index.get(NORTHWIND, [high.entry_id]) == {high.entry_id: high}
        last = Tombstone(high.entry_id, NORTHWIND, 2**63 - 1)
        assert outcomes(index.put([last, replace(high, version=2**63 - 1)])) == [
            Outcome.WRITTEN,
            Outcome.NEWER_IS_THERE,
        ]
        assert found(index, Query()) == set()

    def test_one_bulk_may_bury_and_bring_back(self, index: TagIndex) -> None:
        first, back = entry(version=1), entry(version=3, say="back")

        done = index.put([first, Tombstone(first.entry_id, NORTHWIND, 2), first, back])

        assert outcomes(done) == [
            Outcome.WRITTEN,
            Outcome.WRITTEN,
            Outcome.NEWER_IS_THERE,
            Outcome.WRITTEN,
        ]
        assert index.search(NORTHWIND, Query()).hits == (back,)

    def test_one_bulk_makes_the_new_entry_current_and_buries_the_old(self, index: TagIndex) -> None:
        slot = "northwind.spring-depot/en-GB/16x9/6s"
        old, new = entry("old", slot=slot), entry("new", slot=slot, standing=Standing.CANDIDATE)
        index.put([old, new])
        assert found(index, Query()) == {"old", "new"}
        assert found(index, Query(), standings=CURRENT) == {"old"}

        done = index.put(
            [replace(new, standing=Standing.CURRENT, version=2), Tombstone(old.entry_id, NORTHWIND, 2)]
        )

        assert outcomes(done) == [Outcome.WRITTEN, Outcome.WRITTEN]
        assert found(index, Query(), standings=CURRENT) == {"new"}
        assert found(index, Query()) == {"new"}

    def test_a_refused_item_names_its_field_and_refuses_no_other(self, index: TagIndex) -> None:
        results = index.put(
            [
                entry("1"),
                entry("2", tags={"product": ("t" * (MAX_TAG_CHARACTERS + 1),)}),
                entry("3", tags={"locale": ("en",)}),
                entry("4", retention_class=""),
                entry("5", text=("Not Ready",)),
                entry("6", entry_id="x" * 65),
                entry("7", version=0),
                entry("8", text=tuple(f"t{n}" for n in range(2_001))),
                Tombstone("", NORTHWIND, 1),
                entry("10", tenant="t" * 257),
                entry("11", campaign="c" * (MAX_FIELD_CHARACTERS + 1)),
                entry("12", slot="s" * (MAX_FIELD_CHARACTERS + 1)),
                entry("13", version=2**63),
                entry("9"),
            ]
        )

        assert outcomes(results) == [Outcome.WRITTEN, *[Outcome.REFUSED] * 12, Outcome.WRITTEN]
        for result, field in zip(
            results[1:-1],
            [
                "product",
                "locale",
                "retention_class",
                "text",
                "entry_id",
                "version",
                "text",
                "entry_id",
                "tenant",
                "campaign",
                "slot",
                "version",
            ],
            strict=True,
        ):
            assert field in result.reason
            assert not result.is_done
        assert found(index, Query()) == {"1", "9"}

    def test_the_longest_field_is_kept_whole(self, index: TagIndex) -> None:
        longest = entry(campaign="Ω" * MAX_FIELD_CHARACTERS)
        index.put([longest, entry("2", campaign="Ω" * (MAX_FIELD_CHARACTERS - 1))])

        assert index.search(NORTHWIND, query(campaign=longest.campaign)).hits == (longest,)
        assert counted(index, NORTHWIND, Query(), ["campaign"]).counts["campaign"][longest.campaign] == 1

    def test_no_call_sees_or_touches_another_tenant(self, index: TagIndex) -> None:
        ours = entry("1", tags={"product": ("parcel",)})
        theirs = replace(ours, tenant=SOUTHWIND, campaign="theirs", version=9)
        index.put([ours, theirs])

        assert index.get(NORTHWIND, [ours.entry_id]) == {ours.entry_id: ours}
        assert index.search(SOUTHWIND, query("parcel", ["product=parcel"])).hits == (theirs,)
        assert index.search(NORTHWIND, query("parcel", ["parcel"])).hits == (ours,)
        assert counted(index, NORTHWIND, Query(), ["campaign"]).counts == {"campaign": {"spring-depot": 1}}
        index.put([Tombstone(ours.entry_id, SOUTHWIND, 10)])
        assert index.search(NORTHWIND, Query()).hits == (ours,)
        assert found(index, Query(), "elsewhere") == set()
        assert found(index, Query(), "") == set()

    def test_a_cursor_of_another_tenant_shows_nothing_of_it(self, index: TagIndex) -> None:
        index.put(
            [entry(str(n), tenant=who, created_at=n) for who in (NORTHWIND, SOUTHWIND) for n in range(9)]
        )
        first = index.search(NORTHWIND, Query(), limit=2)
        second = index.search(NORTHWIND, Query(), limit=2, after=first.cursor)

        for cursor in (first.cursor, second.cursor):
            page = index.search(SOUTHWIND, Query(), after=cursor)
            assert {hit.tenant for hit in page.hits} <= {SOUTHWIND}

    def test_exact_tags_match_whole_values_only(self, index: TagIndex) -> None:
        given = case("os_tags")
        refused = index.put([entry(doc["id"], tags={"tag": tuple(doc["tags"])}) for doc in given["docs"]])

        assert [result.entry_id for result in refused if result.outcome is Outcome.REFUSED] == [
            entry("5").entry_id  # 257 characters: refused at write time, by name
        ]
        for wanted in given["queries"]:
            ids = set(wanted["ids"]) - {"5"}
            assert found(index, query(tags=[f"tag={wanted['tag']}"])) == ids, wanted
            assert found(index, query(tags=[wanted["tag"]])) == ids, wanted
        counts = counted(index, NORTHWIND, Query(), ["tag"]).counts["tag"]
        assert counts.items() >= given["facet_counts"].items()
        assert counts["été"] == 2
        assert list(counts)[:2] == ["summer", "été"]

    def test_the_longest_tag_is_found(self, index: TagIndex) -> None:
        longest = "ẞ" * (MAX_TAG_CHARACTERS // 2)
        index.put([entry(tags={"product": (longest,)})])

        assert found(index, query(tags=[f"product={longest}"])) == {"1"}

    @pytest.mark.parametrize(
        ("wanted", "ids"),
        [
            (Query(), {"1", "2", "3"}),
            (query(locale="de-DE"), {"2"}),
            (query(locale="de"), set()),
            (query(campaign="summer-sale"), {"3"}),
            (query(campaign="summer"), set()),
            (query(asset_type="teaser"), {"3"}),
            (query(visibility=[Visibility.PUBLIC]), {"1"}),
            (query(visibility=[Visibility.PUBLIC, Visibility.INTERNAL]), {"1", "2"}),
            (query(visibility=[]), set()),
            (query(tags=["product=parcel"]), {"1", "2"}),
            (query(tags=["season=parcel"]), set()),
            (query(tags=["parcel", "season=spring"]), {"1"}),
            (query("parcel", ["product=parcel"], locale="en-GB"), {"1"}),
        ],
    )
    def test_every_filter_narrows_and_all_of_them_together(
        self, index: TagIndex, wanted: Query, ids: set[str]
    ) -> None:
        index.put(
            [
                entry("1", tags={"product": ("parcel",), "season": ("spring",)}),
                entry(
                    "2", locale="de-DE", visibility=Visibility.INTERNAL, tags={"product": ("parcel", "van")}
                ),
                entry("3", campaign="summer-sale", asset_type="teaser", visibility=Visibility.PRIVATE),
            ]
        )

        assert found(index, wanted) == ids

    @pytest.mark.parametrize(
        ("text", "ids"),
        [
            ("parcel", {"1"}),
            ("PARCEL time", {"1"}),
            ("parcel pünktlich", set()),
            ("punktlich", {"2"}),
            ("時間", {"3"}),
            ("間通り", {"3"}),
            ("り通", set()),
            ("택배", {"4"}),
            ("हिन्दी", {"5"}),
            ("and", {"6"}),
            ("or not near", {"6"}),
            ("par", set()),
            ("parce*", set()),
            ("'; DROP TABLE search_entries; --", set()),
            ('"', {"1", "2", "3", "4", "5", "6"}),
        ],
    )
    def test_free_text_finds_every_word_in_any_script(
        self, index: TagIndex, text: str, ids: set[str]
    ) -> None:
        said = [
            "Your parcel, on time.",
            "Ihr Paket, pünktlich.",
            "荷物は時間通り",
            "택배 도착",
            "हिन्दी में",
            "and or not near",
        ]
        index.put([entry(str(n), say=text) for n, text in enumerate(said, 1)])

        assert found(index, query(text)) == ids

    @pytest.mark.parametrize("token", ['a"b', "a'b", "a\\", "a & b", "a OR b", "tokens:a", "*", "", "Upper"])
    def test_a_query_of_unready_tokens_is_refused(self, index: TagIndex, token: str) -> None:
        with pytest.raises(IndexRefused):
            index.search(NORTHWIND, Query(text=("tokens", token)))
        with pytest.raises(IndexRefused):
            counted(index, NORTHWIND, Query(text=(token,)), ["locale"])

    def test_a_question_has_an_end(self, index: TagIndex) -> None:
        wordy = entry(
            tags={"product": tuple(f"p{n}" for n in range(MAX_QUERY_TAGS))},
            text=tuple(f"w{n}" for n in range(MAX_QUERY_TOKENS)),
        )
        index.put([wordy])
        longest = Query(wordy.text, tuple(("product", tag) for tag in wordy.tags["product"]))

        assert index.search(NORTHWIND, longest).hits == (wordy,)
        assert counted(index, NORTHWIND, longest, ["locale"]).counts == {"locale": {"en-GB": 1}}
        for more in (
            replace(longest, text=(*wordy.text, "x")),
            replace(longest, tags=(*longest.tags, ("", "x"))),
        ):
            with pytest.raises(IndexRefused, match="more than"):
                index.search(NORTHWIND, more)
            with pytest.raises(IndexRefused, match="more than"):
                counted(index, NORTHWIND, more, ["locale"])

    def test_names_and_values_of_tags_do_not_run_together(self, index: TagIndex) -> None:
        index.put(
            [
                entry("1", tags={"a": ("b=c",), "pro": ("duct",)}),
                entry("2", tags={"a": ("b",), "product": ("x", "X", "pro=duct")}),
            ]
        )

        assert found(index, Query(tags=(("a", "b=c"),))) == {"1"}
        assert found(index, Query(tags=(("", "b=c"),))) == {"1"}
        assert found(index, Query(tags=(("a", "b"),))) == {"2"}
        assert counted(index, NORTHWIND, Query(), ["a", "pro", "product", "p"]).counts == {
            "a": {"b": 1, "b=c": 1},
            "pro": {"duct": 1},
            "product": {"pro=duct": 1, "x": 1},
            "p": {},
        }

    @pytest.mark.parametrize(
        "name", ["", ".*", "a.*", "a|b", "tag", "tags", "text", "standing", "tenant", "é"]
    )
    def test_a_facet_by_what_is_no_name_counts_nothing(self, index: TagIndex, name: str) -> None:
        index.put([entry(tags={"ab": ("x",)})])

        facets = counted(index, NORTHWIND, Query(), [name, "ab", name])
        assert facets.counts == {name: {}, "ab": {"x": 1}}

    def test_a_facet_has_the_most_frequent_values(self, index: TagIndex) -> None:
        several = tuple(f"v{n:03d}" for n in range(MAX_FACET_VALUES + 20))
        index.put([entry("1", tags={"product": several}), entry("2", tags={"product": several[-2:]})])

        counts = counted(index, NORTHWIND, Query(), ["product"]).counts["product"]

        assert len(counts) == MAX_FACET_VALUES
        assert list(counts)[:3] == [*several[-2:], several[0]]
        assert counts[several[-1]] == 2

    def test_many_entries_are_read_by_id_each_once(self, index: TagIndex) -> None:
        written = [entry(str(n)) for n in range(600)]
        index.put([*written, Tombstone(written[0].entry_id, NORTHWIND, 2)])

        ids = [one.entry_id for one in written]
        assert index.get(NORTHWIND, [*ids, *ids]) == {one.entry_id: one for one in written[1:]}

    def test_one_bulk_may_hold_an_entry_more_than_once(self, index: TagIndex) -> None:
        bulk = [entry(version=2, say="second"), entry(version=1, say="first"), entry(version=3, say="third")]

        assert outcomes(index.put(bulk)) == [Outcome.WRITTEN, Outcome.NEWER_IS_THERE, Outcome.WRITTEN]
        assert found(index, query("third")) == {"1"}
        assert found(index, query("second")) == set()

    def test_facets_count_current_entries_and_say_how_many_slots_have_candidates(
        self, index: TagIndex
    ) -> None:
        index.put(
            [
                entry("1", tags={"product": ("Parcel",)}),
                entry("2", locale="de-DE", tags={"product": ("parcel", "van")}),
                entry("3", locale="de-DE", standing=Standing.CANDIDATE, tags={"product": ("parcel",)}),
                entry("4", campaign="other", tags={"product": ("van",)}),
            ]
        )

        facets = counted(index, NORTHWIND, query(campaign="spring-depot"), ["product", "locale", "season"])

        assert facets.counts == {
            "product": {"parcel": 2, "van": 1},
            "locale": {"de-DE": 1, "en-GB": 1},
            "season": {},
        }
        assert facets.slots_with_candidates == 1

    def test_pages_follow_each_other_newest_first(self, index: TagIndex) -> None:
        index.put([entry(str(n), created_at=n // 2) for n in range(7)])
        seen: list[Entry] = []
        after = None
        for _ in range(4):
            page = index.search(NORTHWIND, Query(), limit=2, after=after)
            assert page.total == 7
            seen += page.hits
            after = page.cursor

        assert after is None
        assert seen == sorted(seen, key=lambda hit: (-hit.created_at, hit.entry_id))
        assert {hit.rendition_id for hit in seen} == {str(n) for n in range(7)}

    def test_a_page_is_stable_when_its_last_hit_goes_and_new_ones_come(self, index: TagIndex) -> None:
        index.put([entry(str(n), created_at=n) for n in range(6)])
        first = index.search(NORTHWIND, Query(), limit=3)
        assert names(first) == ["5", "4", "3"]

        index.put([Tombstone(entry("3").entry_id, NORTHWIND, 2), entry("9", created_at=9)])

        assert names(index.search(NORTHWIND, Query(), limit=3, after=first.cursor)) == ["2", "1", "0"]

    @pytest.mark.parametrize("cursor", ["", "x", "W10=", "bnVsbA==", "é", "eyJhIjogMX0="])
    def test_a_cursor_that_no_search_gave_is_refused(self, index: TagIndex, cursor: str) -> None:
        with pytest.raises(IndexRefused):
            index.search(NORTHWIND, Query(), after=cursor)

    def test_a_listing_beyond_ten_thousand_is_complete_and_its_total_exact(self, index: TagIndex) -> None:
        given = case("os_paging")
        wanted = given["expect"]
        for start in range(0, given["docs"], 1_000):
            stop = min(start + 1_000, given["docs"])
            index.put([entry(str(n), created_at=n // 100, text=("x",)) for n in range(start, stop)])
        seen: list[str] = []
        after = None
        while True:
            page = index.search(NORTHWIND, query("x"), limit=given["page_size"], after=after)
            assert page.total == wanted["total_shown"]
            seen += names(page)
            after = page.cursor
            if after is None:
                break

        assert len(seen) == len(set(seen)) == wanted["all_ids_seen"]

    def test_a_listing_that_others_write_into_has_what_was_there_all_the_time_once(
        self, index: TagIndex
    ) -> None:
        index.put([entry(str(n), created_at=n // 7) for n in range(300)])
        gone, seen, after, turn = set(range(0, 300, 5)), list[str](), None, 0
        while True:
            page = index.search(NORTHWIND, Query(), limit=20, after=after)
            seen += names(page)
            after = page.cursor
            if after is None:
                break
            turn += 1
            leaving = sorted(gone)[(turn - 1) * 4 : turn * 4]
            index.put(
                [
                    *(Tombstone(entry(str(n)).entry_id, NORTHWIND, 9) for n in leaving),
                    entry(f"new{turn}", created_at=turn * 3),
                    entry(str(turn), created_at=turn // 7, version=2, say="changed"),
                ]
            )

        assert len(seen) == len(set(seen))
        assert {str(n) for n in range(300) if n not in gone} <= set(seen)

    def test_any_number_of_free_tag_names_is_taken(self, index: TagIndex) -> None:
        results = index.put([entry(str(n), tags={f"tag_{n}": ("v",)}, text=()) for n in range(1_200)])

        assert {result.outcome for result in results} == {Outcome.WRITTEN}
        assert found(index, query(tags=["tag_1199=v"])) == {"1199"}
        assert index.search(NORTHWIND, query(tags=["v"])).total == 1_200

    def test_writers_at_once_leave_the_highest_version(self, index: TagIndex) -> None:
        def write(version: int) -> None:
            bulk = [entry(str(n), version=version, say=f"v{version}") for n in range(5)]
            index.put(bulk if version % 2 else bulk[::-1])

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(write, [1, 5, 2, 8, 3, 7, 4, 6]))

        assert found(index, query("v8")) == {"0", "1", "2", "3", "4"}
        assert all(found(index, query(f"v{version}")) == set() for version in range(1, 8))
