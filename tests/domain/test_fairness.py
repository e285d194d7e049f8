"""G10: room is shared between tenants, and nobody gets a second place while another waits for a first."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pipeline.domain.fairness import share

_ROOM = st.integers(-2, 120)
_FREE = st.dictionaries(st.text("abcdefgh", min_size=1, max_size=2), st.integers(-1, 40), max_size=12)


@given(_ROOM, _FREE)
def test_nobody_gets_more_than_is_free_and_all_together_not_more_than_the_room(
    room: int, free: dict[str, int]
) -> None:
    shared = share(room, free)

    assert all(0 <= shared[tenant] <= max(0, places) for tenant, places in free.items())
    assert sum(shared.values()) <= max(0, room)


@given(_ROOM, _FREE)
def test_no_place_stays_empty_while_somebody_could_take_it(room: int, free: dict[str, int]) -> None:
    wanted = sum(places for places in free.values() if places > 0)

    assert sum(share(room, free).values()) == min(max(0, room), wanted)


@given(_ROOM, _FREE)
def test_shares_differ_by_one_at_most_between_tenants_that_want_more(room: int, free: dict[str, int]) -> None:
    shared = share(room, free)
    hungry = [given for tenant, given in shared.items() if given < free[tenant]]

    assert not hungry or max(shared.values()) - min(hungry) <= 1


@given(_ROOM, _FREE)
def test_a_second_place_is_given_only_when_each_has_its_first(room: int, free: dict[str, int]) -> None:
    shared = share(room, free)
    waiting = [tenant for tenant, places in free.items() if places > 0 and shared[tenant] == 0]

    assert not waiting or max(shared.values()) <= 1


def test_what_is_left_over_goes_to_those_served_longest_ago() -> None:
    assert share(5, {"a": 9, "b": 9, "c": 9}) == {"a": 2, "b": 2, "c": 1}
