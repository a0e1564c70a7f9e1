"""`slide-gui benchmark` computes and shows the paper's tables. An interrupted evaluation resumes where it stopped."""

import argparse
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from slide_gui.cli import options
from slide_gui.cli.console import Entry, UsageError, print_answer, progress_bar, usage, warn
from slide_gui.data.dataset import Dataset
from slide_gui.data.entries import is_known
from slide_gui.data.errors import DataError
from slide_gui.experiments.evaluation.data_sets import data_entry, load_data
from slide_gui.experiments.evaluation.protocol import CellPlan, plan
from slide_gui.experiments.evaluation.records import RecordFolder
from slide_gui.experiments.evaluation.run import run_evaluation
from slide_gui.experiments.evaluation.shipped import shipped_results
from slide_gui.experiments.evaluation.table import Cell, EvaluationState, TimeRow, info_of, stored_evaluation, time_rows
from slide_gui.experiments.files.source import DataSource
from slide_gui.experiments.runs.splits import subset
from slide_gui.experiments.store.store import RunStore
from slide_gui.figures.evaluation import error_table, errors_export, markdown, time_table, times_export
from slide_gui.figures.export import save_export
from slide_gui.figures.style import Style
from slide_gui.progress import Progress
from slide_gui.text import counted

_SUFFIXES = (".pdf", ".svg", ".png", ".csv", ".md", ".tex")


def add_protocol_options(parser: argparse.ArgumentParser, quick: str) -> None:
    """Add --splits, --quick, --generated, --workers and --scheduler. `quick` is the help text of --quick."""
    parser.add_argument("--splits", type=int, metavar="N", help="splits per data set (default: as in the protocol)")
    parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument("--generated", action="store_true", help="use generated data, even if the real data are found")
    options.add_cluster_options(parser)


def _read_file(cell: CellPlan, text: str) -> Dataset:
    """Return the rows of a file that replaces a data set of the protocol. Refuse rows without usable labels."""
    dataset = options.read_data(DataSource.parse(text))
    dataset.check_classes()
    return replace(subset(dataset, cell.train_rows, cell.test_rows), name=data_entry(cell.data).title, key="")


def _benchmark_options(parser: argparse.ArgumentParser) -> None:
    text = "data sets of the protocol (default: all); KEY=FILE uses the rows of a file in place of the data set KEY; "
    text += "if the file has no test set, a quarter of its rows is held out as the test set"
    parser.add_argument("data", nargs="*", metavar="DATA", help=text)
    parser.add_argument("--methods", nargs="+", default=[], metavar="NAME", help="methods to compare (default: all)")
    add_protocol_options(parser, "run a small version of the protocol, in a few minutes")
    options.add_store(parser, "; required unless --shipped, or --stored with --results, is given")
    text = "record each run as a line of text in this folder, and reuse the runs recorded there"
    parser.add_argument("--results", type=Path, metavar="FOLDER", help=text)
    parser.add_argument("--stored", action="store_true", help="show the tables of the stored runs; compute no new runs")
    text = "show the tables shipped with the program: those of the full protocol, unless --quick is given"
    parser.add_argument("--shipped", action="store_true", help=text)
    text = f"write a table of errors, or of times if the file name begins with 'times' ({', '.join(_SUFFIXES)})"
    parser.add_argument("--tables", type=Path, nargs="+", default=[], metavar="FILE", help=text)


def _benchmark(arguments: argparse.Namespace) -> int:
    for path in arguments.tables:
        options.check_suffix(path, _SUFFIXES, "--tables")
    names = ["store", "results", "stored", "splits"] * arguments.shipped
    names += ["workers", "scheduler", "generated"] * (arguments.shipped or arguments.stored)
    given = [f"--{name}" for name in names if getattr(arguments, name)]
    given += ["KEY=FILE"] if arguments.shipped and any("=" in word for word in arguments.data) else []
    if given:
        shown = "--shipped" if arguments.shipped else "--stored"
        raise UsageError(f"{shown} shows stored tables and computes nothing; leave out {', '.join(given)}")
    if arguments.store is None and not arguments.shipped and not (arguments.stored and arguments.results):
        raise UsageError("the following arguments are required: --store")
    files = dict(word.split("=", 1) for word in arguments.data if "=" in word)
    if not all(files.values()):
        raise UsageError("expected KEY=FILE, as in convex=images.npz; write a file name after the =")
    keys = [word.partition("=")[0] for word in arguments.data]
    extent = "quick" if arguments.quick else "full"
    with usage():
        where = options.cluster_choice(arguments)
        cells = plan(extent, keys, arguments.methods, arguments.splits)
    planned = {cell.data: cell for cell in cells}
    for name in (*keys, *arguments.methods):
        if name not in planned and all(name != cell.method for cell in cells):
            raise UsageError(f"the requested tables of the {extent} protocol do not contain {name}; leave out {name}")
        if name in files and keys.count(name) > 1:
            raise UsageError(f"{name} is given {keys.count(name)} times; give each data set only once")
    read = [DataSource.parse(files.get(key, key)) for key in planned if key in files or is_known(key)]
    options.check_outputs(arguments, [*arguments.tables, None if arguments.stored else arguments.results], read)
    if arguments.shipped:
        return _print_shipped(arguments, cells)
    records = _records(arguments)
    # The files are read now, so that an unusable file raises an error before a run store is created.
    datasets = {key: _read_file(cell, files[key]) for key, cell in planned.items() if key in files}
    if arguments.stored:
        rows = [] if records is None else list(records.rows.values())
        if arguments.store is not None:
            with RunStore(arguments.store, read_only=True) as store:
                rows += store.runs()
        return _print_tables(arguments, stored_evaluation(cells, rows, [info_of(*each) for each in datasets.items()]))

    def load(key: str, progress: Progress) -> Dataset:
        return datasets.get(key) or load_data(key, progress, generated=arguments.generated)

    with RunStore(arguments.store) as store, options.opened_cluster(where) as cluster, progress_bar("benchmark") as bar:
        state = run_evaluation(cells, load, store, progress=bar, cluster=cluster, records=records)
    return _print_tables(arguments, state)


def _print_shipped(arguments: argparse.Namespace, cells: Sequence[CellPlan]) -> int:
    """Print the tables shipped with the program, limited to the requested data sets and methods."""
    shipped, wanted = shipped_results(), {(cell.data, cell.method) for cell in cells}
    extent = "full" if "full" in shipped.tables and not arguments.quick else "quick"
    if extent not in shipped.tables:
        raise DataError("the results shipped with slide-gui are missing or damaged; install slide-gui again")
    table = shipped.tables[extent]
    table = replace(table, cells=tuple(cell for cell in table.cells if (cell.data, cell.method) in wanted))
    table = replace(table, data=tuple(info for info in table.data if table.of(info.key)))
    return _print_tables(arguments, table, f"{extent.capitalize()} protocol, {shipped}")


def _records(arguments: argparse.Namespace) -> RecordFolder | None:
    """Return the runs recorded in the folder of --results, or None if the option is not given.

    Print a warning if files of the folder contain unreadable lines.
    """
    folder: Path | None = arguments.results
    if folder is None:
        return None
    place = next(each for each in (folder, *folder.absolute().parents) if arguments.stored or each.exists())
    if not place.is_dir():
        raise DataError("this is not a folder; check the name", str(place))
    records = RecordFolder(folder)
    if records.n_damaged:
        again = "" if arguments.stored else "; the unreadable runs are computed again"
        warn(f"skipped {counted(records.n_damaged, 'unreadable line')} of {folder}{again}")
    return records


def _print_tables(arguments: argparse.Namespace, state: EvaluationState, origin: str = "") -> int:
    """Write the tables to the requested files and print them. Print `origin`, the source of shipped tables, first."""
    if not state.data:
        warn("no run of the requested tables is stored; compute the tables first")
    times = time_rows(state)
    for path in arguments.tables:
        export = times_export(times) if path.name.startswith("times") else errors_export(state)
        save_export(path, export, Style(width="double"))
    document = _document(state, times) | ({"origin": origin} if origin else {})
    lines = [f"{origin}."] if origin else []
    lines += [markdown(error_table(state)), markdown(time_table(times))]
    return print_answer(arguments, document, lines, arguments.tables)


def _describe(state: EvaluationState, cell: Cell) -> dict[str, Any]:
    other = state.comparison(cell)
    names = ("split", "error", "n_train", "n_test", "validation_error", "chosen", "seconds")
    splits = []
    for answer in cell.answers:
        same = {name: getattr(answer, name) for name in names}
        splits.append({**same, "hash": answer.spec_hash, "feature_seconds": answer.features})
    return {
        "data": cell.data,
        "method": cell.method,
        "name": cell.title,
        "splits_asked": cell.n_splits,
        "mean": None if cell.rate is None else asdict(cell.rate),
        "chosen": cell.chosen,
        "feature_seconds": cell.features,
        "comparison": None if other is None else {**asdict(other), "test": other.test},
        "paper": None if cell.paper is None else cell.paper.error,
        "splits": splits,
    }


def _document(state: EvaluationState, times: Sequence[TimeRow]) -> dict[str, Any]:
    return {
        "data": [asdict(info) for info in state.data],
        "cells": [_describe(state, cell) for cell in state.cells],
        "times": [{**asdict(row), "speedup": row.speedup} for row in times],
        "runs_done": state.done if state.total else None,
        "runs": state.total or None,
    }


COMMANDS: dict[str, Entry] = {"benchmark": (_benchmark_options, _benchmark)}
