"""Compute the results that the package contains: `make shipped`, which resumes an interrupted computation.

The runs are computed in a separate store, build/shipped.sqlite, and copied to resources/shipped. If you give a folder
that `slide-gui benchmark --results` wrote, the tables of the full protocol are added from this folder.
"""

import os
import platform
import subprocess
import sys
import tomllib
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from slide_gui.data.dataset import Dataset
from slide_gui.experiments.evaluation.data_sets import load_data
from slide_gui.experiments.evaluation.protocol import plan
from slide_gui.experiments.evaluation.records import RecordFolder
from slide_gui.experiments.evaluation.run import run_evaluation
from slide_gui.experiments.evaluation.shipped import ShippedResults, ShippedRun
from slide_gui.experiments.evaluation.table import stored_evaluation
from slide_gui.experiments.files.source import DataSource
from slide_gui.experiments.runs.spec import RunSpec, SweepSpec
from slide_gui.experiments.store.store import RunStore, get_or_run
from slide_gui.experiments.sweeps.sweep import run_sweep
from slide_gui.gui.state.runs import SWEEP_DEPTHS, SWEEP_NOISES
from slide_gui.gui.state.workspace import State
from slide_gui.progress import NO_PROGRESS, Listener, Progress
from slide_gui.results_version import RESULTS_VERSION

ROOT = Path(__file__).parent.parent
WORK = ROOT / "build" / "shipped.sqlite"
PROTOCOL = "resources/protocol.toml"


def load(key: str, progress: Progress) -> Dataset:
    return load_data(key, progress, generated=True)


def classifier_spec() -> RunSpec:
    """Return the run that the Classifier page starts in a new window."""
    source = DataSource(key="rectangles", generated=True)
    return RunSpec(source.load().fingerprint, source.argument, stack=State().parameters).checked()


def compute(store: RunStore) -> None:
    """Compute a classifier and a sweep on the data set that a new window opens, and the quick evaluation."""
    dataset, base = load("rectangles", NO_PROGRESS), classifier_spec()
    get_or_run(dataset, base, store)
    shown = Listener(lambda fraction, _: print(f"\r{100 * fraction:5.1f} %", end="", flush=True))
    run_evaluation(plan("quick"), load, store, progress=shown)
    sweep = SweepSpec(replace(base, training="split"), SWEEP_NOISES, SWEEP_DEPTHS, warm=False, choose="pooled")
    run_sweep(dataset, sweep, store, progress=shown)


def machine() -> str:
    """Return a text with the processor, its number of cores and the BLAS."""
    cores, blas = os.cpu_count(), np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return f"{platform.system()} {platform.machine()}, {cores} cores, {blas['name']} {blas['version']}"


def protocol_commit() -> str:
    """Return the first commit of the protocol's present values. Later commits changed only its comments."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout

    first = ""
    for commit in git("log", "--format=%h", "--", PROTOCOL).split():
        if tomllib.loads(git("show", f"{commit}:{PROTOCOL}")) != tomllib.loads((ROOT / PROTOCOL).read_text("utf-8")):
            break
        first = commit
    return first


def collect(store: RunStore, folder: Path | None) -> ShippedResults:
    classifier = store.load(classifier_spec().hash)
    runs = tuple(ShippedRun(**{each.name: getattr(run, each.name) for each in fields(run)}) for run in store.runs())
    today = datetime.now(UTC).date().isoformat()
    tables = {"quick": stored_evaluation(plan("quick"), store.runs())}
    if folder is not None:
        tables["full"] = stored_evaluation(plan("full"), list(RecordFolder(folder).rows.values()))
    return ShippedResults(str(RESULTS_VERSION), today, machine(), protocol_commit(), runs, classifier, tables)


if __name__ == "__main__":
    WORK.parent.mkdir(exist_ok=True)
    with RunStore(WORK) as store:
        compute(store)
        collect(store, Path(sys.argv[1]) if sys.argv[1:] else None).save(ROOT / "resources" / "shipped")
