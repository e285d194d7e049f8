"""The acceptance tests of the embedded default, on PostgreSQL, S3 and OpenSearch at once: the same code."""

from __future__ import annotations

import pytest

from tests.acceptance.studios import Studios
from tests.acceptance.test_lifecycle_machine import hold
from tests.acceptance.test_sends import (
    test_a_send_that_is_repeated_by_key_is_the_same_request_and_one_job,
    test_a_send_that_was_never_taken_is_repeated_after_two_looks_that_found_nothing,
    test_without_a_key_a_lost_send_is_not_repeated_before_there_is_proof,
)

__all__ = [
    "test_a_send_that_is_repeated_by_key_is_the_same_request_and_one_job",
    "test_a_send_that_was_never_taken_is_repeated_after_two_looks_that_found_nothing",
    "test_without_a_key_a_lost_send_is_not_repeated_before_there_is_proof",
]


@pytest.mark.timeout(900)
def test_the_lifecycle_holds_on_the_three_services(services_studios: Studios) -> None:
    hold(services_studios, 6)
