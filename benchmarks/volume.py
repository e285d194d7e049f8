"""`python -m benchmarks.volume [--campaigns N] [--renditions N]`: many campaigns under a real `dev`.

What Dagster keeps of them and how quickly its window answers: rows of its event log a rendition, observations
a campaign, asset and minute, times of sensor ticks and of the asset pages' queries, the daemon's memory. On
SQLite, with the null renderer. Belongs here: measuring Dagster's side. Does not belong here: what the
product itself costs (`whole_product`).
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import statistics
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import dagster as dg
import psutil
import rich
from dagster._core.scheduler.instigation import InstigatorTick
from rich.table import Table

from benchmarks.campaigns import drop_briefs, installation, is_at_rest, is_told, opened, published
from benchmarks.figures import Figure, at_least, at_most, timed
from pipeline.assets.partitions import CAMPAIGNS
from pipeline.cli.leash import session_of
from pipeline.cli.processes import Running, running
from pipeline.documents.settings import Settings
from tests.dagster_home import instance_of
from tests.faults.renderer.process import ROOT, RendererProcess

MANY_CAMPAIGNS, A_CAMPAIGN = 300, 30
LOOK_SECONDS = 5.0
SECONDS_A_RENDITION, SECONDS_AT_LEAST = 3.0, 900.0
#: Dagster gives a tick up at 60 s; the poller's own budget is 20 s, and an intake's two looks are 5 s apart.
TICK_SECONDS = 30.0
PAGE_SECONDS = 2.0
ROUNDS = 7
PAGE_ROWS = 10_000
MEGABYTE = 1_000_000
MINUTE = 60.0

#: What an asset's page, its partitions' tab and the list of runs ask for.
PAGES = {
    "all assets": """{ assetNodes {
        assetKey { path } partitionStats { numMaterialized numFailed numPartitions }
        assetMaterializations(limit: 1) { timestamp partition } } }""",
    "partitions of an asset": """{ assetNodeOrError(assetKey: {path: ["renditions"]}) { ... on AssetNode {
        partitionKeys
        assetPartitionStatuses { ... on DefaultPartitionStatuses { materializedPartitions } } } } }""",
    "events of an asset": """{ assetOrError(assetKey: {path: ["renditions"]}) { ... on Asset {
        assetMaterializations(limit: 100) { timestamp partition metadataEntries { label } }
        assetObservations(limit: 100) { timestamp partition metadataEntries { label } } } } }""",
    "runs": """{ runsOrError(limit: 25) { ... on Runs { results { runId status jobName tags { key value }
        stats { ... on RunStatsSnapshot { startTime endTime } } } } } }""",
}


@dataclass(slots=True)
class Seen:
    """What was looked at while the campaigns went through."""

    daemon_bytes: list[int] = field(default_factory=list)
    seconds: float = 0.0


def benchmark(campaigns: int, a_campaign: int) -> Iterator[Figure]:
    os.environ["PYTHONPATH"] = str(ROOT)  # the null renderer's adapter is found by its path
    with tempfile.TemporaryDirectory(prefix="volume-") as folder:
        home = Path(folder) / "home"
        with RendererProcess(Path(folder) / "null-renderer") as renderer:
            settings = installation(home, renderer.url)
            with running(settings, dagster_port=0, renderer_port=0, say=lambda _: None) as found:
                renditions = campaigns * a_campaign
                drop_briefs(settings, renditions, a_campaign)
                seen = _follow(settings, renditions, found)
                yield from _figures(settings, campaigns, renditions, seen, found)


def _follow(settings: Settings, renditions: int, found: Running) -> Seen:
    seen, began = Seen(), time.monotonic()
    daemon = _daemon(found)
    with opened(settings) as database:
        while published(database) < renditions or not is_at_rest(database) or not is_told(database):
            found.require_alive()
            seen.seconds = time.monotonic() - began
            limit = max(SECONDS_AT_LEAST, SECONDS_A_RENDITION * renditions)
            assert seen.seconds < limit, f"{published(database)} of {renditions} shown"
            seen.daemon_bytes.append(daemon.memory_info().rss)
            time.sleep(LOOK_SECONDS)
    return seen


def _daemon(found: Running) -> psutil.Process:
    family = session_of(found.children["dagster"].process.pid)
    return next(one for one in family if "dagster._daemon" in one.cmdline())


def _figures(
    settings: Settings, campaigns: int, renditions: int, seen: Seen, found: Running
) -> Iterator[Figure]:
    rows = Counter(_event_types(settings.home / "dagster" / "history" / "runs"))
    total, of_assets = rows.total(), sum(n for kind, n in rows.items() if kind.startswith("ASSET"))
    yield Figure(
        "event rows a rendition",
        total / renditions,
        f"{total:,} rows",
        f"{renditions:,} renditions",
        at_most(3),
    )
    yield Figure("of them asset events a campaign", of_assets / campaigns, f"{of_assets:,}", f"{campaigns}")
    with instance_of(settings.home / "dagster") as instance:
        yield _partitions(instance, campaigns)
        yield _observations(instance)
        yield from _ticks(instance)
    yield from _pages(found)
    yield _memory(seen)
    yield Figure(
        "renditions a minute", renditions / seen.seconds * MINUTE, f"{renditions:,}", f"{seen.seconds:.0f} s"
    )


def _event_types(folder: Path) -> Iterator[str]:
    """Of every row in a run's log and among events of no run; Dagster copies a run's asset events beside."""
    for path in folder.glob("*.db"):
        own = "WHERE run_id = ''" if path.stem == "index" else ""
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
            found = connection.execute(f"SELECT dagster_event_type FROM event_logs {own}")  # noqa: S608
            yield from (kind or "log" for (kind,) in found)


def _partitions(instance: dg.DagsterInstance, campaigns: int) -> Figure:
    green = len(instance.get_materialized_partitions(dg.AssetKey("renditions")))
    known = len(instance.get_dynamic_partitions(CAMPAIGNS))
    return Figure(
        "campaigns that are green", green / campaigns, f"{green}", f"{known} partitions", at_least(1)
    )


def _observations(instance: dg.DagsterInstance) -> Figure:
    """The most that any campaign and asset got within a minute."""
    most = Counter[tuple[str, str, int]]()
    for key in instance.get_asset_keys():
        for record in _records(instance, key):
            most[key.to_user_string(), str(record.partition_key), int(record.timestamp // MINUTE)] += 1
    return Figure(
        "observations a campaign, asset and minute, at most",
        float(max(most.values(), default=0)), f"{most.total():,}", f"{len(most):,} minutes", at_most(1),
    )  # fmt: skip


def _records(instance: dg.DagsterInstance, key: dg.AssetKey) -> Iterator[dg.EventLogRecord]:
    cursor = None
    while True:
        page = instance.fetch_observations(key, limit=PAGE_ROWS, cursor=cursor)
        yield from page.records
        if not page.has_more:
            return
        cursor = page.cursor


def _ticks(instance: dg.DagsterInstance) -> Iterator[Figure]:
    for state in instance.all_instigator_state():
        taken = [_seconds(one) for one in instance.get_ticks(state.instigator_origin_id, state.selector_id)]
        if taken:
            worst, usual = max(taken), statistics.median(taken)
            name = f"ticks of {state.instigator_name}: worst, seconds"
            yield Figure(name, worst, f"{worst:.1f} s", f"median {usual:.1f} s", at_most(TICK_SECONDS))


def _seconds(tick: InstigatorTick) -> float:
    return 0.0 if tick.end_timestamp is None else tick.end_timestamp - tick.timestamp


def _pages(found: Running) -> Iterator[Figure]:
    for name, query in PAGES.items():
        taken = [_asked(found.dagster_url, query) for _ in range(ROUNDS)]
        usual = statistics.median(taken)
        yield Figure(
            f"window: {name}, seconds",
            usual,
            f"{usual:.2f} s",
            f"worst {max(taken):.2f} s",
            at_most(PAGE_SECONDS),
        )


def _asked(url: str, query: str) -> float:
    request = urllib.request.Request(  # noqa: S310 - our own loopback server
        f"{url}/graphql", json.dumps({"query": query}).encode(), {"Content-Type": "application/json"}
    )
    with timed() as watch, urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
        told = json.load(answer)
    assert "errors" not in told, told["errors"]
    return watch.seconds


def _memory(seen: Seen) -> Figure:
    """The daemon's resident memory of the last third against the middle one: the first warms up."""
    third = max(1, len(seen.daemon_bytes) // 3)
    middle, last = (
        statistics.median(part) for part in (seen.daemon_bytes[third:-third], seen.daemon_bytes[-third:])
    )
    return Figure(
        "the daemon's memory, last third to middle",
        last / middle, f"{last / MEGABYTE:.0f} MB", f"{middle / MEGABYTE:.0f} MB", at_most(1.1),
    )  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.volume", description=__doc__)
    parser.add_argument("--campaigns", type=int, default=MANY_CAMPAIGNS, metavar="N")
    parser.add_argument(
        "--renditions", type=int, default=A_CAMPAIGN, metavar="N", help="a campaign, up to 50"
    )
    asked = parser.parse_args(arguments)
    title = f"{asked.campaigns} campaigns of {asked.renditions}, load {os.getloadavg()[0]:.1f} at the start"
    table = Table("figure", "value", "of", "and", "goal", "verdict", title=title)
    figures = []
    for one in benchmark(asked.campaigns, asked.renditions):
        print(f"{one.name}: {one.ratio:.2f} ({one.verdict})", file=sys.stderr, flush=True)
        table.add_row(one.name, f"{one.ratio:.2f}", one.ours, one.bare, str(one.goal or ""), one.verdict)
        figures.append(one)
    rich.print(table)
    return int(any(one.verdict == "MISSED" for one in figures))


if __name__ == "__main__":
    sys.exit(main())
