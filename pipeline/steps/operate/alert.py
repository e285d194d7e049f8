"""Tell somebody, once: raise an alert, send what waits, clear what is over (A4).

Belongs here: one sending a key until it is cleared or hours have passed, and the pauses of a channel that
does not answer. Does not belong here: the channels (`resources.notify`), or what is worth an alert (checks
and sensors).

An alert is a row before it is a message. The row survives the process, holds the count of repetitions, and is
sent by whoever comes next when the channel was down; two processes that raise the same one send it once.
"""

from __future__ import annotations

import enum
from collections import Counter
from typing import Any

import sqlalchemy as sa

from pipeline.domain.errors import RemoteUnavailable
from resources.database import alerts as rows
from resources.database.database import Database
from resources.notify.protocol import Alert, Link, Outlet, Severity, Window

#: A channel that is down is asked again after half a minute, then rarer, at least once an hour.
FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 30.0, 3600.0
#: Alerts that one call sends; a channel that times out for each of them must not hold up a sensor.
AT_ONCE = 10


class Told(enum.StrEnum):
    """What became of raising or sending an alert."""

    SENT = "sent"
    COUNTED = "counted"  #: somebody was told before, or somebody else is telling, or it waits for its turn
    POSTPONED = "postponed"  #: the channel did not take it; it waits for the next `send_waiting`
    OVERTAKEN = "overtaken"  #: it went out, but so slowly that somebody else may have sent it too


def raise_alert(database: Database, outlet: Outlet, alert: Alert) -> Told:
    """Note that *alert* holds, and send it unless somebody was told in this episode or lately.

    Never raises for the channel's sake: what cannot be sent now stays and is sent by `send_waiting`.
    """
    database.run(lambda tx: rows.raise_row(tx, _row(alert), outlet.repeat_after_seconds))
    claimed = database.run(lambda tx: rows.claim_unsent(tx, 1, only=alert.id))
    return _send(database, outlet, claimed[0]) if claimed else Told.COUNTED


def send_waiting(database: Database, outlet: Outlet, at_most: int = AT_ONCE) -> Counter[Told]:
    """Send alerts that wait because the channel did not take them; the alert sensor's work.

    The first one that is not taken ends it: the others would fare alike.
    """
    told: Counter[Told] = Counter()
    while told.total() < at_most and not told[Told.POSTPONED]:
        claimed = database.run(lambda tx: rows.claim_unsent(tx, 1))
        if not claimed:
            break
        told[_send(database, outlet, claimed[0])] += 1
    return told


def clear_alert(database: Database, alert: str) -> bool:
    """What it was about is over: the next time it is raised it is new. False when nothing was open."""
    return database.run(lambda tx: rows.clear_row(tx, alert))


def _send(database: Database, outlet: Outlet, claimed: sa.Row[Any]) -> Told:
    try:
        outlet.notifier.send(outlet.notice(_alert(claimed), claimed.raised))
    except RemoteUnavailable as error:
        reason, wait = error.reason, _wait_seconds(claimed.tries)
        database.run(lambda tx: rows.settle_unsent(tx, claimed, reason, wait))
        return Told.POSTPONED
    settled = database.run(lambda tx: rows.settle_sent(tx, claimed))
    return Told.SENT if settled else Told.OVERTAKEN


def _wait_seconds(tries: int) -> float:
    return min(FIRST_WAIT_SECONDS * 2.0 ** min(tries, 10), LONGEST_WAIT_SECONDS)


def _row(alert: Alert) -> rows.Raised:
    link = alert.link
    return rows.Raised(
        id=alert.id,
        tenant=alert.tenant,
        severity=str(alert.severity),
        title=alert.title,
        facts=alert.facts,
        link_window=None if link is None else str(link.window),
        link_path=None if link is None else link.path,
    )


def _alert(row: sa.Row[Any]) -> Alert:
    """A severity or window of a newer release is no reason to say nothing (L9)."""
    severity = Severity(row.severity) if row.severity in set(Severity) else Severity.WARNING
    link = Link(Window(row.link_window), row.link_path) if row.link_window in set(Window) else None
    return Alert(row.id, severity, row.title, row.facts, link, row.tenant)
