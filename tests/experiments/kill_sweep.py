"""Kills a sweep again and again at random times, and says what was left.

``python -m tests.experiments.kill_sweep FOLDER KILLS`` forks a child for each kill, which tells through a pipe which
points it has finished, and prints a JSON object. Run it with one BLAS thread, for a fork keeps only one.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from slide_gui.core.svm import SvmParameters
from slide_gui.experiments import store as store_module
from slide_gui.experiments.result import RunResult
from slide_gui.experiments.store import RunStore
from slide_gui.experiments.sweep import run_sweep
from slide_gui.experiments.sweep_spec import SweepSpec
from tests.experiments.tiny import rectangles


class TellingStore(RunStore):
    """Writes the hash of each result to a pipe once it is kept."""

    pipe = -1

    def save(self, result: RunResult) -> None:
        super().save(result)
        os.write(self.pipe, result.spec.hash.encode())


def sweeps_of(fingerprint: str) -> tuple[SweepSpec, SweepSpec]:
    """Return a sweep that hardly does anything but write, and one whose points start from each other."""
    noises = tuple(i / 20 for i in range(10))
    given = SvmParameters(widths="median", C=10.0)
    return (
        SweepSpec(fingerprint, noises=noises, depths=(0, 1, 2), seeds=(0, 1, 2), svm=given),
        SweepSpec(fingerprint, noises=noises[:4], depths=(0, 1, 2), svm=SvmParameters(starts=1)),
    )


# The worst instants: a temporary name that is not renamed, and a file whose row is not committed.
INSTANTS = ((os, "rename"), (store_module, "_sync_folder"))


def main(folder: Path, kills: int) -> dict[str, int]:
    dataset, path = rectangles(80, 100), folder / "runs.sqlite"
    sweeps = sweeps_of(dataset.fingerprint)
    wanted = {point.spec.hash for sweep in sweeps for point in sweep.points()}
    random_times = random.Random(kills)
    told: set[str] = set()
    counts = {"kills": 0, "lost": 0, "corrupt": 0, "orphans": 0, "swept": 0, "finished": 0, "faults": 0}
    while counts["kills"] < kills:
        reader, writer = os.pipe()
        instant = INSTANTS[counts["kills"]] if counts["kills"] < len(INSTANTS) else None
        child = os.fork()
        if child == 0:
            os.close(reader)
            TellingStore.pipe = writer
            if instant is not None:
                setattr(*instant, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
            with TellingStore(path) as store:
                for sweep in sweeps:
                    run_sweep(dataset, sweep, store)
            os._exit(0)
        os.close(writer)
        if instant is None:
            time.sleep(random_times.uniform(0.0, 0.3))
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        with os.fdopen(reader) as pipe:
            text = pipe.read()
        told |= {text[start : start + 64] for start in range(0, len(text), 64)}
        if os.WIFSIGNALED(status):
            counts["kills"] += 1
        with RunStore(path) as store:
            counts["swept"] += store.swept
            kept = {line.hash for line in store.runs()}
            counts["lost"] += len(told - kept)
            counts["corrupt"] += len(store.faults())
            files = {entry.name for entry in os.scandir(store.folder)}
            counts["orphans"] += abs(len(files) - len(kept))
            if kept == wanted:  # all done: begin anew
                counts["finished"] += 1
                if counts["kills"] < kills:
                    told.clear()
                    path = folder / f"runs{counts['finished']}.sqlite"
    with RunStore(path) as store:
        counts["faults"] = sum(len(run_sweep(dataset, sweep, store).faults) for sweep in sweeps)
    (folder / "last").write_text(str(path))
    return counts


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]))))
