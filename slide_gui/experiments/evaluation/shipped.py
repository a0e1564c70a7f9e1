"""Results that are shipped with the program: error curves, a trained classifier and the tables of the evaluation.

The window shows these results even if the user has not computed any runs. The command `make shipped` computes the
results and writes them to the folder ``resources/shipped``. The folder contains ``results.json``, the arrays of the
classifier, one table for the full protocol and one for the quick protocol. The errors of individual test rows would
need too much space, so they are omitted.
"""

import json
import lzma
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

from slide_gui.experiments.documents import from_document
from slide_gui.experiments.evaluation.protocol import EXTENTS
from slide_gui.experiments.evaluation.table import Cell, DataInfo, EvaluationState
from slide_gui.experiments.runs.result import RunResult, pack_arrays, unpack_arrays
from slide_gui.experiments.store.stored_run import StoredRun
from slide_gui.resources import resource
from slide_gui.results_version import is_current

_FILES = ("results.json", "classifier.npz.xz")


class ShippedRun(StoredRun):
    """A shipped run, as a row of the table of runs. Only the shipped classifier's run has a complete result."""

    is_shipped: ClassVar[bool] = True

    @property
    def tip(self) -> str:
        """Summary of the run in a few lines, for a tooltip."""
        return f"{super().tip}\nThis run was shipped with the program. If you compute it, your own run replaces it."


@dataclass(frozen=True)
class ShippedResults:
    """The results that are shipped with the program.

    Attributes
    ----------
    version : str
        The `RESULTS_VERSION` of the program that computed the results.
    date, machine : str
        Date of the computation, and name of the computer on which the results were computed.
    protocol : str
        Git commit of the protocol that the evaluation followed.
    runs : tuple of ShippedRun
        The shipped runs, as the window lists them among the stored runs. They do not contain the errors of individual
        test rows.
    classifier : RunResult or None
        Result of a classifier that was trained with the window's default parameters on the data set that the window
        opens first.
    tables : mapping
        Maps the name of each version of the protocol, such as "quick", to the state of its evaluation.
    """

    version: str = ""
    date: str = ""
    machine: str = ""
    protocol: str = ""
    runs: tuple[ShippedRun, ...] = ()
    classifier: RunResult | None = None
    tables: Mapping[str, EvaluationState] = field(default_factory=dict)

    def __str__(self) -> str:
        """Describe when, where and with which results version the results were computed."""
        earlier = "" if is_current(self.version) else " (an earlier version)"
        version = f"results version {self.version}{earlier}"
        return f"shipped with the program: computed on {self.date} with {version} on {self.machine}"

    def save(self, folder: Path) -> None:
        """Write the results, including the classifier, to a folder."""
        assert self.classifier is not None
        given = (each.row() | {"row_errors": None, "tags": "shipped"} for each in self.runs)
        rows = [{name: value for name, value in row.items() if value is not None} for row in given]
        origin = {name: getattr(self, name) for name in ("version", "date", "machine", "protocol")}
        document = {**origin, "classifier": self.classifier.document(), "runs": rows}
        folder.mkdir(exist_ok=True)
        text = json.dumps(document, allow_nan=False, indent=0, ensure_ascii=False)
        (folder / _FILES[0]).write_bytes(f"{text}\n".encode())
        (folder / _FILES[1]).write_bytes(lzma.compress(pack_arrays(self.classifier.arrays()), preset=9))
        for extent in EXTENTS:
            (folder / _table_file(extent)).unlink(missing_ok=True)
        for extent, state in self.tables.items():
            cells = [_cell(state, cell) for cell in state.cells]
            table = json.dumps({"data": [asdict(info) for info in state.data], "cells": cells}, allow_nan=False)
            (folder / _table_file(extent)).write_bytes(lzma.compress(table.encode(), preset=9))


def _table_file(extent: str) -> str:
    return f"{extent}.json.xz"


def _cell(state: EvaluationState, cell: Cell) -> dict[str, object]:
    """Return a cell of the table as JSON-compatible values.

    The mean error of the cell and its comparison with SLIDE-SVM replace the errors of individual test rows.
    """
    answers = tuple(replace(answer, row_errors=None) for answer in cell.answers)
    return asdict(replace(cell, answers=answers, shipped_rate=cell.rate, shipped_comparison=state.comparison(cell)))


def shipped_extent() -> str:
    """Return "full" if the tables of the full protocol are shipped with the program, otherwise "quick"."""
    return "full" if (resource("shipped") / _table_file("full")).is_file() else "quick"


@lru_cache(maxsize=1)
def shipped_results() -> ShippedResults:
    """Return the results that are shipped with the program, or empty results if their files are missing or damaged."""
    try:
        return _read()
    except (OSError, ValueError, KeyError, TypeError, lzma.LZMAError):
        return ShippedResults()


def _read() -> ShippedResults:
    folder = resource("shipped")
    texts, arrays = (folder / name for name in _FILES)
    document = json.loads(texts.read_text(encoding="utf-8"))
    content = unpack_arrays(lzma.decompress(arrays.read_bytes()), str(arrays))
    files = {extent: folder / _table_file(extent) for extent in EXTENTS}
    read = {
        "classifier": RunResult.from_parts(document["classifier"], content),
        "tables": {extent: _table(file) for extent, file in files.items() if file.is_file()},
        "runs": tuple(map(ShippedRun.from_row, document["runs"])),
    }
    return ShippedResults(**{**document, **read})


def _table(file: Path) -> EvaluationState:
    """Read the state of an evaluation from a file in the folder of shipped results."""
    table = json.loads(lzma.decompress(file.read_bytes()))
    data = tuple(from_document(DataInfo, info) for info in table["data"])
    return EvaluationState(data, tuple(from_document(Cell, cell) for cell in table["cells"]))
