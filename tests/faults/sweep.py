"""`python -m tests.faults.sweep`: every point, variant, provider class and database, and a table at the end.

Belongs here: choosing cases, working through them on every core, telling what came of them. Does not belong
here: what a case is (`scenarios`).
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from itertools import product
from pathlib import Path
from queue import SimpleQueue

from rich.console import Console
from rich.progress import track
from rich.table import Table

from resources.database.migrate import migrate
from tests.faults.scenarios import MODES, TEMPLATE, VARIANTS, Bench, Case, Result, administer
from tests.postgres import Server, running_postgres

DATABASES = ("sqlite", "postgresql")


def main() -> int:
    asked = _arguments()
    databases = DATABASES if asked.database == "both" else (asked.database,)
    with benches(databases, asked.processes) as several:
        cases = list(
            all_cases(several[0], databases, asked.variant, asked.mode, asked.point, deep=asked.deep)
        )
        results = list(track(_worked_through(cases, several), "points", len(cases)))
    tell(results)
    return 1 if any(result.problem for result in results) else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.sweep", description=__doc__)
    parser.add_argument("--database", choices=[*DATABASES, "both"], default="both")
    parser.add_argument("--variant", choices=list(VARIANTS), action="append", help="all, when none is named")
    parser.add_argument(
        "--mode", choices=MODES, action="append", help="class of the provider; all by default"
    )
    parser.add_argument("--point", action="append", help="such as commit:12; every point by default")
    parser.add_argument("--deep", action="store_true", help="right before each commit too")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="cases at a time")
    return parser.parse_args()


@contextmanager
def benches(databases: Sequence[str], number: int) -> Iterator[Sequence[Bench]]:
    """Several benches over one server, each with a warm process and renderers of its own."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sweep-")))
        template = folder / "template.db"
        migrate(f"sqlite:///{template}")
        server: Server | None = None
        if "postgresql" in databases:
            server = stack.enter_context(running_postgres())
            administer(server, f"CREATE DATABASE {TEMPLATE}")
            migrate(server.url(TEMPLATE))
        places = [folder / f"bench{n}" for n in range(number)]
        yield [stack.enter_context(Bench(place, template, server)) for place in places]


def all_cases(
    one: Bench,
    databases: Sequence[str],
    variants: Sequence[str] | None,
    modes: Sequence[str] | None,
    points: Sequence[str] | None,
    *,
    deep: bool = False,
) -> Iterator[Case]:
    for database, mode in product(databases, modes or MODES):
        found = points or one.points(database, mode, before_commits=deep)
        for variant, at in product(variants or VARIANTS, found):
            yield Case(database, mode, variant, at)


def _worked_through(cases: Sequence[Case], several: Sequence[Bench]) -> Iterator[Result]:
    """Results as they come; each bench takes one case at a time."""
    free: SimpleQueue[Bench] = SimpleQueue()
    for one in several:
        free.put(one)

    def on_a_free_bench(case: Case) -> Result:
        one = free.get()
        try:
            return one.try_out(case)
        finally:
            free.put(one)

    with ThreadPoolExecutor(len(several)) as threads:
        for done in as_completed([threads.submit(on_a_free_bench, case) for case in cases]):
            yield done.result()


def tell(results: Iterable[Result]) -> None:
    console = Console()
    rows: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    for result in results:
        row = rows[result.case.database, result.case.mode, result.case.variant]
        row["broken" if result.problem else "held" if result.reached else "not reached"] += 1
        row["seconds"] += round(result.seconds * 1000)
        if result.problem:
            console.print(f"{result.case}\n{result.problem}", highlight=False, markup=False)
    table = Table("database", "class", "variant", "held", "not reached", "broken", "seconds a case")
    for key, row in sorted(rows.items()):
        tried = row["held"] + row["not reached"] + row["broken"]
        counts = (row["held"], row["not reached"], row["broken"])
        table.add_row(*key, *map(str, counts), f"{row['seconds'] / 1000 / tried:.2f}")
    console.print(table)


if __name__ == "__main__":
    sys.exit(main())
