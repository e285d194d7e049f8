"""Retention against hand-written code: a plan over many objects, and purging ten thousand.

Plan: against reading the same rows into the same facts. Purge: local, against unlink and a flush of the
folder for each object, as careful hand-written code does it; decisions, receipts and looks included.
"""

from __future__ import annotations

import os
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from benchmarks.figures import Figure, at_most
from pipeline.documents.moderation_policy import default_moderation_policy
from pipeline.documents.retention_policy import read_retention_policy
from pipeline.documents.target_profile import default_target_profile
from pipeline.documents.transform_set import default_transform_set
from pipeline.steps.retain.approve import approve
from pipeline.steps.retain.mark import mark
from pipeline.steps.retain.plan import draft, plan
from pipeline.steps.retain.purge import purge
from pipeline.steps.retain.retaining import Retaining, machine_clock
from resources.adapters import Adapters
from resources.database import schema
from resources.database.database import Database
from resources.database.engine import READ_ONLY
from resources.database.migrate import migrate
from resources.object_store.local import LocalStore
from resources.object_store.protocol import ObjectStore
from resources.tag_index.sql import SqlTagIndex

DAY = 86_400 * 1_000_000
OBJECTS = int(os.environ.get("REELWRIGHT_BENCH_OBJECTS", "1000000"))
PURGED = 10_000
PURGED_S3 = 2_000
PICTURES = 4  #: of each video
#: One video in a hundred is due.
DUE_EVERY = 100
CHUNK = 5_000
POLICY = """
version: bench
grace_days: 1
guards: {limits: {objects: 100000, bytes: 1 TiB}}
approvers: {operator: ["*"]}
rows:
  - {id: a, version: 1, what: approved_rendition, class: standard, keep_days: 30, after: campaign_end,
     action: withdraw_and_purge, approver: operator}
  - {id: d, version: 1, what: derivative, class: standard, keep_days: with_master, after: master,
     action: purge, approver: operator}
"""


def retaining(folder: Path, store: ObjectStore | None = None) -> Retaining:
    url = f"sqlite:///{folder / 'reelwright.db'}"
    migrate(url)
    database = Database.at(url)
    engine = database.engine
    return Retaining(
        Adapters(
            database=database,
            store=store or LocalStore(folder / "objects"),
            sandbox=None,  # type: ignore[arg-type]
            providers={}, terms={},
            index=SqlTagIndex(engine, engine.execution_options(**READ_ONLY)),
            profile=default_target_profile(), transforms=default_transform_set(),
            moderation=default_moderation_policy(), spool=folder / "spool",
        ),
        read_retention_policy(POLICY, name="bench"),
        None,
        "bench",
    )  # fmt: skip


def _rows(videos: int, due_every: int, at: int) -> Iterator[tuple[sa.Table, dict[str, Any]]]:
    """Campaign `due` ended; campaign `open` did not. Each video with its attempt, slot and pictures."""
    version = default_transform_set().version
    who = {"tenant": "t"}
    for campaign, ends in (("t.due", "2020-01-01"), ("t.open", "2999-01-01")):
        slug = campaign.partition(".")[2]
        yield schema.campaigns, who | {
            "id": campaign, "slug": slug, "title": slug, "newest_revision": 1, "created_at": at,
        }  # fmt: skip
        yield schema.campaign_settings, who | {
            "campaign": campaign, "number": 1, "effective_from": 0, "actor": "b", "cost_center": "c",
            "retention_class": "standard", "asset_type": "x", "visibility": "public", "tags": {},
            "publish": "auto", "completion": "all_terminal", "ends_on": ends, "budget_cap": 1,
            "currency": "EUR",
        }  # fmt: skip
    for number in range(videos):
        campaign = "t.due" if number % due_every == 0 else "t.open"
        name, sha256 = f"r-{number:08d}", f"{number:064x}"
        slot, attempt, video = f"{campaign}/{name}", f"{name}-a1", f"o-{number:08d}"
        made = who | {"campaign": campaign, "created_at": at}
        yield schema.slots, who | {
            "id": slot, "campaign": campaign, "variant": name, "wanted_rendition": name,
        }  # fmt: skip
        yield schema.renditions, made | {
            "id": name, "slot": slot, "variant": name, "fingerprint": name, "take": 1, "locale": "en",
            "aspect_ratio": "16:9", "width": 1, "height": 1, "duration_seconds": 1, "copy": "",
            "provider": "p", "model": "m", "settings": {}, "profile_version": "1",
            "sources": [], "first_revision": "r",
            "selected_attempt": attempt, "attempts_made": 1,
        }  # fmt: skip
        yield schema.objects, made | {
            "id": video, "kind": "rendition", "retention_class": "standard", "sha256": sha256,
            "size_bytes": 9, "key": f"t/renditions/{name}/1.mp4", "media_type": "v",
            "facts": {}, "state": "live",
        }  # fmt: skip
        yield schema.attempts, made | {
            "id": attempt, "rendition": name, "number": 1, "state": "indexed", "submission": "accepted",
            "idempotency_key": attempt, "request_fingerprint": "f", "provider": "p", "model": "m",
            "currency": "EUR", "spend": "test", "object": video, "derived_version": version,
        }  # fmt: skip
        yield schema.object_uses, who | {
            "object": video, "user_kind": "attempt", "user_id": attempt, "from_at": at,
        }  # fmt: skip
        for place in range(PICTURES):
            picture = f"p-{number:08d}-{place}"
            yield schema.objects, made | {
                "id": picture, "kind": "derivative", "retention_class": "standard", "sha256": sha256,
                "key": f"t/derivatives/{sha256}/{version}/w{place}.webp", "size_bytes": 9, "media_type": "i",
                "facts": {}, "state": "live",
            }  # fmt: skip
            yield schema.object_parents, who | {"object": picture, "parent": video}
            yield schema.object_uses, who | {
                "object": picture, "user_kind": "attempt", "user_id": attempt, "from_at": at,
            }  # fmt: skip
            yield schema.derivatives, who | {
                "source_sha256": sha256, "transform_version": version, "name": f"w{place}", "object": picture,
                "width": 1, "height": 1, "format": "webp", "size_bytes": 9,
            }  # fmt: skip


def fill(database: Database, videos: int, due_every: int) -> None:
    at = machine_clock() - 400 * DAY
    for chunk in _chunks(_rows(videos, due_every, at)):
        by_table: dict[sa.Table, list[dict[str, Any]]] = {}
        for table, row in chunk:
            by_table.setdefault(table, []).append(row)

        def write(tx: Any, by_table: dict[sa.Table, list[dict[str, Any]]] = by_table) -> None:
            for table in schema.metadata.sorted_tables:
                if table in by_table:
                    tx.connection.execute(sa.insert(table), by_table[table])

        database.run(write)
    with database.engine.connect() as connection:
        connection.exec_driver_sql("ANALYZE")
        connection.commit()


def _chunks(found: Iterator[Any]) -> Iterator[tuple[Any, ...]]:
    while chunk := tuple(one for _, one in zip(range(CHUNK * 17), found, strict=False)):
        yield chunk


def planning(objects: int = OBJECTS) -> dict[str, float]:
    """Seconds of a plan, and of reading the same rows into the same facts; memory at its highest."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        one = retaining(Path(folder))
        fill(one.adapters.database, objects // (1 + PICTURES), DUE_EVERY)
        read = min(_timed(lambda: _read(one)) for _ in range(2))
        before = _resident()
        took = min(_timed(lambda: draft(one)) for _ in range(2))
        return {"objects": objects, "read": read, "plan": took, "ratio": took / read, "before_mib": before,
                "after_mib": _resident()}  # fmt: skip


def _read(one: Retaining) -> int:
    with one.adapters.database.reading() as connection:
        reader = one.facts(connection, machine_clock())
        return sum(1 for _ in reader.everything())


def _timed(work: Any) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _resident() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def purging(objects: int = PURGED) -> dict[str, float]:
    """Seconds of purging marked objects with receipts and proof, and of unlink and flush an object."""
    place = os.environ.get("REELWRIGHT_BENCH_FOLDER")
    with tempfile.TemporaryDirectory(prefix="bench-", dir=place) as folder:
        one = retaining(Path(folder))
        fill(one.adapters.database, objects // (1 + PICTURES), 1)
        keys = [row.key for row in _objects(one)]
        _lay(Path(folder) / "objects", keys)
        _lay(Path(folder) / "other", keys)
        bare = _timed(lambda: _unlink(Path(folder) / "other", keys))
        return _purged(one, bare, objects)


def purging_s3(objects: int) -> dict[str, float]:
    """The same in a bucket with versions, and against one delete an object."""
    import boto3  # for production alone

    from pipeline.domain.bucket import Bucket
    from resources.object_store.s3 import S3Store
    from tests.services.versitygw import ACCESS_KEY, REGION, SECRET_KEY, running_versitygw

    os.environ |= {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY}
    with running_versitygw() as server, tempfile.TemporaryDirectory(prefix="bench-") as folder:
        client = boto3.session.Session(ACCESS_KEY, SECRET_KEY).client(
            "s3", endpoint_url=server.endpoint, region_name=REGION
        )
        client.create_bucket(Bucket="bench")
        on = {"Status": "Enabled"}
        client.put_bucket_versioning(Bucket="bench", VersioningConfiguration=on)
        store = S3Store.opened(Bucket("bench", endpoint=server.endpoint, region=REGION))
        one = retaining(Path(folder), store)
        fill(one.adapters.database, objects // (1 + PICTURES), 1)
        keys = [row.key for row in _objects(one)]
        named = []
        for key in keys:
            client.put_object(Bucket="bench", Key=key, Body=b"123456789")
            named.append((f"bare/{key}", client.put_object(Bucket="bench", Key=f"bare/{key}", Body=b"1")))

        def delete() -> None:
            for key, put in named:
                client.delete_object(Bucket="bench", Key=key, VersionId=put["VersionId"])

        return _purged(one, _timed(delete), objects)


def _purged(one: Retaining, bare: float, objects: int) -> dict[str, float]:
    made = plan(one)
    approve(one, made.id)
    mark(one, made.id)
    passed = sa.update(schema.retention_items).values(purge_after=0)
    one.adapters.database.run(lambda tx: tx.connection.execute(passed))
    done: list[Any] = []
    took = _timed(lambda: done.append(purge(one)))
    assert done[0]["purged"] == objects, done
    return {"objects": objects, "bare": bare, "purge": took, "ratio": took / bare}


def _objects(one: Retaining) -> list[sa.Row[Any]]:
    with one.adapters.database.reading() as connection:
        return list(connection.execute(sa.select(schema.objects.c.key)))


def _lay(root: Path, keys: list[str]) -> None:
    for key in keys:
        path = root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"123456789")
    os.sync()


def _unlink(root: Path, keys: list[str]) -> None:
    for key in keys:
        path = root / key
        path.unlink()
        folder = os.open(path.parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)


def benchmark() -> Iterator[Figure]:
    """A plan over `REELWRIGHT_BENCH_OBJECTS` objects, and the purge of ten thousand in a folder."""
    planned, purged = planning(), purging()
    yield Figure(
        f"retention plan, {planned['objects']:,} objects, against reading their facts",
        planned["ratio"],
        f"{planned['plan']:.1f} s, {planned['after_mib']:.0f} MiB",
        f"{planned['read']:.1f} s",
        at_most(2.0),
    )
    yield _figure("unlink and flush an object", purged, 1.0)


def benchmark_s3() -> Iterator[Figure]:
    """The purge in a bucket with versions; a server is started for it."""
    yield _figure("one delete an object (S3)", purging_s3(PURGED_S3), 3.0)


def _figure(against: str, found: dict[str, float], bound: float) -> Figure:
    return Figure(
        f"purge of {found['objects']:,} with receipts and proof, against {against}",
        found["ratio"],
        f"{found['purge']:.1f} s",
        f"{found['bare']:.1f} s",
        at_most(bound),
    )
