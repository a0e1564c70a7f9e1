"""Write a figure, its numbers and its script to files atomically. Equal input gives identical files."""

from __future__ import annotations

import io
import logging
import os
import re
import shlex
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from slide_gui import __version__
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.data.files import folder_files, write_whole
from slide_gui.experiments.files.model_file import FittedModel
from slide_gui.experiments.files.session import SUFFIX, file_content
from slide_gui.experiments.files.source import DataSource, option_words
from slide_gui.experiments.inspection.rows import WeightRows
from slide_gui.figures.canvas import font_families, lacking
from slide_gui.figures.color_scale import NEUTRAL, ColorScale
from slide_gui.figures.style import Style
from slide_gui.figures.tables import save_table
from slide_gui.memory import check_free
from slide_gui.progress import NO_PROGRESS, Progress
from slide_gui.resources import resource
from slide_gui.text import dataset_title, printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray
    from PIL.Image import Image

# Suffixes of the files that `save_figure` can write.
FORMATS = (".pdf", ".svg", ".png")

_FRAME_MILLISECONDS, _LAST_MILLISECONDS = 250, 1500  # display times of all pictures but the last, and of the last
_GREYS = 32  # number of a GIF's 256 colours that are reserved for text and lines; the others form the colour map

_NO_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_CREATOR = f"slide-gui {__version__}"
# Metadata of each format, without dates and without matplotlib's version, so that equal input gives identical files.
_METADATA: dict[str, dict[str, Any]] = {
    ".pdf": {"Creator": _CREATOR, "CreationDate": None, "ModDate": None},
    ".svg": {"Creator": _CREATOR, "Date": None},
    ".png": {"Software": _CREATOR},
}
_SESSION_ENTRY = {".pdf": "Keywords", ".svg": "Source", ".png": "Session"}
# Matplotlib settings that differ from the defaults: one font, and text stored as text instead of outlines.
_SETTINGS: dict[str, Any] = {
    "font.sans-serif": ["DejaVu Sans"],
    "svg.fonttype": "none",
    "svg.hashsalt": "slide-gui",
    "pdf.fonttype": 42,
    "pdf.compression": 9,
}
# These matplotlib settings of the user are retained, because they do not affect files. All others are reset.
_NOT_OURS = ("backend", "backend_fallback", "interactive", "toolbar", "timezone")


def save_figure(draw: Callable[[Figure], None], path: str | os.PathLike[str], style: Style, session: str = "") -> None:
    """Draw a figure and write it as PDF, SVG or PNG, according to the suffix of `path`.

    Two exports of the same input are identical, byte for byte. They contain no dates or random identifiers, and do not
    depend on the user's matplotlib settings. Text is stored as text, not as outlines. The font is DejaVu Sans; for
    characters that it lacks, fonts installed on the computer are used.

    Parameters
    ----------
    draw : callable
        Draws into an empty `matplotlib.figure.Figure`, e.g. ``lambda figure: draw_weights(figure, weights, style)``.
    path : path-like
        Output file. Its folder is created if it does not exist.
    style : Style
        Its `dpi` is used for PNG.
    session : str
        Result of `slide_gui.experiments.files.session.picture_text`, to be stored in the picture.

    Raises
    ------
    ValueError
        If the suffix is not one of `FORMATS`.
    OSError
        If the file cannot be written. An existing file then remains unchanged.
    """
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in FORMATS:
        raise ValueError(f"{target.name}: the suffix of a figure must be {' or '.join(FORMATS)}, not {suffix!r}")
    write_whole(target, figure_bytes(draw, suffix, style, session))


def figure_bytes(draw: Callable[[Figure], None], suffix: str, style: Style, session: str = "") -> bytes:
    """Return the content of the file that `save_figure` writes for the given suffix, one of `FORMATS`."""
    # Suppress messages of Matplotlib in the terminal, such as that a fallback font has no bold characters, or that
    # building the cache of fonts takes long.
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    buffer = io.BytesIO()
    metadata = _METADATA[suffix] | ({_SESSION_ENTRY[suffix]: session} if session else {})
    defaults: Any = {k: v for k, v in matplotlib.rcParamsDefault.items() if k not in _NOT_OURS}
    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcParams.update(defaults | _SETTINGS)
        warnings.filterwarnings("ignore", "Glyph")  # Matplotlib warns repeatedly, `_warn_of_boxes` only once.
        figure, missing = Figure(), ""
        draw(figure)
        # For SVG, the viewer itself selects fonts for characters that DejaVu Sans lacks.
        for text in [] if suffix == ".svg" else figure.findobj(Text):
            families = font_families(text.get_text())
            text.set_fontfamily(families)
            missing += reduce(lacking, families, text.get_text())
            if len(families) > 1:
                # Fonts with PostScript outlines, such as Noto Sans CJK, would be invisible if embedded as Type 42.
                matplotlib.rcParams["pdf.fonttype"] = 3
        if suffix == ".png":
            width, height = figure.get_size_inches()
            needed = int(1.2 * 4 * width * height * style.dpi**2)  # approximate number of bytes needed for drawing
            check_free(needed, "this picture", "give fewer dots per inch")
        figure.savefig(buffer, format=suffix[1:], dpi=style.dpi, metadata=metadata)
    if missing:
        _warn_of_boxes("".join(sorted(set(missing))))
    if suffix == ".svg":
        return _NO_XML.sub(lambda sign: printable(sign[0]), buffer.getvalue().decode()).encode()
    return buffer.getvalue()


@cache  # The cache limits the warning to one for all pictures with the same characters.
def _warn_of_boxes(letters: str) -> None:
    text = f"pictures show boxes instead of {letters}, which their fonts lack; an SVG uses the fonts of its viewer"
    warnings.warn(text, stacklevel=3)


def weights_csv(path: str | os.PathLike[str], weights: Sequence[WeightRows]) -> None:
    """Write the rows of W as a CSV table, one line for each data set, pixel and layer.

    The columns are dataset, pixel row, pixel column, layer, bias, and w_0, w_1, … or w_ followed by a feature name. For
    features that are not pixels, "pixel row" is empty, and "pixel column" contains the name or index of the feature.
    Numbers are written without rounding. The file is UTF-8, and lines end in CR LF (RFC 4180).

    Raises
    ------
    OSError
        If the file cannot be written. An existing file then remains unchanged.
    """
    widest = max((rows.rows.shape[2] for rows in weights), default=0)
    head = ["dataset", "pixel row", "pixel column", "layer", "bias"]
    lines: list[list[object]] = []
    for rows in weights:
        for i, pixel in enumerate(rows.pixels):
            feature = rows.feature_names[pixel] if rows.feature_names else pixel
            place = ("", feature) if rows.image_shape is None else divmod(pixel, rows.image_shape[1])
            for j in range(rows.depth):
                values = [float(rows.biases[i, j]), *rows.rows[i, j].tolist()]
                lines.append([dataset_title(rows.dataset, rows.generated), *place, j + 1, *values])
    named = weights[0].feature_names if len(weights) == 1 else ()
    save_table(path, head + [f"w_{named[i]}" if named else f"w_{i}" for i in range(widest)], lines)


@dataclass(frozen=True, eq=False)
class FigureExport:
    """Everything needed to write a figure to files. A bundle is a folder with these files and a script.

    Attributes
    ----------
    name : str
        Base name of the files of the figure.
    draw : callable or None
        Draws the figure into an empty figure; None for a table without a figure.
    table : callable
        Writes the numbers to a CSV file with the given path.
    commands : callable
        Returns the command lines that reproduce the files of a bundle.
    script : tuple of (imports, body)
        Lines of the Python script that reproduces the files of a bundle. The body must assign this export to the name
        ``export``. It can use ``HERE``, the folder of the script, and ``fitted(source, parameters, fingerprint)``,
        which returns the data and the model.
    extra : mapping of str to str
        Names and contents of further files of a bundle, which the commands and the script read.
    frames : callable
        Returns functions that each draw one picture of an animation into an empty figure.
    texts : mapping of str to str
        The table as text for each suffix, such as ``.md`` or ``.tex``.
    """

    name: str
    draw: Callable[[Figure, Style], None] | None
    table: Callable[[Path], None]
    commands: Callable[[Style], str] = lambda _style: ""
    script: tuple[str, str] = ("", "")
    extra: Mapping[str, str] = field(default_factory=dict)
    frames: Callable[[Style, Progress], Sequence[Callable[[Figure], None]]] = lambda _style, _progress: ()
    texts: Mapping[str, str] = field(default_factory=dict)


T = TypeVar("T")


def export_of(
    name: str, content: T, draw: Callable[[Figure, T, Style], None], table: Callable[[Path, T], None], **further: Any
) -> FigureExport:
    """Return an export whose `draw` and `table` call the given functions with `content`.

    The keywords `further` set the other fields of the export.
    """
    return FigureExport(
        name, lambda figure, style: draw(figure, content, style), lambda path: table(path, content), **further
    )


def save_export(
    path: Path, export: FigureExport, style: Style, session: str = "", progress: Progress = NO_PROGRESS
) -> None:
    """Write the figure in the format given by the suffix of `path`: a picture, .csv, .gif or a key of `texts`.

    The progress object can cancel the drawing of an animation (.gif).

    Raises
    ------
    ValueError
        If the suffix is unknown, or if drawing fails, for example because there are no data.
    OSError
        If the file cannot be written.
    """
    draw = export.draw
    if path.suffix.lower() == ".gif":
        write_whole(path, _gif(export, style, session, progress))
    elif path.suffix.lower() == ".csv":
        export.table(path)
    elif path.suffix.lower() in export.texts:
        write_whole(path, export.texts[path.suffix.lower()].encode())
    else:
        assert draw is not None
        save_figure(lambda figure: draw(figure, style), path, style, session)


def _gif(export: FigureExport, style: Style, session: str, progress: Progress) -> bytes:
    """Return a GIF that shows the frames in a loop, with the session stored as its comment."""
    from PIL import Image

    frames = export.frames(style, progress.part(0.0, 0.5))
    palette, images = _palette(style), []
    for number, draw in enumerate(frames):
        progress.report(0.5 + 0.5 * number / len(frames))
        picture = figure_bytes(draw, ".png", style)
        images.append(_in_palette(Image.open(io.BytesIO(picture)).convert("RGB"), palette))
    buffer = io.BytesIO()
    images[0].save(
        buffer,
        format="GIF",
        comment=session.encode(),
        optimize=False,
        save_all=True,
        append_images=images[1:],
        duration=[_FRAME_MILLISECONDS] * (len(frames) - 1) + [_LAST_MILLISECONDS],
        loop=0,
    )
    progress.report(1.0)
    return buffer.getvalue()


def _palette(style: Style) -> NDArray[np.int64]:
    """Return the colours of a GIF, shape (256, 3): first the colours of the colour map, then greys."""
    colors = ColorScale.symmetric(style.colors, 1.0).lut()
    spread = np.linspace(0, len(colors) - 1, 255 - _GREYS).round().astype(int)
    greys = np.linspace(0, 255, _GREYS).round()[:, None].repeat(3, axis=1)
    return np.concatenate([colors[[NEUTRAL, *spread]], greys]).astype(np.int64)


def _in_palette(image: Image, palette: NDArray[np.int64]) -> Image:
    """Convert an image to the colours of a palette: each pixel gets the nearest colour of the palette."""
    from PIL import Image

    pixels = np.asarray(image).astype(np.int64)
    packed, places = np.unique((pixels << (16, 8, 0)).sum(axis=2), return_inverse=True)
    colors = packed[:, None] >> (16, 8, 0) & 255
    nearest = [int(np.argmin(((palette - color) ** 2).sum(axis=1))) for color in colors]
    result = Image.fromarray(np.array(nearest, np.uint8)[places.reshape(pixels.shape[:2])]).convert("P")
    result.putpalette(palette.astype(np.uint8).tobytes())
    return result


# If the data are a folder of pictures, a copy of the bundle in this folder would be read as data. The commands are
# therefore run in the folder of the bundle if possible.
_COMMANDS_NOTE = """\
# Run these commands in the folder of this file. If the paths of the data are relative, first copy the files of this
# folder to the folder to which the paths are relative, and run the commands there.
"""


def save_bundle(folder: Path, export: FigureExport, style: Style, session: str = "") -> list[Path]:
    """Write the figure, its numbers, and the commands and the Python script that reproduce them.

    The session is written to a separate file, because the script could not reproduce pictures that contain the session.

    Parameters
    ----------
    folder : Path
        A new or empty folder, or a folder with an earlier bundle, which is replaced. The files <name>.pdf, .svg, .png,
        .csv and .py, commands.txt, the files of `extra`, and a record of their hashes are written to it.

    Returns
    -------
    list of Path
        The files of the bundle that were written.

    Raises
    ------
    DataError
        If the folder contains files that do not belong to a bundle, or files of a bundle that have been changed.
    OSError
        If files cannot be written to the folder.
    """
    suffixes = (*(FORMATS if export.draw is not None else ()), ".csv")
    figures = [f"{export.name}{suffix}" for suffix in suffixes]
    imports, body = export.script
    script = (
        resource("figure_script.txt")
        .read_text(encoding="utf-8")
        .format(name=export.name, version=__version__, style=style, imports=imports, body=body)
    )
    note = _COMMANDS_NOTE if export.extra else ""
    texts = {"commands.txt": note + export.commands(style), f"{export.name}.py": script, **export.extra}
    contents = {f"{export.name}{SUFFIX}": file_content(session)} if session else {}
    # The contents include names of data files, which may contain bytes that are not UTF-8.
    contents |= {name: text.encode("utf-8", "surrogateescape") for name, text in texts.items()}
    with folder_files(folder, [*figures, *contents]):
        for name in figures:
            save_export(folder / name, export, style)
        for name, content in contents.items():
            write_whole(folder / name, content)
    return [folder / name for name in (*figures, *contents)]


def fit_words(source: DataSource, parameters: StackParameters) -> list[str]:
    """Return the command-line options for reading and splitting the data and for fitting the layers."""
    values = parameters.document()
    # The command line refuses the options for window and threshold if they have no effect.
    if parameters.sharing == "none":
        values.pop("window", None)
    if not parameters.function.uses_threshold:
        values.pop("threshold")
    words = (word for name, value in values.items() for word in option_words(name.replace("_", "-"), value))
    return [*source.words, "--seed", str(source.seed), *map(str, words)]


def style_words(style: Style) -> list[str]:
    """Return the command-line options for a style, except those for biases and for weights or contributions."""
    words = ["--width", style.width, "--colors", style.colors, "--levels", style.levels, "--dpi", str(style.dpi)]
    return words + ["--transpose"] * style.transposed


def pixel_argument(feature: int, image_shape: tuple[int, int] | None, names: Sequence[str]) -> str:
    """Return the argument that selects a feature on the command line.

    The argument of a pixel consists of its row and column. The argument of any other feature is its index, or its name
    if a feature has this index as its name, because the index would then select that feature.
    """
    if image_shape is not None:
        return "{},{}".format(*divmod(feature, image_shape[1]))
    return names[feature] if str(feature) in names else str(feature)


def reproducible(
    export: FigureExport, model: FittedModel, source: DataSource, words: Sequence[object], script: tuple[str, str]
) -> FigureExport:
    """Add the command line and the script that reproduce a figure of a model. Both fit the model again.

    Parameters
    ----------
    model : FittedModel
        The model that the figure shows.
    source : DataSource
        Source of the data to which the model was fitted.
    words : sequence
        Options of the subcommand `export.name`, except those for the data, the fit and the style.
    script : tuple of (imports, body)
        As in `FigureExport`. The body can also use ``dataset`` and ``model``.
    """
    name, parameters, (imports, body) = export.name, model.stack.parameters, script

    def commands(style: Style) -> str:
        return all_forms(name, [name, source.argument, *fit_words(source, parameters), *words, *style_words(style)])

    fit = f"dataset, model = fitted({source!r}, {parameters!r}, {model.fingerprint!r})\n"
    return replace(export, commands=commands, script=(imports, fit + body))


def all_forms(name: str, words: Sequence[object]) -> str:
    """Return the command line that writes a figure in all formats. `words` are the subcommand and its options.

    The pictures are written without a session and are therefore identical to those in the bundle.
    """
    forms = ["-o", f"{name}.pdf", "--format", "pdf", "svg", "png", "csv", "--no-session"]
    return shlex.join(map(str, ["slide-gui", *words, *forms])) + "\n"
