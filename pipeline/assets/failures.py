"""Domain errors as Dagster failures: the one place where they are translated.

The error class itself says whether a rerun may help; here that is only handed on, with the remedy, so that
the person who reads the red run learns what to do.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

from pipeline.domain.errors import ReelwrightError


@contextmanager
def as_dagster_failures() -> Iterator[None]:
    try:
        yield
    except ReelwrightError as error:
        raise failure_of(error) from error


def failure_of(error: ReelwrightError) -> dg.Failure:
    remedy = error.remedy or NO_REMEDY[error.may_help]
    return dg.Failure(
        description=f"{error}; {remedy}",
        metadata={"error": type(error).__name__, "remedy": remedy, "rerun_may_help": error.may_help},
        allow_retries=error.may_help,
    )


#: What to do where the error names nothing better, by whether the same call may succeed later.
NO_REMEDY = {
    True: "it is tried again by the next lot; look at it when it stays",
    False: "a rerun will not help: read the error, and report it if it names nothing that you wrote",
}
