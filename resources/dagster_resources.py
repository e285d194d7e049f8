"""Configuration in, plain adapters out: the only adapter module that knows Dagster.

Belongs here: how long a set of adapters lives in a run and in a sensor. Does not belong here: what settings
mean, or how anything is opened (`resources.connect`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import dagster as dg

from pipeline.documents.moderation_policy import default_moderation_policy, read_moderation_policy
from pipeline.documents.settings import Settings, read_settings
from pipeline.documents.target_profile import default_target_profile, read_target_profile
from pipeline.documents.transform_set import default_transform_set, read_transform_set
from pipeline.domain.errors import ReelwrightError
from pipeline.domain.retention import RetentionPolicy
from pipeline.domain.storage_price import StoragePrice
from resources.adapters import Adapters
from resources.connect import (
    alert_outlet,
    connect,
    connected,
    read_or_default,
    retention_policy,
    storage_price,
)
from resources.notify.protocol import Outlet

__all__ = [
    "Adapters",
    "DocumentVersions",
    "Operating",
    "OperatingResource",
    "RetentionResource",
    "RetentionTerms",
    "RunAdapters",
    "SensorAdapters",
    "document_versions",
]


@contextmanager
def _said_plainly() -> Iterator[None]:
    """What a failed run or tick shows first: what is wrong and what to do, and no library behind it."""
    try:
        yield
    except ReelwrightError as error:
        if error.remedy:
            error.args = (f"{error}; {error.remedy}",)
        raise error from None


class RunAdapters(dg.ConfigurableResource[Adapters]):
    """Adapters for one run: opened from the environment's settings at its start, closed at its end."""

    @contextmanager
    def yield_for_execution(self, context: dg.InitResourceContext) -> Iterator[Adapters]:  # noqa: ARG002
        with ExitStack() as stack:
            with _said_plainly():
                adapters = stack.enter_context(connected(read_settings()))
            yield adapters


class SensorAdapters(dg.ConfigurableResource[Adapters]):
    """Adapters for sensors: opened once a process, as a tick comes every few seconds and may overlap.

    They live as long as the code server; changed settings open a new set.
    """

    def create_resource(self, context: dg.InitResourceContext) -> Adapters:  # noqa: ARG002
        with _said_plainly():
            return _of_process(read_settings())


@lru_cache(maxsize=1)
def _of_process(settings: Settings) -> Adapters:
    return connect(settings)


@dataclass(frozen=True, slots=True)
class Operating:
    """What Dagster's side knows of its surroundings beside the adapters."""

    api: str  #: the base of links to the HTTP API, without a slash at its end
    outlet: Outlet  #: where alerts go
    run_log_days: int  #: how long runs of lots and upkeep, and their events, are kept
    delivered_days: int  #: how long delivered messages are kept
    reports: Path  #: where finance reports are written, a folder a month

    @classmethod
    def of(cls, settings: Settings) -> Operating:
        return cls(
            settings.api_window,
            alert_outlet(settings),
            settings.run_log_days,
            settings.delivered_days,
            settings.reports,
        )


class OperatingResource(dg.ConfigurableResource[Operating]):
    """The surroundings as the environment's settings name them; BadSettings where they cannot be used."""

    def create_resource(self, context: dg.InitResourceContext) -> Operating:  # noqa: ARG002
        return Operating.of(read_settings())


@dataclass(frozen=True, slots=True)
class RetentionTerms:
    """The retention policy in force, and what keeping bytes costs."""

    policy: RetentionPolicy
    price: StoragePrice | None


class RetentionResource(dg.ConfigurableResource[RetentionTerms]):
    """The policy as the environment's settings name it; BadDocument where it is no policy."""

    def create_resource(self, context: dg.InitResourceContext) -> RetentionTerms:  # noqa: ARG002
        settings = read_settings()
        return RetentionTerms(retention_policy(settings), storage_price(settings))


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
