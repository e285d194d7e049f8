"""Invoices as they were laid beside our attempts, and what our books say of a provider.

Belongs here: the statements. Does not belong here: which line matches which
(`pipeline.steps.account.match_invoice`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import sqlalchemy as sa

from pipeline.domain.periods import Month
from pipeline.domain.rating import EXACT, plain
from resources.database.database import Transaction
from resources.database.schema import (
    attempts,
    invoice_lines,
    invoices,
    ledger_lines,
    remote_jobs,
)

#: Meters of what a provider bills for making a video.
MADE = ("generation_starts", "starts_unconfirmed", "generated_seconds", "provider_units", "status_requests")


@dataclass(frozen=True, slots=True)
class OurAttempt:
    """What our books say that one attempt cost with its provider in a month."""

    attempt: str
    rendition: str
    tenant: str
    amount: Decimal | None  #: None: nothing of it has a price


def our_attempts(connection: sa.Connection, provider: str, month: Month) -> dict[str, OurAttempt]:
    """Every attempt with usage at *provider* in *month*, live spend only, over all postings."""
    line = ledger_lines.c
    wanted = sa.select(line.attempt, line.rendition, line.tenant, line.amount).where(
        line.provider == provider, line.spend == "live", line.meter.in_(MADE), line.attempt != "",
        line.day >= month.start, line.day < month.end,
    )  # fmt: skip
    amounts: dict[str, Decimal | None] = {}
    facts: dict[str, tuple[str, str]] = {}
    for row in connection.execute(wanted):
        facts[row.attempt] = (row.rendition, row.tenant)
        if row.amount is not None:
            so_far = amounts.get(row.attempt) or Decimal(0)
            amounts[row.attempt] = plain(EXACT.add(so_far, Decimal(row.amount)))
    return {name: OurAttempt(name, *facts[name], amounts.get(name)) for name in sorted(facts)}


def references(connection: sa.Connection, provider: str) -> dict[str, str]:
    """Every name by which *provider* may know one of our attempts: remote handles, our key, our own id."""
    found: dict[str, str] = {}
    ours = sa.select(attempts.c.id, attempts.c.idempotency_key, attempts.c.handle).where(
        attempts.c.provider == provider
    )
    for row in connection.execute(ours):
        found |= {name: row.id for name in (row.id, row.idempotency_key, row.handle) if name}
    jobs = sa.select(remote_jobs.c.handle, remote_jobs.c.attempt).where(remote_jobs.c.provider == provider)
    return found | {row.handle: row.attempt for row in connection.execute(jobs)}


def providers_asked(connection: sa.Connection) -> set[str]:
    """Every provider that an attempt was ever made with, also one that the list names no more."""
    return set(connection.scalars(sa.select(attempts.c.provider).distinct()))


def live_providers(connection: sa.Connection, month: Month) -> dict[str, Decimal]:
    """Providers that made something for money in *month*, with what our books say that it cost."""
    line = ledger_lines.c
    wanted = sa.select(line.provider, line.amount).where(
        line.spend == "live", line.meter.in_(MADE), line.amount.is_not(None), line.provider != "",
        line.day >= month.start, line.day < month.end,
    )  # fmt: skip
    found: dict[str, Decimal] = defaultdict(Decimal)
    for row in connection.execute(wanted):
        found[row.provider] = EXACT.add(found[row.provider], Decimal(row.amount))
    return {provider: plain(amount) for provider, amount in sorted(found.items()) if amount}


def keep_invoice(tx: Transaction, header: Mapping[str, Any], lines: Sequence[Mapping[str, Any]]) -> None:
    """Put the result of a matching in place of an earlier one of the same file, as a whole."""
    name = header["id"]
    tx.connection.execute(sa.delete(invoice_lines).where(invoice_lines.c.invoice == name))
    tx.connection.execute(sa.delete(invoices).where(invoices.c.id == name))
    tx.connection.execute(sa.insert(invoices).values(**header, matched_at=tx.now))
    if lines:
        tx.connection.execute(sa.insert(invoice_lines), [{**line, "invoice": name} for line in lines])


def invoices_of(connection: sa.Connection, month: Month) -> list[sa.Row[Any]]:
    wanted = sa.select(invoices).where(invoices.c.period == str(month))
    return list(connection.execute(wanted.order_by(invoices.c.provider, invoices.c.id)))


def lines_of_invoice(connection: sa.Connection, invoice: str) -> list[sa.Row[Any]]:
    wanted = sa.select(invoice_lines).where(invoice_lines.c.invoice == invoice)
    return list(connection.execute(wanted.order_by(invoice_lines.c.number)))
