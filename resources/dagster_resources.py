"""Configuration in, plain adapters out: the only adapter module that knows Dagster.

Belongs here: how long a set of adapters lives in a run and in a sensor. Does not belong here: what settings
mean, or how anything is opened (`resources.connect`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

import dagster as dg

from pipeline.documents.moderation_policy import default_moderation_policy, read_moderation_policy
from pipeline.documents.settings import Settings, read_settings
from pipeline.documents.target_profile import default_target_profile, read_target_profile
from pipeline.documents.transform_set import default_transform_set, read_transform_set
from resources.adapters import Adapters
from resources.connect import connect, connected, read_or_default

__all__ = ["Adapters", "DocumentVersions", "RunAdapters", "SensorAdapters", "document_versions"]


class RunAdapters(dg.ConfigurableResource[Adapters]):
    """Adapters for one run: opened from the environment's settings at its start, closed at its end."""

    @contextmanager
    def yield_for_execution(self, context: dg.InitResourceContext) -> Iterator[Adapters]:  # noqa: ARG002
        with connected(read_settings()) as adapters:
            yield adapters


class SensorAdapters(dg.ConfigurableResource[Adapters]):
    """Adapters for sensors: opened once a process, as a tick comes every few seconds and may overlap.

    They live as long as the code server; changed settings open a new set.
    """

    def create_resource(self, context: dg.InitResourceContext) -> Adapters:  # noqa: ARG002
        return _of_process(read_settings())


@lru_cache(maxsize=1)
def _of_process(settings: Settings) -> Adapters:
    return connect(settings)


@dataclass(frozen=True, slots=True)
class DocumentVersions:
    """Versions of the documents that shape what is made, as the code location found them."""

    moderation: str
    profile: str
    transforms: str


def document_versions() -> DocumentVersions:
    settings = read_settings()
    return DocumentVersions(
        read_or_default(settings.moderation, default_moderation_policy, read_moderation_policy).version,
        read_or_default(settings.profile, default_target_profile, read_target_profile).version,
        read_or_default(settings.transforms, default_transform_set, read_transform_set).version,
    )
