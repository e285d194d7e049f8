"""Backfills by name: one table for the command line and Dagster's jobs (E3)."""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType

from pipeline.steps.operate.backfilled import BackfillReport
from pipeline.steps.operate.reindex import reindex
from pipeline.steps.operate.republish import republish
from pipeline.steps.operate.rethumbnail import rethumbnail
from resources.adapters import Adapters


class Backfill(enum.StrEnum):
    THUMBNAILS = "thumbnails"  #: pictures under the transform set in force
    INDEX = "index"  #: everything the tag index says
    TAGS = "tags"  #: required tags of what is shown


Run = Callable[[Adapters, Collection[str] | None, str], BackfillReport]

BACKFILLS: Mapping[Backfill, Run] = MappingProxyType(
    {
        Backfill.THUMBNAILS: lambda adapters, named, actor: rethumbnail(adapters, named, actor=actor),
        Backfill.INDEX: lambda adapters, named, _actor: reindex(adapters, named),
        Backfill.TAGS: lambda adapters, named, actor: republish(adapters, named, actor=actor),
    }
)


def backfill(
    adapters: Adapters, kind: Backfill, campaigns: Collection[str] | None = None, *, actor: str = "backfill"
) -> BackfillReport:
    """Run one backfill over *campaigns*, or over all for None."""
    return BACKFILLS[kind](adapters, campaigns, actor)
