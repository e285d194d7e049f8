"""`reelwright plan`: the next action of every wanted video, why, and what is at stake.

Arguments and lines only; the answer is `pipeline.steps.operate.recover`, and it changes nothing.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli.opening import Json, acting, opened_database
from pipeline.cli.printing import emit, show
from pipeline.domain.units import money, utc

if TYPE_CHECKING:
    from pipeline.documents.settings import Settings
    from pipeline.steps.operate.recover import PlannedItem

COLUMNS = ("wish", "next", "by", "why", "at risk", "output gone in")


def plan(
    campaign: Annotated[
        str | None,
        typer.Argument(metavar="[CAMPAIGN]", help="TENANT.CAMPAIGN or TENANT.CAMPAIGN/rN; without it, all."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Also videos that need nothing.")] = False,
    json: Json = False,
) -> None:
    """Say what happens next to every wanted video, and change nothing."""
    from pipeline.steps.operate.recover import needs_attention

    items, now = _items(acting(), campaign)
    shown = items if everything or json else needs_attention(items)
    if json:
        emit({"now": utc(now), "items": [_document(item, now) for item in items]})
    else:
        show(COLUMNS, [_row(item, now) for item in shown], _caption(items, len(shown)))


def _items(settings: Settings, campaign: str | None) -> tuple[list[PlannedItem], int]:
    from pipeline.steps.answer.find import find_revision
    from pipeline.steps.answer.status import Wanted
    from pipeline.steps.operate.recover import recovery_plan
    from resources.connect import provider_terms

    with opened_database(settings) as database:
        wanted = Wanted()
        if campaign is not None:
            with database.reading() as connection:
                found = find_revision(connection, campaign)
            wanted = Wanted(campaign=found.campaign, revision=found.number)
        return recovery_plan(database, provider_terms(settings), wanted), database.now()


def _document(item: PlannedItem, now: int) -> dict[str, object]:
    return {
        "wish": item.wish,
        "campaign": item.campaign,
        "rendition": item.rendition,
        "attempt": item.attempt,
        "action": item.next.action,
        "why": item.next.why,
        "stage": item.next.stage,
        "needs_person": item.next.needs_person,
        "cost_at_risk": money(item.cost_at_risk),
        "currency": item.currency,
        "output_gone_at": None if item.output_gone_at is None else utc(item.output_gone_at),
        "output_gone_in_seconds": _seconds_left(item, now),
    }


def _row(item: PlannedItem, now: int) -> tuple[object, ...]:
    left = _seconds_left(item, now)
    return (
        item.wish,
        item.next.action.replace("_", " "),
        "a person" if item.next.needs_person else (item.next.stage or "itself"),
        item.next.why,
        f"{money(item.cost_at_risk)} {item.currency}" if item.cost_at_risk else "",
        "" if left is None else str(timedelta(seconds=left)),
    )


def _caption(items: list[PlannedItem], shown: int) -> str:
    people = sum(item.next.needs_person for item in items)
    rest = f", {len(items) - shown} need nothing" if shown < len(items) else ""
    return f"{len(items)} wanted{rest}; {people} wait for a person. Nothing was changed."


def _seconds_left(item: PlannedItem, now: int) -> int | None:
    return None if item.output_gone_at is None else max(0, (item.output_gone_at - now) // 1_000_000)
