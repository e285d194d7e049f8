"""Every way Reelwright refuses or fails on purpose, in one tree.

The class names the fact, the attributes hold it, `remedy` says what the reader can do.

ReelwrightError
├── BadInput                      what a person wrote cannot be used as it stands
│   ├── BadDocument               a YAML document is broken or breaks its schema; holds every fault at once
│   ├── RevisionConflict          the revision number has other creative content, or is an unknown older one
│   ├── WrongTenant               a brief lies in, or names, another tenant's place
│   ├── UnknownSubject            no such campaign, rendition, attempt … in this tenant
│   ├── AmbiguousName             a short name that means more than one thing
│   ├── BadKey                    an object key that a store could not hold or would take for another
│   └── BadSettings               the settings file or environment names something impossible
├── NotAllowed                    the actor or the subject's state does not permit it
├── IllegalMove                   a bug: the lifecycle table has no such move
├── LostRace                      somebody else moved the row first; nothing was changed
├── OverBudget                    the hold would pass the cap; the item is parked
├── MediaRefused                  a whole file that breaks a rule (reason code says which)
├── LogRefused                    a delivery log of which nothing is counted (reason code says why)
├── MediaUnproven                 a body that is not proven whole: fetch again
├── SandboxFailed                 the media child crashed, hung or ran out of its limits
├── RemoteUnavailable             another server did not answer usefully; trying again may help
│   ├── NeverConnected            no connection came about: proof that nothing was sent
│   └── UrlRefused                an address given by a provider breaks the guard's rules; nothing was sent
├── StoreUnavailable              the object store did not answer, or a disk is full
├── StoreConflict                 the key already holds other bytes
├── IndexUnavailable              the tag index did not take or show an entry
│   └── IndexMismatch             the tag index is not laid out as this release writes it
├── IndexRefused                  the tag index refuses this entry for good
├── DatabaseUnavailable           the database is locked or gone; nothing was changed
└── SchemaMismatch                the database is not at the revision this release needs
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class ReelwrightError(Exception):
    """Base of all errors raised on purpose. `may_help` says whether the same call later may succeed."""

    may_help: bool = False
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong in a document: where it is, what stands there, what may stand there."""

    field: str  #: dotted path, e.g. ``variants.locales[1]``; empty for the whole document
    problem: str  #: one sentence without the field's name
    line: int | None = None  #: 1-based line in the file
    value: str = ""  #: as written, shortened to 80 characters
    allowed: str = ""  #: allowed values or form

    def __str__(self) -> str:
        place = self.field or "document"
        where = f"line {self.line}, " if self.line is not None else ""
        got = f" (got {self.value})" if self.value else ""
        allowed = f"; allowed: {self.allowed}" if self.allowed else ""
        return f"{where}{place}: {self.problem}{got}{allowed}"


class BadInput(ReelwrightError):
    """What a person wrote cannot be used as it stands; nothing was kept of it."""


class BadDocument(BadInput):
    """A document breaks its form; every fault is named at once."""

    remedy = "correct the named fields and deliver the file again"

    def __init__(self, name: str, faults: Sequence[Fault], remedy: str = "") -> None:
        super().__init__(f"{name}: " + "; ".join(map(str, faults)))
        self.name = name
        self.faults = tuple(faults)
        self.remedy = remedy or self.remedy

    def named(self, name: str) -> BadDocument:
        """The same faults, told of the file that their reader knows."""
        return BadDocument(name, self.faults, self.remedy)


class RevisionConflict(BadInput):
    """This revision number is taken by other creative content, or lies below the newest and is unknown."""

    remedy = "raise `revision` to a new number"

    def __init__(self, campaign: str, number: int, problem: str) -> None:
        super().__init__(f"campaign {campaign}, revision {number}: {problem}")
        self.campaign = campaign
        self.number = number


class WrongTenant(BadInput):
    """The brief's tenant is not the tenant of the place it lies in."""

    remedy = "move the file to its tenant's folder or correct `tenant`"

    def __init__(self, named: str, owner: str) -> None:
        super().__init__(f"brief of tenant {named!r} found in the place of tenant {owner!r}")
        self.named = named
        self.owner = owner


class UnknownSubject(BadInput):
    """Nothing of that kind and name exists for this tenant."""

    remedy = "list what exists with `reelwright status`"

    def __init__(self, kind: str, name: str, remedy: str = "") -> None:
        super().__init__(f"no {kind} {name!r}")
        self.kind = kind
        self.name = name
        self.remedy = remedy or self.remedy


class AmbiguousName(BadInput):
    """A short name that several campaigns know; nothing was chosen."""

    remedy = "use one of the whole names"

    def __init__(self, name: str, meanings: Sequence[str], remedy: str = "") -> None:
        super().__init__(f"{name!r} means more than one thing: {', '.join(meanings)}")
        self.name = name
        self.meanings = tuple(meanings)
        self.remedy = remedy or self.remedy


class BadKey(BadInput):
    """An object key that some store could not hold, or would take for another one."""

    remedy = "rename the file"

    def __init__(self, key: str, problem: str) -> None:
        super().__init__(f"object key {key[:200]!r} {problem}")
        self.key = key


class BadSettings(BadInput):
    """A setting cannot work; names the setting and its source."""

    def __init__(self, setting: str, problem: str, remedy: str) -> None:
        super().__init__(f"{setting}: {problem}")
        self.setting = setting
        self.remedy = remedy


class NotAllowed(ReelwrightError):
    """The subject's state, or the actor's rights, do not permit this."""

    def __init__(self, subject: str, problem: str, remedy: str = "") -> None:
        super().__init__(f"{subject}: {problem}")
        self.subject = subject
        self.remedy = remedy


class IllegalMove(ReelwrightError):
    """The lifecycle table has no move between these two states."""

    def __init__(self, kind: str, source: str, target: str) -> None:
        super().__init__(f"{kind}: no move from {source} to {target}")
        self.kind = kind
        self.source = source
        self.target = target


class LostRace(ReelwrightError):
    """The row was not in the expected state, version or lease; nothing was changed."""

    def __init__(self, kind: str, subject: str, found: str) -> None:
        super().__init__(f"{kind} {subject}: somebody else was first ({found})")
        self.kind = kind
        self.subject = subject
        self.found = found  #: `duplicate` (already where we wanted it), `stale` or `gone`


class OverBudget(ReelwrightError):
    """The hold would pass the campaign's cap; amounts are micro-units of `currency`."""

    remedy = "raise `budget.cap` in the brief and deliver it again"

    def __init__(self, campaign: str, wanted: int, free: int, currency: str) -> None:
        super().__init__(
            f"campaign {campaign}: a hold of {wanted / 1e6:.2f} {currency} passes the cap"
            f" ({free / 1e6:.2f} {currency} free)"
        )
        self.campaign = campaign
        self.wanted = wanted
        self.free = free
        self.currency = currency


class MediaRefused(ReelwrightError):
    """A whole body breaks a rule of its profile; the same bytes will be refused again."""

    def __init__(self, reason: str, problem: str, remedy: str = "") -> None:
        super().__init__(problem)
        self.reason = reason  #: stable code, e.g. `not_media`, `wrong_ratio`, `too_many_pixels`
        self.remedy = remedy


class LogRefused(ReelwrightError):
    """A delivery log is not whole, or not to be understood: nothing of it is counted."""

    def __init__(self, reason: str, problem: str, remedy: str = "") -> None:
        super().__init__(problem)
        self.reason = reason  #: stable code, e.g. `cut_gzip`, `unknown_format`
        self.remedy = remedy


class MediaUnproven(ReelwrightError):
    """The body is not proven to be whole (short, truncated, no index): fetch it again."""

    may_help = True

    def __init__(self, reason: str, problem: str) -> None:
        super().__init__(problem)
        self.reason = reason


class SandboxFailed(ReelwrightError):
    """The bounded child that parses media crashed, hung or passed a limit."""

    may_help = True

    def __init__(self, reason: str, problem: str) -> None:
        super().__init__(problem)
        self.reason = reason  #: `crashed`, `timed_out`, `out_of_memory`, `no_answer`


class RemoteUnavailable(ReelwrightError):
    """A remote server did not answer usefully; nothing is known to have changed there."""

    may_help = True

    def __init__(self, reason: str, problem: str, *, retry_after_seconds: float | None = None) -> None:
        super().__init__(problem)
        self.reason = reason
        self.retry_after_seconds = retry_after_seconds


class NeverConnected(RemoteUnavailable):
    """No connection came about (refused, no such name, TLS not agreed): proof that nothing was sent."""


class UrlRefused(RemoteUnavailable):
    """An address that a provider gave breaks the guard's rules (R4); nothing was sent to it."""

    may_help = False

    def __init__(self, rule: str, problem: str) -> None:
        super().__init__("url_refused", problem)
        self.rule = rule  #: stable code, e.g. `not_https`, `foreign_host`, `private_address`


class StoreUnavailable(ReelwrightError):
    """The object store did not take or give bytes; nothing was promoted."""

    may_help = True

    def __init__(self, reason: str, problem: str, remedy: str = "") -> None:
        super().__init__(problem)
        self.reason = reason  #: `disk_full`, `unreachable`, `denied`, …
        self.remedy = remedy


class StoreConflict(ReelwrightError):
    """The key already holds other bytes; they were left untouched."""

    def __init__(self, key: str) -> None:
        super().__init__(f"object {key} already holds other bytes")
        self.key = key


class IndexUnavailable(ReelwrightError):
    """The tag index did not take the entry, or does not show it yet."""

    may_help = True


class IndexMismatch(IndexUnavailable):
    """The tag index's alias or mapping is not the one that this release writes; entries wait until it is."""

    may_help = False
    remedy = "run `reelwright rebuild`"


class IndexRefused(ReelwrightError):
    """The tag index refuses this entry for good; the reason names the field."""


class DatabaseUnavailable(ReelwrightError):
    """The database is locked, full or gone; the transaction did not take effect."""

    may_help = True
    remedy = "check disk space and that no other program holds the database, then run again"


class SchemaMismatch(ReelwrightError):
    """The database's revision is not the one that this release reads."""

    remedy = "run `reelwright migrate`"
