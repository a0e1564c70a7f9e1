"""`slide-gui weights`: the paper's weight figure, as the window exports it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from slide_gui.cli.console import UsageError
from slide_gui.cli.fit import describe
from slide_gui.cli.options import (
    Subparsers,
    add_command,
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
    from slide_gui.core.slide.stack import StackParameters
    from slide_gui.experiments.inspection.rows import WeightRows
    from slide_gui.experiments.model_file import FittedModel
    from slide_gui.experiments.source import DataSource
    from slide_gui.figures.style import Style

__all__ = ["NAME", "pixel_named", "register"]

NAME = "weights"


def register(commands: Subparsers) -> None:
    """Add the subcommand."""
    add_command(commands, NAME, _options, help="draw the weight figure", description=__doc__)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "data",
        nargs="+",
        metavar="DATA",
        help="one or more data sets, each a name (see: slide-gui datasets list), a file, several files of one "
        "data set joined by the system's path separator (: or ;), or a model saved by slide-gui fit",
    )
    parser.add_argument(
        "--pixels",
        nargs="+",
        action="append",
        metavar="ROW,COLUMN",
        help="pixels to show, counted from 0 (plain features: one number each); once for all data sets, or once "
        "for each in their order (default: four well-lit pixels)",
    )
    add_stack_options(parser)
    add_figure_options(parser, NAME, bias=True)
    add_json(parser)
    parser.set_defaults(run=computing(_run))


def _run(arguments: argparse.Namespace) -> int:
    style, outputs = figure_style(arguments), figure_outputs(arguments)
    parameters = stack_parameters(arguments)
    from slide_gui.experiments.inspection.rows import weight_rows
    from slide_gui.experiments.source import DataSource
    from slide_gui.figures.weights import weights_export

    if parameters.depth == 0:
        raise UsageError("depth is 0; a weight figure needs at least one layer")
    sources = [DataSource.parse(text, arguments.seed) for text in arguments.data]
    wanted = _pixels_by_data(arguments.pixels, len(sources))
    models, weights = [], []
    for source, texts in zip(sources, wanted, strict=True):
        model, default = _model(source, parameters, arguments)
        pixels = [pixel_named(text, model) for text in texts] if texts else default
        models.append(model)
        weights.append(weight_rows(model, pixels))
    export = weights_export(weights, sources)
    return write_export(export, style, outputs, arguments, lambda: {"data": _documents(models, weights, style)})


def _pixels_by_data(given: list[list[str]] | None, n: int) -> list[list[str]]:
    given = given or [[]]
    if len(given) == 1:
        return given * n
    if len(given) != n:
        raise UsageError(f"--pixels is given {len(given)} times for {n} data sets; give it once, or once for each")
    return given


def _model(
    source: DataSource, parameters: StackParameters, arguments: argparse.Namespace
) -> tuple[FittedModel, tuple[int, ...]]:
    """Return the fitted or loaded model and the pixels to show if none were named."""
    from slide_gui.experiments.inspection.rows import default_pixels
    from slide_gui.experiments.model_file import is_model_file, load_model

    if len(source.paths) == 1 and is_model_file(source.paths[0]):
        if arguments.bundle is not None:
            raise UsageError("--bundle needs the data, not a saved model, so that its script can fit again")
        model = load_model(source.paths[0])
        # A model holds no images: take the reconstruction of an image that is lit everywhere.
        light = model.stack.layers[0].weights.sum(axis=1) if model.stack.layers else [1.0]
        return model, default_pixels(model.image_shape, light)
    dataset = read_data(source, f"reading {source.argument}")
    model = fit_data(dataset, parameters, f"fitting {dataset.name}")
    return model, default_pixels(dataset.image_shape, dataset.train.mean(axis=0, dtype="float64"))


def pixel_named(text: str, model: FittedModel) -> int:
    """Return the feature that ROW,COLUMN or a number names.

    Raises
    ------
    UsageError
        If there is none.
    """
    shape = model.image_shape
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if shape is None:
        if len(numbers) != 1 or not 0 <= numbers[0] < model.stack.n_features:
            raise UsageError(f"pixel {text!r}: {model.dataset} has features 0 to {model.stack.n_features - 1}")
        return numbers[0]
    if len(numbers) != 2 or not (0 <= numbers[0] < shape[0] and 0 <= numbers[1] < shape[1]):
        raise UsageError(
            f"pixel {text!r}: expected ROW,COLUMN, rows 0 to {shape[0] - 1} and columns 0 to {shape[1] - 1} "
            f"for {model.dataset}"
        )
    return numbers[0] * shape[1] + numbers[1]


def _documents(models: list[FittedModel], weights: list[WeightRows], style: Style) -> list[dict[str, Any]]:
    from slide_gui.figures.weights import tile_limits

    documents = []
    for model, rows, limits in zip(models, weights, tile_limits(weights, style.levels), strict=True):
        pixels = []
        for i, pixel in enumerate(rows.pixels):
            place = [pixel] if rows.image_shape is None else list(divmod(pixel, rows.image_shape[1]))
            pixels.append({"pixel": place, "biases": rows.biases[i].tolist(), "limits": limits[i].tolist()})
        documents.append({**describe(model), "pixels": pixels})
    return documents
