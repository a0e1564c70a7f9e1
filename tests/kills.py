"""SIGKILL at random moments of all that is kept: nothing acknowledged is lost, nothing corrupt, nothing left over.

``python -m tests.kills --kills 1000 --summary kills.json`` kills processes that sweep, train, save, download and keep
the session of a window's parts, in turn. A process tells through a pipe what it has kept; after its end that is looked
for, what is there is read whole, and the work goes on where it stood, until it is done: then every result has the same
bits as one that nobody disturbed. A third of the kills come just before a file gets to the disk, or its name.
Started again with the same summary it goes on.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import sys
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
from slide_gui.data.download import fetch
from slide_gui.data.entries import RemoteFile
from slide_gui.data.errors import DataError
from slide_gui.experiments.model_file import FittedModel, fit_model, load_model, save_model
from slide_gui.experiments.result import RunResult
from slide_gui.experiments.run import Reuse, run
from slide_gui.experiments.session import SUFFIX, read_session
from slide_gui.experiments.spec import RunSpec, SweepSpec
from slide_gui.experiments.store import RunStore
from slide_gui.experiments.sweep import run_sweep, stored_or_run
from slide_gui.figures.evaluation import save_text
from slide_gui.figures.tables import save_table
from tests.experiments.tiny import rectangles, same_numbers, spec
from tests.forked import forked
from tests.fuzz import commit, machine

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
    def look(self, folder: Path, told: set[str]) -> dict[str, int]:
        """Begin anew as the program does, and count what was told and is lost, what is corrupt, and temporary files."""

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

    def look(self, folder: Path, told: set[str]) -> dict[str, int]:
        with RunStore(folder / "runs.sqlite") as store:
            self.swept += store.swept
            stored = {line.hash for line in store.runs()}
            report = store.check()
            corrupt = len(report.faults) + len(report.damage)
            return {"lost": len(told - stored), "corrupt": corrupt, "left over": left_over(store.folder)}

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
            stored_or_run(self.data, each, store, reuse=Reuse(deepest=each.stack.depth))


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

    def look(self, folder: Path, told: set[str]) -> dict[str, int]:
        counts = {"lost": 0, "corrupt": 0, "left over": 0}
        before = left_over(folder)
        versions = {}
        for kind in self.kinds:
            try:
                versions[kind] = self.version(folder, kind)
            except ValueError:
                counts["corrupt"] += 1
        for each in told:
            kind, version = each.split()
            counts["lost"] += versions.get(kind, 0) < int(version)
        save_text(folder / "other.md", "the next that is saved there")
        counts["left over"] = left_over(folder)
        self.swept += before - counts["left over"]
        return counts

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

    def look(self, folder: Path, told: set[str]) -> dict[str, int]:
        before = left_over(folder)
        there = {path.name for path in folder.glob("*.bin")}
        corrupt = sum((folder / name).read_bytes() != self.content(int(Path(name).stem)) for name in there)
        save_text(folder / "other.md", "the next that is put there")
        remaining = left_over(folder)
        self.swept += before - remaining
        return {"lost": len(told - there), "corrupt": corrupt, "left over": remaining}

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

        from slide_gui.gui.session_keeper import SessionKeeper
        from slide_gui.gui.state.jobs import Lane
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
        lane = Lane()
        workspace = Workspace(lane)
        keeper = SessionKeeper(workspace, Pages(), folder / "session")  # type: ignore[arg-type]
        keeper.start(resume=True)
        if keeper._lock is None:
            mark = folder / "session" / "open"
            raise RuntimeError(f"a window that was killed is taken for one that is open: {mark.read_bytes()!r}")
        if keeper._pending is None:  # else what a window that closed showed last is on its way
            workspace.open_paths([data])
        while workspace.dataset is None or lane.busy:
            application.processEvents()
            time.sleep(0.001)
        for number in range(start + 1, self.n_changes + 1):
            workspace.set_parameters(noise=_UNUSUAL + number / 100)
            keeper._keep()  # as its timer does, once changes rest
            tell(str(number))
        keeper.close()
        lane.close()

    def number(self, folder: Path) -> int:
        """Return the last change that is in a session; of none 0."""
        numbers = [0]
        for path in (folder / "session").glob(f"*{SUFFIX}"):
            record = read_session(path)
            if record is not None and record.parameters.noise > _UNUSUAL:
                numbers.append(round(100 * (record.parameters.noise - _UNUSUAL)))
        return max(numbers)

    def look(self, folder: Path, told: set[str]) -> dict[str, int]:
        before = left_over(folder)
        try:
            number, corrupt = self.number(folder), 0
        except DataError:
            number, corrupt = 0, 1
        lost = sum(int(each) > number for each in told)
        if before:
            save_text(folder / "session" / "other.md", "the next that is saved there")
        remaining = left_over(folder)
        self.swept += before - remaining
        return {"lost": lost, "corrupt": corrupt, "left over": remaining}

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


def run_kills(
    kills: int, seed: int, say: Callable[[dict[str, Any]], object], before: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Kill in turn until there were so many kills, and return the counts of each kind of work.

    Parameters
    ----------
    say : callable
        Gets the counts after every ten kills.
    before : dict, optional
        The counts of kills that were made already.
    """
    counts: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        works = [each() for each in WORKS]
        killers = [Killer(work, Path(folder), seed, (before or {}).get(work.name, {})) for work in works]
        (downloads,) = (work for work in works if isinstance(work, Downloads))
        _import_late()
        with downloads.served():
            while sum(killer.counts["kills"] for killer in killers) < kills:
                min(killers, key=lambda killer: killer.counts["kills"]).kill()
                counts = {killer.work.name: killer.counts for killer in killers}
                if sum(each["kills"] for each in counts.values()) % 10 == 0:
                    say(counts)
            for killer in killers:
                killer.finish()
    say(counts)
    return counts


def _import_late() -> None:
    """Import what works import late, so that not every process does."""
    import pooch  # noqa: F401
    import PySide6.QtCore  # noqa: F401
    import requests  # noqa: F401

    import slide_gui.gui.session_keeper
    import slide_gui.gui.state.workspace  # noqa: F401

    data = Training.data
    run(data, next(Training().specs()))


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(prog="python -m tests.kills", description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=1000, help="of all kinds of work together")
    parser.add_argument("--seed", type=int, default=14)
    parser.add_argument("--summary", type=Path, required=True, help="the JSON file of counts")
    asked = parser.parse_args(arguments)
    start = time.monotonic()
    document: dict[str, Any] = {
        "command": f"python -m tests.kills --kills {asked.kills} --seed {asked.seed}",
        "commit": commit(),
        "seed": asked.seed,
        "machine": machine(),
    }

    before: dict[str, Any] = {}
    if asked.summary.exists():
        known = json.loads(asked.summary.read_text())
        if (known["commit"], known["seed"]) != (document["commit"], asked.seed):
            parser.error(f"{asked.summary} is of another commit or seed; name another file")
        before, start = known["works"], start - known["seconds"]

    def say(counts: dict[str, Any]) -> None:
        totals = {name: sum(each[name] for each in counts.values()) for name in (*_COUNTS, "swept")}
        whole = {**document, "seconds": round(time.monotonic() - start, 1), **totals, "works": counts}
        part = asked.summary.with_suffix(".part")
        part.write_text(json.dumps(whole, indent=1) + "\n")
        os.replace(part, asked.summary)
        print(json.dumps(totals), flush=True)

    counts = run_kills(asked.kills, asked.seed, say, before)
    return int(
        any(each[name] for each in counts.values() for name in ("lost", "corrupt", "left over", "different", "failed"))
    )


if __name__ == "__main__":
    sys.exit(main())
