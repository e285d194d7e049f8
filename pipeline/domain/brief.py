"""What a campaign wants, as a value: the creative part decides what is made, the administrative part may
be amended under the same revision (SPEC, "brief").

Belongs here: the shape of the wish and the words it may hold. Does not belong here: how it is written and
checked (`pipeline.documents.brief`), or what follows from it (`renditions`, `completion`, `tags`).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from pipeline.domain.completion import CompletionPolicy
from pipeline.domain.tags import Visibility


class Publish(enum.StrEnum):
    """Who lets an output into its slot (T8)."""

    AUTO = "auto"  #: As soon as it is indexed.
    ON_APPROVAL = "on_approval"  #: When a reviewer accepts it.


class Submit(enum.StrEnum):
    """What starts a brief whose sources are all there (I1)."""

    WHEN_COMPLETE = "when_complete"  #: By itself.
    MANUAL = "manual"  #: An explicit command.


@dataclass(frozen=True, slots=True)
class Variants:
    """The wanted matrix, each list without repeats and in the author's order."""

    locales: tuple[str, ...]  #: canonical BCP 47
    aspect_ratios: tuple[str, ...]  #: names of `renditions.ASPECT_RATIOS`
    duration_seconds: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Generation:
    """Who makes it and how. `settings` holds only text, integers, finite numbers, booleans, lists, maps."""

    provider: str
    model: str
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Creative:
    """What decides the pictures: any change here is a new revision (I4)."""

    sources: tuple[str, ...]  #: file names beside the brief; their order is the order of the scenes
    copy: Mapping[str, str]  #: one approved text a locale, for exactly the wanted locales
    variants: Variants
    generation: Generation


@dataclass(frozen=True, slots=True)
class BudgetCap:
    """The most that a campaign may hold and spend (G7)."""

    cap_micros: int  #: micro-units of `currency`
    currency: str  #: ISO 4217


@dataclass(frozen=True, slots=True)
class Administrative:
    """What may be amended without a new revision; each amendment holds from its own time on."""

    title: str  #: for people; the campaign's slug when the author gave none
    cost_center: str
    asset_type: str
    visibility: Visibility
    tags: Mapping[str, tuple[str, ...]]  #: free tags as written, NFC
    publish: Publish
    submit: Submit
    budget: BudgetCap
    retention_class: str
    ends_on: date | None  #: means the end of that day in UTC (C1)
    completion: CompletionPolicy


@dataclass(frozen=True, slots=True)
class Brief:
    """One delivered brief. Two deliveries of the same wish are equal, however they were written."""

    tenant: str
    campaign: str
    revision: int
    creative: Creative
    administrative: Administrative
