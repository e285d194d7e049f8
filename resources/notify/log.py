"""The channel that is always there: one line in the log of this process."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping

from resources.notify.protocol import Notice, Severity, document

LOGGER = logging.getLogger("reelwright.alerts")

_LEVELS: Mapping[Severity, int] = {
    Severity.INFO: logging.INFO,
    Severity.WARNING: logging.WARNING,
    Severity.CRITICAL: logging.ERROR,
}


class LogNotifier:
    """One JSON object a line, so that a log shipper can read it."""

    def send(self, notice: Notice) -> None:
        said = {name: value for name, value in document(notice).items() if name != "text"}
        LOGGER.log(_LEVELS[notice.alert.severity], "alert %s", json.dumps(said, ensure_ascii=False))
