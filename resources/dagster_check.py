"""Whether Dagster's own storage, as its dagster.yaml names it, answers.

Belongs here: opening it once and asking for one run. Does not belong here: what is kept in it
(`dagster_storage`), or how a finding is shown (`pipeline.cli`).
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg
import sqlalchemy as sa
from alembic.util import CommandError

from pipeline.domain.errors import BadSettings, ReelwrightError
from resources.database.trouble import unavailable

FILE = "dagster.yaml"


def storage_of(folder: Path) -> str:
    """The kind of storage that the instance of *folder* keeps its runs in; BadSettings when it cannot."""
    try:
        with _home(folder), _quiet(), dg.DagsterInstance.from_config(str(folder)) as instance:
            instance.get_runs(limit=1)
            return type(instance.run_storage).__name__
    except ReelwrightError:
        raise
    except Exception as error:  # whatever a storage of the user's own choice raises
        raise _named(folder / FILE, error) from error


@contextmanager
def _home(folder: Path) -> Iterator[None]:
    """A dagster.yaml may ask the environment where it lies."""
    before = os.environ.get("DAGSTER_HOME")
    os.environ["DAGSTER_HOME"] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ["DAGSTER_HOME"]
        else:
            os.environ["DAGSTER_HOME"] = before


@contextmanager
def _quiet() -> Iterator[None]:
    """Dagster logs each of its own tries; their end is told by the error."""
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def _named(file: Path, error: Exception) -> BadSettings:
    if isinstance(error, CommandError):
        problem = f"its database is of another program, or of a newer Dagster: {error}"
        return BadSettings(str(file), problem, f"give Dagster a database of its own in {file}")
    refused = next((one for one in _causes(error) if isinstance(one, sa.exc.DBAPIError)), None)
    if refused is not None:
        problem = str(unavailable(refused)).removeprefix("database: ")
        return BadSettings(str(file), problem, f"mend the server, or correct `storage` in {file}")
    said = " ".join(str(error).split())[:300]
    return BadSettings(str(file), f"{type(error).__name__}: {said}", f"correct {file}")


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__
