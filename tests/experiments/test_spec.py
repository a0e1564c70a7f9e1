"""Specs of runs: equal hashes mean equal results; unknown words, wrong numbers and contradictions are refused."""

import hashlib
import inspect
import json
import re
from dataclasses import fields, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slide_gui import SLIDE, MultiWidthSVC
from slide_gui.core.baselines import Estimator
from slide_gui.core.choices import Choice
from slide_gui.core.sda.model import SdaParameters
from slide_gui.core.slide.parameters import FIT_ON, SHARING, SQUASHINGS, StackParameters
from slide_gui.core.slide.scaling import SCALES
from slide_gui.core.svm.criteria import LEARNED_BY
from slide_gui.core.svm.parameters import LOSSES, WIDTHS, SvmParameters
from slide_gui.data.dataset import HeldOut
from slide_gui.experiments.runs.spec import (
    CHOOSE,
    EVALUATE,
    FIT_ROWS,
    METHODS,
    TRAINING,
    RunSpec,
    SweepSpec,
    document_hash,
    on_every_fold,
)
from slide_gui.experiments.runs.splits import divide
from slide_gui.figures.style import LEVELS
from slide_gui.results_version import RESULTS_VERSION, version_in_hashes
from tests.experiments.tiny import rectangles

KNN = Estimator.of("neighbors.KNeighborsClassifier")
BASE = RunSpec("ab" * 32, stack=StackParameters(noise=0.5, depth=2), training="split")


def test_that_every_choice_that_changes_a_result_changes_the_hash():
    stacks = [
        {"noise": 0.4}, {"depth": 3}, {"threshold": 0.4}, {"squashing": "tanh"}, {"fit_on": "thresholded"},
        {"ridge": 1e-4}, {"dtype": "float64"}, {"batch_size": 10}, {"sharing": "convolution"},
        {"sharing": "convolution", "window": 7},
    ]  # fmt: skip
    svms = [
        {"widths": "median"}, {"widths": (1.0, 2.0, 3.0)}, {"criterion": "press"}, {"loss": "hinge"}, {"C": 3.0},
        {"tol": 1e-4}, {"max_iter": 9}, {"subset_size": 99}, {"starts": 1}, {"retune": False}, {"memory": 1 << 20},
    ]  # fmt: skip
    changes = [
        {"fingerprint": "cd" * 32}, {"split": 1}, {"seed": 1}, {"training": "whole"}, {"evaluate": "validation"},
        {"test_rows": 100}, {"neighbour": BASE}, {"labels": 10}, {"labels": 10, "fit_rows": "labelled"},
        {"fit_rows": "split"}, {"held_out": HeldOut()}, {"held_out": HeldOut(seed=1)}, {"held_out": HeldOut(folds=2)},
        {"held_out": HeldOut(folds=2, fold=1)}, {"method": "median"}, {"method": "raw-svm"}, {"method": "sda"},
        {"method": "pca-svm", "kept": 0.5}, {"method": "pca-svm", "kept": 0.9}, {"method": "white-svm", "kept": 0.9},
        {"method": "slide-white-svm", "kept": 0.5}, {"method": "slide-svm-without-input"},
        {"method": "randproj-svm", "kept": 9}, {"method": "custom", "classifier": KNN},
        {"method": "custom", "classifier": Estimator.of(KNN.name, {"n_neighbors": 4})},
        {"method": "custom", "transformer": Estimator.of("decomposition.PCA")},
        {"method": "sda", "sda": SdaParameters(fine_tuning_rate=0.2)},
        {"method": "sda-svm", "sda": SdaParameters(noise=(0.1, 0.2, 0.3))},
        {"method": "sda-svm", "svm": SvmParameters(widths="median")},
        {"method": "mean-margin", "members": (BASE, BASE)},
        {"method": "mean-margin", "members": (BASE, replace(BASE, method="median"))},
        *({"stack": replace(BASE.stack, **change)} for change in stacks),
        *({"svm": replace(BASE.svm, **change)} for change in svms),
    ]  # fmt: skip
    assert len({BASE.hash, *(replace(BASE, **change).hash for change in changes)}) == 1 + len(changes)
    # A new field needs a change above and its name here.
    assert {field.name for field in fields(RunSpec)} == {
        "fingerprint", "source", "method", "stack", "svm", "split", "seed", "training", "evaluate", "test_rows",
        "neighbour", "kept", "transformer", "classifier", "labels", "fit_rows", "sda", "held_out", "members",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("change", "without_effect"),
    [
        ({}, {"source": "moved elsewhere"}),
        ({}, {"svm": SvmParameters(groups=7, seed=9, near=((1.0,), 2.0))}),
        ({"training": "whole"}, {"split": 3}),
        ({"training": "whole"}, {"fit_rows": "split"}),
        ({"method": "raw-svm"}, {"stack": StackParameters(noise=0.9)}),
        ({}, {"stack": replace(BASE.stack, window=7)}),
        ({"stack": StackParameters(noise=0.0)}, {"stack": StackParameters(noise=-0.0)}),
        ({"stack": StackParameters(noise=0.1, depth=0)}, {"stack": StackParameters(noise=0.7, depth=0)}),
        ({"method": "median"}, {"svm": SvmParameters(criterion="span")}),
        ({"method": "sda-svm"}, {"sda": SdaParameters(fine_tuning_rate=0.2, seed=5)}),
        ({"method": "sda"}, {"svm": SvmParameters(C=9.0), "stack": StackParameters()}),
    ],
)
def test_that_a_choice_without_effect_does_not_change_the_hash(change, without_effect):
    assert replace(BASE, **change).hash == replace(BASE, **(change | without_effect)).hash


PLAIN = RunSpec("f" * 64)
KNOWN = {
    "c25b7223c3c9ef48da122af55e206be1ea2885b0fdf562ffd81b74ce6175ecc3": PLAIN,
    "b0ccd022b713624828f9d0d7cbc13b7d88a58fcc21ec6a24a08568bd1c7181c8": replace(
        PLAIN, method="raw-svm", split=3, training="split", evaluate="validation", svm=SvmParameters(loss="hinge")
    ),
    "c0dfeee5830c490f823152acaaac1b9c2600090b175eed9c4d393c8dd6ea539b": replace(
        PLAIN, stack=StackParameters(0.1, 1, 0.4, "tanh", "thresholded", 1e-4, "float64", 10)
    ),
    "23c66843a6b4375f3018ef71e1dc9aa8a4ef9c6f4217b2a12f7109c43af6431c": replace(
        PLAIN, svm=SvmParameters(criterion="press", loss="hinge", subset_size=99, starts=1, retune=False), seed=4
    ),
    "2d71ba8ede58ad6effe991cc4502c5b13fa059b3ce9b47adb444b2ed9d9f0017": replace(
        PLAIN, method="sda", sda=SdaParameters((3, 4), (0.1, 0.2), pretraining_rate=0.1, fine_tuning_rate=0.1)
    ),
    "f8584eff3ff5d08304ab354a32ede63d037a5012a1b007a30758c19e273bf01c": replace(
        PLAIN, method="custom", classifier=KNN, labels=20, fit_rows="labelled"
    ),
}


@pytest.mark.parametrize("known", KNOWN)
def test_that_hashes_of_an_earlier_results_version_stay_the_same(known):
    assert document_hash(KNOWN[known].checked().document(), 3) == known


@pytest.mark.parametrize(
    "spec",
    [
        BASE,
        replace(BASE, training="whole", neighbour=BASE),
        replace(BASE, method="sda-svm", sda=SdaParameters(n_units=(12,), seed=3), seed=3),
        replace(BASE, method="pca-svm", kept=0.9, evaluate="validation", held_out=HeldOut(0.2)),
    ],
)
@pytest.mark.parametrize(("split", "seed"), [(0, 0), (3, 0), (2, 5)])
def test_that_a_spec_drawn_for_a_split_and_seed_equals_one_with_them(spec, split, seed):
    drawn, asked = spec.drawn(split, seed), replace(spec, split=split, seed=seed, neighbour=None).checked()
    assert repr(drawn) == repr(asked)
    assert drawn.hash == asked.hash
    assert drawn.checked() is drawn
    assert replace(drawn).checked() == drawn


def test_that_the_hash_and_that_of_a_neighbour_depend_on_the_results_version_of_this_program():
    document = PLAIN.checked().document()
    assert PLAIN.hash == document_hash(document, version_in_hashes(str(RESULTS_VERSION)))
    assert len({document_hash(document, version) for version in (3, "3", "4-0123abcd", "3+0123")}) == 4
    warm = replace(PLAIN, neighbour=replace(PLAIN, split=1, training="split")).checked()
    own = replace(warm, neighbour=None).document()
    near = document_hash(warm.document()["neighbour"], 4)
    expected = {"format": 4, **{key: value for key, value in own.items() if key != "source"}, "neighbour": near}
    text = json.dumps(expected, sort_keys=True)
    assert document_hash(warm.document(), 4) == hashlib.sha256(text.encode()).hexdigest()


def test_that_a_spec_with_its_neighbours_is_read_back_from_json():
    for spec in (
        replace(BASE, neighbour=replace(BASE, seed=4, neighbour=BASE), svm=SvmParameters(C=2.0)),
        replace(BASE, method="custom", classifier=Estimator.of(KNN.name, {"n_neighbors": 4}), labels=9),
        replace(BASE, method="sda", sda=SdaParameters(n_units=(3, 4), noise=(0.1, 0.2))),
        replace(BASE, held_out=HeldOut(folds=3, fold=2, seed=4)),
        replace(BASE, svm=SvmParameters(widths=(0.1, 1 / 3, 7.0), C=1.0)),
    ):
        again = RunSpec.from_document(json.loads(json.dumps(spec.checked().document())))
        assert again == spec.checked()
        assert again.hash == spec.hash


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"training": "whole", "evaluate": "validation"}, "no validation rows"),
        ({"method": "pca-svm"}, "kept is missing"),
        ({"method": "custom"}, "needs a transformer or a classifier"),
        ({"classifier": KNN}, "accepts no transformer or classifier"),
        ({"fit_rows": "labelled"}, "the number of labels"),
        ({"held_out": HeldOut(0.95)}, "give 0 to 0.9"),
    ],
)
def test_that_a_spec_that_contradicts_itself_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        replace(BASE, **change).checked()


def test_that_equal_hold_out_rules_have_one_form_and_the_run_of_each_fold_its_own_fingerprint():
    assert HeldOut(0.25, 3, 0, 0).checked() == HeldOut(seed=3)
    assert HeldOut(0.1, 3, 5, 2).checked() == HeldOut(0.7, 3, 5, 2).checked()
    assert HeldOut(0.0, 3).checked() == HeldOut(0.0)
    one, other = (replace(BASE, held_out=HeldOut(share, 3, 5, 2)) for share in (0.1, 0.7))
    assert one.hash == other.hash
    dataset = divide(replace(rectangles(30, 0)), HeldOut(folds=3, seed=1))
    specs = on_every_fold(replace(BASE, fingerprint=dataset.fingerprint, held_out=dataset.held_out), dataset)
    assert [spec.held_out for spec in specs] == [HeldOut(0.0, 1, 3, fold) for fold in range(3)]
    assert [spec.fingerprint for spec in specs] == [divide(dataset, each.held_out).fingerprint for each in specs]
    assert on_every_fold(BASE, rectangles(30, 0)) == (BASE,)


DTYPES = ("float32", "float64")
TABLES = {
    "squashing": SQUASHINGS, "fit_on": FIT_ON, "criterion": LEARNED_BY, "loss": LOSSES, "widths": WIDTHS,
    "method": METHODS, "training": TRAINING, "evaluate": EVALUATE, "fit_rows": FIT_ROWS, "dtype": DTYPES,
    "sharing": SHARING,
}  # fmt: skip
SPLIT = RunSpec("ab" * 32, training="split", sda=SdaParameters(n_units=(3,)))
SWEEP = SweepSpec(RunSpec("ab" * 32))
PARTS = {"stack": StackParameters, "svm": SvmParameters, "sda": SdaParameters}


def of_method(method):
    """Return a valid spec of a method."""
    kind = METHODS[method]
    kept = None if kind.projection is None else 3 if kind.projection.amount_kind == "directions" else 0.5
    classifier = Estimator.of("neighbors.KNeighborsClassifier") if kind.takes_parts else None
    members = (SPLIT, replace(SPLIT, method="median")) if kind.averages else ()
    return replace(SPLIT, method=method, kept=kept, classifier=classifier, members=members)


# The part ("" for the spec itself) and the name of every field that holds a word, or a number or a truth value.
FIELDS = [(part, item.name, item.default) for part, kind in {"": RunSpec, **PARTS}.items() for item in fields(kind)]
WORDS = [place for *place, usual in FIELDS if isinstance(usual, str) and place[1] not in {"fingerprint", "source"}]
NUMBERS = [
    place
    for *place, usual in FIELDS
    if isinstance(usual, (int, float)) or place[1] in {"C", "max_iter", "test_rows", "labels", "kept"}
]


def with_value(spec, part, name, value):
    changes = {name: value}
    return replace(spec, **({part: replace(getattr(spec, part), **changes)} if part else changes))


def test_that_each_word_of_a_spec_has_a_table_and_help_lists_every_choice():
    assert {name for _, name in WORDS} == TABLES.keys()
    with pytest.raises(ValueError, match=f"choose is 'all'; it must be one of {', '.join(CHOOSE)}"):
        replace(SWEEP, choose="all").points()
    assert {name for kind, name in LISTED if kind is SLIDE} == {"squashing", "fit_on", "dtype", "scale", "sharing"}
    assert {name for kind, name in LISTED if kind is MultiWidthSVC} == {"criterion", "loss", "widths"}


@pytest.mark.parametrize(("part", "name"), WORDS)
@settings(max_examples=15)
@given(
    method=st.sampled_from([*METHODS]),
    word=st.text(max_size=20)
    | st.sampled_from(["radius_margin", "Threshold", "@0", "cube@other", "slide", "sqared_hinge", "float16"]),
)
def test_that_a_misspelt_word_is_refused_before_it_gets_a_hash(method, part, name, word):
    table = TABLES[name]
    if word in table:
        return
    spec = with_value(of_method(method), part, name, word)
    with pytest.raises(ValueError, match=f"^{name} is .*; it must be (one of )?{', '.join(table)}"):
        spec.checked()
    with pytest.raises(ValueError, match=f"^{name} is "):
        _ = spec.hash


@pytest.mark.parametrize("method", [*METHODS])
def test_that_every_key_of_every_table_is_accepted(method):
    spec = of_method(method)
    for part, name in WORDS:
        for key in TABLES[name] if name != "method" else ():
            changed = spec.on(labels=9) if key == "labelled" else spec
            changed = changed.on(**{name: key}) if name in {"training", "evaluate"} and spec.members else changed
            assert len(with_value(changed, part, name, key).hash) == 64


@pytest.mark.parametrize(("part", "name"), [place for place in NUMBERS if place != ["svm", "groups"]])
def test_that_a_value_that_is_not_a_number_in_range_is_refused_by_name(part, name):
    flag = isinstance(getattr(getattr(SPLIT, part) if part else SPLIT, name), bool)
    for wrong in ("0.5", "3", b"3", True, 0.5j, float("nan"), float("inf"), -1, []):
        if (flag and wrong is True) or (name, wrong) == ("threshold", -1):
            continue
        with pytest.raises(ValueError, match=f"^{name} "):
            with_value(of_method("pca-svm"), part, name, wrong).checked()


@pytest.mark.parametrize(
    ("part", "name", "least"),
    [
        ("stack", "depth", 0), ("stack", "batch_size", 1), ("stack", "window", 3), ("svm", "starts", 1),
        ("svm", "subset_size", 2), ("svm", "max_iter", 1), ("sda", "patience", 1), ("", "split", 0), ("", "seed", 0),
        ("", "test_rows", 1), ("", "labels", 2),
    ],
)  # fmt: skip
def test_that_a_number_below_the_least_or_between_two_integers_is_refused(part, name, least):
    assert with_value(SPLIT, part, name, least).hash == with_value(SPLIT, part, name, float(least)).hash
    for wrong in (least - 1, least + 0.5):
        with pytest.raises(ValueError, match=f"^{name} is {wrong}; it must be an integer, {least} (or more|to)"):
            with_value(SPLIT, part, name, wrong).checked()


def test_that_an_integer_is_the_same_as_a_float():
    svm = SvmParameters(widths=(1.0, 2.5, 3.0, 4.0), C=3.0, groups=4)
    normal = replace(SPLIT, svm=svm, sda=None).checked()
    assert normal.checked() is normal
    for changed in (replace(svm, C=3), replace(svm, widths=(1, 2.5, 3, 4)), replace(svm, seed=0.0, groups=4.0)):
        assert replace(normal, svm=changed).hash == normal.hash


@pytest.mark.parametrize("axis", ["noises", "depths", "splits", "seeds"])
def test_that_a_sweep_refuses_a_wrong_axis(axis):
    for wrong in ((), 3, "0.5", ("0",), (True,), (-1,), (None,)):
        with pytest.raises(ValueError, match=f"^{axis[:-1]}"):
            replace(SWEEP, **{axis: wrong}).points()


@pytest.mark.parametrize("table", [table for table in TABLES.values() if table is not DTYPES] + [LEVELS, SCALES])
def test_that_every_entry_has_its_key_a_text_and_a_tip(table):
    assert len({choice.text for choice in table.values()}) == len(table)
    for key, choice in table.items():
        assert choice.key == key
        assert choice.text.strip() == choice.text != ""
        assert choice.tip.strip() == choice.tip != ""
        assert not set(";:") & set(choice.tip)
        assert not choice.tip.endswith(".")
    with pytest.raises(TypeError):
        table["new"] = Choice("new", "new", "new")


LISTED = [
    (kind, name)
    for kind in (SLIDE, MultiWidthSVC, StackParameters, SvmParameters, SdaParameters)
    for name in re.findall(r"^(\w+) : \{", inspect.getdoc(kind) or "", re.MULTILINE)
]


@pytest.mark.parametrize(("kind", "name"), LISTED)
def test_that_the_lists_in_help_are_the_choices(kind, name):
    (listed,) = re.findall(rf"^{name} : \{{(.*?)\}}", inspect.getdoc(kind) or "", re.MULTILINE)
    assert re.findall(r'"(.*?)"', listed) == list({**TABLES, "scale": SCALES}[name])
