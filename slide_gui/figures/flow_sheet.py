"""The figure of one image's flow with everything that is needed to make it again."""

from __future__ import annotations

import shlex

from slide_gui import __version__
from slide_gui.experiments.flow import FlowResult
from slide_gui.experiments.image_file import image_text
from slide_gui.experiments.source import DataSource
from slide_gui.figures.flow import draw_flow, flow_csv
from slide_gui.figures.sheet import Sheet, fit_words, style_words
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
    return Sheet(
        "flow",
        lambda figure, style: draw_flow(figure, result, style),
        lambda path: flow_csv(path, result),
        lambda style: _commands(result, source, style),
        lambda style: _script(result, source, style),
        {_IMAGE: image_text(result.flow.clean)},
    )


def _script(result: FlowResult, source: DataSource, style: Style) -> str:
    model = result.model
    return _SCRIPT.format(
        version=__version__,
        style=style,
        source=source,
        parameters=model.stack.parameters,
        fingerprint=model.fingerprint,
        name=result.image,
        seed=result.seed,
        image=_IMAGE,
    )


def _commands(result: FlowResult, source: DataSource, style: Style) -> str:
    words = ["slide-gui", "flow", source.argument, *fit_words(source, result.model.stack.parameters)]
    words += ["--image", _IMAGE, "--name", result.image]
    words += ["--clean"] if result.seed is None else ["--corruption", str(result.seed)]
    words += [*style_words(style), "-o", "flow.pdf", "--format", "pdf", "svg", "png", "csv"]
    return shlex.join(words) + "\n"
