"""`train`, `sweep`, `try`, `decide` and `runs` store and describe the numbers of the Python interface."""

import json
import os
import re
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from slide_gui.cli.options import data_source
from slide_gui.cli.parser import build_parser
from slide_gui.core.sda.model import SdaParameters
from slide_gui.core.sda.training import fine_tune, pretrain
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.data.dataset import HeldOut
from slide_gui.data.files import RECORD
from slide_gui.data.reading import ParseOptions
from slide_gui.experiments.documents import from_document
from slide_gui.experiments.files.session import located, read_session
from slide_gui.experiments.files.source import DataSource
from slide_gui.experiments.runs.result import NetworkRecord
from slide_gui.experiments.runs.run import run
from slide_gui.experiments.runs.spec import RunSpec, SweepSpec, axis_text, depth_axis, noise_axis
from slide_gui.experiments.store.store import RunStore
from slide_gui.experiments.sweeps.sweep import run_sweep
from slide_gui.experiments.sweeps.trial import try_data
from slide_gui.results_version import RESULTS_VERSION
from slide_gui.text import place_name
from tests.scripts import run_script

MEDIAN = "--depth 1 --widths median -C 10"
ON_TWO_SPLITS = "--depth 0:1 --widths median -C 10 --on-split --splits 2"


@pytest.mark.parametrize("line", ["fit dim.npz -o m.npz", "train dim.npz", "sweep dim.npz --store runs.sqlite"])
def test_that_features_below_the_threshold_are_reported(line, cli, tiny):
    arrays = dict(np.load(tiny))
    np.savez("dim.npz", **{name: 0.1 * each if name.startswith("X") else each for name, each in arrays.items()})
    assert "0.00% of the values are above the threshold 0.5" in cli(f"{line} --depth 1").err
    assert "above the threshold" not in cli(f"{line} --depth 1 --threshold 0.05").err


def test_that_train_has_the_numbers_of_python_to_the_bit_and_reuses_its_run_under_a_new_name(cli, tiny):
    line = "train tiny.npz --noise 0.4 --depth 1 --starts 1 --retune-rows 50 --on-split --split 1 --seed 3 -o r --json"
    document = cli(line).json
    dataset = DataSource(paths=("tiny.npz",)).load()
    stack, svm = StackParameters(noise=0.4, depth=1), SvmParameters(starts=1, retune_rows=50)
    spec = RunSpec(dataset.fingerprint, stack=stack, svm=svm, split=1, seed=3, training="split")
    expected = run(dataset, spec)
    assert document["hash"] == spec.hash
    assert document["error"] == expected.error
    assert document["misclassified"] == expected.misclassified.tolist()
    assert tuple(document["classifier"]["widths"]) == expected.classifier.widths
    assert document["validation_error"] == expected.validation_error
    with RunStore("r") as store:
        assert store.load(spec.hash).error == expected.error
    assert cli(line).json == document  # the times are equal, so nothing was computed again
    assert "depth 1, final adjustment on at most 50 rows" in cli(f"runs show r {spec.hash}").out
    Path("tiny.npz").rename("new.npz")
    of_new_name = {"dataset": "new", "spec": document["spec"] | {"source": "new.npz"}}
    assert cli(line.replace("tiny", "new")).json == document | of_new_name


def test_that_train_and_sweep_name_the_criterion_of_the_widths(cli, tiny):
    learned = "tiny.npz --noise 0.4 --depth 1 --starts 1"
    assert "\nlearned widths (span): " in cli(f"train {learned}").out
    assert cli(f"sweep {learned} --store s.sqlite").out.splitlines()[-2].endswith(" span")
    with RunStore("s.sqlite") as store:
        (stored,) = store.runs()
        result = store.load(stored.hash)
    overruled = replace(result.classifier.chosen, guarded=True)
    with RunStore("guard.sqlite") as store:
        store.save(replace(result, classifier=replace(result.classifier, chosen=overruled)))
    assert cli(f"sweep {learned} --store guard.sqlite").out.splitlines()[-2].endswith(" median widths (guard)")
    (point,) = cli(f"sweep {learned} --store guard.sqlite --json").json["points"]
    assert point["chosen_by"] == "median widths (guard)"
    assert "median widths (guard): " in cli(f"runs show guard.sqlite {stored.hash}").out


def test_that_sweep_has_the_numbers_of_python_and_resumes(cli, tiny):
    cli(f"sweep tiny.npz --noise 0.2,0.4 {ON_TWO_SPLITS} --store r.sqlite")
    document = cli(f"sweep tiny.npz --noise 0.2:0.6:0.2 {ON_TWO_SPLITS} --store r.sqlite --choose --json").json
    dataset = DataSource(paths=("tiny.npz",)).load()
    svm, splits = SvmParameters(widths="median", C=10.0), (0, 1)
    sweep = SweepSpec(RunSpec(dataset.fingerprint, svm=svm, training="split"), (0.2, 0.4, 0.6), (0, 1), splits)
    with RunStore("other.sqlite") as store:
        state = run_sweep(dataset, sweep, store)
    assert [point["hash"] for point in document["points"]] == [answer.point.spec.hash for answer in state.done]
    assert [point["error"] for point in document["points"]] == [answer.rate.error for answer in state.done]
    assert len(document["chosen"]) == document["chosen_mean"]["n_splits"] == 2
    best = [[p[name] for name in ("noise", "depth", "split")] for p in document["points"] if p["best_on_validation"]]
    assert sorted(best) == sorted([p[name] for name in ("noise", "depth", "split")] for p in document["chosen"])


def test_that_a_sweep_prints_its_cost_and_marks_the_best_on_validation(cli, tiny):
    line = f"sweep tiny.npz --noise 0.2,0.4 {ON_TWO_SPLITS} --store s.sqlite --labels 40 --choose --pooled"
    line += " --evaluate validation --test-rows 9"
    plan = cli(f"{line} --dry-run --json").json["plan"]
    assert (plan["n_runs"], plan["n_stored"]) == (7, 0)
    assert not Path("s.sqlite").exists()
    output = cli(f"{line} --json")
    assert output.err.splitlines()[1].startswith("7 runs, about ")
    (best,) = output.json["best_on_validation"]
    place = best["noise"], best["depth"]
    assert [(p["noise"], p["depth"]) for p in output.json["points"] if p["best_on_validation"]] == [place] * 2
    assert [(p["noise"], p["depth"], p["n_test"]) for p in output.json["chosen"]] == [(*place, 9)]
    with RunStore("s.sqlite") as store:
        assert {json.loads(run.setting or "")["labels"] for run in store.runs() if run.training == "split"} == {40}
    assert "7 runs, all already stored" in cli(f"{line} --dry-run").out
    assert f"best on validation: {place_name(*place)}\n" in cli(line).out


def test_that_a_sweep_trains_each_network_again_for_the_epochs_after_which_it_stopped(cli, tiny):
    line = "sweep tiny.npz --method sda --units 9 --noise 0.1 --pretraining-epochs 1 --patience 2 --rows-a-step 7"
    document = cli(f"{line} --on-split --splits 2 --choose --store s.sqlite --json").json
    with RunStore("s.sqlite") as store:
        stopped, final = ([store.load(each["hash"]) for each in document[name]] for name in ("points", "chosen"))
    data, sda = DataSource(paths=("tiny.npz",)).load(), SdaParameters((9,), 0.1, pretraining_epochs=1, batch_size=7)
    assert {each.spec.sda for each in stopped} == {replace(sda, patience=2)}
    for epochs, tested in zip([each.network.best_epoch for each in stopped], final, strict=True):
        assert tested.spec.sda == replace(sda, fine_tuning_epochs=epochs)
        oracle = fine_tune(pretrain(data.train, tested.spec.sda), data.train, data.train_labels, 2)
        assert tested.network == NetworkRecord(oracle.history.epochs, epochs)
        assert [*tested.misclassified] == [*np.flatnonzero(oracle.scores(data.test).argmax(1) != data.test_labels)]


def test_that_figures_and_tables_are_written_with_their_session(cli, tiny):
    figures = ["confusion.svg", "confusion.csv", "widths.svg", "widths.csv"]
    cli("train tiny.npz --depth 1 --starts 1 --figure", *figures)
    sweep = "sweep tiny.npz --noise 0.2,0.4 --depth 1 --method median --store r.sqlite --figure"
    cli(f"{sweep} curves.csv")
    assert cli(f"{sweep} curves.svg").out.splitlines()[-1] == "saved curves.svg"
    assert all(Path(name).stat().st_size > 40 for name in [*figures, "curves.csv"])
    for name, page in (("confusion.svg", "classifier"), ("widths.svg", "classifier"), ("curves.svg", "curves")):
        session = read_session(Path(name))
        assert (session.page, session.parameters.depth, session.source.paths) == (page, 1, ("tiny.npz",))
        assert session.fingerprint == session.source.load().fingerprint


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            "--depth 1 --classifier neighbors.KNeighborsClassifier n_neighbors=3",
            "scikit-learn, noise 1 − p = 0.30 (p = 0.70), depth 1, KNeighborsClassifier(n_neighbors=3)",
        ),
        ("--transformer decomposition.PCA n_components=9", "PCA(n_components=9)"),
        ("--method white-svm --kept 0.8 --labels 40", "White-SVM, 80 % of variance, 40 labels"),
        ("--method slide-white-svm --kept 0.8 --depth 1", "noise 1 − p = 0.30 (p = 0.70), depth 1, 80 % of variance"),
        ("--method slide-svm-without-input --depth 1", "; shares of kernel exponent: h¹ 1.00"),
        ("--method sda --units 9,8 --pretraining-epochs 1 --fine-tuning-epochs 2", "SdA, units 9–8, noise 0.25, 1 ep"),
    ],
)
def test_that_other_methods_are_trained_and_described(cli, tiny, options, text):
    printed = cli(f"train tiny.npz {options} -o r.sqlite").out
    assert text in printed
    document = cli(f"train tiny.npz {options} -o r.sqlite --json").json
    assert (document["n_support"] is None) == ("support vectors" not in printed)


@pytest.mark.filterwarnings("default::UserWarning")
def test_that_a_warning_of_scikit_learn_is_printed_as_one_sentence(cli, tiny):
    assert "\nslide-gui: Stoch" in cli("train tiny.npz --classifier neural_network.MLPClassifier max_iter=1").err


def test_that_stored_runs_are_listed_shown_hidden_and_exported(cli, tiny):
    cli("train tiny.npz --method raw-svm -o r.sqlite")
    assert "no hashes begin with ''" in cli("runs delete r.sqlite", "", code=2).err
    cli("train tiny.npz --method raw-svm --seed 1 -o r.sqlite")
    first, second = cli("runs list r.sqlite --json").json
    assert (first["method"], second["seed"]) == ("raw-svm", 1)
    assert cli(f"runs show r.sqlite {first['hash'][:10]} --json").json["error"] == first["error"]
    cli(f"runs delete r.sqlite {first['hash']}")
    cli("runs export r.sqlite -o runs.csv")
    assert len(Path("runs.csv").read_text().splitlines()) == 2
    cli(f"runs restore r.sqlite {first['hash']}")
    assert len(cli("runs list r.sqlite --json").json) == 2
    cli("runs check r.sqlite")
    for file in Path("r.sqlite.arrays").iterdir():
        file.write_bytes(b"")
    assert "2 damaged" in cli("runs check r.sqlite", code=1).out


def test_that_runs_of_another_results_version_are_marked(cli, tiny):
    dataset = DataSource(paths=("tiny.npz",)).load()
    result = run(dataset, RunSpec(dataset.fingerprint, method="raw-svm", svm=SvmParameters(C=1.0)))
    versions = tuple((name, "1" if name == "numerics" else text) for name, text in result.versions)
    old = replace(result, versions=versions)
    with RunStore("r.sqlite") as store:
        store.save(old)
    assert "another results version" not in cli("train tiny.npz --method raw-svm -C 1 -o r.sqlite").out
    lines = cli("runs list r.sqlite").out.splitlines()
    assert [line.endswith("*") for line in lines[1:3]] == [True, False]
    assert lines[3].startswith("* computed with another results version")
    listed = cli("runs list r.sqlite --json").json
    assert [(line["numerics"], line["current"]) for line in listed] == [("1", False), (str(RESULTS_VERSION), True)]
    assert "computed with another results version" in cli(f"runs show r.sqlite {old.hash}").out
    shown = cli(f"runs show r.sqlite {old.hash} --json").json
    assert (shown["hash"], shown["current"], shown["versions"]["numerics"]) == (old.hash, False, "1")


def test_that_ranges_of_noise_and_depth_include_both_ends_and_the_arguments_of_a_source_are_read_back():
    assert noise_axis("0:0.9:0.1") == (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
    assert (depth_axis("0:4"), depth_axis("3 , 1"), depth_axis("2026")) == ((0, 1, 2, 3, 4), (3, 1), (2026,))
    assert noise_axis("1:1000:1") == tuple(range(1, 1001))
    for text in ("", "1:2", "a", "0:1:1e-9", "0:1000:1", "0:inf:1", "nan:1:1", "0.2:0.1:0.1", "0.3:0.25:0.1"):
        with pytest.raises(ValueError, match=f"noise '{text}': expected FROM:TO:STEP .*, at most 1000 values"):
            noise_axis(text)
    for text in ("-1", "3:1"):
        with pytest.raises(ValueError, match=f"depth '{text}': expected FROM:TO "):
            depth_axis(text)
    for text in ("0.3", "0.1,0.2", "0.1,0.2,0.4", "0.2:0.9:0.1"):
        assert axis_text(noise_axis(text)) == text
    for text in ("2", "0,1", "0:2", "2,1,0", "0,2,4"):
        assert axis_text(depth_axis(text)) == text
    for source in (
        DataSource(paths=("x.csv",), reading=ParseOptions("a b", True, (3, 4), True), held_out=HeldOut(0.0, 2, 5, 3)),
        DataSource(paths=("x.csv",), reading=ParseOptions(header=False, shape=()), held_out=HeldOut(0.125, 7)),
        DataSource(paths=("x.csv",), reading=ParseOptions(scaled=True, left_out=("-a", "b"), bins=3, group="-c")),
        DataSource(paths=("x.csv",), reading=ParseOptions(shape=(), scaled=False)),
        DataSource(paths=("x.csv",), reading=ParseOptions(scaled="quantile"), held_out=HeldOut(0.0)),
        DataSource(paths=("x.csv",)),
    ):
        assert data_source(build_parser().parse_args(["fit", "x.csv", *source.words])) == source
        names = {"DataSource": DataSource, "ParseOptions": ParseOptions, "HeldOut": HeldOut}
        assert eval(repr(source), names) == source
        assert from_document(DataSource, json.loads(json.dumps(source.document()))) == source


FAST = "flowers.csv --depth 1 --widths median -C 1 --json"


def test_that_a_file_without_a_test_set_is_trained_on_three_quarters(cli, flowers):
    document = cli(f"train {FAST}").json
    assert (document["n_train"], document["n_test"]) == (30, 10)
    assert document["spec"]["held_out"] == {"share": 0.25, "seed": 0, "folds": 0, "fold": 0}
    assert document["label_names"] == ["rose", "tulip"]
    assert cli(f"train {FAST} --held-out 0.25 --split-seed 0").json["hash"] == document["hash"]
    other = cli(f"train {FAST} --held-out 0.5 --split-seed 1").json
    assert (other["n_train"], other["n_test"]) == (20, 20)
    dataset = DataSource(paths=("flowers.csv",), held_out=HeldOut(0.5, 1)).load()
    stack, svm = StackParameters(depth=1), SvmParameters(widths="median", C=1.0)
    spec = RunSpec(dataset.fingerprint, stack=stack, svm=svm, held_out=dataset.held_out)
    assert spec.hash == other["hash"] != document["hash"]


def test_that_all_folds_are_trained_and_every_row_is_tested_once(cli, flowers):
    document = cli(f"train {FAST} --folds 4 -o runs.sqlite").json
    assert document["n_test"] == 40
    assert [fold["n_test"] for fold in document["folds"]] == [10] * 4
    assert document["error"] == sum(len(fold["misclassified"]) for fold in document["folds"]) / 40
    assert document["balanced_error"] == pytest.approx(document["error"])  # both classes have 20 rows
    assert document["label_names"] == list(document["recall"]) == ["rose", "tulip"]
    points = cli(f"sweep {FAST} --noise 0.3 --folds 4 --store runs.sqlite").json["points"]
    assert [point["fold"] for point in points] == [1, 2, 3, 4]
    assert [point["hash"] for point in points] == [fold["hash"] for fold in document["folds"]]
    line = f"train {FAST.removesuffix('--json')} --folds 4"
    flowers.write_text(flowers.read_text() + "9,0,0,0,daisy\n")
    assert re.search("4 folds, test error .*\n.* the recall by class is daisy: 0.0 %", cli(line).out)
    assert re.search("4 folds, validation error .* misclassified$", cli(f"{line} --on-split --evaluate validation").out)


def test_that_validation_rows_are_evaluated_without_holding_out_others(cli, flowers, tiny):
    options = "--depth 1 --widths median -C 1 --json --on-split --evaluate validation"
    document = cli(f"train flowers.csv {options}").json
    assert (document["n_train"], document["n_test"]) == (32, 8)
    assert "held_out" not in document["spec"]
    document = cli(f"train tiny.npz {options}").json  # these data have a test set
    assert (document["n_train"], document["n_test"]) == (48, 12)
    (point,) = cli(f"sweep tiny.npz {options} --noise 0.3 --store r.sqlite").json["points"]
    assert point["hash"] == document["hash"]


def test_that_try_prints_the_sentence_of_python_and_its_bundle_reproduces_itself(cli, flowers):
    line = "try flowers.csv --held-out 0.4 --split-seed 3 --budget 3600 --store runs.sqlite"
    document = cli(f"{line} --json").json
    source = replace(DataSource.of(["flowers.csv"]), held_out=HeldOut(0.4, 3))
    with RunStore(Path("runs.sqlite")) as store:
        n_runs = len(store.runs())
        trial = try_data(source.load(), source, store=store, budget=3600.0)
        assert len(store.runs()) == n_runs > 0
    assert document["sentence"] == trial.sentence
    assert (document["error"], document["budget_ended"]) == (trial.result.error, False)
    assert document["recall"].keys() == {"rose", "tulip"}
    assert "the time limit is 2 s; give 5 to 86400 seconds" in cli("try flowers.csv --budget 2", code=2).err
    lines = cli(f"{line} --out tried").out.splitlines()
    assert lines[:2] == [f"flowers: {trial.sentence}", trial.details]
    folder = Path("tried")
    names = [*(f"try.{suffix}" for suffix in ("pdf", "svg", "png", "csv", "py", "json", "txt")), "commands.txt"]
    assert sorted(os.listdir(folder)) == sorted([*names, "try.slide-session", RECORD])
    assert (folder / "try.txt").read_text() == "\n".join(lines[:2]) + "\n"
    commands = (folder / "commands.txt").read_text()
    assert "slide-gui try flowers.csv --held-out 0.4 --split-seed 3 --budget 3600 --out try" in commands
    assert "best on validation" in (folder / "try.csv").read_text().splitlines()[0]
    session = located(read_session(folder), folder, [Path()])
    assert (session.page, session.fingerprint) == ("curves", session.source.load().fingerprint)
    before = {name: (folder / name).read_bytes() for name in ("try.csv", "try.svg")}
    os.remove(folder / "try.csv")
    run_script(folder / "try.py", Path())
    assert {name: (folder / name).read_bytes() for name in before} == before
    assert not Path("try.csv").exists(), "the script writes to its own folder"


@pytest.mark.parametrize("line", ["try d.csv", "train d.csv", "sweep d.csv --store s.sqlite"])
def test_that_a_quantity_as_label_is_refused_with_its_remedies_before_training(cli, monkeypatch, line):
    rows = (f"{a:.4f},{b:.4f},{round(200 * a + 90 * b)}" for a, b in np.random.default_rng(2).random((400, 2)))
    Path("d.csv").write_text("\n".join(["age,bmi,progression", *rows]) + "\n")
    monkeypatch.setattr("slide_gui.experiments.runs.run.represent", lambda *_: pytest.fail("trained"))
    sentence = cli(line, code=1).err
    assert "The column “progression” has " in sentence
    assert "It looks like a quantity, but slide-gui predicts classes. Choose another label column" in sentence
    assert "--bins 3" in sentence


@pytest.mark.parametrize("command", ["try", "train"])
def test_that_the_time_that_many_classes_take_is_printed_before_training(cli, monkeypatch, command):
    np.savez("many.npz", X=np.random.default_rng(0).random((1400, 5)), y=np.repeat(np.arange(70), 20))
    for module in ("runs.run", "sweeps.executor"):
        monkeypatch.setattr(f"slide_gui.experiments.{module}.run", Mock(side_effect=KeyboardInterrupt))
    announced, cancelled = cli(f"{command} many.npz", code=130).err.splitlines()
    assert re.fullmatch(f"estimated time: about {'60 s' if command == 'try' else '[0-9]+ (s|min)'}", announced)
    assert cancelled == "slide-gui: cancelled"


def test_that_a_decision_is_that_of_its_run_and_its_changes_flip_the_class(cli, tiny):
    result = cli(f"train tiny.npz {MEDIAN} --output runs.sqlite --json").json
    decide = f"decide tiny.npz --store runs.sqlite --run {result['hash'][:8]}"
    labels = np.load(tiny)["y_test"]
    decisions = [cli(f"{decide} --part test --row {row} --no-flip --json").json for row in range(40)]
    wrong = [decision["class"] != str(label) for decision, label in zip(decisions, labels, strict=True)]
    assert sum(wrong) == round(40 * result["error"])
    assert decisions[0]["flip"] is None
    assert all(decision["nearest"][0]["class"] == decision["class"] for decision in decisions)
    decision = cli(f"{decide} --row 2 --json").json
    image = np.load(tiny)["X_train"][2].ravel()
    image[decision["flip"]["features"]] = 1 - image[decision["flip"]["features"]]
    np.savetxt("flipped.csv", image[None], delimiter=",")
    flipped = cli(f"{decide} --image flipped.csv --json").json["class"]
    assert flipped == decision["flip"]["class"] != decision["class"]
    lines = cli(f"{decide} --row 2").out
    pixels = "; ".join(f"{pixel // 8}, {pixel % 8}" for pixel in decision["flip"]["features"])
    changed = f"the class becomes {flipped} if each of these pixels .row, column. is set to the minimum or maximum "
    changed += f"of all pixels, whichever is farther from the current value .*: {pixels}$"
    assert re.search(changed, lines, re.MULTILINE)
    assert f"support vector {decision['nearest'][0]['row'] + 1} (" in lines
    np.savez("alone.npz", X=np.load(tiny)["X_train"], y=np.load(tiny)["y_train"])
    divided = cli(f"train alone.npz {MEDIAN} --held-out 0.1 --output runs.sqlite --json").json
    decide = f"decide alone.npz --store runs.sqlite --run {divided['hash'][:8]} --part test --row 1 --json"
    assert cli(decide).json == cli(f"{decide} --held-out 0.1").json
    assert "the run was not tested on this test set; leave out" in cli(f"{decide} --held-out 0.2", code=2).err
    second = cli(f"train alone.npz {MEDIAN} --folds 2 --output runs.sqlite --json").json["folds"][1]["hash"][:8]
    decide = f"decide alone.npz --store runs.sqlite --run {second} --part test --row 1 --json --folds 2"
    assert cli(decide).json == cli(f"{decide} --fold 2").json
    assert "the run was not tested on this test set; leave out" in cli(f"{decide} --fold 1", code=2).err
    assert "no hashes begin with 'zz'" in cli("decide tiny.npz --store runs.sqlite --run zz", code=2).err
