"""Arguments that several subcommands share: where the data come from, and what the stack is fitted with."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import wraps
from typing import TYPE_CHECKING, Any

from slide_gui.blas import set_threads
from slide_gui.cli.console import progress_bar, usage

if TYPE_CHECKING:
    from slide_gui.core.choices import Choice
    from slide_gui.core.stack import StackParameters
    from slide_gui.data.dataset import Dataset
    from slide_gui.experiments.fit import FittedModel
    from slide_gui.experiments.source import DataSource

__all__ = [
    "Subparsers",
    "add_command",
    "add_data",
    "add_json",
    "add_stack_options",
    "choice_help",
    "computing",
    "fit_data",
    "read_data",
    "stack_parameters",
]

Subparsers = Any  # argparse keeps the type of add_subparsers() to itself


def add_command(
    commands: Subparsers,
    name: str,
    options: Callable[[argparse.ArgumentParser], None],
    *,
    help: str,
    description: str | None,
) -> None:
    """Add a subcommand whose options are added once it is asked for.

    Their help is made of tables whose modules import NumPy, which those who ask for other things need not wait for.
    """
    commands.add_parser(name, help=help, description=description).options = options


def computing(run: Callable[[argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
    """Return the function of a subcommand that computes, which sets the threads of BLAS before anything else."""

    @wraps(run)
    def with_threads(arguments: argparse.Namespace) -> int:
        set_threads()
        return run(arguments)

    return with_threads


def choice_help(meaning: str, table: Mapping[str, Choice], default: str) -> str:
    """Return the help of an option that takes a key of a table: what it means, all keys, what each does."""
    said = "; ".join(f"{key}: {choice.tip}" for key, choice in table.items())
    return f"{meaning} ({default}). {said}".replace("%", "%%")


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
    from slide_gui.core.parameters import FIT_ON, MOST_LAYERS, StackParameters
    from slide_gui.core.squashing import SQUASHINGS

    usual = StackParameters()
    group = parser.add_argument_group("stack")
    noise = "probability that a feature is blanked, 0 to below 1"
    if axes:
        group.add_argument(
            "--noise", metavar="AXIS", help=f"{noise}: FROM:TO:STEP with both ends, or A,B,… ({usual.noise:g})"
        )
        depths = f"numbers of layers, 0 to {MOST_LAYERS}: FROM:TO with both ends, or A,B,… ({usual.depth})"
        group.add_argument("--depth", metavar="AXIS", help=depths)
    else:
        group.add_argument("--noise", type=float, metavar="1−p", help=f"{noise} ({usual.noise:g})")
        group.add_argument(
            "--depth", type=int, metavar="L", help=f"number of layers, 0 to {MOST_LAYERS} ({usual.depth})"
        )
    group.add_argument("--threshold", type=float, metavar="T", help=f"of the threshold function ({usual.threshold:g})")
    squashings = choice_help("the function T between two layers", SQUASHINGS, usual.squashing)
    group.add_argument("--squashing", metavar="NAME", help=squashings)
    group.add_argument("--fit-on", metavar="NAME", help=choice_help("what a layer is fitted on", FIT_ON, usual.fit_on))
    group.add_argument("--ridge", type=float, metavar="R", help=f"added to the diagonal of E[Q] ({usual.ridge:g})")
    group.add_argument(
        "--dtype", metavar="NAME", help=f"of rows and representations: float32 or float64 ({usual.dtype})"
    )
    group.add_argument("--batch-size", type=int, metavar="N", help=f"rows a block ({usual.batch_size})")
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

    given = {item.name: getattr(arguments, item.name) for item in fields(StackParameters)}
    with usage():
        return StackParameters(**{name: value for name, value in given.items() if value is not None}).checked()
