"""What is kept as whole numbers, as people read it: microseconds as a time, micro-units as money.

Belongs here: these readings, which lose nothing. Does not belong here: currencies, formats, time zones.
"""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

SECOND = 1_000_000


def utc(micros: int) -> datetime:
    """The time that is *micros* microseconds after the epoch, to the microsecond."""
    return datetime.fromtimestamp(micros // SECOND, UTC).replace(microsecond=micros % SECOND)


def money(micros: int) -> Decimal:
    """Two places, or all six where they say something: a micro-unit is never rounded away."""
    amount = Decimal(micros).scaleb(-6)
    cents = amount.quantize(Decimal("0.01"))
    return cents if cents == amount else amount
