"""Migrated throw-away databases of both dialects, and rows to work on.

Belongs here: opening, seeding, and the bare DB-API connection of a baseline. Does not belong here: timing.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from resources.database import schema
from resources.database.database import Database, Transaction
from resources.database.migrate import migrate
from tests.postgres import running_postgres

#: 2026-01-01T00:00:00Z in microseconds: long due for every claim.
LONG_AGO = 1_767_225_600_000_000


@dataclass(frozen=True, slots=True)
class Bench:
    """One migrated database."""

    dialect: str
    database: Database

    def bare(self) -> Any:
        """A DB-API connection as the product's own engine prepares it: same journal, same durability."""
        fairy = self.database.engine.raw_connection()
        connection = fairy.driver_connection
        fairy.detach()
        return connection


@contextmanager
def each_database() -> Iterator[Sequence[Bench]]:
    """SQLite and PostgreSQL, both migrated and empty."""
    with tempfile.TemporaryDirectory() as folder, running_postgres(is_synced=True) as server:
        urls = {"sqlite": f"sqlite:///{Path(folder)}/bench.db", "postgresql": server.url()}
        for url in urls.values():
            migrate(url)
        benches = [Bench(dialect, Database.at(url)) for dialect, url in urls.items()]
        try:
            yield benches
        finally:
            for bench in benches:
                bench.database.close()


def seed(
    database: Database, prefix: str, *, tenants: int, campaigns: int, attempts: int, **columns: Any
) -> None:
    """*campaigns* of each tenant with *attempts* each, one attempt a rendition, all alike but for names."""

    def work(tx: Transaction) -> None:
        for tenant in (f"{prefix}{number:03}" for number in range(tenants)):
            for campaign in (f"{tenant}.c{number:03}" for number in range(campaigns)):
                _seed_campaign(tx, tenant, campaign)
                names = [f"{campaign}-{number:05}" for number in range(attempts)]
                _seed_attempts(tx, tenant, campaign, names, columns)

    database.run(work)


def settle(database: Database) -> None:
    """What PostgreSQL does by itself within a minute of a bulk load; SQLite keeps no statistics here."""
    if database.engine.dialect.name != "postgresql":
        return
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("VACUUM ANALYZE")


def _seed_campaign(tx: Transaction, tenant: str, campaign: str) -> None:
    slug = campaign.split(".")[1]
    named = {"id": campaign, "tenant": tenant, "slug": slug, "title": slug, "newest_revision": 1}
    tx.connection.execute(sa.insert(schema.campaigns), {**named, "created_at": LONG_AGO})
    settings = {
        "campaign": campaign, "number": 1, "tenant": tenant, "effective_from": 0, "actor": "bench",
        "cost_center": "MKT-1", "retention_class": "standard", "asset_type": "marketing-video",
        "visibility": "public", "tags": {}, "publish": "auto", "completion": "all_terminal",
        "ends_on": "2027-03-31", "budget_cap": 10**12, "currency": "EUR",
    }  # fmt: skip
    tx.connection.execute(sa.insert(schema.campaign_settings), settings)
    budget = {"campaign": campaign, "tenant": tenant, "currency": "EUR", "cap": 10**12}
    tx.connection.execute(sa.insert(schema.budgets), budget)


def _seed_attempts(
    tx: Transaction, tenant: str, campaign: str, names: Sequence[str], columns: dict[str, Any]
) -> None:
    home = {"tenant": tenant, "campaign": campaign}
    slots = [
        {**home, "id": f"{campaign}/{name}", "variant": name, "wanted_rendition": name} for name in names
    ]
    tx.connection.execute(sa.insert(schema.slots), slots)
    tx.connection.execute(sa.insert(schema.renditions), [_rendition(home, name) for name in names])
    tx.connection.execute(sa.insert(schema.attempts), [_attempt(home, name) | columns for name in names])


def _slot(home: dict[str, str], name: str) -> dict[str, Any]:
    return {**home, "id": f"{home['campaign']}/{name}", "variant": name, "wanted_rendition": name}


def _rendition(home: dict[str, str], name: str) -> dict[str, Any]:
    return {
        **home, "id": name, "slot": f"{home['campaign']}/{name}", "variant": name, "fingerprint": name,
        "take": 1, "locale": "en-GB", "aspect_ratio": "16:9", "width": 320, "height": 180,
        "duration_seconds": 1, "copy": "Hi", "provider": "bench", "model": "kenburns-1", "settings": {},
        "profile_version": "1", "sources": [], "attempts_made": 1,
        "first_revision": f"{home['campaign']}/r1", "selected_attempt": f"{name}-a1", "created_at": LONG_AGO,
    }  # fmt: skip


def _attempt(home: dict[str, str], name: str) -> dict[str, Any]:
    return {
        **home, "id": f"{name}-a1", "rendition": name, "number": 1, "state": "queued",
        "submission": "not_sent", "idempotency_key": f"key-{name}", "request_fingerprint": "f",
        "provider": "bench", "model": "kenburns-1", "currency": "EUR", "spend": "live",
        "created_at": LONG_AGO,
    }  # fmt: skip
