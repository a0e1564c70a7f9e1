"""Long runs, of which `make test` runs a sample except for mutate: `python -m tests.long_run KIND --summary FILE`.

- fuzz: damaged inputs of every kind that is read; inputs that fail are saved in a folder next to the summary.
- kills: SIGKILL of sweeps, training, saves, downloads and sessions.
- user: random use of the window: clicks, drags, keys, files, cancellations, closing.
- interleavings: new changes at random moments while results of earlier changes arrive.
- mutate: faults planted in a copy of the sources; a fault that no test catches counts as failed.

Counts are written to the summary during the run. A run resumes from it if kind, commit and seed are the same. The exit
code is 1 if anything failed. `python -m tests.long_run fuzz --again csv --number 123` reads one input again.
"""

import argparse
import json
import multiprocessing
import os
import platform
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

KINDS = {
    "fuzz": ("tests.fuzz", "Fuzz", 1_000_000),
    "kills": ("tests.kills", "Kills", 1000),
    "user": ("tests.soak", "User", 120),
    "interleavings": ("tests.soak", "Interleavings", 10_000),
    "mutate": ("tests.mutate", "Mutate", 300),
}
"""Kind → module and class of the run, and its usual amount."""


class LongRun(ABC):
    """A run that repeats a step until a given amount is done.

    Parameters
    ----------
    amount : float
        Total number of inputs, kills, minutes, repetitions or faults.
    counts : dict
        Counts of the run so far, as the summary holds them; empty at first, and changed by each step.
    folder : Path
        Folder for files that explain failures.
    stack : ExitStack
        Closed after the last step.
    """

    def __init__(self, amount: float, seed: int, counts: dict[str, Any], folder: Path, stack: ExitStack) -> None:
        self.amount, self.seed, self.counts, self.folder, self.stack = amount, seed, counts, folder, stack

    @property
    @abstractmethod
    def done(self) -> float:
        """Number of inputs, kills, minutes, repetitions or faults so far."""

    @property
    @abstractmethod
    def failed(self) -> int:
        """Number of failures so far."""

    @abstractmethod
    def step(self) -> None:
        """Do the next step."""

    def finish(self) -> None:  # noqa: B027
        """Do any work that remains after the last step."""


class Child:
    """A task in a fork of this process; its argument is a function that sends a line to this process.

    Its exit code is 0, or 1 after a traceback if the task raises an error.
    """

    def __init__(self, task: Callable[[Callable[[str], object]], object]) -> None:
        context = multiprocessing.get_context("fork")
        self._reader, writer = context.Pipe(duplex=False)
        self._process = context.Process(target=lambda: task(writer.send), daemon=True)
        self._process.start()
        writer.close()

    def lines(self) -> Iterator[str]:
        """Yield each line that the task sends, until it ends."""
        with suppress(EOFError):
            while True:
                yield self._reader.recv()

    def kill(self) -> None:
        self._process.kill()

    def wait(self) -> int:
        """Return the exit code, or the negative number of the signal that ended the process."""
        self._reader.close()
        self._process.join()
        return self._process.exitcode or 0


def _commit() -> str:
    """Return the current commit, with a mark if the sources differ from it."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=Path(__file__).parent, capture_output=True, text=True).stdout.strip()

    return git("rev-parse", "HEAD") + ("-changed" if git("status", "--porcelain", "-uno") else "")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.long_run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--amount", type=float, help="inputs, kills, minutes of the user, times, or faults")
    parser.add_argument("--seed", type=int, default=14)
    parser.add_argument("--summary", type=Path, help="the JSON file of counts")
    parser.add_argument("--again", metavar="TARGET", help="for fuzz: read one input again, and let it fail")
    parser.add_argument("--number", type=int, default=0, help="number of that input")
    options = parser.parse_args(arguments)
    module, name, usual = KINDS[options.kind]
    if options.again:
        import_module(module).again(options.again, options.seed, options.number)
        return 0
    if options.summary is None:
        parser.error("--summary is needed")
    amount = usual if options.amount is None else options.amount
    document: dict[str, Any] = {
        "command": f"python -m tests.long_run {options.kind} --amount {amount:g} --seed {options.seed}",
        "kind": options.kind,
        "seed": options.seed,
        "commit": _commit(),
        "machine": f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "seconds": 0.0,
        "counts": {},
    }
    if options.summary.exists():
        before = json.loads(options.summary.read_text())
        if any(before[key] != document[key] for key in ("kind", "commit", "seed")):
            parser.error(f"{options.summary} is of another kind, commit or seed; name another file")
        document |= {key: before[key] for key in ("seconds", "counts")}
    began, written = time.monotonic() - document["seconds"], 0.0
    with ExitStack() as stack:
        folder = options.summary.with_suffix("")
        run = getattr(import_module(module), name)(amount, options.seed, document["counts"], folder, stack)

        def write() -> None:
            document.update(seconds=round(time.monotonic() - began, 1), failed=run.failed)
            part = options.summary.with_suffix(".part")
            part.write_text(json.dumps(document, indent=1) + "\n")
            os.replace(part, options.summary)
            print(f"{run.done:g} of {amount:g}, {run.failed} failed", flush=True)

        while run.done < amount:
            run.step()
            if time.monotonic() > written + 2.0:
                write()
                written = time.monotonic()
        run.finish()
        write()
        return int(run.failed > 0)


if __name__ == "__main__":
    sys.exit(main())
