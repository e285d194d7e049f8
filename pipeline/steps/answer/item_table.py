"""The table of a campaign's wanted videos: how each stands, why, what next, what it has at stake (E1, B2).

Belongs here: which videos are named, and in which words. Does not belong here: how a video stands (`status`),
what is next (`operate.recover`), or how a table looks in Dagster (`pipeline.assets.events`).

What wants a look stands first, so that one failed video of sixty is in the first row. Ids, codes and money
only: no provider's words, no prompt, no address (A4).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from pipeline.domain.lifecycle import Word
from pipeline.domain.units import money
from pipeline.steps.answer.status import WishStatus
from pipeline.steps.operate.recover import PlannedItem

#: Videos that a table names. An event row holds them; the status page has all.
TABLE_ROWS = 40

#: Words that want a look stand above those that move, and ready ones last.
_URGENCY: Mapping[Word, int] = MappingProxyType(
    {
        Word.FAILED: 0,
        Word.UNRESOLVED: 1,
        Word.REJECTED: 2,
        Word.EXPIRED: 2,
        Word.CANCELLED: 2,
        Word.AWAITING_ACCEPTANCE: 3,
        Word.READY: 9,
    }
)


def item_table(wishes: Sequence[WishStatus], plan: Iterable[PlannedItem]) -> tuple[Mapping[str, str], ...]:
    """A row a wanted video, at most `TABLE_ROWS`, those first that wait for a person."""
    planned = {one.wish: one for one in plan}
    urgent = sorted(wishes, key=lambda wish: _order(wish, planned.get(wish.wish)))
    return tuple(_row(wish, planned.get(wish.wish)) for wish in urgent[:TABLE_ROWS])


def _order(wish: WishStatus, planned: PlannedItem | None) -> tuple[int, bool, str]:
    waits = planned is not None and planned.next.needs_person
    return _URGENCY.get(wish.word, 5), not waits, wish.variant


def _row(wish: WishStatus, planned: PlannedItem | None) -> Mapping[str, str]:
    return {
        "variant": wish.variant,
        "state": str(wish.word),
        "why": ", ".join(wish.why) or (wish.outcome or ""),
        "next": "" if planned is None else f"{planned.next.action.replace('_', ' ')}: {planned.next.why}",
        "who": "" if planned is None else who(planned),
        "at_risk": "" if planned is None else at_risk([planned]),
        "attempt": wish.attempt or "",
    }


def who(planned: PlannedItem) -> str:
    """Whose turn it is: a person's, a stage's lot, or nobody's because it moves by itself."""
    return "a person" if planned.next.needs_person else str(planned.next.stage or "itself")


def at_risk(plan: Iterable[PlannedItem]) -> str:
    """What may have been paid for and is not owned, by currency: `1.20 EUR`; empty for nothing."""
    sums: Counter[str] = Counter()
    for one in plan:
        sums[one.currency or ""] += one.cost_at_risk
    return ", ".join(f"{money(micros)} {currency}" for currency, micros in sorted(sums.items()) if micros)
