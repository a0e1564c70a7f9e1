"""`slide-gui copies`: W_m of m really corrupted copies against its closed-form limit, as the window shows it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from slide_gui.cli.console import UsageError, progress_bar
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
from slide_gui.cli.weights import pixel_named

if TYPE_CHECKING:
    from slide_gui.experiments.inspection.copies import CopiesResult

__all__ = ["NAME", "register"]

NAME = "copies"


def register(commands: Subparsers) -> None:
    """Add the subcommand."""
    add_command(commands, NAME, _options, help="compare corrupted copies with their limit", description=__doc__)


def _options(parser: argparse.ArgumentParser) -> None:
    add_data(parser)
    group = parser.add_argument_group("copies")
    group.add_argument("--layer", type=int, default=1, metavar="K", help="whose weights, 1 to the depth (1)")
    group.add_argument("--most", type=int, default=256, metavar="M", help="largest number of copies (256)")
    group.add_argument("--shown", type=int, metavar="M", help="number of copies whose row is drawn (the largest)")
    group.add_argument("--seeds", type=int, default=3, metavar="N", help="corruptions to average over (3)")
    group.add_argument("--rows", type=int, metavar="N", help="rows used, a sample where there are more (1200)")
    group.add_argument("--pixel", metavar="ROW,COLUMN", help="whose row is drawn (the one in the middle)")
    add_stack_options(parser)
    add_figure_options(parser, NAME)
    add_json(parser)
    parser.set_defaults(run=computing(_run))


def _run(arguments: argparse.Namespace) -> int:
    style, parameters, outputs = figure_style(arguments), stack_parameters(arguments), figure_outputs(arguments)
    if not 1 <= arguments.layer <= parameters.depth:
        raise UsageError(f"layer is {arguments.layer}; at depth {parameters.depth} it must be 1 to {parameters.depth}")
    if arguments.most < 1 or arguments.seeds < 1 or (arguments.rows is not None and arguments.rows < 2):
        raise UsageError("at least one copy, one seed and two rows are needed")
    from slide_gui.experiments.inspection.copies import MOST_ROWS, CopiesResult, CopiesStudy
    from slide_gui.experiments.source import DataSource
    from slide_gui.figures.copies import copies_export

    counts = [2**k for k in range(arguments.most.bit_length())]
    shown = counts[-1] if arguments.shown is None else arguments.shown
    if shown not in counts:
        raise UsageError(f"shown is {shown}; it must be one of {', '.join(map(str, counts))}")
    source = DataSource.of(arguments.data, arguments.seed)
    dataset = read_data(source, f"reading {source.argument}")
    model = fit_data(dataset, parameters, f"fitting {dataset.name}")
    shape = model.image_shape
    middle = dataset.n_features // 2 if shape is None else (shape[0] // 2) * shape[1] + shape[1] // 2
    feature = middle if arguments.pixel is None else pixel_named(arguments.pixel, model)
    rows = arguments.rows or MOST_ROWS
    study = CopiesStudy(
        model.stack, dataset.train, arguments.layer, seeds=arguments.seeds, most=arguments.most, most_rows=rows
    )
    with progress_bar("corrupting copies") as progress:
        copies = study.run(progress)
    result = CopiesResult(model, copies, feature, shown)
    lines = [f"m = {m}: relative error {mean:.6g} ({low:.6g} to {high:.6g})" for m, mean, low, high in copies.curve()]
    slope = copies.slope()
    if slope is not None:
        lines.append(f"error falls as m to the {slope:.3f}")
    export = copies_export(result, source)
    return write_export(export, style, outputs, arguments, lambda: _document(result), lines)


def _document(result: CopiesResult) -> dict[str, Any]:
    copies, feature = result.copies, result.feature
    return {
        **describe(result.model),
        "layer": copies.layer,
        "rows": copies.n_rows,
        "seeds": copies.seeds,
        "slope": copies.slope(),
        "feature": feature,
        "points": [
            {
                "copies": point.copies,
                "errors": point.errors.tolist(),
                "row_errors": [None if error != error else error for error in point.row_errors[:, feature].tolist()],
            }
            for point in copies.points
        ],
    }
