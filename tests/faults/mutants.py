"""`python -m tests.faults.mutants [WORD…]`: take each guard out of a copy, and want its tests to fail.

Belongs here: the copy, the edits and the runs. Does not belong here: which guards there are (`mutant_list`).

Exit code 1 when a mutant survives: its guard could be lost and nobody would notice. 2 when the list itself
is stale: an edit that does not fit once, or a named test that fails without any mutant.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

from tests.faults.mutant_list import MUTANTS, Edit, Mutant

ROOT = Path(__file__).parents[2]
TREES = ("pipeline", "resources", "sensors", "tests", "docs")
SIDE_BY_SIDE = 2
_FAILED = re.compile(r"^FAILED (\S+(?: \S+)*?)(?: - .*)?$", re.MULTILINE)


class StaleList(Exception):
    """The list does not fit the product any more."""


@dataclass(frozen=True, slots=True)
class Result:
    mutant: Mutant
    survived: tuple[str, ...]  #: named tests that passed although the guard was out
    seconds: float


@contextmanager
def copy_of_the_product() -> Iterator[Path]:
    """Everything that tests need, in a folder of its own, compiled as it is; an edited file compiles anew."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        for name in TREES:
            shutil.copytree(ROOT / name, Path(folder) / name, ignore=shutil.ignore_patterns(".hypothesis"))
        for path in ("pyproject.toml", "README.md", "LICENSE"):
            if (ROOT / path).exists():
                shutil.copy(ROOT / path, folder)
        yield Path(folder)


def failing(tree: Path, tests: Sequence[str]) -> set[str]:
    """Which of *tests* fail in *tree*; StaleList when they could not be run at all."""
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--tb=line", "-rf", "-p", "no:xdist", *tests],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "400"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    if run.returncode not in (0, 1):
        raise StaleList(f"{' '.join(tests)}:\n{run.stdout[-2000:]}{run.stderr[-2000:]}")
    return {test for test in tests if test in _FAILED.findall(run.stdout)}


def try_out(tree: Path, mutant: Mutant) -> Result:
    """Run the mutant's tests in *tree* without its guard; the tree is as it was afterwards."""
    began = time.monotonic()
    whole = {tree / edit.file: (tree / edit.file).read_text("utf-8") for edit in mutant.edits}
    try:
        for edit in mutant.edits:
            _edit(tree / edit.file, edit, mutant.guard)
        failed = failing(tree, mutant.tests)
    finally:
        for path, text in whole.items():
            path.write_text(text, "utf-8")
    survived = tuple(test for test in mutant.tests if test not in failed)
    return Result(mutant, survived, time.monotonic() - began)


def _edit(path: Path, edit: Edit, guard: str) -> None:
    text = path.read_text("utf-8")
    if text.count(edit.before) != 1:
        raise StaleList(f"{guard}: {edit.file} holds {text.count(edit.before)} times: {edit.before!r}")
    path.write_text(text.replace(edit.before, edit.after), "utf-8")


def require_sound(tree: Path, mutants: Sequence[Mutant]) -> None:
    """Every named test passes while all guards are in place; else a failure would prove nothing."""
    tests = sorted({test for mutant in mutants for test in mutant.tests})
    broken = failing(tree, tests)
    if broken:
        raise StaleList(f"these fail without any mutant: {', '.join(sorted(broken))}")


def run_all(mutants: Sequence[Mutant]) -> Iterator[Result]:
    """Each mutant in a copy of its own, in the list's order."""
    trees: Queue[Path] = Queue()

    def one(mutant: Mutant) -> Result:
        tree = trees.get()
        try:
            return try_out(tree, mutant)
        finally:
            trees.put(tree)

    with copy_of_the_product() as first, copy_of_the_product() as second:
        require_sound(first, mutants)
        for tree in (first, second):
            trees.put(tree)
        with ThreadPoolExecutor(SIDE_BY_SIDE) as workers:
            yield from workers.map(one, mutants)


def main(words: Sequence[str]) -> int:
    chosen = [one for one in MUTANTS if not words or any(word in one.guard for word in words)]
    survivors = 0
    try:
        for result in run_all(chosen):
            survivors += bool(result.survived)
            word = "SURVIVED" if result.survived else "killed"
            print(f"{word:9} {result.seconds:5.1f} s  {result.mutant.guard}", flush=True)
            for test in result.survived:
                print(f"{'':19}{test} did not notice", flush=True)
    except StaleList as stale:
        print(f"stale list: {stale}", file=sys.stderr)
        return 2
    print(f"{len(chosen) - survivors} of {len(chosen)} guards are proven by a test that fails without them")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
