"""Animated GIFs: the still pictures one after the other, with the session that they show."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from slide_gui.figures.color_scale import NEUTRAL, ColorScale
from slide_gui.figures.style import Style
from slide_gui.progress import NO_PROGRESS, Progress

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from PIL.Image import Image

ANIMATION_DPI = 150
"""Dots per inch that suit a projector: 1081 pixels for two columns, 1500 for a slide."""

_GREYS = 32  # of the 256 colours of a GIF, for type and lines; the others are of the colour map


@dataclass(frozen=True, eq=False)
class Frame:
    """One picture of an animation.

    Attributes
    ----------
    draw : callable
        Draws the still figure into an empty one, as in `slide_gui.figures.export.FigureExport`.
    seconds : float
        How long it is shown.
    """

    draw: Callable[[Figure, Style], None]
    seconds: float


def gif_bytes(
    pictures: Sequence[bytes],
    seconds: Sequence[float],
    style: Style,
    session: str = "",
    progress: Progress = NO_PROGRESS,
) -> bytes:
    """Return the content of a GIF that repeats its pictures, each in the nearest of 256 colours.

    Parameters
    ----------
    pictures : sequence of bytes
        Each a PNG; all of one size.
    seconds : sequence of float
        How long each is shown.
    style : Style
        Gives the colour map that most of the 256 colours are taken from.
    session : str
        As `slide_gui.experiments.files.session.picture_text` gives it; stored as the comment of the GIF.

    Raises
    ------
    ValueError
        If the pictures differ in size.
    """
    from PIL import Image

    images = [Image.open(io.BytesIO(content)).convert("RGB") for content in pictures]
    if len({image.size for image in images}) != 1:
        raise ValueError("the pictures of an animation must all be of one size")
    palette, indexed = _palette(style), []
    for number, image in enumerate(images):
        progress.report(number / len(images))
        indexed.append(_nearest(image, palette))
    milliseconds = [round(1000 * each) for each in seconds]
    buffer = io.BytesIO()
    indexed[0].save(
        buffer,
        format="GIF",
        comment=session.encode(),
        optimize=False,
        save_all=True,
        append_images=indexed[1:],
        duration=milliseconds,
        loop=0,
    )
    progress.report(1.0)
    return buffer.getvalue()


def _palette(style: Style) -> NDArray[np.int64]:
    """Return the colours of a GIF, shape (256, 3): those of the map with its zero, and greys for the rest."""
    colors = ColorScale.symmetric(style.colors, 1.0).lut()[:, :3]
    spread = np.linspace(0, len(colors) - 1, 255 - _GREYS).round().astype(int)
    greys = np.linspace(0, 255, _GREYS).round()[:, None].repeat(3, axis=1)
    return np.concatenate([colors[[NEUTRAL, *spread]], greys]).astype(np.int64)


def _nearest(image: Image, palette: NDArray[np.int64]) -> Image:
    """Return an image in the nearest colours of a palette."""
    from PIL import Image

    pixels = np.asarray(image).astype(np.int64)
    packed, where = np.unique((pixels << (16, 8, 0)).sum(axis=2), return_inverse=True)
    colors = packed[:, None] >> (16, 8, 0) & 255
    best = [int(np.argmin(((palette - color) ** 2).sum(axis=1))) for color in colors]
    result = Image.fromarray(np.array(best, np.uint8)[where.reshape(pixels.shape[:2])]).convert("P")
    result.putpalette(palette.astype(np.uint8).tobytes())
    return result
