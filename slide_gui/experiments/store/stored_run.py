"""Define the columns of the table of runs, and the parameters that all runs on one error curve have in common.

The fields of `StoredRun` define the columns of the SQL table and of exported CSV files. They also define how the value
of each column is read from a result. `SHOWN` defines the columns of the table in the window and on the command line. A
new column of any of these tables needs only one or two lines in this module.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import Field, asdict, dataclass, field, fields, replace
from functools import cached_property, lru_cache
from math import isfinite
from types import NoneType
from typing import Any, ClassVar

from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.svm.criteria import AUTO, LEARNED_BY, resolved
from slide_gui.core.svm.parameters import LOSSES, SvmParameters
from slide_gui.data.dataset import HeldOut
from slide_gui.error_rate import ErrorRate, check_row_errors
from slide_gui.experiments.documents import from_document
from slide_gui.experiments.runs.result import RunResult, describe_widths, width_criterion
from slide_gui.experiments.runs.spec import FIT_ROWS, METHODS, RunSpec
from slide_gui.results_version import is_current
from slide_gui.text import NONE, TextColumn, clean_name, count, counted, dataset_title, fixed, level, number, unmarked

_END = 253402300800.0  # The year 10000 begins at this number of seconds since 1970. Valid times are earlier.


@dataclass(frozen=True)
class Setting:
    """The parameters that all runs on one error curve have in common.

    Attributes
    ----------
    spec : RunSpec
        Spec as returned by `RunSpec.checked`, without a data set. The noise, split, seed and depth of this spec have
        their default values, but a depth of 0 is kept.
    warm : bool
        True if the learning of the widths started from the widths of a run at another noise level. The starting point
        does not affect the objective function that the learning minimises.
    """

    spec: RunSpec
    warm: bool = False

    @classmethod
    def of(cls, spec: RunSpec) -> Setting:
        """Return the setting of a run: its spec without the values in which runs on one curve differ."""
        usual = StackParameters()
        stack = replace(spec.stack, noise=usual.noise, depth=usual.depth if spec.stack.depth else 0)
        svm = replace(spec.svm, groups=None, seed=0, near=None)
        members = tuple(each.drawn(0, 0) for each in spec.members)
        anywhere = replace(spec, split=0, seed=0, neighbour=None, stack=stack, svm=svm, members=members)
        return cls(anywhere.on(fingerprint="", source="", held_out=None), spec.neighbour is not None)

    @staticmethod
    @lru_cache(maxsize=1024)  # The cache can hold the 376 settings of all runs of the full evaluation protocol.
    def from_text(text: str | None) -> Setting | None:
        """Return the setting that `text` describes, or None if the text is None or unreadable."""
        try:
            different = json.loads(text or "")
            warm = bool(different.pop("warm", False))
            spec = RunSpec.from_document({"fingerprint": "", **different})
            spec.checked()  # This raises a ValueError if a value is not allowed.
            return Setting(spec, warm)
        except (ValueError, TypeError, AttributeError, RecursionError):
            return None

    @cached_property
    def text(self) -> str:
        """JSON string of all values that differ from the defaults. Equal settings have equal strings."""
        different = _different(self.spec.document(), RunSpec("").document())
        return json.dumps({**different, **({"warm": True} if self.warm else {})}, sort_keys=True)

    def at(self, base: RunSpec, noise: float, depth: int, split: int, seed: int) -> RunSpec:
        """Return the spec of a run with this setting, the data of `base` and the given noise, depth, split and seed."""
        stack = replace(self.spec.stack, noise=noise, depth=depth)
        places = {name: getattr(base, name) for name in ("fingerprint", "source", "held_out")}
        return replace(self.spec, stack=stack).on(**places, split=split, seed=seed).checked()

    def covers(self, other: Setting) -> bool:
        """Return True if a run with the setting `other` can be a point of an error curve for this setting.

        If either setting has depth 0, the parameters of the stack are not compared, because they have no effect on a
        run without layers.
        """
        mine, theirs = self.spec, other.spec
        if theirs.stack.depth == 0 or mine.stack.depth == 0:
            mine, theirs = (replace(each, stack=StackParameters(), fit_rows="training") for each in (mine, theirs))
        return mine == theirs

    def words(self, n_classes: int = 0) -> str:
        """Describe the setting in words: kind of error, training rows, selection of the widths and other parameters.

        Parameters
        ----------
        n_classes : int
            Number of classes of the data, or 0 if unknown. If it is known and the criterion for learning widths is
            automatic, the description names the criterion that is selected for this number of classes.
        """
        spec, usual = self.spec, RunSpec("")
        parts = ["validation error" if spec.evaluate == "validation" else "test error"]
        parts.append("trained on 80 %" if spec.training == "split" else "trained on all rows")
        if spec.labels is not None:
            parts.append(counted(spec.labels, "label"))
        learns = METHODS[spec.method].learns
        parts.append(_widths(spec.svm, n_classes) if learns else METHODS[spec.method].text)
        if spec.svm.loss != usual.svm.loss:
            parts.append(LOSSES[spec.svm.loss].text)
        if spec.svm.C is not None:
            parts.append(f"C = {spec.svm.C:g}")
        if spec.test_rows is not None:
            parts.append(f"evaluated on {counted(spec.test_rows, 'row')}")
        if spec.fit_rows != usual.fit_rows:
            parts.append(FIT_ROWS[spec.fit_rows].text)
        more = _different(vars(replace(spec.stack, noise=0.0, depth=0)), vars(replace(usual.stack, noise=0.0, depth=0)))
        rest = _different(vars(spec.svm), {**vars(usual.svm), **{name: vars(spec.svm)[name] for name in _NAMED}})
        parts += [f"{name} {value}" for name, value in (*more.items(), *rest.items())]
        return " · ".join(parts)


# Fields of `SvmParameters` that `Setting.words` omits or describes separately.
_NAMED = ("criterion", "widths", "loss", "C", "groups", "seed", "near")


def _widths(svm: SvmParameters, n_classes: int) -> str:
    if svm.widths == "learn":
        if svm.criterion == AUTO and n_classes > 1:
            return f"learned widths ({width_criterion(resolved(AUTO, n_classes))}, auto)"
        return f"learned widths ({LEARNED_BY[svm.criterion].short})"
    return "median widths" if svm.widths == "median" else "given widths"


def _different(document: Mapping[str, Any], usual: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that differ from the defaults in `usual`, at all levels of a nested dictionary."""
    different = {}
    for name, value in document.items():
        before = usual.get(name)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            inner = _different(value, before)
            if inner:
                different[name] = inner
        elif value != before:
            different[name] = value
    return different


def stored(of_result: Callable[[RunResult], Any] | None, *, added: bool = False) -> Any:
    """Return a dataclass field that defines a column of `StoredRun`.

    Parameters
    ----------
    of_result : callable or None
        Function that reads the value from a result. None for values that only the store contains.
    added : bool
        True if stores written by earlier versions of the program lack the column. When such a store is opened, the
        column is added and filled from the stored results. Its value is None for a run whose result cannot be read.
    """
    metadata = {"of_result": of_result, "added": added}
    return field(default=None, metadata=metadata) if added else field(metadata=metadata)


@dataclass(frozen=True)
class StoredRun:
    """A row of the table of runs. The fields are the columns of the SQL table, in the same order.

    Attributes
    ----------
    hash : str
        Hash of the spec and the results version.
    data, fingerprint : str
        Name of the data set and SHA-256 of its contents.
    generated : bool
        True if the data were made by a seeded generator, False if they were read from files.
    method, noise, depth, split, seed, training, evaluate
        Parameters of the run, as in `RunSpec`.
    error : float
        Error on the evaluated rows, as a fraction.
    n_test : int
        Number of evaluated rows.
    validation_error : float or None
        Error on the validation rows of the split. None if there are no validation rows.
    seconds : float
        Duration of the run in seconds.
    created : float
        Time at which the run was first saved, in seconds since the beginning of 1970.
    tags : tuple of str
        Tags that the user has given to the run.
    deleted : bool
        True if the user deleted the run. It stays in the store, but is hidden from the user.
    C : float or None
        Penalty of the SVM. None if the run has no SVM, or the penalty is unknown.
    n_support : int or None
        Number of support vectors. None if the run has no SVM, or the number is unknown.
    numerics : str or None
        The results version (`RESULTS_VERSION`) of the program that computed the run. None if unknown.
    chosen_by : str or None
        Key of the criterion that selected the widths, or `GUARD` if median widths replaced the learned widths. Empty if
        no widths were learned, None if unknown.
    held_out : HeldOut or None
        Rule by which the test set was held out. None if the data have their own test set, or the rule is unknown.
    setting : str or None
        The parameters that all runs on one error curve have in common, in the form of `Setting.text`. None if unknown.
    row_errors : bytes or None
        The misclassified rows, packed by `error_rate.row_errors`. None if unknown.
    n_train : int or None
        Number of training rows. None if unknown.
    features : float or None
        Duration of feature generation in seconds, as in `Timings`. None if unknown.
    validation_loss : float or None
        Mean hinge loss on the validation rows, as in `RunResult`. None if unknown.
    best_epoch : int or None
        Number of the fine-tuning epoch whose weights the network uses. None without fine-tuning, or if unknown.
    is_shipped : bool
        True for a run that was shipped with the program. The table has no column for this value.
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
    seconds: float = stored(lambda result: result.seconds)
    created: float = stored(None)
    tags: tuple[str, ...] = stored(None)
    deleted: bool = stored(None)
    C: float | None = stored(lambda result: result.classifier and result.classifier.C, added=True)
    n_support: int | None = stored(lambda result: result.classifier and result.classifier.n_support, added=True)
    numerics: str | None = stored(lambda result: result.numerics, added=True)
    chosen_by: str | None = stored(lambda result: result.chosen_by, added=True)
    held_out: HeldOut | None = stored(lambda result: result.spec.held_out, added=True)  # noqa: RUF009
    setting: str | None = stored(lambda result: Setting.of(result.spec).text, added=True)
    row_errors: bytes | None = stored(lambda result: result.row_errors, added=True)
    n_train: int | None = stored(lambda result: result.n_train, added=True)
    features: float | None = stored(lambda result: result.timings.features, added=True)
    validation_loss: float | None = stored(lambda result: result.validation_loss, added=True)
    best_epoch: int | None = stored(lambda result: result.best_epoch, added=True)

    @classmethod
    def of(
        cls, result: RunResult, created: float = 0.0, tags: tuple[str, ...] = (), *, deleted: bool = False
    ) -> StoredRun:
        """Create the row of a run from its result and from its date, tags and deletion mark, which the result lacks."""
        values = {column.name: column.of_result(result) for column in COLUMNS if column.of_result is not None}
        return cls(**values, created=created, tags=tags, deleted=deleted)

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> StoredRun:
        """Create a `StoredRun` from a row of the SQL table. Missing values become None; unknown columns are ignored.

        Raises
        ------
        ValueError
            If a value is invalid for its column. The message names the column.
        """
        values: dict[str, Any] = {column.name: row.get(column.name) for column in COLUMNS}
        bad = _wrong_type(tuple(map(type, values.values())))
        bad = bad or next((name for name in _REALS if values[name] is not None and not isfinite(values[name])), None)
        bad = bad or next((name for name in _FLAGS if values[name] not in (0, 1)), None)
        bad = bad or ("error" if not 0.0 <= values["error"] <= 1.0 else None)
        bad = bad or ("n_test" if not 1 <= values["n_test"] < 1 << 63 else None)
        bad = bad or ("created" if not is_time(values["created"]) else None)
        errors = values["row_errors"]
        bad = bad or ("row_errors" if errors is not None and not check_row_errors(errors, values["n_test"]) else None)
        if bad is not None:
            raise ValueError(f"{bad} is {ascii(values[bad])[:40]}")
        for name in _FLAGS:
            values[name] = bool(values[name])
        values["data"] = unmarked(values["data"], values["generated"])
        values["tags"] = tags_of(values["tags"])
        values["held_out"] = None if values["held_out"] is None else _held_out(values["held_out"])
        return cls(**values)

    def row(self) -> dict[str, Any]:
        """Return the value of each column in the form that the SQL table stores."""
        return {column.name: _to_sql(getattr(self, column.name)) for column in COLUMNS}

    def document(self) -> dict[str, Any]:
        """Return all columns except `row_errors`, as values that JSON and CSV support."""
        return {name: getattr(self, name) for name in READABLE} | {"held_out": str(self.held_out or "")}

    def with_tags(self, text: str) -> StoredRun:
        """Return a copy of the row with new tags, which are given as a comma-separated string."""
        return replace(self, tags=tags_of(text))

    is_shipped: ClassVar[bool] = False

    @property
    def is_current(self) -> bool:
        """True if the run can be reused, because this version of the program would compute the same result."""
        return is_current(self.numerics)

    @cached_property
    def rate(self) -> ErrorRate:
        """The error with its 95 % confidence interval."""
        return ErrorRate.of_run(self.error, self.n_test)

    @property
    def spec(self) -> RunSpec:
        """Spec of the run, without the source of its data. The value of the field `setting` must be readable."""
        setting = Setting.from_text(self.setting)
        assert setting is not None
        return setting.at(RunSpec(self.fingerprint), self.noise, self.depth, self.split, self.seed)

    @property
    def title(self) -> str:
        """Display name of the data."""
        return dataset_title(self.data, self.generated)

    @property
    def method_name(self) -> str:
        """Display name of the method."""
        return METHODS[self.method].text if self.method in METHODS else self.method

    @property
    def split_name(self) -> str:
        """Short description of the training rows and the held-out test rows.

        If the run is evaluated on validation rows, the description ends with "val.".
        """
        whole, held_out = self.training == "whole", self.held_out
        name = "whole" if whole else str(self.split)
        if held_out is not None:
            short = f"fold {held_out.fold + 1}/{held_out.folds}" if held_out.folds else f"{100 * held_out.share:g} %"
            name = short if whole else f"{name}, {short}"
        return name if self.evaluate == "test" else f"{name}, val."

    @property
    def date(self) -> str:
        """Local time at which the run was first saved."""
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(self.created))

    @property
    def note(self) -> str:
        """Reason why the run is not reused if the user requests it again. Empty if the run is reused."""
        if self.is_current:
            return ""
        return f"Computed with results version {self.numerics or 'unknown'}, so the run is not reused for new requests"

    @property
    def widths(self) -> str:
        """Description of how the widths were selected. Empty if the widths were given or their selection is unknown."""
        setting = None if self.chosen_by or self.setting is None else Setting.from_text(self.setting)
        is_median = setting is not None and setting.spec.svm.widths == "median"
        return "median widths" if is_median else describe_widths(self.chosen_by or "")

    @property
    def setting_words(self) -> str:
        """Description of the run's setting, as `Setting.words` returns it. Empty if the setting is unknown."""
        setting = Setting.from_text(self.setting)
        return "" if setting is None else setting.words()

    @property
    def tip(self) -> str:
        """Summary of the run in a few lines, for a tooltip."""
        what = f"{self.method_name} on {self.title}, {self.date}"
        widths = self.widths[:1].upper() + self.widths[1:]
        lines = (what, str(self.rate), widths, self.setting_words, str(self.held_out or ""), self.note)
        return "\n".join(filter(None, lines))

    @cached_property
    def words(self) -> str:
        """Lower-case text that the table's filter searches. Parameters have a form such as "depth=2"."""
        numbers = f"noise={level(self.noise)}; depth={self.depth}; seed={self.seed}; {100 * self.error:.2f}"
        words = (self.date, self.title, "gen." * self.generated, self.method_name, self.split_name, numbers, *self.tags)
        return " ".join((*words, self.note, self.widths, self.setting_words, str(self.held_out or ""))).lower()


@lru_cache(maxsize=64)
def _held_out(text: str) -> HeldOut:
    try:
        return from_document(HeldOut, json.loads(text)).checked()
    except (ValueError, RecursionError):
        raise ValueError(f"held_out is {ascii(text)[:40]}") from None


def tags_of(text: str) -> tuple[str, ...]:
    """Return the distinct tags in a comma-separated string."""
    return tuple(dict.fromkeys(filter(None, (clean_name(part.strip()) for part in text.split(","))))) if text else ()


def is_time(created: object) -> bool:
    """Return True if a value is a valid Unix time (seconds since 1970)."""
    return isinstance(created, (int, float)) and 0.0 <= created < _END


def _to_sql(value: Any) -> Any:
    """Convert the value of a field to the form that SQLite stores."""
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, HeldOut):
        return json.dumps(asdict(value), separators=(",", ":"))
    return int(value) if isinstance(value, bool) else value


@dataclass(frozen=True)
class Column:
    """A column of the SQL table.

    Attributes
    ----------
    name : str
        Name of the column and of the field of `StoredRun`.
    sql : str
        SQL type of the column.
    types : frozenset of type
        Valid Python types of the column's values. They are checked, because SQLite accepts any type in any column.
    of_result : callable or None
        Function that reads the value from a result. None for values that only the store contains.
    added : bool
        True if stores written by earlier versions of the program lack the column.
    """

    name: str
    sql: str
    types: frozenset[type]
    of_result: Callable[[RunResult], Any] | None
    added: bool

    @classmethod
    def of(cls, described: Field[Any]) -> Column:
        """Return the SQL column that a field of `StoredRun` defines."""
        hint, _, optional = str(described.type).partition(" | ")
        sql, types = _KINDS[hint]
        if optional:
            return cls(described.name, sql, frozenset({*types, NoneType}), **described.metadata)
        return cls(described.name, f"{sql} NOT NULL", frozenset(types), **described.metadata)


_KINDS: dict[str, tuple[str, tuple[type, ...]]] = {
    "str": ("TEXT", (str,)),
    "tuple[str, ...]": ("TEXT", (str,)),
    "int": ("INTEGER", (int,)),
    "bool": ("INTEGER", (int,)),
    "float": ("REAL", (float, int)),
    "bytes": ("BLOB", (bytes,)),
    "HeldOut": ("TEXT", (str,)),  # a JSON object
}
# The columns of the SQL table. The first column is `hash`.
COLUMNS = tuple(Column.of(described) for described in fields(StoredRun))

# Names of the columns that are printed and exported: all columns except binary ones.
READABLE = tuple(column.name for column in COLUMNS if column.sql != "BLOB")

_REALS = tuple(column.name for column in COLUMNS if column.sql.startswith("REAL"))
_FLAGS = tuple(described.name for described in fields(StoredRun) if described.type == "bool")


@lru_cache(maxsize=256)
def _wrong_type(types: tuple[type, ...]) -> str | None:
    """Return the name of the first column whose value has a wrong type, or None if all types are valid.

    The result is cached, because most rows have values of the same types.
    """
    return next((column.name for column, kind in zip(COLUMNS, types, strict=True) if kind not in column.types), None)


# The columns in which runs are shown to the user. Only the last column, which contains the tags, can be edited.
SHOWN = (
    TextColumn("Date", "Time at which the run was first saved", lambda r: r.created, lambda r: r.date),
    TextColumn(
        "Data", "Name of the data set (“gen.” means generated data)", lambda r: r.data.lower(),
        lambda r: f"{r.data} gen." if r.generated else r.data,
    ),
    TextColumn("Method", "Representation and classifier", lambda r: r.method_name.lower(), lambda r: r.method_name),
    TextColumn(
        "Noise", "Noise level 1 − p, from 0 to 1", lambda r: r.noise if r.depth else None,
        lambda r: level(r.noise) if r.depth else NONE, "0.00",
    ),
    TextColumn("Depth", "Number of layers", lambda r: r.depth, lambda r: count(r.depth), "00"),
    TextColumn(
        "Split",
        ("Index of the split into 80 % training and 20 % validation rows, or “whole” if there is no split. “25 %” or "
            "“fold” shows how the test set was held out. “val.” means that the validation rows were evaluated"),
        lambda r: (r.training, r.split, r.split_name), lambda r: r.split_name,
    ),
    TextColumn("Seed", "Random seed", lambda r: r.seed, lambda r: count(r.seed), "0\u202f000"),
    TextColumn("Error %", "Error rate in per cent", lambda r: r.error, lambda r: r.rate.value, "00.00"),
    TextColumn(
        "95 %", "95 % confidence interval of the error, in per cent", lambda r: r.rate.high - r.rate.low,
        lambda r: r.rate.interval, "00.00–00.00",
    ),
    TextColumn("n test", "Number of evaluated rows", lambda r: r.n_test, lambda r: count(r.n_test), "50\u202f000"),
    TextColumn(
        "C", "Penalty of the SVM", lambda r: r.C,
        lambda r: NONE if r.C is None else number(float(f"{r.C:.3g}" if r.C >= 0.01 else f"{r.C:.2g}")), "0.0012",
    ),
    TextColumn(
        "n SV", "Number of support vectors", lambda r: r.n_support,
        lambda r: NONE if r.n_support is None else count(r.n_support), "50\u202f000",
    ),
    TextColumn(
        "Time s", "Duration of the run in seconds", lambda r: r.seconds, lambda r: fixed(r.seconds, 1), "0\u202f000.0",
    ),
    TextColumn("Tag", "Your tags (press F2 to edit)", lambda r: ", ".join(r.tags).lower(), lambda r: ", ".join(r.tags)),
)  # fmt: skip
