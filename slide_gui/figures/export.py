"""A figure, its numbers and what makes it again, on disk: the same input gives the same bytes, whole or not there."""

from __future__ import annotations

import io
import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from slide_gui import __version__
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.data.files import folder_files, write_whole
from slide_gui.data.reading import AS_GUESSED
from slide_gui.experiments.inspection.rows import WeightRows
from slide_gui.experiments.model_file import FittedModel
from slide_gui.experiments.session import SUFFIX, file_content
from slide_gui.experiments.source import DataSource
from slide_gui.figures.animation import Frame, gif_bytes
from slide_gui.figures.style import Style
from slide_gui.figures.tables import save_table
from slide_gui.memory import check_free
from slide_gui.progress import NO_PROGRESS, Progress
from slide_gui.text import dataset_title, printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "FORMATS",
    "FigureExport",
    "all_forms",
    "export_of",
    "figure_bytes",
    "fit_words",
    "model_script",
    "picture_bytes",
    "save_bundle",
    "save_export",
    "save_figure",
    "source_names",
    "style_words",
    "weights_csv",
]


FORMATS = (".pdf", ".svg", ".png")
"""Suffixes that `save_figure` writes."""

_NO_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_CREATOR = f"slide-gui {__version__}"
# Without dates, and for PNG without matplotlib's own stamp.
_METADATA: dict[str, dict[str, Any]] = {
    ".pdf": {"Creator": _CREATOR, "CreationDate": None, "ModDate": None},
    ".svg": {"Creator": _CREATOR, "Date": None},
    ".png": {"Software": _CREATOR},
}
_SESSION_ENTRY = {".pdf": "Keywords", ".svg": "Source", ".png": "Session"}
# Where a person's own matplotlib settings must not reach, those that choose a display are left alone.
_NOT_OURS = ("backend", "backend_fallback", "interactive", "toolbar", "timezone")


def save_figure(draw: Callable[[Figure], None], path: str | os.PathLike[str], style: Style, session: str = "") -> None:
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
    session : str
        As `slide_gui.experiments.session.picture_text` gives it; kept in the picture.

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
    content = figure_bytes(draw, suffix, style, session)
    write_whole(target, lambda file: file.write(content))


def figure_bytes(draw: Callable[[Figure], None], suffix: str, style: Style, session: str = "") -> bytes:
    """Return what `save_figure` writes into a file with this suffix, one of `FORMATS`."""
    with _drawn(draw, style) as figure:
        if suffix == ".png":
            width, height = figure.get_size_inches()
            check_free(picture_bytes(width, height, style.dpi), "this picture", "give fewer dots per inch")
        buffer = io.BytesIO()
        metadata = _METADATA[suffix] | ({_SESSION_ENTRY[suffix]: session} if session else {})
        figure.savefig(buffer, format=suffix[1:], dpi=style.dpi, metadata=metadata)
    if suffix == ".svg":
        return _NO_XML.sub(lambda sign: printable(sign[0]), buffer.getvalue().decode()).encode()
    return buffer.getvalue()


@contextmanager
def _drawn(draw: Callable[[Figure], None], style: Style) -> Iterator[Figure]:
    """Return a context with the figure, drawn under settings that nothing from outside has changed."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context():
        defaults: Any = {k: v for k, v in matplotlib.rcParamsDefault.items() if k not in _NOT_OURS}
        matplotlib.rcParams.update(defaults | style.rc())
        figure = Figure()
        draw(figure)
        yield figure


def picture_bytes(width: float, height: float, dpi: int) -> int:
    """Return about how many bytes a picture of so many inches takes while it is drawn."""
    return int(1.2 * 4 * width * height * dpi * dpi)


def weights_csv(path: str | os.PathLike[str], weights: Sequence[WeightRows]) -> None:
    """Write the rows of W as a table: one line for each data set, pixel and layer.

    The columns are dataset, pixel row, pixel column (where features are no picture the row is empty, and the column
    their name, or their number), layer, bias, w_0, w_1, …, or w_ and the name of each feature; numbers are written so
    that they read back exactly. UTF-8, lines end in CR LF (RFC 4180).

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
            feature = rows.feature_names[pixel] if rows.feature_names else pixel
            place = ("", feature) if rows.image_shape is None else divmod(pixel, rows.image_shape[1])
            for j in range(rows.depth):
                values = [float(rows.biases[i, j]), *rows.rows[i, j].tolist()]
                lines.append([dataset_title(rows.dataset, rows.generated), *place, j + 1, *values])
    named = weights[0].feature_names if len(weights) == 1 else ()
    save_table(path, head + [f"w_{named[i]}" if named else f"w_{i}" for i in range(widest)], lines)


T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class FigureExport:
    """What can be written of one figure.

    Attributes
    ----------
    name : str
        Of its files.
    draw : callable or None
        Draws into an empty figure; None for a table without a figure.
    table : callable
        Writes the numbers as CSV to a path.
    commands, script : callable
        Return the command lines and the Python script that make the files of a bundle again; None where there
        is no bundle.
    extra : mapping of str to str
        Name → text of further files of a bundle, which commands and script read.
    frames : callable or None
        Makes the pictures of an animation; None for what stands still.
    texts : mapping of str to str
        Suffix → the table as a text, such as ``.md`` and ``.tex``.
    """

    name: str
    draw: Callable[[Figure, Style], None] | None
    table: Callable[[Path], None]
    commands: Callable[[Style], str] | None = None
    script: Callable[[Style], str] | None = None
    extra: Mapping[str, str] = field(default_factory=dict)
    frames: Callable[[Style, Progress], Sequence[Frame]] | None = None
    texts: Mapping[str, str] = field(default_factory=dict)


def export_of(
    name: str,
    content: T,
    draw: Callable[[Figure, T, Style], None],
    table: Callable[[Path, T], None],
    **further: Any,
) -> FigureExport:
    """Return the export of what `draw` draws into a figure and `table` writes to a path; further fields by name."""
    return FigureExport(
        name, lambda figure, style: draw(figure, content, style), lambda path: table(path, content), **further
    )


def save_export(
    path: Path, export: FigureExport, style: Style, session: str = "", progress: Progress = NO_PROGRESS
) -> None:
    """Write the figure, or with the suffix .csv its numbers, or with that of a text the text; `session` as there.

    With the suffix .gif its frames are drawn and written, which can be cancelled. With
    that of another package's exporter, that writes the figure.

    Raises
    ------
    ValueError
        If the suffix is none of PDF, SVG, PNG and CSV, of no text and no exporter, or there is nothing to draw, or an
        animation cannot be written here, or an exporter fails.
    OSError
        If the file cannot be written.
    """
    draw = export.draw
    if path.suffix.lower() == ".gif":
        content = _animation(export, style, session, progress)
        write_whole(path, lambda file: file.write(content))
    elif path.suffix.lower() == ".csv":
        export.table(path)
    elif path.suffix.lower() in export.texts:
        text = export.texts[path.suffix.lower()]
        write_whole(path, lambda file: file.write(text.encode()))
    elif draw is None:
        raise ValueError(f"{path.name}: this is a table; it is written as .csv")
    else:
        save_figure(lambda figure: draw(figure, style), path, style, session)


def _animation(export: FigureExport, style: Style, session: str, progress: Progress) -> bytes:
    if export.frames is None:
        raise ValueError(f"{export.name}: this figure stands still; it is written as {', '.join(FORMATS)}")
    frames = export.frames(style, progress.part(0.0, 0.5))
    pictures = []
    for number, frame in enumerate(frames):
        progress.report(0.5 + 0.35 * number / len(frames))
        pictures.append(figure_bytes(lambda figure, draw=frame.draw: draw(figure, style), ".png", style))  # type: ignore[misc]
    seconds = [frame.seconds for frame in frames]
    return gif_bytes(pictures, seconds, style, session, progress.part(0.85, 1.0))


def save_bundle(folder: Path, export: FigureExport, style: Style, session: str = "") -> list[Path]:
    """Write the figure, its numbers, and the commands and the Python script that make them again.

    The session, as in `save_figure`, gets a file of its own, so that the script makes the same pictures, with English
    words. All but the pictures is the same in every language.

    Parameters
    ----------
    folder : Path
        New, empty, or one that holds a bundle; gets <name>.pdf, .svg, .png, .csv and .py, commands.txt, what `extra`
        holds, and a record of these files.

    Returns
    -------
    list of Path
        What was written.

    Raises
    ------
    ValueError
        If nothing makes this export again.
    DataError
        If the folder holds other files, or files of a bundle that were changed.
    OSError
        If the folder cannot be written to.
    """
    if export.commands is None or export.script is None:
        raise ValueError(f"{export.name}: this is a table alone; it has no bundle")
    suffixes = (*(FORMATS if export.draw is not None else ()), ".csv")
    figures = [f"{export.name}{suffix}" for suffix in suffixes]
    texts = {"commands.txt": export.commands(style), f"{export.name}.py": export.script(style), **export.extra}
    contents = {f"{export.name}{SUFFIX}": file_content(session)} if session else {}
    contents |= {
        name: text.encode("utf-8", "surrogateescape") for name, text in texts.items()
    }  # file names in any bytes
    with folder_files(folder, [*figures, *contents]):
        for name in figures:
            save_export(folder / name, export, style)
        for name, content in contents.items():
            write_whole(folder / name, lambda file, content=content: file.write(content))  # type: ignore[misc]
    return [folder / name for name in (*figures, *contents)]


def fit_words(source: DataSource, parameters: StackParameters) -> list[str]:
    """Return the options of a command line that say how the data are read and divided, and give the fit."""
    p = parameters
    words: list[object] = [
        *source.words,
        "--seed",
        source.seed,
        "--noise",
        p.noise,
        "--depth",
        p.depth,
        "--threshold",
        p.threshold,
    ]
    words += ["--squashing", p.squashing, "--fit-on", p.fit_on, "--ridge", p.ridge, "--dtype", p.dtype]
    return [str(word) for word in (*words, "--batch-size", p.batch_size)]


def source_names(sources: Sequence[DataSource]) -> str:
    """Return what a script imports to say where its data come from, with commas between."""
    names = ["DataSource"]
    names += ["HeldOut"] * any(source.held_out is not None for source in sources)
    return ", ".join(names + ["ParseOptions"] * any(source.reading != AS_GUESSED for source in sources))


def style_words(style: Style) -> list[str]:
    """Return the options of a command line that give the looks, but for the bias."""
    words = ["--width", style.width, "--colors", style.colors, "--levels", style.levels, "--dpi", str(style.dpi)]
    return words + ["--transpose"] * style.transposed


_SCRIPT = '''"""Makes {name}.pdf, .svg, .png and .csv again; written by slide-gui {version}.

{beside}Start it in the folder from which the data's paths start. The files are written next to this script.
"""

from pathlib import Path

from slide_gui.core.slide.stack import StackParameters
from slide_gui.experiments.model_file import fit_model
from slide_gui.experiments.source import {names}
from slide_gui.figures.export import save_export
from slide_gui.figures.animation import Frame, gif_bytes
from slide_gui.figures.style import Style
{imports}

STYLE = {style!r}
SOURCE = {source!r}

dataset = SOURCE.load()
model = fit_model(dataset, {parameters!r})
if model.fingerprint != {fingerprint!r}:
    raise SystemExit(f"{{SOURCE.argument}} is no longer the data of the figure")
{body}
for suffix in (".pdf", ".svg", ".png", ".csv"):
    save_export(Path(__file__).with_name("{name}" + suffix), export, STYLE)
'''


def model_script(
    name: str, model: FittedModel, source: DataSource, style: Style, *, imports: str, body: str, beside: str = ""
) -> str:
    """Return the Python script that makes a figure of one model again.

    Parameters
    ----------
    name : str
        Of the figure's files.
    imports, body : str
        Lines: what the body needs beside what every such script has, and what makes ``export`` of ``dataset`` and
        ``model``.
    beside : str
        What else stands beside the script, in a sentence.
    """
    return _SCRIPT.format(
        name=name, version=__version__, beside=beside, imports=imports, style=style, source=source,
        names=source_names([source]),
        parameters=model.stack.parameters, fingerprint=model.fingerprint, body=body,
    )  # fmt: skip


def all_forms(name: str, words: Sequence[object]) -> str:
    """Return the line of a subcommand, given in words, that writes the figure of this name in all forms.

    The pictures are those of the bundle, in which the session is a file of its own.
    """
    forms = ["-o", f"{name}.pdf", "--format", "pdf", "svg", "png", "csv", "--no-session"]
    return shlex.join(map(str, ["slide-gui", *words, *forms])) + "\n"
