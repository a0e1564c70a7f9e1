"""Damaged and hostile stores: every command that reads or writes one ends in DataError, and nothing whole is lost."""

from __future__ import annotations

import os
import random
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from slide_gui.cli import main
from slide_gui.data.errors import DataError
from slide_gui.experiments.runs.spec import SweepPoint
from slide_gui.experiments.store.store import RunStore
from slide_gui.experiments.sweeps import executor
from slide_gui.experiments.sweeps.sweep import run_points
from tests.damage import how_many
from tests.experiments.damaged_stores import (
    BY_HASH,
    DATA,
    FIRST,
    KINDS,
    RESULTS,
    copied,
    make_stores,
    reading,
    whole_runs,
)

POINTS = [SweepPoint(0.4, 1, result.spec.split, 0, result.spec) for result in RESULTS[:5]]


@pytest.fixture(scope="module")
def memory() -> Iterator[Path]:
    """A folder where nothing waits for a disk, if there is one."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def whole(memory: Path) -> Path:
    return make_stores(memory / "whole")


@pytest.fixture(autouse=True)
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that a sweep makes again is there at once."""
    monkeypatch.setattr(executor, "run", lambda dataset, asked, **_: BY_HASH[asked.hash])


def files(path: Path) -> dict[str, bytes]:
    """Return all that stands in the folder of a store, but for the index of the log, which is made anew."""
    found = (file for file in path.parent.rglob("*") if file.is_file() and not file.name.endswith("-shm"))
    return {str(file): file.read_bytes() for file in found}


@pytest.mark.parametrize("kind", KINDS)
def test_that_a_damaged_store_ends_in_one_sentence_and_loses_nothing(
    kind: str, whole: Path, memory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, damage = KINDS[kind]
    chance, refused, said = random.Random(kind), [], []
    for number in range(-(-how_many(40) // len(KINDS))):
        path = copied(whole, name, memory / "store")
        damage(path, chance)
        before = files(path) if name == "closed" else {}  # a log is settled into the file by whoever closes last

        with suppress(DataError):
            for read in reading(path):
                try:
                    read()
                except DataError as error:
                    refused.append(str(error))
                except KeyError:
                    pass
        command = ("list", "show", "check", "export")[number % 4]
        further = {"show": [FIRST.spec.hash[:8]], "export": ["-o", str(tmp_path / "table.csv")]}.get(command, [])
        assert main(["runs", command, str(path), *further]) in (0, 1, 2)
        assert main(["runs", "check", str(path), "--save-whole", str(memory / f"saved-{kind}-{number}.sqlite")]) in (
            0,
            1,
        )
        said.append(capsys.readouterr().err)
        assert files(path) == {**files(path), **before}

        kept = whole_runs(path)
        saved = memory / f"saved-{kind}-{number}.sqlite"
        if saved.exists():
            assert kept <= whole_runs(saved)
        for change in (
            lambda store: store.save(RESULTS[5]),
            lambda store: store.tag(FIRST.spec.hash, ["x"]),
            lambda store: store.delete([FIRST.spec.hash]),
            lambda store: run_points(DATA, POINTS, store),
        ):
            try:
                with RunStore(path) as store:
                    change(store)
            except DataError as error:
                refused.append(str(error))
        assert kept <= whole_runs(path)
    assert refused or kind == "log"  # of a damaged log SQLite takes what comes before the damage
    assert all(str(memory) in sentence and sentence.isprintable() for sentence in refused)
    assert not any("please report" in text for text in said)


def test_that_nothing_is_written_by_a_damaged_index(whole: Path, memory: Path) -> None:
    path = copied(whole, "closed", memory / "index")
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("PRAGMA writable_schema = ON")
        roots = dict(database.execute("SELECT name, rootpage FROM sqlite_master WHERE type = 'index'"))
        first, second = [root for name, root in roots.items() if name.startswith("sqlite_autoindex")][:2]
    content = bytearray(path.read_bytes())
    content[4096 * (first - 1) : 4096 * first] = content[4096 * (second - 1) : 4096 * second]
    path.write_bytes(content)
    before = path.read_bytes()
    for change in (lambda store: store.save(RESULTS[5]), lambda store: store.delete([FIRST.spec.hash])):
        damaged = pytest.raises(DataError, match=r"is damaged \(.*; list the undamaged runs with: slide-gui runs check")
        with damaged, RunStore(path) as store:
            change(store)
    assert path.read_bytes() == before


def test_that_a_header_that_forbids_writing_is_damage(whole: Path, memory: Path) -> None:
    path = copied(whole, "closed", memory / "header")
    content = bytearray(path.read_bytes())
    content[18] = 13
    path.write_bytes(content)
    assert len(whole_runs(path)) == 5
    with pytest.raises(DataError, match="requires a newer format than SQLite can write"), RunStore(path) as store:
        store.save(RESULTS[5])
