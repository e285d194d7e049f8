"""What ends a remote job, in one transaction: the move, its hold, its place in the lanes.

Belongs here: the company that a move out of `submitting` or `generating` must keep. Does not belong
here: why it ends (steps and domain).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.domain.outcomes import HoldFate
from resources.database.budgets import close_holds
from resources.database.database import Transaction
from resources.database.lanes import leave
from resources.database.transitions import Transition, Verdict, apply


@dataclass(frozen=True, slots=True)
class Ending:
    """A transition after which the remote side no longer runs, and what becomes of the hold."""

    transition: Transition
    hold: HoldFate


def end(tx: Transaction, endings: Sequence[Ending]) -> list[Verdict]:
    """Apply each transition whose guard holds, close its hold and leave its lane; verdicts in order."""
    verdicts = apply(tx, [one.transition for one in endings])
    ended = [one for one, verdict in zip(endings, verdicts, strict=True) if verdict is Verdict.APPLIED]
    close_holds(tx, {one.transition.row.id: one.hold for one in ended})
    if ended:
        leave(tx, [one.transition.row for one in ended])
    return verdicts
