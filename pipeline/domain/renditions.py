"""Identity: what makes two wishes the same wish, and what everything made for them is called (L5, R2, D1).

Belongs here: variants, hashes over what shapes a video, ids and object keys, all pure and stable for ever:
a changed result here is a second payment for every video there is. Does not belong here: who decides that
something is made (`next_action`), or how bytes get to a key (`resources.object_store`).

Every id and key is at most 200 bytes of `a-z A-Z 0-9 . _ / -`, so that S3, file systems and Dagster take
it; every hash is over canonical JSON, so that no two inputs meet by joining text differently.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from types import MappingProxyType
from typing import Any, Self

from pipeline.domain.brief import Creative, Variants

#: Width to height of every ratio that a brief may ask for, under the name that people use.
ASPECT_RATIOS: Mapping[str, Fraction] = MappingProxyType(
    {
        "16:9": Fraction(16, 9),
        "9:16": Fraction(9, 16),
        "1:1": Fraction(1),
        "4:5": Fraction(4, 5),
        "5:4": Fraction(5, 4),
        "4:3": Fraction(4, 3),
        "3:4": Fraction(3, 4),
        "3:2": Fraction(3, 2),
        "2:3": Fraction(2, 3),
        "21:9": Fraction(7, 3),
    }
)

#: First part of object keys that no tenant may own: the place where briefs and images are dropped.
INTAKE = "intake"
RESERVED_TENANTS = frozenset({INTAKE})
#: How the receipts end that are written beside a brief there (I1).
RECEIPT_ENDINGS = (".receipt.json", ".errors.txt")


@dataclass(frozen=True, slots=True, order=True)
class Variant:
    """One cell of the wanted matrix. Placement will be a fourth part, absent from today's keys."""

    locale: str  #: canonical BCP 47
    aspect_ratio: str  #: a name of ASPECT_RATIOS
    duration_seconds: int

    @property
    def key(self) -> str:
        """`en-GB/16x9/6s`: readable, and one spelling a variant."""
        return f"{self.locale}/{self.aspect_ratio.replace(':', 'x')}/{self.duration_seconds}s"

    @classmethod
    def from_key(cls, key: str) -> Self:
        """The inverse of `key`; ValueError for text that is not the key of a variant."""
        locale, ratio, duration = key.split("/")
        variant = cls(locale, ratio.replace("x", ":"), int(duration.removesuffix("s")))
        if variant.key != key or variant.aspect_ratio not in ASPECT_RATIOS:
            raise ValueError(f"not a variant key: {key!r}")
        return variant


def matrix(wanted: Variants) -> tuple[Variant, ...]:
    """Every wanted variant once, in the author's order."""
    cells = product(wanted.locales, wanted.aspect_ratios, wanted.duration_seconds)
    return tuple(Variant(*cell) for cell in dict.fromkeys(cells))


def pixel_size(aspect_ratio: str, short_side: int) -> tuple[int, int]:
    """Width and height with *short_side* on the shorter side; even, as 4:2:0 video must be."""
    ratio = ASPECT_RATIOS[aspect_ratio]
    long_side = short_side * max(ratio, 1 / ratio)
    sides = _even(long_side), _even(Fraction(short_side))
    return sides if ratio >= 1 else (sides[1], sides[0])


def _even(length: Fraction) -> int:
    return max(2, 2 * round(length / 2))


def creative_sha256(creative: Creative) -> str:
    """Whether two briefs want the same videos: files by name in scene order, copy, variants, generation.

    The order of variants, of mappings and the YAML's form do not matter; the order of sources does.
    """
    wanted = creative.variants
    return _digest(
        "creative/1",
        sources=creative.sources,
        copy=creative.copy,
        variants={
            "locales": sorted(wanted.locales),
            "aspect_ratios": sorted(wanted.aspect_ratios),
            "duration_seconds": sorted(wanted.duration_seconds),
        },
        provider=creative.generation.provider,
        model=creative.generation.model,
        settings=creative.generation.settings,
    )


def asset_set_sha256(source_sha256s: Sequence[str], copy: Mapping[str, str]) -> str:
    """The hash of a source set: its assets in scene order, and its copy."""
    return _digest("asset-set/1", sources=source_sha256s, copy=copy)


def fingerprint(
    *,
    tenant: str,
    campaign: str,
    variant: Variant,
    source_sha256s: Sequence[str],
    copy: str,
    provider: str,
    model: str,
    settings: Mapping[str, Any],
    profile_version: str,
    take: int = 1,
) -> str:
    """Exactly what shapes one video (L5): `copy` is the text of the variant's own locale alone."""
    return _digest(
        "fingerprint/1",
        tenant=tenant,
        campaign=campaign,
        variant=variant.key,
        sources=source_sha256s,
        copy=copy,
        provider=provider,
        model=model,
        settings=settings,
        profile_version=profile_version,
        take=take,
    )


def request_fingerprint(
    *,
    model: str,
    settings: Mapping[str, Any],
    image_sha256s: Sequence[str],
    copy: str,
    locale: str,
    width: int,
    height: int,
    duration_seconds: int,
) -> str:
    """What an attempt sends, so that a repeated send can prove itself the same request."""
    return _digest(
        "request/1",
        model=model,
        settings=settings,
        images=image_sha256s,
        copy=copy,
        locale=locale,
        size=[width, height],
        duration_seconds=duration_seconds,
    )


def partition_key(tenant: str, campaign: str) -> str:
    """`tenant.campaign`; slugs hold no dot, so it splits one way only."""
    return f"{tenant}.{campaign}"


def split_partition_key(key: str) -> tuple[str, str]:
    """Tenant and campaign of a partition key; ValueError when it is none."""
    tenant, campaign = key.split(".")
    return tenant, campaign


def revision_id(tenant: str, campaign: str, revision: int) -> str:
    return f"{partition_key(tenant, campaign)}/r{revision}"


def slot_id(tenant: str, campaign: str, variant: Variant) -> str:
    """The place that a viewer sees: `tenant.campaign/en-GB/16x9/6s`."""
    return f"{partition_key(tenant, campaign)}/{variant.key}"


def wish_id(tenant: str, campaign: str, revision: int, variant: Variant) -> str:
    return f"{revision_id(tenant, campaign, revision)}/{variant.key}"


def rendition_id(tenant: str, campaign: str, variant: Variant, fingerprint_sha256: str) -> str:
    """The same wish has the same id however often and concurrently it is submitted."""
    parts = {"tenant": tenant, "campaign": campaign, "variant": variant.key, "of": fingerprint_sha256}
    return f"r-{_digest('rendition/1', **parts)[:32]}"


def attempt_id(rendition: str, number: int) -> str:
    return f"{rendition}-a{number}"


def idempotency_key(tenant: str, rendition: str, number: int) -> str:
    """The one key under which an attempt is ever sent (G3); 43 printable ASCII characters."""
    return f"rw-{_digest('attempt/1', tenant=tenant, rendition=rendition, number=number)[:40]}"


def source_key(tenant: str, sha256: str) -> str:
    return f"{tenant}/sources/{sha256}"


def rendition_key(tenant: str, rendition: str, attempt_number: int, container: str = "mp4") -> str:
    """Where an attempt's video lies (R2). *container* is the profile's, which the fingerprint holds."""
    return f"{tenant}/renditions/{rendition}/{attempt_number}.{container}"


def derivative_key(tenant: str, source_sha256: str, transform_version: str, name: str, extension: str) -> str:
    """D1's shape; *source_sha256* is that of the object it was made from."""
    return f"{tenant}/derivatives/{source_sha256}/{transform_version}/{name}.{extension}"


def entry_id(tenant: str, rendition: str, object_id: str) -> str:
    """The search entry of one rendition and object: 64 hex digits, as no index takes ids without end."""
    return _digest("entry/1", tenant=tenant, rendition=rendition, object=object_id)


def _digest(kind: str, **parts: Any) -> str:
    """*kind* names the form, so that hashes of different things never meet."""
    return hashlib.sha256(canonical_json({"kind": kind, **parts})).hexdigest()


def canonical_json(value: Any) -> bytes:
    """One spelling a value: keys sorted, no spaces, 25.0 as 25; ValueError for NaN and infinities."""
    text = json.dumps(
        _plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return text.encode()


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
