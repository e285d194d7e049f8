"""Another index filled beside the live one, which takes its place in one step or is given up (T5).

Belongs here: making, filling, swapping and dropping it. Does not belong here: what it is filled with (steps).

It stands under an alias of its own, which tells writers to write to both; how far it is filled stands in the
index itself. So it may be begun again by anybody at any time, and giving it up is deleting it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from opensearchpy import OpenSearch
from opensearchpy.exceptions import RequestError

from pipeline.domain.errors import IndexUnavailable
from resources.tag_index.opensearch import client, described, filling
from resources.tag_index.opensearch_bulk import write, written
from resources.tag_index.opensearch_errors import named_trouble
from resources.tag_index.opensearch_layout import LAYOUT, new_index, refuse_plain_index
from resources.tag_index.protocol import Change, WriteResult

_TAKEN = "resource_already_exists_exception"


class IndexRebuild:
    """One rebuild behind *alias*. Every call raises IndexUnavailable when the server does not do it."""

    def __init__(self, client: OpenSearch, alias: str) -> None:
        self._client = client
        self._alias = alias
        self._filling = filling(alias)

    @classmethod
    def opened(cls, server: str, user: str, password: str, alias: str) -> IndexRebuild:
        return cls(client(server, user, password), alias)

    def begin(self) -> str:
        """Find the index that is being filled, or make it; the entry id up to which it is filled.

        One of another layout, which another release began, is given up.
        """
        with named_trouble():
            refuse_plain_index(self._alias, described(self._client, self._alias))
            begun = self._begun()
            meta = next(iter(begun.values()))["mappings"].get("_meta", {}) if begun else {}
            if begun and meta.get("layout") == LAYOUT:
                return str(meta.get("filled_to", ""))
            self._drop(begun)
            self._make()
        return ""

    def fill(self, changes: Sequence[Change]) -> list[WriteResult]:
        """Write to the new index alone; what writers wrote there meanwhile is newer and stays."""
        with named_trouble():
            return written(changes, partial(write, self._client, self._filling, is_shown=False))

    def filled_to(self, entry_id: str) -> None:
        """Note that every entry up to *entry_id* is in, so that a later rebuild goes on behind it."""
        meta = {"layout": LAYOUT, "filled_to": entry_id}
        with named_trouble():
            self._client.indices.put_mapping(index=self._filling, body={"_meta": meta})

    def swap(self) -> None:
        """Put the new index in the live one's place: a search sees the one or the other, whole.

        The replaced one stays for those who were asking it: `drop_replaced` is for later.
        """
        with named_trouble():
            new = next(iter(self._begun()), None)
            if new is None:
                raise IndexUnavailable("the rebuild was finished or given up by somebody else")
            self._client.indices.refresh(index=new)
            actions = [{"add": {"index": new, "alias": self._alias}}, _without(new, self._filling)]
            actions += [_without(name, self._alias) for name in described(self._client, self._alias)]
            self._client.indices.update_aliases(body={"actions": actions})

    def drop_replaced(self) -> None:
        """Delete what rebuilds made and no alias leads to. What somebody else named is theirs."""
        with named_trouble():
            made = self._made()
            self._drop([name for name, described in made.items() if not described["aliases"]])

    def abandon(self) -> bool:
        """Give the new index up; False when there is none."""
        with named_trouble():
            begun = self._begun()
            self._drop(begun)
        return bool(begun)

    def _begun(self) -> Mapping[str, Any]:
        return described(self._client, self._filling)

    def _drop(self, names: Iterable[str]) -> None:
        for name in names:
            self._client.indices.delete(index=name, ignore_unavailable=True)

    def _make(self) -> None:
        """Whoever comes second to the same number fills what the first one made."""
        body = {**new_index({}), "aliases": {self._filling: {}}}
        try:
            self._client.indices.create(index=self._next_name(), body=body)
        except RequestError as error:
            if error.error != _TAKEN:
                raise

    def _next_name(self) -> str:
        numbers = [int(name.rpartition("-")[2]) for name in self._made()]
        return f"{self._alias}-{max(numbers, default=0) + 1:06d}"

    def _made(self) -> dict[str, Any]:
        """The indices that rebuilds made, by name."""
        there = self._client.indices.get(index=f"{self._alias}-*", expand_wildcards="all")
        ours = re.compile(re.escape(self._alias) + r"-\d{6}")
        return {name: described for name, described in there.items() if ours.fullmatch(name)}


def _without(name: str, alias: str) -> dict[str, Any]:
    return {"remove": {"index": name, "alias": alias}}
