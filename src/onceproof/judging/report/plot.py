"""Coordinates for the plot of a run; the template draws them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LEFT, RIGHT, TOP, BOTTOM = 48, 14, 28, 34
SERIES = ("offered", "committed", "seen")


@dataclass(frozen=True)
class Tick:
    """A mark on an axis: its position and its label."""

    at: float
    label: str


@dataclass(frozen=True)
class Bar:
    """A fault as drawn: its time of effect, the recovery after it, and the backlog."""

    number: int
    left: float
    width: float
    shaded: float
    behind: float


@dataclass(frozen=True)
class Plot:
    """A drawing of a fixed width, so that its text has the same size on every screen."""

    width: int
    height: int
    lines: Mapping[str, str]
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]
    bars: Sequence[Bar]

    left, top = LEFT, TOP

    @property
    def right(self) -> int:
        """The right edge of the plotting area."""
        return self.width - RIGHT

    @property
    def bottom(self) -> int:
        """The position of the time axis."""
        return self.height - BOTTOM


def plot(timeline: Mapping[str, Any], width: int, height: int) -> Plot | None:
    """Return the drawing of a timeline, or None if it has no series."""
    every = [point for name in SERIES for point in timeline[name]]
    if not every:
        return None
    seconds = max(timeline["seconds"], 0.001)
    most = max(1, *(rows for _, rows in every))
    x_scale = (width - LEFT - RIGHT) / seconds
    y_scale = (height - TOP - BOTTOM) / most

    def x(at: float) -> float:
        return float(round(LEFT + at * x_scale, 1))

    def y(rows: float) -> float:
        return float(round(height - BOTTOM - rows * y_scale, 1))

    return Plot(
        width,
        height,
        {name: _steps([(x(at), y(rows)) for at, rows in timeline[name]]) for name in SERIES},
        [Tick(x(at), _short(at)) for at in ticks(seconds, width // 70)],
        [Tick(y(rows), _short(rows)) for rows in ticks(most, 4)],
        [_bar(number, fault, x, seconds) for number, fault in enumerate(timeline["faults"], 1)],
    )


def _bar(number: int, fault: Mapping[str, Any], x: Any, seconds: float) -> Bar:
    struck, healed, recovered = fault["struck"], fault["healed"], fault["recovered"]
    until = seconds if recovered is None else recovered
    level = seconds if fault["caught_up"] is None else fault["caught_up"]
    left = x(struck)
    width = max(0.0, round(x(healed) - left, 1)) if healed is not None else 0.0
    shaded = max(width, round(x(until) - left, 1))
    return Bar(number, left, width, shaded, max(shaded, round(x(level) - left, 1)))


def _steps(points: Sequence[tuple[float, float]]) -> str:
    """Return a path that holds each value until the next: counts do not change in between."""
    if not points:
        return ""
    (first_x, first_y), *others = points
    return f"M{first_x:g} {first_y:g}" + "".join(f"H{x:g}V{y:g}" for x, y in others)


def ticks(most: float, about: int) -> list[float]:
    """Return round numbers from 0 up to at most `most`, about so many."""
    rough = most / max(1, about)
    power = 10.0 ** len(str(int(rough))) / 10 if rough >= 1 else 0.1
    while power > rough and power > 1e-4:
        power /= 10
    step = next((power * by for by in (1, 2, 5) if power * by >= rough), power * 10)
    return [round(step * at, 6) for at in range(int(most / step + 1e-9) + 1)]


def _short(number: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if number >= size:
            return f"{number / (1e3 if letter == 'k' else size):g}{letter}"
    return f"{number:g}"
