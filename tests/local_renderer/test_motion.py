"""The camera never leaves a still, never distorts it, and never jumps."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resources.local_renderer.motion import Layer, Timeline, box

_SIZES = st.tuples(st.integers(1, 5000), st.integers(1, 5000))
_FRAMES = st.sampled_from([(1280, 720), (720, 1280), (720, 720), (64, 1920)])
_TIMELINES = st.builds(Timeline, st.integers(1, 400), st.integers(1, 20), st.integers(1, 60))


@given(_SIZES, _FRAMES, st.floats(1, 1.5), st.integers(0, 3), st.floats(0, 1), st.floats(0.01, 60))
def test_a_view_lies_in_its_still_and_has_the_frames_shape(
    size: tuple[int, int], frame: tuple[int, int], zoom: float, still: int, progress: float, seconds: float
) -> None:
    left, top, right, bottom = box(size, frame, Layer(still, progress, 1.0), zoom, seconds)

    assert -1e-6 <= left < right <= size[0] + 1e-6
    assert -1e-6 <= top < bottom <= size[1] + 1e-6
    assert (right - left) / (bottom - top) == pytest.approx(frame[0] / frame[1])


@given(_TIMELINES)
def test_every_frame_shows_an_opaque_still_and_at_most_one_over_it(timeline: Timeline) -> None:
    shown = [timeline.layers(frame) for frame in range(timeline.frame_count)]

    assert all(1 <= len(layers) <= 2 and layers[0].opacity == 1.0 for layers in shown)
    assert all(0 <= layer.progress <= 1 for layers in shown for layer in layers)


@given(_TIMELINES.filter(lambda t: t.frame_count >= t.still_count))
def test_every_still_is_seen_alone_in_the_order_it_was_given(timeline: Timeline) -> None:
    alone = [layers[0].still for f in range(timeline.frame_count) if len(layers := timeline.layers(f)) == 1]

    assert alone == sorted(alone)
    assert set(alone) == set(range(timeline.still_count))


def test_a_cross_fade_rises_steadily_while_both_stills_keep_moving() -> None:
    timeline = Timeline(100, 2, 25)
    fade = [timeline.layers(50 + n) for n in range(timeline.fade_frames)]

    assert timeline.fade_frames == 16
    assert all(a[1].opacity < b[1].opacity for a, b in pairwise(fade))
    assert all(a[n].progress < b[n].progress for a, b in pairwise(fade) for n in (0, 1))


def test_a_zoom_of_one_still_pans() -> None:
    first, last = (box((640, 427), (720, 1280), Layer(0, at, 1.0), 1.0, 2.0) for at in (0.0, 1.0))

    assert last[0] - first[0] == pytest.approx(427 * 9 / 16 * 0.14)
    assert (first[1], first[3]) == pytest.approx((0, 427))


def test_the_view_moves_by_fractions_of_a_pixel() -> None:
    lefts = [box((640, 360), (1280, 720), Layer(0, n / 200, 1.0), 1.1, 8.0)[0] for n in range(200)]
    steps = {abs(b - a) for a, b in pairwise(lefts)}

    assert max(steps) < 0.5
    assert len(steps) > 100
