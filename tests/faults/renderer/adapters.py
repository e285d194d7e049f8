"""Adapters for the fault renderer, one a reconciliation class (G9).

Named in a provider list by their path, e.g. `tests.faults.renderer.adapters:LookupProvider`. Belongs
here: what each class promises. Does not belong here: the wire format, which is the local renderer's.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from resources.http.client import HttpClient
from resources.providers.local import LocalProvider
from resources.providers.protocol import LookUpAnswer, ProviderTerms, Reconciliation


class KeyProvider(LocalProvider):
    """Class K: the same POST again is safe."""


class LookupProvider(LocalProvider):
    """Class L: a job is found by our reference, surely after `options.lag_seconds`."""

    reconciliation = Reconciliation.LOOKUP
    key_window_seconds = 0

    def __init__(self, terms: ProviderTerms) -> None:
        super().__init__(terms)
        self.lookup_lag_seconds = int(terms.options.get("lag_seconds", 2))


class ListingProvider(LocalProvider):
    """Class W: jobs are named in a listing only, surely after `options.lag_seconds`."""

    reconciliation = Reconciliation.LISTING
    key_window_seconds = 0

    def __init__(self, terms: ProviderTerms) -> None:
        super().__init__(terms)
        self.lookup_lag_seconds = int(terms.options.get("lag_seconds", 2))

    async def find(self, client: HttpClient, references: Sequence[str], *, since: datetime) -> LookUpAnswer:
        answer = await self.listing(client, {"since": since.astimezone(UTC).isoformat()})
        wanted = frozenset(references)
        return LookUpAnswer(tuple(one for one in answer.found if one.reference in wanted), answer.complete)


class NothingProvider(LocalProvider):
    """Class N: a lost answer stays lost until a person decides."""

    reconciliation = Reconciliation.NONE
    key_window_seconds = 0

    async def find(self, *_: object, **__: object) -> LookUpAnswer:
        return LookUpAnswer((), complete=False)
