"""What must be true before a month is closed, item by item, each with the command that mends it (F6).

Belongs here: the looks, and what they say. Does not belong here: closing (`close_period`).

Some of it a person may accept with a reason, which is kept in the month's accounts. That a month is over,
that the ones before it are closed and that every byte was measured, nobody can accept away.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import sqlalchemy as sa

from pipeline.domain.periods import Month
from pipeline.domain.rating import PriceCard, PriceCards
from pipeline.domain.units import SECOND, utc
from pipeline.steps.account.match_invoice import result_of
from pipeline.steps.account.meter_storage import unmeasured_days
from pipeline.steps.account.month import Sums, added_up
from resources.database.database import Database
from resources.database.invoices import invoices_of, lines_of_invoice, live_providers
from resources.database.ledger import currencies_of
from resources.database.periods import closed_months, months_with_money
from resources.database.schema import delivery_files, delivery_quarantine, publications

HOUR = 3_600 * SECOND
#: CloudFront delivers a line up to a day late; the hour more is ours, for reading it.
LATENESS = 25 * HOUR
#: Things that an item names; the rest of them are counted.
NAMED = 12


@dataclass(frozen=True, slots=True)
class Item:
    """One line of the checklist."""

    name: str
    holds: bool
    says: str
    missing: tuple[str, ...] = ()
    command: str = ""  #: what mends it
    may_be_accepted: bool = True
    accepted: str = ""  #: why it was accepted though it does not hold

    @property
    def is_settled(self) -> bool:
        return self.holds or bool(self.accepted)

    def __str__(self) -> str:
        more = f" and {len(self.missing) - NAMED} more" if len(self.missing) > NAMED else ""
        named = ", ".join(self.missing[:NAMED]) + more
        return f"{self.name}: {self.says}" + (f" ({named})" if named else "")


ITEMS = (
    "earlier_months_closed", "month_is_over", "storage_measured", "priced_by_own_card", "delivery_hours",
    "quarantine", "unattributed_share", "unpriced", "invoices_matched", "one_currency",
)  # fmt: skip


def checklist(
    database: Database, cards: PriceCards, month: Month, accepted: Mapping[str, str] | None = None
) -> tuple[Item, ...]:
    """Everything that is looked at before *month* is closed; *accepted* holds reasons by item's name."""
    reasons = accepted or {}
    now, card = database.now(), card_of(cards, month)
    unmeasured = unmeasured_days(database, month)
    with database.reading() as connection:
        sums = added_up(connection, month)
        found = [
            _earlier(connection, month),
            _over(month, now),
            Item(
                "storage_measured", not unmeasured, "storage of every day is measured",
                tuple(map(str, unmeasured)), f"reelwright rate {month}", may_be_accepted=False,
            ),
            _priced_by(card, cards, month),
            *_delivery(connection, month),
            _unattributed(sums, card),
            _unpriced(sums),
            _invoices(connection, month),
            _one_currency(connection, month),
        ]  # fmt: skip
    return tuple(_with_reason(item, reasons.get(item.name, "")) for item in found)


def card_of(cards: PriceCards, month: Month) -> PriceCard | None:
    """The card of the month's last day: it says how money is stated."""
    return cards.on(month.next.first_day - timedelta(days=1))


def _with_reason(item: Item, reason: str) -> Item:
    if item.holds or not item.may_be_accepted or not reason:
        return item
    return replace(item, accepted=reason)


def _earlier(connection: sa.Connection, month: Month) -> Item:
    closed = closed_months(connection)
    still_open = tuple(str(one) for one in months_with_money(connection) if one < month and one not in closed)
    command = f"reelwright close {still_open[0]} --as NAME" if still_open else ""
    return Item(
        "earlier_months_closed", not still_open, "every month before it is closed", still_open, command,
        may_be_accepted=False,
    )  # fmt: skip


def _over(month: Month, now: int) -> Item:
    since = utc(month.end + LATENESS)
    return Item(
        "month_is_over", now >= month.end + LATENESS,
        "the month is over, and so is the time in which its logs may still come",
        () if now >= month.end + LATENESS else (f"from {since:%Y-%m-%d %H:%M} UTC on",),
        may_be_accepted=False,
    )  # fmt: skip


def _priced_by(card: PriceCard | None, cards: PriceCards, month: Month) -> Item:
    missing = [str(day) for day in month.days if cards.on(day) is None]
    if missing:
        return Item(
            "priced_by_own_card", False, "a price card holds on every day", tuple(missing),
            "write a card and name it in the setting `price_cards`", may_be_accepted=False,
        )  # fmt: skip
    is_sample = card is not None and card.is_sample
    return Item(
        "priced_by_own_card", not is_sample, "prices are your own, not the sample's",
        (f"{card.version} is a sample",) if card is not None and is_sample else (),
        "write a card and name it in the setting `price_cards`",
    )  # fmt: skip


def _delivery(connection: sa.Connection, month: Month) -> Iterator[Item]:
    file = delivery_files.c
    wanted = sa.select(file.id, file.name, file.verdict, file.hours).where(
        sa.or_(
            sa.and_(file.first_at < month.end, file.last_at >= month.start),
            sa.and_(
                file.verdict == "refused", file.read_at >= month.start, file.read_at < month.end + LATENESS
            ),
        )
    )
    rows = connection.execute(wanted).all()
    read = [row for row in rows if row.verdict == "read"]
    seen = {int(hour) for row in read for hour in row.hours}
    is_delivered = bool(rows) or _was_shown(connection, month)
    lacking = (
        [hour for hour in range(month.start, month.end, HOUR) if hour not in seen] if is_delivered else []
    )
    yield Item(
        "delivery_hours", not lacking, "every hour has a line in a delivery log", tuple(_spans(lacking)),
        "reelwright usage read FILE... --keep",
    )  # fmt: skip
    refused = [f"{row.name} refused" for row in rows if row.verdict == "refused"]
    quarantined = [
        f"{one.number} lines {one.reason}, the first is line {one.line} of {one.name}"
        for one in _set_aside(connection, [row.id for row in rows])
    ]
    yield Item(
        "quarantine", not (refused or quarantined), "no line was set aside and no log file refused",
        (*quarantined, *refused), "look at the named lines; deliver refused files again, whole",
    )  # fmt: skip


def _set_aside(connection: sa.Connection, files: Sequence[str]) -> Sequence[sa.Row[Any]]:
    """How many lines of *files* were set aside by each reason, and where the first of them stands."""
    aside, file = delivery_quarantine.c, delivery_files.c
    ranked = (
        sa.select(
            aside.reason, aside.line, file.name,
            sa.func.count().over(partition_by=aside.reason).label("number"),
            sa.func.row_number()
            .over(partition_by=aside.reason, order_by=(file.name, aside.line))
            .label("place"),
        )
        .join(delivery_files, file.id == aside.file)
        .where(aside.file.in_(files))
        .subquery()
    )  # fmt: skip
    return connection.execute(sa.select(ranked).where(ranked.c.place == 1).order_by(ranked.c.reason)).all()


def _was_shown(connection: sa.Connection, month: Month) -> bool:
    shown = publications.c
    return connection.scalar(
        sa.select(shown.id)
        .where(
            shown.object.is_not(None), shown.from_at < month.end,
            sa.or_(shown.until_at.is_(None), shown.until_at > month.start),
        )
        .limit(1)
    ) is not None  # fmt: skip


def _spans(hours: Sequence[int]) -> Iterator[str]:
    """Hours as spans: `2026-11-03 04:00-06:00` is two of them."""
    start = previous = None
    for hour in (*hours, None):
        if start is not None and previous is not None and (hour is None or hour != previous + HOUR):
            yield f"{utc(start):%Y-%m-%d %H:%M} to {utc(previous + HOUR):%Y-%m-%d %H:%M}"
            start = hour
        start = hour if start is None else start
        previous = hour


def _unattributed(sums: Sums, card: PriceCard | None) -> Item:
    limit = card.unattributed_limit if card else Decimal("0.01")
    over = [
        row
        for row in sums.unattributed_rows()
        if row.meter == "delivered_bytes" and row.of_units and row.units / row.of_units > limit
    ]
    named = tuple(f"{row.units} of {row.of_units} bytes, {row.units / row.of_units:.2%}" for row in over)
    return Item(
        "unattributed_share", not over, f"at most {limit:.2%} of delivered bytes are nobody's", named,
        "reelwright ledger MONTH --unattributed",
    )  # fmt: skip


def _unpriced(sums: Sums) -> Item:
    counts = Counter[str]()
    for row in sums.unpriced_rows():
        counts[f"{row.meter}: {row.reason}"] += 1
    return Item(
        "unpriced", not counts, "everything that was used has a price", tuple(sorted(counts)),
        "add the price to the card, then `reelwright rate MONTH`",
    )  # fmt: skip


def _invoices(connection: sa.Connection, month: Month) -> Item:
    results = [result_of(row, lines_of_invoice(connection, row.id)) for row in invoices_of(connection, month)]
    matched = {one.provider for one in results}
    missing = [f"no invoice of {name}" for name in live_providers(connection, month) if name not in matched]
    for one in results:
        odd = {"different": one.different, "only theirs": one.only_theirs, "only ours": one.only_ours}
        told = ", ".join(f"{number} {word}" for word, number in odd.items() if number)
        if told:
            missing.append(f"{one.invoice} of {one.provider}: {told}")
    return Item(
        "invoices_matched", not missing, "every provider's invoice matches line by line", tuple(missing),
        f"reelwright invoice match FILE --provider NAME --month {month}",
    )  # fmt: skip


def _one_currency(connection: sa.Connection, month: Month) -> Item:
    found = currencies_of(connection, month)
    return Item(
        "one_currency", len(found) < 2, "the month is kept in one currency",
        tuple(found) if len(found) > 1 else (),
        "keep all cards in one currency, then `reelwright rate MONTH`", may_be_accepted=False,
    )  # fmt: skip
