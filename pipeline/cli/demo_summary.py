"""What the demo says at its end: the videos, one search, what it cost, where to look next.

Belongs here: words and tables. Does not belong here: running anything (`demo`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import sqlalchemy as sa

from pipeline.cli.printing import say, show
from pipeline.documents.settings import Settings
from pipeline.steps.answer.search import Filters, SearchAnswer, search
from pipeline.steps.answer.status import WishStatus
from resources.adapters import Adapters
from resources.database.shown import metered, shown_videos, stored_bytes

COLUMNS = ("slot", "state", "video", "seconds", "size", "thumbnails", "tags")
WORDS = "parcel"
KIB = 1024


def print_summary(
    adapters: Adapters,
    settings: Settings,
    campaign: str,
    wishes: Sequence[WishStatus],
    seconds: float,
    starts_before: int | None,
) -> None:
    """*starts_before*: of an earlier run that completed everything; None when this run did the work."""
    tenant = campaign.partition(".")[0]
    database = adapters.database
    with database.reading() as connection:
        videos = {row.variant: row for row in shown_videos(connection, campaign)}
        meters, owned = metered(connection, campaign), stored_bytes(connection, campaign)
    everything = search(database, adapters.index, tenant, filters=Filters(campaign=campaign))
    tags = {one.slot: one.tags for one in everything.found}
    say("")
    show(COLUMNS, [_row(wish, videos.get(wish.variant), tags, settings) for wish in wishes])
    say("")
    _say_search(search(database, adapters.index, tenant, WORDS, Filters(campaign=campaign)))
    _say_cost(meters, owned, seconds, starts_before)
    _say_next(settings, campaign)


def _row(
    wish: WishStatus,
    video: sa.Row[Any] | None,
    tags: Mapping[str, Mapping[str, Sequence[str]]],
    settings: Settings,
) -> tuple[object, ...]:
    state = ", ".join((str(wish.word), *wish.why)) + (f": {wish.outcome}" if wish.outcome else "")
    if video is None:
        return (wish.slot, state, "", "", "", "", "")
    found = tags.get(wish.slot, {})
    return (
        wish.slot.partition("/")[2],
        str(wish.word),
        f"{settings.bucket}/{video.key}"
        if settings.bucket
        else os.path.relpath(settings.objects / video.key),
        f"{float(Fraction(video.facts['video']['duration_seconds'])):.2f}",
        _size(video.size_bytes),
        video.pictures,
        " ".join(f"{name}={value}" for name, values in found.items() for value in values),
    )


def _say_search(answer: SearchAnswer) -> None:
    say(f"search {WORDS!r}: {len(answer.found)} found")
    for one in answer.found:
        say(f"  {one.slot}")
    say("")


def _say_cost(meters: Mapping[str, int], owned: int, seconds: float, starts_before: int | None) -> None:
    starts = meters.get("generation_starts", 0)
    say(
        f"cost: {starts} generation starts, {meters.get('generated_seconds', 0)} generated seconds,"
        f" {_size(meters.get('retrieved_bytes', 0))} retrieved, {_size(owned)} stored,"
        f" {meters.get('status_requests', 0)} status requests; no money: the local renderer is free"
    )
    if starts_before is None:
        say(f"done in {seconds:.0f} s")
    else:
        say(
            f"nothing was made or paid for twice: an earlier run completed this campaign with"
            f" {starts_before} starts, and {starts} is what they are now"
        )


def _say_next(settings: Settings, campaign: str) -> None:
    tenant, _, folder = campaign.partition(".")
    intake = os.path.relpath(settings.objects / "intake" / tenant / folder)
    say("")
    say("next:")
    say(f"  make dev                           Dagster at http://127.0.0.1:{settings.dagster_port}:")
    say("                                     runs, materializations and lineage of this campaign")
    say(f"  reelwright status {campaign}")
    say(f"  reelwright search parcel --tenant {tenant} --locale de-DE")
    say(f"  {intake}: its receipt; change the copy, raise `revision`,")
    say("                                     and only what changed is made")


def _size(size_bytes: int) -> str:
    return f"{size_bytes / KIB / KIB:.2f} MiB" if size_bytes >= KIB * KIB else f"{size_bytes / KIB:.1f} KiB"
