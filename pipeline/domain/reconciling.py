"""What to do about a submission whose outcome is unknown: one pure rule for all four classes (G3, G9).

Belongs here: binding, waiting, proving absence, giving up to a person. Does not belong here: asking the
provider, or sending.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from pipeline.domain.outcomes import Reconciliation


class Next(enum.StrEnum):
    BIND = "bind"  #: a remote job with our reference was found: the handle becomes durable
    RESEND = "resend"  #: class K within its window: the same POST under the same key
    NOT_SENT = "not_sent"  #: proof of absence: the same attempt may be sent again
    LOOK_AGAIN = "look_again"  #: no proof yet
    AWAIT_VERDICT = "await_verdict"  #: only a person can say


@dataclass(frozen=True, slots=True)
class Lost:
    """An unknown submission; times in seconds since its newest send."""

    reconciliation: Reconciliation
    seconds_since_first_send: float
    seconds_since_send: float
    looks: int = 0  #: complete look-ups that found nothing, after the lag
    found: int = 0  #: remote jobs that carry our reference
    answer_is_complete: bool = False


@dataclass(frozen=True, slots=True)
class Conduct:
    """What the adapter states."""

    key_window_seconds: int
    lookup_lag_seconds: int


#: One look after the lag may hit a replica that lags behind; two that agree are the proof (B1).
LOOKS_THAT_PROVE_ABSENCE = 2
#: A key is not used up to the last second of its window: the request itself takes time.
KEY_MARGIN = 0.9


def reconcile(lost: Lost, conduct: Conduct) -> Next:
    """The next step for *lost*. Nothing but class K ever leads to a second POST without proof."""
    if lost.found:
        return Next.BIND
    return _RULES[lost.reconciliation](lost, conduct)


def _by_key(lost: Lost, conduct: Conduct) -> Next:
    if lost.seconds_since_first_send < conduct.key_window_seconds * KEY_MARGIN:
        return Next.RESEND
    return Next.AWAIT_VERDICT if lost.looks else Next.LOOK_AGAIN


def _by_look_up(lost: Lost, conduct: Conduct) -> Next:
    if not lost.answer_is_complete or lost.seconds_since_send < conduct.lookup_lag_seconds:
        return Next.LOOK_AGAIN
    return Next.NOT_SENT if lost.looks >= LOOKS_THAT_PROVE_ABSENCE else Next.LOOK_AGAIN


def _by_listing(lost: Lost, conduct: Conduct) -> Next:
    """A listing may name a job, and never proves that there is none."""
    is_over = lost.seconds_since_send >= conduct.lookup_lag_seconds
    return Next.AWAIT_VERDICT if is_over and lost.looks >= LOOKS_THAT_PROVE_ABSENCE else Next.LOOK_AGAIN


def _by_person(_lost: Lost, _conduct: Conduct) -> Next:
    return Next.AWAIT_VERDICT


_RULES = {
    Reconciliation.KEY: _by_key,
    Reconciliation.LOOKUP: _by_look_up,
    Reconciliation.LISTING: _by_listing,
    Reconciliation.NONE: _by_person,
}
