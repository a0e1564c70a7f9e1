"""Kills a sweep again and again at random times, and says what was left.

``python -m slide_gui.bench.killing FOLDER KILLS`` forks a child for each kill, which tells through a pipe which
runs it has kept, and prints a JSON object. It wants one BLAS thread, for a fork keeps only one.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from slide_gui.bench.measurement import Measurement, absolute, in_child
from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.data.dataset import Dataset
from slide_gui.experiments import store as store_module
from slide_gui.experiments.result import RunResult
from slide_gui.experiments.spec import SweepSpec
from slide_gui.experiments.store import RunStore
from slide_gui.experiments.sweep import run_sweep

__all__ = ["kill_sweep", "kills"]

_LONGEST = 0.3  # seconds until a kill

# The worst instants: a temporary name that is not renamed, and a file whose row is not committed.
_INSTANTS = ((os, "rename"), (store_module, "_sync_folder"))


def kills() -> list[Measurement]:
    """Measure what 100 kills of a sweep cost."""
    counts = kill_sweep(100)
    note = f"of {counts['kills']} kills, {counts['swept']} of them within a save"
    return [
        absolute("kills-lost", counts["lost"], "points", 0, note),
        absolute("kills-corrupt", counts["corrupt"], "points", 0, note),
        absolute("kills-left-over", counts["left_over"], "files", 0, note),
    ]


def kill_sweep(n: int) -> dict[str, int]:
    """Kill a sweep n times, in processes of its own, and return the counts that `main` prints."""
    with tempfile.TemporaryDirectory() as folder:
        return in_child("-m", "slide_gui.bench.killing", folder, str(n), environment={"OPENBLAS_NUM_THREADS": "1"})


class _TellingStore(RunStore):
    """Writes the hash of each result to a pipe once it is kept."""

    pipe = -1

    def save(self, result: RunResult) -> None:
        """Keep a result, then tell."""
        super().save(result)
        os.write(self.pipe, result.hash.encode())


def _data() -> Dataset:
    random_rows = np.random.default_rng(0)
    rows = (random_rows.random((180, 64)) > 0.6).astype(np.float32)
    labels = (rows[:, :32].sum(axis=1) > rows[:, 32:].sum(axis=1)).astype(np.int64)
    return Dataset("tiny", rows[:80], rows[80:], labels[:80], labels[80:], (8, 8), generated=True)


def _sweeps(fingerprint: str) -> tuple[SweepSpec, SweepSpec]:
    """Return a sweep that hardly does anything but write, and one whose points start from each other."""
    noises = tuple(i / 20 for i in range(10))
    given = SvmParameters(widths="median", C=10.0)
    return (
        SweepSpec(fingerprint, noises=noises, depths=(0, 1, 2), seeds=(0, 1, 2), svm=given),
        SweepSpec(fingerprint, noises=noises[:4], depths=(0, 1, 2), svm=SvmParameters(starts=1)),
    )


def _child(pipe: int, path: Path, dataset: Dataset, sweeps: tuple[SweepSpec, ...], kill_number: int) -> None:
    _TellingStore.pipe = pipe
    if kill_number < len(_INSTANTS):
        setattr(*_INSTANTS[kill_number], lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    with _TellingStore(path) as store:
        for sweep in sweeps:
            run_sweep(dataset, sweep, store)


def main(folder: Path, n: int) -> dict[str, int]:
    """Kill n children, look at the store after each, and finish the sweep at the end.

    Returns
    -------
    dict
        ``lost``: runs that were told and are not there, ``corrupt``: rows that are not to be trusted, ``left_over``:
        temporary files after a restart, each summed over all kills; ``swept``: temporary files removed by restarts;
        ``faults``: runs that had to be made again at the end.
    """
    dataset, path = _data(), folder / "runs.sqlite"
    sweeps = _sweeps(dataset.fingerprint)
    wanted = {point.spec.hash for sweep in sweeps for point in sweep.points()}
    times = random.Random(n)
    told: set[str] = set()
    counts = dict.fromkeys(("kills", "lost", "corrupt", "left_over", "swept", "finished", "faults"), 0)
    while counts["kills"] < n:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            try:
                _child(writer, path, dataset, sweeps, counts["kills"])
            finally:
                os._exit(0)
        os.close(writer)
        if counts["kills"] >= len(_INSTANTS):
            time.sleep(times.uniform(0.0, _LONGEST))
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        with os.fdopen(reader) as pipe:
            text = pipe.read()
        told |= {text[start : start + 64] for start in range(0, len(text), 64)}
        counts["kills"] += os.WIFSIGNALED(status)
        with RunStore(path) as store:
            stored = _look(store, told, counts)
        if stored == wanted and counts["kills"] < n:  # begin anew
            counts["finished"] += 1
            told.clear()
            path = folder / f"runs{counts['finished']}.sqlite"
    with RunStore(path) as store:
        counts["faults"] = sum(len(run_sweep(dataset, sweep, store).faults) for sweep in sweeps)
    return counts


def _look(store: RunStore, told: set[str], counts: dict[str, int]) -> set[str]:
    """Add what is wrong in a store that was just opened to the counts, and return the runs it holds."""
    stored = {line.hash for line in store.runs()}
    counts["swept"] += store.swept
    counts["lost"] += len(told - stored)
    counts["corrupt"] += len(store.check().faults)
    counts["left_over"] += len(list(store.folder.glob("*.part")))
    return stored


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]))))
