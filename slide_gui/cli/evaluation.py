"""`slide-gui benchmark`: the paper's tables, all methods on all data sets; broken off, it goes on where it was."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slide_gui.cli.console import DONE, UsageError, print_json, progress_bar, usage
from slide_gui.cli.options import Subparsers, add_json, computing

if TYPE_CHECKING:
    from slide_gui.experiments.evaluation.table import Cell, EvaluationState
    from slide_gui.experiments.evaluation.timing import TimeRow

__all__ = ["NAME", "register", "save_tables"]

NAME = "benchmark"
_SUFFIXES = (".pdf", ".svg", ".png", ".csv", ".md", ".tex")


def register(commands: Subparsers) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(NAME, help="all methods on all data sets: the paper's tables", description=__doc__)
    parser.add_argument("data", nargs="*", metavar="DATA", help="only these data sets of the protocol (all)")
    parser.add_argument("--methods", nargs="+", default=[], metavar="NAME", help="only these methods (all)")
    parser.add_argument("--splits", type=int, metavar="N", help="80/20 splits of each data set (the protocol's)")
    parser.add_argument("--quick", action="store_true", help="the protocol's small version, in about a minute")
    parser.add_argument(
        "--generated", action="store_true", help="generate the data, even where the real files are found"
    )
    parser.add_argument(
        "--store", type=Path, required=True, metavar="FILE", help="take runs from this file, and keep them there"
    )
    parser.add_argument("--stored", action="store_true", help="run nothing: show what the store holds")
    parser.add_argument(
        "--tables",
        type=Path,
        nargs="+",
        default=[],
        metavar="FILE",
        help="write the table of errors, or of times if the name begins with times (.pdf, .svg, .png, .csv, .md, .tex)",
    )
    add_json(parser)
    parser.set_defaults(run=computing(_run))


def _run(arguments: argparse.Namespace) -> int:
    for path in arguments.tables:
        if path.suffix.lower() not in _SUFFIXES:
            raise UsageError(f"--tables {str(path)!r} must end in {', '.join(_SUFFIXES)}")
    from slide_gui.experiments.evaluation.protocol import plan

    with usage():
        cells = plan("quick" if arguments.quick else "full", arguments.data, arguments.methods, arguments.splits)
    from slide_gui.experiments.evaluation.run import run_evaluation
    from slide_gui.experiments.evaluation.table import stored_evaluation
    from slide_gui.experiments.evaluation.timing import time_rows
    from slide_gui.experiments.source import DataSource
    from slide_gui.experiments.store import RunStore

    with RunStore(arguments.store) as store:
        if arguments.stored:
            state = stored_evaluation(cells, store)
        else:

            def load(key: str, progress: Any) -> Any:
                return DataSource(key=key, generated=arguments.generated).load(progress=progress)

            with progress_bar("benchmark") as progress:
                state = run_evaluation(cells, load, store, progress=progress)
    times = time_rows(state)
    save_tables(arguments.tables, state, times)
    if arguments.json:
        print_json(_document(state, times))
    else:
        _print(state, times, arguments.tables)
    return DONE


def save_tables(paths: Sequence[Path], state: EvaluationState, times: Sequence[TimeRow]) -> None:
    """Write the table of errors, or of times where the name begins so, as the suffix says.

    Raises
    ------
    ValueError
        If a figure is asked for and there is nothing to draw.
    OSError
        If a file cannot be written.
    """
    from slide_gui.figures.evaluation import errors_export, times_export
    from slide_gui.figures.export import save_export
    from slide_gui.figures.style import Style

    for path in paths:
        export = times_export(times) if path.name.startswith("times") else errors_export(state)
        save_export(path, export, Style(width="double"))


def _describe(state: EvaluationState, cell: Cell) -> dict[str, Any]:
    other = state.comparison(cell)
    return {
        "data": cell.data,
        "method": cell.method,
        "name": cell.name,
        "splits_asked": cell.asked,
        "mean": None if cell.rate is None else asdict(cell.rate),
        "chosen": cell.chosen,
        "feature_seconds": cell.features,
        "comparison": None if other is None else {**asdict(other), "test": other.test},
        "paper": None if cell.paper is None else cell.paper.error,
        "splits": [
            {
                "split": answer.split,
                "hash": answer.spec_hash,
                "error": answer.error,
                "n_train": answer.n_train,
                "n_test": answer.n_test,
                "validation_error": answer.validation_error,
                "chosen": answer.chosen,
                "feature_seconds": answer.features,
                "seconds": answer.seconds,
            }
            for answer in cell.answers
        ],
    }


def _document(state: EvaluationState, times: Sequence[TimeRow]) -> dict[str, Any]:
    return {
        "data": [asdict(info) for info in state.data],
        "cells": [_describe(state, cell) for cell in state.cells],
        "times": [{**asdict(row), "speedup": row.speedup} for row in times],
        "runs_done": state.done,
        "runs": state.total,
        "faults": list(state.faults),
    }


def _print(state: EvaluationState, times: Sequence[TimeRow], written: Sequence[Path]) -> None:
    from slide_gui.figures.evaluation import error_table, markdown, time_table

    for fault in state.faults:
        print(f"made again: {fault}")
    print(markdown(error_table(state)))
    print(markdown(time_table(times)))
    for path in written:
        print(f"saved {path}")
