"""`slide-gui datasets` and `slide-gui demo`."""

from __future__ import annotations

import json
import os
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from slide_gui.cli import main
from slide_gui.data import catalogue, generators
from slide_gui.data.entries import entries
from slide_gui.experiments.files.source import DataSource
from slide_gui.progress import NO_PROGRESS, Progress

Capture = pytest.CaptureFixture[str]
KEYS = {entry.key for entry in entries()}


@pytest.fixture(autouse=True)
def no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for data files in an empty folder only."""
    monkeypatch.setattr(catalogue, "data_folders", lambda: [tmp_path / "data"])
    monkeypatch.chdir(tmp_path)


def test_that_list_names_every_benchmark_and_what_is_here(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "convex.zip").touch()
    assert main(["datasets", "list", "--json"]) == 0
    said = {row["key"]: row for row in json.loads(capsys.readouterr().out)}
    assert set(said) == KEYS
    assert said["convex"]["found"] == [str(tmp_path / "data" / "convex.zip")]
    assert said["rectangles"]["found"] is None
    assert (said["mnist"]["n_train"], said["mnist"]["n_test"]) == (60_000, 10_000)
    assert main(["datasets", "list"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(KEYS)


def test_that_info_describes_generated_data_and_their_seed(capsys: Capture) -> None:
    documents = []
    for seed in ("0", "0", "1"):
        assert main(["datasets", "info", "rectangles", "--seed", seed, "--json"]) == 0
        documents.append(json.loads(capsys.readouterr().out))
    one, same, other = documents
    assert one == same
    assert one["fingerprint"] != other["fingerprint"]
    assert one["generated"] is True
    assert (one["n_train"], one["n_test"], one["image_shape"]) == (1200, 50_000, [28, 28])
    assert sum(one["train_labels"].values()) == 1200
    assert set(one["train_labels"]) == {"wider", "taller"}


def test_that_info_describes_files(tmp_path: Path, capsys: Capture) -> None:
    np.savez(tmp_path / "own.npz", X=np.full((5, 3), 0.5), y=np.array([0, 1, 1, 1, 0]))
    assert main(["datasets", "info", "own.npz"]) == 0
    said = capsys.readouterr().out
    assert "0: 2, 1: 2" in said
    assert "25 % held out, seed 0" in said
    assert "own" in said
    assert main(["datasets", "info", "own.npz", "--held-out", "0"]) == 0
    assert "0: 2, 1: 3" in capsys.readouterr().out


def test_that_get_downloads_what_was_asked_for(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def download(key: str, *, progress: Progress = NO_PROGRESS) -> list[Path]:
        asked.append(key)
        return [Path(key) / "file"]

    monkeypatch.setattr(catalogue, "download", download)
    assert main(["datasets", "get", "convex", "mnist", "--json"]) == 0
    assert asked == ["convex", "mnist"]
    assert json.loads(capsys.readouterr().out) == {"convex": ["convex/file"], "mnist": ["mnist/file"]}
    assert main(["datasets", "get", "convex", "cifar"]) == 2
    assert asked == ["convex", "mnist"]
    assert "cifar" in capsys.readouterr().err


def test_that_a_source_reads_its_own_argument() -> None:
    for text in ("rectangles", "own.npz", os.pathsep.join(["images.gz", "labels.gz"])):
        source = DataSource.parse(text, seed=3)
        assert source.argument == text
        assert DataSource.parse(source.argument, seed=source.seed) == source
    assert DataSource.of(["a", "b"]) == DataSource(paths=("a", "b"))


def test_that_demo_writes_the_figure_its_numbers_and_a_picture_of_the_window(
    app: object, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generators, "rectangles", partial(generators.rectangles, 60, 40))
    assert main(["demo", "--out", "out", "--json"]) == 0
    names = ["weights.pdf", "weights.svg", "weights.png", "weights.csv", "window.png"]
    outputs = json.loads(capsys.readouterr().out)["outputs"]
    assert {str(Path("out") / name) for name in names} <= set(outputs)
    assert Path("out/window.png").read_bytes().startswith(b"\x89PNG")
    assert main(["weights", "generated:rectangles", "--depth", "4", "-o", "again.svg"]) == 0
    assert Path("again.svg").read_bytes() == Path("out/weights.svg").read_bytes()


def test_that_a_guess_to_be_checked_is_one_line_on_stderr_and_others_are_in_the_description(capsys: Capture) -> None:
    Path("x.csv").write_bytes("# made today\na,b,class\n.1,.2,Tür\n.3,.4,Tor\n.5,.6,Tür\n".encode("cp1252"))
    assert main(["fit", "x.csv", "--depth", "1", "--json"]) == 0
    assert capsys.readouterr().err == (
        "slide-gui: x, please check: text read as Windows-1252 "
        "(line 3 is not UTF-8; if letters are wrong, save the file as UTF-8)\n"
    )
    assert main(["datasets", "info", "x.csv", "--json"]) == 0
    guesses = json.loads(capsys.readouterr().out)["guessed"]
    assert [guess.partition(":")[0] for guess in guesses] == ["text read as Windows-1252", "1 comment line skipped"]


def test_that_a_table_of_two_text_columns_is_read_with_a_guess_to_be_checked(capsys: Capture) -> None:
    rows = [f"n{k},{'pq'[k % 2]},{k / 8},{k % 3 / 4}\n" for k in range(8)]
    Path("x.csv").write_text("name,kind,a,b\n" + "".join(rows))
    assert main(["datasets", "info", "x.csv", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["feature_names"] == ["a", "b"]
    assert "please check: labels in column “kind” (it has the fewest different texts of all text columns)" in err
    assert "please check: column “name” left out (text cannot be a feature)" in err


def test_that_a_test_table_with_other_column_order_is_classified_as_the_training_table(capsys: Capture) -> None:
    rows = np.random.default_rng(0).random((30, 2)).round(3).tolist()
    for name, order in (("train", "a,b,class"), ("test", "b,class,a")):
        values = [{"a": a, "b": b, "class": int(a > 0.5)} for a, b in rows]
        lines = [",".join(str(row[column]) for column in order.split(",")) for row in values]
        Path(f"x_{name}.csv").write_text("\n".join([order, *lines]) + "\n")
    assert main(["train", "x_train.csv", "x_test.csv", "--depth", "1", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["error"] == said["train_error"] == 0


@pytest.mark.parametrize("size", [1e-35, 1e-39, 1e-40, 1e-42, 1e-300])
def test_that_tiny_values_bring_no_warning_of_numpy(size: float, capsys: Capture) -> None:
    rows = np.random.default_rng(0).random((40, 4)) * size
    lines = [",".join([*map(repr, row), str(k % 2)]) for k, row in enumerate(rows.tolist())]
    Path("x.csv").write_text("a,b,c,d,class\n" + "\n".join(lines) + "\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert main(["train", "x.csv", "--depth", "2", "--widths", "median", "-C", "1", "--json"]) == 0
    assert capsys.readouterr().err == ""


def test_that_rows_of_both_sets_are_reported_and_groups_keep_them_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [f"P{k // 4},{k // 4 / 64},{k // 4 % 7},{'ab'[k // 8 % 2]}\n" for k in range(160)]
    Path("d.csv").write_text("patient,x,y1,kind\n" + "".join(lines))
    for command in (["datasets", "info"], ["train", "--depth", "0", "--widths", "median", "-C", "1"]):
        assert main([*command, "d.csv", "--leave-out", "patient"]) == 0
        said = capsys.readouterr().err
        assert "of 40 test rows also in the training set" in said
    assert main(["datasets", "info", "d.csv", "--group", "patient", "--json"]) == 0
    out, err = capsys.readouterr()
    assert "also in the training set" not in out + err
    assert json.loads(out)["feature_names"] == ["x", "y1"]
