"""An alert is told once, counted when it repeats, told again when it stays, and never lost by its channel."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

import pytest

from pipeline.domain.errors import RemoteUnavailable
from pipeline.steps.operate.alert import Told, clear_alert, raise_alert, send_waiting
from resources.database import alerts as statements
from resources.database import schema
from resources.database.database import Database
from resources.notify.protocol import Notice, Outlet, Severity, Window
from resources.notify.webhook import WebhookNotifier
from tests.conftest import Clock
from tests.database import rows
from tests.notify.sinks import http_sink
from tests.notify.test_protocol import alert

HOUR = 3600


@dataclass
class Notebook:
    """A channel that remembers, or that is down."""

    is_down: bool = False
    notices: list[Notice] = field(default_factory=list)

    def send(self, notice: Notice) -> None:
        if self.is_down:
            raise RemoteUnavailable("timed_out", "webhook at hooks.example.com: timed_out")
        self.notices.append(notice)


@pytest.fixture
def notebook() -> Notebook:
    return Notebook()


@pytest.fixture
def outlet(notebook: Notebook) -> Outlet:
    return Outlet(notebook, {Window.DAGSTER: "http://127.0.0.1:3000"}, 12 * HOUR)


def row(database: Database) -> Any:
    [found] = rows.rows(database, schema.alerts)
    return found


def test_an_alert_is_told_once_and_then_counted(
    database: Database, outlet: Outlet, notebook: Notebook
) -> None:
    told = [raise_alert(database, outlet, alert()) for _ in range(3)]

    assert told == [Told.SENT, Told.COUNTED, Told.COUNTED]
    assert notebook.notices == [Notice(alert(), 1, "http://127.0.0.1:3000/runs/0d1f")]
    assert row(database).raised == 3


def test_different_alerts_do_not_hide_each_other(
    database: Database, outlet: Outlet, notebook: Notebook
) -> None:
    raise_alert(database, outlet, alert())
    raise_alert(database, outlet, alert(id="check-failed:publish_invariant"))

    assert [notice.alert.id for notice in notebook.notices] == [
        "run-failed:submit-12", "check-failed:publish_invariant",
    ]  # fmt: skip


def test_what_stays_is_told_again_after_hours_with_its_count(
    database: Database, outlet: Outlet, notebook: Notebook, clock: Clock
) -> None:
    raise_alert(database, outlet, alert())
    clock.pass_seconds(12 * HOUR - 1)
    early = raise_alert(database, outlet, alert())
    clock.pass_seconds(1)
    late = raise_alert(database, outlet, alert(severity=Severity.WARNING))

    assert (early, late) == (Told.COUNTED, Told.SENT)
    assert [notice.count for notice in notebook.notices] == [1, 3]
    assert notebook.notices[1].alert.severity is Severity.WARNING


def test_what_was_cleared_and_comes_back_is_new(
    database: Database, outlet: Outlet, notebook: Notebook, clock: Clock
) -> None:
    raise_alert(database, outlet, alert())
    raise_alert(database, outlet, alert())
    cleared = [clear_alert(database, alert().id) for _ in range(2)]
    clock.pass_seconds(60)
    raise_alert(database, outlet, alert())

    assert cleared == [True, False]
    assert [notice.count for notice in notebook.notices] == [1, 1]
    assert (row(database).first_at, row(database).cleared_at) == (clock.at, None)


def test_clearing_what_was_never_raised_says_so(database: Database) -> None:
    assert clear_alert(database, "nothing") is False


def test_a_channel_that_is_down_keeps_the_alert_and_is_asked_ever_more_rarely(
    database: Database, outlet: Outlet, notebook: Notebook, clock: Clock
) -> None:
    notebook.is_down = True
    told = raise_alert(database, outlet, alert())
    waits = []
    for _ in range(9):
        found = row(database)
        waits.append((found.next_try_at - clock.at) // 1_000_000)
        clock.at = found.next_try_at
        assert send_waiting(database, outlet) == {Told.POSTPONED: 1}

    assert told is Told.POSTPONED
    assert waits == [30, 60, 120, 240, 480, 960, 1920, 3600, 3600]
    assert (row(database).last_error, row(database).sent_at) == ("timed_out", None)


def test_an_alert_that_waits_goes_out_when_the_channel_is_back(
    database: Database, outlet: Outlet, notebook: Notebook, clock: Clock
) -> None:
    notebook.is_down = True
    raise_alert(database, outlet, alert())
    raise_alert(database, outlet, alert())
    notebook.is_down = False
    too_early = send_waiting(database, outlet)
    clock.pass_seconds(30)
    sent = send_waiting(database, outlet)
    again = send_waiting(database, outlet)

    assert (too_early, sent, again) == ({}, {Told.SENT: 1}, {})
    assert [notice.count for notice in notebook.notices] == [2]


def test_what_was_cleared_while_it_waited_is_not_sent(
    database: Database, outlet: Outlet, notebook: Notebook, clock: Clock
) -> None:
    notebook.is_down = True
    raise_alert(database, outlet, alert())
    clear_alert(database, alert().id)
    notebook.is_down = False
    clock.pass_seconds(HOUR)

    assert send_waiting(database, outlet) == {}


def test_one_call_sends_no_more_than_it_may_and_stops_where_the_channel_fails(
    database: Database, outlet: Outlet, notebook: Notebook, clock: Clock
) -> None:
    notebook.is_down = True
    for number in range(4):
        raise_alert(database, outlet, alert(id=f"a-{number}"))
    clock.pass_seconds(HOUR)

    assert send_waiting(database, outlet) == {Told.POSTPONED: 1}

    notebook.is_down = False

    assert send_waiting(database, outlet, at_most=2) == {Told.SENT: 2}


def test_a_sender_that_died_is_followed_by_another_once_its_claim_is_over(
    database: Database, outlet: Outlet, notebook: Notebook, clock: Clock
) -> None:
    notebook.is_down = True
    raise_alert(database, outlet, alert())
    clock.pass_seconds(30)
    notebook.is_down = False
    database.run(lambda tx: statements.claim_unsent(tx, 1))
    meanwhile = send_waiting(database, outlet)
    clock.pass_seconds(statements.CLAIM_SECONDS)

    assert (meanwhile, send_waiting(database, outlet)) == ({}, {Told.SENT: 1})


def test_a_late_sender_settles_nothing(
    database: Database, outlet: Outlet, notebook: Notebook, clock: Clock
) -> None:
    @dataclass
    class Slow:
        def send(self, _notice: Notice) -> None:
            clock.pass_seconds(statements.CLAIM_SECONDS)
            assert raise_alert(database, outlet, alert()) is Told.SENT

    assert raise_alert(database, Outlet(Slow()), alert()) is Told.OVERTAKEN


def test_many_who_raise_the_same_at_once_tell_it_once(
    database: Database, outlet: Outlet, notebook: Notebook
) -> None:
    together = threading.Barrier(4)
    told: list[Told] = []

    def one() -> None:
        together.wait()
        told.append(raise_alert(database, outlet, alert()))

    threads = [threading.Thread(target=one) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(told) == [Told.COUNTED] * 3 + [Told.SENT]
    assert (len(notebook.notices), row(database).raised) == (1, 4)


def test_rows_of_a_newer_release_are_still_told(
    database: Database, outlet: Outlet, notebook: Notebook, clock: Clock
) -> None:
    rows.insert(
        database, schema.alerts,
        {
            "id": "a-1", "tenant": "*", "severity": "apocalyptic", "title": "Something new",
            "facts": {"items": 1}, "link_window": "moon", "link_path": "/x", "first_at": 0, "last_at": 0,
            "next_try_at": 0, "claimed_until": 0, "raised": 1,
        },
    )  # fmt: skip

    assert send_waiting(database, outlet) == {Told.SENT: 1}
    assert notebook.notices[0].alert.severity is Severity.WARNING


def test_what_goes_out_and_what_is_kept_hold_no_secret_of_the_channel(database: Database) -> None:
    with http_sink(b"HTTP/1.1 500 Oops\r\nContent-Length: 6\r\n\r\nS3CRET") as sink:
        told = raise_alert(database, Outlet(WebhookNotifier(sink.url)), alert())

    assert told is Told.POSTPONED
    assert row(database).last_error == "answered_500"
    assert "S3CRET" not in str(row(database))
