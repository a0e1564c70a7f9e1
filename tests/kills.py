"""Kill processes at random moments while they store results: no acknowledged result may be lost or damaged.

`tests.long_run` kills processes that sweep and train, and processes that save sessions, models and figures or download.
A process acknowledges each result that it has stored; after the kill, all results are read and checked. The work then
resumes until it is done, and every result must have the same bits as one of undisturbed work. A third of the kills come
just before a file, or its name, reaches the disk.
"""

import os
import random
import shutil
import signal
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from slide_gui.core.sda.model import SdaParameters
from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.data.errors import DataError
from slide_gui.data.files import write_whole
from slide_gui.experiments.runs.fitting import Reuse
from slide_gui.experiments.runs.result import RunResult
from slide_gui.experiments.runs.run import run as run_spec
from slide_gui.experiments.runs.spec import RunSpec, SweepSpec
from slide_gui.experiments.store.store import RunStore, get_or_run
from slide_gui.experiments.sweeps.sweep import run_sweep
from slide_gui.progress import NO_PROGRESS
from tests.experiments.tiny import rectangles, same_numbers, spec
from tests.long_run import Child, LongRun
from tests.savings import SAVINGS, serving

Acknowledge = Callable[[str], object]

_MOST_ACKNOWLEDGED = 6  # most results before a kill
_CALLS = ("fsync", "rename", "replace")  # functions of `os` before which a third of the kills come
_FAILURES = ("lost", "corrupt", "left over", "different", "failed")


class Work(ABC):
    """Work that stores one result after the other in a folder, and can be resumed at any point."""

    name = ""

    @abstractmethod
    def do(self, folder: Path, acknowledge: Acknowledge) -> None:
        """Continue until the work is done, and acknowledge each result once it is stored."""

    @abstractmethod
    def check(self, folder: Path, acknowledged: set[str]) -> tuple[int, int]:
        """Read all results, and return the numbers of lost and of damaged acknowledged results."""

    @abstractmethod
    def different(self, folder: Path) -> int:
        """Return the number of results of completed work that differ from those of undisturbed work."""


# Runs in a store -----------------------------------------------------------------------------------------------------


class _AcknowledgingStore(RunStore):
    acknowledge: Acknowledge

    def save(self, result: RunResult) -> None:
        super().save(result)
        self.acknowledge(result.hash)


class Runs(Work):
    """Runs in a store: sweeps, and single runs of SLIDE and of autoencoders with and without fine-tuning.

    Candidates of the first sweep spend most of their time on writing. Those of the second sweep learn their widths,
    each starting from those of another.
    """

    name = "runs"
    data = rectangles(60, 60)

    def specs(self) -> Iterator[RunSpec]:
        """Yield the single runs."""
        sda = SdaParameters((8, 5), pretraining_epochs=2, fine_tuning_epochs=3, fine_tuning_rate=0.025)
        svm = SvmParameters(starts=1, widths="median", C=1.0)
        for seed in range(2):
            yield spec(self.data, depth=2, widths="median", C=1.0, seed=seed, split=seed)
            yield RunSpec(self.data.fingerprint, method="sda-svm", sda=sda, seed=seed, svm=svm).checked()
            yield RunSpec(self.data.fingerprint, method="sda", sda=sda, seed=seed).checked()

    def do(self, folder: Path, acknowledge: Acknowledge) -> None:
        fingerprint, noises = self.data.fingerprint, tuple(i / 20 for i in range(8))
        given = RunSpec(fingerprint, svm=SvmParameters(widths="median", C=10.0))
        learned = RunSpec(fingerprint, svm=SvmParameters(starts=1))
        with _AcknowledgingStore(folder / "runs.sqlite") as store:
            store.acknowledge = acknowledge
            run_sweep(self.data, SweepSpec(given, noises, (0, 1, 2)), store)
            run_sweep(self.data, SweepSpec(learned, noises[:3], (0, 1)), store)
            for each in self.specs():
                get_or_run(self.data, each, store, progress=NO_PROGRESS, reuse=Reuse(deepest=each.stack.depth))

    def check(self, folder: Path, acknowledged: set[str]) -> tuple[int, int]:
        with RunStore(folder / "runs.sqlite") as store:
            report = store.check()
            return len(acknowledged - {line.hash for line in store.runs()}), len(report.faults) + len(report.damage)

    def results(self, folder: Path) -> dict[str, RunResult]:
        with RunStore(folder / "runs.sqlite") as store:
            return {line.hash: store.load(line.hash) for line in store.runs()}

    @cached_property
    def undisturbed(self) -> dict[str, RunResult]:
        """Results of undisturbed work by their hashes."""
        with tempfile.TemporaryDirectory() as folder:
            self.do(Path(folder), lambda _: None)
            return self.results(Path(folder))

    def different(self, folder: Path) -> int:
        stored, usual = self.results(folder), self.undisturbed
        return len(stored.keys() ^ usual.keys()) + sum(
            not same_numbers(stored[key], usual[key]) for key in stored.keys() & usual.keys()
        )


# Files ---------------------------------------------------------------------------------------------------------------


class Saves(Work):
    """Files that are saved or downloaded repeatedly, each kind into its folder."""

    name = "saves"
    n_versions = 12

    def version(self, folder: Path, name: str) -> int:
        """Return the version of the stored files of a kind, 0 if one is missing."""
        saving, home = SAVINGS[name], folder / name
        return min(saving.read(home)) if all((home / file).exists() for file in saving.names) else 0

    def do(self, folder: Path, acknowledge: Acknowledge) -> None:
        first = min(self.version(folder, name) for name in SAVINGS)
        for version in range(first + 1, self.n_versions + 1):
            for name, saving in SAVINGS.items():
                (folder / name).mkdir(exist_ok=True)
                saving.save(folder / name, version)
                acknowledge(f"{name} {version}")

    def check(self, folder: Path, acknowledged: set[str]) -> tuple[int, int]:
        versions = {}
        for name in SAVINGS:
            try:
                versions[name] = self.version(folder, name)
            except (DataError, ValueError, AssertionError):
                versions[name] = -1
        lost = sum(versions[name] < int(version) for name, version in map(str.split, acknowledged))
        return lost, sum(version < 0 for version in versions.values())

    def different(self, folder: Path) -> int:
        return sum(SAVINGS[name].read(folder / name) != {self.n_versions} for name in SAVINGS)


# Killing -------------------------------------------------------------------------------------------------------------

WORKS: tuple[type[Work], ...] = (Runs, Saves)


def left_over(folder: Path) -> int:
    """Return the number of temporary files that remain after a save in their folders, which deletes old ones."""
    for home in {path.parent for path in folder.rglob("*.part")}:
        write_whole(home / "other.md", lambda file: file.write(b"another file"))
        (home / "other.md").unlink()  # saving a folder of figures refuses files that it did not write
    return len(list(folder.rglob("*.part")))


class Killer:
    """Kills one kind of work again and again.

    Parameters
    ----------
    folder : Path
        Folder that holds a folder for each round.
    seed : int
        Seed of the random moments.
    counts : dict
        Counts of earlier kills, to which new ones are added.
    """

    def __init__(self, work: Work, folder: Path, seed: int, counts: dict[str, int]) -> None:
        self.work, self._folder, self.counts = work, folder, counts
        for name in ("kills", "acknowledged", "rounds", *_FAILURES):
            counts.setdefault(name, 0)
        self._random = random.Random(f"{seed}/{work.name}/{counts['kills']}")
        self._acknowledged: set[str] = set()
        self._seconds_apart = 0.05  # approximate seconds between two acknowledgements

    def kill(self) -> None:
        """Start the work, kill it and check its results; end the round if the work was complete before."""
        home = self._folder / f"{self.work.name}-{self.counts['rounds']}"
        home.mkdir(exist_ok=True)
        if self._random.random() < 1 / 3:
            code = self._killed_before_call(home, self._random.randrange(1, 9))
        else:
            code = self._killed_after(home, self._random.randrange(_MOST_ACKNOWLEDGED + 1))
        self.counts["kills"] += code == -signal.SIGKILL
        self.counts["failed"] += code not in (0, -signal.SIGKILL)
        lost, corrupt = self.work.check(home, self._acknowledged)
        self.counts["lost"] += lost
        self.counts["corrupt"] += corrupt
        self.counts["left over"] += left_over(home)
        if code == 0:
            self._end_round(home)

    def finish(self) -> None:
        """Resume the work of the current round until it is done, and compare its results."""
        home = self._folder / f"{self.work.name}-{self.counts['rounds']}"
        if home.exists():
            child = Child(lambda acknowledge: self.work.do(home, acknowledge))
            self._read(child.lines())
            self.counts["failed"] += child.wait() != 0
            self._end_round(home)

    def _end_round(self, home: Path) -> None:
        self.counts["different"] += self.work.different(home)
        self.counts["rounds"] += 1
        self._acknowledged.clear()
        shutil.rmtree(home)

    def _read(self, lines: Iterator[str]) -> int:
        """Record acknowledged results, and return their number."""
        results = list(lines)
        self._acknowledged.update(results)
        self.counts["acknowledged"] += len(results)
        return len(results)

    def _killed_after(self, home: Path, n_results: int) -> int:
        """Kill the work shortly after `n_results` results, and return its exit code."""
        child, start = Child(lambda acknowledge: self.work.do(home, acknowledge)), time.monotonic()
        if n := self._read(islice(child.lines(), n_results)):
            self._seconds_apart = 0.7 * self._seconds_apart + 0.3 * (time.monotonic() - start) / n
        time.sleep(self._random.uniform(0.0, 1.5 * self._seconds_apart))
        child.kill()
        self._read(child.lines())
        return child.wait()

    def _killed_before_call(self, home: Path, number: int) -> int:
        """Kill the work before the n-th call that writes a file or its name to the disk, and return its exit code."""

        def do(acknowledge: Acknowledge) -> None:
            left = iter(range(number - 1))

            def ending(function: Callable[..., Any]) -> Callable[..., Any]:
                def called(*arguments: Any, **words: Any) -> Any:
                    if next(left, None) is None:
                        os.kill(os.getpid(), signal.SIGKILL)
                    return function(*arguments, **words)

                return called

            for name in _CALLS:
                setattr(os, name, ending(getattr(os, name)))
            self.work.do(home, acknowledge)

        child = Child(do)
        self._read(child.lines())
        return child.wait()


class Kills(LongRun):
    """Kills the kinds of work in turn."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        folder = Path(self.stack.enter_context(tempfile.TemporaryDirectory(prefix="kills-")))
        self.stack.enter_context(serving())
        run_spec(Runs.data, next(Runs().specs()))  # triggers the late imports, which its processes then need not do
        self.killers = [Killer(work(), folder, self.seed, self.counts.setdefault(work.name, {})) for work in WORKS]

    @property
    def done(self) -> float:
        return sum(each["kills"] for each in self.counts.values())

    @property
    def failed(self) -> int:
        return sum(each[name] for each in self.counts.values() for name in _FAILURES)

    def step(self) -> None:
        min(self.killers, key=lambda killer: killer.counts["kills"]).kill()

    def finish(self) -> None:
        for killer in self.killers:
            killer.finish()
