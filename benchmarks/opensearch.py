"""Bulk indexing of 100,000 entries and filtered, faceted search in OpenSearch, against the bare client (T5).

Both sides write to an index of the same layout on one server, in bulks of 500, and ask the same questions.

Indexing. Ours: `IndexRebuild.fill`, as `reelwright rebuild` fills an index: entries checked, made into
documents, sent, one result an item. Bare: `OpenSearch.bulk` of documents that were made before, whose results
are only looked through for errors. A round is 20,000 entries, five rounds are 100,000.

Search. Ours: `search` of 50 hits with facets by two names. Bare: the same request, whose answer stays as it
came. The server is warmed up by both before: its compiler halves the time of a request within thousands.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from opensearchpy import OpenSearch

from benchmarks.figures import Figure, at_most, interleaved, shown, timed
from pipeline.domain.renditions import entry_id
from pipeline.domain.tags import Query, Visibility, all_tokens, query
from resources.tag_index.opensearch import OpenSearchTagIndex, client
from resources.tag_index.opensearch_layout import document, document_id, new_index
from resources.tag_index.opensearch_queries import page_body
from resources.tag_index.opensearch_rebuild import IndexRebuild
from resources.tag_index.protocol import BOTH_STANDINGS, Entry, Standing
from tests.services.opensearch.server import running_opensearch

ENTRIES, ROUNDS, BULK = 100_000, 5, 500
A_ROUND = ENTRIES // ROUNDS
QUESTIONS, SAMPLES, WARMING = 100, 3, 10  #: asked at once; as often a round; as often before it is measured
LIMIT, FACETS = 50, ("product", "locale")
TENANT = "northwind"
LOCALES = ("en-GB", "de-DE", "fr-FR", "ja-JP", "pt-BR")
_WORDS = [f"{a}{b}{c}" for a, b, c in itertools.product(("par", "sum", "dep", "van"), "aeiou", "bcdfghklmn")]


def benchmark() -> Iterator[Figure]:
    with running_opensearch(jvm=(), heap="1g") as server:
        opened = client(server.url)
        yield _indexing(opened)
        yield _searching(opened)
        opened.close()


def _indexing(opened: OpenSearch) -> Figure:
    """Leaves `ours` with every entry."""
    rebuild = IndexRebuild(opened, "ours")
    rebuild.begin()
    opened.indices.create(index="bare", body=new_index({}))
    ours, bare = (_rounds(entries(A_ROUND * (ROUNDS + 1))) for _ in range(2))
    documents = ([_lines(one) for one in a_round] for a_round in bare)
    sides = interleaved(lambda: _fill(rebuild, next(ours)), lambda: _bulk(opened, next(documents)), ROUNDS)
    rebuild.swap()
    mine, theirs = sides.medians
    name = f"OpenSearch, bulks of {BULK}: {A_ROUND:,} of {ENTRIES:,} entries"
    return Figure(name, 1 / sides.throughput_ratio, shown(mine), shown(theirs), at_most(1.2))


def _searching(opened: OpenSearch) -> Figure:
    index = OpenSearchTagIndex(opened, "ours")
    asked = (questions(seed) for seed in itertools.count())
    mine, theirs = itertools.tee(asked)
    for _ in range(WARMING):
        _search(index, next(mine)), _bare_search(opened, next(theirs))
    sides = interleaved(
        lambda: _search(index, next(mine)), lambda: _bare_search(opened, next(theirs)), ROUNDS, SAMPLES
    )
    ours, bare = (median / QUESTIONS for median in sides.medians)
    name = f"OpenSearch, filtered and faceted search in {ENTRIES:,} entries"
    return Figure(name, 1 / sides.throughput_ratio, shown(ours), shown(bare), at_most(1.2))


def entries(number: int) -> Iterator[Entry]:
    """Of 100 campaigns, with five free tags and some twenty words each."""
    chance = random.Random(0)
    for n in range(number):
        said = " ".join(chance.choices(_WORDS, k=20))
        campaign = f"campaign-{n % 100:02d}"
        yield Entry(
            entry_id=entry_id(TENANT, str(n), f"o-{n}"),
            tenant=TENANT,
            rendition_id=f"r-{n}",
            object_id=f"o-{n}",
            campaign=campaign,
            slot=f"{TENANT}.{campaign}/{n}",
            locale=chance.choice(LOCALES),
            asset_type="marketing-video",
            visibility=Visibility.PUBLIC,
            retention_class="standard",
            standing=Standing.CURRENT,
            version=1,
            created_at=n,
            tags={"product": tuple(chance.sample(_WORDS, 3)), "season": ("Spring", f"Week {n % 52}")},
            text=all_tokens([said]),
        )


def questions(seed: int) -> Sequence[Query]:
    chance = random.Random(seed)
    return [
        query(chance.choice(_WORDS), [f"product={chance.choice(_WORDS)}"], locale=chance.choice(LOCALES))
        for _ in range(QUESTIONS)
    ]


def _rounds(held: Iterator[Entry]) -> Iterator[list[Entry]]:
    return iter(lambda: list(itertools.islice(held, A_ROUND)), [])


def _lines(entry: Entry) -> tuple[dict[str, Any], dict[str, Any]]:
    action = {
        "_id": document_id(entry.tenant, entry.entry_id), "routing": entry.tenant,
        "version": entry.version, "version_type": "external",
    }  # fmt: skip
    return {"index": action}, document(entry)


def _fill(rebuild: IndexRebuild, held: Sequence[Entry]) -> float:
    with timed() as watch:
        for start in range(0, len(held), BULK):
            results = rebuild.fill(held[start : start + BULK])
            assert all(result.is_done for result in results)
    return watch.seconds


def _bulk(opened: OpenSearch, held: Sequence[tuple[dict[str, Any], dict[str, Any]]]) -> float:
    with timed() as watch:
        for start in range(0, len(held), BULK):
            body = list(itertools.chain.from_iterable(held[start : start + BULK]))
            assert not opened.bulk(body=body, index="bare")["errors"]
    return watch.seconds


def _search(index: OpenSearchTagIndex, asked: Sequence[Query]) -> float:
    with timed() as watch:
        for one in asked:
            assert index.search(TENANT, one, limit=LIMIT, facets=FACETS).facets is not None
    return watch.seconds


def _bare_search(opened: OpenSearch, asked: Sequence[Query]) -> float:
    ask = partial(opened.search, index="ours", params={"routing": TENANT})
    bodies = [page_body(TENANT, one, BOTH_STANDINGS, LIMIT + 1, None, FACETS) for one in asked]
    with timed() as watch:
        for body in bodies:
            answer = ask(body=body)
            assert answer["hits"]["total"]["relation"] == "eq"
    return watch.seconds
