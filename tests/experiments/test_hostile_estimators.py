"""A class of scikit-learn that would run code, named by a figure's document, a stored run and the command line."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from slide_gui.cli import main
from slide_gui.core.baselines import Estimator
from slide_gui.data.errors import DataError
from slide_gui.experiments.provenance import FigureProvenance
from slide_gui.experiments.run import run
from slide_gui.experiments.source import DataSource
from slide_gui.experiments.store import RunStore
from tests.experiments.tiny import rectangles, spec
from tests.poisoned_cache import poisoned_cache

DATA = rectangles(40, 30)
HARMLESS = Estimator.of("cluster.FeatureAgglomeration", {"n_clusters": 9})


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to a folder with data and a poisoned cache that fits them."""
    monkeypatch.chdir(tmp_path)
    images = {"X_train": DATA.train.reshape(-1, 8, 8), "X_test": DATA.test.reshape(-1, 8, 8)}
    np.savez("tiny.npz", y_train=DATA.train_labels, y_test=DATA.test_labels, **images)
    return poisoned_cache(tmp_path, DATA.train, n_clusters=9)[0]


def said(capsys: pytest.CaptureFixture[str]) -> str:
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


def hostile(text: str, cache: Path) -> str:
    assert '"n_clusters": 9' in text
    return text.replace('"n_clusters": 9', f'"n_clusters": 9, "memory": {json.dumps(str(cache))}')


@pytest.mark.parametrize("what", ["memory", "class"])
def test_that_drawing_a_document_runs_nothing(what: str, cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = DataSource(paths=("tiny.npz",))
    asked = spec(source.load(), method="custom", transformer=HARMLESS, widths="median", C=1.0)
    text = FigureProvenance.of_run("confusion", source, asked).text()
    Path("doc.json").write_text(text)
    assert main(["draw", "doc.json", "-o", "drawn.csv"]) == 0
    capsys.readouterr()
    changed = hostile(text, cache) if what == "memory" else text.replace("cluster.Feature", "joblib.Feature")
    Path("doc.json").write_text(changed)
    assert main(["draw", "doc.json", "-o", "again.csv"]) == 1
    message = said(capsys)
    assert message.startswith("slide-gui: doc.json: is not the document of a figure (")
    assert ("leave memory out" if what == "memory" else "a file may name") in message
    assert not Path("marker").exists()
    assert not Path("again.csv").exists()


def test_that_a_stored_run_runs_nothing(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = spec(DATA, method="custom", transformer=HARMLESS, widths="median", C=1.0)
    with RunStore("runs.sqlite") as store:
        store.save(run(DATA, asked))
    database = sqlite3.connect("runs.sqlite")
    ((document, name),) = database.execute("SELECT document, file FROM runs").fetchall()
    changed = hostile(document, cache)
    content = Path("runs.sqlite.arrays", name).read_bytes()
    recorded = hashlib.sha256(content + changed.encode()).hexdigest()
    database.execute("UPDATE runs SET document = ?, sha256 = ?", (changed, recorded))
    database.commit()
    database.close()
    with RunStore("runs.sqlite") as store, pytest.raises(DataError, match="leave memory out"):
        store.load(asked.hash)
    assert main(["runs", "show", "runs.sqlite", asked.hash]) == 1
    assert "leave memory out" in said(capsys)
    assert not Path("marker").exists()


def test_that_a_command_line_runs_nothing(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["train", "tiny.npz", "-C", "1", "--transformer", "cluster.FeatureAgglomeration", "n_clusters=9"]
    for value in (str(cache), cache.name, "true"):
        assert main([*words, f"memory={value}"]) == 2
        assert "leave memory out" in said(capsys)
    assert not Path("marker").exists()
    assert main([*words, "memory=null"]) == 0


def test_that_what_no_file_may_name_is_not_kept(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["train", "tiny.npz", "--transformer", "manifold.Isomap", "n_components=3", "-C", "1", "--widths", "median"]
    assert main([*words, "-o", "runs.sqlite"]) == 2
    message = said(capsys)
    assert "this run cannot be stored: 'manifold.Isomap' is not among the classes" in message
    assert not Path("runs.sqlite").exists()
    assert main(words) == 0
    asked = spec(DATA, method="custom", transformer=Estimator.of("manifold.Isomap", {"n_components": 3}), C=1.0)
    with RunStore("runs.sqlite") as store:
        with pytest.raises(ValueError, match="cannot be stored"):
            store.save(run(DATA, asked))
        assert store.runs() == []
