"""A second look at a report's files: whether they are whole, and come to the sums that the manifest states.

Belongs here: reading them back as anybody would. Does not belong here: making them.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from pipeline.domain.rating import EXACT, plain
from resources.reports.manifest import file_entry


def reread(folder: Path, manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """What is wrong with the files in *folder*; nothing where all is as *manifest* says."""
    return (*_hashes(folder, manifest), *_sums(folder, manifest))


def _hashes(folder: Path, manifest: Mapping[str, Any]) -> Iterator[str]:
    for name, entry in manifest["files"].items():
        path = folder / name
        if not path.is_file():
            yield f"{name} is missing"
        elif file_entry(path, None)["sha256"] != entry["sha256"]:
            yield f"{name} is not what was written"


def _sums(folder: Path, manifest: Mapping[str, Any]) -> Iterator[str]:
    """Lines, totals and export against each other: parts of one sum, read from three files."""
    if not all((folder / name).is_file() for name in ("lines.csv", "totals.csv", "focus.csv")):
        return
    exact = Decimal(manifest["exact"])
    apart = Decimal(manifest["focus"]["left_out"]["not_billed_amount"])
    found = {
        "lines.csv": _sum(folder / "lines.csv", "amount"),
        "totals.csv": _sum(folder / "totals.csv", "exact"),
        "focus.csv": EXACT.add(_sum(folder / "focus.csv", "BilledCost"), apart),
    }
    for name, total in found.items():
        if total != exact:
            yield f"{name} comes to {total}, the ledger to {exact}"


def _sum(path: Path, column: str) -> Decimal:
    total = Decimal(0)
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            total = EXACT.add(total, Decimal(row[column] or 0))
    return plain(total)
