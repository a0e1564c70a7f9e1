"""Results in the package: error curves, a trained classifier and the evaluation's tables, shown before the first run.

`make shipped` computes them and writes ``resources/shipped``: ``results.json`` and the classifier's arrays, packed.
"""

from __future__ import annotations

import json
import lzma
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

from slide_gui.experiments.evaluation.table import Cell, DataInfo, EvaluationState, SplitAnswer
from slide_gui.experiments.runs.result import RunResult, pack_arrays, unpack_arrays
from slide_gui.experiments.store.stored_run import StoredRun
from slide_gui.resources import resource
from slide_gui.results_version import is_current

_FILES = ("results.json", "classifier.npz.xz")


class ShippedRun(StoredRun):
    """A row of the table of runs that came with the program; only the classifier's has a complete result."""

    is_shipped: ClassVar[bool] = True

    @property
    def tip(self) -> str:
        """Summary of the run in a few lines, for a tooltip."""
        return f"{super().tip}\nShipped with the program; your own run of the same model replaces it"


@dataclass(frozen=True)
class ShippedResults:
    """The results in the package.

    Attributes
    ----------
    version : str
        Results version.
    date, machine : str
        Day and computer of the computation.
    protocol : str
        Commit of the evaluation's protocol.
    runs : tuple of ShippedRun
        All runs as rows of the table, without errors by test row.
    classifier : RunResult or None
        Result on the opening data set with the window's default parameters.
    tables : mapping
        Extent of the protocol, such as "quick" → state of the evaluation.
    """

    version: str = ""
    date: str = ""
    machine: str = ""
    protocol: str = ""
    runs: tuple[ShippedRun, ...] = ()
    classifier: RunResult | None = None
    tables: Mapping[str, EvaluationState] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return the origin of the results in words."""
        earlier = "" if is_current(self.version) else " (an earlier version)"
        version = f"results version {self.version}{earlier}"
        return f"shipped with the program: computed on {self.date} by {version} on {self.machine}"

    def save(self, folder: Path) -> None:
        """Write the results, the classifier among them, to a folder."""
        assert self.classifier is not None
        given = (each.row() | {"row_errors": None, "tags": "shipped"} for each in self.runs)
        rows = [{name: value for name, value in row.items() if value is not None} for row in given]
        tables = {
            extent: {"data": [asdict(info) for info in state.data], "cells": [_cell(cell) for cell in state.cells]}
            for extent, state in self.tables.items()
        }
        origin = {name: getattr(self, name) for name in ("version", "date", "machine", "protocol")}
        document = {**origin, "classifier": self.classifier.document(), "tables": tables, "runs": rows}
        folder.mkdir(exist_ok=True)
        text = json.dumps(document, allow_nan=False, indent=0, ensure_ascii=False)
        (folder / _FILES[0]).write_text(text + "\n", encoding="utf-8")
        (folder / _FILES[1]).write_bytes(lzma.compress(pack_arrays(self.classifier.arrays()), preset=9))


def _cell(cell: Cell) -> dict[str, object]:
    answers = [asdict(each) | {"row_errors": b64encode(each.row_errors).decode()} for each in cell.answers]
    return asdict(cell) | {"answers": answers}


@lru_cache(maxsize=1)
def shipped_results() -> ShippedResults:
    """Return the results in the package; they are empty if they are missing or damaged."""
    try:
        return _read()
    except (OSError, ValueError, KeyError, TypeError, lzma.LZMAError):
        return ShippedResults()


def _read() -> ShippedResults:
    texts, arrays = (resource(f"shipped/{name}") for name in _FILES)
    document = json.loads(texts.read_text(encoding="utf-8"))
    content = unpack_arrays(lzma.decompress(arrays.read_bytes()), str(arrays))
    tables = {extent: _state(table["data"], table["cells"]) for extent, table in document["tables"].items()}
    read = {
        "classifier": RunResult.from_parts(document["classifier"], content),
        "tables": tables,
        "runs": tuple(map(ShippedRun.from_row, document["runs"])),
    }
    return ShippedResults(**{**document, **read})


def _state(data: Iterable[dict[str, object]], cells: Iterable[dict[str, object]]) -> EvaluationState:
    """Return the state of the evaluation from its parts as values of JSON."""
    read = []
    for cell in cells:
        answers = cell["answers"]
        assert isinstance(answers, list)
        given = (SplitAnswer(**each | {"row_errors": b64decode(each["row_errors"])}) for each in answers)
        read.append(replace(Cell(**cell), answers=tuple(given)))  # type: ignore[arg-type]
    return EvaluationState(tuple(DataInfo(**info) for info in data), tuple(read))  # type: ignore[arg-type]
