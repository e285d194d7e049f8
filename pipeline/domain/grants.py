"""When a grant still holds: the one rule that issuing, redeeming and retention share (A2, C4).

Belongs here: that rule. Does not belong here: who may be granted what, or the rows (`resources.database`).
"""

from __future__ import annotations


def is_over(expires_at: int, now: int) -> bool:
    """A grant that expires at exactly *now* is over: for its holder and for retention alike."""
    return expires_at <= now
