"""Arguments that `train` and `sweep` share: the classifier, and the rows it is trained and judged on."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from slide_gui.cli.console import UsageError

if TYPE_CHECKING:
    from slide_gui.core.svm import SvmParameters

__all__ = ["add_run_options", "run_choices", "svm_parameters"]


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Add the classifier's options and the protocol's."""
    group = parser.add_argument_group("classifier")
    group.add_argument(
        "--method",
        metavar="NAME",
        default="slide-svm",
        help="slide-svm, raw-svm (one width and C by cross-validation) or median (median widths, one global width and "
        "C by cross-validation) (slide-svm)",
    )
    group.add_argument("--widths", metavar="W", help="learn, median, or σ_0,σ_1,… (learn)")
    group.add_argument(
        "--criterion", metavar="NAME", help="of learning: radius-margin, span, hold-out or press (radius-margin)"
    )
    group.add_argument("--loss", metavar="NAME", help="squared_hinge or hinge (squared_hinge)")
    group.add_argument("-C", type=float, metavar="C", help="trade-off (chosen)")
    group.add_argument("--starts", type=int, metavar="N", help="descents of learning (2)")
    group.add_argument("--subset", type=int, metavar="N", help="most rows the widths are learned on (2500)")
    group = parser.add_argument_group("rows")
    rows = group.add_mutually_exclusive_group()
    rows.add_argument(
        "--whole",
        dest="training",
        action="store_const",
        const="whole",
        default="whole",
        help="train on the whole training part (default)",
    )
    rows.add_argument(
        "--on-split",
        dest="training",
        action="store_const",
        const="split",
        help="train on 80 %% of it, which leaves 20 %% for validation",
    )
    group.add_argument(
        "--evaluate", metavar="PART", default="test", help="judge on the test or the validation rows (test)"
    )
    group.add_argument("--test-rows", type=int, metavar="N", help="judge on a stratified subsample (all)")


def svm_parameters(arguments: argparse.Namespace) -> SvmParameters:
    """Return the classifier's parameters, the library's own defaults for what was not given.

    Raises
    ------
    UsageError
        If a value is out of range.
    """
    from slide_gui.core.svm import SvmParameters

    given: dict[str, Any] = {
        "widths": None if arguments.widths is None else _widths(arguments.widths),
        "criterion": arguments.criterion,
        "loss": arguments.loss,
        "C": arguments.C,
        "starts": arguments.starts,
        "subset_size": arguments.subset,
    }
    try:
        return SvmParameters(**{name: value for name, value in given.items() if value is not None}).checked()
    except ValueError as error:
        raise UsageError(str(error)) from None


def run_choices(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return method, training, evaluate and test_rows, as specs take them."""
    return {name: getattr(arguments, name) for name in ("method", "training", "evaluate", "test_rows")}


def _widths(text: str) -> str | tuple[float, ...]:
    if text in ("learn", "median"):
        return text
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"--widths {text!r}: expected learn, median or numbers with commas between") from None
