"""The script and the command of a bundle reproduce it, and provenances are checked when they are read."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from slide_gui.cli import main
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.data.files import RECORD
from slide_gui.experiments.files.model_file import fit_model
from slide_gui.experiments.files.provenance import FigureProvenance
from slide_gui.experiments.files.session import read_session
from slide_gui.experiments.files.source import DataSource
from slide_gui.experiments.inspection.flow import flow_result
from slide_gui.experiments.inspection.rows import weight_rows
from slide_gui.experiments.runs.spec import RunSpec, SweepSpec
from slide_gui.figures.copies import copies_export
from slide_gui.figures.export import save_bundle
from slide_gui.figures.flow import flow_export
from slide_gui.figures.run_exports import FIGURE_NAMES, run_export
from slide_gui.figures.style import Style
from slide_gui.figures.weights import weights_export
from tests.experiments.tiny import rectangles, spec
from tests.figures.drawings import copies_of
from tests.scripts import run_script

STYLE = Style(width="double", dpi=120, transposed=True, levels="tile", show="contribution", bias=True)


@pytest.fixture
def source(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tiny = rectangles(60, 150)
    images = {"X_train": tiny.train.reshape(-1, 8, 8), "X_test": tiny.test.reshape(-1, 8, 8)}
    np.savez("tiny.npz", y_train=tiny.train_labels, y_test=tiny.test_labels, **images)
    return DataSource(paths=("tiny.npz",))


def provenance_of(figure, source):
    dataset = source.load()
    if figure not in ("curves", "heat-map"):
        return FigureProvenance.of_run(figure, source, spec(dataset, noise=0.3, C=10.0))
    base = RunSpec(dataset.fingerprint, "tiny.npz", svm=SvmParameters(starts=1, C=10.0), training="split")
    return FigureProvenance(figure, source, SweepSpec(base, (0.1, 0.4), (0, 1)).points(), n_missing=3)


def export_of(figure, source):
    dataset = source.load()
    if figure == "weights":
        return weights_export([weight_rows(fit_model(dataset, StackParameters(depth=2)), (9, 20))], [source])
    if figure == "flow":
        image = dataset.train[0].copy()
        image[5:20] = 1.0
        model = fit_model(dataset, StackParameters(depth=2))
        return flow_export(flow_result(model, image, "training image 1, drawn on", 3), source)
    if figure == "copies":
        return copies_export(copies_of(dataset), source)
    provenance = provenance_of(figure, source)
    return run_export(provenance, dataset, provenance.answers(dataset))


@pytest.mark.parametrize("figure", ["curves", "heat-map", "confusion", "widths", "flow", "copies", "weights"])
def test_that_a_bundle_reproduces_itself_by_script_and_by_command(source, figure):
    save_bundle(Path("bundle"), export_of(figure, source), STYLE)
    figures = [f"{figure}{suffix}" for suffix in (".csv", ".pdf", ".png", ".svg")]
    extra = [f"{figure}-image.csv"] * (figure == "flow") + [f"{figure}.json"] * (figure in FIGURE_NAMES)
    assert sorted(os.listdir("bundle")) == sorted([*figures, *extra, f"{figure}.py", "commands.txt", RECORD])
    before = {name: Path("bundle", name).read_bytes() for name in figures}
    assert (b"validation (3 points missing)" in before[f"{figure}.svg"]) == (figure in ("curves", "heat-map"))
    os.makedirs("script")
    os.link("tiny.npz", "script/tiny.npz")
    for name in figures:
        os.remove(f"bundle/{name}")
    if figure == "curves":  # one figure is tested in a new process
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        subprocess.run([sys.executable, "../bundle/curves.py"], check=True, cwd="script", env=environment)
    else:
        run_script(Path("bundle", f"{figure}.py"), Path("script"))
    for name in extra:
        os.rename(f"bundle/{name}", name)
    *notes, command = Path("bundle/commands.txt").read_text(encoding="utf-8").splitlines()
    assert ("# Run these commands in the folder of this file." in "".join(notes)) == bool(extra)
    assert main(shlex.split(command.removeprefix("slide-gui "))) == 0
    assert os.listdir("script") == ["tiny.npz"], "the script writes to its own folder"
    for name, content in before.items():
        assert content == Path("bundle", name).read_bytes() == Path(name).read_bytes()


def test_that_an_unknown_figure_is_refused_before_training(source, capsys):
    Path("pie.json").write_text(provenance_of("pie", source).text(), encoding="utf-8")
    assert main(["draw", "pie.json"]) == 1
    known = ", ".join(FIGURE_NAMES)
    assert capsys.readouterr().err == f"slide-gui: pie.json: unknown figure 'pie'; choose one of {known}\n"


@pytest.mark.parametrize(("figure", "numerics"), [("confusion", "1"), ("confusion", ""), ("heat-map", None)])
def test_that_a_figure_is_drawn_with_its_view_and_a_warning_of_other_results(source, capsys, figure, numerics):
    document = json.loads(provenance_of(figure, source).text())
    if numerics is not None:
        document["numerics"] = numerics
    Path("f.json").write_text(json.dumps(document), encoding="utf-8")
    assert main(["draw", "f.json", "-o", "f.svg"]) == 0
    assert ("drawn with results version 1" in capsys.readouterr().err) == (numerics == "1")
    assert read_session(Path("f.svg")).choices == ((("curves", "view", "1"),) if figure == "heat-map" else ())
    assert bool(FigureProvenance.read("f.json").difference) == (numerics == "1")
