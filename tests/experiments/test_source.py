"""Sources of data as arguments, and descriptions of runs in words."""

import os
from dataclasses import replace

import numpy as np
import pytest

from slide_gui.core.baselines import Estimator
from slide_gui.core.sda.model import SdaParameters
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.svm.model import TrainedSvm
from slide_gui.core.svm.parameters import GUARD, Candidate, ChosenBy, GridPoint
from slide_gui.data.entries import entries
from slide_gui.data.errors import DataError
from slide_gui.experiments.files.source import DataSource, read_image
from slide_gui.experiments.runs.result import describe_chosen, describe_convergence, describe_widths
from slide_gui.experiments.runs.spec import RunSpec, describe_choice, describe_spec


@pytest.mark.parametrize(
    "source",
    [
        *[DataSource(key=entry.key) for entry in entries()],
        DataSource(key="rectangles", generated=True),
        DataSource(key="convex", seed=7, generated=True),
        DataSource(paths=("a.amat",)),
        DataSource(paths=("a.amat", "b.amat")),
    ],
)
def test_that_an_argument_reads_back_as_its_source(source):
    assert DataSource.parse(source.argument, source.seed) == source
    assert source.key or source.argument == os.pathsep.join(source.paths)


def test_that_generated_data_are_not_read_from_files(tmp_path, monkeypatch):
    (tmp_path / "rectangles.zip").write_bytes(b"not even a zip")
    monkeypatch.setenv("SLIDE_GUI_DATA", str(tmp_path))
    data = DataSource.parse("generated:rectangles").load()
    assert data.generated
    assert data.train.shape == (1200, 784)
    assert np.unique(data.train).tolist() == [0.0, 1.0]


def test_that_a_number_beyond_float32_is_refused_without_a_warning(tmp_path):
    (tmp_path / "x.txt").write_text("0 1e300")
    with pytest.raises(DataError, match="some that are not finite"):
        read_image(tmp_path / "x.txt")


STACK = StackParameters(noise=0.3, depth=2)
SVC = Estimator.of("svm.SVC")
SDA = SdaParameters((100, 50), noise=(0.1, 0.25), pretraining_epochs=1, pretraining_rate=0.02, fine_tuning_rate=0.5)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"stack": STACK}, "SLIDE-SVM, noise 1−p = 0.3, depth 2"),
        ({"stack": StackParameters(noise=0.3, depth=2, ridge=10.0)}, "SLIDE-SVM, noise 1−p = 0.3, depth 2, ridge 10"),
        ({"method": "raw-svm"}, "Raw-SVM"),
        ({"method": "pca-svm", "kept": 0.955}, "PCA-SVM, 95.5% of variance"),
        ({"method": "randproj-svm", "kept": 200}, "Rand Proj-SVM, 200 directions"),
        (
            {"method": "sda-svm", "sda": SDA},
            "SdA-SVM, units 100–50, noise 0.1/0.25, 1 epoch per layer at rate 0.02",
        ),
        (
            {"method": "sda", "sda": SdaParameters((10,), 0.0, pretraining_epochs=15), "training": "split"},
            "SdA, units 10, noise 0, 15 epochs per layer at rate 0.005, fine-tuning at rate 0.005",
        ),
        (
            {
                "method": "custom",
                "transformer": Estimator.of("decomposition.PCA"),
                "classifier": Estimator.of("svm.SVC"),
            },
            "scikit-learn, PCA(), SVC()",
        ),
        ({"stack": STACK, "labels": 100}, "SLIDE-SVM, noise 1−p = 0.3, depth 2, 100 labels"),
    ],
)
def test_that_method_and_choices_are_described(changes, words):
    spec = RunSpec("ab" * 32, **changes).checked()
    assert describe_spec(spec) == words
    assert describe_choice(spec) == words.partition(", ")[2]


@pytest.mark.parametrize("fit_rows", ["labelled", "split"])
def test_that_layers_fitted_on_some_rows_are_described(fit_rows):
    spec = RunSpec("ab" * 32, stack=STACK, training="split", labels=50, fit_rows=fit_rows).checked()
    assert describe_spec(spec).startswith("SLIDE-SVM, noise 1−p = 0.3, depth 2, 50 labels, fitted on ")


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        (ChosenBy("span"), "widths by span"),
        (ChosenBy("span", False, 0.2, 0.3), "widths by span"),  # as earlier versions stored it
        (
            ChosenBy("press", False, 0.181, 0.25, 500),
            "widths by press: they misclassify 18.1 % of 500 held-out rows, median widths 25.0 %",
        ),
        (
            ChosenBy("radius-margin", True, 0.334, 0.251, 200),
            "median widths (guard): they misclassify 25.1 % of 200 held-out rows, "
            "widths learned by radius-margin 33.4 %",
        ),
    ],
)
def test_that_the_criterion_of_the_widths_is_described(chosen, words):
    assert describe_chosen(chosen) == words


def test_that_the_guard_is_not_named_as_a_criterion():
    assert [describe_widths(name) for name in ("", "span", GUARD)] == ["", "widths by span", "median widths (guard)"]


def test_that_missing_convergence_is_reported():
    cut_off, solved = Candidate("median", 1.0, 10.0, converged=False), Candidate("learned", 1.0, 1.0)
    nothing = np.empty(0)
    fine = TrainedSvm((1.0,), (1.0,), (1.0,), 1.0, (), (), 2e-4, True, "float32", nothing, nothing, nothing)
    assert describe_convergence(fine) == ""
    assert describe_convergence(replace(fine, chosen=ChosenBy("span", candidates=(solved,)))) == ""
    assert describe_convergence(replace(fine, converged=False, gap=0.02)) == "not converged (gap 2.0e-02)"
    words = "1 of 3 candidates stopped before they converged"
    assert describe_convergence(replace(fine, chosen=ChosenBy("span", candidates=(solved, cut_off, solved)))) == words
    points = GridPoint(1.0, 1.0, 0.1), GridPoint(1.0, 10.0, 0.1, False), GridPoint(1.0, 100.0, 0.1)
    assert describe_convergence(replace(fine, grid=points)) == words
