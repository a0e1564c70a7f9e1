"""If a disk fails at any moment, earlier files stay readable, no temporary file remains, the error names the file."""

import errno
import resource
import signal
from dataclasses import replace
from functools import cache
from itertools import count, product

import pytest
from PySide6.QtCore import QSettings

from slide_gui.data.errors import DataError
from slide_gui.experiments.runs.run import run
from slide_gui.experiments.store.store import RunStore
from slide_gui.gui.state.library import opened_store
from tests.experiments.tiny import rectangles, spec
from tests.faults import KINDS, faults
from tests.long_run import Child
from tests.savings import SAVINGS, Saving, serving

CODES = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EACCES)
RUNS = ("runs.sqlite",)


@pytest.fixture(scope="module", autouse=True)
def served():
    with serving():
        yield


@cache
def results():
    data = rectangles(60, 60)
    first = run(data, spec(data, widths="median", C=1.0, training="split", evaluate="validation"))
    return {1: first, 2: replace(first, spec=replace(first.spec, split=1))}


def store_run(folder, version):
    with RunStore(folder / "runs.sqlite") as store:
        store.save(results()[version])


def read_runs(folder):
    with RunStore(folder / "runs.sqlite", read_only=True) as store:
        assert store.check().faults == {}
        specs = [store.load(line.hash).spec for line in store.runs()]
    return {version for version, result in results().items() if result.spec in specs}


def changing(change):
    """Return a function that saves a version by applying `change` to a stored run."""

    def save(folder, version):
        with RunStore(folder / "runs.sqlite") as store:
            key = results()[1].spec.hash
            if key not in store:
                store.save(results()[1])
            change(store, key, version)

    return save


def read_tags(folder):
    with RunStore(folder / "runs.sqlite", read_only=True) as store:
        return set(map(int, store.stored(results()[1].spec.hash).tags))


def read_deleted(folder):
    with RunStore(folder / "runs.sqlite", read_only=True) as store:
        store.load(results()[1].spec.hash)
        return {2 if store.stored(results()[1].spec.hash).deleted else 1}


ALL = SAVINGS | {
    "run": Saving(store_run, read_runs, RUNS),
    "tags": Saving(changing(lambda store, key, version: store.tag(key, [str(version)])), read_tags, RUNS),
    "deleted run": Saving(
        changing(lambda store, key, version: store.delete([key], undo=version == 1)), read_deleted, RUNS
    ),
}
NOT_PERFORMED = {
    *((name, "statement") for name in SAVINGS),
    *((name, kind) for name in ("tags", "deleted run") for kind in ("write", "fsync", "rename")),
}
"""Pairs of a saving and a kind of operation that it does not perform."""


def no_temporary_files(folder):
    return not [path for path in folder.rglob("*") if ".part" in path.name]


@pytest.mark.parametrize(("name", "kind"), [case for case in product(ALL, KINDS) if case not in NOT_PERFORMED])
def test_that_a_fault_at_any_operation_leaves_earlier_files_and_names_the_file(name, kind, tmp_path):
    saving = ALL[name]
    saving.save(tmp_path / "new", 1)  # triggers the late imports
    for number in count(1):
        folder, error = tmp_path / str(number), ""
        if kind != "mkdir":
            saving.save(folder, 1)
        with faults(kind, number, CODES[number % len(CODES)], lasting=number % 2 == 0) as injected:
            try:
                saving.save(folder, 2)
            except (OSError, DataError) as raised:
                error = str(raised)
        if not injected.happened:
            assert error == ""
            break
        if error:
            assert any(str(folder / file) in error for file in ("", *saving.names)), error
            assert ".part" not in error
        else:
            assert 2 in saving.read(folder)
        assert kind == "mkdir" or saving.read(folder) <= {1, 2}
        assert no_temporary_files(folder)
        saving.save(folder, 2)  # the disk works again
        assert 2 in saving.read(folder)
        assert no_temporary_files(folder)
    assert number > 1


@pytest.mark.parametrize("name", [name for name in ALL if name != "download"])
def test_that_a_disk_that_is_full_at_any_byte_leaves_earlier_files(name, tmp_path):
    """A size limit of the system makes writes fail, both in SQLite and in Python."""
    saving = ALL[name]
    saving.save(tmp_path, 1)
    largest = max(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
    for size in (*(largest * fifth // 5 for fifth in range(5)), largest - 1):
        error = error_with_files_of(size, lambda: saving.save(tmp_path, 2))
        assert str(tmp_path) in error or (error == "" and 2 in saving.read(tmp_path))
        assert saving.read(tmp_path) <= {1, 2}
        assert no_temporary_files(tmp_path)
    saving.save(tmp_path, 2)
    assert 2 in saving.read(tmp_path)


def test_that_a_full_disk_is_reported_for_a_new_store_and_leaves_no_empty_file(tmp_path):
    path = tmp_path / "runs.sqlite"
    for size in (0, 4096, 4096):
        assert "disk I/O error" in error_with_files_of(size, lambda: opened_store(path))
        assert path.exists() == (size > 0)


def test_that_a_full_disk_does_not_change_stored_settings(tmp_path):
    path = tmp_path / "settings.ini"

    def save(text):
        settings = QSettings(str(path), QSettings.Format.IniFormat)
        settings.setValue("recent/files", text)
        settings.sync()

    save("old" * 500)
    before = path.read_bytes()
    for size in (0, 1, len(before) // 2, len(before) - 1):
        error_with_files_of(size, lambda: save("new" * 600))
        assert path.read_bytes() == before
        assert [each.name for each in tmp_path.iterdir()] == ["settings.ini"]
    error_with_files_of(1 << 20, lambda: save("new" * 600))
    assert b"newnew" in path.read_bytes()


def error_with_files_of(size, work):
    """Return the error of `work` in a process whose files cannot exceed `size` bytes."""

    def limited(send):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        try:
            work()
        except (OSError, DataError) as error:
            send(str(error))

    child = Child(limited)
    error = "".join(child.lines())
    assert child.wait() == 0
    return error
