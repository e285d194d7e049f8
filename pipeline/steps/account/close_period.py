"""Close a month: what must be true before, who says so, and the statement that stands from then on (F6).

Belongs here: the order of things, and the statement that stands from then on. Does not belong here: what is
looked at (`checklist`), the guard that keeps a closed month as it is (`resources.database.periods`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from functools import partial
from typing import Any

from pipeline.domain.errors import NotAllowed
from pipeline.domain.ledger import Total, billed
from pipeline.domain.periods import Month
from pipeline.domain.rating import PriceCard, PriceCards
from pipeline.steps.account.checklist import ITEMS, Item, card_of, checklist
from pipeline.steps.account.month import Sums, added_up
from pipeline.steps.account.rate import rate
from resources.database.database import Database
from resources.database.ledger import postings_of
from resources.database.periods import Statement, close, closed_months


@dataclass(frozen=True, slots=True)
class Closed:
    """A month that was closed."""

    month: Month
    by: str
    currency: str
    shown: Decimal  #: live and test together
    billed: Decimal  #: the live part
    exact: Decimal
    lines: int
    statement_sha256: str
    checklist: tuple[Item, ...]


def close_period(
    database: Database, cards: PriceCards, month: Month, *, by: str, accepted: Mapping[str, str] | None = None
) -> Closed:
    """Rate *month* a last time and close it in the name of *by*.

    Raises NotAllowed that names everything that is missing, and LostRace where something was posted while the
    statement was drawn up, or somebody else closed it.
    """
    card = _require_approver(cards, month, by)
    with database.reading() as connection:
        if month in closed_months(connection):
            raise NotAllowed(
                f"month {month}", "is closed already", f"see it with `reelwright ledger {month}`"
            )
    rate(database, cards, month, actor=by, settle=True)
    _require_known(accepted or {})
    items = checklist(database, cards, month, accepted)
    refused = [item for item in items if not item.is_settled]
    if refused:
        raise NotAllowed(
            f"month {month}", "cannot be closed yet\n" + "\n".join(f"  - {item}" for item in refused),
            _remedy(refused, month, by),
        )  # fmt: skip
    with database.reading() as connection:
        seen = postings_of(connection, month)
        sums = added_up(connection, month)
    stated = _statement(month, card, sums, items)
    database.run(partial(close, month=month, stated=stated, by=by, seen=seen))
    return Closed(
        month, by, stated.currency, Decimal(stated.shown).scaleb(-stated.places), billed(stated.totals),
        stated.exact, sums.lines, stated.sha256, items,
    )  # fmt: skip


def _require_known(accepted: Mapping[str, str]) -> None:
    for name, reason in accepted.items():
        if name not in ITEMS:
            raise NotAllowed(f"item {name}", "is not on the checklist", f"one of {', '.join(ITEMS)}")
        if not reason.strip():
            raise NotAllowed(f"item {name}", "is accepted without a reason", f"--accept {name}=WHY")


def _require_approver(cards: PriceCards, month: Month, by: str) -> PriceCard | None:
    card = card_of(cards, month)
    if card is not None and card.approvers and by not in card.approvers:
        raise NotAllowed(
            f"month {month}",
            f"{by} may not close it",
            f"let one of {', '.join(sorted(card.approvers))} do it",
        )
    return card


def _remedy(refused: Sequence[Item], month: Month, by: str) -> str:
    commands = [f"{item.name}: {item.command}" for item in refused if item.command]
    names = [item.name for item in refused if item.may_be_accepted]
    told = "; ".join(commands)
    if names:
        accept = (
            f"`reelwright close {month} --as {by} --accept {names[0]}=WHY` for what you looked at and accept"
        )
        told = f"{told}; {accept}" if told else accept
    return told


def _statement(month: Month, card: PriceCard | None, sums: Sums, items: Sequence[Item]) -> Statement:
    if card is None:
        raise NotAllowed(f"month {month}", "no price card holds on its last day", "write a card that does")
    totals = sums.totals(card.places, card.halves)
    kept = [{**asdict(item), "missing": list(item.missing)} for item in items]
    body = {
        "month": str(month), "card": card.version, "currency": card.currency, "places": card.places,
        "halves": str(card.halves), "exact": str(sums.exact), "lines": sums.lines,
        "totals": [_as_json(total) for total in totals], "checklist": kept,
    }  # fmt: skip
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return Statement(
        card=card.version,
        currency=card.currency,
        places=card.places,
        halves=str(card.halves),
        exact=sums.exact,
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        totals=totals,
        checklist=kept,
    )


def _as_json(total: Total) -> dict[str, Any]:
    return {
        **asdict(total.key),
        "units": str(total.units),
        "exact": str(total.exact),
        "shown": str(total.shown),
    }
