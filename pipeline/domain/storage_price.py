"""What keeping bytes costs: the price of a plan in bytes is its price in money.

Belongs here: that one multiplication, exact in integers. Does not belong here: where a price comes from.
"""

from __future__ import annotations

from dataclasses import dataclass

GB = 10**9


@dataclass(frozen=True, slots=True)
class StoragePrice:
    """Micro-units of `currency` that a GB (10^9 bytes) costs for a month in the store's one class."""

    currency: str
    micros_per_gb_month: int

    def monthly(self, size_bytes: int) -> int:
        """Micro-units that keeping so many bytes for a month costs, rounded half up once."""
        return (2 * size_bytes * self.micros_per_gb_month + GB) // (2 * GB)
