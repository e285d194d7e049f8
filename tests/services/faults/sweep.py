"""`python -m tests.services.faults.sweep`: every trouble of every server and worker at every point, a table.

Belongs here: choosing cases and working through them. Does not belong here: what a case is (`troubles`,
`tests.faults.scenarios`).
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from functools import partial
from itertools import product
from pathlib import Path
from queue import SimpleQueue

from rich.progress import track

from tests.faults.scenarios import VARIANTS, Bench, Case, Result
from tests.faults.sweep import tell
from tests.services.faults.servers import Services, running_services
from tests.services.faults.troubles import SERVERS, TROUBLES, points, try_out

WORKER = "worker"
Pair = tuple[Bench, Services]
Trial = Callable[[Bench, Services], Result]


def main() -> int:
    asked = _arguments()
    with ExitStack() as stack:
        pairs = [_pair(stack) for _ in range(asked.processes)]
        trials = [one for who in asked.who or (*SERVERS, WORKER) for one in _trials(*pairs[0], who)]
        chosen = trials[:: asked.every]
        results = list(track(_worked_through(chosen, pairs), "points", len(chosen)))
    tell(results)
    return 1 if any(result.problem for result in results) else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.services.faults.sweep", description=__doc__)
    parser.add_argument(
        "--who", choices=[*SERVERS, WORKER], action="append", help="meets trouble; everyone by default"
    )
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only each N-th case")
    parser.add_argument(
        "--processes", type=int, default=os.cpu_count() or 1, help="cases at a time, on servers of their own"
    )
    return parser.parse_args()


def _trials(bench: Bench, services: Services, who: str) -> Iterator[Trial]:
    if who == WORKER:
        for variant, at in product(VARIANTS, bench.points("services")):
            case = Case("services", "k", variant, at)
            yield lambda bench, _, case=case: bench.try_out(case)  # type: ignore[misc]
        return
    for trouble, at in product(TROUBLES, points(bench, services)[who]):
        yield partial(try_out, server=who, trouble=trouble, at=at)


def _pair(stack: ExitStack) -> Pair:
    services = stack.enter_context(running_services())
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sweep-")))
    return stack.enter_context(Bench(folder / "bench", services=services.installed)), services


def _worked_through(trials: Sequence[Trial], pairs: Sequence[Pair]) -> Iterator[Result]:
    """Results as they come; each pair takes one case at a time."""
    free: SimpleQueue[Pair] = SimpleQueue()
    for one in pairs:
        free.put(one)

    def on_a_free_pair(trial: Trial) -> Result:
        pair = free.get()
        try:
            return trial(*pair)
        finally:
            free.put(pair)

    with ThreadPoolExecutor(len(pairs)) as threads:
        for done in as_completed([threads.submit(on_a_free_pair, trial) for trial in trials]):
            yield done.result()


if __name__ == "__main__":
    sys.exit(main())
