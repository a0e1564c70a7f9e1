"""A run as a line of the table of runs: what is filtered and sorted by, without arrays."""

from __future__ import annotations

from dataclasses import dataclass

from slide_gui.error_rate import ErrorRate
from slide_gui.experiments.result import RunResult
from slide_gui.numerics import numerics

__all__ = ["ADDED", "COLUMNS", "DROPPED", "StoredRun", "columns_of"]

COLUMNS = {
    "data": "TEXT NOT NULL",
    "generated": "INTEGER NOT NULL",
    "fingerprint": "TEXT NOT NULL",
    "method": "TEXT NOT NULL",
    "noise": "REAL NOT NULL",
    "depth": "INTEGER NOT NULL",
    "split": "INTEGER NOT NULL",
    "seed": "INTEGER NOT NULL",
    "training": "TEXT NOT NULL",
    "evaluate": "TEXT NOT NULL",
    "error": "REAL NOT NULL",
    "n_test": "INTEGER NOT NULL",
    "validation_error": "REAL",
    "seconds": "REAL NOT NULL",
    "created": "REAL NOT NULL",
    "tags": "TEXT NOT NULL",
    "deleted": "INTEGER NOT NULL",
    "C": "REAL",
    "n_support": "INTEGER",
    "numerics": "TEXT",
    "chosen_by": "TEXT",
}
"""Column → SQL type; the attributes of `StoredRun` after its hash."""

DROPPED = ("half",)
"""Columns that stores made by earlier versions have and that nothing reads: their values follow from others."""

ADDED = ("C", "n_support", "numerics", "chosen_by")
"""Columns that stores made by earlier versions lack; they are added there, and filled from the runs."""


@dataclass(frozen=True)
class StoredRun:
    """A line of the table of runs.

    Attributes
    ----------
    hash : str
        Of the spec.
    data, fingerprint : str
        Name of the data set and SHA-256 of its contents.
    generated : bool
    method : str
    noise : float
    depth, split, seed : int
    training, evaluate : str
        As in `RunSpec`.
    error : float
        On the rows judged.
    n_test : int
    validation_error : float or None
    seconds : float
        That the run took.
    created : float
        Seconds since 1970.
    tags : tuple of str
    deleted : bool
    C : float or None
        Trade-off of the classifier; None where it is not known.
    n_support : int or None
        Number of its support vectors.
    numerics : str or None
        The version of the numbers that it was made by; None where it is not known.
    chosen_by : str or None
        What chose the widths, a criterion or the guard; empty where they were not learned, None where it is not known.
    """

    hash: str
    data: str
    generated: bool
    fingerprint: str
    method: str
    noise: float
    depth: int
    split: int
    seed: int
    training: str
    evaluate: str
    error: float
    n_test: int
    validation_error: float | None
    seconds: float
    created: float
    tags: tuple[str, ...]
    deleted: bool
    C: float | None = None
    n_support: int | None = None
    numerics: str | None = None
    chosen_by: str | None = None

    @property
    def is_current(self) -> bool:
        """Whether this program would compute the same numbers, so that the run answers what is asked of it."""
        return self.numerics == str(numerics())

    @property
    def rate(self) -> ErrorRate:
        """The error with its 95 % interval."""
        return ErrorRate.of_run(self.error, self.n_test)


def columns_of(result: RunResult, created: float) -> dict[str, object]:
    """Return the value of each of `COLUMNS`."""
    spec = result.spec
    return {
        "data": result.dataset,
        "generated": int(result.generated),
        "fingerprint": spec.fingerprint,
        "method": spec.method,
        "noise": spec.stack.noise,
        "depth": spec.stack.depth,
        "split": spec.split,
        "seed": spec.seed,
        "training": spec.training,
        "evaluate": spec.evaluate,
        "error": result.error,
        "n_test": result.n_test,
        "validation_error": result.validation_error,
        "seconds": result.timings.total,
        "created": created,
        "tags": "",
        "deleted": 0,
        "C": None if result.classifier is None else result.classifier.C,
        "n_support": None if result.classifier is None else result.classifier.n_support,
        "numerics": result.numerics,
        "chosen_by": result.chosen_by,
    }
