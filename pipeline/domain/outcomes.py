"""How one remote attempt ended, and what follows: one table (G5).

Belongs here: outcome classes and what each means for state, bill, hold and retry. Does not belong
here: how a provider's words map to a class (that is its adapter's table).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pipeline.domain.lifecycle import AttemptState


class Reconciliation(enum.StrEnum):
    """What a provider offers to find a submission whose answer was lost (G9)."""

    KEY = "K"  #: Honours our idempotency key: the same POST again is safe within its window.
    LOOKUP = "L"  #: Finds a job by our reference, after a stated lag.
    LISTING = "W"  #: Names jobs only in a listing or callback; a POST is never repeated.
    NONE = "N"  #: Offers nothing; a lost answer waits for a person.


class Outcome(enum.StrEnum):
    SOURCE_REJECTED = "source_rejected"  #: The provider's own moderation refused our input.
    OUTPUT_REJECTED = "output_rejected"  #: It made something and will not hand it over.
    INVALID_REQUEST = "invalid_request"  #: It says our request is wrong; the same one stays wrong.
    QUOTA = "quota"  #: Our account may not spend more there now.
    RATE_LIMIT = "rate_limit"  #: Too many requests; nothing was taken.
    PROVIDER_FAULT = "provider_fault"  #: It failed on its side after taking the job.
    NETWORK = "network"  #: The connection failed; says nothing about the job.
    CANCELLED_BY_US = "cancelled_by_us"  #: It confirms our cancellation.
    CANCELLED_BY_PROVIDER = "cancelled_by_provider"  #: It gave up without our asking.
    SKIPPED = "skipped"  #: It decided not to run the job and says so.
    COMPLETED_WITH_WARNING = "completed_with_warning"  #: Output is there, with a remark.
    COMPLETED_WITHOUT_OUTPUT = "completed_without_output"  #: It says done and names nothing, again and again.
    RESULT_EXPIRED = "result_expired"  #: It was made and is gone before we fetched it.
    UNKNOWN = "unknown"  #: Not one of the above; evidence, never a verdict.


class Billed(enum.StrEnum):
    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class HoldFate(enum.StrEnum):
    SETTLE = "settle"  #: Spend the hold in full or as reported.
    RELEASE = "release"  #: Give it back to the budget.
    KEEP = "keep"  #: It stays until a verdict.


@dataclass(frozen=True, slots=True)
class Consequence:
    """What one outcome class means.

    `state` is where the attempt goes (None: it stays), `poll_on` whether asking again makes sense,
    `resend` whether the same attempt may be sent again under the same key, `new_attempt` whether
    another attempt may be made without a person (only ends that are proven unbilled).
    """

    state: AttemptState | None
    billed: Billed
    hold: HoldFate
    poll_on: bool
    resend: bool
    new_attempt: bool

    @property
    def is_terminal(self) -> bool:
        return self.state in (AttemptState.FAILED, AttemptState.CANCELLED)


_FAILED, _CANCELLED = AttemptState.FAILED, AttemptState.CANCELLED
_YES, _NO, _MAYBE = Billed.YES, Billed.NO, Billed.UNKNOWN
_SETTLE, _RELEASE, _KEEP = HoldFate.SETTLE, HoldFate.RELEASE, HoldFate.KEEP

#: One row an outcome: state, billed, hold, poll on, resend, new attempt by itself.
CONSEQUENCES: Mapping[Outcome, Consequence] = MappingProxyType(
    {
        Outcome.SOURCE_REJECTED: Consequence(_FAILED, _NO, _RELEASE, False, False, False),
        Outcome.OUTPUT_REJECTED: Consequence(_FAILED, _YES, _SETTLE, False, False, False),
        Outcome.INVALID_REQUEST: Consequence(_FAILED, _NO, _RELEASE, False, False, False),
        Outcome.QUOTA: Consequence(None, _NO, _KEEP, False, True, False),
        Outcome.RATE_LIMIT: Consequence(None, _NO, _KEEP, True, True, False),
        Outcome.PROVIDER_FAULT: Consequence(_FAILED, _NO, _RELEASE, False, False, True),
        Outcome.NETWORK: Consequence(None, _MAYBE, _KEEP, True, False, False),
        Outcome.CANCELLED_BY_US: Consequence(_CANCELLED, _NO, _RELEASE, False, False, False),
        Outcome.CANCELLED_BY_PROVIDER: Consequence(_CANCELLED, _NO, _RELEASE, False, False, True),
        Outcome.SKIPPED: Consequence(_FAILED, _NO, _RELEASE, False, False, False),
        Outcome.COMPLETED_WITH_WARNING: Consequence(
            AttemptState.RETRIEVING, _YES, _SETTLE, False, False, False
        ),
        Outcome.COMPLETED_WITHOUT_OUTPUT: Consequence(_FAILED, _YES, _SETTLE, False, False, False),
        Outcome.RESULT_EXPIRED: Consequence(_FAILED, _YES, _SETTLE, False, False, False),
        Outcome.UNKNOWN: Consequence(None, _MAYBE, _KEEP, True, False, False),
    }
)

#: Ends after which the same request would be refused again: the brief must change.
STAYS_WRONG = frozenset({Outcome.SOURCE_REJECTED, Outcome.INVALID_REQUEST})
