"""`slide-gui fit`: fit a stack and keep it."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slide_gui.cli.console import DONE, print_json
from slide_gui.cli.options import (
    Subparsers,
    add_command,
    add_data,
    add_json,
    add_stack_options,
    computing,
    fit_data,
    read_data,
    stack_parameters,
)
from slide_gui.text import dataset_title

if TYPE_CHECKING:
    from slide_gui.experiments.model_file import FittedModel

__all__ = ["NAME", "describe", "register"]

NAME = "fit"


def register(commands: Subparsers) -> None:
    """Add the subcommand."""
    add_command(commands, NAME, _options, help="fit a stack and save the model", description=__doc__)


def _options(parser: argparse.ArgumentParser) -> None:
    add_data(parser)
    add_stack_options(parser)
    parser.add_argument("-o", "--output", type=Path, metavar="MODEL.npz", help="save the fitted model here")
    add_json(parser)
    parser.set_defaults(run=computing(_run))


def describe(model: FittedModel) -> dict[str, Any]:
    """Return what --json says of a model."""
    stack = model.stack
    return {
        "dataset": model.dataset,
        "generated": model.generated,
        "fingerprint": model.fingerprint,
        "n_samples": stack.n_samples,
        "n_features": stack.n_features,
        "image_shape": model.image_shape,
        "parameters": asdict(stack.parameters),
        "errors": [layer.error for layer in stack.layers],
        "seconds": model.seconds,
        "version": model.version,
    }


def _run(arguments: argparse.Namespace) -> int:
    parameters = stack_parameters(arguments)
    from slide_gui.experiments.model_file import save_model
    from slide_gui.experiments.source import DataSource

    model = fit_data(read_data(DataSource.of(arguments.data, arguments.seed)), parameters)
    if arguments.output is not None:
        save_model(arguments.output, model)
    if arguments.json:
        output = None if arguments.output is None else str(arguments.output)
        print_json({**describe(model), "output": output})
    else:
        _print(model, arguments.output)
    return DONE


def _print(model: FittedModel, output: Path | None) -> None:
    stack, p = model.stack, model.stack.parameters
    print(f"{dataset_title(model.dataset, model.generated)}: {stack.n_samples} rows of {stack.n_features} features")
    print(f"noise 1−p = {p.noise:g}, p = {1 - p.noise:g}; fitted in {model.seconds:.2f} s")
    for number, layer in enumerate(stack.layers, start=1):
        print(f"layer {number}: expected squared reconstruction error {layer.error:.6g} per feature and row")
    if output is not None:
        print(f"saved {output}")
