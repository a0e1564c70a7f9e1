"""`slide-gui sweep --labels`: error against the number of labelled rows."""

from __future__ import annotations

import argparse
import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slide_gui.cli.console import DONE, UsageError, print_json, progress_bar, usage
from slide_gui.cli.options import read_data, stack_parameters, svm_parameters
from slide_gui.text import dataset_title

if TYPE_CHECKING:
    from slide_gui.experiments.curves import LabelCurves

__all__ = ["parse_counts", "run_labels"]


def parse_counts(text: str) -> tuple[int, ...]:
    """Return the numbers of ``50,100,200``.

    Raises
    ------
    UsageError
        If the text is none.
    """
    if not re.fullmatch(r"\d{1,9}(,\d{1,9})*", text):
        raise UsageError(f"--labels {text!r}: expected whole numbers with commas between")
    return tuple(int(part) for part in text.split(","))


def run_labels(
    arguments: argparse.Namespace,
    counts: str,
    axes: tuple[tuple[float, ...], tuple[int, ...]],
    choices: dict[str, Any],
) -> int:
    """Run the sweep over labels that the arguments of `sweep` ask for."""
    noises, depths = axes
    if len(noises) > 1 or len(depths) > 1:
        raise UsageError("--labels goes with one noise and one depth")
    if arguments.choose:
        raise UsageError("--labels and --choose do not go together")
    from slide_gui.experiments.curves import label_curves, label_points
    from slide_gui.experiments.source import DataSource
    from slide_gui.experiments.spec import RunSpec
    from slide_gui.experiments.store import RunStore
    from slide_gui.experiments.sweep import run_points

    source = DataSource.of(arguments.data, arguments.seed)
    stack = replace(stack_parameters(arguments), noise=noises[0], depth=depths[0])
    base = RunSpec("", source.argument, stack=stack, svm=svm_parameters(arguments), **choices)
    numbers, seeds = parse_counts(counts), arguments.seeds or [arguments.seed]
    with usage():
        label_points(base, numbers, seeds)  # before the data are read
    dataset = read_data(source)
    points = label_points(replace(base, fingerprint=dataset.fingerprint), numbers, seeds)
    with RunStore(arguments.store) as store, progress_bar("labels") as progress:
        state = run_points(dataset, points, store, progress=progress)
    curves = label_curves(dataset, state.done)
    if arguments.figure is not None:
        _draw(curves, arguments.figure)
    if arguments.json:
        print_json(asdict(curves) | {"store": str(arguments.store), "faults": list(state.faults)})
    else:
        _print(curves, arguments)
    return DONE


def _draw(curves: LabelCurves, path: Path) -> None:
    from slide_gui.figures.export import export_of, save_export
    from slide_gui.figures.labels import draw_labels, labels_csv
    from slide_gui.figures.style import Style

    save_export(path, export_of("labels", curves, draw_labels, labels_csv), Style())


def _print(curves: LabelCurves, arguments: argparse.Namespace) -> None:
    title = dataset_title(curves.dataset, curves.generated)
    print(f"{title}: {curves.evaluate} error in %, noise 1−p = {curves.noise:g}, depth {curves.depth}")
    print("labels   error           95 %  runs  method")
    for line in curves.lines:
        for point in line.points:
            rate = point.rate
            print(f"{point.labels:6d}  {rate.value:>6}  {rate.interval:>13}  {rate.n_splits:4d}  {line.name}")
    if arguments.figure is not None:
        print(f"saved {arguments.figure}")
