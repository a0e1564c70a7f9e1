"""Arguments that `train` and `sweep` share: the classifier, and the rows it is trained and judged on."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from slide_gui.cli.console import UsageError, usage

if TYPE_CHECKING:
    from slide_gui.core.baselines import Estimator
    from slide_gui.core.svm import SvmParameters

__all__ = ["add_method_options", "add_run_options", "run_choices", "svm_parameters"]


_SDA = (
    ("pretraining_rate", float, "learning rate of pre-training", 0.1),
    ("pretraining_epochs", int, "passes over the rows for each layer", 15),
    ("fine_tuning_rate", float, "learning rate of fine-tuning", 0.1),
    ("fine_tuning_epochs", int, "most passes of fine-tuning", 100),
    ("patience", int, "epochs without a better one on the validation rows after which it stops", 10),
)


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Add the classifier's options and the protocol's."""
    group = parser.add_argument_group("classifier")
    group.add_argument(
        "--method",
        metavar="NAME",
        help="slide-svm; with one width and C by cross-validation, raw-svm, median (median widths of SLIDE's layers), "
        "pca-svm, white-svm or randproj-svm; on autoencoders, sda-svm (widths learned) or sda (fine-tuned); custom is "
        "implied by --transformer and --classifier (slide-svm)",
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


def add_method_options(parser: argparse.ArgumentParser) -> None:
    """Add what one run may put in SLIDE's and the SVM's place, and how many labels it gets."""
    group = parser.add_argument_group("representation")
    group.add_argument(
        "--kept",
        type=float,
        metavar="K",
        help="fraction of the variance (pca-svm, white-svm) or number of random directions (randproj-svm)",
    )
    group = parser.add_argument_group("autoencoders (sda-svm, sda)", "--noise is the masking noise of every layer.")
    group.add_argument("--units", metavar="N,N,…", help="hidden units of each layer (1000,1000,1000)")
    for name, kind, meaning, default in _SDA:
        metavar = "N" if kind is int else "R"
        group.add_argument(f"--{name.replace('_', '-')}", type=kind, metavar=metavar, help=f"{meaning} ({default:g})")
    group.add_argument("--rows-a-step", type=int, metavar="N", help="rows of a mini-batch (20)")
    group = parser.add_argument_group("scikit-learn")
    for name, place, example in (
        ("transformer", "SLIDE", "decomposition.PCA n_components=50"),
        ("classifier", "the SVM", "neighbors.KNeighborsClassifier n_neighbors=3"),
    ):
        group.add_argument(
            f"--{name}",
            nargs="+",
            metavar=("CLASS", "NAME=VALUE"),
            help=f"a {name} of scikit-learn in place of {place}, by its path within sklearn, such as: {example}",
        )
    group = parser.add_argument_group("labels")
    group.add_argument("--labels", type=int, metavar="N", help="train on N labelled rows, a stratified sample (all)")
    group.add_argument(
        "--fitted-on",
        metavar="ROWS",
        help="fit the representation on all rows of the training part, of the split, or the labelled ones: training, "
        "split or labelled (training)",
    )


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
    with usage():
        return SvmParameters(**{name: value for name, value in given.items() if value is not None}).checked()


def run_choices(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the method with its parts, training, evaluate and test_rows, as specs take them; unset ones are absent.

    Raises
    ------
    UsageError
        If a class of scikit-learn cannot be used, or --kept is missing or out of range.
    """
    given = {name: getattr(arguments, name, None) for name in ("kept", "labels", "fitted_on")}
    given |= {name: _estimator(name, arguments) for name in ("transformer", "classifier")}
    chosen = {name: value for name, value in given.items() if value is not None}
    places = {name: getattr(arguments, name) for name in ("training", "evaluate", "test_rows")}
    own = arguments.method or ("custom" if {"transformer", "classifier"} & chosen.keys() else "slide-svm")
    _check_kept(own, arguments)
    sda = _sda(arguments) if own in ("sda-svm", "sda") else {}
    return {"method": own, **places, **chosen, **sda}


def _check_kept(method: str, arguments: argparse.Namespace) -> None:
    from slide_gui.core.baselines import PROJECTIONS, checked_kept

    if method not in PROJECTIONS:
        return
    if not hasattr(arguments, "kept"):
        raise UsageError(f"--method {method} needs --kept, which only slide-gui train takes; choose another method")
    try:
        checked_kept(method, arguments.kept)
    except ValueError as error:
        raise UsageError(f"--{error}") from None


def _sda(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters of autoencoders, the library's own defaults for what was not given."""
    from slide_gui.core.sda_parameters import SdaParameters

    given: dict[str, Any] = {name: getattr(arguments, name, None) for name, *_ in _SDA}
    given |= {"noise": arguments.noise, "batch_size": getattr(arguments, "rows_a_step", None)}
    units = getattr(arguments, "units", None)
    try:
        if units is not None:
            given["n_units"] = tuple(int(part) for part in units.split(","))
        parameters = SdaParameters(**{name: value for name, value in given.items() if value is not None})
        return {"sda": parameters.checked()}
    except ValueError as error:
        text = "--units: expected whole numbers with commas between" if "int()" in str(error) else str(error)
        raise UsageError(text) from None


def _estimator(kind: str, arguments: argparse.Namespace) -> Estimator | None:
    words: Sequence[str] | None = getattr(arguments, kind, None)
    if words is None:
        return None
    from slide_gui.core.baselines import Estimator

    parameters = {}
    for word in words[1:]:
        name, mark, value = word.partition("=")
        if not mark or not name:
            raise UsageError(f"--{kind} {word!r}: expected NAME=VALUE after the class")
        try:
            parameters[name] = json.loads(value)
        except ValueError:
            parameters[name] = value
    try:
        found = Estimator.of(words[0], parameters)
        found.make(kind, arguments.seed)
    except ValueError as error:
        raise UsageError(f"--{kind}: {error}") from None
    return found


def _widths(text: str) -> str | tuple[float, ...]:
    if text in ("learn", "median"):
        return text
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"--widths {text!r}: expected learn, median or numbers with commas between") from None
