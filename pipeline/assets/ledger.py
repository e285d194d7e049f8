"""`storage_usage` and `cost_ledger`: byte-time and money of a UTC day, a day a partition (E1, E5).

Belongs here: the assets, their checks, what their pages show. Does not belong here: measuring and rating
(`steps.account`).

Numbers on a page are for plots and people, as floats; what is charged is exact, in the ledger alone.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from decimal import Decimal
from typing import Any

import dagster as dg

from pipeline.assets.campaign import OWNERS, POOL
from pipeline.assets.failures import as_dagster_failures
from pipeline.assets.partitions import days
from pipeline.domain.periods import Month
from pipeline.steps.account.check_ledger import DayOfLedger, check_ledger
from pipeline.steps.account.meter_storage import meter_storage
from pipeline.steps.account.rate import Rated, months_to_rate, rate
from pipeline.steps.answer.standing import STEP_VERSION
from resources.dagster_resources import Adapters

GROUP = "finance"
ACTOR = "cost_ledger"
RECONCILES, ADDS_UP, PRICED = "ledger_reconciles_to_facts", "ledger_adds_up", "everything_has_a_price"

OWNER_COLUMNS = [
    dg.TableColumn("tenant", description="whose it is; empty where no object of ours explains it"),
    dg.TableColumn("campaign", description="its partition"),
    dg.TableColumn("cost_center", description="as it was at the time"),
    dg.TableColumn("rendition", description="the video; empty for source images"),
    dg.TableColumn("attempt", description="the try beneath it"),
    dg.TableColumn("spend", description="live, test"),
    dg.TableColumn("meter", description="what was counted"),
]
STORAGE_COLUMNS = dg.TableSchema(
    columns=[
        dg.TableColumn("day", "int", description="its first microsecond, UTC"),
        *OWNER_COLUMNS,
        dg.TableColumn("byte_seconds", "int", description="bytes times whole seconds"),
        dg.TableColumn("byte_micros", "int", description="and the millionths beside them"),
    ]
)
LEDGER_COLUMNS = dg.TableSchema(
    columns=[
        dg.TableColumn("posting", description="2026-11-03#2: the charge day and the number of its posting"),
        *OWNER_COLUMNS,
        dg.TableColumn("fate", description="what became of the attempt: used, in progress, or waste"),
        dg.TableColumn("units", description="of the meter, an exact decimal; negative in a difference"),
        dg.TableColumn("card", description="version of the price card"),
        dg.TableColumn("sku", description="the price; empty: there is none, and `reason` says why"),
        dg.TableColumn("tier", "int", description="from 1"),
        dg.TableColumn("quantity", description="in units of the price, to 18 places"),
        dg.TableColumn("unit_price", description="in the card's currency"),
        dg.TableColumn("amount", description="quantity * unit_price, exactly"),
        dg.TableColumn("reason", description="why it is unpriced or free"),
    ]
)
POSTED_COLUMNS = dg.TableSchema(
    columns=[
        dg.TableColumn("posting", description="charge day and number"),
        dg.TableColumn("period", description="the month in whose accounts it stands"),
        dg.TableColumn("cause", description="facts, late facts, another card, tiers and fates settled"),
        dg.TableColumn("lines", "int", description="how many differed"),
        dg.TableColumn("amount", description="what they add up to"),
    ]
)


@dg.asset(
    group_name=GROUP,
    owners=OWNERS,
    kinds={"table"},
    partitions_def=days,
    pool=POOL,
    code_version=STEP_VERSION,
    metadata={"dagster/column_schema": STORAGE_COLUMNS},
)
def storage_usage(
    context: dg.AssetExecutionContext, adapters: dg.ResourceParam[Adapters]
) -> dg.MaterializeResult[None]:
    """How many bytes lay for how long on a UTC day, from when objects were made and purged.

    A day on which nothing ran is as right as any other, and **materializing it again** changes nothing unless
    its objects did. Bytes that several use are split evenly among them; docs/money.md says how.
    """
    with as_dagster_failures():
        [metered] = meter_storage(adapters.database, [date.fromisoformat(context.partition_key)])
    gib_hours = {f"{meter}_gib_hours": amount / 2**30 / 3600 for meter, amount in metered.by_meter.items()}
    return dg.MaterializeResult(
        metadata={"accounts": metered.owners, "byte_seconds": metered.byte_seconds, **gib_hours}
    )


@dg.asset(
    group_name=GROUP,
    owners=OWNERS,
    kinds={"table"},
    partitions_def=days,
    deps=[storage_usage, "delivery_usage"],
    pool=POOL,
    code_version=STEP_VERSION,
    metadata={"dagster/column_schema": LEDGER_COLUMNS},
    check_specs=[
        dg.AssetCheckSpec(
            RECONCILES,
            asset="cost_ledger",
            description="The day's lines come to the units that were measured, meter by meter. **When it"
            " fails:** facts came since; materialize the day again. If it stays, ask an engineer.",
        ),
        dg.AssetCheckSpec(
            ADDS_UP,
            asset="cost_ledger",
            description="Lines add up to postings, postings to months, statements to what was closed. **When"
            " it fails:** rows were changed behind Reelwright's back: stop writers, ask an engineer.",
        ),
        dg.AssetCheckSpec(
            PRICED,
            asset="cost_ledger",
            description="Everything that was used that day has a price. **When it fails:** nothing is lost:"
            " the units stand in the ledger without an amount; price them in the card, materialize the day"
            " again.",
        ),
    ],
)
def cost_ledger(
    context: dg.AssetExecutionContext, adapters: dg.ResourceParam[Adapters]
) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
    """What a UTC day cost, line by line, by the price card that holds on it.

    A run rates the day's whole month, as tiers are cumulative over it, the month before while that may still
    be closed, and closed months for which a log came late. **Only what differs is posted**, so a backfill
    re-prices and a second run posts nothing; differences of a closed month are corrections in the next open
    one. `posted` names what this run wrote; amounts by meter are of the day, over all postings.
    `reelwright ledger MONTH` shows a month.
    """
    day = date.fromisoformat(context.partition_key)
    with as_dagster_failures():
        rated = [
            rate(adapters.database, adapters.prices, month, actor=ACTOR)
            for month in months_to_rate(adapters.database, day)
        ]
        found = check_ledger(adapters.database, day)
    for one in rated:
        context.log.info(f"{one.month}: {one.lines} lines posted in {one.period}, {one.amount} in all")
    yield dg.MaterializeResult(metadata=_metadata(day, rated, found))
    yield from _results(found)


def _metadata(day: date, rated: Iterable[Rated], found: DayOfLedger) -> Mapping[str, Any]:
    posted = [one for each in rated for one in each.days]
    return {
        "amount": float(sum(found.amounts.values(), Decimal(0))),
        "lines_posted": sum(one.lines for one in posted),
        "unpriced_meters": len(found.unpriced),
        "month": str(Month.of(day)),
        **{f"{meter}_amount": float(amount) for meter, amount in found.amounts.items()},
        **{f"{meter}_units": float(units) for meter, units in found.units.items()},
        "posted": dg.MetadataValue.table(
            records=[
                dg.TableRecord(
                    {
                        "posting": one.posting,
                        "period": str(one.period),
                        "cause": one.cause,
                        "lines": one.lines,
                        "amount": format(one.amount, "f"),
                    }
                )
                for one in posted
            ],
            schema=POSTED_COLUMNS,
        ),
    }


def _results(found: DayOfLedger) -> list[dg.AssetCheckResult]:
    nobodys = {f"nobodys_{meter}": float(units) for meter, units in found.unattributed.items()}
    unpriced = [f"{what}: {units}" for what, units in found.unpriced.items()]
    return [
        _result(RECONCILES, found.apart, dg.AssetCheckSeverity.ERROR, {}),
        _result(ADDS_UP, found.broken, dg.AssetCheckSeverity.ERROR, {}),
        _result(PRICED, unpriced, dg.AssetCheckSeverity.WARN, nobodys),
    ]


def _result(
    name: str, wrong: Iterable[str], severity: dg.AssetCheckSeverity, more: Mapping[str, float]
) -> dg.AssetCheckResult:
    rows = list(wrong)
    return dg.AssetCheckResult(
        passed=not rows,
        asset_key="cost_ledger",
        check_name=name,
        severity=severity,
        metadata={"count": len(rows), "rows": "; ".join(rows[:20]) or "none", **more},
    )


ledger_job = dg.define_asset_job(
    "ledger",
    selection=dg.AssetSelection.assets(storage_usage, cost_ledger),
    description="Daily: measures the byte-time of the day before, and posts what it cost.",
    executor_def=dg.in_process_executor,
)
