"""No command overwrites an input, a store, or a file that the user did not name."""

import argparse
import os
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from slide_gui.cli.console import UsageError
from slide_gui.cli.parser import build_parser
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.data.files import RECORD
from slide_gui.experiments.files.model_file import fit_model, is_model_file, save_model
from slide_gui.experiments.files.provenance import FigureProvenance
from slide_gui.experiments.files.source import DataSource
from slide_gui.experiments.runs.run import run
from slide_gui.experiments.store.store import RunStore
from tests.experiments.tiny import spec

INPUTS = {"store", "image", "provenance", "model"}
OUTPUTS = {
    ("train", "figure"), ("train", "output"), ("train", "save_model"), ("sweep", "figure"), ("try", "out"),
    ("try", "save_model"), ("predict", "output"), ("features", "output"), ("fit", "output"),
    ("fill", "output"), ("weights", "output"), ("weights", "bundle"), ("flow", "output"), ("flow", "bundle"),
    ("copies", "output"), ("copies", "bundle"), ("draw", "output"), ("demo", "out"), ("benchmark", "tables"),
    ("benchmark", "results"),
    ("reproduce", "out"), ("runs export", "output"), ("runs check", "output"),
}  # fmt: skip


@pytest.fixture
def folder(cli, tiny):
    """Write CSV data under the names of output files, and a model, an image, a store and a provenance."""
    data = DataSource(paths=("tiny.npz",)).load()
    rows = [
        ",".join([*map(str, row[:4]), f"c{label}"]) for row, label in zip(data.train, data.train_labels, strict=True)
    ]
    table = "\n".join(["a,b,c,d,class", *rows]) + "\n"
    for name in ("weights", "flow", "copies", "confusion", "curves", "try", "d"):
        Path(f"{name}.csv").write_text(table)
    Path("image.csv").write_text("0.1,0.2,0.3,0.4\n")
    save_model("model.npz", fit_model(data, StackParameters(depth=1)))
    source = DataSource(paths=("d.csv",))
    Path("curves.json").write_text(FigureProvenance.of_run("confusion", source, spec(source.load(), depth=1)).text())
    with RunStore("runs.sqlite") as store:
        store.save(run(data, spec(data, method="raw-svm")))
    return Path()


def contents(folder):
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def alias_of(name, kind):
    """Return another path to a file."""
    linked = f"{Path(name).stem}-linked{Path(name).suffix}"
    if kind == "detour":
        Path("inner").mkdir()
        return f"inner/../{name}"
    (os.link if kind == "hard link" else os.symlink)(name, linked)
    return linked


SVM = "--depth 1 -C 1 --widths median"


@pytest.mark.parametrize(
    ("target", "line", "alias"),
    [
        ("d.csv", "draw curves.json -o OUT", ""),
        ("d.csv", "draw curves.json -o OUT", "detour"),
        ("d.csv", "draw curves.json -o OUT", "symbolic link"),
        ("d.csv", "draw curves.json -o OUT", "hard link"),
        ("confusion.csv", f"train confusion.csv {SVM} --figure OUT", ""),
        ("confusion.csv", f"train confusion.csv {SVM} --figure confusion.pdf OUT", ""),
        ("d.csv", f"sweep d.csv {SVM} --store new.sqlite --figure OUT", ""),
        ("weights.csv", "weights d.csv weights.csv -o OUT", ""),
        ("flow.csv", "flow flow.csv -o OUT", ""),
        ("image.csv", "flow flow.csv --image image.csv -o OUT", ""),
        ("copies.csv", "copies copies.csv -o OUT", ""),
        ("tiny.npz", "fit tiny.npz -o OUT", ""),
        ("d.csv", f"train d.csv {SVM} --save-model OUT", ""),
        ("d.csv", "try d.csv --save-model OUT", ""),
        ("d.csv", "predict model.npz d.csv -o OUT", ""),
        ("model.npz", "features model.npz d.csv -o OUT", "hard link"),
        ("d.csv", "fill d.csv -o OUT", "symbolic link"),
        ("d.csv", "benchmark convex=d.csv --store new.sqlite --tables OUT", ""),
        ("d.csv", "benchmark convex=d.csv --store new.sqlite --results OUT", ""),
        ("runs.sqlite", "runs export runs.sqlite -o OUT", ""),
    ],
)
def test_that_an_output_that_is_an_input_is_refused_before_anything_is_written(folder, cli, target, line, alias):
    output = alias_of(target, alias) if alias else target
    before = contents(folder)
    assert f"{output}: is an input; choose another output" in cli(line.replace("OUT", output), code=2).err
    assert contents(folder) == before


@pytest.mark.parametrize(
    "line",
    [
        "weights weights.csv --format pdf csv",
        "weights weights.csv -o weights.pdf --format csv",
        "runs export runs.sqlite -o runs.sqlite-wal",
        "runs export runs.sqlite -o RUNS.sqlite-SHM",
        "runs export runs.sqlite -o runs.sqlite.arrays/table.csv",
        "runs export runs.sqlite -o other.sqlite",
        "runs check runs.sqlite --save-whole runs.sqlite-wal",
        "benchmark --store runs.sqlite --results runs.sqlite.arrays",
        f"train tiny.npz {SVM} -o confusion-new.csv --figure confusion-new.csv",
        f"sweep tiny.npz {SVM} --store new.csv --figure new.csv",
        "fit d.csv -o tiny.npz",
        "fit d.csv -o runs.sqlite",
        f"train d.csv {SVM} --save-model tiny.npz",
        "weights tiny.npz -o linked.pdf",
        "weights pictures --depth 1 -o pictures/new.pdf",
        "weights pictures --depth 1 --bundle pictures/new",
    ],
)
def test_that_other_ways_to_write_over_inputs_and_stores_are_refused(folder, cli, line):
    shutil.copy("runs.sqlite", "other.sqlite")
    Path("linked.pdf").symlink_to("tiny.npz")
    Path("pictures").mkdir()
    shutil.copy("d.csv", "pictures/train.csv")
    before = contents(folder)
    cli(line, code=2)
    assert contents(folder) == before


@pytest.mark.parametrize(
    "line",
    [
        "try try.csv --out .",
        "weights weights.csv --bundle .",
        "flow flow.csv --bundle .",
        "copies copies.csv --bundle .",
        "demo --out .",
        "reproduce --quick --out .",
        "weights bundle/mine.csv --bundle bundle",
    ],
)
def test_that_a_folder_with_files_of_the_user_gets_no_bundle(folder, cli, line):
    for name in ("commands.txt", "try.py", "index.html", "window.png"):
        Path(name).write_text("mine")
    Path("bundle").mkdir()
    shutil.copy("d.csv", "bundle/mine.csv")
    Path("bundle", RECORD).write_text("")
    before = contents(folder)
    assert "folder" in cli(line, code=2).err
    assert contents(folder) == before


def test_that_a_bundle_replaces_itself_but_no_file_of_the_user(folder, cli):
    line = "weights d.csv --depth 1 --bundle bundle"
    cli(line)
    before = contents(folder / "bundle")
    Path("bundle/notes.txt").write_text("mine")
    cli(line)
    assert contents(folder / "bundle") == before | {"bundle/notes.txt": b"mine"}
    for command, name, sentence in (
        ("weights", "weights.py", "exists and was changed since slide-gui wrote it"),
        ("copies --most 1", "copies.csv", "exists and was not written by slide-gui"),
    ):
        Path(f"bundle/{name}").write_text("mine")
        assert f"bundle/{name}: {sentence}" in cli(f"{command} d.csv --depth 1 --bundle bundle", code=1).err
        assert Path(f"bundle/{name}").read_text() == "mine"


def test_that_a_file_is_replaced_only_if_it_is_named(folder, cli):
    Path("weights.pdf").write_bytes(b"mine")
    line = "weights d.csv --depth 1"
    assert "weights.pdf exists; name it with -o to replace it" in cli(line, code=2).err
    assert Path("weights.pdf").read_bytes() == b"mine"
    cli(f"{line} -o weights.pdf")
    assert Path("weights.pdf").read_bytes().startswith(b"%PDF")
    cli("runs export runs.sqlite")
    cli("runs export runs.sqlite", code=2)
    cli("runs export runs.sqlite -o runs.csv")
    cli("fit d.csv --depth 1 -o model.npz")  # a model may replace a model
    assert is_model_file("model.npz")


def test_that_every_option_that_names_a_file_is_known_to_these_tests():
    """Fail if an option is new: it needs `check_outputs` or `check_folder`, and a case above."""
    found = set()

    def walk(parser, name):
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                for key, inner in action.choices.items():
                    with suppress(UsageError):
                        inner.parse_known_args([])  # subparsers add their options when they parse
                    walk(inner, f"{name} {key}".strip())
            elif action.type is Path and action.dest not in INPUTS:
                found.add((name, action.dest))

    walk(build_parser(), "")
    assert found == OUTPUTS
