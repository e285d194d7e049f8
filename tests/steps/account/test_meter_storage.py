"""F2: what is measured is what lay there, to the byte-microsecond, on both databases, whenever it ran."""

from __future__ import annotations

import random
from collections import defaultdict
from datetime import date

import pytest
import sqlalchemy as sa

from pipeline.domain.errors import NotAllowed
from pipeline.domain.periods import DAY, Month, days_between, midnight
from pipeline.domain.units import SECOND
from pipeline.steps.account.meter_storage import meter_storage, unmeasured_days
from resources.database import schema
from resources.database.database import Database
from tests.conftest import Clock
from tests.database import rows

FEBRUARY = Month(2028, 2)
START = FEBRUARY.start


def thing(
    database: Database, name: str, size: int, created: int, purged: int | None = None, *,
    kind: str = "rendition", uses: tuple[tuple[str, str, int, int | None], ...] = (),
    campaign: str | None = "northwind.spring",
) -> None:  # fmt: skip
    """An object that lay from *created* to *purged*, and who used it."""
    rows.insert(
        database,
        schema.objects,
        {"id": name, "tenant": "northwind", "campaign": campaign, "kind": kind,
         "retention_class": "standard", "key": f"k/{name}", "sha256": name, "size_bytes": size,
         "media_type": "video/mp4", "facts": {}, "state": "live" if purged is None else "purged",
         "created_at": created, "purged_at": purged},
    )  # fmt: skip
    for user_kind, user, since, until in uses:
        rows.insert(
            database, schema.object_uses,
            {"object": name, "user_kind": user_kind, "user_id": user, "tenant": "northwind",
             "from_at": since, "until_at": until},
        )  # fmt: skip


def video(database: Database, campaign: str, name: str, number: int = 1, spend: str = "live") -> str:
    """An attempt with its rendition; returns the attempt."""
    if number == 1:
        rows.rendition(database, campaign, name)
    return rows.attempt(database, campaign, name, number, spend=spend)


def measured(database: Database) -> dict[tuple[str, ...], int]:
    """Byte-microseconds by (campaign, cost centre, rendition, attempt, meter)."""
    found: dict[tuple[str, ...], int] = defaultdict(int)
    for row in rows.rows(database, schema.storage_days):
        key = (row.campaign, row.cost_center, row.rendition, row.attempt, row.meter)
        found[key] += row.byte_seconds * SECOND + row.byte_micros
    return dict(found)


@pytest.fixture
def campaign(database: Database, clock: Clock) -> str:
    clock.at = FEBRUARY.end + DAY
    return rows.campaign(database)


def test_random_objects_sum_to_what_a_naive_count_says(database: Database, campaign: str) -> None:
    dice = random.Random(4)
    attempt = video(database, campaign, "r-1")
    expected = 0
    for number in range(60):
        size, created = dice.randrange(1, 10**9), START + dice.randrange(-3 * DAY, 32 * DAY)
        purged = None if number % 3 == 0 else created + dice.randrange(1, 20 * DAY)
        thing(database, f"o-{number}", size, created, purged, uses=(("attempt", attempt, created, None),))
        end = FEBRUARY.end if purged is None else min(purged, FEBRUARY.end)
        expected += size * max(0, end - max(created, START))

    meter_storage(database, FEBRUARY.days)

    assert measured(database) == {(campaign, "MKT-1", "r-1", attempt, "rendition_byte_seconds"): expected}


def test_days_measured_one_by_one_again_and_backwards_are_the_month(
    database: Database, campaign: str
) -> None:
    attempt = video(database, campaign, "r-1")
    uses = (("attempt", attempt, START, None),)
    thing(database, "o-1", 7_000_000_001, START - 5, START + 3 * DAY + 11, uses=uses)
    thing(database, "o-2", 13, START + DAY // 2 + 1, None, kind="derivative", uses=uses)
    meter_storage(database, FEBRUARY.days)
    at_once = rows.rows(database, schema.storage_days)

    for day in reversed(FEBRUARY.days):
        meter_storage(database, [day])

    assert sorted(rows.rows(database, schema.storage_days)) == sorted(at_once)
    assert sum(measured(database).values()) == 7_000_000_001 * (3 * DAY + 11) + 13 * (
        FEBRUARY.end - START - DAY // 2 - 1
    )


def test_a_leap_day_on_which_nothing_ran_is_there(database: Database, campaign: str) -> None:
    attempt = video(database, campaign, "r-1")
    thing(database, "o-1", 5, START, None, uses=(("attempt", attempt, START, None),))

    [leap] = meter_storage(database, [date(2028, 2, 29)])

    assert leap.by_meter == {"rendition_byte_seconds": 5 * 86_400}


def test_a_source_of_two_campaigns_is_split_from_the_moment_both_use_it(
    database: Database, campaign: str
) -> None:
    other = rows.campaign(database, "northwind.autumn")
    for owner in (campaign, other):
        rows.insert(
            database, schema.revisions,
            {"id": f"{owner}/r1", "tenant": "northwind", "campaign": owner, "number": 1, "creative": {},
             "creative_sha256": "x", "state": "approved", "submit_mode": "auto", "actor": "anna",
             "created_at": 0},
        )  # fmt: skip
    uses = (("revision", f"{campaign}/r1", START, None), ("revision", f"{other}/r1", START + DAY, None))
    thing(database, "o-1", 10, START, START + 3 * DAY, kind="source", uses=uses, campaign=None)

    meter_storage(database, FEBRUARY.days)

    assert measured(database) == {
        (campaign, "MKT-1", "", "", "source_byte_seconds"): 20 * DAY,
        (other, "MKT-1", "", "", "source_byte_seconds"): 10 * DAY,
    }


def test_a_cost_centre_that_changes_within_a_day_cuts_the_day(database: Database, campaign: str) -> None:
    attempt = video(database, campaign, "r-1")
    noon = START + DAY // 2
    thing(database, "o-1", 4, START, START + DAY, uses=(("attempt", attempt, START, None),))
    database.run(
        lambda tx: tx.connection.execute(
            sa.insert(schema.campaign_settings).from_select(
                [column.name for column in schema.campaign_settings.c],
                sa.select(
                    *(
                        {"number": sa.literal(2), "effective_from": sa.literal(noon),
                         "cost_center": sa.literal("MKT-2")}.get(column.name, column).label(column.name)  # type: ignore[attr-defined]
                        for column in schema.campaign_settings.c
                    )
                ),
            )
        )
    )  # fmt: skip

    meter_storage(database, FEBRUARY.days)

    meter = "rendition_byte_seconds"
    assert measured(database) == {
        (campaign, "MKT-1", "r-1", attempt, meter): 2 * DAY,
        (campaign, "MKT-2", "r-1", attempt, meter): 2 * DAY,
    }


def test_a_source_of_two_revisions_of_one_campaign_counts_once(database: Database, campaign: str) -> None:
    for number in (1, 2):
        rows.insert(
            database, schema.revisions,
            {"id": f"{campaign}/r{number}", "tenant": "northwind", "campaign": campaign, "number": number,
             "creative": {}, "creative_sha256": "x", "state": "approved", "submit_mode": "auto",
             "actor": "anna", "created_at": 0},
        )  # fmt: skip
    uses = tuple(("revision", f"{campaign}/r{number}", START + number, None) for number in (1, 2))
    thing(database, "o-1", 10, START, START + 3 * DAY, kind="source", uses=uses, campaign=None)

    meter_storage(database, FEBRUARY.days)

    assert measured(database) == {(campaign, "MKT-1", "", "", "source_byte_seconds"): 30 * DAY}


def test_pictures_of_two_attempts_are_split_between_them(database: Database, campaign: str) -> None:
    first, second = video(database, campaign, "r-1"), video(database, campaign, "r-1", 2)
    uses = (("attempt", first, START, None), ("attempt", second, START, None))
    thing(database, "o-1", 3, START, START + 1, kind="derivative", uses=uses)

    meter_storage(database, FEBRUARY.days)

    meter = "derivative_byte_seconds"
    assert measured(database) == {
        (campaign, "MKT-1", "r-1", first, meter): 2,
        (campaign, "MKT-1", "r-1", second, meter): 1,
    }


def test_what_nobody_uses_is_measured_all_the_same(database: Database, campaign: str) -> None:
    thing(database, "o-1", 3, START, START + 1, campaign=None)
    thing(database, "o-2", 4, START, START + 1, campaign=campaign)

    meter_storage(database, FEBRUARY.days)

    meter = "rendition_byte_seconds"
    assert measured(database) == {("", "", "", "", meter): 3, (campaign, "MKT-1", "", "", meter): 4}


def test_a_day_that_is_not_over_is_not_measured(database: Database, campaign: str, clock: Clock) -> None:
    clock.at = midnight(date(2028, 2, 10)) + 1
    thing(database, "o-1", 3, START + DAY, None, campaign=campaign)

    with pytest.raises(NotAllowed, match="2028-02-10: the day is not over"):
        meter_storage(database, FEBRUARY.days[:10])
    assert unmeasured_days(database, FEBRUARY) == list(days_between(date(2028, 2, 2), date(2028, 2, 10)))

    meter_storage(database, FEBRUARY.days[1:9])
    assert unmeasured_days(database, FEBRUARY) == []
