"""Duration and rate from packets (C09, C12, C13, C17)."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from resources.media.timeline import Track, duration, frame_rate


def track(*packets: tuple[int, int], rate: int | None = 25) -> Track:
    """Packets as (start, length) in hundredths of a second."""
    made = Track()
    for start, length in packets:
        made.add(Fraction(start, 100), Fraction(length, 100))
    made.close(None if rate is None else Fraction(rate))
    return made


@given(st.lists(st.integers(min_value=1, max_value=50), min_size=1, max_size=30), st.randoms())
def test_the_order_of_packets_changes_nothing(lengths: list[int], rng: object) -> None:
    starts = [sum(lengths[:n]) for n in range(len(lengths))]
    packets = list(zip(starts, lengths, strict=True))
    shuffled = list(packets)
    rng.shuffle(shuffled)  # type: ignore[attr-defined]

    assert duration([track(*shuffled)]) == duration([track(*packets)]) == Fraction(sum(lengths), 100)


@given(st.integers(min_value=0, max_value=10**7))
def test_a_late_start_changes_nothing(late: int) -> None:
    assert duration([track((late, 4), (late + 4, 4))]) == Fraction(8, 100)


def test_what_lies_before_zero_is_not_shown() -> None:
    assert duration([track((-100, 4), (0, 4), (4, 4))]) == Fraction(8, 100)


def test_sound_that_begins_before_the_picture_counts() -> None:
    assert duration([track((150, 4), (154, 4)), track((0, 100))]) == Fraction(158, 100)


def test_a_last_packet_without_a_length_lasts_as_long_as_the_others() -> None:
    assert duration([track((0, 4), (4, 4), (8, 0))]) == Fraction(12, 100)


def test_a_lone_packet_without_a_length_lasts_one_frame() -> None:
    assert duration([track((0, 0))]) == Fraction(4, 100)
    assert duration([track((0, 0), rate=None)]) == Fraction(4, 100)


def test_no_packet_and_no_time_are_no_duration_and_no_rate() -> None:
    empty = Track()
    empty.add(None, None)
    empty.close(None)

    assert duration([empty]) == 0
    assert frame_rate(empty, 1, None) is None


def test_the_rate_counts_shown_frames_and_takes_the_stated_one_when_it_agrees() -> None:
    video = track((0, 33), (33, 34), (67, 33))

    assert frame_rate(video, 3, Fraction(3)) == 3
    assert frame_rate(video, 3, Fraction(120)) == 3
    assert frame_rate(track((0, 100)), 30, Fraction(30_000, 1001)) == Fraction(30_000, 1001)
