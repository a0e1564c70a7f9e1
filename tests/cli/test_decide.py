from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from slide_gui.cli import main
from tests.experiments.tiny import rectangles

TRAIN = ["train", "tiny.npz", "--depth", "1", "--widths", "median", "-C", "10", "--output", "runs.sqlite"]


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tiny = rectangles(60, 40)
    np.savez(
        "tiny.npz",
        X_train=tiny.train.reshape(-1, 8, 8),
        X_test=tiny.test.reshape(-1, 8, 8),
        y_train=tiny.train_labels,
        y_test=tiny.test_labels,
    )


def document(capsys: pytest.CaptureFixture[str], *words: str) -> dict:
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_that_wrong_test_images_are_decided_as_their_run_has_them(capsys: pytest.CaptureFixture[str]) -> None:
    result = document(capsys, *TRAIN)
    key = document(capsys, "runs", "list", "runs.sqlite")[0]["hash"]
    wrong = 0
    labels = np.load("tiny.npz")["y_test"]
    for row in range(40):
        said = document(
            capsys,
            "decide",
            "tiny.npz",
            "--store",
            "runs.sqlite",
            "--run",
            key[:8],
            "--part",
            "test",
            "--row",
            str(row),
            "--no-flip",
        )
        wrong += said["class"] != str(labels[row])
        assert said["flip"] is None
        assert said["nearest"][0]["class"] == said["class"]
    assert wrong == round(40 * result["error"])


def test_that_the_changes_said_flip_the_image(capsys: pytest.CaptureFixture[str]) -> None:
    document(capsys, *TRAIN)
    key = document(capsys, "runs", "list", "runs.sqlite")[0]["hash"]
    decide = ["decide", "tiny.npz", "--store", "runs.sqlite", "--run", key]
    said = document(capsys, *decide, "--row", "2")
    image = np.load("tiny.npz")["X_train"][2].ravel()
    image[said["flip"]["features"]] = 1 - image[said["flip"]["features"]]
    np.savetxt("flipped.csv", image[None], delimiter=",")
    assert document(capsys, *decide, "--image", "flipped.csv")["class"] == said["flip"]["class"] != said["class"]
    assert main([*decide, "--row", "2"]) == 0
    assert f"changes the class to {said['flip']['class']}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--store", "none.sqlite", "--run", "a"], "this run store does not exist"),
        (["--store", "runs.sqlite", "--run", "zz"], "no runs begin with 'zz'"),
        (["--store", "runs.sqlite", "--run", "", "--row", "60"], "the training set of tiny has 60 rows"),
    ],
)
def test_that_what_cannot_be_decided_is_refused(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(TRAIN) == 0
    assert main(["decide", "tiny.npz", *words]) == 2
    assert sentence in capsys.readouterr().err
