"""Store results of the evaluation in a folder of text files, so that another computer can continue the evaluation.

Each data set has one file with one line per run. A line is a JSON object with the columns of `StoredRun`. Columns that
have their default values are omitted. The name of the data set and the errors of the individual rows are written only
for runs on test rows. The hash of a run depends on its data, so a result is never used for other data.
"""

import json
import os
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

from slide_gui.data.errors import DataError
from slide_gui.experiments.store.stored_run import StoredRun

# Default values of columns that a line of a results file may omit. All other columns have the default value None.
_USUAL: dict[str, Any] = {
    "data": "", "generated": 0, "fingerprint": "", "training": "split", "evaluate": "validation", "created": 0.0,
    "tags": "", "deleted": 0,
}  # fmt: skip
_LEFT_OUT = ("tags", "deleted", "setting")
# Columns that are written only for runs on test rows.
_OF_TESTS = ("data", "generated", "fingerprint", "created", "held_out", "validation_error", "row_errors", "features")


class RecordFolder:
    """A folder with the results of runs. The folder is created when the first run is added.

    Runs that were computed with another results version (`RESULTS_VERSION`) stay in the files, but are not used.

    Attributes
    ----------
    rows : dict of str to StoredRun
        Maps run hashes to the runs that were computed with the current results version.
    n_damaged : int
        Number of unreadable lines. For example, a killed process can leave an incomplete last line.

    Raises
    ------
    DataError
        If an entry of the folder with the suffix .jsonl is not a file.
    """

    def __init__(self, folder: Path) -> None:
        self.rows: dict[str, StoredRun] = {}
        self.n_damaged = 0
        self._folder = folder
        for file in sorted(folder.glob("*.jsonl")):
            if not file.is_file():
                raise DataError("this is not a results file; move it to another folder", str(file))
            for line in filter(None, file.read_bytes().split(b"\n")):
                try:
                    row = _row(json.loads(line))
                except (ValueError, TypeError, KeyError, ArithmeticError, RecursionError):
                    self.n_damaged += 1
                else:
                    self.rows |= {row.hash: row} if row.is_current else {}

    def add(self, key: str, row: StoredRun) -> None:
        """Append a run to a data set's file and flush the file to disk, unless the folder already contains the run."""
        if row.hash in self.rows:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        line, path = json.dumps(_line(row), separators=(",", ":")).encode(), self._folder / f"{key}.jsonl"
        try:
            with path.open("a+b") as file:
                if file.seek(0, os.SEEK_END):
                    file.seek(-1, os.SEEK_END)
                    line = line if file.read(1) == b"\n" else b"\n" + line
                file.write(line + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:  # The error of a failed write lacks the file name, so it is added.
            error.filename = str(path)
            raise
        self.rows[row.hash] = row


def _line(row: StoredRun) -> dict[str, Any]:
    """Return a run as a JSON object, with the number of errors in place of the error rate."""
    hidden = (*_LEFT_OUT, *(_OF_TESTS if row.evaluate == "validation" else ()))
    values = {name: value for name, value in row.row().items() if name not in hidden and value != _USUAL.get(name)}
    values["wrong"] = round(values.pop("error") * row.n_test)
    if row.row_errors is not None and "row_errors" in values:
        values["row_errors"] = b64encode(row.row_errors).decode()
    return values


def _row(values: dict[str, Any]) -> StoredRun:
    """Return the run that a JSON object describes.

    The error rate is computed from the stored number of errors and the stored number of evaluated rows.
    """
    values = _USUAL | values
    values["error"] = values["wrong"] / values["n_test"]
    if values["evaluate"] == "validation":
        values["validation_error"] = values["error"]
    if values.get("row_errors") is not None:
        values["row_errors"] = b64decode(values["row_errors"], validate=True)
    return StoredRun.from_row(values)
