"""What shapes the videos of one revision, and the rows of a rendition that is new (L5).

Belongs here: fingerprint, size and request of each wish's video, its newest take, its first attempt. Does
not belong here: what is done with them in the approval's transaction (`planning`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from pipeline.domain.lifecycle import AttemptState, Submission
from pipeline.domain.provider_terms import ProviderTerms, Spend
from pipeline.domain.renditions import (
    Variant,
    attempt_id,
    fingerprint,
    idempotency_key,
    pixel_size,
    rendition_id,
    request_fingerprint,
    split_partition_key,
)
from resources.database import planning as rows
from resources.database.database import Transaction
from resources.database.upright import upright_pictures

#: Reelwright's own setting beside the provider's: pixels on the shorter side. It becomes width and height.
SHORT_SIDE = "short_side"
DEFAULT_SHORT_SIDE = 720

MADE, CARRIED = "made", "carried"


@dataclass(frozen=True, slots=True)
class PlanningRules:
    """What planning needs of the documents: the provider list, and the profile that a fingerprint names."""

    providers: Mapping[str, ProviderTerms]
    profile_version: str


@dataclass(frozen=True, slots=True)
class PlannedWish:
    wish: str
    variant: str
    rendition: str
    origin: str  #: made or carried
    take: int


@dataclass(frozen=True, slots=True)
class Making:
    """What shapes the videos of one revision, read once for all its variants."""

    revision: sa.Row[Any]
    sources: tuple[str, ...]
    uprights: tuple[str, ...]
    rules: PlanningRules
    currency: str  #: the budget's, for a provider that is no longer in the list

    @property
    def generation(self) -> Mapping[str, Any]:
        made: Mapping[str, Any] = self.revision.creative["generation"]
        return made

    @property
    def settings(self) -> dict[str, Any]:
        """What the provider is told."""
        return {name: value for name, value in self.generation["settings"].items() if name != SHORT_SIDE}

    def size(self, variant: Variant) -> tuple[int, int]:
        return pixel_size(
            variant.aspect_ratio, int(self.generation["settings"].get(SHORT_SIDE, DEFAULT_SHORT_SIDE))
        )

    def copy(self, variant: Variant) -> str:
        return str(self.revision.creative["copy"][variant.locale])

    def fingerprint(self, variant: Variant, take: int) -> str:
        tenant, campaign = split_partition_key(self.revision.campaign)
        return fingerprint(
            tenant=tenant,
            campaign=campaign,
            variant=variant,
            source_sha256s=self.sources,
            copy=self.copy(variant),
            provider=self.generation["provider"],
            model=self.generation["model"],
            settings=self.generation["settings"],
            profile_version=self.rules.profile_version,
            take=take,
        )

    def newest_take(self, variant: Variant, existing: Sequence[sa.Row[Any]]) -> int:
        """The newest take of exactly this video among *existing* renditions; 0 when there is none."""
        known = {row.fingerprint for row in existing}
        highest = max((row.take for row in existing), default=0)
        takes = (take for take in range(highest, 0, -1) if self.fingerprint(variant, take) in known)
        return next(takes, 0)


def making_of(tx: Transaction, revision: sa.Row[Any], rules: PlanningRules, currency: str) -> Making:
    sources = rows.source_sha256s(tx, revision.id)
    uprights = upright_pictures(tx.connection, revision.tenant, sources)
    sent = tuple(uprights[source].sha256 for source in sources)
    return Making(revision, sources, sent, rules, currency)


def name_rendition(
    tx: Transaction, making: Making, wish: sa.Row[Any], existing: Sequence[sa.Row[Any]], *, fresh: bool
) -> tuple[PlannedWish, list[rows.NewRendition]]:
    """The rendition of one wish, and the rows of it when it is a new one."""
    variant = Variant.from_key(wish.variant)
    newest = making.newest_take(variant, existing)
    take = newest + 1 if fresh or not newest else newest
    tenant, campaign = split_partition_key(making.revision.campaign)
    name = rendition_id(tenant, campaign, variant, making.fingerprint(variant, take))
    if take == newest:
        return PlannedWish(wish.id, wish.variant, name, CARRIED, take), []
    made = PlannedWish(wish.id, wish.variant, name, MADE, take)
    return made, [rows.NewRendition(*_columns(tx, making, wish, variant, made))]


def _columns(
    tx: Transaction, making: Making, wish: sa.Row[Any], variant: Variant, made: PlannedWish
) -> tuple[dict[str, Any], dict[str, Any]]:
    width, height = making.size(variant)
    home = {"tenant": wish.tenant, "campaign": wish.campaign, "created_at": tx.now}
    ordered = {"provider": making.generation["provider"], "model": making.generation["model"]}
    rendition = (
        home
        | ordered
        | {
            "id": made.rendition,
            "slot": wish.slot,
            "variant": wish.variant,
            "fingerprint": making.fingerprint(variant, made.take),
            "take": made.take,
            "locale": variant.locale,
            "aspect_ratio": variant.aspect_ratio,
            "width": width,
            "height": height,
            "duration_seconds": variant.duration_seconds,
            "copy": making.copy(variant),
            "settings": making.settings,
            "profile_version": making.rules.profile_version,
            "sources": list(making.sources),
            "first_revision": making.revision.id,
            "selected_attempt": attempt_id(made.rendition, 1),
            "attempts_made": 1,
        }
    )
    return rendition, home | ordered | _attempt_columns(making, variant, rendition)


def _attempt_columns(making: Making, variant: Variant, rendition: Mapping[str, Any]) -> dict[str, Any]:
    """Attempt 1. A provider or model that left the list gets no quote; sending it fails by name (L1)."""
    terms = making.rules.providers.get(rendition["provider"])
    model = terms.models.get(rendition["model"]) if terms else None
    return {
        "id": rendition["selected_attempt"],
        "rendition": rendition["id"],
        "number": 1,
        "state": str(AttemptState.QUEUED),
        "submission": str(Submission.NOT_SENT),
        "idempotency_key": idempotency_key(rendition["tenant"], rendition["id"], 1),
        "request_fingerprint": request_fingerprint(
            model=rendition["model"],
            settings=making.settings,
            image_sha256s=making.uprights,
            copy=making.copy(variant),
            locale=variant.locale,
            width=rendition["width"],
            height=rendition["height"],
            duration_seconds=variant.duration_seconds,
        ),
        "quote": model.quote_micros(variant.duration_seconds) if model else 0,
        "currency": terms.currency if terms else making.currency,
        "spend": str(terms.spend if terms else Spend.LIVE),
    }
