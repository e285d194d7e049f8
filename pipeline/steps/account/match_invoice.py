"""Lay a provider's invoice or usage export beside our attempts, line by line (F6).

Belongs here: reading the export, and which line is which attempt's. Does not belong here: whether a month may
be closed with what does not match (`close_period`).

A line names one of our attempts by the provider's own handle, our idempotency key or our attempt's id. Lines
of one attempt are added up. Amounts match when they differ by no more than half of the last place that the
export writes.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

from pipeline.domain.errors import BadDocument, Fault, NotAllowed
from pipeline.domain.ledger import InvoiceResult
from pipeline.domain.periods import Month
from pipeline.domain.rating import exact_sum
from resources.database.database import Database, Transaction
from resources.database.invoices import (
    OurAttempt,
    keep_invoice,
    our_attempts,
    providers_asked,
    references,
)
from resources.database.periods import closed_months

MATCHED, DIFFERENT, THEIRS, OURS = "matched", "different", "only_theirs", "only_ours"
STANDINGS = (MATCHED, DIFFERENT, THEIRS, OURS)
#: Names of columns as exports write them, in lower case.
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "reference": ("reference", "job_id", "task_id", "generation_id", "request_id", "handle", "id"),
    "amount": ("amount", "cost", "total", "price"),
    "currency": ("currency",),
}
MAX_BYTES = 64 * 1024 * 1024
_AMOUNT = re.compile(r"-?\d{1,12}(\.\d{1,12})?")


@dataclass(frozen=True, slots=True)
class TheirLine:
    """One line of an export."""

    number: int  #: in the file, from 1, the header counted
    reference: str
    amount: Decimal


@dataclass(frozen=True, slots=True)
class InvoiceLine:
    """What became of a line, or of an attempt that no line names."""

    standing: str
    reference: str
    attempt: str
    rendition: str
    tenant: str
    theirs: Decimal | None
    ours: Decimal | None
    why: str


@dataclass(frozen=True, slots=True)
class Matching:
    """An invoice laid beside our books."""

    result: InvoiceResult
    lines: tuple[InvoiceLine, ...]


def match_invoice(
    database: Database,
    content: bytes,
    *,
    name: str,
    provider: str,
    listed: Collection[str],
    month: Month,
    currency: str,
    actor: str,
) -> Matching:
    """Match *content* (CSV) against what *month* says of *provider*, and keep the result.

    The same file again takes the place of its earlier result. Raises BadDocument for a file that cannot be
    read or is in another currency than *currency*, that of our books, and NotAllowed for a closed month and
    for a provider that is neither *listed* nor was ever asked.
    """
    theirs = read_export(content, name=name, currency=currency)
    with database.reading() as connection:
        known_providers = providers_asked(connection) | set(listed)
        if provider not in known_providers:
            problem = f"there is no provider {provider!r}; there are {', '.join(sorted(known_providers))}"
            raise NotAllowed(f"invoice {name}", problem, "name one of them as `--provider`")
        if month in closed_months(connection):
            raise NotAllowed(f"invoice {name}", f"{month} is closed", "match it before the close")
        known = references(connection, provider)
        ours = our_attempts(connection, provider, month)
    lines = tuple(_laid_beside(theirs, known, ours))
    total = exact_sum(line.amount for line in theirs)
    identity = hashlib.sha256(f"{provider}\n{month}\n".encode() + content).hexdigest()
    header = {
        "id": identity, "tenant": "*", "provider": provider, "period": str(month), "currency": currency,
        "name": name, "total": format(total, "f"), "lines": len(theirs), "actor": actor,
    }  # fmt: skip
    database.run(partial(_keep, header=header, lines=lines))
    return Matching(_result(header, lines), lines)


def _keep(tx: Transaction, header: Mapping[str, Any], lines: Sequence[InvoiceLine]) -> None:
    rows = [
        {
            "number": number, "tenant": line.tenant or "*", "standing": line.standing,
            "reference": line.reference, "attempt": line.attempt, "rendition": line.rendition,
            "theirs": _text(line.theirs), "ours": _text(line.ours), "why": line.why,
        }
        for number, line in enumerate(lines, 1)
    ]  # fmt: skip
    keep_invoice(tx, header, rows)


def _text(value: Decimal | None) -> str | None:
    return None if value is None else format(value, "f")


def result_of(header: Any, rows: Sequence[Any]) -> InvoiceResult:
    """A kept invoice and its lines as a value."""
    lines = [
        InvoiceLine(
            row.standing, row.reference, row.attempt, row.rendition, row.tenant,
            None if row.theirs is None else Decimal(row.theirs),
            None if row.ours is None else Decimal(row.ours), row.why,
        )
        for row in rows
    ]  # fmt: skip
    return _result(header._mapping, lines)


def _result(header: Mapping[str, Any], lines: Sequence[InvoiceLine]) -> InvoiceResult:
    counts = {standing: sum(line.standing == standing for line in lines) for standing in STANDINGS}
    apart = [line for line in lines if line.standing != MATCHED]
    theirs = exact_sum(line.theirs or Decimal(0) for line in apart)
    ours = exact_sum(line.ours or Decimal(0) for line in apart)
    return InvoiceResult(
        invoice=header["name"],
        provider=header["provider"],
        currency=header["currency"],
        total=Decimal(header["total"]),
        matched=counts[MATCHED],
        different=counts[DIFFERENT],
        only_theirs=counts[THEIRS],
        only_ours=counts[OURS],
        unexplained=exact_sum([theirs, -ours]),
    )


def _laid_beside(
    theirs: Sequence[TheirLine], known: Mapping[str, str], ours: Mapping[str, OurAttempt]
) -> Iterator[InvoiceLine]:
    billed: dict[str, list[TheirLine]] = {}
    for line in theirs:
        attempt = known.get(line.reference)
        if attempt is None:
            why = "no attempt of ours has this reference"
            yield InvoiceLine(THEIRS, line.reference, "", "", "", line.amount, None, why)
        else:
            billed.setdefault(attempt, []).append(line)
    for attempt, lines in billed.items():
        yield _beside(attempt, lines, ours.get(attempt))
    for attempt, one in ours.items():
        if attempt not in billed and one.amount != 0:
            why = "no line of the invoice names it"
            yield InvoiceLine(OURS, "", attempt, one.rendition, one.tenant, None, one.amount, why)


def _beside(attempt: str, lines: Sequence[TheirLine], one: OurAttempt | None) -> InvoiceLine:
    amount = exact_sum(line.amount for line in lines)
    reference = lines[0].reference
    if one is None:
        why = "our attempt used nothing at this provider in this month"
        return InvoiceLine(DIFFERENT, reference, attempt, "", "", amount, None, why)
    found = (reference, attempt, one.rendition, one.tenant, amount, one.amount)
    if one.amount is None:
        return InvoiceLine(DIFFERENT, *found, "our card has no price of it")
    places = max(-int(line.amount.as_tuple().exponent) for line in lines)
    apart = exact_sum([amount, -one.amount])
    if abs(apart) * 2 <= Decimal(1).scaleb(-places):
        return InvoiceLine(MATCHED, *found, "")
    times = f" in {len(lines)} lines" if len(lines) > 1 else ""
    return InvoiceLine(DIFFERENT, *found, f"they bill {format(apart, '+f')} more{times}")


def read_export(content: bytes, *, name: str, currency: str) -> list[TheirLine]:
    """The lines of a CSV; BadDocument names every fault, with its line."""
    rows = _rows(content, name)
    header = [cell.strip().lower() for cell in next(rows, [])]
    places = {column: _place(header, names) for column, names in COLUMNS.items()}
    missing = [column for column, place in places.items() if place is None]
    if missing:
        faults = [
            Fault(column, "is no column", 1, ", ".join(header)[:80], " or ".join(COLUMNS[column]))
            for column in missing
        ]
        raise BadDocument(name, faults, "give the file a header line with these columns")
    lines: list[TheirLine] = []
    faults = []
    for number, row in enumerate(rows, 2):
        if not any(cell.strip() for cell in row):
            continue
        found = {
            column: row[place].strip() if place < len(row) else ""
            for column, place in places.items()
            if place is not None
        }
        wrong = list(_faults(found, number, currency))
        faults += wrong
        if not wrong:
            lines.append(TheirLine(number, found["reference"], Decimal(found["amount"])))
    if faults:
        raise BadDocument(
            name, faults[:50], "correct the export, or match each currency with books of its own"
        )
    return lines


def _rows(content: bytes, name: str) -> Iterator[list[str]]:
    if len(content) > MAX_BYTES:
        raise BadDocument(
            name, [Fault("", "is too large", value=f"{len(content)} bytes", allowed=f"{MAX_BYTES}")]
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadDocument(name, [Fault("", "is not UTF-8", allowed="CSV saved as UTF-8")]) from error
    if "\0" in text:
        raise BadDocument(name, [Fault("", "is no text", allowed="CSV saved as UTF-8")])
    try:
        yield from csv.reader(io.StringIO(text, newline=""), strict=True)
    except csv.Error as error:
        raise BadDocument(
            name, [Fault("", f"is no CSV: {error}", allowed="comma-separated values")]
        ) from error


def _place(header: Sequence[str], names: Sequence[str]) -> int | None:
    return next((header.index(one) for one in names if one in header), None)


def _faults(found: Mapping[str, str], number: int, currency: str) -> Iterator[Fault]:
    if not found["reference"]:
        yield Fault("reference", "is empty", number, allowed="the provider's id of the job")
    if not _AMOUNT.fullmatch(found["amount"]):
        yield Fault(
            "amount",
            "is not an amount",
            number,
            found["amount"][:80],
            "e.g. 0.42, without a sign of currency",
        )
    if found["currency"].upper() != currency:
        yield Fault("currency", "is not that of our books", number, found["currency"][:80], currency)
