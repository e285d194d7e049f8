"""The manifest of a report: its files with counts, sums and hashes, and from which state of the ledger.

Belongs here: its form, and reading the one before. Does not belong here: the files.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from pipeline.domain.errors import NotAllowed
from pipeline.domain.statement import Issue, Statement

NAME = "manifest.json"
_BLOCK = 1 << 20


def file_entry(path: Path, rows: int | None, sums: Mapping[str, Decimal] | None = None) -> dict[str, Any]:
    """One file: size and SHA-256, its rows where it has such, and what its columns add up to."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    entry: dict[str, Any] = {"bytes": path.stat().st_size, "sha256": digest.hexdigest()}
    if rows is not None:
        entry["rows"] = rows
    if sums:
        entry["sums"] = {name: format(value, "f") for name, value in sums.items()}
    return entry


def manifest(
    statement: Statement, files: Mapping[str, dict[str, Any]], focus: Mapping[str, Any]
) -> dict[str, Any]:
    ledger, mark = statement.ledger, statement.ledger.watermark
    previous = statement.around.previous
    return {
        "report": "reelwright finance report",
        "month": str(statement.month),
        "status": str(mark.status),
        "statement_sha256": mark.statement_sha256,
        "currency": ledger.currency,
        "price_cards": list(ledger.cards),
        "lines": statement.lines,
        "exact": format(statement.exact_of_lines, "f"),
        "billed": format(statement.billed, "f"),
        "corrections": format(statement.corrections, "f"),
        "unpriced": len(ledger.unpriced),
        "issue": _written(statement.issue),
        "issue_before": _written(previous) if previous else None,
        "focus": dict(focus),
        "files": dict(sorted(files.items())),
    }


def _written(issue: Issue) -> dict[str, Any]:
    return {
        "rated_at": issue.rated_at.isoformat() if issue.rated_at else None,
        "exact": format(issue.exact, "f"),
        "lines": issue.lines,
    }


def write_manifest(folder: Path, content: Mapping[str, Any]) -> None:
    (folder / NAME).write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", "utf-8")


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """The manifest that lies in *folder*; None without one. NotAllowed where it is no manifest of ours."""
    path = folder / NAME
    if not path.is_file():
        return None
    try:
        found = json.loads(path.read_text("utf-8"))
        issue_of(found["issue"]), found["month"], found["status"]
    except (ValueError, KeyError, TypeError, InvalidOperation) as error:
        raise NotAllowed(
            str(path), "is no manifest of a report", "move it away, or name another folder"
        ) from error
    return dict(found)


def issue_of(written: Mapping[str, Any] | None) -> Issue | None:
    if written is None:
        return None
    rated_at = written["rated_at"]
    return Issue(
        datetime.fromisoformat(rated_at) if rated_at else None,
        Decimal(written["exact"]),
        int(written["lines"]),
    )
