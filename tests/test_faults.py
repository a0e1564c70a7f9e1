"""Disks that fail at any moment: what was there stays readable, nothing is left behind, and the file is named."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import resource
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QSettings

from slide_gui.core.slide.parameters import StackParameters
from slide_gui.data.catalogue import fetch
from slide_gui.data.entries import RemoteFile
from slide_gui.data.errors import DataError
from slide_gui.data.files import RECORD
from slide_gui.experiments.files.model_file import fit_model, load_model, save_model
from slide_gui.experiments.files.session import SUFFIX, SessionRecord, picture_text, read_session, write_session
from slide_gui.experiments.files.source import DataSource
from slide_gui.experiments.runs.run import run
from slide_gui.experiments.store.store import RunStore
from slide_gui.figures.evaluation import save_text
from slide_gui.figures.export import FigureExport, save_bundle, save_export
from slide_gui.figures.style import Style
from slide_gui.figures.tables import save_table
from tests.experiments.tiny import rectangles, spec
from tests.faults import KINDS, faults
from tests.long_run import forked

DATA = rectangles(60, 60)
FIRST = run(DATA, spec(DATA, widths="median", C=1.0, training="split", evaluate="validation"))
SECOND = replace(FIRST, spec=replace(FIRST.spec, split=1))
MODELS = {number: fit_model(rectangles(seed=number), StackParameters(depth=1)) for number in (1, 2)}
CODES = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EACCES)
SERVED = {1: b"first" * 40_000, 2: b"second" * 40_000}


@dataclass(frozen=True)
class Saving:
    """Something that the program keeps.

    Attributes
    ----------
    save : callable
        Keeps version 1 or 2 below a folder.
    read : callable
        Returns the versions that can be read whole.
    places : tuple of str
        What a message may name, below the folder.
    """

    save: Callable[[Path, int], object]
    read: Callable[[Path], set[int]]
    places: tuple[str, ...]


def record(version: int) -> SessionRecord:
    return SessionRecord(DataSource(key="rectangles", seed=version, generated=True))


def read_record(folder: Path) -> set[int]:
    session = read_session(folder / f"a{SUFFIX}")
    assert session is not None
    return {session.source.seed}


def read_model(folder: Path) -> set[int]:
    weights = load_model(folder / "a.npz").stack.layers[0].weights
    return {number for number, model in MODELS.items() if np.array_equal(model.stack.layers[0].weights, weights)}


def sheet(version: int) -> FigureExport:
    return FigureExport(
        "a",
        None,
        lambda path: save_table(path, ["version"], [[version]]),
        lambda _: f"{version}",
        ("", f"version = {version}"),
        {"x.json": json.dumps(version)},
    )


def draw(version: int) -> FigureExport:
    return FigureExport("a", lambda figure, _: figure.text(0, 0, str(version)), sheet(version).table)


def texts(folder: Path, *names: str) -> set[int]:
    """Return the versions in texts, the last number of each."""
    return {int(re.findall(r"\d+", (folder / name).read_text())[-1]) for name in names}


def read_bundle(folder: Path) -> set[int]:
    versions = texts(folder, "a.csv", "commands.txt", "a.py", "x.json")
    session = read_session(folder / f"a{SUFFIX}")
    assert session is not None
    return versions | {session.source.seed}


def save_svg(folder: Path, version: int) -> None:
    save_export(folder / "a.svg", draw(version), Style(), picture_text(record(version)))


def read_svg(folder: Path) -> set[int]:
    session = read_session(folder / "a.svg")
    assert session is not None
    assert (folder / "a.svg").read_text().endswith("</svg>\n")
    return {session.source.seed}


def keep_run(folder: Path, version: int) -> None:
    with RunStore(folder / "runs.sqlite") as store:
        store.save(FIRST if version == 1 else SECOND)


def read_runs(folder: Path) -> set[int]:
    with RunStore(folder / "runs.sqlite", read_only=True) as store:
        assert store.check().faults == {}
        runs = [store.load(line.hash) for line in store.runs()]
    return {1 if each.spec == FIRST.spec else 2 for each in runs}


def keep_tags(folder: Path, version: int) -> None:
    with RunStore(folder / "runs.sqlite") as store:
        if FIRST.spec.hash not in store:
            store.save(FIRST)
        store.tag(FIRST.spec.hash, [str(version)])


def read_tags(folder: Path) -> set[int]:
    with RunStore(folder / "runs.sqlite", read_only=True) as store:
        return set(map(int, store.stored(FIRST.spec.hash).tags))


def hide_run(folder: Path, version: int) -> None:
    with RunStore(folder / "runs.sqlite") as store:
        if FIRST.spec.hash not in store:
            store.save(FIRST)
        store.delete([FIRST.spec.hash], undo=version == 1)


def read_hidden(folder: Path) -> set[int]:
    with RunStore(folder / "runs.sqlite", read_only=True) as store:
        store.load(FIRST.spec.hash)
        return {2 if store.stored(FIRST.spec.hash).deleted else 1}


def download(folder: Path, version: int) -> None:
    hashes = (f"sha256:{hashlib.sha256(SERVED[version]).hexdigest()}",)
    fetch(RemoteFile("a.bin", hashes), [f"{ADDRESS[0]}{version}/"], folder)


def read_download(folder: Path) -> set[int]:
    content = (folder / "a.bin").read_bytes()
    return {version for version, served in SERVED.items() if content == served}


RUNS = ("runs.sqlite",)
BUNDLED = ("a.csv", "commands.txt", "a.py", "x.json", f"a{SUFFIX}", RECORD)
SAVINGS = {
    "session": Saving(lambda folder, v: write_session(record(v), folder / f"a{SUFFIX}"), read_record, (f"a{SUFFIX}",)),
    "model": Saving(lambda folder, v: save_model(folder / "a.npz", MODELS[v]), read_model, ("a.npz",)),
    "figure": Saving(save_svg, read_svg, ("a.svg",)),
    "table": Saving(
        lambda folder, v: save_table(folder / "a.csv", ["x"], [[v]] * 900),
        lambda folder: {int((folder / "a.csv").read_text().split()[1])} if _lines(folder / "a.csv") == 901 else set(),
        ("a.csv",),
    ),
    "text": Saving(lambda folder, v: save_text(folder / "a.md", str(v)), lambda f: texts(f, "a.md"), ("a.md",)),
    "bundle": Saving(
        lambda folder, v: save_bundle(folder, sheet(v), Style(), picture_text(record(v))), read_bundle, BUNDLED
    ),
    "run": Saving(keep_run, read_runs, RUNS),
    "tags": Saving(keep_tags, read_tags, RUNS),
    "deleted run": Saving(hide_run, read_hidden, RUNS),
    "download": Saving(download, read_download, ("a.bin",)),
}
ADDRESS: list[str] = []


def _lines(path: Path) -> int:
    return len(path.read_text().splitlines())


class Handler(BaseHTTPRequestHandler):
    """Serves a version by its number."""

    def do_GET(self) -> None:
        content = SERVED[int(self.path.split("/")[1])]
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        with suppress(OSError):  # the other side may have had enough
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module", autouse=True)
def served() -> Iterator[None]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=partial(server.serve_forever, poll_interval=0.02))
    thread.start()
    ADDRESS[:] = [f"http://127.0.0.1:{server.server_port}/"]
    yield
    server.shutdown()
    thread.join()
    server.server_close()


def left_behind(folder: Path) -> set[str]:
    """Return the names of temporary files, and of arrays that belong to no run."""
    return {path.name for path in folder.rglob("*") if ".part" in path.name}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SAVINGS)
def test_that_a_fault_at_any_operation_leaves_what_was_there_and_names_the_file(
    name: str, kind: str, tmp_path: Path
) -> None:
    saving = SAVINGS[name]
    saving.save(tmp_path / "new", 1)  # imports what is imported late
    for number in count(1):
        code, lasting = CODES[number % len(CODES)], number % 2 == 0
        folder = tmp_path / str(number)
        if kind != "mkdir":
            saving.save(folder, 1)
        said = None
        with faults(kind, number, code, lasting=lasting) as injected:
            try:
                saving.save(folder, 2)
            except (OSError, DataError) as error:
                said = str(error)
        if not injected.happened:
            assert said is None
            break
        if said is None:
            assert 2 in saving.read(folder), "it said nothing, but kept nothing"
        else:
            named = [str(folder), *(str(folder / place) for place in saving.places)]
            assert any(place in said for place in named), said
            assert ".part" not in said
        if kind != "mkdir":
            assert saving.read(folder) & {1, 2}
            assert saving.read(folder) <= {1, 2}
        assert left_behind(folder) == set()
        saving.save(folder, 2)  # the disk is well again
        assert 2 in saving.read(folder)
        assert left_behind(folder) == set()
    assert number > 1 or (name, kind) in NONE_SUCH


NONE_SUCH = {
    *((name, "statement") for name in SAVINGS if SAVINGS[name].places != RUNS),
    *((name, kind) for name in ("tags", "deleted run") for kind in ("write", "fsync", "rename")),
}
"""What does without an operation of a kind."""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")
@pytest.mark.parametrize("name", [name for name in SAVINGS if name != "download"])
def test_that_a_disk_that_is_full_at_any_byte_leaves_what_was_there(name: str, tmp_path: Path) -> None:
    """The system itself refuses what goes beyond a size; SQLite meets it as Python does."""
    saving = SAVINGS[name]
    saving.save(tmp_path, 1)
    most = max(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
    for size in (*(most * fifth // 5 for fifth in range(5)), most - 1):
        said = in_child_with_files_of(size, lambda: saving.save(tmp_path, 2))
        assert said == "" or str(tmp_path) in said, said
        assert saving.read(tmp_path) & {1, 2}
        assert saving.read(tmp_path) <= {1, 2}
        if said == "":
            assert 2 in saving.read(tmp_path)
        assert left_behind(tmp_path) == set()
    saving.save(tmp_path, 2)
    assert 2 in saving.read(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")
def test_that_settings_on_a_full_disk_stay_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "settings.ini"

    def keep(text: str) -> None:
        settings = QSettings(str(path), QSettings.Format.IniFormat)
        settings.setValue("recent/files", text)
        settings.sync()

    keep("old" * 500)
    whole = path.read_bytes()
    for size in (0, 1, len(whole) // 2, len(whole) - 1):
        in_child_with_files_of(size, lambda: keep("new" * 600))
        assert path.read_bytes() == whole
        assert [each.name for each in tmp_path.iterdir()] == ["settings.ini"]
    in_child_with_files_of(1 << 20, lambda: keep("new" * 600))
    assert b"newnew" in path.read_bytes()


def in_child_with_files_of(size: int, work: Callable[[], object]) -> str:
    """Do something in a process whose files may not grow beyond a size; return what it said of it."""

    def limited(writer: int) -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        try:
            work()
        except (OSError, DataError) as error:
            os.write(writer, str(error).encode())

    child, reader = forked(limited)
    with os.fdopen(reader) as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    assert status == 0, f"the process ended with status {status}"
    return said
