"""A sample of the millions of inputs of `python -m tests.long_run fuzz`, and tests that it notices failures."""

import json
import os
import signal
from pathlib import Path

import numpy as np
import pytest

from slide_gui.data.errors import DataError
from tests import fuzz
from tests.fuzz import try_one, try_slice
from tests.fuzz_targets import TARGETS, Target, target
from tests.long_run import main

SAMPLE, OF_SLOW, SEED = 40, 2, 2026
LINUX = pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="memory is measured by Linux's /proc")


@LINUX
@pytest.mark.filterwarnings("ignore:The inplace keyword")  # pandas warns of its use by Dask
@pytest.mark.parametrize("each", TARGETS, ids=lambda each: each.name)
def test_that_a_damaged_input_is_read_or_refused_in_one_sentence(each, tmp_path):
    each.read(each.whole(tmp_path))
    is_slow = each.share < 0.2
    count = OF_SLOW if is_slow else fuzz.slice_size(each, SAMPLE)
    results = [try_one(each, tmp_path, SEED, number) for number in range(count)]
    assert [result["failure"] for result in results if result["failure"]] == []
    # A store with some changed values is still valid, so both inputs of a slow target may be accepted.
    assert is_slow or each.name in TOLERANT or sum(result["refused"] for result in results) > count // 20


TOLERANT = ("csv read otherwise", "setting of a curve", "settings")
"""Targets that ignore damage."""


def planted(read):
    """Return a target of one byte that `read` reads."""

    def write(folder, *_):
        (folder / "planted").write_bytes(b"x")
        return folder / "planted"

    return Target("planted", write, read, write)


def raising(error):
    """Return a reader that raises `error` with {0} replaced by the file and {1} by a line break."""

    def read(path):
        error.args = tuple(each.format(path, "\n") for each in error.args)
        raise error

    return read


def refuse_for_lack_of_memory(path):
    try:
        raise MemoryError
    except MemoryError as error:
        raise DataError("does not fit", str(path)) from error


@LINUX
@pytest.mark.parametrize(
    ("read", "kind"),
    [
        (raising(DataError("{0} is damaged")), None),
        (raising(KeyError("x")), "KeyError"),
        (raising(DataError("is damaged")), "without the file"),
        (raising(DataError("{0}{1}is damaged")), "sentence"),
        (lambda _: np.ones(fuzz.BYTES // 8 + (1 << 21)).sum(), "memory"),
        (refuse_for_lack_of_memory, "memory"),
    ],
)
def test_that_errors_other_than_one_sentence_and_too_much_memory_are_failures(read, kind, tmp_path):
    failure = try_one(planted(read), tmp_path, 0, 7)["failure"]
    assert (failure and failure[0]) == kind


@LINUX
@pytest.mark.parametrize(
    ("end", "name"), [(lambda: os.kill(os.getpid(), signal.SIGKILL), "SIGKILL"), (signal.pause, "SIGALRM")]
)
def test_that_an_input_that_ends_or_blocks_its_process_is_one_failure(end, name, monkeypatch):
    monkeypatch.setattr(fuzz, "_STUCK", 0.5)
    calls = []

    def end_later(path):
        calls.append(path)
        if len(calls) == 4:  # the first call reads the undamaged input
            end()

    results = try_slice(planted(end_later), 0, 10, 20)
    assert [result["failure"] for result in results] == [None, None, ("crash", f"the process ended by {name}")]


@LINUX
def test_that_a_run_counts_its_inputs_and_resumes(tmp_path, monkeypatch, capsys):
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
