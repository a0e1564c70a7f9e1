"""`slide-gui flow`: one image on its way through the layers, as the window shows it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slide_gui.cli.console import UsageError
from slide_gui.cli.fit import describe
from slide_gui.cli.options import (
    Subparsers,
    add_command,
    add_data,
    add_figure_options,
    add_json,
    add_stack_options,
    computing,
    figure_outputs,
    figure_style,
    fit_data,
    read_data,
    stack_parameters,
    write_export,
)

if TYPE_CHECKING:
    from slide_gui.data.dataset import Dataset
    from slide_gui.experiments.inspection.flow import FlowResult

__all__ = ["NAME", "register"]

NAME = "flow"


def register(commands: Subparsers) -> None:
    """Add the subcommand."""
    add_command(commands, NAME, _options, help="draw one image on its way through the layers", description=__doc__)


def _options(parser: argparse.ArgumentParser) -> None:
    add_data(parser)
    group = parser.add_argument_group("image")
    group.add_argument("--row", type=int, default=0, metavar="N", help="which image, counted from 0 (0)")
    group.add_argument("--part", choices=("train", "test"), default="train", help="where it stands (train)")
    group.add_argument("--image", type=Path, metavar="FILE", help="take the numbers of this text file instead")
    group.add_argument("--name", help="what the figure calls the image")
    group.add_argument("--corruption", type=int, default=0, metavar="SEED", help="seed of the blanked pixels (0)")
    group.add_argument("--clean", action="store_true", help="corrupt nothing")
    add_stack_options(parser)
    add_figure_options(parser, NAME)
    add_json(parser)
    parser.set_defaults(run=computing(_run))


def _run(arguments: argparse.Namespace) -> int:
    style, parameters, outputs = figure_style(arguments), stack_parameters(arguments), figure_outputs(arguments)
    if parameters.depth == 0:
        raise UsageError("depth is 0; a flow needs at least one layer")
    if arguments.corruption < 0:
        raise UsageError(f"corruption is {arguments.corruption}; a seed is 0 or more")
    from slide_gui.experiments.inspection.flow import flow_result
    from slide_gui.experiments.source import DataSource
    from slide_gui.figures.flow import flow_export

    source = DataSource.of(arguments.data, arguments.seed)
    dataset = read_data(source, f"reading {source.argument}")
    image, name = _image(dataset, arguments)
    model = fit_data(dataset, parameters, f"fitting {dataset.name}")
    result = flow_result(model, image, name, None if arguments.clean else arguments.corruption)
    lines = [
        f"layer {k}: mean squared difference {layer.target_error:.6g} from its target, {layer.input_error:.6g} from x"
        for k, layer in enumerate(result.flow.layers, start=1)
    ]
    export = flow_export(result, source)
    return write_export(export, style, outputs, arguments, lambda: _document(result), lines)


def _image(dataset: Dataset, arguments: argparse.Namespace) -> tuple[Any, str]:
    if arguments.image is not None:
        from slide_gui.experiments.source import read_image

        values = read_image(arguments.image)
        if values.size != dataset.n_features:
            raise UsageError(
                f"{arguments.image} holds {values.size} numbers; {dataset.name} has {dataset.n_features} features"
            )
        return values, arguments.name or arguments.image.name
    rows = getattr(dataset, arguments.part)
    if not 0 <= arguments.row < len(rows):
        raise UsageError(f"row is {arguments.row}; the {arguments.part} part of {dataset.name} has {len(rows)} rows")
    words = "training" if arguments.part == "train" else "test"
    return rows[arguments.row], arguments.name or f"{words} image {arguments.row + 1}"


def _document(result: FlowResult) -> dict[str, Any]:
    flow = result.flow
    return {
        **describe(result.model),
        "image": result.image,
        "corruption": result.seed,
        "blanked": int((~flow.survivors).sum()),
        "corruption_error": flow.corruption_error,
        "layers": [
            {"error_from_target": layer.target_error, "error_from_x": layer.input_error} for layer in flow.layers
        ],
    }
