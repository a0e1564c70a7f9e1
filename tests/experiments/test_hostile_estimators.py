"""Stored runs may name scikit-learn classes that are not offered; these are shown but never imported."""

import sys
from dataclasses import replace

import pytest

from slide_gui.cli import main
from slide_gui.core.baselines import Estimator
from slide_gui.data.errors import DataError
from slide_gui.experiments.runs.run import restore, run
from slide_gui.experiments.store.store import RunStore
from tests.experiments.tiny import rectangles, spec

DATA = rectangles(40, 30)
PCA = Estimator.of("decomposition.PCA", {"n_components": 9})
OTHER = ("cluster.FeatureAgglomeration", {"memory": "cache", "n_clusters": 9})


def test_that_a_stored_run_with_another_class_is_shown_and_not_computed_again(tmp_path, capsys, monkeypatch):
    monkeypatch.delitem(sys.modules, "sklearn.cluster", raising=False)
    asked = spec(DATA, method="custom", transformer=PCA, widths="median", C=1.0)
    other = spec(DATA, method="custom", transformer=Estimator.of(*OTHER), widths="median", C=1.0).checked()
    path = tmp_path / "runs.sqlite"
    with RunStore(path) as store:
        store.save(replace(run(DATA, asked), spec=other))
    with RunStore(path) as store:
        (line,) = store.runs()
        result = store.load(line.hash)
        assert result.spec.transformer == other.transformer
    assert main(["runs", "show", str(path), other.hash]) == 0
    assert "FeatureAgglomeration(memory='cache', n_clusters=9)" in capsys.readouterr().out
    for again in (lambda: restore(DATA, result), lambda: run(DATA, other)):
        with pytest.raises((ValueError, DataError), match="is not a transformer that can be used"):
            again()
    assert "sklearn.cluster" not in sys.modules
