"""G3: what is on the wire of a second send, where no look-up has found the first one's job."""

from __future__ import annotations

import pytest

from pipeline.domain.follow_ons import Stage
from pipeline.steps.operate.relay_outbox import relay_outbox
from pipeline.steps.produce.moderate import moderate_due
from pipeline.steps.produce.stages import planning_rules, poll_tick, run_lot
from resources.database import schema
from tests.acceptance.memory_provider import Fate
from tests.acceptance.studio import Studio, brief


def _send_one(studio: Studio, provider: str, fate: Fate) -> None:
    adapters = studio.adapters
    studio.deliver(brief(1, provider, 0, approval=False, cap=1))
    relay_outbox(studio.database)
    moderate_due(studio.database, adapters.moderation, planning_rules(adapters))
    relay_outbox(studio.database)
    studio.remote.fates.append(fate)
    run_lot(adapters, Stage.SUBMIT)


def _look(studio: Studio, seconds: int) -> None:
    studio.clock.pass_seconds(seconds)
    studio.remote.seconds += seconds
    poll_tick(studio.adapters)


def test_a_send_that_is_repeated_by_key_is_the_same_request_and_one_job(studio: Studio) -> None:
    _send_one(studio, "k", Fate.LOST)
    _look(studio, 6)

    first, second = studio.remote.posts
    assert first == second
    assert len(studio.remote.jobs) == 1
    assert [row.state for row in studio.rows(schema.attempts) if row.submission == "accepted"] == [
        "generating"
    ]


@pytest.mark.parametrize("provider", ["l", "w", "n"])
def test_without_a_key_a_lost_send_is_not_repeated_before_there_is_proof(
    studio: Studio, provider: str
) -> None:
    _send_one(studio, provider, Fate.LOST)
    for seconds in (6, 6, 60, 60, 600):
        _look(studio, seconds)
        run_lot(studio.adapters, Stage.SUBMIT)

    assert len(studio.remote.posts) == 1
    assert [row.result for row in studio.rows(schema.sends)] == ["unknown"]


def test_a_send_that_was_never_taken_is_repeated_after_two_looks_that_found_nothing(studio: Studio) -> None:
    _send_one(studio, "l", Fate.SWALLOWED)
    for seconds in (21, 11, 11, 300):
        _look(studio, seconds)
        run_lot(studio.adapters, Stage.SUBMIT)

    first, second = studio.remote.posts
    assert first == second
    assert len(studio.remote.jobs) == 1
