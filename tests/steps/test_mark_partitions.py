"""What Dagster is told of a campaign, and that nothing is told twice (E1)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from pipeline.steps.answer.standing import Part
from pipeline.steps.operate.mark_partitions import (
    MINUTE,
    Said,
    Say,
    Saying,
    add_partitions,
    is_green,
    mark_partitions,
    when,
)
from resources.database import schema
from tests.conftest import NOON
from tests.steps.author import CAMPAIGN, Author

LATER = [Part.GENERATION_ATTEMPTS, Part.RENDITIONS, Part.THUMBNAILS, Part.TAG_INDEX]


class Window:
    """Dagster's end: it remembers what it was told."""

    def __init__(self) -> None:
        self.heard: list[tuple[Part, Say]] = []
        self.last: dict[Part, Saying] = {}

    def __call__(self, sayings: Sequence[Saying]) -> None:
        for saying in sayings:
            self.heard.append((saying.standing.part, saying.say))
            self.last[saying.standing.part] = saying

    def take(self) -> list[tuple[Part, Say]]:
        heard, self.heard = self.heard, []
        return heard


@pytest.fixture
def window() -> Window:
    return Window()


def tell(author: Author, window: Window) -> int:
    author.relay()
    return mark_partitions(author.database, window)


def change_attempts(author: Author, **columns: object) -> None:
    """A visible change of every attempt, with the message that a transition would leave."""
    author.database.run(
        lambda tx: (
            tx.connection.execute(sa.update(schema.attempts).values(**columns)),
            tx.connection.execute(
                sa.update(schema.partition_marks).values(due=schema.partition_marks.c.due + 1, due_at=tx.now)
            ),
        )
    )


def make_ready(author: Author) -> None:
    """Every slot shows what it wants."""
    author.database.run(
        lambda tx: tx.connection.execute(
            sa.update(schema.slots).values(published_rendition=schema.slots.c.wanted_rendition)
        )
    )
    change_attempts(author, state="indexed", submission="accepted")


def test_an_unfinished_campaign_is_observed_with_counts_and_what_is_decided_is_green(
    author: Author, window: Window
) -> None:
    author.deliver()
    tell(author, window)

    assert window.take() == [
        (Part.SOURCE_SET, Say.MATERIALIZED),
        (Part.MODERATED_SOURCE_SET, Say.MATERIALIZED),
        *((part, Say.OBSERVED) for part in LATER),
    ]
    numbers = window.last[Part.TAG_INDEX].standing.numbers
    assert (numbers["wishes"], numbers["active"], numbers["ready"]) == (4, 4, 0)


def test_an_undecided_set_turns_nothing_green(author: Author, window: Window) -> None:
    author.drop_images(author.folder())
    author.drop(submit="manual")
    author.ingest()
    tell(author, window)

    assert {say for _, say in window.take()} == {Say.OBSERVED}


def test_all_parts_turn_green_at_once_when_the_policy_is_met(author: Author, window: Window) -> None:
    author.deliver()
    tell(author, window)
    window.take()
    make_ready(author)
    tell(author, window)

    assert window.take() == [(part, Say.MATERIALIZED) for part in LATER]
    assert is_green(author.database, CAMPAIGN)


def test_a_rejected_set_turns_nothing_after_it_green(author: Author, window: Window) -> None:
    author.deliver()
    author.change(schema.revisions, f"{CAMPAIGN}/r1", state="rejected")
    tell(author, window)

    assert {part for part, say in window.take() if say is Say.MATERIALIZED} == {Part.SOURCE_SET}


def test_what_did_not_change_is_not_told_again(author: Author, window: Window) -> None:
    author.deliver()
    tell(author, window)
    window.take()
    change_attempts(author, poll_count=7)
    author.clock.pass_seconds(120)

    assert tell(author, window) == 0


def test_observations_of_one_part_lie_a_minute_apart_and_none_is_forgotten(
    author: Author, window: Window
) -> None:
    author.deliver()
    tell(author, window)
    window.take()
    author.clock.pass_seconds(10)
    change_attempts(author, state="generating", submission="accepted")
    tell(author, window)
    assert window.take() == []

    author.clock.pass_seconds(50)
    tell(author, window)

    assert (Part.GENERATION_ATTEMPTS, Say.OBSERVED) in window.take()


def test_of_two_tellers_at_once_one_tells(author: Author, window: Window) -> None:
    author.deliver()
    author.relay()
    inner = Window()

    def telling(sayings: Sequence[Saying]) -> None:
        mark_partitions(author.database, inner)
        window(sayings)

    mark_partitions(author.database, telling)

    assert inner.heard == []
    assert len(window.heard) == len(Part)


def test_what_a_killed_teller_left_half_said_is_said_again_after_a_minute(
    author: Author, window: Window
) -> None:
    author.deliver()
    author.relay()

    def dying(_sayings: Sequence[Saying]) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mark_partitions(author.database, dying)
    tell(author, window)
    assert window.take() == []

    author.clock.pass_seconds(60)
    tell(author, window)

    assert len(window.take()) == len(Part)


def test_a_change_that_comes_while_it_is_told_stays_due(author: Author, window: Window) -> None:
    author.deliver()
    author.relay()

    def telling(sayings: Sequence[Saying]) -> None:
        window(sayings)
        make_ready(author)

    mark_partitions(author.database, telling)
    window.take()
    mark_partitions(author.database, window)

    assert window.take() == [(part, Say.MATERIALIZED) for part in LATER]


def test_only_changes_that_nobody_told_for_long_enough_are_overdue(author: Author, window: Window) -> None:
    author.deliver()
    author.relay()
    assert mark_partitions(author.database, window, overdue_seconds=15) == 0

    author.clock.pass_seconds(15)

    assert mark_partitions(author.database, window, overdue_seconds=15) == len(Part)


def test_a_new_campaign_is_handed_over_as_a_partition_once(author: Author) -> None:
    author.deliver()
    added: list[str] = []
    add_partitions(author.database, added.extend)
    author.relay()
    add_partitions(author.database, added.extend)

    assert added == [CAMPAIGN]


def test_a_partition_that_could_not_be_added_is_added_later(author: Author) -> None:
    author.deliver()

    def failing(_keys: Sequence[str]) -> None:
        raise OSError("the window's storage is gone")

    with pytest.raises(OSError, match="storage"):
        add_partitions(author.database, failing)
    added: list[str] = []
    add_partitions(author.database, added.extend)

    assert added == [CAMPAIGN]


@given(
    said=st.builds(
        Said, say=st.sampled_from(Say), fingerprint=st.sampled_from("ab"),
        at=st.integers(NOON - 3 * MINUTE, NOON), sure=st.booleans(),
    ),
    say=st.sampled_from(Say),
    fingerprint=st.sampled_from("ab"),
)  # fmt: skip
def test_nothing_is_said_twice_too_soon_or_never(said: Said, say: Say, fingerprint: str) -> None:
    due_at = when(said, say, fingerprint, NOON)
    is_news = (said.say, said.fingerprint) != (say, fingerprint)

    assert (due_at is None) == (said.sure and not is_news)
    if due_at == NOON:
        assert NOON - said.at >= MINUTE or (said.sure and say is Say.MATERIALIZED)
