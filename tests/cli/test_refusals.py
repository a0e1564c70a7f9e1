"""Commands that cannot run end with one sentence; none overwrites an input, or executes anything in a name."""

import argparse
import csv
import json
import os
import re
import shutil
from contextlib import suppress
from pathlib import Path
from xml.etree import ElementTree

import pytest

from slide_gui.cli.console import UsageError
from slide_gui.cli.parser import build_parser
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.data.files import RECORD
from slide_gui.data.open import open_data
from slide_gui.experiments.files.model_file import fit_model, is_model_file, save_model
from slide_gui.experiments.files.provenance import FigureProvenance
from slide_gui.experiments.files.source import DataSource
from slide_gui.experiments.runs.run import run
from slide_gui.experiments.store.store import RunStore
from slide_gui.figures.run_exports import RUN_FIGURES
from tests.experiments.tiny import spec
from tests.hostile import CLASSES, hostile_file, unsafe

USAGE = {
    "nonsense": "neither a file nor one of the subcommands",
    "--nonsense": "required",
    "fit": "DATA",
    f"train small.npz --seed {10**19}": f"seed is {10**19}; it must be an integer, 0 to {10**18}",
    "fit small.npz --noise 1": "noise is 1.0",
    "fit small.npz -o a.npz --output=b.npz": "argument -o/--output: this option is given more than once",
    "train tiny.npz --figure widths.pdf --figure widths.svg": "argument --figure: this option is given more than once",
    "sweep tiny.npz --store r --figure a.pdf --figure ./a.pdf": "two of the outputs a.pdf, a.pdf are the same file",
    "train tiny.npz --figure widths.csv --save-model widths.csv": "two of the outputs widths.csv, widths.csv are",
    "weights small.npz --depth 0": "depth is 0",
    "weights small.npz --pixels 6,0": "numbered 0 to 5, and the columns",
    "weights small.npz --pixels 3": "ROW,COLUMN",
    "weights small.npz --pixels 1,1 --pixels 2,2": "2 times for 1",
    "weights small.npz --width huge": "width is 'huge'",
    "weights small.npz --animate depth": "invalid choice: 'depth' (choose from 'noise')",
    "weights small.npz --animate noise -o w.pdf": "must end in .gif",
    "weights small.npz -o w.svg --format png csv": "-o 'w.svg' must end in .png or .csv",
    "weights small.npz --animate noise --bundle b": "cannot be used together",
    "weights small.npz --animate noise --format png": "--format is 'png'; it must be one of gif",
    "weights small.npz --bundle b --no-session": "leave out --output, --format and --no-session",
    "weights small.npz -o w.gif": "must end in .pdf, .svg, .png or .csv",
    "weights tiny.npz --window 5": "--window needs --sharing convolution; give both",
    "weights tiny.npz --threshold 0.7 --squashing tanh": "--threshold has no effect with --squashing tanh; leave one",
    "train tiny.npz --on-split --evaluate validation --test-rows 9": "--test-rows has no effect with --evaluate valid",
    "flow tiny.npz --row 60": "--row is 60; tiny has 60 training rows, numbered from 0",
    "flow tiny.npz --corruption -1": "expected a seed of 0 or more",
    "flow tiny.npz --corruption 5 --clean": "--corruption has no effect with --clean; leave one of them out",
    "flow tiny.npz --image three.csv": "has 3 numbers; tiny needs 64, one per feature",
    "copies tiny.npz --layer 4": "layer is 4; choose a layer from 1 to the depth, 3",
    "copies tiny.npz --depth 0": "layer is 1; depth 0 has no layers; use --depth 1",
    "copies tiny.npz --noise 0": "noise is 0, so every copy equals the data and Wₘ equals W",
    "copies tiny.npz --shown 3": "shown is 3; it must be one of 1, 2, 4",
    "copies tiny.npz --pixel 9,9": "expected ROW,COLUMN",
    "train tiny.npz --evaluate validation": "validation",
    "train tiny.npz -C -1e-3": "C is -0.001; it must be a number of at least 1e-30",
    "train tiny.npz --threshold -1e300": "threshold is -1e+300; it must be within ±1e38",
    "train tiny.npz --method magic": "method is 'magic'; it must be one of",
    "train tiny.npz --widths 1,two": "widths is '1,two'; it must be learn, median or numbers from 1e-100",
    "train tiny.npz --figure picture.pdf": f"must begin with {' or '.join(RUN_FIGURES)} and end in .pdf",
    "train tiny.npz --figure widths.pdf --folds 2": "leave out one of them",
    "train tiny.npz --figure widths.pdf --widths median": "--figure widths is not available, because this run",
    "train tiny.npz --method pca-svm": "--kept is missing; pca-svm needs a fraction of the variance, between 0 and 1",
    "train tiny.npz --method randproj-svm": "--kept is missing; randproj-svm needs an integer number of directions",
    "train tiny.npz --method slide-svm-without-input --save-model m.npz": "cannot save SLIDE-SVM without h⁰",
    "train tiny.npz --method median --units 9": "--units has no effect on this run of method median; leave it out",
    "train tiny.npz --method sda -C 1": "-C has no effect on this run of method sda; leave it out",
    "train tiny.npz --method sda --patience 3": "--patience has no effect on this run of method sda; add --on-split",
    "train tiny.npz --widths median --criterion span": "--criterion has no effect on this run of method slide-svm",
    "train tiny.npz --fit-rows split": "--fit-rows has no effect on this run of method slide-svm; add --on-split",
    "train tiny.npz --classifier os.system": "--classifier: ",
    "train tiny.npz --classifier neural_network.MLPClassifier alpha": "expected NAME=VALUE after the class name",
    "train tiny.npz --classifier neighbors.KNeighborsClassifier --method raw-svm": "raw-svm",
    "train tiny.npz --method sda --units a": "expected integers separated by commas",
    "train flowers.csv --folds 1": "--folds is 1",
    "fit flowers.csv --folds 3 --fold 0 -o x.npz": "--fold is 0; folds are numbered from 1",
    "fit generated:rectangles --group a -o x.npz": "rectangles is a benchmark data set; leave out the options",
    "fit generated:rectangles --seed -1 -o x.npz": "--seed is -1; give an integer of 0 or more",
    "sweep flowers.csv --widths 1,2 --depth 1,2 --store x.db": "2 widths are given for a run of depth 2; give 3 widths",
    "train flowers.csv --folds 3 --held-out 0.2": "cannot be used together",
    "train flowers.csv --folds 3 --fold 4": "unrecognized arguments: --fold 4 (see: slide-gui train --help)",
    "train flowers.csv --shape 3by4": "expected rows and columns",
    "sweep tiny.npz": "--store",
    "sweep tiny.npz --store r --noise 0:1:0": "--noise",
    "sweep tiny.npz --store r --depth 4:x": "expected FROM:TO",
    "sweep tiny.npz --store r --choose": "add --on-split",
    "sweep tiny.npz --store r --pooled": "needs --choose",
    "sweep tiny.npz --store r --method raw-svm --noise 0.3": "raw-svm has no SLIDE layers to compare; leave out",
    "sweep tiny.npz --store r --method sda --noise 0.1,0.3": "sda has no SLIDE layers to compare; give one --noise",
    "sweep --store r --seeds 0 1 tiny.npz": "invalid int value: 'tiny.npz'; write DATA before the options",
    "sweep tiny.npz --store r --kept 0.9": "--kept has no effect on this run of method slide-svm; leave it out",
    "sweep tiny.npz --store r --splits 0": "it must be from 1 to 1000",
    "sweep tiny.npz --store r --splits 5": "--splits has no effect if all training rows are used; add --on-split",
    "sweep tiny.npz --store r --figure c.doc": "must end in",
    "sweep tiny.npz --store r --dry-run --figure c.pdf": "--figure has no effect with --dry-run; leave one of them",
    "sweep tiny.npz --store r --dry-run --workers 2": "--workers has no effect with --dry-run; leave one of them out",
    "sweep tiny.npz --store r --dry-run --scheduler tcp://a:1": "--scheduler has no effect with --dry-run; leave one",
    "sweep tiny.npz --store r --cold --noise 0.1,0.2 --widths median": "--cold has no effect on this sweep, because",
    "sweep tiny.npz --store r --cold --noise 0.1,0.2 --depth 0": "no run starts from the widths of another run",
    "sweep tiny.npz --store r --cold": "--cold has no effect on this sweep, because no run starts from the widths",
    "sweep tiny.npz --store r --seed 1 --seeds 1 2": "--seed has no effect on files if --seeds is given; leave one",
    "train tiny.npz --held-out 0 --split-seed 1": "--split-seed has no effect with --held-out 0; leave one of them out",
    "features small.npz tiny.npz -o f.csv": "-o 'f.csv' must end in .npz",
    "fill flowers.csv": "-o",
    "fill flowers.csv -o x.csv --seed -1": "seed is -1; it must be an integer",
    "runs list absent": "this run store does not exist",
    "benchmark": "--store",
    "benchmark cifar=x.npz --store r": "cifar",
    "benchmark convex= --store r": "expected KEY=FILE",
    "benchmark convex=a.csv convex=b.csv --store r": "convex is given 2 times",
    "benchmark --splits 0 --store r": "the number of splits is 0; it must be 1 or more",
    "benchmark --store r --tables errors.doc": "must end in",
    "benchmark --store r --stored --workers 2 --generated": "computes nothing; leave out --workers, --generated",
    "benchmark rectangles-101=a.csv --quick --store r": "quick protocol do not contain rectangles-101",
    "reproduce": "--out",
    "datasets get convex cifar": "unknown data set 'cifar'",
    "x.slide-session --header": "is a session, which stores the options for its files",
    "flowers.csv --depth 2": "unrecognized arguments: --depth",
    "nowhere.csv --header": "is neither a file nor one of the subcommands",
}
FAILURES = {
    "fit row.csv": "row: has 1 row; a fit needs at least two",
    "fit empty.csv": "empty.csv",
    "weights broken.npz": "broken.npz",
    "fit generated:rectangle": "generated:rectangle: does not exist; give a file, or a name",
    "fit small.npz -o small.npz/m.npz": "small.npz",
    "train tiny.npz --widths 1,2": "widths",
    "train tiny.npz -o tiny.npz": "tiny.npz",
    "train tiny.npz --classifier neural_network.MLPClassifier alpha=-1": "alpha",
    "train flowers.csv --folds 50": "40 rows, fewer than the 50 folds",
    "train three-rows.csv --group label --folds 3 --label-column a": "2 groups, fewer than the 3 folds",
    "train three-rows.csv --group a --held-out 0 --on-split --evaluate validation": "all training rows have the same",
    "try flowers.csv --label-column none": "choose the label column",
    "train three-rows.csv --leave-out label": "three-rows: the last column is left out; choose the label column",
    "train flowers.csv --held-out 0 -o r.sqlite": "flowers: there are no test rows; hold out rows of the training file",
    "sweep flowers.csv --held-out 0 --store r --on-split --evaluate validation --choose": "flowers: there are no",
    "try flowers.csv --held-out 0": "no labelled test rows; open only the training file, and hold out some of its rows",
    "try alone.csv": "alone: no class has two rows, so no row can be held out for a test; add rows",
    "try three-rows.csv": "three-rows: no row can be held out, because no class has two training rows; add rows",
    "sweep one.csv --store r": "all training rows are of the class cat",
    "fill tiny.npz -o x.csv": "tiny.npz: is not a text file; give a table (.csv)",
    "fill . -o ../x.csv": ".: is not a text file; give a table (.csv)",
    "sweep tiny.npz --store .": ".: this is not a file, so it cannot be a run store; give another name",
    "train tiny.npz -o /": "/: this is not a file, so it cannot be a run store; give another name",
    "benchmark --stored --store r": "r: this run store does not exist; check the name",
    "benchmark convex=nowhere.csv --store r": "nowhere.csv: does not exist; give a file, or a name",
    "benchmark convex=alone.csv --store r": "alone: no class has two rows, so no row can be held out for a test; add",
    "benchmark --store s.sqlite --results row.csv/runs": "row.csv: this is not a folder; check the name",
    "benchmark --store s.sqlite --results strange": "runs.jsonl: this is not a results file; move it to another folder",
}


@pytest.mark.parametrize(
    ("code", "line", "sentence"),
    [(code, *case) for code, cases in ((2, USAGE), (1, FAILURES)) for case in cases.items()],
    ids=lambda value: value if isinstance(value, str) and " " in value else "",
)
def test_that_a_command_that_cannot_run_prints_a_sentence_and_writes_nothing(
    cli, tiny, small, flowers, code, line, sentence
):
    Path("row.csv").write_text("a,b,label\n1,2,cat\n")
    Path("three.csv").write_text("1,2,3")
    Path("alone.csv").write_text("a,b,label\n1,2,cat\n2,1,dog\n3,1,cow\n")
    Path("three-rows.csv").write_text("a,b,label\n1,2,cat\n2,1,dog\n3,1,cat\n")
    Path("one.csv").write_text("a,b,label\n" + "1,2,cat\n" * 9)
    Path("empty.csv").touch()
    Path("x.slide-session").touch()
    Path("strange/runs.jsonl").mkdir(parents=True)
    Path("broken.npz").write_bytes(small.read_bytes()[:300])
    before = set(Path().rglob("*"))
    output = cli(line, code=code)
    assert output.out == ""
    (found,) = (each for each in output.err.splitlines() if "please check" not in each)
    assert found.startswith("slide-gui: ")
    assert sentence in found
    assert set(Path().rglob("*")) == before


INPUTS = {"store", "image", "provenance", "model"}
OUTPUTS = {
    ("train", "figure"), ("train", "save_model"), ("sweep", "figure"), ("try", "out"),
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
    rows = [",".join([*map(str, row[:4]), f"c{y}"]) for row, y in zip(data.train, data.train_labels, strict=True)]
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
OTHER_WAYS = [
    "weights weights.csv --format pdf csv",
    "weights weights.csv -o weights --format csv",
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
]


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
        *((None, line, "") for line in OTHER_WAYS),
    ],
)
def test_that_an_output_over_an_input_or_a_store_is_refused_before_anything_is_written(
    folder, cli, target, line, alias
):
    output = alias_of(target, alias) if alias else target or ""
    shutil.copy("runs.sqlite", "other.sqlite")
    Path("linked.pdf").symlink_to("tiny.npz")
    Path("pictures").mkdir()
    shutil.copy("d.csv", "pictures/train.csv")
    before = contents(folder)
    error = cli(line.replace("OUT", output), code=2).err
    assert target is None or f"{output}: is an input; choose another output" in error
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
    assert "weights.pdf exists; give its name with -o to replace it" in cli(line, code=2).err
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


@pytest.fixture
def table(cli, tmp_path):
    return hostile_file(tmp_path).name


def answer(cli, line, *words):
    """Return what a command prints on stdout. Fail if its output could control a terminal."""
    output = cli(line, *words)
    assert (unsafe(output.out), unsafe(output.err)) == (set(), set())
    return output.out


def check_files(folder):
    """Fail if a picture is not well-formed, or a cell of a table could be a formula."""
    for picture in folder.rglob("*.svg"):
        ElementTree.parse(picture)
    for table in folder.rglob("*.csv"):
        if table.name.startswith("<img"):  # the input file
            continue
        with table.open(newline="", encoding="utf-8") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        assert not [cell for cell in cells if re.match(r"[=+@\t\r]|-(?!\d)", cell)]
        assert not unsafe("".join(cells))


def test_that_printed_names_control_no_terminal_and_a_column_is_found_by_its_own_name_and_the_printed_one(table, cli):
    assert "'=HYPERLINK" not in answer(cli, "datasets info", table)
    document = json.loads(answer(cli, "datasets info --json", table))
    assert document["source"] == table  # unchanged
    assert len(document["train_labels"]) == len(CLASSES)
    text = Path(table).read_text(encoding="utf-8")
    Path("holes.csv").write_text(re.sub(r"0\.\d{3}0", "", text), encoding="utf-8")
    assert "xyz" in answer(cli, "fill holes.csv -o filled.csv")
    assert len(json.loads(answer(cli, "fill holes.csv -o filled.csv --json"))["columns"]) == 6
    assert Path("filled.csv").read_text(encoding="utf-8").split("\n")[0] == text.split("\n")[0]
    for names in (document["feature_names"], document["train_labels"]):
        assert all(len(name) <= 100 for name in names)
    error = cli("fit", table, "--label-column", "no\x1b[31m\u202e", code=1).err
    assert not unsafe(error)
    assert error.count("\n") == 1
    assert r"\x1b]0;title\x07" in error
    shown = next(name for name in open_data([Path(table)]).feature_names if "xyz" in name)
    for name in ("\x9b31m\u202exyz", shown):
        document = json.loads(answer(cli, "datasets info --json", table, "--leave-out", name))
        assert len(document["feature_names"]) == 5


@pytest.mark.parametrize("command", ["weights", "flow", "copies"])
def test_that_figures_of_weights_take_hostile_names(table, cli, command):
    answer(cli, f"{command} --depth 1 --bundle made", table)
    assert {path.suffix for path in Path("made").iterdir()} >= {".pdf", ".svg", ".png", ".csv", ".py", ".txt"}
    check_files(Path("made"))


def test_that_models_runs_and_figures_of_a_run_take_hostile_names(table, cli):
    answer(cli, "fit --depth 1 -o model.npz", table)
    answer(cli, f"sweep {SVM} --noise 0.1:0.2:0.1 --store s.sqlite --figure curves.svg", table)
    answer(cli, "runs list s.sqlite")
    spec_hash = json.loads(answer(cli, "runs list s.sqlite --json"))[0]["hash"]
    for line in (f"show s.sqlite {spec_hash}", "check s.sqlite", "export s.sqlite -o runs.csv"):
        answer(cli, f"runs {line}")
    answer(cli, f"decide --store s.sqlite --run {spec_hash}", table)
    check_files(Path())
    figures = [f"confusion{suffix}" for suffix in (".pdf", ".svg", ".png", ".csv")]
    answer(cli, f"train {SVM}", table, "--figure", *figures)
    check_files(Path())
    with open("confusion.csv", newline="", encoding="utf-8") as file:
        names = sorted(row[0][:12] for row in csv.reader(file))
    assert names == ["'=HYPERLINK(", '<img src="pi', *["W" * 12] * 2, "class"]
