"""The OpenSearch tag index keeps the contract of every tag index."""

from __future__ import annotations

from tests.contracts.tag_index import TagIndexContract


class TestOpenSearch(TagIndexContract):
    pass
