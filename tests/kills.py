"""SIGKILL at random moments of all that is stored: nothing acknowledged is lost, nothing is corrupt or left over.

`tests.long_run` kills processes that sweep, train, save, download and store the session of a window's parts, in turn. A
process acknowledges through a pipe what it has stored; after its end all that is looked for and read completely. The
work then resumes until it is done, and every result has the same bits as an undisturbed one. A third of the kills come
just before a file, or its name, reaches the disk.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np

from slide_gui.core.sda.model import SdaParameters
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.data.catalogue import fetch
from slide_gui.data.entries import RemoteFile
from slide_gui.data.errors import DataError
from slide_gui.experiments.files.model_file import FittedModel, fit_model, load_model, save_model
from slide_gui.experiments.files.session import SUFFIX, read_session
from slide_gui.experiments.runs.fitting import Reuse
from slide_gui.experiments.runs.result import RunResult
from slide_gui.experiments.runs.run import run as run_spec
from slide_gui.experiments.runs.spec import RunSpec, SweepSpec
from slide_gui.experiments.store.store import RunStore
from slide_gui.experiments.sweeps.executor import get_or_run
from slide_gui.experiments.sweeps.sweep import run_sweep
from slide_gui.figures.evaluation import save_text
from slide_gui.figures.tables import save_table
from tests.experiments.tiny import rectangles, same_numbers, spec
from tests.long_run import forked

Tell = Callable[[str], None]

_MOST_TOLD = 6  # acknowledgements until a kill
_INSTANTS = ("fsync", "rename", "replace")  # functions of `os` before which kills come, too
_UNUSUAL = 0.4  # noise beyond which changes of a session are, none of which is as usual
_COUNTS = ("kills", "acknowledged", "lost", "corrupt", "left over", "different", "failed", "rounds")


class Work(ABC):
    """Something that keeps results in a folder, one after the other, and can be begun again at any point.

    Attributes
    ----------
    name : str
    swept : int
        Files of broken saves that were removed since.
    """

    name = ""

    def __init__(self) -> None:
        self.swept = 0

    @abstractmethod
    def do(self, folder: Path, tell: Tell) -> None:
        """Go on to the end, and tell what is kept once it is."""

    @abstractmethod
    def stored(self, folder: Path, told: set[str]) -> tuple[int, int]:
        """Read all that is there; return how much of what was told is lost, and how much is corrupt."""

    def look(self, folder: Path, told: set[str]) -> dict[str, int]:
        """Start again as the program does, and count what is lost, what is corrupt, and temporary files."""
        before = left_over(folder)
        lost, corrupt = self.stored(folder, told)
        if before:
            save_text(self.home(folder) / "other.md", "the next file that is saved there")
        remaining = left_over(folder)
        self.swept += before - remaining
        return {"lost": lost, "corrupt": corrupt, "left over": remaining}

    def home(self, folder: Path) -> Path:
        """Return the folder in which it saves."""
        return folder

    def different(self, folder: Path) -> int:
        """Return how many results of work that is done are not those of work that nobody disturbed, to the bit."""
        return 0


# Runs in a store -----------------------------------------------------------------------------------------------------


class _TellingStore(RunStore):
    """Tells the hash of each result once it is kept."""

    tell: Tell

    def save(self, result: RunResult) -> None:
        """Keep a result, then tell."""
        super().save(result)
        self.tell(result.hash)


class InStore(Work):
    """Runs that are kept in a store."""

    data = rectangles(60, 60)

    @abstractmethod
    def fill(self, store: RunStore) -> None:
        """Make all runs that the store does not hold."""

    def do(self, folder: Path, tell: Tell) -> None:
        _TellingStore.tell = staticmethod(tell)  # type: ignore[assignment]
        with _TellingStore(folder / "runs.sqlite") as store:
            self.fill(store)

    def stored(self, folder: Path, told: set[str]) -> tuple[int, int]:
        with RunStore(folder / "runs.sqlite") as store:
            report = store.check()
            return len(told - {line.hash for line in store.runs()}), len(report.faults) + len(report.damage)

    @cached_property
    def undisturbed(self) -> dict[str, RunResult]:
        """The results of work that nobody disturbed, by their hashes."""
        with tempfile.TemporaryDirectory() as folder, RunStore(Path(folder, "runs.sqlite")) as store:
            self.fill(store)
            return {line.hash: store.load(line.hash) for line in store.runs()}

    def different(self, folder: Path) -> int:
        with RunStore(folder / "runs.sqlite") as store:
            stored = {line.hash: store.load(line.hash) for line in store.runs()}
        usual = self.undisturbed
        return len(stored.keys() ^ usual.keys()) + sum(
            not same_numbers(stored[each], usual[each]) for each in stored.keys() & usual.keys()
        )


class Sweep(InStore):
    """Points that hardly do anything but write, then points that learn their widths and start from each other."""

    name = "sweep"

    def fill(self, store: RunStore) -> None:
        fingerprint = self.data.fingerprint
        noises = tuple(i / 20 for i in range(8))
        given = SvmParameters(widths="median", C=10.0)
        run_sweep(self.data, SweepSpec(fingerprint, noises=noises, depths=(0, 1, 2), svm=given), store)
        learned = SvmParameters(starts=1)
        run_sweep(self.data, SweepSpec(fingerprint, noises=noises[:3], depths=(0, 1), svm=learned), store)


class Training(InStore):
    """Single runs as `slide-gui train` and the Classifier page keep them: SLIDE, autoencoders, fine-tuned ones."""

    name = "training"

    def specs(self) -> Iterator[RunSpec]:
        sda = SdaParameters((8, 5), pretraining_epochs=2, fine_tuning_epochs=3, fine_tuning_rate=0.5)
        svm = SvmParameters(starts=1, widths="median", C=1.0)
        for seed in range(8):
            yield spec(self.data, depth=2, widths="median", C=1.0, seed=seed, split=seed)
            for method in ("sda-svm", "sda"):
                further = {} if method == "sda" else {"svm": svm}
                yield RunSpec(self.data.fingerprint, method=method, sda=sda, seed=seed, **further).checked()

    def fill(self, store: RunStore) -> None:
        for each in self.specs():
            get_or_run(self.data, each, store, reuse=Reuse(deepest=each.stack.depth))


# Files ---------------------------------------------------------------------------------------------------------------


def left_over(folder: Path) -> int:
    """Return how many temporary files are in a folder."""
    return sum(path.suffix == ".part" for path in folder.rglob("*"))


class Saves(Work):
    """Files saved again and again in one folder: a model, a table, a text; each holds its version."""

    name = "saves"
    n_versions = 12
    kinds = ("model", "table", "text")

    @cached_property
    def model(self) -> FittedModel:
        """Of some hundred kilobytes, so that it takes several writes."""
        return fit_model(rectangles(80, 10), StackParameters(depth=8))

    def save(self, folder: Path, kind: str, version: int) -> None:
        """Save one version of a kind."""
        if kind == "model":
            save_model(folder / "model.npz", replace(self.model, dataset=str(version)))
        elif kind == "table":
            save_table(folder / "table.csv", ["version"], [[version]] * 3000)
        else:
            save_text(folder / "text.md", f"{version}\n" * 5000)

    def version(self, folder: Path, kind: str) -> int:
        """Return the version of the file, if it is whole; 0 if there is none.

        Raises
        ------
        ValueError
            If it is not whole.
        """
        if kind == "model":
            path = folder / "model.npz"
            model = load_model(path) if path.exists() else None
            if model is None:
                return 0
            layers = zip(model.stack.layers, self.model.stack.layers, strict=True)
            if not all(np.array_equal(one.weights, other.weights) for one, other in layers):
                raise ValueError("other weights")
            return int(model.dataset)
        path = folder / ("table.csv" if kind == "table" else "text.md")
        words = path.read_text().split() if path.exists() else []
        words = words[1:] if kind == "table" else words
        if words and (len(set(words)) > 1 or len(words) != (3000 if kind == "table" else 5000)):
            raise ValueError("not whole")
        return int(words[0]) if words else 0

    def do(self, folder: Path, tell: Tell) -> None:
        start = min(self.version(folder, kind) for kind in self.kinds)
        for version in range(start + 1, self.n_versions + 1):
            for kind in self.kinds:
                self.save(folder, kind, version)
                tell(f"{kind} {version}")

    def stored(self, folder: Path, told: set[str]) -> tuple[int, int]:
        versions = {}
        for kind in self.kinds:
            with suppress(ValueError):
                versions[kind] = self.version(folder, kind)
        lost = sum(versions.get(kind, 0) < int(version) for kind, version in map(str.split, told))
        return lost, len(self.kinds) - len(versions)

    def different(self, folder: Path) -> int:
        return sum(self.version(folder, kind) != self.n_versions for kind in self.kinds)


class Downloads(Work):
    """Files fetched from a server of this computer, which sends them slowly."""

    name = "downloads"
    n_files = 12

    def __init__(self) -> None:
        super().__init__()
        self.address = ""

    @staticmethod
    def content(number: int) -> bytes:
        """Return what the server sends."""
        return random.Random(number).randbytes(300_000)

    @cached_property
    def files(self) -> list[RemoteFile]:
        """What is fetched."""
        hashes = [hashlib.sha256(self.content(number)).hexdigest() for number in range(self.n_files)]
        return [RemoteFile(f"{number}.bin", (f"sha256:{each}",)) for number, each in enumerate(hashes)]

    @contextmanager
    def served(self) -> Iterator[None]:
        """Serve the files in a process of its own meanwhile."""
        server, reader = forked(_serve)
        with os.fdopen(reader) as pipe:
            self.address = f"http://127.0.0.1:{int(pipe.readline())}/"
        try:
            yield
        finally:
            os.kill(server, signal.SIGKILL)
            os.waitpid(server, 0)

    def do(self, folder: Path, tell: Tell) -> None:
        for file in self.files:
            if not (folder / file.name).exists():
                fetch(file, [self.address], folder)
                tell(file.name)

    def stored(self, folder: Path, told: set[str]) -> tuple[int, int]:
        there = {path.name for path in folder.glob("*.bin")}
        corrupt = sum((folder / name).read_bytes() != self.content(int(Path(name).stem)) for name in there)
        return len(told - there), corrupt

    def different(self, folder: Path) -> int:
        return len({file.name for file in self.files} ^ {path.name for path in folder.glob("*.bin")})


def _serve(writer: int) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = Downloads.content(int(Path(self.path).stem))
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            with suppress(OSError):  # the other side was killed
                for at in range(0, len(content), 50_000):
                    self.wfile.write(content[at : at + 50_000])
                    time.sleep(0.002)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    os.write(writer, f"{server.server_port}\n".encode())
    os.close(writer)
    server.serve_forever()


# Sessions ------------------------------------------------------------------------------------------------------------


class Sessions(Work):
    """The session of a window's parts: data are opened, the noise changes, each change is kept.

    A start after a kill puts the session aside that it finds, as `recovered`, and goes on with a new one; whatever was
    kept last is in one of those that are there.
    """

    name = "sessions"
    n_changes = 40

    def do(self, folder: Path, tell: Tell) -> None:
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
        from PySide6.QtCore import QCoreApplication, QObject, Signal

        from slide_gui.gui.shell.session_keeper import SessionKeeper
        from slide_gui.gui.state.jobs import JobQueue
        from slide_gui.gui.state.workspace import Workspace

        class Pages(QObject):
            turned = Signal(object)
            name = "weights"

            def choices(self) -> tuple[tuple[str, str, str], ...]:
                return ()

            def choose(self, *_: object) -> None:
                pass

        data = folder / "data.npz"
        if not data.exists():
            rows = rectangles(40, 10)
            np.savez(folder / "half.npz", X=rows.train, y=rows.train_labels)
            os.replace(folder / "half.npz", data)
        start = self.number(folder)
        application = QCoreApplication([])
        queue = JobQueue()
        workspace = Workspace(queue)
        keeper = SessionKeeper(workspace, Pages(), folder / "session")  # type: ignore[arg-type]
        keeper.start(resume=True)
        if keeper._lock is None:
            mark = folder / "session" / "open"
            raise RuntimeError(f"a window that was killed is taken for one that is open: {mark.read_bytes()!r}")
        if keeper._pending is None:  # else what a window that closed showed last is on its way
            workspace.open_paths([data])
        while workspace.dataset is None or queue.busy:
            application.processEvents()
            time.sleep(0.001)
        for number in range(start + 1, self.n_changes + 1):
            workspace.set_parameters(noise=_UNUSUAL + number / 100)
            keeper._keep()  # as its timer does, once changes rest
            tell(str(number))
        keeper.close()
        queue.close()

    def number(self, folder: Path) -> int:
        """Return the last change that is in a session; of none 0."""
        numbers = [0]
        for path in (folder / "session").glob(f"*{SUFFIX}"):
            record = read_session(path)
            if record is not None and record.parameters.noise > _UNUSUAL:
                numbers.append(round(100 * (record.parameters.noise - _UNUSUAL)))
        return max(numbers)

    def home(self, folder: Path) -> Path:
        return folder / "session"

    def stored(self, folder: Path, told: set[str]) -> tuple[int, int]:
        try:
            number, corrupt = self.number(folder), 0
        except DataError:
            number, corrupt = 0, 1
        return sum(int(each) > number for each in told), corrupt

    def different(self, folder: Path) -> int:
        return self.number(folder) != self.n_changes


# Killing -------------------------------------------------------------------------------------------------------------

WORKS: tuple[type[Work], ...] = (Sweep, Training, Saves, Downloads, Sessions)


class Killer:
    """Kills one kind of work again and again.

    Parameters
    ----------
    folder : Path
        Where it keeps things.
    seed : int
        Of the moments.
    counts : dict
        Of kills before.
    """

    def __init__(self, work: Work, folder: Path, seed: int, counts: dict[str, int]) -> None:
        self.work, self._folder = work, folder
        self.counts = dict.fromkeys((*_COUNTS, "swept"), 0) | counts
        self._chance = random.Random(f"{seed}/{work.name}/{self.counts['kills']}")
        work.swept = self.counts["swept"]
        self._told: set[str] = set()
        self._apart = 0.05  # seconds between two acknowledgements, about

    def kill(self) -> None:
        """Let it work, kill it after some acknowledgements and a moment, and look; or see it through and begin anew."""
        home = self._folder / f"{self.work.name}-{self.counts['rounds']}"
        home.mkdir(exist_ok=True)
        instant = self._chance.randrange(1, 9) if self._chance.random() < 1 / 3 else 0
        status, told = self._killed(home, self._chance.randrange(_MOST_TOLD + 1), instant)
        self._told |= told
        killed = os.WIFSIGNALED(status)
        self.counts["kills"] += killed
        self.counts["failed"] += bool(status) and not killed
        self.counts["acknowledged"] += len(told)
        for name, number in self.work.look(home, self._told).items():
            self.counts[name] += number
        self.counts["swept"] = self.work.swept
        if not status:  # it was done before the moment came
            self._finish(home)

    def finish(self) -> None:
        """See the work that was begun through, and compare it."""
        home = self._folder / f"{self.work.name}-{self.counts['rounds']}"
        if home.exists():
            status, _ = self._killed(home, None)
            self.counts["failed"] += bool(status)
            self._finish(home)

    def _finish(self, home: Path) -> None:
        self.counts["different"] += self.work.different(home)
        self.counts["rounds"] += 1
        self._told.clear()
        shutil.rmtree(home)

    def _killed(self, home: Path, after: int | None, instant: int = 0) -> tuple[int, set[str]]:
        """Return how a process ended, and what it told.

        It is killed after so many acknowledgements and a moment, or by itself at an instant of that number; with None
        and 0 not at all.
        """

        def done(writer: int) -> None:
            if instant:
                _die_before(instant)
            self.work.do(home, lambda said: _write(writer, said))

        child, reader = forked(done)
        start, text = time.monotonic(), b""
        if after is not None and not instant:
            while text.count(b"\n") < after and (part := os.read(reader, 1 << 12)):
                text += part
            if text:
                self._apart = 0.7 * self._apart + 0.3 * (time.monotonic() - start) / text.count(b"\n")
            time.sleep(self._chance.uniform(0.0, 1.5 * self._apart))
            os.kill(child, signal.SIGKILL)
        while part := os.read(reader, 1 << 16):
            text += part
        os.close(reader)
        _, status = os.waitpid(child, 0)
        return status, set(text.decode().split("\n")) - {""}


def _die_before(instant: int) -> None:
    """Let this process be killed before that call, by its number, that brings a file or its name to the disk."""
    left = iter(range(instant - 1))

    def dying(function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any, **words: Any) -> Any:
            if next(left, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments, **words)

        return called

    for name in _INSTANTS:
        setattr(os, name, dying(getattr(os, name)))


def _write(writer: int, said: str) -> None:
    os.write(writer, f"{said}\n".encode())


def run(
    _kind: str,
    kills: float,
    seed: int,
    counts: dict[str, Any],
    say: Callable[[dict[str, Any], int, str], object],
    _: Path,
) -> int:
    """Kill in turn until there were that many kills, and return how many of them went wrong."""

    def tell() -> int:
        totals = {name: sum(killer.counts[name] for killer in killers) for name in (*_COUNTS, "swept")}
        failed = sum(totals[name] for name in ("lost", "corrupt", "left over", "different", "failed"))
        say({killer.work.name: killer.counts for killer in killers}, failed, json.dumps(totals))
        return failed

    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        works = [each() for each in WORKS]
        killers = [Killer(work, Path(folder), seed, counts.get(work.name, {})) for work in works]
        (downloads,) = (work for work in works if isinstance(work, Downloads))
        _import_late()
        with downloads.served():
            while (done := sum(killer.counts["kills"] for killer in killers)) < kills:
                min(killers, key=lambda killer: killer.counts["kills"]).kill()
                if done % 10 == 0:
                    tell()
            for killer in killers:
                killer.finish()
    return tell()


def _import_late() -> None:
    """Import what works import late, so that not every process does."""
    import pooch  # noqa: F401
    import PySide6.QtCore  # noqa: F401
    import requests  # noqa: F401

    import slide_gui.gui.shell.session_keeper
    import slide_gui.gui.state.workspace  # noqa: F401

    data = Training.data
    run_spec(data, next(Training().specs()))
