"""What the renderer answers when it does not do what was asked.

Belongs here: refusals with their HTTP status and stable code, and their one JSON shape. Does not belong
here: failures of a job that was taken (those are the job's own `error`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipeline.domain.errors import BadInput

_STATUS: Mapping[str, int] = {
    "invalid_request": 400,
    "unsupported_script": 400,
    "unknown_model": 400,
    "hash_mismatch": 400,
    "forbidden_origin": 403,
    "forged": 403,
    "expired": 403,
    "not_found": 404,
    "not_allowed": 405,
    "missing_assets": 409,
    "already_ended": 409,
    "not_ended": 409,
    "gone": 410,
    "too_large": 413,
    "key_reuse": 422,
    "queue_full": 429,
    "fault": 500,
    "disk_full": 507,
}


class Refused(BadInput):
    """The renderer did not do it and kept nothing of it; `code` says why, `more` holds the facts."""

    def __init__(self, code: str, message: str, **more: Any) -> None:
        super().__init__(message)
        self.code = code
        self.more = more

    @property
    def status(self) -> int:
        return _STATUS[self.code]

    def as_json(self) -> dict[str, Any]:
        return {"error": {"code": self.code, "message": str(self), **self.more}}
