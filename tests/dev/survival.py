"""`python -m tests.dev.survival`: ten moments, in each the code server, the run worker and the daemon killed.

One at a time and all together, under one real `reelwright dev` that starts them again, with a fresh campaign
of sixty renditions for each. Belongs here: what must hold afterwards, and the table of it. Does not belong
here: processes (`house`) and moments (`moments`).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import dagster as dg
import psutil
import sqlalchemy as sa
from dagster._core.storage.dagster_run import NOT_FINISHED_STATUSES
from rich.console import Console
from rich.table import Table

from pipeline.domain.follow_ons import Stage
from pipeline.domain.lifecycle import Word
from pipeline.steps.answer.status import Wanted, status
from pipeline.steps.operate.check import check
from pipeline.steps.operate.mark_partitions import is_green
from resources.connect import connected
from resources.dagster_launcher import process_of
from resources.database.due import due_by_stage
from resources.database.schema import lots
from tests.dev.house import RENDITIONS, House, Kind, wait_until
from tests.dev.moments import MOMENTS, Scene

#: Until a moment comes, and until a campaign is complete after a kill: claims end after a minute.
MOMENT_SECONDS, COMPLETE_SECONDS = 300.0, 600.0
#: A run whose worker is gone is marked failed within that, once the daemon is there (again).
NOTICED_SECONDS = 60.0
#: A moment may be short.
LOOK_SECONDS = 0.02
VICTIMS: Mapping[str, Collection[Kind]] = {**{str(kind): (kind,) for kind in Kind}, "together": tuple(Kind)}


@dataclass(frozen=True, slots=True)
class Hit:
    """One kill, and how long it was felt."""

    moment: str
    victims: str
    killed: int  #: processes
    runs: int  #: that died with them
    whole_after: float  #: seconds until `dev` had everything running again
    noticed_after: float  #: seconds from then until the last dead run was marked failed


def begin(house: House, name: str) -> Scene:
    """Drop a campaign."""
    newest = sa.select(lots.c.stage, sa.func.max(lots.c.number).label("newest")).group_by(lots.c.stage)
    with house.database.reading() as connection:
        before = {row.stage: row.newest for row in connection.execute(newest)}
    return Scene(house, house.drop(name), before)


def reach(scene: Scene, moment: str) -> None:
    """Wait until the moment comes."""
    wait_until(lambda: MOMENTS[moment](scene), MOMENT_SECONDS, lambda: tell(scene), LOOK_SECONDS)


def strike(scene: Scene, moment: str, kinds: Collection[Kind]) -> Hit:
    """Wait for the moment, kill, and see that `dev` comes back and that dead runs are noticed."""
    house = scene.house
    reach(scene, moment)
    killed = house.kill(kinds)
    dead, began = _runs_of(house, killed), time.monotonic()
    wait_until(house.is_whole, COMPLETE_SECONDS, house.said)
    whole = time.monotonic()
    wait_until(lambda: dead.isdisjoint(open_runs(house)), NOTICED_SECONDS, lambda: _about(house, dead))
    noticed = time.monotonic() - whole if dead else 0.0
    return Hit(moment, " + ".join(kinds), len(killed), len(dead), whole - began, noticed)


def _runs_of(house: House, killed: Sequence[psutil.Process]) -> set[str]:
    numbers = {one.pid for one in killed}
    found = {run: process_of(house.instance, run) for run in open_runs(house)}
    return {run for run, process in found.items() if process is not None and process[0] in numbers}


def open_runs(house: House) -> list[str]:
    """Runs that Dagster believes not to be over."""
    return [run.run_id for run in house.instance.get_runs(dg.RunsFilter(statuses=NOT_FINISHED_STATUSES))]


def _about(house: House, runs: Collection[str]) -> str:
    return "\n".join(
        f"{run}: {one.status if (one := house.instance.get_run_by_id(run)) else None}" for run in runs
    )


def complete(scene: Scene) -> None:
    """Wait until every video of the campaign is shown, told, and nothing is left to do."""
    wait_until(lambda: _is_over(scene), COMPLETE_SECONDS, lambda: tell(scene))


def _is_over(scene: Scene) -> bool:
    scene.house.require_alive()
    return scene.shown() == RENDITIONS and is_at_rest(scene.house) and is_green(
        scene.house.database, scene.campaign
    )  # fmt: skip


def is_at_rest(house: House) -> bool:
    """Nothing is due, and no run is open."""
    with house.database.reading() as connection:
        is_due = any(due_by_stage(connection, house.database.clock(connection)).values())
    return not is_due and not open_runs(house)


def require_all_well(scene: Scene) -> None:
    """Everything that must hold once a campaign is complete."""
    house = scene.house
    words = Counter(wish.word for wish in status(house.database, Wanted(campaign=scene.campaign)))
    mine = scene.attempt_ids()
    paid = [line.key for line in house.renderer.bill() if line.reference in mine]
    held = {stage: house.instance.event_log_storage.get_concurrency_info(stage) for stage in Stage}
    with connected(house.settings) as adapters:
        violations = check(adapters)

    assert words == {Word.READY: RENDITIONS}
    assert len(paid) == len(set(paid)) == RENDITIONS
    assert not [stage for stage, info in held.items() if info.claimed_slots or info.pending_steps]
    assert violations == []


def tell(scene: Scene) -> str:
    """Where everything stands, for whoever reads why it failed."""
    house = scene.house
    runs = Counter(f"{run.job_name} {run.status.value}" for run in house.instance.get_runs())
    words = Counter(str(one.word) for one in status(house.database, Wanted(campaign=scene.campaign)))
    log = house.settings.home / "logs" / "dagster.log"
    tail = "\n".join(log.read_text(errors="replace").splitlines()[-40:])
    return f"{dict(words)}\n{dict(runs)}\n{house.said()}\n{tail}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.dev.survival", description=__doc__)
    parser.add_argument("--moment", choices=list(MOMENTS), action="append", help="every one by default")
    parser.add_argument("--killed", choices=list(VICTIMS), action="append", help="each and all by default")
    asked = parser.parse_args()
    cases = list(product(asked.moment or MOMENTS, asked.killed or VICTIMS))
    hits, problems = [], 0
    with tempfile.TemporaryDirectory(prefix="survival-") as folder, House(Path(folder)) as house:
        for number, (moment, killed) in enumerate(cases, 1):
            try:
                hits.append(_case(house, number, moment, killed))
            except AssertionError as error:
                problems += 1
                print(f"{moment}, {killed}: {error}", flush=True)
            else:
                print(f"{number} of {len(cases)}: {hits[-1]}", flush=True)
    Console().print(_table(hits))
    return int(bool(problems))


def _case(house: House, number: int, moment: str, killed: str) -> Hit:
    scene = begin(house, f"c{number:02}")
    hit = strike(scene, moment, VICTIMS[killed])
    complete(scene)
    require_all_well(scene)
    return hit


def _table(hits: Sequence[Hit]) -> Table:
    table = Table("moment", "killed", "processes", "runs", "whole again after", "runs failed after")
    for hit in hits:
        felt = f"{hit.whole_after:.0f} s", f"{hit.noticed_after:.0f} s" if hit.runs else ""
        table.add_row(hit.moment, hit.victims, str(hit.killed), str(hit.runs), *felt)
    return table


if __name__ == "__main__":
    sys.exit(main())
