"""How campaigns stand, asset by asset: what Dagster's window shows of a partition (E1).

Belongs here: which part is complete, its counts, its facts in words. Does not belong here: when Dagster is
told (`operate.mark_partitions`), or how its events look (`pipeline.jobs.bulk_events`).

Nothing in here may leave the house's own words: no provider URL, no prompt, no media (A4).
"""

from __future__ import annotations

import enum
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from types import MappingProxyType

import sqlalchemy as sa

from pipeline.domain.completion import Counts, is_complete
from pipeline.domain.lifecycle import SourceSetState, Word
from pipeline.steps.answer.status import WishStatus, completion_of, counts, projected
from resources.database.standings import RevisionParts, revision_parts
from resources.database.wish_facts import Wanted

#: Wishes that a partition's table names; those that need a look come first.
TABLE_ROWS = 20


class Part(enum.StrEnum):
    """The campaign-partitioned assets, in the order in which a campaign passes them."""

    SOURCE_SET = "source_set"
    MODERATED_SOURCE_SET = "moderated_source_set"
    GENERATION_ATTEMPTS = "generation_attempts"
    RENDITIONS = "renditions"
    THUMBNAILS = "thumbnails"
    TAG_INDEX = "tag_index"


@dataclass(frozen=True, slots=True)
class Standing:
    """One part of one campaign's newest revision."""

    part: Part
    campaign: str
    revision: int
    is_complete: bool  #: its policy is met: the partition may turn green
    version: str  #: of the document that made it; several where it is mixed
    numbers: Mapping[str, int] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)
    table: tuple[Mapping[str, str], ...] = ()

    @property
    def fingerprint(self) -> str:
        """Equal when there is nothing new to tell."""
        said = json.dumps(asdict(self), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(said.encode()).hexdigest()[:16]


def standings(
    connection: sa.Connection, campaigns: Collection[str], now: int
) -> dict[str, tuple[Standing, ...]]:
    """Every part of each of *campaigns*, in order; a campaign without a revision is absent."""
    return {
        campaign: _of_campaign(parts, projected(connection, Wanted(campaign=campaign), now))
        for campaign, parts in revision_parts(connection, campaigns).items()
    }


def _of_campaign(parts: RevisionParts, wishes: Sequence[WishStatus]) -> tuple[Standing, ...]:
    heads = counts(wishes)
    is_done = parts.state == SourceSetState.APPROVED and is_complete(completion_of(wishes), heads)
    before = (_source_set(parts), _moderated(parts))
    table = _table(wishes)
    return before + tuple(
        Standing(
            part=part,
            campaign=parts.campaign,
            revision=parts.number,
            is_complete=is_done,
            version=_joined(version(parts)),
            numbers=_numbers(heads) | numbers(parts),
            words={"words": _words(wishes)},
            table=table,
        )
        for part, (numbers, version) in _LATER.items()
    )


def _source_set(parts: RevisionParts) -> Standing:
    is_done = parts.asset_set_sha256 is not None and parts.state not in (
        SourceSetState.UPLOADED,
        SourceSetState.WITHDRAWN,
    )
    numbers = {f"sources_{standing}": number for standing, number in sorted(parts.sources.items())}
    words = {"state": parts.state, "asset_set_sha256": parts.asset_set_sha256 or "not complete"}
    return Standing(Part.SOURCE_SET, parts.campaign, parts.number, is_done, STEP_VERSION, numbers, words)


def _moderated(parts: RevisionParts) -> Standing:
    is_done = parts.state == SourceSetState.APPROVED
    words = {"state": parts.state, **parts.decision}
    version = parts.decision.get("policy") or STEP_VERSION
    return Standing(Part.MODERATED_SOURCE_SET, parts.campaign, parts.number, is_done, version, {}, words)


def _numbers(heads: Counts) -> dict[str, int]:
    named = ("active", "usable", "unsuccessful", "unresolved", "ready")
    return {"wishes": heads.total} | {name: getattr(heads, name) for name in named}


def _words(wishes: Iterable[WishStatus]) -> str:
    """`4 ready, 1 failed`"""
    found = Counter(str(wish.word) for wish in wishes)
    return ", ".join(f"{number} {word}" for word, number in found.most_common()) or "nothing is wanted"


#: Words that want a look stand above those that move, and ready ones last.
_URGENCY: Mapping[Word, int] = MappingProxyType(
    {Word.FAILED: 0, Word.UNRESOLVED: 0, Word.CANCELLED: 1, Word.AWAITING_ACCEPTANCE: 2, Word.READY: 9}
)


def _table(wishes: Sequence[WishStatus]) -> tuple[Mapping[str, str], ...]:
    urgent = sorted(wishes, key=lambda wish: (_URGENCY.get(wish.word, 5), wish.variant))
    return tuple(
        {
            "variant": wish.variant,
            "state": str(wish.word),
            "why": ", ".join(wish.why) or (wish.outcome or ""),
            "attempt": wish.attempt or "",
        }
        for wish in urgent[:TABLE_ROWS]
    )


#: What a step writes where no document of its own shapes it. Raise it when the step's output changes.
STEP_VERSION = "1"


def _joined(versions: Collection[str]) -> str:
    """Several versions read as none of them, so that the partition shows as behind."""
    return "+".join(sorted(versions)) or STEP_VERSION


_Numbers = Callable[[RevisionParts], dict[str, int]]
_Version = Callable[[RevisionParts], Collection[str]]

_LATER: Mapping[Part, tuple[_Numbers, _Version]] = MappingProxyType(
    {
        Part.GENERATION_ATTEMPTS: (
            lambda parts: {f"attempts_{state}": number for state, number in sorted(parts.attempts.items())},
            lambda _parts: (),
        ),
        Part.RENDITIONS: (
            lambda parts: {"videos": parts.videos, "video_bytes": parts.video_bytes},
            lambda parts: parts.profile_versions,
        ),
        Part.THUMBNAILS: (
            lambda parts: {"pictures": parts.pictures},
            lambda parts: parts.transform_versions,
        ),
        Part.TAG_INDEX: (
            lambda parts: {f"entries_{standing}": n for standing, n in sorted(parts.entries.items())},
            lambda _parts: (),
        ),
    }
)
