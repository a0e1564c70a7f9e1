"""Damaged inputs by the million: whatever is read, only one sentence comes out, within a second and bounded memory.

``python -m tests.fuzz --inputs 1000000 --seed 14 --summary fuzz.json`` goes through all targets of `tests.fuzz_targets`
in turn, in processes of its own, and writes what was counted after each round; started again with the same summary it
goes on where it stood. Inputs that fail are kept in a folder beside the summary. An input is told by its target, the
seed and its number: ``python -m tests.fuzz --again "csv" --seed 14 --number 123`` reads it again.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import platform
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.forked import forked
from tests.fuzz_targets import TARGETS, Target, target

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


def rounds(targets: tuple[Target, ...], inputs: int, done: dict[str, int]) -> Iterator[tuple[Target, int, int]]:
    """Yield target, first number and count of slices, of the target that is most behind, until so many were tried.

    Parameters
    ----------
    inputs : int
        Of all targets together, those that are done among them.
    done : dict
        The number of the next input of each target; read anew for each slice.
    """
    while (left := inputs - sum(done.values())) > 0:
        each = min(targets, key=lambda each: done[each.name] / slice_size(each, _SLICE))
        yield each, done[each.name], min(left, slice_size(each, _SLICE))


def commit() -> str:
    """Return the commit of the sources, with a mark where they differ from it."""
    here = Path(__file__).parent
    said = subprocess.run(["git", "rev-parse", "HEAD"], cwd=here, capture_output=True, text=True).stdout.strip()
    changed = subprocess.run(["git", "status", "--porcelain", "-uno"], cwd=here, capture_output=True, text=True).stdout
    return said + ("-changed" if changed else "")


def machine() -> dict[str, object]:
    """Return what the figures were measured on."""
    return {
        "system": platform.platform(),
        "processors": os.cpu_count(),
        "python": platform.python_version(),
        "nice": os.nice(0),
    }


def run(
    inputs: int,
    seed: int,
    summary: Path,
    processes: int,
    names: list[str],
    say: Callable[[str], object] = print,
) -> int:
    """Fuzz until so many inputs were tried, and return how many failed."""
    targets = tuple(target(name) for name in names) or TARGETS
    document: dict[str, Any] = {
        "command": f"python -m tests.fuzz --inputs {inputs} --seed {seed}", "commit": commit(), "seed": seed,
        "machine": machine(), "limits": {"seconds": SECONDS, "bytes": BYTES}, "seconds": 0.0, "inputs": 0, "failed": 0,
        "targets": {each.name: {**vars(Counts()), "failures": []} for each in targets},
    }  # fmt: skip
    if summary.exists():
        before = json.loads(summary.read_text())
        same = all(before[key] == document[key] for key in ("commit", "seed")) and set(before["targets"]) == set(
            document["targets"]
        )
        if not same:
            raise SystemExit(f"{summary} is of another commit, seed or choice of targets; name another file")
        document = before | {"command": document["command"]}
    saved = summary.with_suffix("")
    done = {name: counts["inputs"] for name, counts in document["targets"].items()}
    start, before_seconds = time.monotonic(), document["seconds"]
    work = rounds(targets, inputs, done)
    for batch in _batches(work, processes, done):
        # All in one thread: a process begun meanwhile would hold the other ends of pipes open.
        for slice_ in [start_slice(each, seed, start, count) for each, start, count in batch]:
            each = slice_.target
            _add(document["targets"][each.name], each, finish_slice(slice_), seed, saved)
            done[each.name] = document["targets"][each.name]["inputs"]
        document["inputs"] = sum(counts["inputs"] for counts in document["targets"].values())
        document["failed"] = sum(counts["failed"] for counts in document["targets"].values())
        document["seconds"] = round(before_seconds + time.monotonic() - start, 1)
        part = summary.with_suffix(".part")
        part.write_text(json.dumps(document, indent=1) + "\n")
        os.replace(part, summary)
        say(f"{document['inputs']} inputs, {document['failed']} failed, {document['seconds']:.0f} s")
    return int(document["failed"])


def _batches(
    work: Iterator[tuple[Target, int, int]], processes: int, done: dict[str, int]
) -> Iterator[list[tuple[Target, int, int]]]:
    """Yield slices that run at the same time, of different targets."""
    batch: list[tuple[Target, int, int]] = []
    for item in work:
        batch.append(item)
        done[item[0].name] += item[2]  # as `rounds` counts what is left; set to what was done afterwards
        if len(batch) == processes:
            yield batch
            batch = []
    if batch:
        yield batch


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


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=1_000_000, help="of all targets together")
    parser.add_argument("--seed", type=int, default=14)
    parser.add_argument("--summary", type=Path, help="the JSON file of counts; goes on where it stands")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--targets", nargs="+", default=[], metavar="NAME", help="these alone")
    parser.add_argument("--again", metavar="NAME", help="read one input of a target again, and let it fail")
    parser.add_argument("--number", type=int, default=0, help="of that input")
    asked = parser.parse_args(arguments)
    if asked.again:
        each = target(asked.again)
        with _room() as folder:
            each.whole(folder)
            each.read(each.damage(folder, chance_of(each, asked.seed, asked.number)))
        return 0
    if asked.summary is None:
        parser.error("--summary is needed")
    return 1 if run(asked.inputs, asked.seed, asked.summary, asked.processes, asked.targets) else 0


if __name__ == "__main__":
    sys.exit(main())
