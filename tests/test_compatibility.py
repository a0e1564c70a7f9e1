"""Files written by version 0.1.0 before its packages were rearranged: each still opens and shows the same content."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QSettings

from slide_gui.data.open import open_data
from slide_gui.experiments.files.model_file import load_model
from slide_gui.experiments.files.session import read_session
from slide_gui.experiments.store.store import RunStore
from slide_gui.gui.app import tear_down
from slide_gui.gui.shell.main_window import MainWindow
from tests.gui.helpers import wait

FILES = Path(__file__).parent / "compatibility"
ERRORS = {
    "33511a364914": ("slide-svm", 2 / 12),
    "3a29bdf124f3": ("raw-svm", 2 / 12),
    "902cc821827f": ("sda", 6 / 12),
    "7191ad2ddb06": ("custom", 2 / 12),
}
FEATURES = [-0.0018972903490066528, -0.09798794984817505, -0.08675849437713623, 1.0542598962783813]
PICTURES = ["weights.png", "weights.svg", "weights.pdf", "moving.gif", "moving.apng", "bundle"]


@pytest.fixture
def folder(tmp_path):
    return Path(shutil.copytree(FILES, tmp_path / "files"))


def test_that_every_run_of_an_earlier_store_is_listed_and_read(folder):
    with RunStore(folder / "runs.sqlite") as store:
        runs = {run.hash[:12]: run for run in store.runs()}
        assert len(runs) == 8
        for beginning, (method, error) in ERRORS.items():
            result = store.load(runs[beginning].hash)
            assert (result.spec.method, result.error) == (method, pytest.approx(error))
            assert len(result.misclassified) == round(12 * error)
        report = store.check()
        assert (report.faults, report.damage) == ({}, ())


def test_that_an_earlier_model_gives_the_same_features(folder):
    rows = open_data([folder / "boxes.csv"]).train
    features = load_model(folder / "model.npz").stack.transform(rows)
    assert features.shape == (48, 3 * 36)
    np.testing.assert_array_equal(features[:, :36], rows)
    np.testing.assert_allclose(features[0, [36, 44, 80, 107]], FEATURES, atol=1e-6)


@pytest.mark.parametrize("name", PICTURES)
def test_that_an_earlier_picture_or_bundle_holds_its_session(folder, name):
    record = read_session(folder / name)
    assert (record.parameters.noise, record.parameters.depth) == (0.3, 2)


def test_that_the_window_opens_earlier_sessions(app, folder):
    files = sorted(folder.glob("*.slide-session"))
    assert len(files) == 10
    window = MainWindow(QSettings(str(folder / "s.ini"), QSettings.Format.IniFormat), folder / "window.sqlite")
    window.show()
    workspace = window.workspace
    for file in files:
        window.open_files([file])
        wait(lambda: workspace.dataset is not None and workspace.state.parameters.noise == 0.4)
        wait(lambda: workspace.model() is not None and not window.queue.busy)
        assert workspace.dataset.name == "boxes"
        assert (workspace.state.parameters.depth, workspace.state.selection.pins) == (2, (14, 21))
        kind, _, name = file.stem.partition("-")
        assert window.pages.name == (name if kind == "page" else "weights"), file.name
        if kind == "weights":
            shown = window.weights_page.choices()["view"]
            assert shown == {"pinned": "weights", "all": "weights", "scramble": "shuffle"}.get(name, name)
        workspace.set_parameters(noise=0.1, depth=1)
        workspace.select(pins=())
        window.actions_by_name["page_runs" if window.pages.name == "weights" else "page_weights"].trigger()
    tear_down(window)
