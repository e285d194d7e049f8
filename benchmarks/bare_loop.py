"""`python -m benchmarks.bare_loop RENDITIONS`: the product's steps in a plain loop, without Dagster.

The baseline of the whole product: the same lots and the same poller in one process, one after the other,
until every slot shows a video. Prints one JSON line of CPU seconds and of the wall clock, its start (imports,
opening everything) aside.
"""

from __future__ import annotations

import json
import resource
import sys
import time

from benchmarks.campaigns import is_at_rest, published
from pipeline.documents.settings import read_settings
from pipeline.domain.follow_ons import Stage
from pipeline.steps.operate.relay_outbox import relay_outbox
from pipeline.steps.produce.stages import poll_tick, run_lot
from resources.adapters import Adapters
from resources.connect import connected

PAUSE_SECONDS = 0.2


def main(renditions: int) -> None:
    with connected(read_settings()) as adapters:
        began, clock = _cpu_seconds(), time.monotonic()
        while published(adapters.database) < renditions or not is_at_rest(adapters.database):
            if not _round(adapters):
                time.sleep(PAUSE_SECONDS)
    print(json.dumps({"cpu": _cpu_seconds() - began, "wall": time.monotonic() - clock}))


def _round(adapters: Adapters) -> int:
    """One lot of each stage and one look at what is due remotely; returns how much was done."""
    done = 0
    for stage in Stage:
        done += len(run_lot(adapters, stage).results)
        relay_outbox(adapters.database)
    done += poll_tick(adapters).looks
    relay_outbox(adapters.database)
    return done


def _cpu_seconds() -> float:
    """Of this process and of its children that ended: the media child ends with the adapters."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


if __name__ == "__main__":
    main(int(sys.argv[1]))
