"""The figure of one image's flow with everything that is needed to make it again."""

from __future__ import annotations

from slide_gui.experiments.flow import FlowResult
from slide_gui.experiments.image_file import image_text
from slide_gui.experiments.source import DataSource
from slide_gui.figures.flow import draw_flow, flow_csv
from slide_gui.figures.sheet import Sheet, all_forms, fit_words, script_values, sheet_of, style_words
from slide_gui.figures.style import Style

__all__ = ["flow_sheet"]

_IMAGE = "flow-image.csv"
_SCRIPT = '''"""Makes flow.pdf, .svg, .png and .csv again; written by slide-gui {version}.

{image} beside this script holds the image. Start it in the folder from which the data's paths start.
"""

from pathlib import Path

from slide_gui.core.stack import StackParameters
from slide_gui.experiments.fit import fit_model
from slide_gui.experiments.flow import flow_result
from slide_gui.experiments.image_file import read_image
from slide_gui.experiments.source import DataSource
from slide_gui.figures.flow_sheet import flow_sheet
from slide_gui.figures.sheet import save_sheet
from slide_gui.figures.style import Style

STYLE = {style!r}
SOURCE = {source!r}

model = fit_model(SOURCE.load(), {parameters!r})
if model.fingerprint != {fingerprint!r}:
    raise SystemExit(f"{{SOURCE.argument}} is no longer the data of the figure")
image = read_image(Path(__file__).with_name({image!r}))
sheet = flow_sheet(flow_result(model, image, {name!r}, {seed!r}), SOURCE)
for suffix in (".pdf", ".svg", ".png", ".csv"):
    save_sheet(Path("flow" + suffix), sheet, STYLE)
'''


def flow_sheet(result: FlowResult, source: DataSource) -> Sheet:
    """Return the flow of one image as what can be exported.

    Parameters
    ----------
    result : FlowResult
    source : DataSource
        Where the data of the fit came from.
    """
    return sheet_of(
        "flow",
        result,
        draw_flow,
        flow_csv,
        commands=lambda style: _commands(result, source, style),
        script=lambda style: _script(result, source, style),
        extra={_IMAGE: image_text(result.flow.clean)},
    )


def _script(result: FlowResult, source: DataSource, style: Style) -> str:
    values = script_values(result.model, source, style)
    return _SCRIPT.format(**values, name=result.image, seed=result.seed, image=_IMAGE)


def _commands(result: FlowResult, source: DataSource, style: Style) -> str:
    words = ["flow", source.argument, *fit_words(source, result.model.stack.parameters)]
    words += ["--image", _IMAGE, "--name", result.image]
    words += ["--clean"] if result.seed is None else ["--corruption", str(result.seed)]
    return all_forms("flow", [*words, *style_words(style)])
