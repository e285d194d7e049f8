"""`delivery_usage`: what was sent to whom, a UTC day a partition, read from the logs of CDN and store (F3).

Belongs here: the asset and what its page shows. Does not belong here: the reading (`steps.account`).
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from pipeline.assets.campaign import OWNERS, POOL
from pipeline.assets.failures import as_dagster_failures
from pipeline.assets.partitions import days
from pipeline.domain.units import SECOND, utc
from pipeline.steps.account.fetch_delivery_logs import (
    DELIVERY_VERSION,
    Fetched,
    delivered_on,
    fetch_delivery_logs,
)
from pipeline.steps.account.meter_delivery import KNOWN, READ, REFUSED, LogReading
from resources.dagster_resources import Adapters

GROUP = "finance"
#: Files that a run's page names; what was refused stands first.
NAMED_FILES = 50
_NUMBERS = ("lines", "events", "duplicates", "ignored", "quarantined", "bytes_sent", "unattributed_bytes")

FILE_COLUMNS = dg.TableSchema(
    columns=[
        dg.TableColumn("file", description="its name in the place of the logs"),
        dg.TableColumn("verdict", description="read, refused, known"),
        *(dg.TableColumn(name, "int", description="of this file") for name in _NUMBERS),
        dg.TableColumn("reason", description="why it was refused, or why lines were set aside"),
    ]
)

FACT_COLUMNS = dg.TableSchema(
    columns=[
        dg.TableColumn("file", description="SHA-256 of the log that says so"),
        dg.TableColumn("provider", description="cloudfront, s3, generic"),
        dg.TableColumn("day", "int", description="its first microsecond, UTC"),
        dg.TableColumn("tenant", description="of this and the next five: empty where the bytes are nobody's"),
        dg.TableColumn("campaign", description="its partition"),
        dg.TableColumn("rendition", description="the video, or the one that a picture was made from"),
        dg.TableColumn("object", description="what was delivered"),
        dg.TableColumn("cost_center", description="as it was at the time of the lines"),
        dg.TableColumn("spend", description="live, test"),
        dg.TableColumn("meter", description="delivered_bytes, delivery_requests, cache_hits and others"),
        dg.TableColumn("region", description="as the log says it"),
        dg.TableColumn("scheme", description="http, https, or empty"),
        dg.TableColumn("traffic", description="full, partial, head, aborted and others"),
        dg.TableColumn("agent", description="viewer, bot, cdn, unknown"),
        dg.TableColumn("quantity", "int", description="bytes or requests, a whole number"),
    ]
)  # fmt: skip


@dg.asset(
    group_name=GROUP,
    owners=OWNERS,
    kinds={"logs"},
    partitions_def=days,
    pool=POOL,
    code_version=DELIVERY_VERSION,
    metadata={"dagster/column_schema": FACT_COLUMNS},
)
def delivery_usage(
    context: dg.AssetExecutionContext, adapters: dg.ResourceParam[Adapters]
) -> dg.MaterializeResult[None]:
    """What was delivered on a UTC day, by the logs that are read so far.

    A run takes up every log that is new in its place, whatever days its lines are of, and then shows the sums
    of its own day. Late logs add to days that are shown already: materialize those again to see it; nothing
    counts twice. **`read_until`** is the newest line of any log, `unattributed_bytes` are nobody's, and
    a row of `files` is a log of this run, the refused ones first. docs/delivery-logs.md says what each
    reason means.
    """
    with as_dagster_failures():
        fetched = fetch_delivery_logs(adapters)
        day = datetime.fromisoformat(context.partition_key).replace(tzinfo=UTC)
        sums = delivered_on(adapters.database, int(day.timestamp()) * SECOND)
    for one in fetched.those(REFUSED):
        context.log.warning(f"{one.file}: refused, {one.reason}")
    if adapters.delivery_logs is None:
        context.log.info("no place of logs is named: the setting `delivery_logs` is empty")
    return dg.MaterializeResult(metadata={**_counts(fetched), **sums})


def _counts(fetched: Fetched) -> dict[str, Any]:
    read = fetched.those(READ)
    totals = {f"log_{name}": sum(getattr(one, name) for one in read) for name in _NUMBERS[:5]}
    until = {} if fetched.read_until is None else {"read_until": utc(fetched.read_until).isoformat()}
    named = [*fetched.those(REFUSED), *read, *fetched.those(KNOWN)][:NAMED_FILES]
    return {
        "files_read": len(read),
        "files_refused": len(fetched.those(REFUSED)),
        "files_known": len(fetched.those(KNOWN)) + fetched.unchanged,
        **totals,
        **until,
        "files": _table(named),
    }


def _table(named: Iterable[LogReading]) -> dg.TableMetadataValue:
    records = [
        dg.TableRecord(
            {
                "file": one.file,
                "verdict": one.verdict,
                **{name: getattr(one, name) for name in _NUMBERS},
                "reason": one.reason,
            }
        )
        for one in named
    ]
    return dg.MetadataValue.table(records=records, schema=FILE_COLUMNS)


delivery_job = dg.define_asset_job(
    "delivery",
    selection=dg.AssetSelection.assets(delivery_usage),
    description="Daily: reads the delivery logs that came in, and shows the sums of the day before.",
    executor_def=dg.in_process_executor,
)
