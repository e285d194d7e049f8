"""Published videos under a tiny transform set, and all adapters over them, for tests of upkeep and backfills.

Belongs here: setting up and asking what is broken. Does not belong here: what a test expects.
"""

from __future__ import annotations

from typing import Any

from pipeline.documents.moderation_policy import default_moderation_policy
from pipeline.documents.target_profile import default_target_profile
from pipeline.domain.media import TransformSet
from pipeline.steps.operate.check import seen_entries, seen_objects
from resources.adapters import Adapters
from resources.database import schema
from resources.database.invariants import Snapshot, broken
from resources.database.invariants.owning import OWNING
from resources.database.invariants.showing import SHOWING
from tests.database import rows
from tests.steps.output_site import SiteProvider
from tests.steps.viewer import Viewer, one_picture

TINY = one_picture("tiny-1")
WIDER = one_picture("tiny-2", 80)


def adapters_of(viewer: Viewer, **other: Any) -> Adapters:
    whole: dict[str, Any] = {
        "database": viewer.database, "store": viewer.store, "index": viewer.index, "sandbox": viewer.sandbox,
        "providers": {"local": SiteProvider(viewer.site)}, "terms": {"local": viewer.site.terms},
        "profile": default_target_profile(), "transforms": TINY, "moderation": default_moderation_policy(),
        "spool": viewer.spool,
    }  # fmt: skip
    return Adapters(**(whole | other))


def selected(viewer: Viewer, name: str) -> None:
    """Its first selection as planning writes it."""
    selection = {
        "rendition": name, "number": 1, "tenant": "northwind", "attempt": f"{name}-a1", "actor": "planner",
        "reason": "first", "operation_id": name, "at": viewer.clock.at,
    }  # fmt: skip
    rows.insert(viewer.database, schema.selections, selection)


def shown(viewer: Viewer, *names: str) -> list[str]:
    """Renditions whose videos are published with pictures of the set `tiny-1`."""
    attempts = [viewer.arrives(name, body=viewer.clip) for name in names]
    for name in names:
        selected(viewer, name)
    viewer.retrieve()
    viewer.derive(transforms=TINY)
    viewer.publish()
    return attempts


def what_is_broken(viewer: Viewer, transforms: TransformSet = WIDER) -> list[str]:
    pictures = [(transforms.version, one.name) for one in transforms.derivatives]
    entries = list(seen_entries(viewer.database, viewer.index))
    objects = list(seen_objects(viewer.store, reads_bytes=True))
    now = viewer.clock.at + 1
    seen = Snapshot(now, objects=objects, entries=entries, pictures=pictures)
    with viewer.database.reading() as connection:
        found = broken(connection, seen, now=now, overdue=now, invariants=[*SHOWING, *OWNING])
        return [f"{one.invariant.id}: {one.subject}: {one.found}" for one in found]


def empty_index(viewer: Viewer) -> None:
    """As if the index had lost everything."""

    def work(tx: Any) -> None:
        tx.connection.execute(schema.search_tags.delete())
        tx.connection.exec_driver_sql("DELETE FROM search_text")
        tx.connection.execute(schema.search_entries.delete())

    viewer.database.run(work)
