"""The one frozen set of adapters and documents that steps work with; `resources.connect` makes it.

Belongs here: the set itself. Does not belong here: how any of it is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.domain.delivery import PathRules, path_rules
from pipeline.domain.media import TransformSet
from pipeline.domain.moderation import ModerationPolicy
from pipeline.domain.provider_terms import ProviderTerms
from pipeline.domain.quality import TargetProfile
from pipeline.domain.rating import PriceCards
from resources.database.database import Database
from resources.media import Sandbox
from resources.object_store.protocol import ObjectStore
from resources.providers.protocol import Provider
from resources.tag_index.protocol import TagIndex


@dataclass(frozen=True, slots=True)
class Adapters:
    """Everything a step may touch. `close()` ends the media child and all connections."""

    database: Database
    store: ObjectStore
    index: TagIndex
    sandbox: Sandbox
    providers: Mapping[str, Provider]
    terms: Mapping[str, ProviderTerms]
    profile: TargetProfile
    transforms: TransformSet
    moderation: ModerationPolicy
    spool: Path  #: private local folder for bytes that are not owned yet
    prices: PriceCards = field(default_factory=PriceCards)  #: what units cost, and from when
    delivery_logs: ObjectStore | None = None  #: where delivery logs come in; nothing is ever written there
    delivery_rules: PathRules = field(default_factory=path_rules)

    def close(self) -> None:
        self.sandbox.close()
        self.store.close()
        if self.delivery_logs is not None:
            self.delivery_logs.close()
        self.database.close()
