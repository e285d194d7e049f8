"""Every domain error reaches Dagster with its remedy and its word on reruns."""

from __future__ import annotations

from collections.abc import Iterator

import dagster as dg
import pytest

from pipeline.assets.failures import as_dagster_failures, failure_of
from pipeline.domain.errors import DatabaseUnavailable, IllegalMove, ReelwrightError


def tree(kind: type[ReelwrightError] = ReelwrightError) -> Iterator[type[ReelwrightError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from tree(below)


@pytest.mark.parametrize("kind", sorted(set(tree()), key=lambda kind: kind.__name__))
def test_every_error_becomes_a_failure_that_says_what_to_do(kind: type[ReelwrightError]) -> None:
    error = kind.__new__(kind, "what went wrong")
    failure = failure_of(error)

    assert failure.allow_retries is kind.may_help
    assert failure.metadata["error"].value == kind.__name__
    assert failure.metadata["remedy"].value
    assert str(failure.metadata["remedy"].value) in (failure.description or "")


def test_a_bug_is_never_retried() -> None:
    with pytest.raises(dg.Failure) as failure, as_dagster_failures():
        raise IllegalMove("attempt", "stored", "queued")

    assert failure.value.allow_retries is False


def test_a_locked_database_may_be_retried() -> None:
    with pytest.raises(dg.Failure) as failure, as_dagster_failures():
        raise DatabaseUnavailable("database: locked")

    assert failure.value.allow_retries is True


def test_what_is_no_domain_error_passes_as_it_is() -> None:
    with pytest.raises(ZeroDivisionError), as_dagster_failures():
        _ = 1 / 0
