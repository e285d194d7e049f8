"""`finance_report`: a month's report as files, a month a partition (E1, F5).

Belongs here: the asset, its check, what its page shows. Does not belong here: what a report says
(`steps.account.report`).

Numbers on the asset's page are for plots, as floats; the files hold all digits.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

import dagster as dg

from pipeline.assets.campaign import OWNERS, POOL
from pipeline.assets.failures import as_dagster_failures
from pipeline.assets.ledger import GROUP
from pipeline.assets.partitions import months
from pipeline.domain.periods import Month
from pipeline.domain.statement import Statement
from pipeline.steps.account.report import Report, make_report
from pipeline.steps.answer.standing import STEP_VERSION
from resources.dagster_resources import Adapters, Operating

ADDS_UP = "report_adds_up"
#: Campaigns on the asset's page; the report has them all.
SHOWN = 20

TOTAL_COLUMNS = dg.TableSchema(
    columns=[
        dg.TableColumn("spend", description="live; test and sandbox are never billed"),
        dg.TableColumn("tenant", description="who pays"),
        dg.TableColumn("campaign", description="its partition; (unattributed): nobody's"),
        dg.TableColumn("cost_center", description="as it was at the time"),
        dg.TableColumn("meter", description="what was counted"),
        dg.TableColumn("corrects", description="the closed month that is corrected; empty: none"),
        dg.TableColumn("units", description="of the meter, an exact decimal"),
        dg.TableColumn("exact", description="the sum of its lines, every digit"),
        dg.TableColumn("shown", description="rounded once; together the month's total"),
    ]
)
CAMPAIGN_COLUMNS = dg.TableSchema(
    columns=[
        dg.TableColumn("campaign", description="the largest first"),
        dg.TableColumn("billed", description="live spend of the month"),
    ]
)


@dg.asset(
    group_name=GROUP,
    owners=OWNERS,
    kinds={"html", "csv", "excel", "parquet"},
    partitions_def=months,
    deps=["cost_ledger"],
    pool=POOL,
    code_version=STEP_VERSION,
    metadata={"dagster/column_schema": TOTAL_COLUMNS},
    check_specs=[
        dg.AssetCheckSpec(
            ADDS_UP,
            asset="finance_report",
            description="The files, read back: each as it was written, and lines, totals and export the same"
            " sum to the last digit. **When it fails:** make the report again; if it stays, ask an engineer.",
        )
    ],
)
def finance_report(
    context: dg.AssetExecutionContext,
    adapters: dg.ResourceParam[Adapters],
    operating: dg.ResourceParam[Operating],
) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
    """A month's money as a page with charts, CSV, a workbook, Parquet and FOCUS, with a manifest.

    **Materializing it again** makes the same bytes from the same facts; of a month that was closed the report
    stays as it is. While a month is not closed it is provisional, on every page. `folder` says where the
    files lie, docs/report.md what they say; `reelwright report MONTH` makes the same.
    """
    month = Month.named(context.partition_key[:7])
    with as_dagster_failures():
        made = make_report(adapters.database, adapters.prices, month, operating.reports / str(month))
    yield dg.MaterializeResult(metadata=_metadata(made))
    yield dg.AssetCheckResult(
        passed=not made.wrong,
        asset_key="finance_report",
        check_name=ADDS_UP,
        metadata={"wrong": "; ".join(made.wrong) or "nothing", "exact": made.manifest["exact"]},
    )


def _metadata(made: Report) -> Mapping[str, Any]:
    statement = made.statement
    each = statement.all_videos.per_video
    return {
        "status": str(statement.ledger.watermark.status),
        "folder": dg.MetadataValue.path(made.folder),
        "written": made.is_new,
        "campaigns": dg.MetadataValue.table(records=_campaigns(statement), schema=CAMPAIGN_COLUMNS),
        "currency": statement.ledger.currency,
        **_numbers(statement),
        **({} if each is None else {"per_video": float(each)}),
        "files": dg.MetadataValue.json(
            {name: entry["sha256"] for name, entry in made.manifest["files"].items()}
        ),
    }


def _numbers(statement: Statement) -> Mapping[str, float | int]:
    apart = sum((part.shown for part in statement.not_billed), Decimal(0))
    forecast = statement.forecast
    return {
        "billed": float(statement.billed),
        "corrections": float(statement.corrections),
        "waste": float(statement.waste),
        "not_billed": float(apart),
        "videos_published": statement.all_videos.videos,
        "unpriced": len(statement.ledger.unpriced),
        "lines": statement.lines,
        **({} if forecast is None else {"forecast": float(forecast.expected)}),
        **{f"{part.name[0]}_amount": float(part.shown) for part in statement.by_meter},
    }


def _campaigns(statement: Statement) -> list[dg.TableRecord]:
    return [
        dg.TableRecord({"campaign": part.name[1] or "(unattributed)", "billed": format(part.shown, "f")})
        for part in statement.by_campaign[:SHOWN]
    ]


report_job = dg.define_asset_job(
    "report",
    selection=dg.AssetSelection.assets(finance_report),
    description="Daily: writes the report of the running month, and of the one before while it is new.",
    executor_def=dg.in_process_executor,
)
