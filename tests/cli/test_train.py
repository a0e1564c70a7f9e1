"""`slide-gui train`, `sweep` and `runs`: the numbers of the Python interface, and clear refusals."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from slide_gui.cli import main
from slide_gui.cli.options import data_source
from slide_gui.cli.parser import build_parser
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.data.dataset import HeldOut
from slide_gui.data.open import open_data
from slide_gui.data.reading import ParseOptions
from slide_gui.experiments.documents import from_document
from slide_gui.experiments.files.session import read_session
from slide_gui.experiments.files.source import DataSource
from slide_gui.experiments.runs.run import run
from slide_gui.experiments.runs.spec import RunSpec, SweepSpec, depth_axis, noise_axis
from slide_gui.experiments.store.store import RunStore
from slide_gui.experiments.sweeps.sweep import run_sweep
from slide_gui.results_version import RESULTS_VERSION
from slide_gui.text import place_name
from tests.experiments.tiny import rectangles

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    tiny = rectangles(60, 150)
    images = {"X_train": tiny.train.reshape(-1, 8, 8), "X_test": tiny.test.reshape(-1, 8, 8)}
    np.savez(tmp_path / "tiny.npz", y_train=tiny.train_labels, y_test=tiny.test_labels, **images)
    return tmp_path / "tiny.npz"


@pytest.mark.parametrize("command", ["fit dim.npz -o m.npz", "train dim.npz", "sweep dim.npz --store runs.sqlite"])
def test_that_features_below_the_threshold_are_reported(command: str, data: Path, capsys: Capture) -> None:
    arrays = dict(np.load(data))
    np.savez("dim.npz", **{name: 0.1 * each if name.startswith("X") else each for name, each in arrays.items()})
    assert main([*command.split(), "--depth", "1"]) == 0
    assert "0.00% of the values are above the threshold 0.5" in capsys.readouterr().err
    assert main([*command.split(), "--depth", "1", "--threshold", "0.05"]) == 0
    assert "above the threshold" not in capsys.readouterr().err


def test_that_train_gives_the_numbers_of_python_to_the_bit(data: Path, capsys: Capture) -> None:
    arguments = ["--noise", "0.4", "--depth", "1", "--starts", "1", "--on-split", "--split", "1", "--seed", "3"]
    assert main(["train", "tiny.npz", *arguments, "--json", "-o", "runs.sqlite"]) == 0
    said = json.loads(capsys.readouterr().out)
    dataset = open_data([data])
    spec = RunSpec(
        dataset.fingerprint,
        stack=StackParameters(noise=0.4, depth=1),
        svm=SvmParameters(starts=1),
        split=1,
        seed=3,
        training="split",
    )
    expected = run(dataset, spec)
    assert said["hash"] == spec.hash
    assert said["error"] == expected.error
    assert said["misclassified"] == expected.misclassified.tolist()
    assert tuple(said["classifier"]["widths"]) == expected.classifier.widths
    assert said["validation_error"] == expected.validation_error
    with RunStore("runs.sqlite") as store:
        assert store.load(spec.hash).error == expected.error


def test_that_a_stored_run_is_not_made_again(data: Path, capsys: Capture) -> None:
    arguments = ["train", "tiny.npz", "--depth", "1", "--widths", "median", "-C", "10", "-o", "runs.sqlite", "--json"]
    assert main(arguments) == 0
    first = json.loads(capsys.readouterr().out)
    assert main(arguments) == 0
    assert json.loads(capsys.readouterr().out) == first  # its times too


def test_that_train_and_sweep_say_what_chose_the_widths(data: Path, capsys: Capture) -> None:
    learned = ["--noise", "0.4", "--depth", "1", "--starts", "1"]
    assert main(["train", "tiny.npz", *learned]) == 0
    assert "\nwidths by span: " in capsys.readouterr().out
    assert main(["sweep", "tiny.npz", *learned, "--store", "s.sqlite"]) == 0
    assert capsys.readouterr().out.splitlines()[-2].endswith(" span")
    with RunStore("s.sqlite") as store:
        (stored,) = store.runs()
        found = store.load(stored.hash)
    overruled = replace(found.classifier.chosen, guarded=True)
    with RunStore("guard.sqlite") as store:
        store.save(replace(found, classifier=replace(found.classifier, chosen=overruled)))
    assert main(["sweep", "tiny.npz", *learned, "--store", "guard.sqlite"]) == 0
    assert capsys.readouterr().out.splitlines()[-2].endswith(" median widths (guard)")
    assert main(["sweep", "tiny.npz", *learned, "--store", "guard.sqlite", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["points"][0]["chosen_by"] == "median widths (guard)"
    assert main(["runs", "show", "guard.sqlite", stored.hash]) == 0
    assert "median widths (guard): they misclassify " in capsys.readouterr().out


ON_TWO_SPLITS = ["--depth", "0:1", "--widths", "median", "-C", "10", "--on-split", "--splits", "2"]


def test_that_sweep_gives_the_numbers_of_python_and_goes_on(data: Path, capsys: Capture) -> None:
    arguments = [*ON_TWO_SPLITS, "--store", "r.sqlite"]
    assert main(["sweep", "tiny.npz", "--noise", "0.2,0.4", *arguments, "--json"]) == 0
    capsys.readouterr()
    assert main(["sweep", "tiny.npz", "--noise", "0.2:0.6:0.2", *arguments, "--choose", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    dataset = open_data([data])
    sweep = SweepSpec(
        dataset.fingerprint,
        noises=(0.2, 0.4, 0.6),
        depths=(0, 1),
        splits=(0, 1),
        svm=SvmParameters(widths="median", C=10.0),
        training="split",
    )
    with RunStore("other.sqlite") as store:
        state = run_sweep(dataset, sweep, store)
    assert [point["hash"] for point in said["points"]] == [answer.point.spec.hash for answer in state.done]
    assert [point["error"] for point in said["points"]] == [answer.rate.error for answer in state.done]
    assert len(said["chosen"]) == said["chosen_mean"]["n_splits"] == 2


def test_that_a_plan_makes_no_store_and_refuses_what_has_one_class(data: Path, capsys: Capture) -> None:
    assert main(["sweep", "tiny.npz", "--depth", "0:2", "--store", "r.sqlite", "--dry-run"]) == 0
    assert "3 runs, about" in capsys.readouterr().out
    Path("one.csv").write_text("a,b,label\n" + "".join(f"{k},{k / 3},cat\n" for k in range(9)))
    for more in ([], ["--dry-run"]):
        assert main(["sweep", "one.csv", "--store", "r.sqlite", *more]) == 1
        assert "all training rows are of the class cat" in capsys.readouterr().err
    assert not Path("r.sqlite").exists()


def test_that_figures_and_tables_are_written(data: Path) -> None:
    figures = ["confusion.svg", "confusion.csv", "widths.svg", "widths.csv"]
    assert main(["train", "tiny.npz", "--depth", "1", "--starts", "1", "--figure", *figures]) == 0
    sweep = ["sweep", "tiny.npz", "--noise", "0.2,0.4", "--depth", "1", "--method", "median", "--store", "r.sqlite"]
    for name in ("curves.svg", "curves.csv"):
        assert main([*sweep, "--figure", name]) == 0
    assert all(Path(name).stat().st_size > 40 for name in [*figures, "curves.svg", "curves.csv"])
    for name, page in (("confusion.svg", "classifier"), ("widths.svg", "classifier"), ("curves.svg", "curves")):
        session = read_session(Path(name))
        assert session is not None
        assert (session.page, session.parameters.depth, session.source.paths) == (page, 1, ("tiny.npz",))
        assert session.fingerprint == session.source.load().fingerprint


def test_that_other_methods_and_classifiers_are_trained_and_said(data: Path, capsys: Capture) -> None:
    knn = ["--depth", "1", "--classifier", "neighbors.KNeighborsClassifier", "n_neighbors=3"]
    assert main(["train", "tiny.npz", *knn]) == 0
    said = capsys.readouterr().out
    assert "scikit-learn, noise 1−p = 0.3, depth 1, KNeighborsClassifier(n_neighbors=3)" in said
    assert "support vectors" not in said
    assert main(["train", "tiny.npz", *knn, "--json", "-o", "r.sqlite"]) == 0
    assert json.loads(capsys.readouterr().out)["n_support"] is None
    assert main(["train", "tiny.npz", "--transformer", "decomposition.PCA", "n_components=9"]) == 0
    assert "PCA(n_components=9)" in capsys.readouterr().out
    assert main(["train", "tiny.npz", "--method", "white-svm", "--kept", "0.8", "--labels", "40"]) == 0
    assert "White-SVM, 80.0% of variance, 40 labels" in capsys.readouterr().out
    sda = ["--units", "9,8", "--pretraining-epochs", "1", "--fine-tuning-epochs", "2", "--noise", "0.1"]
    assert main(["train", "tiny.npz", "--method", "sda", *sda, "--on-split"]) == 0
    assert (
        "SdA, units 9–8, noise 0.1, 1 epoch per layer at rate 0.1, fine-tuning at rate 0.1" in capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["pca-svm"], "--kept is missing; pca-svm needs a fraction of the variance, between 0 and 1"),
        (["white-svm", "--kept", "2"], "--kept is 2.0; white-svm needs a fraction of the variance, between 0 and 1"),
        (["randproj-svm"], "--kept is missing; randproj-svm needs an integer number of directions, 1 or more"),
    ],
)
def test_that_a_projection_names_the_option_it_needs(
    data: Path, capsys: Capture, arguments: list[str], sentence: str
) -> None:
    assert main(["train", "tiny.npz", "--method", *arguments]) == 2
    assert capsys.readouterr().err == f"slide-gui: {sentence}\n"


def test_that_a_sweep_says_where_kept_can_be_given(data: Path, capsys: Capture) -> None:
    assert main(["sweep", "tiny.npz", "--store", "r", "--method", "pca-svm"]) == 2
    assert "needs --kept, an option of slide-gui train" in capsys.readouterr().err


def test_that_error_by_labels_is_swept_and_drawn(data: Path, capsys: Capture) -> None:
    arguments = ["--labels", "20,40", "--seeds", "0", "1", "--method", "median", "--depth", "1", "--store", "r.sqlite"]
    for name in ("labels.svg", "labels.csv"):
        assert main(["sweep", "tiny.npz", *arguments, "--figure", name, "--json"]) == 0
        said = json.loads(capsys.readouterr().out)
    assert [line["points"][1]["labels"] for line in said["lines"]] == [40, 40, 40]
    assert len(Path("labels.csv").read_text().splitlines()) == 7
    assert "fitted on all rows" in Path("labels.svg").read_text()


def test_that_stored_runs_are_listed_shown_hidden_and_exported(data: Path, capsys: Capture) -> None:
    assert main(["train", "tiny.npz", "--method", "raw-svm", "-o", "r.sqlite"]) == 0
    assert main(["train", "tiny.npz", "--method", "raw-svm", "--seed", "1", "-o", "r.sqlite"]) == 0
    capsys.readouterr()
    assert main(["runs", "list", "r.sqlite", "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)
    assert (first["method"], second["seed"]) == ("raw-svm", 1)
    assert main(["runs", "show", "r.sqlite", first["hash"][:10], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["error"] == first["error"]
    assert main(["runs", "delete", "r.sqlite", first["hash"]]) == 0
    assert main(["runs", "export", "r.sqlite", "-o", "runs.csv"]) == 0
    assert len(Path("runs.csv").read_text().splitlines()) == 2
    assert main(["runs", "restore", "r.sqlite", first["hash"]]) == 0
    assert main(["runs", "check", "r.sqlite"]) == 0
    for file in Path("r.sqlite.arrays").iterdir():
        file.write_bytes(b"")
    assert main(["runs", "check", "r.sqlite"]) == 1
    assert "2 damaged" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["train", "tiny.npz", "--evaluate", "validation"], 2),
        (["train", "tiny.npz", "--method", "magic"], 2),
        (["train", "tiny.npz", "--widths", "1,two"], 2),
        (["train", "tiny.npz", "--widths", "1,2"], 1),
        (["train", "tiny.npz", "--loss", "square"], 2),
        (["train", "tiny.npz", "-C", "-1"], 2),
        (["train", "tiny.npz", "--figure", "picture.pdf"], 2),
        (["train", "tiny.npz", "--method", "pca-svm"], 2),
        (["train", "tiny.npz", "--classifier", "os.system"], 2),
        (["train", "tiny.npz", "--classifier", "neural_network.MLPClassifier", "alpha"], 2),
        (["train", "tiny.npz", "--classifier", "svm.SVC"], 2),
        (["train", "tiny.npz", "--classifier", "neural_network.MLPClassifier", "alpha=-1"], 1),
        (["train", "tiny.npz", "--classifier", "neighbors.KNeighborsClassifier", "--method", "raw-svm"], 2),
        (["train", "tiny.npz", "--method", "sda", "--units", "a"], 2),
        (["train", "tiny.npz", "--method", "sda", "--units", "0"], 2),
        (["train", "tiny.npz", "--labels", "1000"], 1),
        (["sweep", "tiny.npz", "--store", "r", "--labels", "ten"], 2),
        (["sweep", "tiny.npz", "--store", "r", "--labels", "10,20", "--depth", "1,2"], 2),
        (["sweep", "tiny.npz", "--store", "r", "--method", "pca-svm"], 2),
        (["train", "absent.npz"], 1),
        (["train", "tiny.npz", "-o", "tiny.npz"], 1),
        (["sweep", "tiny.npz"], 2),
        (["sweep", "tiny.npz", "--store", "r", "--noise", "0:1:0"], 2),
        (["sweep", "tiny.npz", "--store", "r", "--noise", "1.5"], 2),
        (["sweep", "tiny.npz", "--store", "r", "--depth", "4:x"], 2),
        (["sweep", "tiny.npz", "--store", "r", "--choose"], 2),
        (["sweep", "tiny.npz", "--store", "r", "--splits", "0"], 2),
        (["runs", "list", "absent"], 2),
    ],
)
def test_that_what_cannot_be_meant_is_one_sentence(
    data: Path, capsys: Capture, arguments: list[str], code: int
) -> None:
    assert main(arguments) == code
    (sentence,) = (line for line in capsys.readouterr().err.splitlines() if "please check" not in line)
    assert sentence.startswith("slide-gui: ")
    assert not Path("r").exists()


def test_that_a_sweep_says_what_it_costs_and_marks_what_is_best_on_validation(data: Path, capsys: Capture) -> None:
    asked = ["sweep", "tiny.npz", "--noise", "0.2,0.4", *ON_TWO_SPLITS, "--store", "s.sqlite"]
    asked += ["--labels", "40", "--choose", "--pooled"]
    assert main([*asked, "--dry-run", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)["plan"]
    assert (plan["n_runs"], plan["n_stored"]) == (7, 0)
    with RunStore("s.sqlite") as store:
        assert store.runs() == []
    assert main([*asked, "--json"]) == 0
    said = capsys.readouterr()
    assert said.err.splitlines()[1].startswith("7 runs, about ")
    document = json.loads(said.out)
    (best,) = document["best_on_validation"]
    assert [(p["noise"], p["depth"]) for p in document["points"] if p["best_on_validation"]] == [
        (best["noise"], best["depth"])
    ] * 2
    assert [(p["noise"], p["depth"]) for p in document["chosen"]] == [(best["noise"], best["depth"])]
    with RunStore("s.sqlite") as store:
        assert {json.loads(run.setting or "")["labels"] for run in store.runs() if run.training == "split"} == {40}
    assert main([*asked, "--dry-run"]) == 0
    assert "7 runs, 6 already stored, about" in capsys.readouterr().out
    assert main(asked) == 0
    assert f"best on validation: {place_name(best['noise'], best['depth'])}\n" in capsys.readouterr().out


def test_that_axes_are_read_with_both_ends() -> None:
    assert noise_axis("0:0.9:0.1") == (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
    assert noise_axis("0.5") == (0.5,)
    assert depth_axis("0:4") == (0, 1, 2, 3, 4)
    assert depth_axis("3,1") == (3, 1)
    for text in ("", "1:2", "a", "0:1:1e-9", "0:inf:1", "nan:1:1"):
        with pytest.raises(ValueError, match="noise"):
            noise_axis(text)
    with pytest.raises(ValueError, match="depth"):
        depth_axis("-1")


def test_that_runs_of_another_version_of_the_numbers_are_marked(data: Path, capsys: Capture) -> None:
    dataset = open_data([data])
    result = run(dataset, RunSpec(dataset.fingerprint, method="raw-svm", svm=SvmParameters(C=1.0)))
    old = replace(result, versions=tuple((name, "1" if name == "numerics" else said) for name, said in result.versions))
    with RunStore("r.sqlite") as store:
        store.save(old)
    assert main(["train", "tiny.npz", "--method", "raw-svm", "-C", "1", "-o", "r.sqlite"]) == 0
    assert "another version" not in capsys.readouterr().out
    assert main(["runs", "list", "r.sqlite"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.endswith("*") for line in lines[1:3]] == [True, False]
    assert lines[3].startswith("* computed by another results version")
    assert main(["runs", "list", "r.sqlite", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [(line["numerics"], line["current"]) for line in listed] == [("1", False), (str(RESULTS_VERSION), True)]
    assert main(["runs", "show", "r.sqlite", old.hash]) == 0
    assert "computed by another results version" in capsys.readouterr().out
    assert main(["runs", "show", "r.sqlite", old.hash, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["hash"], shown["current"], shown["versions"]["numerics"]) == (old.hash, False, "1")


FLOWERS = "".join(
    f"{0.1 * (k % 3) + 0.3 * (k % 2):.2f},{0.05 * (k % 7):.2f},{0.5 * (k % 2):.2f},{0.1 * (k % 5):.2f},"
    f"{'rose' if k % 2 else 'tulip'}\n"
    for k in range(40)
)


@pytest.fixture
def flowers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "flowers.csv").write_text("stem,leaf,width,height,kind\n" + FLOWERS)
    return tmp_path / "flowers.csv"


FAST = ["--depth", "1", "--widths", "median", "-C", "1", "--json"]


def test_that_a_file_without_a_test_part_is_trained_on_three_quarters(flowers: Path, capsys: Capture) -> None:
    assert main(["train", "flowers.csv", *FAST]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["n_train"], said["n_test"]) == (30, 10)
    assert said["spec"]["held_out"] == {"share": 0.25, "seed": 0, "folds": 0, "fold": 0}
    assert said["label_names"] == ["rose", "tulip"]
    assert main(["train", "flowers.csv", *FAST, "--held-out", "0.25", "--split-seed", "0"]) == 0
    assert json.loads(capsys.readouterr().out)["hash"] == said["hash"]
    assert main(["train", "flowers.csv", *FAST, "--held-out", "0.5", "--split-seed", "1"]) == 0
    other = json.loads(capsys.readouterr().out)
    assert (other["n_train"], other["n_test"]) == (20, 20)
    assert other["hash"] != said["hash"]
    source = DataSource(paths=("flowers.csv",), held_out=HeldOut(0.5, 1))
    dataset = source.load()
    stack, svm = StackParameters(depth=1), SvmParameters(widths="median", C=1.0)
    assert RunSpec(dataset.fingerprint, stack=stack, svm=svm, held_out=dataset.held_out).hash == other["hash"]


def test_that_all_folds_are_trained_and_every_row_is_judged_once(flowers: Path, capsys: Capture) -> None:
    assert main(["train", "flowers.csv", *FAST, "--folds", "4", "-o", "runs.sqlite"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["n_test"] == 40
    assert [fold["n_test"] for fold in said["folds"]] == [10] * 4
    assert said["error"] == sum(len(fold["misclassified"]) for fold in said["folds"]) / 40
    assert main(["sweep", "flowers.csv", *FAST, "--noise", "0.3", "--folds", "4", "--store", "runs.sqlite"]) == 0
    points = json.loads(capsys.readouterr().out)["points"]
    assert [point["fold"] for point in points] == [1, 2, 3, 4]
    assert [point["hash"] for point in points] == [fold["hash"] for fold in said["folds"]]
    assert main(["train", "flowers.csv", *FAST[:-1], "--folds", "4"]) == 0
    assert "4 folds, test error" in capsys.readouterr().out


def test_that_nothing_is_held_out_where_only_validation_rows_are_judged(flowers: Path, capsys: Capture) -> None:
    judged = ["--on-split", "--evaluate", "validation"]
    assert main(["train", "flowers.csv", *FAST, *judged]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["n_train"], said["n_test"]) == (32, 8)
    assert "held_out" not in said["spec"]


def test_that_validation_rows_are_judged_where_a_test_part_came_with_the_data(data: Path, capsys: Capture) -> None:
    judged = ["--on-split", "--evaluate", "validation"]
    assert main(["train", "tiny.npz", *FAST, *judged]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["n_train"], said["n_test"]) == (48, 12)
    assert main(["sweep", "tiny.npz", *FAST, *judged, "--noise", "0.3", "--store", "r.sqlite"]) == 0
    assert [point["hash"] for point in json.loads(capsys.readouterr().out)["points"]] == [said["hash"]]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--folds", "1"], "--folds is 1"),
        (["--folds", "3", "--held-out", "0.2"], "exclude each other"),
        (["--held-out", "0.95"], "give 0 to 0.9"),
        (["--folds", "50"], "40 rows, fewer than the 50 folds"),
        (["--folds", "3", "--fold", "4"], "unrecognized arguments: --fold 4"),
        (["--shape", "3by4"], "expected rows and columns"),
        (["--label-column", "colour"], "no column 'colour'"),
        (["--held-out", "0"], "has no test rows; hold rows out"),
    ],
)
def test_that_splits_and_readings_that_cannot_be_are_refused(
    flowers: Path, capsys: Capture, arguments: list[str], said: str
) -> None:
    assert main(["train", "flowers.csv", *FAST, *arguments]) in (1, 2)
    assert said in capsys.readouterr().err


def test_that_the_words_of_a_source_read_back_as_the_source() -> None:
    for source in (
        DataSource(paths=("x.csv",), reading=ParseOptions("a b", True, (3, 4), True), held_out=HeldOut(0.0, 2, 5, 3)),
        DataSource(paths=("x.csv",), reading=ParseOptions(header=False, shape=()), held_out=HeldOut(0.125, 7)),
        DataSource(paths=("x.csv",), reading=ParseOptions(scaled=True)),
        DataSource(paths=("x.csv",), reading=ParseOptions(shape=(), scaled=False)),
        DataSource(paths=("x.csv",), held_out=HeldOut(0.0)),
        DataSource(paths=("x.csv",)),
    ):
        arguments = build_parser().parse_args(["fit", "x.csv", *source.words])
        assert data_source(arguments) == source
        names = {"DataSource": DataSource, "ParseOptions": ParseOptions, "HeldOut": HeldOut}
        assert eval(repr(source), names) == source
        assert from_document(DataSource, json.loads(json.dumps(source.document()))) == source
