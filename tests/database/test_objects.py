from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from pipeline.domain.errors import StoreUnavailable
from pipeline.domain.media import QualityMeasures
from resources.database import schema
from resources.database.database import Database
from resources.database.derivatives import Picture, manifests, record_manifest
from resources.database.objects import NewObject, Use, objects_by_id, own, plain, use
from tests.conftest import Clock
from tests.database import rows


def _new(key: str = "northwind/renditions/r-1/1.mp4") -> NewObject:
    return NewObject("northwind", None, "rendition", "standard", key, "5" * 64, 9, "video/mp4", {"a": 1})


def _own(database: Database, *new: NewObject) -> dict[str, str]:
    return database.run(lambda tx: own(tx, new))


def test_the_same_key_is_owned_once(database: Database) -> None:
    first = _own(database, _new())

    second = _own(database, _new())

    assert first == second
    assert len(rows.rows(database, schema.objects)) == 1


def test_a_key_that_was_purged_may_hold_another_object(database: Database, clock: Clock) -> None:
    [first] = _own(database, _new()).values()
    database.run(lambda tx: tx.connection.execute(schema.objects.update().values(state="purged")).rowcount)
    clock.pass_seconds(1)

    [second] = _own(database, replace(_new(), purges_before=1)).values()

    assert first != second
    with database.reading() as connection:
        assert set(objects_by_id(connection, [first, second])) == {first, second}


@pytest.mark.parametrize("state", ["purging", "purged"])
def test_bytes_that_were_put_before_a_purge_of_their_key_are_not_owned(
    database: Database, state: str
) -> None:
    _own(database, _new())
    database.run(lambda tx: tx.connection.execute(schema.objects.update().values(state=state)).rowcount)

    with pytest.raises(StoreUnavailable, match="purged meanwhile"):
        _own(database, _new())


def test_a_use_that_stands_keeps_its_beginning(database: Database, clock: Clock) -> None:
    [object_] = _own(database, _new()).values()
    needed = Use(object_, "attempt", "r-1-a1", "northwind")
    database.run(lambda tx: use(tx, [needed]))
    began = clock.at
    clock.pass_seconds(5)

    database.run(lambda tx: use(tx, [needed]))

    [kept] = rows.rows(database, schema.object_uses)
    assert (kept.from_at, kept.until_at) == (began, None)


def test_a_manifest_is_its_tenants_and_names_only_what_serves(database: Database) -> None:
    ids = _own(database, _new("northwind/a.webp"), _new("northwind/b.webp"))
    pictures = [Picture(name[-6], object_, 320, 180, "webp", 9, False) for name, object_ in ids.items()]
    database.run(lambda tx: record_manifest(tx, "northwind", "5" * 64, "v1", pictures))
    database.run(
        lambda tx: (
            tx.connection.execute(
                schema.objects.update()
                .where(schema.objects.c.key == "northwind/b.webp")
                .values(state="purging")
            ).rowcount
        )
    )

    with database.reading() as connection:
        ours = manifests(connection, "v1", {("northwind", "5" * 64)})
        theirs = manifests(connection, "v1", {("southwind", "5" * 64)})
        other_version = manifests(connection, "v2", {("northwind", "5" * 64)})

    assert [row.key for row in ours["northwind", "5" * 64]] == ["northwind/a.webp"]
    assert not theirs
    assert not other_version


def test_facts_are_kept_exactly(database: Database) -> None:
    measures = QualityMeasures(0.25, 0.0, None, None)

    said = plain({"rate": Fraction(30_000, 1_001), "of": (measures,)})

    assert said == {
        "rate": "30000/1001",
        "of": [{"black_share": 0.25, "frozen_share": 0.0, "silent_share": None, "clipped_share": None}],
    }
