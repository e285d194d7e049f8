"""Output URLs that expire: who holds one may read one output until then, and nothing else.

Belongs here: minting and checking. Does not belong here: where the secret lies (store_folder).
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field
from urllib.parse import urlencode

from resources.local_renderer.refusals import Refused


@dataclass(frozen=True, slots=True)
class UrlSigner:
    secret: bytes = field(repr=False)
    lifetime_seconds: int = 900

    def mint(self, origin: str, job_id: str, now_seconds: int) -> tuple[str, int]:
        """The URL, and when it expires in UTC seconds."""
        expires = now_seconds + self.lifetime_seconds
        query = urlencode({"expires": expires, "signature": self._signature(job_id, str(expires))})
        return f"{origin}/outputs/{job_id}.mp4?{query}", expires

    def check(self, job_id: str, expires: str, signature: str, now_seconds: int) -> None:
        """Raises `Refused`: forged before expired, so that the expiry of a guess tells nothing."""
        right = self._signature(job_id, expires)
        if not expires.isdecimal() or not hmac.compare_digest(right.encode(), signature.encode()):
            raise Refused("forged", "this URL was not made here; ask for the job again to get a fresh one")
        if int(expires) <= now_seconds:
            raise Refused("expired", "this URL has expired; ask for the job again to get a fresh one")

    def _signature(self, job_id: str, expires: str) -> str:
        return hmac.new(self.secret, f"{job_id}\n{expires}".encode(), hashlib.sha256).hexdigest()
