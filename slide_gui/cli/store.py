"""`slide-gui runs` lists, shows, checks, deletes and exports the runs of a store."""

import argparse
import shlex
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from slide_gui.cli import options
from slide_gui.cli.console import DONE, FAILED, Entry, UsageError, add_json, print_answer
from slide_gui.error_rate import ErrorRate
from slide_gui.experiments.runs.result import RunResult, describe_chosen, describe_convergence
from slide_gui.experiments.runs.spec import describe_spec
from slide_gui.experiments.store.store import RunStore, StoreReport
from slide_gui.experiments.store.stored_run import SHOWN, StoredRun
from slide_gui.figures.tables import runs_csv
from slide_gui.text import counted, dataset_title, printable


def _runs_options(parser: argparse.ArgumentParser) -> None:
    inner = parser.add_subparsers(title="subcommands", metavar="COMMAND", required=True)
    for name, task, text in (
        ("list", _list, "print the table of runs"),
        ("show", _show, "print one run"),
        ("check", _check, "check every run against its recorded checksum"),
        ("delete", _delete, "delete runs (use restore to undo the deletion)"),
        ("restore", _restore, "restore deleted runs"),
        ("export", _export, "write the table of runs as CSV"),
    ):
        command = inner.add_parser(name, help=text, description=text)
        command.add_argument("store", type=Path, metavar="STORE", help="a run store")
        if task in (_show, _delete, _restore):
            many = "+" if task is not _show else None
            command.add_argument("hash", nargs=many, metavar="HASH", help="hash of the run, or its first digits")
        if task is _check:
            text = "save the undamaged runs to this new store"
            command.add_argument("--save-whole", dest="output", type=Path, metavar="NEW", help=text)
        if task is _export:
            command.add_argument("-o", "--output", type=Path, metavar="FILE", help="CSV file (default: runs.csv)")
        add_json(command)
        command.set_defaults(run=_with_store, task=task, read_only=task not in (_delete, _restore))


def open_store(path: Path, *, read_only: bool = True) -> RunStore:
    """Open an existing run store. Raise an error if there is no file at the path."""
    if not path.is_file():
        raise UsageError(f"{str(path)!r}: this run store does not exist; check the name")
    return RunStore(path, read_only=read_only)


def _with_store(arguments: argparse.Namespace) -> int:
    with open_store(arguments.store, read_only=arguments.read_only) as store:
        if arguments.task is _export and arguments.output is None:
            arguments.output = Path("runs.csv")
            options.refuse_existing([arguments.output])
        options.check_outputs(arguments, [getattr(arguments, "output", None)])
        return int(arguments.task(store, arguments))


def full_hash(store: RunStore, beginning: str) -> str:
    """Return the full hash of the run whose hash begins with `beginning`.

    Raises
    ------
    UsageError
        If no hash, or more than one, begins with `beginning`, or if `beginning` is empty.
    """
    hashes = store.hashes(beginning) if beginning else []
    if len(hashes) != 1:
        raise UsageError(f"{len(hashes) or 'no'} hashes begin with {beginning!r}; copy a hash from slide-gui runs list")
    return hashes[0]


def _list(store: RunStore, arguments: argparse.Namespace) -> int:
    runs = store.runs()
    extra = ({"low": run.rate.low, "high": run.rate.high, "current": run.is_current} for run in runs)
    document = [run.document() | more for run, more in zip(runs, extra, strict=True)]
    return print_answer(arguments, document, _run_lines(runs))


def _run_lines(runs: Sequence[StoredRun]) -> Iterator[str]:
    rows = [["hash", *(column.title for column in SHOWN)]]
    rows += [[run.hash[:12], *(printable(column.text(run)) for column in SHOWN)] for run in runs]
    sides = ["<", *("<>"[column.is_number] for column in SHOWN)]
    formats = [f"{side}{max(map(len, cells))}" for side, cells in zip(sides, zip(*rows, strict=True), strict=True)]
    marks = ["", *("" if run.is_current else "*" for run in runs)]
    for cells, mark in zip(rows, marks, strict=True):
        yield "  ".join([*map(format, cells, formats), mark]).rstrip()
    if not all(run.is_current for run in runs):
        yield "* computed with another results version; new runs do not reuse the result"


def _show(store: RunStore, arguments: argparse.Namespace) -> int:
    spec_hash = full_hash(store, arguments.hash)
    result = store.load(spec_hash)
    return print_answer(arguments, describe_result(result) | {"hash": spec_hash}, result_lines(result))


def _check(store: RunStore, arguments: argparse.Namespace) -> int:
    report, new = store.check(), arguments.output
    saved = None if new is None else store.save_intact(new)
    document = {
        "runs": report.n_runs,
        "faults": report.faults,
        "damage": report.damage,
        "whole": len(report.intact),
        "saved": saved,
    }
    print_answer(arguments, document, _report_lines(report, arguments.store, new, saved))
    return FAILED if report.faults or report.damage else DONE


def _report_lines(report: StoreReport, store: Path, new: Path | None, saved: int | None) -> Iterator[str]:
    for name, fault in report.faults.items():
        yield f"{name[:12]}  {fault}"
    for damaged in report.damage:
        yield f"{store}: {damaged}"
    yield f"{counted(report.n_runs, 'run')}: {len(report.faults)} damaged, the results of {len(report.intact)} intact"
    if (report.faults or report.damage) and new is None:
        yield f"save the undamaged runs with: slide-gui runs check {shlex.quote(str(store))} --save-whole NEW"
    if new is not None:
        yield f"saved {counted(saved or 0, 'run')} to {new}"


def _delete(store: RunStore, arguments: argparse.Namespace, *, undo: bool = False) -> int:
    hashes = [full_hash(store, beginning) for beginning in arguments.hash]
    hashes = store.delete(hashes, undo=undo)
    done, remedy = ("restored", "") if undo else ("deleted", "; use slide-gui runs restore to undo the deletion")
    return print_answer(arguments, {done: hashes}, [f"{counted(len(hashes), 'run')} {done}{remedy}"])


_restore = partial(_delete, undo=True)


def _export(store: RunStore, arguments: argparse.Namespace) -> int:
    runs = store.runs()
    runs_csv(arguments.output, runs)
    return print_answer(arguments, {"output": arguments.output, "runs": len(runs)}, [], [arguments.output])


def describe_rate(rate: ErrorRate) -> dict[str, Any]:
    """Return the description of the error of a run, or of all folds together, for the output of --json."""
    return {"error": rate.error, "low": rate.low, "high": rate.high, "n_test": rate.n}


def describe_result(result: RunResult) -> dict[str, Any]:
    """Return the description of a run for the output of --json."""
    return {
        "hash": result.hash,
        "current": result.is_current,
        **describe_rate(result.rate),
        "chosen_by": result.chosen_by,
        "n_support": None if result.classifier is None else result.classifier.n_support,
        "confusion": result.confusion.tolist(),
        "misclassified": result.misclassified.tolist(),
        **result.document(),
    }


def result_lines(result: RunResult) -> Iterator[str]:
    """Yield the lines of text that describe the result of a run."""
    spec, classifier, times = result.spec, result.classifier, result.timings
    yield f"{dataset_title(result.dataset, result.generated)}: {describe_spec(spec)}"
    count = f"{len(result.misclassified)} of {result.n_test} misclassified"
    yield f"{spec.evaluate} error {result.rate}, {count}"
    validation = "" if result.validation_error is None else f", validation error {100 * result.validation_error:.2f} %"
    yield f"training error {100 * result.train_error:.2f} %{validation}, trained on {result.n_train} rows"
    if classifier is not None:
        shared = zip(spec.group_names, classifier.shares, strict=False)
        shares = ", ".join(f"{name} {share:.2f}" for name, share in shared)
        yield f"widths {', '.join(f'{width:.4g}' for width in classifier.widths)}; shares of kernel exponent: {shares}"
        if classifier.chosen is not None:
            yield describe_chosen(classifier.chosen)
        vectors = counted(classifier.n_support, "support vector")
        yield ", ".join(filter(None, [f"C = {classifier.C:.4g}", vectors, describe_convergence(classifier)]))
    widths = {} if classifier is None else {"widths": times.widths}
    seconds = {"fit": times.fit, "features": times.transform, **widths, "train": times.train, "test": times.test}
    yield ", ".join(f"{name} {value:.2f} s" for name, value in seconds.items())
    if not result.is_current:
        yield "computed with another results version; new runs do not reuse the result"
    names = {"numerics": "results version"}
    yield f"computed with {', '.join(f'{names.get(name, name)} {version}' for name, version in result.versions)}"


COMMANDS: dict[str, Entry] = {"runs": (_runs_options, None)}
