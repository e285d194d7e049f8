"""What an invariant is: a query that must return nothing, and the phase in which that holds.

Belongs here: the value and its words. Does not belong here: any query.

A query names its rows `subject` and `found`, and may use `:now`, `:seen_at` (before the snapshots were
taken: rows that are younger may be missing in them) and `:overdue` (`now` less what an item may lag
behind).
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Phase(enum.StrEnum):
    ALWAYS = "always"  #: After every fault, before anything repairs it.
    AFTER_RECONCILER = "after_reconciler"  #: Once what was due is done.


class Heading(enum.StrEnum):
    """What is wrong, in the words of SPEC §13; the last two stand beside its list."""

    PUBLICATION = "a publication whose object is missing, unverified or tagged otherwise in the index"
    ONE_OF_EACH = "two where there may be one: publications of a slot, selected outputs of a rendition"
    EVIDENCE = "a state without its evidence"
    CHAIN = "a broken audit chain"
    SENDING = "more than one remote start of an attempt, or one that is lost"
    MONEY = "money or places that do not add up"
    LEDGER = "ledger lines of a period that do not sum to its report"
    PURGE = "a purge without its proof"
    LEFT_OVER = "something that nobody needs and nobody removed"
    STUCK = "something that waits and that nothing will move"


class Seen(enum.StrEnum):
    """Snapshots of what lies outside of the database, as temporary tables."""

    STORE = "store"  #: object_seen; the bytes themselves only where a hash stands
    INDEX = "index"  #: index_seen
    PROVIDER = "provider"  #: remote_seen


@dataclass(frozen=True, slots=True)
class Invariant:
    """`sql` returns nothing while `text` holds."""

    id: str
    heading: Heading
    text: str
    sql: str
    phase: Phase = Phase.ALWAYS
    needs: frozenset[Seen] = frozenset()
