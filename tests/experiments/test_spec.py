"""Specs: the hash tells apart what differs in its result, and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import fields, replace

import pytest

from slide_gui.core.baselines import Estimator
from slide_gui.core.parameters import StackParameters
from slide_gui.core.sda_parameters import SdaParameters
from slide_gui.core.svm import SvmParameters
from slide_gui.experiments.spec import RunSpec

KNN = Estimator.of("neighbors.KNeighborsClassifier")
BASE = RunSpec("ab" * 32, stack=StackParameters(noise=0.5, depth=2), training="split")


def test_that_every_choice_that_changes_a_result_changes_the_hash() -> None:
    changed = [
        replace(BASE, fingerprint="cd" * 32),
        replace(BASE, method="median"),
        replace(BASE, method="raw-svm"),
        replace(BASE, split=1),
        replace(BASE, seed=1),
        replace(BASE, training="whole"),
        replace(BASE, evaluate="validation"),
        replace(BASE, test_rows=100),
        replace(BASE, neighbour=BASE),
        *(replace(BASE, stack=replace(BASE.stack, **change)) for change in (  # type: ignore[arg-type]
            {"noise": 0.4}, {"depth": 3}, {"threshold": 0.4}, {"squashing": "tanh"}, {"fit_on": "thresholded"},
            {"ridge": 1e-4}, {"dtype": "float64"}, {"batch_size": 10},
        )),
        *(replace(BASE, svm=replace(BASE.svm, **change)) for change in (  # type: ignore[arg-type]
            {"widths": "median"}, {"widths": (1.0, 2.0, 3.0)}, {"criterion": "press"}, {"loss": "hinge"}, {"C": 3.0},
            {"tol": 1e-4}, {"max_iter": 9}, {"subset_size": 99}, {"starts": 1}, {"retune": False}, {"memory": 1 << 20},
        )),
    ]  # fmt: skip
    changed += [
        *(replace(BASE, method="pca-svm", kept=kept) for kept in (0.5, 0.9)),
        replace(BASE, method="white-svm", kept=0.9),
        replace(BASE, method="randproj-svm", kept=9),
        replace(BASE, method="custom", classifier=KNN),
        replace(BASE, method="custom", classifier=Estimator.of(KNN.name, {"n_neighbors": 4})),
        replace(BASE, method="custom", transformer=Estimator.of("decomposition.PCA")),
        replace(BASE, method="sda"),
        replace(BASE, method="sda", sda=SdaParameters(fine_tuning_rate=0.2)),
        replace(BASE, method="sda-svm", sda=SdaParameters(noise=(0.1, 0.2, 0.3))),
        replace(BASE, method="sda-svm", svm=SvmParameters(widths="median")),
        replace(BASE, labels=10),
        replace(BASE, labels=10, fitted_on="labelled"),
        replace(BASE, training="split", fitted_on="split"),
    ]
    hashes = [spec.hash for spec in [BASE, *changed]]
    assert len(set(hashes)) == len(hashes)
    # A field added to a spec must be looked at here.
    assert {field.name for field in fields(RunSpec)} == {
        "fingerprint", "source", "method", "stack", "svm", "split", "seed", "training", "evaluate", "test_rows",
        "neighbour", "kept", "transformer", "classifier", "labels", "fitted_on", "sda",
    }  # fmt: skip


@pytest.mark.parametrize(
    "same",
    [
        (BASE, replace(BASE, source="moved elsewhere")),
        (BASE, replace(BASE, svm=replace(BASE.svm, groups=7, seed=9, near=((1.0,), 2.0)))),
        (replace(BASE, training="whole"), replace(BASE, training="whole", split=3)),
        (replace(BASE, training="whole"), replace(BASE, training="whole", fitted_on="split")),
        (replace(BASE, method="raw-svm"), replace(BASE, method="raw-svm", stack=StackParameters(noise=0.9))),
        (
            replace(BASE, stack=StackParameters(noise=0.1, depth=0)),
            replace(BASE, stack=StackParameters(noise=0.7, depth=0)),
        ),
        (replace(BASE, method="median"), replace(BASE, method="median", svm=SvmParameters(criterion="span"))),
        (
            replace(BASE, method="sda-svm"),
            replace(BASE, method="sda-svm", sda=SdaParameters(fine_tuning_rate=0.2, seed=5)),
        ),
        (replace(BASE, method="sda"), replace(BASE, method="sda", svm=SvmParameters(C=9.0), stack=StackParameters())),
    ],
)
def test_that_what_cannot_change_a_result_does_not_change_the_hash(same: tuple[RunSpec, RunSpec]) -> None:
    assert same[0].hash == same[1].hash


def test_that_hashes_stay_while_the_format_does() -> None:
    plain = RunSpec("f" * 64)
    raw = {"split": 3, "training": "split", "evaluate": "validation", "svm": SvmParameters(loss="hinge")}
    warm = RunSpec("f" * 64, stack=StackParameters(noise=0.5, depth=2), neighbour=plain, training="split")
    assert plain.hash == "725ab3662cdcb674d8f11af652c4036c10a47d67d79044a992a835bf95f65a58"
    assert replace(plain, method="raw-svm", **raw).hash == (  # type: ignore[arg-type]
        "a7b2435dd81fb13cbc13c5ca326e3c34d352f12110e6d9104a23ad4c3e15d6eb"
    )
    assert replace(plain, method="median").hash == "21ef01dfb7fbb30cb6fb116aaacf7e0b3184a1cff12e8fc6403b6c858b7b5e09"
    assert warm.hash == "4668f429d7ee11e5d07cf5fc658b60e18e93a9dc5464d551a971868c6e7deaf1"


def test_that_the_hash_is_the_same_in_another_process() -> None:
    code = "from tests.experiments.test_spec import BASE; print(BASE.hash)"
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    ).stdout
    assert said.strip() == BASE.hash


def test_that_a_spec_with_its_neighbours_comes_back_from_json() -> None:
    spec = replace(
        BASE, neighbour=replace(BASE, stack=replace(BASE.stack, noise=0.4), neighbour=BASE), svm=SvmParameters(C=2.0)
    ).checked()
    again = RunSpec.from_document(json.loads(json.dumps(spec.document())))
    assert again == spec
    assert again.hash == spec.hash
    other = replace(BASE, method="custom", classifier=Estimator.of(KNN.name, {"n_neighbors": 4}), labels=9).checked()
    assert RunSpec.from_document(json.loads(json.dumps(other.document()))) == other
    network = replace(BASE, method="sda", sda=SdaParameters(n_units=(3, 4), noise=(0.1, 0.2))).checked()
    assert RunSpec.from_document(json.loads(json.dumps(network.document()))) == network
    given = replace(BASE, svm=SvmParameters(widths=(0.1, 1 / 3, 7.0), C=1.0)).checked()
    assert RunSpec.from_document(json.loads(json.dumps(given.document()))) == given


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "magic"}, "method is 'magic'"),
        ({"training": "half"}, "training is"),
        ({"evaluate": "train"}, "evaluate is"),
        ({"training": "whole", "evaluate": "validation"}, "no validation rows"),
        ({"split": -1}, "0 or more"),
        ({"test_rows": 0}, "1 or more, or None"),
        ({"stack": StackParameters(noise=1.0)}, "noise"),
        ({"svm": SvmParameters(loss="square")}, "loss"),
        ({"method": "pca-svm"}, "kept is missing"),
        ({"method": "custom"}, "neither a transformer nor a classifier"),
        ({"classifier": KNN}, "has its own parts"),
        ({"labels": 1}, "2 or more, or None"),
        ({"fitted_on": "labelled"}, "how many labels"),
        ({"fitted_on": "test", "labels": 9}, "fitted_on is"),
    ],
)
def test_that_a_spec_out_of_range_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(BASE, **change).checked()  # type: ignore[arg-type]
