"""Styles of exported figures: width, type size, colours and colour limits."""

from collections.abc import Iterable
from dataclasses import dataclass

from slide_gui.core.choices import Choice, table_of
from slide_gui.figures.color_scale import MAPS

# Maps the name of each figure width to the width in mm. The aspect ratio of "slide" is 16:9.
WIDTHS: dict[str, float] = {"single": 89.0, "one-and-a-half": 120.0, "double": 183.0, "slide": 254.0}

# Dots per inch of animations, so that a figure of two journal columns is 1081 pixels wide, and a slide 1500 pixels.
ANIMATION_DPI = 150

# Choices of which tiles share their colour limits.
LEVELS = table_of(
    Choice("layer", "per layer, symmetric", "all tiles of a layer share their limits"),
    Choice("tile", "per tile, symmetric", "each tile has its own limits"),
    Choice("global", "all tiles, symmetric", "all tiles share their limits"),
)

# Choices of the values that the tiles of a weight figure show.
SHOWN = table_of(
    Choice("auto", "automatic", "contributions if a few weights are much larger than all others, otherwise weights"),
    Choice("weights", "weights", "the weights W themselves"),
    Choice(
        "contribution",
        "contributions",
        "each weight times the root mean square of its input pixel over the training rows",
    ),
)


@dataclass(frozen=True)
class Style:
    """The style of a figure.

    Attributes
    ----------
    width : {"single", "one-and-a-half", "double", "slide"}
        Name of the width of the figure, a key of `WIDTHS`.
    colors : str
        Name of a colour map, a key of `slide_gui.figures.color_scale.MAPS`. The paper uses ``"jet"``.
    levels : {"tile", "layer", "global"}
        Tiles that share symmetric colour limits: none ("tile"), those of one layer, or all tiles of the figure.
    show : {"auto", "weights", "contribution"}
        Values shown in a weight figure, a key of `SHOWN`.
    bias : bool
        True to write the bias of each row of W below its tile.
    transposed : bool
        True to show images with rows and columns exchanged.
    dpi : int
        Dots per inch of a PNG.

    Raises
    ------
    ValueError
        If a field is invalid. The message names the field.
    """

    width: str = "single"
    colors: str = "blue-white-red"
    levels: str = "layer"
    bias: bool = False
    transposed: bool = False
    dpi: int = 300
    show: str = "auto"

    def __post_init__(self) -> None:
        tables: dict[str, Iterable[str]] = {"width": WIDTHS, "colors": MAPS, "levels": LEVELS, "show": SHOWN}
        for name, choices in tables.items():
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} is {getattr(self, name)!r}; it must be one of {', '.join(choices)}")
        if not 50 <= self.dpi <= 1200:
            raise ValueError(f"dpi is {self.dpi!r}; it must be between 50 and 1200")

    @property
    def width_mm(self) -> float:
        """Width of the figure in mm."""
        return WIDTHS[self.width]

    @property
    def height_mm(self) -> float | None:
        """Height of the figure in mm, or None if the contents determine it."""
        return self.width_mm * 9 / 16 if self.width == "slide" else None

    @property
    def scale(self) -> float:
        """Factor for type sizes and gaps: 1 for journal columns, more for slides, which are read from a distance."""
        return 1.5 if self.width == "slide" else 1.0
