"""`slide-gui train`: one run, from the data to the test error."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slide_gui.cli.console import DONE, UsageError, print_json, progress_bar, usage
from slide_gui.cli.options import (
    Subparsers,
    add_command,
    add_data,
    add_json,
    add_method_options,
    add_run_options,
    add_stack_options,
    computing,
    read_data,
    run_choices,
    stack_parameters,
    svm_parameters,
)
from slide_gui.text import dataset_title

if TYPE_CHECKING:
    from slide_gui.data.dataset import Dataset
    from slide_gui.experiments.result import RunResult
    from slide_gui.experiments.spec import RunSpec

__all__ = ["NAME", "describe_result", "print_result", "register", "write_figures"]

NAME = "train"


def register(commands: Subparsers) -> None:
    """Add the subcommand."""
    add_command(commands, NAME, _options, help="train the multi-width SVM and judge it", description=__doc__)


def _options(parser: argparse.ArgumentParser) -> None:
    add_data(parser)
    add_stack_options(parser)
    add_run_options(parser)
    add_method_options(parser)
    parser.add_argument("--split", type=int, default=0, metavar="N", help="which 80/20 split (0)")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="STORE", help="take the run from this store, or keep it there"
    )
    parser.add_argument("--figure", type=Path, nargs="+", default=[], metavar="FILE", help=_FIGURES)
    add_json(parser)
    parser.set_defaults(run=computing(_run))


_FIGURES = "draw confusion.* or widths.* (.pdf, .svg, .png or .csv), told apart by how the name begins"


def describe_result(result: RunResult) -> dict[str, Any]:
    """Return what --json says of a run."""
    document = result.document()
    return {
        "hash": result.hash,
        "current": result.is_current,
        "error": result.rate.error,
        "low": result.rate.low,
        "high": result.rate.high,
        "chosen_by": result.chosen_by,
        "n_test": result.n_test,
        "n_support": None if result.classifier is None else result.classifier.n_support,
        "confusion": result.confusion.tolist(),
        "misclassified": result.misclassified.tolist(),
        **document,
    }


def _run(arguments: argparse.Namespace) -> int:
    svm = svm_parameters(arguments)
    stack = stack_parameters(arguments)
    for path in arguments.figure:
        _check_figure(path)
    from slide_gui.experiments.source import DataSource
    from slide_gui.experiments.spec import RunSpec

    source = DataSource.of(arguments.data, arguments.seed)
    place = {"stack": stack, "svm": svm, "split": arguments.split, "seed": arguments.seed, **run_choices(arguments)}
    with usage():  # before the data are read
        asked = RunSpec("", source.argument, **place).checked()
        if arguments.output is not None:
            from slide_gui.experiments.store import check_storable

            check_storable(asked)
    dataset = read_data(source)
    spec = RunSpec(dataset.fingerprint, source.argument, **place).checked()
    result = _answer(dataset, spec, arguments.output)
    written = [str(path) for path in arguments.figure]
    write_figures(result, dataset.label_names, arguments.figure)
    if arguments.json:
        output = None if arguments.output is None else str(arguments.output)
        print_json({**describe_result(result), "output": output, "figures": written})
    else:
        print_result(result)
        for path in written:
            print(f"saved {path}")
    return DONE


def _answer(dataset: Dataset, spec: RunSpec, output: Path | None) -> RunResult:
    """Return the result, from the store if it holds it; keep it there if it does not."""
    from slide_gui.experiments.run import run

    if output is None:
        with progress_bar("training") as progress:
            return run(dataset, spec, progress=progress)
    from slide_gui.experiments.store import RunStore
    from slide_gui.experiments.sweep import stored_or_run

    with RunStore(output) as store, progress_bar("training") as progress:
        return stored_or_run(dataset, spec, store, progress=progress)


def print_result(result: RunResult) -> None:
    """Say what came out, for people."""
    from slide_gui.experiments.source import describe_chosen, describe_spec

    spec, classifier, times = result.spec, result.classifier, result.timings
    print(f"{dataset_title(result.dataset, result.generated)}: {describe_spec(spec)}")
    count = f"{len(result.misclassified)} of {result.n_test}"
    print(f"{spec.evaluate} error {result.rate}, {count}")
    validation = "" if result.validation_error is None else f", validation error {100 * result.validation_error:.2f} %"
    print(f"training error {100 * result.train_error:.2f} %{validation}, {result.n_train} rows trained on")
    if classifier is not None:
        shares = ", ".join(f"{share:.2f}" for share in classifier.shares)
        print(f"widths {', '.join(f'{width:.4g}' for width in classifier.widths)}; shares {shares}")
        if classifier.chosen is not None:
            print(describe_chosen(classifier.chosen))
        converged = "" if classifier.converged else ", NOT converged"
        print(f"C = {classifier.C:.4g}, {classifier.n_support} support vectors{converged}")
    parts = {"fit": times.fit, "features": times.transform, "widths": times.widths, "train": times.train}
    if classifier is None:
        del parts["widths"]
    print(", ".join(f"{name} {seconds:.2f} s" for name, seconds in {**parts, "test": times.test}.items()))
    if not result.is_current:
        print("of another version of the numbers: kept, but no answer to what is asked now")
    print(f"made with {', '.join(f'{name} {version}' for name, version in result.versions)}")


def _check_figure(path: Path) -> None:
    if not re.match("confusion|widths", path.name) or path.suffix.lower() not in (".pdf", ".svg", ".png", ".csv"):
        raise UsageError(f"--figure {str(path)!r}: expected confusion or widths, with .pdf, .svg, .png or .csv")


def write_figures(result: RunResult, names: tuple[str, ...], paths: list[Path]) -> None:
    """Write the figures or tables whose names were checked.

    Raises
    ------
    ValueError
        If the widths are wanted of a run that did not learn them.
    """
    from slide_gui.figures.confusion import confusion_csv, draw_confusion
    from slide_gui.figures.export import FigureExport, export_of, save_export
    from slide_gui.figures.style import Style
    from slide_gui.figures.widths import draw_widths, widths_csv

    names = names if len(names) == len(result.labels) else ()
    widths = export_of("widths", result, draw_widths, widths_csv)
    confusion = FigureExport(
        "confusion",
        lambda figure, style: draw_confusion(figure, result, style, names),
        lambda path: confusion_csv(path, result, names),
    )
    for path in paths:
        save_export(path, widths if path.name.startswith("widths") else confusion, Style())
