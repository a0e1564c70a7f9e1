"""A line of the table of runs: each of its columns said once.

From the fields of `StoredRun` the store makes its SQL table and the CSV its head, each with how it is read off a
result; from `SHOWN` the window and the command line make theirs. A column more is a line or two here.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from functools import cached_property, lru_cache
from math import isfinite
from types import NoneType
from typing import Any

from slide_gui.data.dataset import HeldOut
from slide_gui.error_rate import ErrorRate
from slide_gui.experiments.documents import unmarked
from slide_gui.experiments.methods import METHODS
from slide_gui.experiments.result import RunResult
from slide_gui.experiments.setting import Setting
from slide_gui.experiments.source import describe_widths
from slide_gui.experiments.statistics import check_row_errors
from slide_gui.results_version import is_current
from slide_gui.text import NONE, TextColumn, clean_name, count, dataset_title, fixed, number

__all__ = ["COLUMNS", "READABLE", "SHOWN", "Column", "StoredRun", "is_time", "tags_of"]

_END = 253402300800.0  # the year 10000, in seconds since 1970
_FOLD = re.compile(r"fold (\d{1,9}) of (\d{1,9}), seed (\d{1,10})", re.ASCII)  # as `HeldOut` says it in English
_SHARE = re.compile(r"(\d{1,2}(?:\.\d{1,9})?) % held out, seed (\d{1,10})", re.ASCII)


def stored(of_result: Callable[[RunResult], Any] | None, *, added: bool = False) -> Any:
    """Return a field of `StoredRun`.

    Parameters
    ----------
    of_result : callable or None
        Reads it off a result; None for what the store alone knows.
    added : bool
        Stores made by earlier versions lack it: it is added there and filled from the results, and is None where one
        of those cannot be read.
    """
    metadata = {"of_result": of_result, "added": added}
    return field(default=None, metadata=metadata) if added else field(metadata=metadata)


@dataclass(frozen=True)
class StoredRun:
    """A line of the table of runs; the fields are columns of the SQL table, in this order.

    Attributes
    ----------
    hash : str
        Of the spec, under the version of the numbers.
    data, fingerprint : str
        Name of the data set and SHA-256 of its contents.
    generated : bool
        Whether a generator made the data.
    method, noise, depth, split, seed, training, evaluate
        As in `RunSpec`.
    error : float
        On the rows judged, and
    n_test : int
        how many they are.
    validation_error : float or None
        On the split's 20 %.
    seconds : float
        That the run took.
    created : float
        When it was kept first, in seconds since 1970.
    tags : tuple of str
        A person's words.
    deleted : bool
        Hidden from the table.
    C : float or None
        Trade-off of the classifier; None where it is not known.
    n_support : int or None
        Number of its support vectors.
    numerics : str or None
        The version of the numbers that it was made by; None where it is not known.
    chosen_by : str or None
        What chose the widths, a criterion or the guard; empty where they were not learned, None where it is not known.
    held_out : str or None
        How the test part was taken from rows that had none, in words; empty where it came with the data.
    setting : str or None
        What the run has in common with others on one curve, as `Setting.text`; None where it is not known.
    row_errors : bytes or None
        The errors by row, as `statistics.row_errors` packs them; None where they are not known.
    """

    hash: str = stored(lambda result: result.hash)
    data: str = stored(lambda result: result.dataset)
    generated: bool = stored(lambda result: result.generated)
    fingerprint: str = stored(lambda result: result.spec.fingerprint)
    method: str = stored(lambda result: result.spec.method)
    noise: float = stored(lambda result: result.spec.stack.noise)
    depth: int = stored(lambda result: result.spec.stack.depth)
    split: int = stored(lambda result: result.spec.split)
    seed: int = stored(lambda result: result.spec.seed)
    training: str = stored(lambda result: result.spec.training)
    evaluate: str = stored(lambda result: result.spec.evaluate)
    error: float = stored(lambda result: result.error)
    n_test: int = stored(lambda result: result.n_test)
    validation_error: float | None = stored(lambda result: result.validation_error)
    seconds: float = stored(lambda result: result.timings.total)
    created: float = stored(None)
    tags: tuple[str, ...] = stored(None)
    deleted: bool = stored(None)
    C: float | None = stored(lambda result: result.classifier and result.classifier.C, added=True)
    n_support: int | None = stored(lambda result: result.classifier and result.classifier.n_support, added=True)
    numerics: str | None = stored(lambda result: result.numerics, added=True)
    chosen_by: str | None = stored(lambda result: result.chosen_by, added=True)
    held_out: str | None = stored(lambda result: str(result.spec.held_out or ""), added=True)
    setting: str | None = stored(lambda result: Setting.of(result.spec).text, added=True)
    row_errors: bytes | None = stored(lambda result: result.row_errors, added=True)

    @classmethod
    def of(
        cls, result: RunResult, created: float = 0.0, tags: tuple[str, ...] = (), *, deleted: bool = False
    ) -> StoredRun:
        """Return the line of a result, with what the store alone knows."""
        values = {column.name: column.of_result(result) for column in COLUMNS if column.of_result is not None}
        return cls(**values, created=created, tags=tags, deleted=deleted)

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> StoredRun:
        """Return the line that a row of the SQL table holds; what else the row has is not looked at.

        Raises
        ------
        ValueError
            If a value cannot be one of its column; it is named.
        """
        values = {column.name: row[column.name] for column in COLUMNS}
        bad = _wrong_type(tuple(map(type, values.values())))
        bad = bad or next((name for name in _REALS if values[name] is not None and not isfinite(values[name])), None)
        bad = bad or next((name for name in _FLAGS if values[name] not in (0, 1)), None)
        bad = bad or ("error" if not 0.0 <= values["error"] <= 1.0 else None)
        bad = bad or ("n_test" if values["n_test"] < 1 else None)
        bad = bad or ("created" if not is_time(values["created"]) else None)
        errors = values["row_errors"]
        bad = bad or ("row_errors" if errors is not None and not check_row_errors(errors, values["n_test"]) else None)
        if bad is not None:
            raise ValueError(f"{bad} is {ascii(values[bad])[:40]}")
        for name in _FLAGS:
            values[name] = bool(values[name])
        values["data"] = unmarked(values["data"], values["generated"])
        values["tags"] = tags_of(values["tags"])
        return cls(**values)

    def row(self) -> dict[str, Any]:
        """Return column → value in the SQL table."""
        return {column.name: column.to_sql(getattr(self, column.name)) for column in COLUMNS}

    def with_tags(self, text: str) -> StoredRun:
        """Return the line with the tags that a person wrote, separated by commas."""
        return replace(self, tags=tags_of(text))

    @property
    def is_current(self) -> bool:
        """Whether this program would compute the same numbers, so that the run answers what is asked of it."""
        return is_current(self.numerics)

    @cached_property
    def rate(self) -> ErrorRate:
        """The error with its 95 % interval."""
        return ErrorRate.of_run(self.error, self.n_test)

    @property
    def title(self) -> str:
        """Name of the data for people."""
        return dataset_title(self.data, self.generated)

    @property
    def method_name(self) -> str:
        """Name of the method for people."""
        return METHODS[self.method].text if self.method in METHODS else self.method

    @property
    def split_name(self) -> str:
        """Which rows were trained on, what took the place of a test part, and judged where it was not that."""
        return _split_name(self.training, self.split, self.held_out, self.evaluate)

    @property
    def date(self) -> str:
        """When it was kept first, in local time."""
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(self.created))

    @property
    def note(self) -> str:
        """Why it counts less than others; empty where it does not."""
        return _note(self.numerics)

    @property
    def tip(self) -> str:
        """What a person wants to know of it, in a few lines."""
        widths = describe_widths(self.chosen_by or "")
        what = f"{self.method_name} on {self.title}, {self.date}"
        lines = (what, str(self.rate), widths[:1].upper() + widths[1:], _divided(self.held_out or "")[1], self.note)
        return "\n".join(filter(None, lines))

    @property
    def words(self) -> str:
        """What a filter searches, in small letters; noise, depth and seed by name."""
        numbers = f"noise={self.noise:.2f}; depth={self.depth}; seed={self.seed}; {100 * self.error:.2f}"
        widths = describe_widths(self.chosen_by) if self.chosen_by else ""
        words = (self.date, self.title, self.method_name, self.split_name, numbers, *self.tags, self.note, widths)
        words = (*words, _divided(self.held_out or "")[1])
        return " ".join(words).lower()


@lru_cache(maxsize=64)
def _note(version: str | None) -> str:
    if is_current(version):
        return ""
    return f"Version {version or 'unknown'} of the numbers: answers nothing asked now"


@lru_cache(maxsize=512)
def _split_name(training: str, split: int, held_out: str | None, evaluate: str) -> str:
    name = "whole" if training == "whole" else str(split)
    if held_out:
        short, _ = _divided(held_out)
        name = short if training == "whole" else f"{name}, {short}"
    return name if evaluate == "test" else f"{name}, val."


@lru_cache(maxsize=64)
def _divided(held_out: str) -> tuple[str, str]:
    """Return what the store says of rows held out as it is said in a column, and whole."""
    if said := _FOLD.fullmatch(held_out):
        fold, folds, seed = map(int, said.groups())
        whole = HeldOut(seed=seed, folds=folds, fold=fold - 1)
        return f"fold {fold}/{folds}", str(whole)
    if said := _SHARE.fullmatch(held_out):
        return f"{said[1]} %", str(HeldOut(float(said[1]) / 100, int(said[2])))
    return held_out, held_out


def tags_of(text: str) -> tuple[str, ...]:
    """Return the tags in a text, separated by commas."""
    return tuple(filter(None, (clean_name(part.strip()) for part in text.split(",")))) if text else ()


def is_time(created: object) -> bool:
    """Whether a value can be seconds since 1970."""
    return isinstance(created, (int, float)) and 0.0 <= created < _END


@dataclass(frozen=True)
class Column:
    """A column of the SQL table.

    Attributes
    ----------
    name : str
        Of the column and of the field of `StoredRun`.
    sql : str
        Its type there.
    types : frozenset of type
        Of a value that SQLite gives back; it keeps anything anywhere.
    of_result : callable or None
        Reads it off a result.
    added : bool
        Whether stores made by earlier versions lack it.
    """

    name: str
    sql: str
    types: frozenset[type]
    of_result: Callable[[RunResult], Any] | None
    added: bool

    @classmethod
    def of(cls, described: Field[Any]) -> Column:
        """Return the column of a field."""
        hint, _, optional = str(described.type).partition(" | ")
        sql, types = _KINDS[hint]
        if optional:
            return cls(described.name, sql, frozenset({*types, NoneType}), **described.metadata)
        return cls(described.name, f"{sql} NOT NULL", frozenset(types), **described.metadata)

    @staticmethod
    def to_sql(value: Any) -> Any:
        """Return a field's value as SQLite keeps it."""
        if isinstance(value, tuple):
            return ",".join(value)
        return int(value) if isinstance(value, bool) else value


_KINDS: dict[str, tuple[str, tuple[type, ...]]] = {
    "str": ("TEXT", (str,)),
    "tuple[str, ...]": ("TEXT", (str,)),
    "int": ("INTEGER", (int,)),
    "bool": ("INTEGER", (int,)),
    "float": ("REAL", (float, int)),
    "bytes": ("BLOB", (bytes,)),
}
COLUMNS = tuple(Column.of(described) for described in fields(StoredRun))
"""Of the SQL table, `hash` first."""

READABLE = tuple(column.name for column in COLUMNS if column.sql != "BLOB")
"""The columns that are printed and exported."""

_REALS = tuple(column.name for column in COLUMNS if column.sql.startswith("REAL"))
_FLAGS = tuple(described.name for described in fields(StoredRun) if described.type == "bool")


@lru_cache(maxsize=256)
def _wrong_type(types: tuple[type, ...]) -> str | None:
    """Return the first column of a row that has a value of a wrong type; a table of thousands has few kinds of rows."""
    return next((column.name for column, kind in zip(COLUMNS, types, strict=True) if kind not in column.types), None)


def _known(value: int | None) -> str:
    return NONE if value is None else count(value)


SHOWN = (
    TextColumn("Made", "When the run was finished", lambda r: r.created, lambda r: r.date),
    TextColumn(
        "Data", "The data set; gen.: generated", lambda r: r.data,
        lambda r: f"{r.data} gen." if r.generated else r.data,
    ),
    TextColumn("Method", "What was trained", lambda r: r.method, lambda r: r.method_name),
    TextColumn(
        "Noise", "1 − p, 0 to 1", lambda r: r.noise if r.depth else None,
        lambda r: fixed(r.noise, 2) if r.depth else NONE, "0.00",
    ),
    TextColumn("Depth", "Layers of the stack", lambda r: r.depth, lambda r: count(r.depth), "00"),
    TextColumn(
        "Split",
        ("Which random 80 % was trained on; whole: all training samples; "
            "25 %, fold: what took the place of a test part; val.: judged on the other 20 %"),
        lambda r: r.split_name, lambda r: r.split_name,
    ),
    TextColumn("Seed", "Of split and solver", lambda r: r.seed, lambda r: count(r.seed), "0\u202f000"),
    TextColumn("Error %", "Test error in per cent", lambda r: r.error, lambda r: r.rate.value, "00.00"),
    TextColumn(
        "95 %", "Interval of the error, per cent", lambda r: r.rate.high - r.rate.low,
        lambda r: r.rate.interval, "00.00–00.00",
    ),
    TextColumn("n test", "Test samples", lambda r: r.n_test, lambda r: count(r.n_test), "50\u202f000"),
    TextColumn(
        "C", "Penalty of the SVM", lambda r: r.C,
        lambda r: NONE if r.C is None else number(float(f"{r.C:.3g}" if r.C >= 0.01 else f"{r.C:.2g}")), "0.0012",
    ),
    TextColumn(
        "n SV", "Support vectors", lambda r: r.n_support, lambda r: _known(r.n_support), "50\u202f000",
    ),
    TextColumn(
        "Time s", "Seconds it took", lambda r: r.seconds, lambda r: fixed(r.seconds, 1), "0\u202f000.0",
    ),
    TextColumn("Tag", "Your own words (F2 edits)", lambda r: r.tags, lambda r: ", ".join(r.tags)),
)  # fmt: skip
"""The columns of the table that people see; the last one is the one that they write."""
