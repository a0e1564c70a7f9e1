"""`slide-gui sweep`: runs over noise, depth and splits; broken off, it goes on where it was."""

from __future__ import annotations

import argparse
import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slide_gui.cli.console import DONE, UsageError, print_json, progress_bar, usage
from slide_gui.cli.options import (
    Subparsers,
    add_command,
    add_data,
    add_json,
    add_run_options,
    add_stack_options,
    computing,
    read_data,
    run_choices,
    stack_parameters,
    svm_parameters,
)

if TYPE_CHECKING:
    from slide_gui.data.dataset import Dataset
    from slide_gui.error_rate import ErrorRate
    from slide_gui.experiments.choice import PointResult
    from slide_gui.experiments.store import RunStore
    from slide_gui.experiments.sweep import SweepState

__all__ = ["NAME", "parse_depths", "parse_noises", "register"]

NAME = "sweep"
_RANGE = "FROM:TO:STEP, both ends included, or values with commas between"
_FIGURES = (".pdf", ".svg", ".png", ".csv")
_MOST = 1000  # values of one axis


def register(commands: Subparsers) -> None:
    """Add the subcommand."""
    add_command(commands, NAME, _options, help="error over noise, depth and splits", description=__doc__)


def _options(parser: argparse.ArgumentParser) -> None:
    add_data(parser)
    add_stack_options(parser, axes=True)
    add_run_options(parser)
    group = parser.add_argument_group("sweep")
    group.add_argument("--splits", type=int, default=1, metavar="N", help="80/20 splits 0 to N − 1 (1)")
    group.add_argument("--seeds", type=int, nargs="+", metavar="SEED", help="of splits and classifiers (--seed)")
    group.add_argument("--cold", action="store_true", help="learn each point's widths without a start from the last")
    group.add_argument(
        "--choose",
        action="store_true",
        help="choose noise and depth by validation error, train those again on the whole training part, and test them",
    )
    group.add_argument(
        "--labels",
        metavar="N,N,…",
        help="at one noise and depth, error against the number of labelled rows: SLIDE fitted on all training rows, on "
        "the labelled ones only, and Raw-SVM; each of --seeds draws the labels anew",
    )
    group.add_argument(
        "--pooled",
        action="store_true",
        help="with --choose: once for all splits, by their mean validation error, instead of for each by its own",
    )
    parser.add_argument(
        "--store", type=Path, required=True, metavar="FILE", help="take runs from this file, and keep them there"
    )
    parser.add_argument("--figure", type=Path, metavar="FILE", help="draw the curves (.pdf, .svg, .png or .csv)")
    add_json(parser)
    parser.set_defaults(run=computing(_run))


def parse_noises(text: str) -> tuple[float, ...]:
    """Return the noises of ``0:0.9:0.1`` or ``0.1,0.5``.

    Raises
    ------
    UsageError
        If the text is neither.
    """
    try:
        if ":" not in text:
            return tuple(float(part) for part in text.split(","))
        first, last, step = (float(part) for part in text.split(":"))
        count = int((last - first) / step + 1e-9) + 1
        if not (step > 0 and 1 <= count <= _MOST):
            raise ValueError
    except (ValueError, ZeroDivisionError, OverflowError):
        raise UsageError(f"--noise {text!r}: expected {_RANGE}") from None
    # Rounded, so that 0:0.9:0.1 holds 0.3 and not 0.30000000000000004.
    return tuple(round(first + i * step, 12) for i in range(count))


def parse_depths(text: str) -> tuple[int, ...]:
    """Return the depths of ``0:4`` or ``1,3``.

    Raises
    ------
    UsageError
        If the text is neither.
    """
    if not re.fullmatch(r"\d{1,3}(,\d{1,3})*|\d{1,3}:\d{1,3}", text):
        raise UsageError(f"--depth {text!r}: expected FROM:TO, both ends included, or values with commas between")
    if ":" not in text:
        return tuple(int(part) for part in text.split(","))
    first, last = (int(part) for part in text.split(":"))
    return tuple(range(first, last + 1))


def _run(arguments: argparse.Namespace) -> int:
    noises = parse_noises(arguments.noise or "0.3")
    depths = parse_depths(arguments.depth or "3")
    if arguments.figure is not None and arguments.figure.suffix.lower() not in _FIGURES:
        raise UsageError(f"{str(arguments.figure)!r} must end in {', '.join(_FIGURES)}")
    if not 1 <= arguments.splits <= _MOST:
        raise UsageError(f"--splits is {arguments.splits}; it must be 1 to {_MOST}")
    if arguments.choose and arguments.training != "split":
        raise UsageError("--choose needs validation rows; add --on-split")
    if arguments.pooled and not arguments.choose:
        raise UsageError("--pooled says how to choose; add --choose")
    arguments.noise = arguments.depth = None
    counts, arguments.labels = arguments.labels, None
    choices = run_choices(arguments)
    arguments.method = choices["method"]
    if counts is not None:
        from slide_gui.cli.labels import run_labels

        return run_labels(arguments, counts, (noises, depths), choices)
    axes = {
        "noises": noises,
        "depths": depths,
        "splits": tuple(range(arguments.splits)),
        "seeds": tuple(arguments.seeds or [arguments.seed]),
        "stack": stack_parameters(arguments),
        "svm": svm_parameters(arguments),
        "warm": not arguments.cold,
        **choices,
    }
    from slide_gui.experiments.source import DataSource
    from slide_gui.experiments.spec import SweepSpec
    from slide_gui.experiments.store import RunStore
    from slide_gui.experiments.sweep import run_sweep

    source = DataSource.of(arguments.data, arguments.seed)
    with usage():
        SweepSpec("", source.argument, **axes).points()  # before the data are read
    dataset = read_data(source)
    sweep = SweepSpec(dataset.fingerprint, source.argument, **axes)
    with RunStore(arguments.store) as store:
        with progress_bar("sweep") as progress:
            state = run_sweep(dataset, sweep, store, progress=progress)
        final = _choose(dataset, state, store, arguments.pooled) if arguments.choose else None
    if arguments.figure is not None:
        _draw(dataset, state, arguments.figure)
    if arguments.json:
        print_json(_document(dataset, state, final, arguments))
    else:
        _print(dataset, state, final, arguments)
    return DONE


def _choose(dataset: Dataset, state: SweepState, store: RunStore, together: bool) -> SweepState:
    from slide_gui.experiments.choice import choose, final_points, pooled
    from slide_gui.experiments.sweep import run_points

    answers = pooled(state.done) if together else state.done

    with progress_bar("testing what was chosen") as progress:
        return run_points(dataset, final_points(choose(answers)), store, progress=progress)


def _draw(dataset: Dataset, state: SweepState, path: Path) -> None:
    from slide_gui.experiments.curves import error_curves
    from slide_gui.figures.curves import curves_csv, draw_curves
    from slide_gui.figures.export import FigureExport, save_export
    from slide_gui.figures.run_exports import curve_marks
    from slide_gui.figures.style import Style

    curves = error_curves(dataset, state.done)
    marks = curve_marks(curves)
    export = FigureExport(
        "curves",
        lambda figure, style: draw_curves(figure, curves, style, marks),
        lambda path: curves_csv(path, curves),
    )
    save_export(path, export, Style())


def _describe(answer: PointResult) -> dict[str, Any]:
    point = answer.point
    return {
        "noise": point.noise,
        "depth": point.depth,
        "split": point.split,
        "seed": point.seed,
        "hash": point.spec.hash,
        "error": answer.rate.error,
        "low": answer.rate.low,
        "high": answer.rate.high,
        "n_test": answer.rate.n,
        "validation_error": answer.validation_error,
        "chosen_by": answer.chosen_by,
        "seconds": answer.seconds,
    }


def _mean(final: SweepState) -> ErrorRate:
    from slide_gui.error_rate import ErrorRate

    return ErrorRate.of_splits([answer.rate.error for answer in final.done], final.done[0].rate.n)


def _document(
    dataset: Dataset, state: SweepState, final: SweepState | None, arguments: argparse.Namespace
) -> dict[str, Any]:
    return {
        "dataset": dataset.name,
        "generated": dataset.generated,
        "fingerprint": dataset.fingerprint,
        "method": arguments.method,
        "training": arguments.training,
        "evaluate": arguments.evaluate,
        "store": str(arguments.store),
        "points": [_describe(answer) for answer in state.done],
        "chosen": None if final is None else [_describe(answer) for answer in final.done],
        "chosen_mean": None if final is None else asdict(_mean(final)),
        "faults": list(state.faults),
        "figure": None if arguments.figure is None else str(arguments.figure),
    }


def _print(dataset: Dataset, state: SweepState, final: SweepState | None, arguments: argparse.Namespace) -> None:
    print(f"{dataset.title}: {arguments.method}, {arguments.evaluate} error in %")
    for fault in state.faults:
        print(f"made again: {fault}")
    print("noise  depth  split  seed   error  validation  95 %         widths by")
    for answer in state.done:
        point = answer.point
        validation = "" if answer.validation_error is None else f"{100 * answer.validation_error:.2f}"
        print(
            f"{point.noise:5.2f}  {point.depth:5d}  {point.split:5d}  {point.seed:4d}  {answer.rate.value:>6}  "
            f"{validation:>10}  {answer.rate.interval:11}  {answer.chosen_by}".rstrip()
        )
    if final is not None:
        for answer in final.done:
            point = answer.point
            print(
                f"split {point.split}, seed {point.seed}: chosen noise {point.noise:g}, depth {point.depth}; "
                f"test error {answer.rate}"
            )
        mean = _mean(final)
        print(f"mean test error {mean}, spread between splits {100 * mean.spread:.2f}")
    if arguments.figure is not None:
        print(f"saved {arguments.figure}")
