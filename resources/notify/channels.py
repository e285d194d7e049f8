"""From the one setting to the channel that it names.

Belongs here: the forms of that setting. Does not belong here: reading settings (`pipeline.documents`), or
sending.
"""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import SplitResult, unquote, urlsplit

from pipeline.domain.errors import BadSettings
from resources.notify.log import LogNotifier
from resources.notify.mail import Encryption, MailNotifier, MailServer
from resources.notify.protocol import Notifier
from resources.notify.webhook import WebhookNotifier

SETTING = "alerts"
_FORMS = "use log, https://HOST/PATH, or smtp+starttls://USER:PASSWORD@HOST:PORT (also smtps, smtp)"
_MAIL_PORTS = {Encryption.NONE: 25, Encryption.STARTTLS: 587, Encryption.TLS: 465}
_ADDRESS = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*")


def notifier(channel: str, *, sender: str = "", recipients: str = "") -> Notifier:
    """The channel named by *channel*; BadSettings, without the value, names what is wrong with it.

    *sender* and *recipients* (addresses, separated by commas) are for e-mail alone.
    """
    if channel == "log":
        return LogNotifier()
    try:
        parsed = urlsplit(channel)
        _ = parsed.port
    except ValueError:
        raise BadSettings(SETTING, "is not an address", _FORMS) from None
    if not parsed.hostname:
        raise BadSettings(SETTING, "names no channel that is known", _FORMS)
    if parsed.scheme in ("http", "https"):
        return _webhook(channel, parsed)
    if parsed.scheme in set(Encryption):
        return _mail(parsed, sender, recipients)
    raise BadSettings(SETTING, f"{parsed.scheme}:// is not a channel that is known", _FORMS)


def _webhook(channel: str, parsed: SplitResult) -> Notifier:
    if parsed.username or parsed.password or parsed.fragment:
        raise BadSettings(SETTING, "a webhook's address has no user name and no fragment", _FORMS)
    if parsed.scheme == "http" and not _is_loopback(parsed.hostname):
        raise BadSettings(SETTING, "a webhook over plain http is for this machine alone", "use https://")
    return WebhookNotifier(channel)


def _mail(parsed: SplitResult, sender: str, recipients: str) -> Notifier:
    encryption = Encryption(parsed.scheme)
    if parsed.path.strip("/") or parsed.query or parsed.fragment:
        raise BadSettings(SETTING, "a mail server's address ends with its port", _FORMS)
    if encryption is Encryption.NONE and parsed.password and not _is_loopback(parsed.hostname):
        raise BadSettings(
            SETTING, "a password never goes out unencrypted", "use smtp+starttls:// or smtps://"
        )
    server = MailServer(
        parsed.hostname or "",
        parsed.port or _MAIL_PORTS[encryption],
        encryption,
        unquote(parsed.username or ""),
        unquote(parsed.password or ""),
    )
    to = tuple(address.strip() for address in recipients.split(",") if address.strip())
    return MailNotifier(
        server, sender=_addresses("alert_from", (sender,))[0], recipients=_addresses("alert_to", to)
    )


def _addresses(setting: str, written: tuple[str, ...]) -> tuple[str, ...]:
    if not written or not all(_ADDRESS.fullmatch(address) for address in written):
        raise BadSettings(setting, "e-mail needs plain addresses", f"set {setting}, e.g. ops@example.com")
    return written


def _is_loopback(host: str | None) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False
