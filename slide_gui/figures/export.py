"""Figures and their numbers on disk: the same input gives the same bytes, and a file is whole or not there."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slide_gui import __version__
from slide_gui.data.files import write_whole
from slide_gui.experiments.weights import WeightRows
from slide_gui.figures.style import Style
from slide_gui.figures.table import save_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FORMATS", "figure_bytes", "save_figure", "weights_csv"]

FORMATS = (".pdf", ".svg", ".png")
"""Suffixes that `save_figure` writes."""

_CREATOR = f"slide-gui {__version__}"
# Without dates, and for PNG without matplotlib's own stamp.
_METADATA: dict[str, dict[str, Any]] = {
    ".pdf": {"Creator": _CREATOR, "CreationDate": None, "ModDate": None},
    ".svg": {"Creator": _CREATOR, "Date": None},
    ".png": {"Software": _CREATOR},
}
# Where a person's own matplotlib settings must not reach, those that choose a display are left alone.
_NOT_OURS = ("backend", "backend_fallback", "interactive", "toolbar", "timezone")


def save_figure(draw: Callable[[Figure], None], path: str | os.PathLike[str], style: Style) -> None:
    """Draw a figure and write it as PDF, SVG or PNG, by the suffix of `path`.

    Two exports of the same input are identical, byte for byte: no dates, no random identifiers, no settings
    from outside. Text stays text, in the fonts that come with matplotlib.

    Parameters
    ----------
    draw : callable
        Gets an empty `matplotlib.figure.Figure`, e.g. ``lambda figure: draw_weights(figure, weights, style)``.
    path : path-like
        The folder is made if it is missing.
    style : Style
        Gives the fonts and the dots per inch.

    Raises
    ------
    ValueError
        If the suffix is none of `FORMATS`.
    OSError
        If the file cannot be written; what stood there is untouched.
    """
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in FORMATS:
        raise ValueError(f"{target.name}: a figure is written as {', '.join(FORMATS)}, not {suffix or 'no suffix'}")
    content = figure_bytes(draw, suffix, style)
    write_whole(target, lambda file: file.write(content))


def figure_bytes(draw: Callable[[Figure], None], suffix: str, style: Style) -> bytes:
    """Return what `save_figure` writes into a file with this suffix, one of `FORMATS`."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context():
        defaults: Any = {k: v for k, v in matplotlib.rcParamsDefault.items() if k not in _NOT_OURS}
        matplotlib.rcParams.update(defaults | style.rc())
        figure = Figure()
        draw(figure)
        buffer = io.BytesIO()
        figure.savefig(buffer, format=suffix[1:], dpi=style.dpi, metadata=_METADATA[suffix])
    return buffer.getvalue()


def weights_csv(path: str | os.PathLike[str], weights: Sequence[WeightRows]) -> None:
    """Write the rows of W as a table: one line for each data set, pixel and layer.

    The columns are dataset, pixel row, pixel column (the row is empty where features are no picture), layer,
    bias, w_0, w_1, …; numbers are written so that they read back exactly. UTF-8, lines end in CR LF (RFC 4180).

    Raises
    ------
    OSError
        If the file cannot be written; what stood there is untouched.
    """
    widest = max((rows.rows.shape[2] for rows in weights), default=0)
    head = ["dataset", "pixel row", "pixel column", "layer", "bias"]
    lines: list[list[object]] = []
    for rows in weights:
        for i, pixel in enumerate(rows.pixels):
            place = ("", pixel) if rows.image_shape is None else divmod(pixel, rows.image_shape[1])
            for j in range(rows.depth):
                values = [float(rows.biases[i, j]), *rows.rows[i, j].tolist()]
                lines.append([rows.dataset, *place, j + 1, *values])
    save_table(path, head + [f"w_{i}" for i in range(widest)], lines)
