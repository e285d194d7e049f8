"""Documents that decisions rest on, kept as they were: a version named in a row can always be read again."""

from __future__ import annotations

import hashlib
from typing import Any

from resources.database.database import Transaction
from resources.database.objects import plain
from resources.database.schema import documents
from resources.database.schema.base import canonical_json
from resources.database.upsert import insert_for


def record_document(tx: Transaction, kind: str, version: str, value: Any) -> str:
    """Keep *value*, a frozen domain value, under its digest; returns the id. The same one twice is one."""
    body = canonical_json(plain(value))
    sha256 = hashlib.sha256(body.encode()).hexdigest()
    insert = insert_for(tx.connection, documents).values(
        id=f"{kind}:{sha256}", kind=kind, version=version, sha256=sha256, body=body, recorded_at=tx.now
    )
    tx.connection.execute(insert.on_conflict_do_nothing())
    return f"{kind}:{sha256}"
