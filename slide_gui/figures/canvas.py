"""Elements shared by all figures: size, axes, tiles, labels at the ends of lines, and text fitted to a width."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from slide_gui.figures.color_scale import ColorScale
from slide_gui.figures.style import Style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike, NDArray

INK, MUTED, PALE = "#1D1F24", "#555B66", "#B4B8C0"
# Colours that colour-blind readers can distinguish. A depth or layer has the same colour in all figures.
LINES = ("#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#0072B2", "#882255", "#999933", "#332288")

TITLE_SIZE, TEXT_SIZE, SMALL_SIZE = 7.0, 6.0, 5.0
# Smallest type size in points. Text that is still too wide at this size is shortened.
SMALLEST = 4.0

# Left, top, width and height of a rectangle in mm, measured from the top left corner of the figure.
Box = tuple[float, float, float, float]

_GRID, _FRAME, _CORRUPTED = "#E2E3E7", "#8A8F99", (220, 231, 250)
_MM_PER_INCH = 25.4
_MM_PER_POINT = _MM_PER_INCH / 72
_LINE = 2.4  # distance between the lines of labels in mm
_ELLIPSIS = "…"
_DOT = "●"
_ENLARGE = 8  # Pixels are enlarged by this factor, because many viewers smooth pictures with few pixels.


# These fonts contain Chinese, Japanese or Korean characters, which DejaVu Sans lacks. Only installed fonts are used.
_FALLBACKS = (
    "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans SC", "WenQuanYi Zen Hei", "WenQuanYi Micro Hei",
    "Droid Sans Fallback", "Microsoft YaHei", "PingFang SC", "Arial Unicode MS",
)  # fmt: skip


@cache
def font_families(text: str) -> tuple[str, ...]:
    """Return the names of the fonts for a string: DejaVu Sans, and other fonts if it lacks some of the characters."""
    from matplotlib.font_manager import fontManager

    if not lacking(text, "DejaVu Sans"):
        return ("DejaVu Sans",)
    installed = fontManager.get_font_names()
    return "DejaVu Sans", *(name for name in _FALLBACKS if name in installed)


@cache
def lacking(text: str, family: str) -> str:
    """Return the printable characters of a string that are missing in the font `family`."""
    from matplotlib.font_manager import findfont, get_font

    font = get_font(findfont(family))
    return "".join(letter for letter in text if letter.isprintable() and not font.get_char_index(ord(letter)))


@cache
def width_mm(text: str, size: float, weight: str = "normal") -> float:
    """Return the width of `text` in mm at a type size of `size` points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextToPath

    font = FontProperties(family=font_families(text), weight=weight, size=size)
    width, _, _ = TextToPath().get_text_width_height_descent(text, font, ismath=False)
    return float(width) * _MM_PER_POINT


def fitted(text: str, size: float, space: float, smallest: float, weight: str = "normal") -> tuple[str, float]:
    """Return the text, shortened if necessary, and the type size in points at which it fits into `space` mm.

    The type size is reduced first, but not below `smallest`. If the text is still too wide, it is shortened and ends in
    an ellipsis.
    """
    needed = width_mm(text, size, weight)
    if needed <= space:
        return text, size
    size = max(min(smallest, size), size * space / needed)
    if width_mm(text, size, weight) <= space + 1e-6:
        return text, size
    cut = bisect_left(
        range(1, len(text)), space + 1e-6, key=lambda length: width_mm(text[:length] + _ELLIPSIS, size, weight)
    )
    return text[:cut].rstrip(_ELLIPSIS) + _ELLIPSIS, size


def wrapped(text: str, size: float, space: float) -> list[str]:
    """Split the text between words into lines, and return the lines. Each line fits into `space` mm if possible."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and width_mm(longer, size) <= space:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def line_color(index: int) -> str:
    """Return the colour of the depth or layer with this index."""
    return LINES[index % len(LINES)]


def marked_line(axes: Axes, x: ArrayLike, y: ArrayLike, color: str, scale: float) -> None:
    """Draw a thin line with a dot at each point."""
    axes.plot(x, y, color=color, linewidth=1.0 * scale, marker="o", markersize=2.2 * scale, markeredgewidth=0)


def draw_image(
    axes: Axes, image: NDArray[Any], scale: ColorScale, style: Style, *, ink: bool = False, stretch: bool = False
) -> None:
    """Draw an image in the colours of a colour scale.

    Parameters
    ----------
    ink : bool
        True to draw high values dark on a light background, and NaN, which marks corrupted features, in light blue.
    stretch : bool
        True to fill the axes even if they do not have the aspect ratio of the image.
    """
    shown = image.T if style.transposed else image
    lut = scale.lut()
    if ink:
        lut = np.concatenate([np.array([_CORRUPTED], np.uint8), lut[:0:-1]])
    colors = lut[scale.indices(shown)].repeat(_ENLARGE, axis=0).repeat(_ENLARGE, axis=1)
    extent = (-0.5, shown.shape[1] - 0.5, shown.shape[0] - 0.5, -0.5)
    axes.imshow(colors, interpolation="none", extent=extent, aspect="auto" if stretch else "equal")
    axes.set_anchor("NW")


def draw_bars(axes: Axes, values: NDArray[Any], limit: float, size: float, colors: Any = INK) -> None:
    """Draw the values of features that are not pixels as bars, on an axis from `-limit` to `limit` with a margin."""
    from matplotlib.collections import PolyCollection

    # All bars are drawn as one collection, because drawing 784 individual patches takes a second.
    x = np.arange(values.size)[:, None] + np.array([-0.4, -0.4, 0.4, 0.4])
    y = values.astype(np.float64)[:, None] * np.array([0.0, 1.0, 1.0, 0.0])
    axes.add_collection(PolyCollection(list(np.stack([x, y], axis=2)), facecolors=colors, linewidths=0))
    axes.axhline(0.0, color=PALE, linewidth=0.35 * size)
    axes.set_xlim(-1.0, values.size)
    axes.set_ylim(-1.1 * limit, 1.1 * limit)


class Plot:
    """A figure with coordinates in mm from its top left corner.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        An empty figure. The constructor sets its size.
    height : float
        Height of the figure in mm. It is ignored for slides, which have a fixed height.
    """

    def __init__(self, figure: Figure, style: Style, height: float) -> None:
        self.figure, self.scale = figure, style.scale
        self.width, self.height = style.width_mm, style.height_mm or height
        figure.set_size_inches(self.width / _MM_PER_INCH, self.height / _MM_PER_INCH)

    def bare_axes(self, box: Box, label: str) -> Axes:
        """Return axes that fill the rectangle `box` and have matplotlib's default properties."""
        x, y, w, h = box
        place = (x / self.width, 1 - (y + h) / self.height, w / self.width, h / self.height)
        return self.figure.add_axes(place, label=label)

    def tile(self, box: Box, label: str) -> Axes:
        """Return axes with a thin frame and without ticks, for an image."""
        axes = self.bare_axes(box, label)
        axes.set_xticks([])
        axes.set_yticks([])
        for spine in axes.spines.values():
            spine.set(linewidth=0.35 * self.scale, color=PALE)
        return axes

    def axes(self, box: Box, label: str) -> Axes:
        """Return axes with light grid lines, and with a frame only on the left and at the bottom."""
        axes = self.bare_axes(box, label)
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

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: float,
        space: float | None = None,
        smallest: float = SMALLEST,
        **properties: Any,
    ) -> None:
        """Write text that starts at x and has its baseline at y, in mm.

        Parameters
        ----------
        size : float
            Type size in points, before it is multiplied by `Style.scale`.
        space : float, optional
            Width in mm into which the text must fit. If the text is too wide, `fitted` reduces its size or shortens it.
        smallest : float
            Smallest type size in points for `fitted`, before it is multiplied by `Style.scale`.
        **properties
            Properties of `matplotlib.text.Text`, such as its colour.
        """
        if space is not None:
            weight = properties.get("weight", "normal")
            text, fitting = fitted(text, size * self.scale, space, smallest * self.scale, weight)
            size = fitting / self.scale
        style: dict[str, Any] = {"va": "baseline", "color": INK, **properties}
        # Text between $ signs is not parsed as a formula, because the name of a data set may contain $.
        self.figure.text(
            x / self.width, 1 - y / self.height, text, fontsize=size * self.scale, parse_math=False, **style
        )

    def key(self, x: float, y: float, text: str, color: str, space: float | None = None) -> None:
        """Write a legend entry: a coloured dot and text fitted into `space` mm, both vertically centred on y."""
        self.text(x, y, _DOT, SMALL_SIZE, color=color, va="center")
        self.text(x + 2.4 * self.scale, y, text, SMALL_SIZE, space, va="center")

    def title(self, text: str, second: str) -> None:
        """Write a bold title and a grey second line, both fitted to the width of the figure."""
        margin = 2.0 * self.scale
        space = self.width - 2 * margin
        self.text(margin, 4.0 * self.scale, text, TITLE_SIZE, space, 5.0, weight="bold")
        self.text(margin, 7.0 * self.scale, second, SMALL_SIZE, space, color=MUTED)

    def note(self, text: str) -> None:
        """Write a grey line of text at the bottom, fitted to the width of the figure."""
        margin = 2.0 * self.scale
        self.text(margin, self.height - 1.6 * self.scale, text, SMALL_SIZE, self.width - 2 * margin, color=MUTED)

    def axis_titles(self, axes: Axes, x: str, y: str) -> None:
        """Write the titles of both axes."""
        s = self.scale
        axes.set_xlabel(x, fontsize=TEXT_SIZE * s, color=INK, labelpad=2.0 * s)
        axes.set_ylabel(y, fontsize=TEXT_SIZE * s, color=INK, labelpad=2.5 * s)

    def end_labels(self, axes: Axes, box: Box, ends: Sequence[tuple[float, str, str]]) -> None:
        """Write labels to the right of the axes, each next to the end of its line, and move them apart if they overlap.

        Parameters
        ----------
        axes : Axes
            Axes whose limits and scales are final.
        box : tuple
            Position of the axes in mm.
        ends : sequence of (value, text, color)
            Last value of each line in the plot, and the text and colour of its label, which may have several lines.
        """
        x, y, w, h = box
        gap = _LINE * self.scale
        to_axes = axes.transScale + axes.transLimits
        wanted = [y + h * (1 - to_axes.transform((axes.get_xlim()[1], value))[1]) for value, _, _ in ends]
        places = apart(wanted, [gap * (1 + text.count("\n")) for _, text, _ in ends], y, y + h + gap)
        for at, (_, text, color) in zip(places, ends, strict=True):
            # Only a dot has the colour of the line, because text in a pale colour would be hard to read.
            self.text(x + w + 1.2 * self.scale, at, _DOT, SMALL_SIZE, color=color, va="center")
            for number, line in enumerate(text.split("\n")):
                self.text(x + w + 3.0 * self.scale, at + number * gap, line, SMALL_SIZE, va="center")


def apart(wanted: Sequence[float], heights: Sequence[float], low: float, high: float) -> list[float]:
    """Return positions close to `wanted`, in the same order, at which items with these heights do not overlap.

    All items are between `low` and `high` if there is enough space.
    """
    order, places, free = sorted(range(len(wanted)), key=lambda i: (wanted[i], i)), list(wanted), low
    for i in order:
        places[i] = max(places[i], free)
        free = places[i] + heights[i]
    free = high
    for i in reversed(order):
        places[i] = min(places[i], free - heights[i])
        free = places[i]
    return places


def label_width(texts: Sequence[str], scale: float) -> float:
    """Return the width in mm that is needed for labels to the right of the axes."""
    return max((width_mm(text, SMALL_SIZE * scale) for text in texts), default=0.0) + 4.2 * scale
