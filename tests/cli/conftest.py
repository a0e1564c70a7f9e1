"""Fixtures that run subcommands in this process, in a new folder with small data."""

import json
import shlex
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from slide_gui.cli import main
from slide_gui.data import catalogue
from tests.experiments.tiny import rectangles


class Output(NamedTuple):
    """The output of a command on stdout and stderr."""

    out: str
    err: str

    @property
    def json(self) -> Any:
        """Return the JSON document on stdout."""
        return json.loads(self.out)


@pytest.fixture
def cli(tmp_path, monkeypatch, capsys):
    """Return a function that runs a command in an empty folder and fails if its exit code is not `code`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(catalogue, "data_folders", lambda: [tmp_path / "data"])

    def run(line: str, *words: str, code: int = 0) -> Output:
        capsys.readouterr()
        found = main([*shlex.split(line), *words])
        output = Output(*capsys.readouterr())
        assert found == code, output.err
        return output

    return run


@pytest.fixture
def tiny(cli):
    """Return a file of 60 training and 40 test images, 8 × 8, of two classes."""
    data = rectangles(60, 40)
    images = {"X_train": data.train.reshape(-1, 8, 8), "X_test": data.test.reshape(-1, 8, 8)}
    np.savez("tiny.npz", y_train=data.train_labels, y_test=data.test_labels, **images)
    return Path("tiny.npz")


@pytest.fixture
def small(cli):
    """Return a file of 40 images, 6 × 6, without labels."""
    np.savez("small.npz", X=np.random.default_rng(0).random((40, 6, 6)).astype(np.float32))
    return Path("small.npz")
