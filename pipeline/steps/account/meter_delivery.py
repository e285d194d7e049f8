"""Read delivery logs: whole files in, facts out, each line once (F3).

Belongs here: what becomes of a file, and keeping it or only looking. Does not belong here: forms of logs
(`resources.usage_logs`), sums (`tally`), fetching from the place of the logs (`fetch_delivery_logs`).

A file is known by its bytes; a line by its identity, in this file and in all others. A file's row and all
that came of it are one transaction: a run that dies leaves the file unread. Files come in any order.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import sqlalchemy as sa

from pipeline.domain.delivery import PathRules
from pipeline.domain.errors import LogRefused
from pipeline.domain.units import SECOND
from pipeline.steps.account.tally import Fact, Owner, Removed, Tally
from resources.database import delivery_logs
from resources.database.database import Database, Transaction
from resources.usage_logs.identities import Mask, first_of_each, packed, without
from resources.usage_logs.reading import READER_VERSION, read_log

_BLOCK_BYTES = 1024 * 1024
READ, REFUSED, KNOWN = "read", "refused", "known"


@dataclass(frozen=True, slots=True)
class LogReading:
    """What became of one file: lines = events + duplicates + ignored + quarantined."""

    file: str
    verdict: str  #: read, refused, known
    reason: str = ""  #: why it was refused, where it is known from, or why lines were set aside
    lines: int = 0
    events: int = 0
    duplicates: int = 0
    ignored: int = 0
    quarantined: int = 0
    bytes_sent: int = 0  #: of the events
    unattributed_bytes: int = 0  #: of these, those of no object of ours


@dataclass(frozen=True, slots=True)
class Digest:
    sha256: str
    size_bytes: int


class Book(Protocol):
    """What was read before, and what becomes of what is read now: kept, or only looked at."""

    def known(self, digest: Digest) -> str | None:
        """The name under which these bytes were read before."""
        ...

    def owners(self, keys: Collection[str]) -> Mapping[str, Owner]: ...

    def now(self) -> int:
        """Seconds of the epoch."""
        ...

    def enter(self, name: str, digest: Digest, provider: str, tally: Tally) -> LogReading: ...

    def refuse(self, name: str, digest: Digest, refused: LogRefused) -> None: ...


def wall_clock() -> int:
    """For looking without a database, whose clock decides otherwise."""
    return int(time.time())


def read_file(book: Book, rules: PathRules, path: Path, name: str) -> LogReading:
    """Read the log at *path*, which people know as *name*."""
    try:
        before = _state(path)
        digest = _digest(path)
    except OSError as error:
        return LogReading(name, REFUSED, f"unreadable: {error.strerror}")
    known = book.known(digest)
    if known is not None:
        return LogReading(name, KNOWN, f"the same bytes were read as {known}")
    tally = Tally(book.owners, rules, book.now())
    try:
        log = read_log(path)
        if log is not None:
            tally.take(log)
        if _state(path) != before:
            raise LogRefused("changed", "was written while it was read", "read it again once it is whole")
    except LogRefused as refused:
        book.refuse(name, digest, refused)
        return _refusal(name, refused)
    return book.enter(name, digest, "" if log is None else log.provider, tally)


def _refusal(name: str, refused: LogRefused) -> LogReading:
    remedy = f"; {refused.remedy}" if refused.remedy else ""
    return LogReading(name, REFUSED, f"{refused.reason}: the file {refused}{remedy}")


def _state(path: Path) -> tuple[int, int, int]:
    if not path.is_file():
        raise OSError(0, "no such file" if not path.exists() else "not a file")
    found = path.stat()
    return found.st_size, found.st_mtime_ns, found.st_ino


def _digest(path: Path) -> Digest:
    digest = hashlib.sha256()
    with path.open("rb") as source:
        while block := source.read(_BLOCK_BYTES):
            digest.update(block)
        return Digest(digest.hexdigest(), os.fstat(source.fileno()).st_size)


def _reading(name: str, tally: Tally, mask: Mask) -> LogReading:
    events, aside = int(mask.sum()), tally.reasons.total()
    sent, nobodys = tally.bytes_sent(mask)
    return LogReading(
        name,
        READ,
        ", ".join(f"{reason} {lines}" for reason, lines in sorted(tally.reasons.items())),
        lines=tally.counted + aside,
        events=events,
        duplicates=tally.counted - events,
        quarantined=aside,
        bytes_sent=sent,
        unattributed_bytes=nobodys,
    )


def owners(connection: sa.Connection, keys: Collection[str]) -> Mapping[str, Owner]:
    """Of two objects that ever lay under a key the newer one, as large as the larger one."""
    found: dict[str, Owner] = {}
    rows = list(delivery_logs.owners_of(connection, keys))
    campaigns = {row.campaign or row.made_for for row in rows} - {None}
    centers = delivery_logs.cost_centers_over_time(connection, campaigns)
    for row in rows:
        campaign = row.campaign or row.made_for
        earlier = found.get(row.key)
        size = max(row.size_bytes, earlier.size_bytes if earlier else 0)
        since = tuple((at // SECOND, center) for at, center in centers.get(campaign, ()))
        found[row.key] = Owner(row.id, row.tenant, campaign, row.rendition, row.spend or "live", size, since)
    return found


@dataclass
class Looking:
    """A book that keeps nothing; it knows the database, if there is one, and what this call has read."""

    database: Database | None
    clock: int
    _files: dict[str, str] = field(default_factory=dict)
    _identities: list[bytes] = field(default_factory=list)

    def known(self, digest: Digest) -> str | None:
        if digest.sha256 in self._files or self.database is None:
            return self._files.get(digest.sha256)
        with self.database.reading() as connection:
            return _read_as(connection, digest)

    def owners(self, keys: Collection[str]) -> Mapping[str, Owner]:
        if self.database is None or not keys:
            return {}
        with self.database.reading() as connection:
            return owners(connection, keys)

    def now(self) -> int:
        return self.clock

    def enter(self, name: str, digest: Digest, provider: str, tally: Tally) -> LogReading:  # noqa: ARG002
        mask = first_of_each(tally.identities)
        for earlier in self._earlier(tally):
            mask = without(mask, tally.identities, earlier)
        self._files[digest.sha256] = name
        self._identities.append(packed(tally.identities, mask))
        return _reading(name, tally, mask)

    def _earlier(self, tally: Tally) -> Iterator[bytes]:
        yield from self._identities
        if self.database is not None and tally.span is not None:
            with self.database.reading() as connection:
                yield from delivery_logs.identities_between(connection, *_micros(tally.span))

    def refuse(self, name: str, digest: Digest, refused: LogRefused) -> None:
        """Whoever only looks is told, and that is all."""


@dataclass(frozen=True, slots=True)
class Keeping:
    """The book itself."""

    database: Database

    def known(self, digest: Digest) -> str | None:
        with self.database.reading() as connection:
            return _read_as(connection, digest)

    def owners(self, keys: Collection[str]) -> Mapping[str, Owner]:
        if not keys:
            return {}
        with self.database.reading() as connection:
            return owners(connection, keys)

    def now(self) -> int:
        return self.database.now() // SECOND

    def enter(self, name: str, digest: Digest, provider: str, tally: Tally) -> LogReading:
        unique = first_of_each(tally.identities)
        return self.database.run(lambda tx: _enter(tx, name, digest, provider, tally, unique))

    def refuse(self, name: str, digest: Digest, refused: LogRefused) -> None:
        row = {**_row(name, digest, ""), "verdict": REFUSED, "reason": refused.reason}
        self.database.run(lambda tx: delivery_logs.enter_file(tx, row))


def _read_as(connection: sa.Connection, digest: Digest) -> str | None:
    found = delivery_logs.file_by_id(connection, digest.sha256)
    return None if found is None or found.verdict != READ else str(found.name)


def _enter(
    tx: Transaction, name: str, digest: Digest, provider: str, tally: Tally, unique: Mask
) -> LogReading:
    delivery_logs.one_at_a_time(tx)
    known = _read_as(tx.connection, digest)
    if known is not None:
        return LogReading(name, KNOWN, f"the same bytes were read as {known}")
    mask = unique
    if tally.span is not None:
        for earlier in delivery_logs.identities_between(tx.connection, *_micros(tally.span)):
            mask = without(mask, tally.identities, earlier)
    reading = _reading(name, tally, mask)
    delivery_logs.enter_file(tx, _counted(reading, digest, provider, tally, mask))
    delivery_logs.enter_facts(tx, digest.sha256, _facts(tally, mask))
    aside = [one._asdict() for one in tally.aside]
    delivery_logs.enter_quarantine(tx, digest.sha256, aside)
    delivery_logs.enter_deletions(tx, digest.sha256, [_removed(one) for one in tally.removed])
    return reading


def _row(name: str, digest: Digest, provider: str) -> dict[str, Any]:
    return {
        "id": digest.sha256,
        "kind": str(provider),
        "name": name,
        "size_bytes": digest.size_bytes,
        "reader_version": READER_VERSION,
        "hours": {},
        "reasons": {},
    }


def _counted(reading: LogReading, digest: Digest, provider: str, tally: Tally, mask: Mask) -> dict[str, Any]:
    span = None if tally.span is None else _micros(tally.span)
    return {
        **_row(reading.file, digest, provider),
        "verdict": READ,
        "reason": "",
        "events": reading.events,
        "duplicates": reading.duplicates,
        "ignored": reading.ignored,
        "quarantined": reading.quarantined,
        "bytes_sent": reading.bytes_sent,
        "unattributed_bytes": reading.unattributed_bytes,
        "first_at": span and span[0],
        "last_at": span and span[1],
        "hours": {str(hour * SECOND): lines for hour, lines in tally.hours().items()},
        "reasons": dict(tally.reasons),
        "identities": packed(tally.identities, mask),
    }


def _micros(span: tuple[int, int]) -> tuple[int, int]:
    return span[0] * SECOND, span[1] * SECOND


def _facts(tally: Tally, mask: Mask) -> list[dict[str, Any]]:
    """Groups differ by what their lines also count; a row does not."""
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for fact in tally.facts(mask):
        row = _fact(fact)
        quantity = row.pop("quantity")
        held = rows.setdefault(tuple(row.values()), {**row, "quantity": 0})
        held["quantity"] += quantity
    return list(rows.values())


def _fact(fact: Fact) -> dict[str, Any]:
    owner, kind = fact.group.owner, fact.group.kind
    return {
        "tenant": owner and owner.tenant,
        "campaign": owner and owner.campaign,
        "rendition": owner and owner.rendition,
        "object": owner and owner.object,
        "cost_center": fact.group.cost_center,
        "spend": owner and owner.spend,
        "provider": str(kind.provider),
        "day": fact.day * SECOND,
        "meter": str(fact.meter),
        "region": kind.region,
        "scheme": kind.scheme,
        "traffic": str(kind.traffic),
        "agent": str(kind.agent),
        "quantity": fact.quantity,
    }


def _removed(one: Removed) -> dict[str, Any]:
    return {
        "id": f"{one.event.identity:016x}",
        "tenant": one.owner and one.owner.tenant,
        "object": one.owner and one.owner.object,
        "bucket": one.deletion.bucket,
        "key": one.deletion.key,
        "store_version": one.deletion.store_version,
        "operation": one.deletion.operation,
        "status": one.event.status,
        "at": one.event.at * SECOND,
        "line": one.event.line,
    }
