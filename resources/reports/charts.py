"""Charts as SVG inside the page: readable at any width, in print, and without colour.

Belongs here: drawing. Does not belong here: what is drawn (`page`).

Places across are percentages and places down are pixels, so that a chart takes the width there is while its
words keep their size. Every series has a pattern besides its colour, and every number stands in a table too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from html import escape

#: Colour and pattern of a series, in the order of `Family`.
LOOKS: Sequence[tuple[str, str]] = (
    ("#1f4e79", "solid"),
    ("#c55a11", "rising"),
    ("#548235", "dots"),
    ("#7f6000", "level"),
    ("#7f7f7f", "cross"),
)
_STROKES: Mapping[str, str] = {
    "solid": "",
    "rising": '<path d="M-2 10 L10 -2 M-2 2 L2 -2 M6 10 L10 6" stroke="#fff" stroke-width="2"/>',
    "dots": '<circle cx="2" cy="2" r="1.4" fill="#fff"/><circle cx="6" cy="6" r="1.4" fill="#fff"/>',
    "level": '<path d="M0 2 H8 M0 6 H8" stroke="#fff" stroke-width="1.6"/>',
    "cross": '<path d="M0 0 L8 8 M8 0 L0 8" stroke="#fff" stroke-width="1.2"/>',
}
_HEIGHT, _TOP, _LEFT = 200, 16, 11
_GAP = Decimal("0.12")
_STEPS = tuple(map(Decimal, ("1", "1.5", "2", "3", "4", "5", "6", "8", "10")))


def patterns() -> str:
    """Definitions that every chart of the page refers to; once a page."""
    made = "".join(
        f'<pattern id="look{number}" width="8" height="8" patternUnits="userSpaceOnUse">'
        f'<rect width="8" height="8" fill="{colour}"/>{_STROKES[name]}</pattern>'
        for number, (colour, name) in enumerate(LOOKS)
    )
    return f'<svg width="0" height="0" class="defs" aria-hidden="true"><defs>{made}</defs></svg>'


def swatch(number: int) -> str:
    return (
        '<svg class="swatch" width="16" height="16" aria-hidden="true">'
        f'<rect width="16" height="16" fill="url(#look{number})"/></svg>'
    )


def bar(value: Decimal, most: Decimal, look: int = 0) -> str:
    """One bar of a table's row, as long as its part of *most*; to the left of nothing there is nothing."""
    width = _percent(max(value, Decimal(0)), most)
    return (
        '<svg class="bar" width="100%" height="14" aria-hidden="true">'
        f'<rect width="{width}" height="14" fill="url(#look{look})"/></svg>'
    )


@dataclass(frozen=True, slots=True)
class Column:
    """One place across, with its parts from below."""

    label: str  #: under the axis; empty: none
    title: str  #: what a pointer resting on it is told
    parts: tuple[Decimal, ...]
    is_forecast: bool = False


def stacked(columns: Sequence[Column], describe: str, mark: tuple[Decimal, str] | None = None) -> str:
    """Columns of parts above one axis, negative ones below; *mark* is a line across with its words."""
    above = max((_sum(max(part, Decimal(0)) for part in one.parts) for one in columns), default=Decimal(0))
    below = max((_sum(max(-part, Decimal(0)) for part in one.parts) for one in columns), default=Decimal(0))
    top = _round_up(max(above, mark[0] if mark else Decimal(0)))
    scale = _Scale(top, _round_up(below) if below else Decimal(0))
    drawn = "".join(_stack(one, number, len(columns), scale) for number, one in enumerate(columns))
    line = _mark(mark, scale) if mark else ""
    height = _HEIGHT + _TOP + 26
    return (
        f'<svg class="chart" width="100%" height="{height}" role="img" aria-label="{escape(describe)}">'
        f"{''.join(_grid(scale))}{drawn}{line}</svg>"
    )


@dataclass(frozen=True, slots=True)
class _Scale:
    top: Decimal
    bottom: Decimal

    def y(self, value: Decimal) -> Decimal:
        span = self.top + self.bottom or Decimal(1)
        return (_TOP + _HEIGHT * (self.top - value) / span).quantize(Decimal("0.1"))


def _stack(one: Column, number: int, of: int, scale: _Scale) -> str:
    width = Decimal(100 - _LEFT) / of
    left = _LEFT + number * width
    up, down, rects = Decimal(0), Decimal(0), []
    for look, part in enumerate(one.parts):
        start = up if part >= 0 else down
        if part >= 0:
            up += part
        else:
            down += part
        high, low = scale.y(max(start, start + part)), scale.y(min(start, start + part))
        if low > high:
            dashes = ' fill-opacity="0.35" stroke="#222" stroke-dasharray="4 3"' if one.is_forecast else ""
            rects.append(
                f'<rect x="{left + width * _GAP:.2f}%" y="{high}" width="{width * (1 - 2 * _GAP):.2f}%"'
                f' height="{low - high}" fill="url(#look{look})"{dashes}/>'
            )
    at = f'x="{left + width / 2:.2f}%" y="{_HEIGHT + _TOP + 18}"'
    label = f'<text {at} text-anchor="middle">{escape(one.label)}</text>' if one.label else ""
    return f"<g><title>{escape(one.title)}</title>{''.join(rects)}</g>{label}"


def _grid(scale: _Scale) -> Iterator[str]:
    for value in sorted({scale.top, scale.top / 2, Decimal(0), -scale.bottom}):
        y = scale.y(value)
        yield (
            f'<line x1="{_LEFT}%" x2="100%" y1="{y}" y2="{y}" class="{"axis" if value == 0 else "grid"}"/>'
            f'<text x="{_LEFT}%" dx="-4" y="{y + 4}" text-anchor="end">{_short(value)}</text>'
        )


def _mark(mark: tuple[Decimal, str], scale: _Scale) -> str:
    y = scale.y(mark[0])
    return (
        f'<line x1="{_LEFT}%" x2="100%" y1="{y}" y2="{y}" class="mark"/>'
        f'<text x="100%" y="{y - 4}" text-anchor="end">{escape(mark[1])}</text>'
    )


def _sum(parts: Iterable[Decimal]) -> Decimal:
    return sum(parts, Decimal(0))


def _round_up(value: Decimal) -> Decimal:
    """The next number that is a round step times a power of ten; 1 for nothing."""
    if value <= 0:
        return Decimal(1)
    power = Decimal(10) ** value.adjusted()
    return next(step * power for step in _STEPS if step * power >= value)


def _short(value: Decimal) -> str:
    for size, letter in ((Decimal(10**9), "G"), (Decimal(10**6), "M"), (Decimal(10**3), "k")):
        if abs(value) >= size:
            return f"{(value / size).normalize():f}{letter}"
    return f"{value.normalize():f}" if value else "0"


def _percent(value: Decimal, most: Decimal) -> str:
    return f"{100 * value / most:.2f}%" if most > 0 else "0%"
