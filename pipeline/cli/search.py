"""`reelwright search`: published videos by words, tags and fields, a page at a time.

Arguments and lines only; the answer is `pipeline.steps.answer.search`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli.opening import Json, acting, opened
from pipeline.cli.printing import emit, show
from pipeline.domain.errors import IndexRefused
from pipeline.domain.tags import Visibility

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipeline.steps.answer.search import Filters, SearchAnswer

COLUMNS = ("slot", "visibility", "type", "tags", "video")


def search(
    words: Annotated[list[str] | None, typer.Argument(help="All of them must occur.")] = None,
    tenant: Annotated[
        str | None, typer.Option("--tenant", help="Whose videos; needed where there is more than one.")
    ] = None,
    campaign: Annotated[str | None, typer.Option("--campaign", help="TENANT.CAMPAIGN.")] = None,
    locale: Annotated[str | None, typer.Option("--locale", help="Exactly this one, e.g. en-GB.")] = None,
    visibility: Annotated[
        list[Visibility] | None, typer.Option("--visibility", help="public, internal or private.")
    ] = None,
    asset_type: Annotated[str | None, typer.Option("--asset-type", help="Exactly this one.")] = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", help="NAME=VALUE, or a value of any name; may be repeated.")
    ] = None,
    facet: Annotated[
        list[str] | None, typer.Option("--facet", help="Also count by this field or tag; may be repeated.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="Videos a page.")] = 50,
    after: Annotated[str | None, typer.Option("--after", help="The cursor of the page before.")] = None,
    json: Json = False,
) -> None:
    """Find published videos by words, tags and fields."""
    filters = _filters(tag, campaign, locale, visibility, asset_type)
    answer = _search(tenant, " ".join(words or []), filters, limit, after, facet or [])
    if json:
        emit(answer)
    else:
        show(COLUMNS, _rows(answer), _caption(answer))


def _filters(
    tag: list[str] | None,
    campaign: str | None,
    locale: str | None,
    visibility: list[Visibility] | None,
    asset_type: str | None,
) -> Filters:
    from pipeline.documents.written import canonical_locale
    from pipeline.steps.answer.search import Filters

    try:
        canonical = None if locale is None else canonical_locale(locale)
    except ValueError as error:
        raise typer.BadParameter(f"{locale!r} is no locale; write BCP 47, e.g. en-GB") from error
    return Filters(
        tuple(tag or ()), campaign, canonical, tuple(visibility) if visibility else None, asset_type
    )


def _search(
    tenant: str | None, words: str, filters: Filters, limit: int, after: str | None, facets: list[str]
) -> SearchAnswer:
    from pipeline.steps.answer.find import find_campaign, find_tenant
    from pipeline.steps.answer.search import search as step

    with opened(acting()) as adapters:
        with adapters.database.reading() as connection:
            if filters.campaign is not None and tenant is None:
                tenant = find_campaign(connection, filters.campaign).tenant
            owner = find_tenant(connection, tenant)
        try:
            return step(
                adapters.database, adapters.index, owner, words, filters,
                limit=limit, cursor=after, facets=facets,
            )  # fmt: skip
        except IndexRefused as refusal:
            raise typer.BadParameter(f"--after: {refusal}; leave it out to begin anew") from refusal


def _rows(answer: SearchAnswer) -> list[tuple[object, ...]]:
    return [
        (one.slot, one.visibility, one.asset_type, _tags(one.tags), one.object_key) for one in answer.found
    ]


def _tags(tags: Mapping[str, tuple[str, ...]]) -> str:
    return " ".join(f"{name}={value}" for name, values in tags.items() for value in values)


def _caption(answer: SearchAnswer) -> str:
    lines = [f"{len(answer.found)} found" if answer.found else "nothing found"]
    for name, counts in answer.facets.items():
        lines.append(f"{name}: " + ", ".join(f"{value} {number}" for value, number in counts.items()))
    if answer.slots_in_hand_over:
        lines.append(f"{answer.slots_in_hand_over} slots are changing hands: counts may be off by as many")
    if answer.cursor:
        lines.append(f"more: --after {answer.cursor}")
    return "\n".join(lines)
