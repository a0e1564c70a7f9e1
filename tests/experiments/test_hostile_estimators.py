"""A class of scikit-learn that is not offered, named by a figure's document, a stored run and the command line."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from slide_gui.cli import main
from slide_gui.core.baselines import Estimator
from slide_gui.data.errors import DataError
from slide_gui.experiments.files.provenance import FigureProvenance
from slide_gui.experiments.files.source import DataSource
from slide_gui.experiments.runs.run import restore, run
from slide_gui.experiments.store.store import RunStore
from tests.experiments.tiny import rectangles, spec

DATA = rectangles(40, 30)
PCA = Estimator.of("decomposition.PCA", {"n_components": 9})
OTHER = ("cluster.FeatureAgglomeration", {"memory": "cache", "n_clusters": 9})


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Go to a folder with data."""
    monkeypatch.chdir(tmp_path)
    images = {"X_train": DATA.train.reshape(-1, 8, 8), "X_test": DATA.test.reshape(-1, 8, 8)}
    np.savez("tiny.npz", y_train=DATA.train_labels, y_test=DATA.test_labels, **images)


def named(text: str, name: str, parameters: dict[str, object]) -> str:
    """Return a document with another class in place of PCA."""
    document = json.loads(text)
    document["runs"][0]["transformer"] = {"name": name, "parameters": parameters}
    return json.dumps(document)


def test_that_a_document_with_another_class_is_not_drawn(data: None, capsys: pytest.CaptureFixture[str]) -> None:
    source = DataSource(paths=("tiny.npz",))
    asked = spec(source.load(), method="custom", transformer=PCA, widths="median", C=1.0)
    text = FigureProvenance.of_run("confusion", source, asked).text()
    Path("doc.json").write_text(text)
    assert main(["draw", "doc.json", "-o", "drawn.csv"]) == 0
    capsys.readouterr()
    for name, parameters, reason in (
        (*OTHER, "is not a transformer that can be used"),
        (PCA.name, {"n_components": 9, "memory": "cache"}, "takes no parameter 'memory'"),
        (PCA.name, {"memory": "/tmp/cache"}, "expected a number, a word"),
        ("joblib/Memory", {}, "is not the name of a class"),
    ):
        Path("doc.json").write_text(named(text, name, parameters))
        assert main(["draw", "doc.json", "-o", "again.csv"]) == 1
        captured = capsys.readouterr()
        assert reason in captured.err
        assert captured.out == ""
    assert not Path("again.csv").exists()
    assert not Path("cache").exists()


def test_that_a_stored_run_with_another_class_is_shown_and_not_computed_again(
    data: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "sklearn.cluster", raising=False)
    asked = spec(DATA, method="custom", transformer=PCA, widths="median", C=1.0)
    other = spec(DATA, method="custom", transformer=Estimator.of(*OTHER), widths="median", C=1.0).checked()
    with RunStore("runs.sqlite") as store:
        store.save(replace(run(DATA, asked), spec=other))
    with RunStore("runs.sqlite") as store:
        (line,) = store.runs()
        result = store.load(line.hash)
        assert result.spec.transformer == other.transformer
    assert main(["runs", "show", "runs.sqlite", other.hash]) == 0
    assert "FeatureAgglomeration(memory='cache', n_clusters=9)" in capsys.readouterr().out
    for again in (lambda: restore(DATA, result), lambda: run(DATA, other)):
        with pytest.raises((ValueError, DataError), match="is not a transformer that can be used"):
            again()
    assert "sklearn.cluster" not in sys.modules


def test_that_a_command_line_names_no_other_class(data: None, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["train", "tiny.npz", "-C", "1", "--transformer"]
    for named_by, reason in (
        (["cluster.FeatureAgglomeration", "n_clusters=9"], "is not a transformer that can be used"),
        (["decomposition.PCA", "memory=cache"], "takes no parameter 'memory'"),
    ):
        assert main([*words, *named_by]) == 2
        assert reason in capsys.readouterr().err
    assert main([*words, "decomposition.PCA", "n_components=9", "random_state=null"]) == 0
