"""Read damaged inputs: each must be read or refused in one sentence, within one second and limited memory.

`tests.long_run` takes all targets of `tests.fuzz_targets` in turn, in separate processes. Target, seed and
number determine an input.
"""

import json
import os
import random
import resource
import shutil
import signal
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.fuzz_targets import TARGETS, Target, target
from tests.long_run import Child, LongRun

SECONDS = 1.0  # limit of one input
BYTES = 128 << 20  # limit of one input, in addition to the memory that the process has before
_HARD_BYTES = 1 << 30  # address space beyond the start, enforced by the system
_SLICE = 1000  # inputs per process of an ordinary target
_STUCK = 60.0  # seconds after which an unfinished input ends its process
_LONGEST = 2000  # most characters of one sentence
_MOST_SAVED = 3  # most saved inputs of each kind of failure
_TRIES = 3  # an input is slow only if all tries are slow, because the system may have paused the process
_COUNTS = {"inputs": 0, "refused": 0, "failed": 0, "longest": 0.0, "most": 0}

Result = dict[str, Any]
"""Outcome of one input: refused, seconds, bytes, and the failure: None, or its kind and a text."""


def try_one(target: Target, folder: Path, seed: int, number: int) -> Result:
    """Create one damaged input and read it."""
    path = damaged(target, folder, seed, number)
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak of the memory of this process
    before, start = _peak(), _clock()
    refused, failure = _read(target, path)
    seconds, taken = _clock() - start, _peak() - before
    for _ in range(_TRIES - 1):
        if failure is None and seconds > SECONDS:
            path, start = damaged(target, folder, seed, number), _clock()
            _read(target, path)
            seconds = min(seconds, _clock() - start)
    if failure is None and taken > BYTES:
        failure = "memory", f"took {taken >> 20} MiB"
    if failure is None and seconds > SECONDS:
        failure = "slow", f"took {seconds:.1f} s"
    return {"refused": refused, "seconds": seconds, "bytes": taken, "failure": failure}


def damaged(target: Target, folder: Path, seed: int, number: int) -> Path:
    return target.damage(folder, random.Random(f"{seed}/{target.name}/{number}"))


def _read(target: Target, path: Path) -> tuple[bool, tuple[str, str] | None]:
    """Return whether the input was refused, and the failure or None."""
    try:
        target.read(path)
    except target.allowed as error:
        text = str(error)
        if not text.replace("\xa0", " ").isprintable() or not text or len(text) > _LONGEST:
            return True, ("sentence", ascii(text[:300]))
        if path.name not in text:
            return True, ("without the file", ascii(text[:300]))
        return True, ("memory", ascii(text[:300])) if _lacks_memory(error) else None
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return False, (type(error).__name__, f"{ascii(str(error))[:300]} at {Path(last.filename).name}:{last.lineno}")
    return False, None


def _lacks_memory(error: BaseException | None) -> bool:
    """Return True if an allocation failed; Python's parser raises the same error for text that is nested too deeply."""
    while error is not None:
        if isinstance(error, MemoryError):
            return traceback.extract_tb(error.__traceback__)[-1].name != "parse"
        error = error.__cause__ or error.__context__
    return False


def _clock() -> float:
    """Return the time in seconds, without the time in which this thread waited for a processor."""
    waited = int(Path("/proc/thread-self/schedstat").read_text().split()[1])
    return time.perf_counter() - waited / 1e9


def _peak() -> int:
    status = Path("/proc/self/status").read_bytes()
    at = status.index(b"VmHWM:") + 6
    return int(status[at : at + 24].split()[0]) << 10


def slice_size(target: Target, size: int) -> int:
    """Return the number of inputs of a target for every `size` inputs of an ordinary one."""
    return max(1, round(size * target.share))


def try_slice(target: Target, seed: int, start: int, count: int) -> list[Result]:
    """Try inputs in a separate process, up to the first that ends or blocks it."""

    def try_all(send: Callable[[str], object]) -> None:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + _HARD_BYTES, used + _HARD_BYTES))
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # the default action ends the process
        with _folder() as folder:
            warnings.simplefilter("ignore")
            target.read(target.whole(folder))  # triggers the late imports, which then count for no input
            for number in range(start, start + count):
                signal.setitimer(signal.ITIMER_REAL, _STUCK)
                send(json.dumps(try_one(target, folder, seed, number)))

    child = Child(try_all)
    results = [json.loads(line) for line in child.lines()]
    code = child.wait()
    if code > 0:
        raise RuntimeError("an input could not be made, see above")
    if code < 0:
        failure = "crash", f"the process ended by {signal.Signals(-code).name}"
        results.append({"refused": False, "seconds": 0.0, "bytes": 0, "failure": failure})
    return results


@contextmanager
def _folder() -> Iterator[Path]:
    """Yield a temporary folder, in memory if possible."""
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=memory, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


class Fuzz(LongRun):
    """Tries damaged inputs; each step takes a slice of the target that is furthest behind."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        for each in TARGETS:
            self.counts.setdefault(each.name, {**_COUNTS, "failures": []})

    @property
    def done(self) -> float:
        return sum(each["inputs"] for each in self.counts.values())

    @property
    def failed(self) -> int:
        return sum(each["failed"] for each in self.counts.values())

    def step(self) -> None:
        each = min(TARGETS, key=lambda each: self.counts[each.name]["inputs"] / slice_size(each, _SLICE))
        counts = self.counts[each.name]
        start, count = counts["inputs"], min(int(self.amount - self.done), slice_size(each, _SLICE))
        for number, result in enumerate(try_slice(each, self.seed, start, count), start):
            counts["inputs"] += 1
            counts["refused"] += result["refused"]
            counts["longest"] = max(counts["longest"], result["seconds"])
            counts["most"] = max(counts["most"], result["bytes"])
            if result["failure"] is not None:
                counts["failed"] += 1
                self._note(each, number, *result["failure"])

    def _note(self, each: Target, number: int, kind: str, text: str) -> None:
        """Record a failure, and save its input unless enough inputs of its kind are saved."""
        failures = self.counts[each.name]["failures"]
        alike = [other["what"] for other in failures if other["kind"] == kind]
        if len(alike) >= _MOST_SAVED and text in alike:
            return
        failures.append({"number": number, "kind": kind, "what": text})
        with _folder() as folder:
            each.whole(folder)
            path = damaged(each, folder, self.seed, number)
            place = self.folder / each.name.replace("/", "-") / str(number)
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
            copy = shutil.copytree if path.is_dir() else shutil.copy
            copy(path, place / path.name)


def again(name: str, seed: int, number: int) -> None:
    """Read one damaged input of a target again."""
    each = target(name)
    with _folder() as folder:
        each.whole(folder)
        each.read(damaged(each, folder, seed, number))
