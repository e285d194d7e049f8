"""`reelwright rollback`, `withdraw`: what is shown, and what is no longer wanted.

Arguments and lines only; the work is `pipeline.steps`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli.opening import As, Json, acting, opened
from pipeline.cli.printing import emit, say

if TYPE_CHECKING:
    from pipeline.documents.settings import Settings
    from resources.adapters import Adapters

Reason = Annotated[str, typer.Option("--reason", help="Why; recorded for good.")]


def rollback(
    slot: Annotated[
        str, typer.Argument(metavar="SLOT", help="TENANT.CAMPAIGN/LOCALE/RATIO/SECONDSs or a variant.")
    ],
    reason: Reason,
    to: Annotated[
        int | None, typer.Option("--to", min=1, help="The number of an earlier publication.")
    ] = None,
    rendition: Annotated[str | None, typer.Option("--rendition", help="Or the rendition to show.")] = None,
    as_: As = None,
    json: Json = False,
) -> None:
    """Show an earlier video in a slot again."""
    if to is not None and rendition is not None:
        raise typer.BadParameter("--to and --rendition both say what to show")
    settings = acting(as_)
    with opened(settings) as adapters:
        done = _roll_back(adapters, settings, slot, to, rendition, reason)
    if json:
        emit(done)
    else:
        say(f"{done['slot']}: {done['outcome']}; shows {done['shows']}")


def _roll_back(
    adapters: Adapters, settings: Settings, name: str, number: int | None, rendition: str | None, reason: str
) -> dict[str, object]:
    from pipeline.steps.answer.find import earlier_publication, find_rendition, find_slot
    from pipeline.steps.operate.roll_back import Target, roll_back

    with adapters.database.reading() as connection:
        slot = find_slot(connection, name)
        named = None if rendition is None else find_rendition(connection, rendition).id
        if number is None and named is None:
            number = earlier_publication(connection, slot)
    target = Target(number, named)
    outcome = roll_back(
        adapters.database, adapters.index, slot.id, slot.tenant,
        to=target, actor=settings.actor, reason=reason,
    )  # fmt: skip
    return {"slot": slot.id, "outcome": str(outcome), "shows": str(target)}


def withdraw(
    subject: Annotated[
        str,
        typer.Argument(metavar="SUBJECT", help="An undecided revision, or a slot that shows a video."),
    ],
    reason: Reason,
    as_: As = None,
    json: Json = False,
) -> None:
    """Take back an undecided revision, or what a slot shows."""
    settings = acting(as_)
    with opened(settings) as adapters:
        name, is_new = _withdraw(adapters, settings, subject, reason)
    if json:
        emit({"subject": name, "outcome": "withdrawn", "changed": is_new})
    else:
        say(f"{name}: withdrawn" + ("" if is_new else " before"))


def _withdraw(adapters: Adapters, settings: Settings, subject: str, reason: str) -> tuple[str, bool]:
    from pipeline.steps.answer.find import find_revision, find_slot, is_slot_name
    from pipeline.steps.produce import moderate
    from pipeline.steps.produce.withdraw import withdraw as take_from_view

    said = {"reason": reason, "actor": settings.actor}
    if is_slot_name(subject):
        with adapters.database.reading() as connection:
            slot = find_slot(connection, subject)
        return slot.id, take_from_view(adapters.database, adapters.index, slot.id, slot.tenant, **said)
    with adapters.database.reading() as connection:
        revision = find_revision(connection, subject).id
    return revision, moderate.withdraw(adapters.database, revision, **said)
