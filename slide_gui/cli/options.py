"""Arguments that several subcommands share: where the data come from, and what the stack is fitted with."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from slide_gui.cli.console import progress_bar, usage

if TYPE_CHECKING:
    from slide_gui.core.stack import StackParameters
    from slide_gui.data.dataset import Dataset
    from slide_gui.experiments.fit import FittedModel
    from slide_gui.experiments.source import DataSource

__all__ = ["Subparsers", "add_data", "add_json", "add_stack_options", "fit_data", "read_data", "stack_parameters"]

Subparsers = Any  # argparse keeps the type of add_subparsers() to itself

_STACK = ("noise", "depth", "threshold", "squashing", "fit_on", "ridge", "dtype", "batch_size")


def add_data(parser: argparse.ArgumentParser) -> None:
    """Add DATA, the one data set of a subcommand."""
    parser.add_argument(
        "data",
        nargs="+",
        metavar="DATA",
        help="a data set by name (see: slide-gui datasets list), or the file or files of one data set",
    )


def read_data(source: DataSource, label: str = "reading") -> Dataset:
    """Return the data set, with a bar on stderr while it is read."""
    with progress_bar(label) as progress:
        return source.load(progress=progress)


def fit_data(dataset: Dataset, parameters: StackParameters, label: str = "fitting") -> FittedModel:
    """Return the fitted stack, with a bar on stderr while it is fitted."""
    from slide_gui.experiments.fit import fit_model

    with progress_bar(label) as progress:
        return fit_model(dataset, parameters, progress=progress)


def add_stack_options(parser: argparse.ArgumentParser, *, axes: bool = False) -> None:
    """Add --noise, --depth and the other parameters of a stack, and --seed; unset ones stay None.

    With `axes`, noise and depth are texts that name several values.
    """
    group = parser.add_argument_group("stack")
    noise = "probability that a feature is blanked, 0 to below 1"
    if axes:
        group.add_argument("--noise", metavar="AXIS", help=f"{noise}: FROM:TO:STEP with both ends, or A,B,… (0.3)")
        group.add_argument("--depth", metavar="AXIS", help="numbers of layers: FROM:TO with both ends, or A,B,… (3)")
    else:
        group.add_argument("--noise", type=float, metavar="1−p", help=f"{noise} (0.3)")
        group.add_argument("--depth", type=int, metavar="L", help="number of layers (3)")
    group.add_argument("--threshold", type=float, metavar="T", help="of the threshold function (0.5)")
    group.add_argument(
        "--squashing", metavar="NAME", help="between layers: threshold, sigmoid, tanh or identity (threshold)"
    )
    group.add_argument(
        "--fit-on", metavar="NAME", help="fit a layer on values (the paper) or thresholded ones (values)"
    )
    group.add_argument("--ridge", type=float, metavar="R", help="added to the diagonal of E[Q] (1e-5)")
    group.add_argument("--dtype", metavar="NAME", help="of rows and representations: float32 or float64 (float32)")
    group.add_argument("--batch-size", type=int, metavar="N", help="rows a block (4096)")
    parser.add_argument("--seed", type=int, default=0, help="of generated data, splits and classifiers (0)")


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add --json."""
    parser.add_argument("--json", action="store_true", help="print one JSON document on stdout")


def stack_parameters(arguments: argparse.Namespace) -> StackParameters:
    """Return what was asked for, the library's own default for the rest.

    Raises
    ------
    UsageError
        If a value is out of range.
    """
    from slide_gui.core.stack import StackParameters

    given = {name: getattr(arguments, name) for name in _STACK if getattr(arguments, name) is not None}
    with usage((ValueError, TypeError)):
        return replace(StackParameters(), **given).checked()
