"""One setting names the channel; what cannot be used is refused by the setting's name, never by its value."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.documents.settings import read_settings
from pipeline.domain.errors import BadSettings
from resources.connect import alert_outlet
from resources.notify.channels import notifier
from resources.notify.log import LogNotifier
from resources.notify.mail import MailNotifier
from resources.notify.protocol import Window
from resources.notify.webhook import WebhookNotifier

MAIL = {"sender": "reelwright@example.com", "recipients": "ops@example.com, b@example.com"}


@pytest.mark.parametrize(
    ("channel", "kind"),
    [
        ("log", LogNotifier),
        ("https://hooks.example.com/T0/S3CRET", WebhookNotifier),
        ("http://127.0.0.1:9/hook", WebhookNotifier),
        ("http://localhost:9/hook", WebhookNotifier),
        ("smtp://mail.example.com", MailNotifier),
        ("smtp+starttls://ops:p%40ss@mail.example.com:2525", MailNotifier),
        ("smtps://ops:pass@mail.example.com", MailNotifier),
        ("smtp://ops:pass@127.0.0.1:25", MailNotifier),
    ],
)
def test_each_form_opens_its_channel(channel: str, kind: type) -> None:
    assert isinstance(notifier(channel, **MAIL), kind)


@pytest.mark.parametrize(
    "channel",
    [
        "", "stdout", "https://", "ftp://there/S3CRET", "http://hooks.example.com/S3CRET",
        "https://user:S3CRET@hooks.example.com/", "https://hooks.example.com/S3CRET#x",
        "smtp://ops:S3CRET@mail.example.com", "smtps://mail.example.com/S3CRET", "smtps://mail:S3CRET:9",
        "smtps://mail.example.com:S3CRET", "https://[S3CRET/",
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused_without_its_value(channel: str) -> None:
    with pytest.raises(BadSettings) as caught:
        notifier(channel, **MAIL)

    assert caught.value.setting == "alerts"
    assert caught.value.remedy
    assert "S3CRET" not in str(caught.value) + caught.value.remedy


@pytest.mark.parametrize(
    ("sender", "recipients", "setting"),
    [
        ("", "ops@example.com", "alert_from"),
        ("a@example.com\nBcc: x@example.com", "ops@example.com", "alert_from"),
        ("a@example.com", "", "alert_to"),
        ("a@example.com", "ops@example.com, nobody", "alert_to"),
    ],
)
def test_e_mail_needs_addresses(sender: str, recipients: str, setting: str) -> None:
    with pytest.raises(BadSettings) as caught:
        notifier("smtp://mail.example.com", sender=sender, recipients=recipients)

    assert caught.value.setting == setting


def test_settings_make_the_outlet_and_links_lead_where_people_reach_us(tmp_path: Path) -> None:
    environment = {
        "REELWRIGHT_ALERTS": "https://hooks.example.com/T0/S3CRET",
        "REELWRIGHT_DAGSTER_URL": "https://ops.example.com/dagster/",
        "REELWRIGHT_ALERT_REPEAT_HOURS": "2",
    }
    settings = read_settings(environment, tmp_path)
    outlet = alert_outlet(settings)

    assert outlet.windows == {
        Window.DAGSTER: "https://ops.example.com/dagster", Window.API: "http://127.0.0.1:3001",
    }  # fmt: skip
    assert outlet.repeat_after_seconds == 7200
    assert "S3CRET" not in repr(settings) + repr(outlet)
