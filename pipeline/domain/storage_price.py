"""What keeping bytes costs: the price of a plan in bytes is its price in money.

Belongs here: that one multiplication, exact in integers. Does not belong here: what was really stored or
charged (`rating`, the ledger).
"""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.domain.rating import ANY, PriceCard

GB = 10**9
_METER = "rendition_byte_seconds"
_UNIT_BYTES = {"GB-Months": GB, "GiB-Months": 2**30}


@dataclass(frozen=True, slots=True)
class StoragePrice:
    """Micro-units of `currency` that `unit_bytes` cost for a month."""

    currency: str
    micros_per_unit_month: int
    unit_bytes: int = GB

    def monthly(self, size_bytes: int) -> int:
        """Micro-units that keeping so many bytes for a month costs, rounded half up once."""
        return (2 * size_bytes * self.micros_per_unit_month + self.unit_bytes) // (2 * self.unit_bytes)


def of_card(card: PriceCard) -> StoragePrice | None:
    """The price of the card's first tier, which is its highest; None when it prices no stored month."""
    for price in card.prices:
        unit_bytes = _UNIT_BYTES.get(price.unit.value)
        if unit_bytes is not None and price.fits(_METER, ANY, ANY, ANY) and price.tiers:
            return StoragePrice(card.currency, int(price.tiers[0].price * 1_000_000), unit_bytes)
    return None
