"""The channel that needs no service of others: e-mail over SMTP, encrypted as the setting asks."""

from __future__ import annotations

import enum
import hashlib
import logging
import smtplib
import ssl
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.utils import formatdate

from pipeline.domain.errors import RemoteUnavailable
from resources.notify.protocol import Notice, headline, text

LOGGER = logging.getLogger("reelwright.alerts")

SECONDS = 10.0


class Encryption(enum.StrEnum):
    NONE = "smtp"
    STARTTLS = "smtp+starttls"  #: plain until the server agrees to TLS; nothing is said before
    TLS = "smtps"


#: First match wins: what the library raises, in our words.
_REASONS: tuple[tuple[type[Exception], str], ...] = (
    (smtplib.SMTPAuthenticationError, "not_authenticated"),
    (smtplib.SMTPRecipientsRefused, "recipients_refused"),
    (smtplib.SMTPSenderRefused, "sender_refused"),
    (smtplib.SMTPNotSupportedError, "no_starttls"),
    (smtplib.SMTPServerDisconnected, "connection_lost"),
    (smtplib.SMTPException, "refused"),
    (ssl.SSLCertVerificationError, "untrusted_certificate"),
    (ssl.SSLError, "tls_failed"),
    (TimeoutError, "timed_out"),
    (OSError, "unreachable"),
)


@dataclass(frozen=True, slots=True)
class MailServer:
    host: str
    port: int
    encryption: Encryption = Encryption.STARTTLS
    user: str = ""
    password: str = field(default="", repr=False)


class MailNotifier:
    """One message to all of *recipients*; *trust* is the TLS context, the system's by default."""

    def __init__(
        self,
        server: MailServer,
        *,
        sender: str,
        recipients: tuple[str, ...],
        seconds: float = SECONDS,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        self._server = server
        self._sender = sender
        self._recipients = recipients
        self._seconds = seconds
        self._trust = trust or ssl.create_default_context()

    def send(self, notice: Notice) -> None:
        """Sent once the server took it for anybody: trying again would tell the others every time."""
        try:
            with self._connected() as server:
                refused = server.send_message(self._message(notice))
        except tuple(kind for kind, _ in _REASONS) as error:
            raise self._trouble(next(word for kind, word in _REASONS if isinstance(error, kind))) from None
        if refused:
            LOGGER.warning("mail server %s refused %d recipients", self._server.host, len(refused))

    def _trouble(self, reason: str) -> RemoteUnavailable:
        """Without the server's own words, which may repeat addresses or credentials."""
        return RemoteUnavailable(reason, f"mail server {self._server.host}: {reason.replace('_', ' ')}")

    def _connected(self) -> smtplib.SMTP:
        at, encryption = self._server, self._server.encryption
        if encryption is Encryption.TLS:
            server: smtplib.SMTP = smtplib.SMTP_SSL(
                at.host, at.port, timeout=self._seconds, context=self._trust
            )
        else:
            server = smtplib.SMTP(at.host, at.port, timeout=self._seconds)
        try:
            if encryption is Encryption.STARTTLS:
                server.starttls(context=self._trust)
            if at.user:
                server.login(at.user, at.password)
        except BaseException:
            server.close()
            raise
        return server

    def _message(self, notice: Notice) -> EmailMessage:
        made = EmailMessage()
        made["From"] = self._sender
        made["To"] = ", ".join(self._recipients)
        made["Subject"] = f"Reelwright {headline(notice)}"
        made["Date"] = formatdate(usegmt=True)
        made["Message-ID"] = f"<{_digest(notice)}@{self._sender.rpartition('@')[2]}>"
        made["Auto-Submitted"] = "auto-generated"
        made["X-Reelwright-Alert"] = notice.alert.id
        made.set_content(f"{text(notice)}\n\nalert: {notice.alert.id}\n")
        return made


def _digest(notice: Notice) -> str:
    """The same notice sent twice, by a killed sender, is one message to most mail programs."""
    return hashlib.sha256(f"{notice.alert.id}\n{notice.count}\n{notice.link}".encode()).hexdigest()[:40]
