"""A small sweep and its exports in a process that speaks a language: `python -m tests.experiments.spoken CODE FOLDER`.

Prints as JSON what was stored and written into files, by name, and by itself what people were shown. The language with
the code ``⟦⟧`` says every text in brackets, in tables of choices too, so that nothing has to be translated for a test.
"""

from __future__ import annotations

import sys

from slide_gui import language
from tests.bracketed import Bracketed

if sys.argv[1:2] == ["⟦⟧"]:
    language._words = Bracketed()

# a language is chosen before anything that has words is imported
import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.data.dataset import Dataset, HeldOut
from slide_gui.experiments.choice import best_words
from slide_gui.experiments.evaluation.table import Cell, DataInfo, EvaluationState, split_answer
from slide_gui.experiments.evaluation.timing import time_rows
from slide_gui.experiments.inspection.copies import CopiesResult, CopiesStudy
from slide_gui.experiments.inspection.flow import flow_result
from slide_gui.experiments.inspection.rows import weight_rows
from slide_gui.experiments.model_file import FittedModel, fit_model, save_model
from slide_gui.experiments.provenance import FigureProvenance
from slide_gui.experiments.result import RunResult
from slide_gui.experiments.session import SessionRecord, write_session
from slide_gui.experiments.setting import Setting
from slide_gui.experiments.source import DataSource
from slide_gui.experiments.spec import RunSpec, SweepPoint, SweepSpec
from slide_gui.experiments.store import RunStore
from slide_gui.experiments.sweep import SweepState, run_sweep
from slide_gui.experiments.trial import Rival, Trial
from slide_gui.figures.copies import copies_export
from slide_gui.figures.evaluation import errors_export, times_export
from slide_gui.figures.export import FigureExport, save_bundle, save_export
from slide_gui.figures.flow import flow_export
from slide_gui.figures.run_exports import confusion_export, run_export, trial_export, widths_export
from slide_gui.figures.style import Style
from slide_gui.figures.tables import runs_csv
from slide_gui.figures.weights import weights_export


def opened(folder: Path) -> tuple[DataSource, Dataset]:
    """Return rows of two classes from a file, a quarter of them held out."""
    rng = np.random.default_rng(3)
    labels = np.arange(80) % 2
    rows = np.clip(rng.normal(0.3 + 0.4 * labels[:, None] * (np.arange(6) % 2), 0.25, (80, 6)), 0.0, 1.0)
    lines = [
        ",".join([*(f"{value:.3f}" for value in row), "ab"[label]]) for row, label in zip(rows, labels, strict=True)
    ]
    (folder / "own.csv").write_text("\n".join([",".join([*(f"x{i}" for i in range(6)), "class"]), *lines]) + "\n")
    source = DataSource(paths=("own.csv",), held_out=HeldOut(0.25, 1))
    return source, source.load()


def swept(dataset: Dataset, source: DataSource, store: RunStore) -> tuple[SweepState, RunResult]:
    """Return some runs, chosen among by validation error, and one whose widths were learned."""
    sweep = SweepSpec(
        dataset.fingerprint, source.argument, (0.2, 0.4), (0, 1), (0, 1), training="split", evaluate="validation",
        svm=SvmParameters(widths="median", C=1.0), held_out=dataset.held_out, choose="pooled",
    )  # fmt: skip
    state = run_sweep(dataset, sweep, store)
    learned = RunSpec(
        dataset.fingerprint, source.argument, stack=StackParameters(noise=0.3, depth=1), held_out=dataset.held_out
    )
    one = SweepSpec(
        learned.fingerprint, learned.source, (0.3,), (1,), held_out=learned.held_out, stack=learned.stack,
        svm=SvmParameters(starts=1),
    )  # fmt: skip
    point = run_sweep(dataset, one, store).points[0]
    return state, store.load(point.spec.hash)


def stored(store: RunStore) -> dict[str, object]:
    """Return what a store holds of its runs, but for how long each took and when."""
    found: dict[str, object] = {}
    for line in store.runs():
        result = store.load(line.hash)
        document = result.document()
        del document["timings"]
        row = {name: value for name, value in line.row().items() if name not in ("seconds", "created")}
        arrays = hashlib.sha256(result.predicted.tobytes() + result.decisions.tobytes()).hexdigest()
        found[line.hash] = [row, document, arrays]
    return found


def evaluated(results: list[RunResult]) -> EvaluationState:
    """Return an evaluation that two runs are the answers of, as if each had taken a second."""
    info = DataInfo("rectangles", "Rectangles", True, "ab" * 32, 60, 20)
    answers = []
    for result in results:
        point = SweepPoint(result.spec.stack.noise, result.spec.stack.depth, 0, 0, result.spec)
        answers.append(replace(split_answer(0, point, result), features=1.0, seconds=1.0))
    cells = (
        Cell("rectangles", "slide-svm", 2, (answers[0],)),
        Cell("rectangles", "sda", 2, (answers[1],)),
        Cell("rectangles", "median", 2, (answers[1],)),
        Cell("rectangles", "raw-svm", 2, (answers[1], replace(answers[0], split=1))),
    )
    return EvaluationState((info,), tuple(cell.method for cell in cells), cells)


def exports(
    dataset: Dataset, source: DataSource, model: FittedModel, state: SweepState, learned: RunResult, last: RunResult
) -> list[FigureExport]:
    """Return what the pages export."""
    evaluation = evaluated([learned, last])
    points = tuple(answer.point for answer in state.done)
    provenance = FigureProvenance("curves", source, points)
    results = provenance.answers(dataset)
    rivals = (Rival(last, 0.3), Rival(learned, 0.01))
    trial = Trial(SweepSpec(""), state.done, learned, rivals, 0.5, "a", 1000)
    copies = CopiesStudy(model.stack, dataset.train, 1, seeds=1, most=8, most_rows=20).run()
    return [
        run_export(provenance, dataset, results),
        replace(trial_export(trial, dataset, source), name="try"),
        run_export(FigureProvenance.of_run("confusion", source, last.spec), dataset, [last]),
        run_export(FigureProvenance.of_run("widths", source, learned.spec), dataset, [learned]),
        replace(confusion_export(last, dataset.label_names), name="confusion-alone"),
        replace(widths_export(learned), name="widths-alone"),
        weights_export([weight_rows(model, (0, 3))], [source]),
        flow_export(flow_result(model, dataset.train[0], "row 1", 0, language.tr("row 1")), source),
        copies_export(CopiesResult(model, copies, 0, 4), source),
        errors_export(evaluation),
        times_export(time_rows(evaluation)),
    ]


def main() -> None:
    folder = Path(sys.argv[2])
    os.chdir(folder)  # data are named as they are in the folder, the same in every language
    written, pictures = folder / "written", folder / "pictures"
    source, dataset = opened(folder)
    model = replace(fit_model(dataset, StackParameters(noise=0.3, depth=2)), seconds=0.0)
    with RunStore(folder / "runs.sqlite") as store:
        state, learned = swept(dataset, source, store)
        last = store.load(state.final[0].point.spec.hash)
        found = stored(store)
        runs = [replace(line, seconds=0.0, created=0.0) for line in store.runs()]
    for export in exports(dataset, source, model, state, learned, last):
        if export.script is not None:
            save_bundle(written / export.name, replace(export, draw=None), Style())  # all but its pictures
        for suffix in (".csv", *export.texts):
            save_export(written / f"{export.name}{suffix}", export, Style())
        save_export(pictures / f"{export.name}.svg", export, Style())
    runs_csv(written / "runs.csv", runs)
    save_model(written / "model.npz", model)
    write_session(SessionRecord(source, dataset.fingerprint, model.stack.parameters), written / "s.slide-session")
    files = {
        path.relative_to(written).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        if path.suffix == ".npz"
        else path.read_text("utf-8")
        for path in sorted(written.rglob("*"))
        if path.is_file()
    }
    shown = {path.stem: path.read_text("utf-8") for path in sorted(pictures.iterdir())}
    shown |= {"best": best_words(state.done), "tip": runs[0].tip, "setting": Setting.of(last.spec).words()}
    print(json.dumps({"stored": found, "files": files, "shown": shown}))


if __name__ == "__main__":
    main()
