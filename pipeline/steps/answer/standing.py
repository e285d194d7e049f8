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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from types import MappingProxyType
from urllib.parse import quote

import sqlalchemy as sa

from pipeline.domain.completion import Counts, is_complete
from pipeline.domain.lifecycle import SourceSetState, Word
from pipeline.domain.provider_terms import ProviderTerms
from pipeline.steps.answer.item_table import at_risk, item_table
from pipeline.steps.answer.status import WishStatus, completion_of, counts, projected
from pipeline.steps.operate.recover import PlannedItem, planned
from resources.database.previews import ids_by_key
from resources.database.standings import RevisionParts, revision_parts
from resources.database.wish_facts import Wanted

Terms = Mapping[str, ProviderTerms]
NO_TERMS: Terms = MappingProxyType({})

#: Previews that a partition links to; the status page has all.
PREVIEWS = 20


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
    links: Mapping[str, str] = field(default_factory=dict)  #: name -> path below the HTTP API

    @property
    def fingerprint(self) -> str:
        """Equal when there is nothing new to tell."""
        said = json.dumps(asdict(self), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(said.encode()).hexdigest()[:16]


def standings(
    connection: sa.Connection, campaigns: Collection[str], now: int, terms: Terms = NO_TERMS
) -> dict[str, tuple[Standing, ...]]:
    """Every part of each of *campaigns*, in order; a campaign without a revision is absent.

    *terms* tell whether an ended attempt is made anew by itself; without them its next action is a person's.
    """
    found = {}
    for campaign, parts in revision_parts(connection, campaigns).items():
        wanted = Wanted(campaign=campaign)
        wishes = projected(connection, wanted, now)
        seen = _previews(connection, wishes)
        found[campaign] = _of_campaign(parts, wishes, planned(connection, terms, wanted), seen)
    return found


def _of_campaign(
    parts: RevisionParts,
    wishes: Sequence[WishStatus],
    plan: Sequence[PlannedItem],
    previews: Mapping[str, str],
) -> tuple[Standing, ...]:
    heads = counts(wishes)
    is_done = parts.state == SourceSetState.APPROVED and is_complete(completion_of(wishes), heads)
    before = (_source_set(parts), _moderated(parts))
    table = item_table(wishes, plan)
    words = {"words": _words(wishes), "cost_at_risk": at_risk(plan) or "none"}
    waiting = {"wait_for_a_person": sum(one.next.needs_person for one in plan)}
    return before + tuple(
        Standing(
            part=part,
            campaign=parts.campaign,
            revision=parts.number,
            is_complete=is_done,
            version=_joined(version(parts)),
            numbers=_numbers(heads) | waiting | numbers(parts),
            words=words,
            table=table,
            links=_status_page(parts) | _SHOWN[part](wishes, previews),
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
    return Standing(
        Part.SOURCE_SET, parts.campaign, parts.number, is_done, STEP_VERSION, numbers, words,
        links=_status_page(parts),
    )  # fmt: skip


def _moderated(parts: RevisionParts) -> Standing:
    is_done = parts.state == SourceSetState.APPROVED
    words = {"state": parts.state, **parts.decision}
    version = parts.decision.get("policy") or STEP_VERSION
    return Standing(
        Part.MODERATED_SOURCE_SET, parts.campaign, parts.number, is_done, version, {}, words,
        links=_status_page(parts),
    )  # fmt: skip


def _status_page(parts: RevisionParts) -> dict[str, str]:
    return {"status_page": f"/status?campaign={quote(parts.campaign)}"}


def _previews(connection: sa.Connection, wishes: Iterable[WishStatus]) -> dict[str, str]:
    """By object key the id under which it can be looked at; a purged one has none."""
    keys = sorted({wish.object_key for wish in wishes if wish.object_key is not None})
    return ids_by_key(connection, keys) if keys else {}


def _videos(wishes: Iterable[WishStatus], previews: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for wish in wishes:
        seen = previews.get(wish.object_key or "")
        if seen is not None:
            yield wish.variant, f"/previews/{quote(seen, safe='')}"


def _published(wishes: Sequence[WishStatus], previews: Mapping[str, str]) -> dict[str, str]:
    ready = [wish for wish in wishes if wish.word is Word.READY]
    return {f"published {name}": path for name, path in islice(_videos(ready, previews), PREVIEWS)}


def _owned(wishes: Sequence[WishStatus], previews: Mapping[str, str]) -> dict[str, str]:
    return {f"video {name}": path for name, path in islice(_videos(wishes, previews), PREVIEWS)}


def _posters(wishes: Sequence[WishStatus], previews: Mapping[str, str]) -> dict[str, str]:
    return {f"poster {name}": f"{path}/poster" for name, path in islice(_videos(wishes, previews), PREVIEWS)}


def _nothing(wishes: Sequence[WishStatus], previews: Mapping[str, str]) -> dict[str, str]:  # noqa: ARG001
    return {}


#: Which outputs a part links to.
_SHOWN: Mapping[Part, Callable[[Sequence[WishStatus], Mapping[str, str]], dict[str, str]]] = MappingProxyType(
    {
        Part.GENERATION_ATTEMPTS: _nothing,
        Part.RENDITIONS: _owned,
        Part.THUMBNAILS: _posters,
        Part.TAG_INDEX: _published,
    }
)


def _numbers(heads: Counts) -> dict[str, int]:
    named = ("active", "usable", "unsuccessful", "unresolved", "ready")
    return {"wishes": heads.total} | {name: getattr(heads, name) for name in named}


def _words(wishes: Iterable[WishStatus]) -> str:
    """`4 ready, 1 failed`"""
    found = Counter(str(wish.word) for wish in wishes)
    return ", ".join(f"{number} {word}" for word, number in found.most_common()) or "nothing is wanted"


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
