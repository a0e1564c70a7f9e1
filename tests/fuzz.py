"""Damaged inputs: whatever is read, only one sentence comes out, within a second and bounded memory.

`tests.long_run` goes through all targets of `tests.fuzz_targets` in turn, in processes of their own. An input is given
by its target, the seed and its number.
"""

from __future__ import annotations

import json
import mmap
import os
import random
import resource
import shutil
import signal
import struct
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fuzz_targets import TARGETS, Target, target
from tests.long_run import forked

SECONDS = 1.0  # that an input may take
BYTES = 128 << 20  # that it may take beside what the process has
_HARD_BYTES = 1 << 30  # where the system refuses
_SLICE = 1000  # inputs of an ordinary target a round
_STUCK = 60.0  # seconds without an input being finished
_LONGEST = 2000  # letters of one sentence
_MOST_SAVED = 3  # inputs of one kind of failure
_AGAIN = 2  # times that an input is read again before it is called slow, for the process may have been stopped


@dataclass
class Failure:
    """An input with which something else came out than one sentence, in time."""

    target: str
    number: int
    kind: str
    what: str


@dataclass
class Counts:
    """What one target was given."""

    inputs: int = 0
    refused: int = 0
    failed: int = 0
    longest: float = 0.0
    most: int = 0
    failures: list[Failure] = field(default_factory=list)


def chance_of(target: Target, seed: int, number: int) -> random.Random:
    """Return the source of an input's changes."""
    return random.Random(f"{seed}/{target.name}/{number}")


def try_one(target: Target, folder: Path, seed: int, number: int, counts: Counts) -> None:
    """Make one input, read it, and add to the counts what came of it."""
    path = target.damage(folder, chance_of(target, seed, number))
    counts.inputs += 1
    before = _reset_peak()
    start = _clock()
    failed = _read(target, path, counts)
    seconds = _clock() - start
    peak = _peak() - before
    if failed is None and peak > BYTES:
        failed = "memory", f"took {peak >> 20} MiB"
    if failed is None and seconds > SECONDS:
        seconds = min(seconds, *(_timed(target, folder, seed, number) for _ in range(_AGAIN)))
        if seconds > SECONDS:
            failed = "slow", f"took {seconds:.1f} s"
    counts.longest, counts.most = max(counts.longest, seconds), max(counts.most, peak)
    if failed is not None:
        counts.failed += 1
        counts.failures.append(Failure(target.name, number, *failed))


def _read(target: Target, path: Path, counts: Counts) -> tuple[str, str] | None:
    try:
        target.read(path)
    except target.allowed as error:
        counts.refused += 1
        said = str(error)
        if not said.isprintable() or not said or len(said) > _LONGEST:
            return "sentence", ascii(said[:300])
        if _is_of_memory(error):
            return "memory", ascii(said[:300])
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        last = traceback.extract_tb(error.__traceback__)[-1]
        return type(error).__name__, f"{ascii(str(error))[:300]} at {Path(last.filename).name}:{last.lineno}"
    return None


def _is_of_memory(error: BaseException | None) -> bool:
    """Whether memory was refused; Python's parser says the same of text that is nested too deeply."""
    while error is not None:
        if isinstance(error, MemoryError):
            return traceback.extract_tb(error.__traceback__)[-1].name != "parse"
        error = error.__cause__ or error.__context__
    return False


def _timed(target: Target, folder: Path, seed: int, number: int) -> float:
    path = target.damage(folder, chance_of(target, seed, number))
    start = _clock()
    _read(target, path, Counts())
    return _clock() - start


def _clock(process: str = "thread-self") -> float:
    """Return the time in seconds, without that in which a process waited for others to leave the processor."""
    waited = int(Path("/proc", process, "schedstat").read_text().split()[1])
    return time.perf_counter() - waited / 1e9


def _reset_peak() -> int:
    """Let the peak of memory begin anew, and return what the process has now."""
    Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def _peak() -> int:
    status = Path("/proc/self/status").read_bytes()
    at = status.index(b"VmHWM:") + 6
    return int(status[at : at + 24].split()[0]) << 10


# Slices in processes -------------------------------------------------------------------------------------------------


def slice_size(target: Target, size: int) -> int:
    """Return how many inputs a target gets in a round of which an ordinary one gets `size`."""
    return max(1, round(size * target.share))


@dataclass
class Slice:
    """Some inputs of a target, being tried in a process of their own."""

    target: Target
    seed: int
    start: int
    count: int
    child: int
    reader: int
    place: mmap.mmap


def start_slice(target: Target, seed: int, start: int, count: int) -> Slice:
    """Begin with inputs of a target in a process of its own."""
    place = mmap.mmap(-1, 8)
    place[:] = struct.pack("q", start)

    def tried(writer: int) -> None:
        counts = _in_child(target, seed, start, count, place)
        with os.fdopen(writer, "w") as pipe:
            json.dump({**vars(counts), "failures": [vars(each) for each in counts.failures]}, pipe)

    child, reader = forked(tried)
    return Slice(target, seed, start, count, child, reader, place)


def finish_slice(slice_: Slice) -> Counts:
    """Wait for a slice, and return its counts.

    A process that dies or sticks ends the slice: the input that it was at is counted as failed, those before it are
    tried again, for nothing is known of them.
    """
    ended = _wait(slice_.child, slice_.reader, slice_.place)
    if isinstance(ended, Counts):
        return ended
    at = struct.unpack("q", slice_.place[:])[0]
    before = at - slice_.start
    counts = finish_slice(start_slice(slice_.target, slice_.seed, slice_.start, before)) if before else Counts()
    counts.inputs, counts.failed = counts.inputs + 1, counts.failed + 1
    counts.failures.append(Failure(slice_.target.name, at, "crash", ended))
    return counts


def _wait(child: int, reader: int, place: mmap.mmap) -> Counts | str:
    """Return the counts that a child sends, or how it ended."""
    text, seen, since = b"", b"", _clock(str(child))
    os.set_blocking(reader, False)
    while True:
        try:
            part = os.read(reader, 1 << 16)
        except BlockingIOError:
            part = b""
            time.sleep(0.01)
        else:
            if not part:
                break
        text += part
        if place[:] != seen:
            seen, since = place[:], _clock(str(child))
        elif _clock(str(child)) - since > _STUCK:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(reader)
            return f"nothing came for {_STUCK:g} s"
    os.close(reader)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and status:
        raise RuntimeError("an input could not be made, as said above")
    if status:
        return f"the process ended by signal {os.WTERMSIG(status)}"
    sent = json.loads(text)
    return Counts(**{**sent, "failures": [Failure(**each) for each in sent["failures"]]})


def _in_child(target: Target, seed: int, start: int, count: int, place: mmap.mmap) -> Counts:
    counts = Counts()
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + _HARD_BYTES, used + _HARD_BYTES))
    with _room() as folder:
        warnings.simplefilter("ignore")
        target.read(target.whole(folder))  # whole, it is read; and what is imported late is there
        for number in range(start, start + count):
            place[:] = struct.pack("q", number)
            try_one(target, folder, seed, number, counts)
    return counts


@contextmanager
def _room() -> Iterator[Path]:
    """Give a folder where nothing waits for a disk, if there is one."""
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=memory, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


# The long run --------------------------------------------------------------------------------------------------------


def run(
    _kind: str,
    inputs: float,
    seed: int,
    counts: dict[str, Any],
    say: Callable[[dict[str, Any], int, str], object],
    saved: Path,
) -> int:
    """Fuzz until there were that many inputs, always the target that is most behind; return how many failed."""
    counts = counts or {each.name: {**vars(Counts()), "failures": []} for each in TARGETS}
    while True:
        done, failed = (sum(each[name] for each in counts.values()) for name in ("inputs", "failed"))
        say(counts, failed, f"{done} inputs, {failed} failed")
        if done >= inputs:
            return int(failed)
        each = min(TARGETS, key=lambda each: counts[each.name]["inputs"] / slice_size(each, _SLICE))
        start, count = counts[each.name]["inputs"], min(int(inputs) - done, slice_size(each, _SLICE))
        _add(counts[each.name], each, finish_slice(start_slice(each, seed, start, count)), seed, saved)


def again(name: str, seed: int, number: int) -> None:
    """Read one input of a target once more."""
    each = target(name)
    with _room() as folder:
        each.whole(folder)
        each.read(each.damage(folder, chance_of(each, seed, number)))


def _add(total: dict[str, Any], each: Target, counts: Counts, seed: int, saved: Path) -> None:
    for name in ("inputs", "refused", "failed"):
        total[name] += getattr(counts, name)
    total["longest"], total["most"] = max(total["longest"], counts.longest), max(total["most"], counts.most)
    for failure in counts.failures:
        alike = [other for other in total["failures"] if other["kind"] == failure.kind]
        if len(alike) < _MOST_SAVED or failure.what not in {other["what"] for other in alike}:
            total["failures"].append(vars(failure))
            _save_input(each, seed, failure.number, saved)


def _save_input(each: Target, seed: int, number: int, saved: Path) -> None:
    with _room() as folder:
        each.whole(folder)
        path = each.damage(folder, chance_of(each, seed, number))
        place = saved / each.name.replace("/", "-") / str(number)
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        copy = shutil.copytree if path.is_dir() else shutil.copy
        copy(path, place / path.name)
