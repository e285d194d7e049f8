"""Whether a store really refuses to overwrite, and to take bytes that are not those of their checksum.

Belongs here: the proof. Does not belong here: when it is asked for.

Both were found wrong in the wild: stores that take `If-None-Match: *` and overwrite, and stores that take any
checksum. Everything that Reelwright promises stands on the first. The proof's object stays, so that the
second and every later proof is one request that must be refused.
"""

from __future__ import annotations

import base64
import hashlib
import io
import secrets
from contextlib import suppress

from pipeline.domain.errors import BadSettings, StoreUnavailable
from resources.object_store.s3_client import RESERVED, Answered, Client
from resources.object_store.s3_errors import TAKEN

PROOF = f"{RESERVED}/proof"
SPOILT = f"{RESERVED}/spoilt"
_REMEDY = "use a store that honours `If-None-Match: *` and checksums (docs/s3.md)"


def prove(client: Client) -> None:
    """BadSettings for a store that cannot be trusted, StoreUnavailable for one that does not answer."""
    if not _writes(client, PROOF, secrets.token_bytes(16)):
        return
    if _writes(client, PROOF, secrets.token_bytes(16)):
        raise BadSettings("store_url", f"{client.bucket} overwrites what it was told to keep", _REMEDY)
    if _takes_other_bytes(client):
        raise BadSettings("store_url", f"{client.bucket} takes bytes that do not fit their checksum", _REMEDY)


def _writes(client: Client, key: str, content: bytes, of: bytes | None = None) -> bool:
    """One try: a second one would meet what the first one wrote."""
    checksum = base64.b64encode(hashlib.sha256(content if of is None else of).digest()).decode()
    try:
        client.ask(
            "put_object",
            {"Key": client.own(key), "ChecksumSHA256": checksum, "IfNoneMatch": "*", **client.encryption},
            expects=TAKEN,
            body=lambda: io.BytesIO(content),
            attempts=1,
        )
    except Answered:
        return False
    return True


def _takes_other_bytes(client: Client) -> bool:
    try:
        is_taken = _writes(client, SPOILT, b"these", of=b"those")
    except StoreUnavailable as refused:
        if refused.reason != "checksum_mismatch":
            raise
        return False
    with suppress(StoreUnavailable):
        client.ask("delete_object", {"Key": client.own(SPOILT)})
    return is_taken
