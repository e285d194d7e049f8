"""Backfills by name: one table for the command line and Dagster's jobs (E3)."""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Protocol

from pipeline.steps.operate.backfilled import BackfillReport
from pipeline.steps.operate.reindex import reindex
from pipeline.steps.operate.republish import republish
from pipeline.steps.operate.rethumbnail import rethumbnail
from resources.adapters import Adapters


class Backfill(enum.StrEnum):
    THUMBNAILS = "thumbnails"  #: pictures under the transform set in force
    INDEX = "index"  #: everything the tag index says
    TAGS = "tags"  #: required tags of what is shown


class Run(Protocol):
    def __call__(self, adapters: Adapters, campaigns: Collection[str] | None) -> BackfillReport: ...


BACKFILLS: Mapping[Backfill, Run] = MappingProxyType(
    {Backfill.THUMBNAILS: rethumbnail, Backfill.INDEX: reindex, Backfill.TAGS: republish}
)


def backfill(adapters: Adapters, kind: Backfill, campaigns: Collection[str] | None = None) -> BackfillReport:
    """Run one backfill over *campaigns*, or over all for None."""
    return BACKFILLS[kind](adapters, campaigns)
