"""Hostile input: a sample of what `python -m tests.long_run fuzz` tries by the million, and that it would notice."""

from __future__ import annotations

import json
import os
import signal
import time
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
from tests.fuzz import Counts, finish_slice, start_slice, try_one
from tests.fuzz_targets import TARGETS, Target, target
from tests.long_run import main
from tests.mutants import how_many

SAMPLE, OF_SLOW, SEED = 40, 2, 2026
LINUX = pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="memory is measured by Linux's /proc")
EXAMPLES = settings(
    max_examples=how_many(40),
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

# The sample ----------------------------------------------------------------------------------------------------------


@LINUX
@pytest.mark.filterwarnings("ignore:The inplace keyword")  # Dask's own, of pandas
@pytest.mark.parametrize("each", TARGETS, ids=lambda each: each.name)
def test_that_a_damaged_input_ends_in_one_sentence(each: Target, tmp_path: Path) -> None:
    counts = Counts()
    each.read(each.whole(tmp_path))  # whole, it is read
    tried = fuzz.slice_size(each, SAMPLE) if each.share > 0.2 else OF_SLOW
    for number in range(tried):
        try_one(each, tmp_path, SEED, number, counts)
    assert counts.failures == []
    assert counts.inputs == tried
    assert counts.refused > tried // 20 or each.name in TOLERANT


TOLERANT = ("csv read otherwise", "setting of a curve", "settings", "store: log")
"""What is refused there is passed over, or taken as far as it is whole."""


# What the fuzzer notices ---------------------------------------------------------------------------------------------


def planted(read: object, tmp_path: Path) -> Target:
    """Return a target that reads so what is written below a folder."""

    def write(folder: Path, *_: object) -> Path:
        path = folder / "x"
        path.write_bytes(b"x")
        return path

    return Target("planted", write, read, write)  # type: ignore[arg-type]


def refuse(path: Path) -> None:
    raise DataError("is damaged", str(path))


def fail(path: Path) -> None:
    raise KeyError("x")


def say_two_lines(path: Path) -> None:
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
    ("read", "kinds"),
    [
        (refuse, []),
        (fail, ["KeyError"]),
        (say_two_lines, ["sentence"]),
        (take_memory, ["memory"]),
        (refuse_for_lack_of_memory, ["memory"]),
    ],
)
def test_that_the_fuzzer_tells_one_sentence_from_everything_else(
    read: object, kinds: list[str], tmp_path: Path
) -> None:
    counts = Counts()
    try_one(planted(read, tmp_path), tmp_path, 0, 7, counts)
    assert [failure.kind for failure in counts.failures] == kinds
    assert (counts.inputs, counts.failed) == (1, len(kinds))


@LINUX
def test_that_the_fuzzer_notices_what_is_slow_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz, "SECONDS", 0.02)
    calls = []

    def slow_once(path: Path) -> None:
        calls.append(path)
        time.sleep(0.05 if len(calls) == 1 else 0.0)

    counts = Counts()
    try_one(planted(slow_once, tmp_path), tmp_path, 0, 0, counts)
    assert counts.failures == []
    try_one(planted(lambda path: time.sleep(0.05), tmp_path), tmp_path, 0, 0, counts)
    assert [failure.kind for failure in counts.failures] == ["slow"]


@LINUX
@pytest.mark.parametrize(
    ("end", "what"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "the process ended by signal 9"),
        (lambda: time.sleep(100), "nothing came for 0.2 s"),
    ],
)
def test_that_a_process_that_dies_or_hangs_counts_as_one_failure_and_the_run_goes_on(
    end: Callable[[], None], what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fuzz, "_STUCK", 0.2)
    seen = []

    def end_later(path: Path) -> None:
        seen.append(path)
        if len(seen) == 4:  # the first is the whole one
            end()

    counts = finish_slice(start_slice(planted(end_later, tmp_path), 0, 10, 20))
    assert (counts.inputs, counts.failed) == (3, 1)
    assert [(failure.number, failure.kind, failure.what) for failure in counts.failures] == [(12, "crash", what)]


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
    again = Counts()
    for number in range(20):
        try_one(target("idx"), tmp_path, 3, number, again)
    assert counts["idx"]["refused"] == again.refused
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
