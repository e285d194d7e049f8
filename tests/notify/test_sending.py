"""Channels against real servers: what arrives, how long it may take, and what a failure gives away."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from typing import Any

import pytest

from pipeline.domain.errors import RemoteUnavailable
from resources.notify.log import LogNotifier
from resources.notify.mail import Encryption, MailNotifier, MailServer
from resources.notify.protocol import Notice, Severity, document
from resources.notify.webhook import WebhookNotifier
from tests.notify.sinks import MailSink, http_sink, mail_sink, trusting
from tests.notify.test_protocol import alert

NOTICE = Notice(alert(), 2, "http://127.0.0.1:3000/runs/0d1f")


def answer(status: str, *headers: str, body: str = "") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()


def test_a_log_line_is_one_json_object_at_the_level_of_its_severity(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "reelwright.alerts")
    LogNotifier().send(NOTICE)
    LogNotifier().send(Notice(alert(severity=Severity.INFO)))

    first, second = caplog.records

    assert (first.levelno, second.levelno) == (logging.ERROR, logging.INFO)
    assert "\n" not in first.getMessage()
    assert json.loads(first.getMessage().removeprefix("alert "))["facts"]["items"] == 12


@pytest.mark.parametrize("status", ["200 OK", "202 Accepted", "204 No Content"])
def test_a_webhook_gets_one_json_document(status: str) -> None:
    with http_sink(answer(status)) as sink:
        WebhookNotifier(sink.url).send(NOTICE)

    assert [json.loads(body) for body in sink.bodies] == [document(NOTICE)]
    assert sink.heads[0].startswith("POST /services/T0/S3CRET HTTP/1.1")
    assert "content-type: application/json" in sink.heads[0].lower()


def test_a_webhook_never_follows_a_redirect() -> None:
    with http_sink() as elsewhere, http_sink(answer("307 Moved", f"Location: {elsewhere.url}")) as sink:
        with pytest.raises(RemoteUnavailable) as caught:
            WebhookNotifier(sink.url).send(NOTICE)

        assert caught.value.reason == "answered_307"
        assert (len(sink.bodies), elsewhere.bodies) == (1, [])


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (answer("500 Oops", body="S3CRET trace"), "answered_500"),
        (b"", "connection_lost"),
        (None, "timed_out"),
    ],
)
def test_a_webhook_that_does_not_take_it_is_named_by_host_alone(reply: bytes | None, reason: str) -> None:
    with http_sink(reply) as sink:
        began = time.monotonic()
        with pytest.raises(RemoteUnavailable) as caught:
            WebhookNotifier(sink.url, seconds=0.5).send(NOTICE)

    assert time.monotonic() - began < 5
    assert caught.value.reason == reason
    assert "S3CRET" not in str(caught.value) + repr(WebhookNotifier(sink.url))
    assert caught.value.__suppress_context__ or reason == "answered_500"


def test_a_webhook_where_nobody_listens_is_unavailable() -> None:
    with http_sink() as sink:
        url = sink.url

    with pytest.raises(RemoteUnavailable):
        WebhookNotifier(url).send(NOTICE)


def mail(sink: MailSink, encryption: Encryption = Encryption.NONE, **other: Any) -> MailNotifier:
    options: dict[str, Any] = {
        "sender": "reelwright@example.com",
        "recipients": ("ops@example.com", "b@example.com"),
    }
    user = {name: other.pop(name) for name in ("user", "password") if name in other}
    server = MailServer("localhost", sink.port, encryption, **user)
    return MailNotifier(server, **(options | {"trust": trusting()} | other))


def test_an_e_mail_says_it_in_words_to_everybody() -> None:
    with mail_sink() as sink:
        mail(sink).send(NOTICE)

    [message] = sink.messages

    assert message["Subject"] == "Reelwright [critical] A lot's run failed"
    assert (message["From"], message["To"]) == ("reelwright@example.com", "ops@example.com, b@example.com")
    assert message["X-Reelwright-Alert"] == "run-failed:submit-12"
    assert sink.recipients == ["ops@example.com", "b@example.com"]
    assert "items: 12" in message.get_content()
    assert "http://127.0.0.1:3000/runs/0d1f" in message.get_content()


def test_starttls_encrypts_before_anybody_logs_in_or_says_a_word() -> None:
    with mail_sink(offers_starttls=True) as sink:
        mail(sink, Encryption.STARTTLS, user="ops", password="s3cret").send(NOTICE)

    assert sink.said[:4] == ["EHLO", "STARTTLS", "TLS", "EHLO"]
    assert sink.logins == ["\0ops\0s3cret"]
    assert len(sink.messages) == 1


def test_tls_from_the_first_byte() -> None:
    with mail_sink(tls=True) as sink:
        mail(sink, Encryption.TLS).send(NOTICE)

    assert len(sink.messages) == 1


def test_the_same_notice_twice_is_one_message_and_a_later_one_another() -> None:
    with mail_sink() as sink:
        for count in (2, 2, 3):
            mail(sink).send(Notice(alert(), count))

    ids = [message["Message-ID"] for message in sink.messages]

    assert ids[0] == ids[1] != ids[2]


TROUBLE: list[tuple[str, Callable[[], Any], Encryption, dict[str, Any]]] = [
    ("no_starttls", mail_sink, Encryption.STARTTLS, {"user": "ops", "password": "s3cret"}),
    (
        "not_authenticated",
        lambda: mail_sink(AUTH="535 no s3cret"),
        Encryption.NONE,
        {"user": "u", "password": "s3cret"},
    ),
    ("recipients_refused", lambda: mail_sink(RCPT="550 who"), Encryption.NONE, {}),
    ("sender_refused", lambda: mail_sink(MAIL="550 no"), Encryption.NONE, {}),
    ("refused", lambda: mail_sink(DATA="554 full"), Encryption.NONE, {}),
    ("connection_lost", lambda: mail_sink(EHLO="", HELO=""), Encryption.NONE, {"seconds": 1}),
    ("untrusted_certificate", lambda: mail_sink(tls=True), Encryption.TLS, {"trust": None}),
    ("untrusted_certificate", lambda: mail_sink(offers_starttls=True), Encryption.STARTTLS, {"trust": None}),
]


@pytest.mark.parametrize(("reason", "made", "encryption", "options"), TROUBLE)
def test_a_mail_server_that_does_not_take_it_is_named_by_a_reason(
    reason: str, made: Callable[[], Any], encryption: Encryption, options: dict[str, Any]
) -> None:
    with made() as sink, pytest.raises(RemoteUnavailable) as caught:
        mail(sink, encryption, **options).send(NOTICE)

    assert caught.value.reason == reason
    assert sink.messages == []
    assert "s3cret" not in str(caught.value)


def test_a_refused_recipient_is_logged_and_keeps_it_from_nobody(caplog: pytest.LogCaptureFixture) -> None:
    with mail_sink() as sink:
        sink.unknown = frozenset({"b@example.com"})
        mail(sink).send(NOTICE)

    assert sink.recipients == ["ops@example.com"]
    assert len(sink.messages) == 1
    assert [one.getMessage() for one in caplog.records if one.name == "reelwright.alerts"] == [
        "mail server localhost refused 1 recipients"
    ]


def test_a_mail_server_where_nobody_listens_is_unreachable() -> None:
    with mail_sink() as sink:
        notifier = mail(sink)

    with pytest.raises(RemoteUnavailable) as caught:
        notifier.send(NOTICE)
    assert caught.value.reason == "unreachable"


def test_a_password_is_not_in_the_servers_repr() -> None:
    assert "s3cret" not in repr(MailServer("h", 25, Encryption.TLS, "u", "s3cret"))
