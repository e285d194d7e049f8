"""Small real rows for tests: one campaign with an attempt in any state."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from resources.database import schema
from resources.database.database import Database, Transaction


def insert(database: Database, table: sa.Table, *rows: dict[str, Any]) -> None:
    def work(tx: Transaction) -> None:
        tx.connection.execute(sa.insert(table), list(rows))

    database.run(work)


def campaign(database: Database, name: str = "northwind.spring", cap: int = 50_000_000) -> str:
    tenant, slug = name.split(".")
    insert(
        database,
        schema.campaigns,
        {"id": name, "tenant": tenant, "slug": slug, "title": slug, "newest_revision": 1, "created_at": 0},
    )
    insert(
        database,
        schema.campaign_settings,
        {
            "campaign": name, "number": 1, "tenant": tenant, "effective_from": 0, "actor": "test",
            "cost_center": "MKT-1", "retention_class": "standard", "asset_type": "marketing-video",
            "visibility": "public", "tags": {}, "publish": "auto", "completion": "all_terminal",
            "ends_on": "2027-03-31", "budget_cap": cap, "currency": "EUR",
        },
    )  # fmt: skip
    insert(database, schema.budgets, {"campaign": name, "tenant": tenant, "currency": "EUR", "cap": cap})
    return name


def rendition(database: Database, campaign_id: str, name: str = "r-1", **columns: Any) -> str:
    tenant = campaign_id.split(".")[0]
    slot = f"{campaign_id}/en-GB/16x9/{name}"
    insert(
        database,
        schema.slots,
        {"id": slot, "tenant": tenant, "campaign": campaign_id, "variant": f"en-GB/16x9/{name}",
         "wanted_rendition": name},
    )  # fmt: skip
    row = {
        "id": name, "tenant": tenant, "campaign": campaign_id, "slot": slot,
        "variant": f"en-GB/16x9/{name}", "fingerprint": name, "take": 1, "locale": "en-GB",
        "aspect_ratio": "16:9", "width": 1280, "height": 720, "duration_seconds": 6, "copy": "Hi",
        "provider": "local", "model": "kenburns-1", "settings": {}, "profile_version": "1",
        "sources": [], "attempts_made": 1, "first_revision": f"{campaign_id}/r1",
        "selected_attempt": f"{name}-a1", "created_at": 0,
    }  # fmt: skip
    insert(database, schema.renditions, row | columns)
    return name


def attempt(database: Database, campaign_id: str, rendition_id: str, number: int = 1, **columns: Any) -> str:
    name = f"{rendition_id}-a{number}"
    row = {
        "id": name, "tenant": campaign_id.split(".")[0], "campaign": campaign_id,
        "rendition": rendition_id, "number": number, "state": "queued", "submission": "not_sent",
        "idempotency_key": f"key-{name}", "request_fingerprint": "f", "provider": "local",
        "model": "kenburns-1", "currency": "EUR", "spend": "live", "created_at": 0,
    }  # fmt: skip
    insert(database, schema.attempts, row | columns)
    return name


def read(database: Database, table: sa.Table, subject: str) -> sa.Row[Any]:
    with database.reading() as connection:
        return connection.execute(sa.select(table).where(table.c.id == subject)).one()


def rows(database: Database, table: sa.Table) -> list[sa.Row[Any]]:
    with database.reading() as connection:
        return list(connection.execute(sa.select(table)))
