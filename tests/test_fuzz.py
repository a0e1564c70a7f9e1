"""Hostile input: a sample of what `python -m tests.long_run fuzz` tries by the million, and that it would notice."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slide_gui.data.errors import DataError
from slide_gui.data.open import open_data
from slide_gui.data.readers.csv import read_csv
from slide_gui.experiments.files.model_file import load_model
from slide_gui.experiments.files.provenance import FigureProvenance
from slide_gui.experiments.files.session import SUFFIX, read_session
from slide_gui.experiments.store.setting import Setting
from tests import fuzz
from tests.fuzz import try_one, try_slice
from tests.fuzz_targets import TARGETS, Target, target
from tests.long_run import main

SAMPLE, OF_SLOW, SEED = 40, 2, 2026
LINUX = pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="memory is measured by Linux's /proc")
EXAMPLES = settings(
    max_examples=25,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

# The sample ----------------------------------------------------------------------------------------------------------


@LINUX
@pytest.mark.filterwarnings("ignore:The inplace keyword")  # Dask's own, of pandas
@pytest.mark.parametrize("each", TARGETS, ids=lambda each: each.name)
def test_that_a_damaged_input_is_read_or_refused_in_one_sentence(each: Target, tmp_path: Path) -> None:
    each.read(each.whole(tmp_path))
    count = fuzz.slice_size(each, SAMPLE) if each.share > 0.2 else OF_SLOW
    results = [try_one(each, tmp_path, SEED, number) for number in range(count)]
    assert [result["failure"] for result in results if result["failure"]] == []
    assert sum(result["refused"] for result in results) > count // 20 or each.name in TOLERANT


TOLERANT = ("csv read otherwise", "setting of a curve", "settings", "store: log")
"""Targets that pass over what is damaged, or read what precedes it."""


# What the fuzzer finds -----------------------------------------------------------------------------------------------


def planted(read: Callable[[Path], object]) -> Target:
    """Return a target of one byte with this reader."""

    def write(folder: Path, *_: object) -> Path:
        (folder / "x").write_bytes(b"x")
        return folder / "x"

    return Target("planted", write, read, write)


def refuse(path: Path) -> None:
    raise DataError("is damaged", str(path))


def fail(path: Path) -> None:
    raise KeyError("x")


def refuse_in_two_lines(path: Path) -> None:
    error = DataError("is damaged")
    error.args = ("a\nb",)
    raise error


def take_memory(path: Path) -> None:
    np.ones(fuzz.BYTES // 8 + (1 << 21)).sum()


def refuse_for_lack_of_memory(path: Path) -> None:
    try:
        raise MemoryError
    except MemoryError as error:
        raise DataError("does not fit") from error


@LINUX
@pytest.mark.parametrize(
    ("read", "kind"),
    [
        (refuse, None),
        (fail, "KeyError"),
        (refuse_in_two_lines, "sentence"),
        (take_memory, "memory"),
        (refuse_for_lack_of_memory, "memory"),
    ],
)
def test_that_everything_but_one_sentence_is_a_failure(
    read: Callable[[Path], object], kind: str | None, tmp_path: Path
) -> None:
    failure = try_one(planted(read), tmp_path, 0, 7)["failure"]
    assert (failure and failure[0]) == kind


@LINUX
def test_that_an_input_is_slow_if_it_is_slow_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(fuzz, "_clock", lambda: now[0])
    seconds = iter([3.0, 0.1, 0.1, 2.0, 3.0, 4.0])

    def read(path: Path) -> None:
        now[0] += next(seconds)

    assert try_one(planted(read), tmp_path, 0, 0)["failure"] is None
    next(seconds)
    assert try_one(planted(read), tmp_path, 0, 0)["failure"] == ("slow", "took 2.0 s")


@LINUX
@pytest.mark.parametrize(
    ("end", "name"), [(lambda: os.kill(os.getpid(), signal.SIGKILL), "SIGKILL"), (signal.pause, "SIGALRM")]
)
def test_that_an_input_that_ends_or_blocks_its_process_is_one_failure(
    end: Callable[[], None], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fuzz, "_STUCK", 0.5)
    calls = []

    def end_later(path: Path) -> None:
        calls.append(path)
        if len(calls) == 4:  # the first is the undamaged one
            end()

    results = try_slice(planted(end_later), 0, 10, 20)
    assert [result["failure"] for result in results] == [None, None, ("crash", f"the process ended by {name}")]


@LINUX
def test_that_a_run_counts_what_it_did_and_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fuzz, "_SLICE", 10)
    monkeypatch.setattr(fuzz, "TARGETS", (target("idx"), target("csv")))
    summary = tmp_path / "fuzz.json"
    for inputs in (25, 40):
        assert main(["fuzz", "--amount", str(inputs), "--seed", "3", "--summary", str(summary)]) == 0
        counts = json.loads(summary.read_text())["counts"]
        assert inputs == sum(each["inputs"] for each in counts.values())
    assert {name: each["inputs"] for name, each in counts.items()} == {"idx": 20, "csv": 20}
    assert counts["idx"]["refused"] == sum(try_one(target("idx"), tmp_path, 3, k)["refused"] for k in range(20))
    with pytest.raises(SystemExit):
        main(["fuzz", "--seed", "4", "--summary", str(summary)])
    assert "another kind, commit or seed" in capsys.readouterr().err


# What hypothesis makes ----------------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
CELLS = st.text(st.characters(codec="utf-8"), max_size=6) | st.floats().map(str) | st.integers().map(str)
STARTS = st.sampled_from((b"", b"\x93NUMPY\x01\0", b"PK\x03\x04", b"\0\0\x08\x02"))
TABLES = st.tuples(st.sampled_from(",;\t"), st.lists(st.lists(CELLS, max_size=6), max_size=6))


@contextmanager
def only_refusals_of(path: Path) -> Iterator[None]:
    """Let a DataError pass that names the file."""
    try:
        yield
    except DataError as error:
        if str(path) not in str(error):
            raise AssertionError(f"does not name the file: {error}") from error


@EXAMPLES
@given(session=JSON, version=JSON | st.just(2), field=st.sampled_from(("source", "parameters", "selection", "choices")))
def test_that_any_session_is_read_or_refused(tmp_path: Path, session: object, version: object, field: str) -> None:
    path = tmp_path / f"x{SUFFIX}"
    for inside in (session, {field: session}):
        path.write_text(json.dumps({"format": "slide-gui session", "version": version, "session": inside}))
        with only_refusals_of(path):
            assert read_session(path) is not None


@EXAMPLES
@given(document=JSON, runs=st.lists(JSON, max_size=3), points=st.lists(JSON, max_size=3))
def test_that_any_document_of_a_figure_is_read_or_refused(
    tmp_path: Path, document: object, runs: list[object], points: list[object]
) -> None:
    path = tmp_path / "x.json"
    whole = json.loads((target("document of a figure").whole(tmp_path)).read_text())
    for text in (document, {**whole, "runs": runs}, {**whole, "points": points}, {**whole, "source": document}):
        path.write_text(json.dumps(text))
        with pytest.raises(DataError, match="is not the document of a figure"):
            FigureProvenance.read(path)


@EXAMPLES
@given(text=st.text(max_size=30) | JSON.map(json.dumps))
def test_that_any_setting_is_read_or_passed_over(text: str) -> None:
    assert isinstance(Setting.from_text(text), (Setting, type(None)))


@EXAMPLES
@given(table=TABLES, content=st.binary(max_size=200), start=STARTS)
def test_that_any_table_and_any_bytes_are_read_or_refused(
    tmp_path: Path, table: tuple[str, list[list[str]]], content: bytes, start: bytes
) -> None:
    mark, rows = table
    text = "\n".join(mark.join(row) for row in rows).encode(errors="replace")
    for name, read, inside in (
        ("x.csv", read_csv, text),
        ("x.csv", lambda path: open_data([path]), text),
        ("x", lambda path: open_data([path]), start + content),
        ("x", load_model, start + content),
    ):
        path = tmp_path / name
        path.write_bytes(inside)
        with only_refusals_of(path):
            read(path)
