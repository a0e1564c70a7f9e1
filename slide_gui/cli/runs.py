"""`slide-gui runs`: what a store of runs holds."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from slide_gui.cli.console import DONE, FAILED, UsageError, print_json
from slide_gui.cli.options import Subparsers, add_json
from slide_gui.data.errors import printable

if TYPE_CHECKING:
    from slide_gui.experiments.store import RunStore, StoreReport

__all__ = ["NAME", "register"]

NAME = "runs"


def register(commands: Subparsers) -> None:
    """Add the subcommand with its own."""
    parser = commands.add_parser(NAME, help="list, show, check, delete and export stored runs", description=__doc__)
    inner = parser.add_subparsers(title="subcommands", metavar="COMMAND", required=True)
    for name, task, text in (
        ("list", _list, "print the table of runs"),
        ("show", _show, "print one run"),
        ("check", _check, "check every run against what was recorded of it"),
        ("delete", _delete, "hide runs from the table"),
        ("restore", _restore, "take a deletion back"),
        ("export", _export, "write the table as CSV"),
    ):
        command = inner.add_parser(name, help=text, description=text)
        command.add_argument("store", type=Path, metavar="STORE")
        if task in (_show, _delete, _restore):
            many = "+" if task is not _show else None
            command.add_argument("hash", nargs=many, metavar="HASH", help="of the run, or how it begins")
        if task is _check:
            command.add_argument(
                "--save-whole", type=Path, metavar="NEW", help="save the runs that are whole to this new store"
            )
        if task is _export:
            command.add_argument("-o", "--output", type=Path, default=Path("runs.csv"), help="the table (runs.csv)")
        add_json(command)
        command.set_defaults(run=_with_store, task=task, read_only=task not in (_delete, _restore))


def _with_store(arguments: argparse.Namespace) -> int:
    from slide_gui.experiments.store import RunStore

    if not arguments.store.is_file():
        raise UsageError(f"{str(arguments.store)!r}: there is no such store of runs")
    with RunStore(arguments.store, read_only=arguments.read_only) as store:
        code: int = arguments.task(store, arguments)
        return code


def _full_hash(store: RunStore, beginning: str) -> str:
    hashes = store.hashes(beginning)
    if len(hashes) != 1:
        raise UsageError(f"{len(hashes) or 'no'} runs begin with {beginning!r}; give the hash of one (see: runs list)")
    return hashes[0]


def _list(store: RunStore, arguments: argparse.Namespace) -> int:
    from slide_gui.experiments.stored_run import SHOWN

    lines = store.runs()
    if arguments.json:
        extra = [{"low": line.rate.low, "high": line.rate.high, "current": line.is_current} for line in lines]
        print_json([asdict(line) | more for line, more in zip(lines, extra, strict=True)])
        return DONE
    rows = [["hash", *(column.title for column in SHOWN)]]
    rows += [[line.hash[:12], *(printable(column.text(line)) for column in SHOWN)] for line in lines]
    wide = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    at_right = [False, *(column.is_number for column in SHOWN)]
    marks = ["", *("" if line.is_current else "*" for line in lines)]
    for cells, mark in zip(rows, marks, strict=True):
        padded = (
            f"{cell:>{w}}" if right else f"{cell:{w}}" for cell, w, right in zip(cells, wide, at_right, strict=True)
        )
        print("  ".join([*padded, mark]).rstrip())
    if not all(line.is_current for line in lines):
        print("* of another version of the numbers: kept, but no answer to what is asked now")
    return DONE


def _show(store: RunStore, arguments: argparse.Namespace) -> int:
    from slide_gui.cli.train import describe_result, print_result

    spec_hash = _full_hash(store, arguments.hash)
    result = store.load(spec_hash)
    if arguments.json:
        print_json(describe_result(result) | {"hash": spec_hash})
    else:
        print_result(result)
    return DONE


def _check(store: RunStore, arguments: argparse.Namespace) -> int:
    report = store.check()
    saved = None if arguments.save_whole is None else store.save_whole(arguments.save_whole)
    if arguments.json:
        print_json(
            {
                "runs": report.n_runs,
                "faults": report.faults,
                "damage": list(report.damage),
                "whole": len(report.whole),
                "saved": saved,
            }
        )
    else:
        _print_report(report, arguments)
        if saved is not None:
            print(f"saved {saved} runs to {arguments.save_whole}")
    return FAILED if report.faults or report.damage else DONE


def _print_report(report: StoreReport, arguments: argparse.Namespace) -> None:
    for name, fault in report.faults.items():
        print(f"{name[:12]}  {fault}")
    for damaged in report.damage:
        print(printable(f"{arguments.store}: {damaged}"))
    print(f"{report.n_runs} runs, {len(report.faults)} damaged, the results of {len(report.whole)} whole")
    if (report.faults or report.damage) and arguments.save_whole is None:
        print(f"save those: slide-gui runs check {shlex.quote(str(arguments.store))} --save-whole NEW")


def _delete(store: RunStore, arguments: argparse.Namespace, undo: bool = False) -> int:
    hashes = [_full_hash(store, beginning) for beginning in arguments.hash]
    store.delete(hashes, undo=undo)
    if arguments.json:
        print_json({"restored" if undo else "deleted": hashes})
    else:
        print(f"{len(hashes)} {'restored' if undo else 'deleted; slide-gui runs restore takes it back'}")
    return DONE


def _restore(store: RunStore, arguments: argparse.Namespace) -> int:
    return _delete(store, arguments, undo=True)


def _export(store: RunStore, arguments: argparse.Namespace) -> int:
    from slide_gui.figures.tables import runs_csv

    lines = store.runs()
    runs_csv(arguments.output, lines)
    if arguments.json:
        print_json({"output": str(arguments.output), "runs": len(lines)})
    else:
        print(f"saved {arguments.output}")
    return DONE
