"""`reelwright hold DEED`: legal holds, placed and released by name and reason.

Arguments and lines only; the work is `pipeline.steps.retain.hold`.
"""

from __future__ import annotations

import enum
import re
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli.opening import As, Json, acting, opened
from pipeline.cli.printing import emit, say, show
from pipeline.cli.retention import retaining_of
from pipeline.domain.retention import Scope

if TYPE_CHECKING:
    from pipeline.steps.retain.retaining import Retaining


class Deed(enum.StrEnum):
    PLACE = "place"
    RELEASE = "release"
    LIST = "list"


def hold(
    deed: Annotated[Deed, typer.Argument(metavar="DEED", help="place, release or list.")],
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="What to hold: a tenant, campaign, rendition, TENANT/SHA256; or a hold's id.",
        ),
    ] = None,
    matter: Annotated[str, typer.Option("--matter", help="The case it belongs to, by its own number.")] = "",
    reason: Annotated[str, typer.Option("--reason", help="Why; recorded for good.")] = "",
    every: Annotated[bool, typer.Option("--all", help="With list: also those that were released.")] = False,
    as_: As = None,
    json: Json = False,
) -> None:
    """Place, release or list legal holds: what nobody may purge."""
    if deed is not Deed.LIST and (name is None or not reason):
        raise typer.BadParameter(f"{deed} needs a NAME and --reason")
    if deed is Deed.PLACE and not matter:
        raise typer.BadParameter("place needs --matter")
    settings = acting(as_)
    with opened(settings) as adapters:
        retaining = retaining_of(settings, adapters)
        if deed is Deed.LIST:
            _list(retaining, active=not every, json=json)
        elif deed is Deed.PLACE:
            _place(retaining, str(name), matter, reason, json=json)
        else:
            _release(retaining, str(name), reason, json=json)


def scope_of(name: str) -> tuple[str, Scope, str]:
    """Tenant, scope and subject by the form of *name*; a rendition, also by its slot, is looked up."""
    if re.fullmatch(r"[a-z0-9-]+/[0-9a-f]{64}", name):
        return name.partition("/")[0], Scope.SOURCE_ASSET, name
    if re.fullmatch(r"[a-z0-9-]+\.[a-z0-9-]+", name):
        return name.partition(".")[0], Scope.CAMPAIGN, name
    if re.fullmatch(r"r-[0-9a-f]{32}", name) or "/" in name:
        return "", Scope.RENDITION, name
    return name, Scope.TENANT, name


def _place(retaining: Retaining, name: str, matter: str, reason: str, *, json: bool) -> None:
    from pipeline.steps.answer.find import find_rendition
    from pipeline.steps.retain.hold import place

    tenant, scope, subject = scope_of(name)
    if scope is Scope.RENDITION:
        with retaining.adapters.database.reading() as connection:
            found = find_rendition(connection, name)
        tenant, subject = found.tenant, found.id
    placed = place(retaining, tenant, scope, subject, matter=matter, reason=reason)
    if json:
        emit(placed)
        return
    say(f"hold {placed.id} on {scope} {subject}, matter {matter}")
    if placed.returned:
        say(f"{len(placed.returned)} things that were marked for purging are live again")
    for late in placed.too_late:
        say(f"too late for {late}: its purge had begun before the hold was placed")


def _release(retaining: Retaining, name: str, reason: str, *, json: bool) -> None:
    from pipeline.steps.retain.hold import release

    release(retaining, name, reason=reason)
    if json:
        emit({"hold": name, "released": True})
    else:
        say(f"hold {name} released; what is due goes into the next plan")


def _list(retaining: Retaining, *, active: bool, json: bool) -> None:
    from pipeline.steps.retain.retaining import utc
    from resources.database.legal_holds import all_holds

    with retaining.adapters.database.reading() as connection:
        found = [row._asdict() for row in all_holds(connection, active=active)]
    if json:
        emit({"holds": found})
        return
    columns = ("id", "matter", "scope", "subject", "placed_by", "reason")
    rows = [
        (*(one[name] for name in columns), f"{utc(one['placed_at']):%Y-%m-%d}",
         "" if one["released_at"] is None else f"{utc(one['released_at']):%Y-%m-%d} by {one['released_by']}")
        for one in found
    ]  # fmt: skip
    show((*columns, "since", "released"), rows, "" if rows else "nothing is held")
