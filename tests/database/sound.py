"""A small installation that breaks no invariant: one published video, one remote job under way, one queued.

Belongs here: its rows, and what is seen of it outside of the database. Does not belong here: how rows come
about; the kill sweep proves the invariants on what the product itself writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa

from resources.database import schema
from resources.database.database import Database
from resources.database.invariants import SeenEntry, SeenJob, SeenObject, Snapshot
from tests.conftest import NOON, SECOND
from tests.database import rows

HOME, TENANT = "northwind.spring", "northwind"
SHOWN, RUNNING, QUEUED = "r-1-a1", "r-2-a1", "r-3-a1"
SLOT = f"{HOME}/en-GB/16x9/r-1"
VIDEO, PICTURE, SOURCE = "o-video", "o-picture", "o-source"
TAGS = {
    "tenant": TENANT, "campaign": HOME, "locale": "en-GB", "asset_type": "marketing-video",
    "visibility": "public", "retention_class": "standard",
}  # fmt: skip
BEFORE = NOON - 60 * SECOND

#: Sizes and hashes of the three objects.
OBJECTS = {
    VIDEO: ("rendition", 1000, "a" * 64),
    PICTURE: ("derivative", 50, "b" * 64),
    SOURCE: ("source", 70, "c" * 64),
}


def write(database: Database) -> None:
    """Rows of the whole installation, written as of a minute before noon."""
    rows.campaign(database, HOME)
    for name in ("r-1", "r-2", "r-3"):
        rows.rendition(database, HOME, name)
    _attempts(database)
    _sends(database)
    _objects(database)
    _revision(database)
    _publication(database)
    for table, values in (*_records(), *_ledger()):
        rows.insert(database, table, values)


def seen() -> Snapshot:
    """What store, index and provider show of it, looked at now."""
    keys = [
        SeenObject(f"{TENANT}/{name}", size, BEFORE, sha256) for name, (_, size, sha256) in OBJECTS.items()
    ]
    entry = SeenEntry("e-1", TENANT, "r-1", VIDEO, "current", 2, TAGS)
    jobs = [SeenJob("local", f"job-{name}", name, f"key-{name}") for name in (SHOWN, RUNNING)]
    return Snapshot(
        NOON,
        objects=keys,
        entries=[entry],
        jobs=jobs,
        pictures=[("web-1", "small")],
        classes={"local": "L"},
    )


def _attempts(database: Database) -> None:
    sent = {
        "submission": "accepted", "send_tries": 1, "submitted_at": BEFORE, "deadline_at": NOON + 600 * SECOND,
        "purge_horizon_at": NOON + 3_600 * SECOND, "quote": 5, "lease_token": 2,
    }  # fmt: skip
    rows.attempt(
        database, HOME, "r-1", state="indexed", version=5, entity_version=6, handle=f"job-{SHOWN}",
        object=VIDEO, derived_version="web-1", poll_count=3, polls_metered=3, **sent,
    )  # fmt: skip
    rows.attempt(
        database, HOME, "r-2", state="generating", version=2, entity_version=2, handle=f"job-{RUNNING}",
        lane_held=1, next_poll_at=NOON + 5 * SECOND, **sent,
    )  # fmt: skip
    rows.attempt(database, HOME, "r-3", next_action_at=NOON + 5 * SECOND)
    for name in ("r-1", "r-2", "r-3"):
        selection = {"rendition": name, "number": 1, "tenant": TENANT, "attempt": f"{name}-a1", "at": BEFORE}
        rows.insert(database, schema.selections, selection | _who())


def _who() -> dict[str, str]:
    return {"actor": "test", "reason": "first", "operation_id": "op"}


def _sends(database: Database) -> None:
    for name in (SHOWN, RUNNING):
        of = {"attempt": name, "tenant": TENANT}
        send = {"n": 1, "idempotency_key": f"key-{name}", "at": BEFORE, "result": "accepted"}
        rows.insert(database, schema.sends, of | send)
        job = {"provider": "local", "handle": f"job-{name}", "found_by": "answer", "bound": 1, "at": BEFORE}
        rows.insert(database, schema.remote_jobs, of | job)
        is_open = name == RUNNING
        hold = {"campaign": HOME, "amount": 5, "currency": "EUR", "opened_at": BEFORE}
        closed = {"state": "open" if is_open else "settled", "settled_amount": 0 if is_open else 5}
        rows.insert(database, schema.holds, of | hold | closed)
    rows.insert(
        database,
        schema.lanes,
        *({"provider": "local", "tenant": who, "in_flight": 1, "cap": 9} for who in ("*", TENANT)),
    )
    _change(database, schema.budgets.update().values(held=5, settled=5))


def _change(database: Database, statement: sa.Update) -> None:
    database.run(lambda tx: tx.connection.execute(statement))


def _objects(database: Database) -> None:
    for name, (kind, size, sha256) in OBJECTS.items():
        row = {
            "id": name, "tenant": TENANT, "kind": kind, "retention_class": "standard", "facts": {},
            "key": f"{TENANT}/{name}", "sha256": sha256, "size_bytes": size, "media_type": "any",
            "state": "live", "created_at": BEFORE,
        }  # fmt: skip
        rows.insert(database, schema.objects, row)
    uses = {VIDEO: ("attempt", SHOWN), PICTURE: ("attempt", SHOWN), SOURCE: ("revision", f"{HOME}/r1")}
    for name, (kind, user) in uses.items():
        use = {"object": name, "user_kind": kind, "user_id": user, "tenant": TENANT, "from_at": BEFORE}
        rows.insert(database, schema.object_uses, use)
    rows.insert(database, schema.object_parents, {"object": PICTURE, "parent": VIDEO, "tenant": TENANT})
    picture = {
        "tenant": TENANT, "source_sha256": "a" * 64, "transform_version": "web-1", "name": "small",
        "object": PICTURE, "width": 320, "height": 180, "format": "webp", "size_bytes": 50,
    }  # fmt: skip
    rows.insert(database, schema.derivatives, picture)


def _revision(database: Database) -> None:
    name, of = f"{HOME}/r1", {"tenant": TENANT}
    revision = {
        "id": name, "campaign": HOME, "number": 1, "creative": {}, "creative_sha256": "d",
        "asset_set_sha256": "e", "state": "approved", "version": 2, "entity_version": 2,
        "submit_mode": "when_complete", "actor": "test", "created_at": BEFORE, "lease_token": 1,
    }  # fmt: skip
    rows.insert(database, schema.revisions, of | revision)
    asset = {
        "id": "asset", "sha256": "c" * 64, "object": SOURCE, "media_type": "image/png", "facts": {},
        "created_at": BEFORE,
    }  # fmt: skip
    rows.insert(database, schema.source_assets, of | asset)
    source = {
        "revision": name,
        "position": 0,
        "name": "a.png",
        "standing": "present",
        "source_asset": "asset",
    }
    rows.insert(database, schema.revision_sources, of | source)
    wish = {
        "id": f"{name}/v", "campaign": HOME, "revision": name, "slot": SLOT, "variant": "v",
        "rendition": "r-1", "origin": "made",
    }  # fmt: skip
    rows.insert(database, schema.wishes, of | wish)
    batch = {
        "id": "batch", "campaign": HOME, "revision": name, "kind": "submission", "completion": "all_usable",
        "actor": "test", "created_at": BEFORE,
    }  # fmt: skip
    rows.insert(database, schema.batches, of | batch)
    item = {"batch": "batch", "wish": f"{name}/v", "rendition": "r-1", "usable_at": BEFORE}
    rows.insert(database, schema.batch_items, of | item)


def _publication(database: Database) -> None:
    of = {"tenant": TENANT, "slot": SLOT, "rendition": "r-1", "attempt": SHOWN, "object": VIDEO}
    publication = {
        "id": f"{SLOT}@1", "number": 1, "move": "publish", "tags_version": 0, "tags": TAGS,
        "from_at": BEFORE,
    }  # fmt: skip
    rows.insert(database, schema.publications, of | publication | _who())
    entry = {"id": "e-1", "campaign": HOME, "standing": "current", "version": 2, "synced_version": 2}
    rows.insert(database, schema.index_entries, of | entry)
    shown = {
        "publication": f"{SLOT}@1",
        "published_rendition": "r-1",
        "published_object": VIDEO,
        "version": 1,
    }
    _change(database, schema.slots.update().where(schema.slots.c.id == SLOT).values(**shown))


def _records() -> Iterator[tuple[sa.Table, dict[str, Any]]]:
    """Audit chains, decisions, meters and messages."""
    for kind, subject, states in (
        ("revision", f"{HOME}/r1", ["uploaded", "moderating", "approved"]),
        ("attempt", SHOWN, ["queued", "submitting", "generating", "retrieving", "stored", None, "indexed"]),
        ("attempt", RUNNING, ["queued", "submitting", "generating"]),
        ("attempt", QUEUED, ["queued"]),
        ("slot", SLOT, [f"{SLOT}@1"]),
    ):
        yield from _chain(kind, subject, states)
    decision = {
        "tenant": TENANT, "kind": "moderation", "subject_kind": "revision", "subject_id": f"{HOME}/r1",
        "verdict": "approved", "policy_version": "1", "detail": {}, "at": BEFORE,
    }  # fmt: skip
    yield schema.decisions, decision | _who()
    for attempt, meter, quantity in (
        (SHOWN, "generation_starts", 1), (RUNNING, "generation_starts", 1), (SHOWN, "status_requests", 3),
        (SHOWN, "retrieved_bytes", 1000),
    ):  # fmt: skip
        fact = {
            "id": f"{attempt}:{meter}", "tenant": TENANT, "campaign": HOME, "attempt": attempt,
            "object": VIDEO if meter == "retrieved_bytes" else None, "cost_center": "MKT-1", "meter": meter,
            "quantity": quantity, "spend": "live", "at": BEFORE,
        }  # fmt: skip
        yield schema.usage_facts, fact
    for topic in ("output_reported", "owned", "manifest_complete"):
        message = {
            "id": f"{topic}:{SHOWN}:1", "tenant": TENANT, "topic": topic, "subject_id": SHOWN,
            "created_at": BEFORE, "next_try_at": BEFORE, "delivered_at": BEFORE,
        }  # fmt: skip
        yield schema.outbox, message


def _chain(kind: str, subject: str, states: list[str | None]) -> Iterator[tuple[sa.Table, dict[str, Any]]]:
    """Links from the creation on; None is a change of facts alone. A slot has no creation."""
    before, version = None, 1 if kind == "slot" else 0
    for entity_version, state in enumerate(states):
        link = {
            "tenant": TENANT, "subject_kind": kind, "subject_id": subject, "from_state": state and before,
            "to_state": state, "version": version if state else None, "entity_version": entity_version,
            "lease_token": 1 if entity_version else 0, "at": BEFORE,
        }  # fmt: skip
        yield schema.audit, link | _who()
        before, version = (state, version + 1) if state else (before, version)


def _ledger() -> Iterator[tuple[sa.Table, dict[str, Any]]]:
    """A closed month of one line, and the correction of it that stands in the next."""
    yield (
        schema.documents,
        {"id": "price_card:c", "kind": "price_card", "version": "c", "sha256": "c", "body": "{}",
         "recorded_at": 0},
    )  # fmt: skip
    yield (
        schema.periods,
        {"id": "2025-11", "tenant": "*", "opened_at": 1, "closed_at": 3, "closed_by": "anna", "card": "c",
         "currency": "USD", "places": 2, "halves": "half_even", "postings": 1, "lines": 1,
         "amount_nano": 10_000_000, "exact": "0.01", "shown": 1, "statement_sha256": "s", "checklist": []},
    )  # fmt: skip
    yield schema.periods, {"id": "2025-12", "tenant": "*", "opened_at": 4}
    yield (
        schema.statement_lines,
        {"period": "2025-11", "number": 1, "tenant": TENANT, "spend": "live", "campaign": HOME,
         "cost_center": "MKT-1", "meter": "provider_units", "corrects": "", "units": "1", "exact": "0.01",
         "shown": 1},
    )  # fmt: skip
    for number, period, corrects in ((1, "2025-11", ""), (2, "2025-12", "2025-11")):
        yield (
            schema.ledger_postings,
            {"id": f"2025-11-05#{number}", "tenant": "*", "charge_day": 0, "number": number,
             "period": period, "corrects": corrects, "cause": "facts", "card": "c",
             "card_document": "price_card:c", "currency": "USD", "lines": 1, "amount_nano": 10_000_000,
             "actor": "anna", "at": number * 2},
        )  # fmt: skip
        yield (
            schema.ledger_lines,
            {"posting": f"2025-11-05#{number}", "number": 1, "tenant": TENANT, "campaign": HOME,
             "cost_center": "MKT-1", "rendition": "r-1", "attempt": SHOWN, "spend": "live", "day": 0,
             "meter": "provider_units", "provider": "local", "model": "kenburns-1", "region": "",
             "fate": "used", "units": "1", "card": "c", "sku": "credits", "tier": 1, "unit": "Credits",
             "quantity": "1", "unit_price": "0.01", "amount": "0.01", "amount_nano": 10_000_000,
             "reason": ""},
        )  # fmt: skip
