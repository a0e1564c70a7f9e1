"""Common parts of line plots: size, axes without a frame, light grid, labels at line ends, and fitted text."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from slide_gui.error_rate import ErrorRate
from slide_gui.figures.style import Style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

_MM_PER_POINT = 25.4 / 72
_ELLIPSIS = "…"


@cache
def width_mm(text: str, size: float, weight: str = "normal") -> float:
    """Return the width in mm of `text` in DejaVu Sans at `size` points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextToPath

    font = FontProperties(family="DejaVu Sans", weight=weight, size=size)
    width, _, _ = TextToPath().get_text_width_height_descent(text, font, ismath=False)
    return float(width) * _MM_PER_POINT


def fitted(text: str, size: float, room: float, weight: str = "normal", smallest: float = 4.5) -> tuple[str, float]:
    """Return text and type size that fit into `room` mm. The type is reduced first, then the text is shortened."""
    needed = width_mm(text, size, weight)
    if needed <= room:
        return text, size
    size = max(min(smallest, size), size * room / needed)
    if width_mm(text, size, weight) <= room + 1e-6:
        return text, size
    cut = bisect_left(
        range(1, len(text)), room + 1e-6, key=lambda length: width_mm(text[:length] + _ELLIPSIS, size, weight)
    )
    return text[:cut].rstrip(_ELLIPSIS) + _ELLIPSIS, size


def wrapped(text: str, size: float, room: float) -> list[str]:
    """Return the text broken between words into lines that fit into `room` mm."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and width_mm(longer, size) <= room:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


INK, MUTED, _GRID, _FRAME = "#1D1F24", "#555B66", "#E2E3E7", "#8A8F99"
LINES = ("#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#0072B2")
"""Colours that are distinguishable with every kind of colour vision. Each depth or layer has one colour everywhere."""

TEXT_SIZE, SMALL_SIZE = 6.0, 5.0
_TITLE_SIZE = 7.0
_MM_PER_INCH = 25.4
_LINE = 2.4  # mm between two labels
_DOT = "●"
_TILE_FRAME = "#B4B8C0"


def line_color(index: int) -> str:
    """Return the colour of a depth or layer."""
    return LINES[index % len(LINES)]


def in_per_cent(rates: Sequence[ErrorRate]) -> tuple[list[float], list[float], list[float]]:
    """Return lower ends, errors and upper ends in per cent."""
    return [100 * rate.low for rate in rates], [100 * rate.error for rate in rates], [100 * rate.high for rate in rates]


def band(axes: Axes, x: ArrayLike, low: Sequence[float], high: Sequence[float], color: str, scale: float) -> None:
    """Draw intervals along a line as a band. A single interval is drawn as a bar."""
    if len(low) > 1:
        axes.fill_between(x, low, high, color=color, alpha=0.2, linewidth=0)
    else:
        axes.vlines(x, low, high, color=color, alpha=0.4, linewidth=1.6 * scale)


def marked_line(axes: Axes, x: ArrayLike, y: ArrayLike, color: str, scale: float) -> None:
    """Draw a thin line with a dot at each point."""
    axes.plot(x, y, color=color, linewidth=1.0 * scale, marker="o", markersize=2.2 * scale, markeredgewidth=0)


class Plot:
    """A figure with coordinates in mm from its top left corner.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        An empty figure. Its size is set here.
    height : float
        Height in mm in a journal column. Slides have their own height.
    """

    def __init__(self, figure: Figure, style: Style, height: float) -> None:
        self.figure, self.scale = figure, style.scale
        self.width, self.height = style.width_mm, style.height_mm or height
        figure.set_size_inches(self.width / _MM_PER_INCH, self.height / _MM_PER_INCH)

    def _add_axes(self, box: tuple[float, float, float, float], label: str) -> Axes:
        x, y, w, h = box
        place = (x / self.width, 1 - (y + h) / self.height, w / self.width, h / self.height)
        return self.figure.add_axes(place, label=label)

    def tile(self, box: tuple[float, float, float, float], label: str) -> Axes:
        """Return framed axes without ticks for an image. The box gives left, top, width and height."""
        axes = self._add_axes(box, label)
        axes.set_xticks([])
        axes.set_yticks([])
        for spine in axes.spines.values():
            spine.set(linewidth=0.35 * self.scale, color=_TILE_FRAME)
        return axes

    def axes(self, box: tuple[float, float, float, float], label: str) -> Axes:
        """Return axes that fill the box of left, top, width and height."""
        axes = self._add_axes(box, label)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        for side in ("left", "bottom"):
            axes.spines[side].set(linewidth=0.5 * self.scale, color=_FRAME)
        axes.tick_params(
            labelsize=SMALL_SIZE * self.scale, length=1.8 * self.scale, width=0.5 * self.scale, pad=1.6 * self.scale,
            color=_FRAME, labelcolor=INK, direction="out",
        )  # fmt: skip
        axes.grid(axis="y", color=_GRID, linewidth=0.4 * self.scale)
        axes.set_axisbelow(True)
        return axes

    def text(self, x: float, y: float, text: str, size: float, **look: Any) -> None:
        """Write text with its baseline at y. The size is in points before scaling."""
        style: dict[str, Any] = {"va": "baseline", "color": INK, **look}
        self.figure.text(
            x / self.width, 1 - y / self.height, text, fontsize=size * self.scale, parse_math=False, **style
        )

    def key(self, x: float, y: float, text: str, color: str, size: float = SMALL_SIZE) -> None:
        """Write a legend entry, a coloured dot and a text, centred on y."""
        self.text(x, y, _DOT, SMALL_SIZE, color=color, va="center")
        self.text(x + 2.4 * self.scale, y, text, size, va="center")

    def title(self, text: str, second: str) -> None:
        """Write a bold title and a muted second line, both fitted to the width."""
        s, margin = self.scale, 2.0
        room = self.width - 2 * margin * s
        text, size = fitted(text, _TITLE_SIZE * s, room, "bold", 5.0 * s)
        self.text(margin * s, 4.0 * s, text, size / s, weight="bold")
        second, size = fitted(second, SMALL_SIZE * s, room, smallest=4.0 * s)
        self.text(margin * s, 7.0 * s, second, size / s, color=MUTED)

    def axis_titles(self, axes: Axes, x: str, y: str) -> None:
        """Write the titles of both axes."""
        s = self.scale
        axes.set_xlabel(x, fontsize=TEXT_SIZE * s, color=INK, labelpad=2.0 * s)
        axes.set_ylabel(y, fontsize=TEXT_SIZE * s, color=INK, labelpad=2.5 * s)

    def end_labels(
        self, axes: Axes, box: tuple[float, float, float, float], ends: Sequence[tuple[float, str, str]]
    ) -> None:
        """Write labels to the right of the axes at the heights of line ends, separated where they would overlap.

        Parameters
        ----------
        axes : Axes
            Axes with their final limits.
        box : tuple
            Position of the axes in mm.
        """
        x, y, w, h = box
        low, high = axes.get_ylim()
        gap = _LINE * self.scale
        places = [y + h * (1 - (value - low) / (high - low)) for value, _, _ in ends]
        order = sorted(range(len(ends)), key=lambda i: (places[i], i))
        bottom = y + h
        placed: list[float] = []
        for i in order:
            placed.append(max(places[i], placed[-1] + gap if placed else y))
        for k in range(len(placed) - 1, -1, -1):  # move labels up that exceed the bottom edge
            placed[k] = min(placed[k], bottom)
            bottom = placed[k] - gap
        for i, at in zip(order, placed, strict=True):
            _, text, color = ends[i]
            # Only the dot is coloured: text in pale colours would be hard to read.
            self.text(x + w + 1.2 * self.scale, at, _DOT, SMALL_SIZE, color=color, va="center")
            self.text(x + w + 3.0 * self.scale, at, text, SMALL_SIZE, va="center")


def label_room(texts: Sequence[str], scale: float) -> float:
    """Return the width in mm of labels to the right of the axes."""
    return max((width_mm(text, SMALL_SIZE * scale) for text in texts), default=0.0) + 4.2 * scale
