"""The figure of corrupted copies with everything that is needed to make it again."""

from __future__ import annotations

from slide_gui.experiments.copies import CopiesResult
from slide_gui.experiments.source import DataSource
from slide_gui.figures.copies import copies_csv, draw_copies
from slide_gui.figures.sheet import Sheet, all_forms, fit_words, script_values, sheet_of, style_words
from slide_gui.figures.style import Style

__all__ = ["copies_sheet"]

_SCRIPT = '''"""Makes copies.pdf, .svg, .png and .csv again; written by slide-gui {version}.

Start it in the folder from which the data's paths start.
"""

from pathlib import Path

from slide_gui.core.stack import StackParameters
from slide_gui.experiments.copies import CopiesResult, CopiesStudy
from slide_gui.experiments.fit import fit_model
from slide_gui.experiments.source import DataSource
from slide_gui.figures.copies_sheet import copies_sheet
from slide_gui.figures.sheet import save_sheet
from slide_gui.figures.style import Style

STYLE = {style!r}
SOURCE = {source!r}

dataset = SOURCE.load()
model = fit_model(dataset, {parameters!r})
if model.fingerprint != {fingerprint!r}:
    raise SystemExit(f"{{SOURCE.argument}} is no longer the data of the figure")
study = CopiesStudy(model.stack, dataset.train, {layer}, seeds={seeds}, most={most}, most_rows={rows})
sheet = copies_sheet(CopiesResult(model, study.run(), {feature}, {shown}), SOURCE)
for suffix in (".pdf", ".svg", ".png", ".csv"):
    save_sheet(Path("copies" + suffix), sheet, STYLE)
'''


def copies_sheet(result: CopiesResult, source: DataSource) -> Sheet:
    """Return the study of copies as what can be exported.

    Parameters
    ----------
    result : CopiesResult
        All its points have every seed.
    source : DataSource
        Where the data of the fit came from.
    """
    return sheet_of(
        "copies",
        result,
        draw_copies,
        copies_csv,
        commands=lambda style: _commands(result, source, style),
        script=lambda style: _script(result, source, style),
    )


def _script(result: CopiesResult, source: DataSource, style: Style) -> str:
    copies = result.copies
    return _SCRIPT.format(
        **script_values(result.model, source, style),
        layer=copies.layer,
        seeds=copies.seeds,
        most=copies.points[-1].copies,
        rows=copies.n_rows,
        feature=result.feature,
        shown=result.shown,
    )


def _commands(result: CopiesResult, source: DataSource, style: Style) -> str:
    copies, shape = result.copies, result.model.image_shape
    pixel = str(result.feature) if shape is None else "{},{}".format(*divmod(result.feature, shape[1]))
    words: list[object] = ["copies", source.argument, *fit_words(source, result.model.stack.parameters)]
    words += ["--layer", copies.layer, "--most", copies.points[-1].copies, "--shown", result.shown]
    words += ["--seeds", copies.seeds, "--rows", copies.n_rows, "--pixel", pixel]
    return all_forms("copies", [*words, *style_words(style)])
