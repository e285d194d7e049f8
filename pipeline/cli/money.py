"""`reelwright rate`, `ledger`, `close`, `invoice`: a month's money, from usage to a closed statement.

Arguments and lines only; the work is `pipeline.steps.account`, as the asset `cost_ledger` does it.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipeline.cli.opening import As, Json, acting, opened_database
from pipeline.cli.printing import emit, say, show
from pipeline.domain.periods import Month

if TYPE_CHECKING:
    from pipeline.domain.ledger import MonthLedger
    from pipeline.steps.account.checklist import Item

RATED = ("day", "posting", "period", "cause", "lines", "amount")
TOTALS = ("spend", "tenant", "campaign", "cost centre", "meter", "units", "amount", "corrects")
UNPRICED = ("tenant", "campaign", "meter", "provider", "units", "why")
MATCHED = ("standing", "reference", "attempt", "theirs", "ours", "why")
ITEMS = ("item", "stands", "what", "missing")


def _month(text: str) -> Month:
    try:
        return Month.named(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


MonthName = Annotated[Month, typer.Argument(metavar="MONTH", parser=_month, help="As 2026-11, in UTC.")]


def rate(
    month: MonthName,
    settle: Annotated[
        bool, typer.Option("--settle", help="Also post what only tiers and ends of attempts moved.")
    ] = False,
    as_: As = None,
    json: Json = False,
) -> None:
    """Turn a month's usage into ledger lines; only what differs is posted."""
    from pipeline.steps.account import rate as step
    from pipeline.steps.account.meter_storage import meter_storage, unmeasured_days
    from resources.connect import price_cards

    settings = acting(as_)
    cards = price_cards(settings)
    with opened_database(settings) as database:
        for day in unmeasured_days(database, month):
            meter_storage(database, [day])
        done = step.rate(database, cards, month, actor=settings.actor, settle=settle)
    if json:
        emit(_plain(done) | {"lines": done.lines, "amount": done.amount})
        return
    rows = [(one.day, one.posting, one.period, one.cause, one.lines, one.amount) for one in done.days]
    show(RATED, rows, f"{done.lines} lines posted in {done.period}, {done.amount} in all.")


def ledger(month: MonthName, json: Json = False) -> None:
    """Say what a month cost: by account, unpriced, nobody's, corrected."""
    from pipeline.steps.account.month import month_ledger
    from resources.connect import price_cards

    settings = acting()
    cards = price_cards(settings)
    with opened_database(settings) as database:
        found = month_ledger(database, cards, month)
    if json:
        emit(_plain(found) | {"shown": found.shown, "billed": found.billed})
        return
    totals = [
        (
            one.key.spend, one.key.tenant, one.key.campaign or "(nobody's)", one.key.cost_center,
            one.key.meter, one.units, one.shown, one.key.corrects,
        )
        for one in found.totals
    ]  # fmt: skip
    show(TOTALS, totals, _caption(found))
    unpriced = [
        (one.tenant, one.campaign, one.meter, one.provider, one.units, one.reason) for one in found.unpriced
    ]
    if unpriced:
        show(UNPRICED, unpriced, "Without a price, and in no amount above.")
    for nobodys in found.unattributed:
        say(
            f"nobody's: {nobodys.units} of {nobodys.of_units} {nobodys.meter},"
            f" {nobodys.amount} {found.currency}"
        )
    for invoice_ in found.invoices:
        say(
            f"invoice {invoice_.invoice} of {invoice_.provider}: {invoice_.matched} matched,"
            f" {invoice_.different} different, {invoice_.only_theirs} only theirs,"
            f" {invoice_.only_ours} only ours; {invoice_.unexplained} {invoice_.currency} unexplained"
        )


def _caption(found: MonthLedger) -> str:
    mark = found.watermark
    closed = f"closed by {mark.closed_by}" if mark.closed_at else f"{mark.status}: provisional"
    cards = ", ".join(found.cards) or "no card"
    amount = _amount(found.billed, found.shown, found.currency)
    return f"{found.month}, {closed}; {amount} by {cards}, {found.line_count} lines."


def _amount(billed: Decimal, shown: Decimal, currency: str) -> str:
    """What is billed, as the report says it too, and beside it what is not."""
    test = shown - billed
    beside = f" billed and {test} {currency} of test spend" if test else ""
    return f"{billed} {currency}{beside}"


def close(
    month: MonthName,
    accept: Annotated[
        list[str] | None,
        typer.Option("--accept", metavar="ITEM=WHY", help="What was looked at and is accepted; repeatable."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the checklist.")] = False,
    as_: As = None,
    json: Json = False,
) -> None:
    """Close a month for good, once nothing is missing."""
    from pipeline.steps.account.checklist import checklist
    from pipeline.steps.account.close_period import close_period
    from resources.connect import price_cards

    settings = acting(as_)
    cards, accepted = price_cards(settings), _accepted(accept or ())
    with opened_database(settings) as database:
        if dry_run:
            _show_items(checklist(database, cards, month, accepted), json=json)
            return
        done = close_period(database, cards, month, by=settings.actor, accepted=accepted)
    if json:
        emit(_plain(done))
        return
    _show_items(done.checklist, json=False)
    say(
        f"{month} is closed by {done.by}: {_amount(done.billed, done.shown, done.currency)}"
        f" over {done.lines} lines;"
        f" statement {done.statement_sha256[:12]}"
    )


def _accepted(given: Sequence[str]) -> Mapping[str, str]:
    found = {}
    for one in given:
        name, sign, why = one.partition("=")
        if not sign:
            raise typer.BadParameter(f"--accept {one!r}: write ITEM=WHY")
        found[name] = why
    return found


def _show_items(items: Sequence[Item], *, json: bool) -> None:
    if json:
        emit([_plain(item) for item in items])
        return
    rows = [
        (
            item.name, "yes" if item.holds else (f"accepted: {item.accepted}" if item.accepted else "NO"),
            item.says, ", ".join(item.missing[:12]),
        )
        for item in items
    ]  # fmt: skip
    show(ITEMS, rows)


class Deed(enum.StrEnum):
    MATCH = "match"


def invoice(
    deed: Annotated[Deed, typer.Argument(metavar="match", help="What to do: match.")],  # noqa: ARG001  the only one
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The provider's invoice or export, as CSV.")],
    provider: Annotated[
        str, typer.Option("--provider", metavar="NAME", help="As the provider list names it.")
    ],
    month: Annotated[Month, typer.Option("--month", metavar="MONTH", parser=_month, help="As 2026-11.")],
    as_: As = None,
    json: Json = False,
) -> None:
    """Lay a provider's invoice beside our attempts, line by line."""
    from pipeline.domain.errors import BadSettings
    from pipeline.steps.account.match_invoice import MATCHED as FITS
    from pipeline.steps.account.match_invoice import match_invoice
    from resources.connect import price_cards, provider_terms

    settings = acting(as_)
    card = price_cards(settings).on(month.first_day)
    if card is None:
        raise BadSettings("price_cards", f"no card holds on {month.first_day}", "name a card that does")
    listed = provider_terms(settings)
    try:
        content = file.read_bytes()
    except OSError as error:
        raise BadSettings(str(file), f"cannot be read: {error.strerror}", "name a readable file") from error
    with opened_database(settings) as database:
        found = match_invoice(
            database, content, name=file.name, provider=provider, listed=listed, month=month,
            currency=card.currency, actor=settings.actor,
        )  # fmt: skip
    if json:
        emit(_plain(found))
        return
    rows = [
        (one.standing.replace("_", " "), one.reference, one.attempt, one.theirs, one.ours, one.why)
        for one in found.lines
        if one.standing != FITS
    ]
    result = found.result
    show(
        MATCHED, rows,
        f"{result.matched} matched; {result.different} different, {result.only_theirs} only theirs,"
        f" {result.only_ours} only ours; of {result.total} {result.currency},"
        f" {result.unexplained} unexplained.",
    )  # fmt: skip


def _plain(value: Any) -> Any:
    """A value of the ledger as JSON holds it: months as `2026-11`, exact numbers as text without exponent."""
    if isinstance(value, Month):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {part.name: _plain(getattr(value, part.name)) for part in fields(value)}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Decimal):
        return format(value, "f")
    return value.isoformat() if hasattr(value, "isoformat") else value
