"""Every choice of every spec: an unknown word is refused at once, with the list of those that are known."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slide_gui import SLIDE, MultiWidthSVC
from slide_gui.core.baselines import Estimator
from slide_gui.core.choices import Choice
from slide_gui.core.sda.model import SdaParameters
from slide_gui.core.slide.parameters import FIT_ON, SQUASHINGS, StackParameters
from slide_gui.core.svm.criteria import LEARNED_BY
from slide_gui.core.svm.parameters import LOSSES, WIDTHS, SvmParameters
from slide_gui.experiments.runs.spec import CHOOSE, EVALUATE, FIT_ROWS, METHODS, TRAINING, RunSpec, SweepSpec
from slide_gui.figures.style import LEVELS

DTYPES = ("float32", "float64")
TABLES: dict[str, Any] = {
    "squashing": SQUASHINGS, "fit_on": FIT_ON, "criterion": LEARNED_BY, "loss": LOSSES, "widths": WIDTHS,
    "method": METHODS, "training": TRAINING, "evaluate": EVALUATE, "fit_rows": FIT_ROWS, "dtype": DTYPES,
}  # fmt: skip
FREE_TEXT = {"fingerprint", "source"}
BASE = RunSpec("ab" * 32, training="split", sda=SdaParameters(n_units=(3,)))
SWEEP = SweepSpec(RunSpec("ab" * 32))
PARTS: dict[str, type] = {"stack": StackParameters, "svm": SvmParameters, "sda": SdaParameters}


def of_method(method: str) -> RunSpec:
    """Return a spec that is in order."""
    kind = METHODS[method]
    kept = None if kind.projection is None else 3 if kind.projection.keeps == "directions" else 0.5
    classifier = Estimator.of("neighbors.KNeighborsClassifier") if kind.takes_parts else None
    return replace(BASE, method=method, kept=kept, classifier=classifier)


def choices() -> Iterator[tuple[str, str]]:
    """Yield part ("" for the spec itself) and name of every field that holds a word."""
    for part, kind in {"": RunSpec, **PARTS}.items():
        for item in fields(kind):
            if isinstance(item.default, str) and item.name not in FREE_TEXT:
                yield part, item.name


def with_value(spec: RunSpec, part: str, name: str, value: object) -> RunSpec:
    changes: dict[str, Any] = {name: value}
    return replace(spec, **({part: replace(getattr(spec, part), **changes)} if part else changes))


def test_that_each_word_of_a_spec_has_a_table() -> None:
    assert {name for _, name in choices()} == TABLES.keys()
    with pytest.raises(ValueError, match=f"choose is 'all'; it must be one of {', '.join(CHOOSE)}"):
        replace(SWEEP, choose="all").points()


@pytest.mark.parametrize(("part", "name"), [*choices()])
@settings(max_examples=40)
@given(
    method=st.sampled_from([*METHODS]),
    word=st.text(max_size=20)
    | st.sampled_from(["radius_margin", "Threshold", "@0", "cube@other", "slide", "sqared_hinge", "float16"]),
)
def test_that_a_misspelt_word_is_refused_before_it_gets_a_hash(method: str, part: str, name: str, word: str) -> None:
    table = TABLES[name]
    if word in table:
        return
    spec = with_value(of_method(method), part, name, word)
    with pytest.raises(ValueError, match=f"^{name} is .*; it must be one of {', '.join(table)}$"):
        spec.checked()
    with pytest.raises(ValueError, match=f"^{name} is "):
        _ = spec.hash


@pytest.mark.parametrize("method", [*METHODS])
def test_that_every_key_of_every_table_is_accepted(method: str) -> None:
    spec = of_method(method)
    for part, name in choices():
        for key in TABLES[name] if name != "method" else ():
            changed = replace(spec, labels=9) if key == "labelled" else spec
            assert len(with_value(changed, part, name, key).hash) == 64


def numbers() -> Iterator[tuple[str, str]]:
    """Yield part and name of every field that holds a number or a truth value, or may."""
    for part, kind in {"": RunSpec, **PARTS}.items():
        for item in fields(kind):
            if isinstance(item.default, (int, float)) or item.name in {"C", "max_iter", "test_rows", "labels", "kept"}:
                yield part, item.name


@pytest.mark.parametrize(("part", "name"), [place for place in numbers() if place != ("svm", "groups")])
def test_that_a_value_that_is_not_a_number_in_range_is_refused_by_name(part: str, name: str) -> None:
    flag = isinstance(getattr(getattr(BASE, part) if part else BASE, name), bool)
    for wrong in ("0.5", "3", b"3", True, 0.5j, float("nan"), float("inf"), -1, []):
        if (flag and wrong is True) or (name, wrong) == ("threshold", -1):
            continue
        with pytest.raises(ValueError, match=f"^{name} "):
            with_value(of_method("pca-svm"), part, name, wrong).checked()


@pytest.mark.parametrize(
    ("part", "name", "least"),
    [
        ("stack", "depth", 0), ("stack", "batch_size", 1), ("svm", "starts", 1), ("svm", "subset_size", 2),
        ("svm", "max_iter", 1), ("sda", "patience", 1), ("", "split", 0), ("", "seed", 0), ("", "test_rows", 1),
        ("", "labels", 2),
    ],
)  # fmt: skip
def test_that_a_number_below_the_least_or_between_two_integers_is_refused(part: str, name: str, least: int) -> None:
    assert with_value(BASE, part, name, least).hash == with_value(BASE, part, name, float(least)).hash
    for wrong in (least - 1, least + 0.5):
        with pytest.raises(ValueError, match=f"^{name} is {wrong}; it must be an integer, {least} (or more|to)"):
            with_value(BASE, part, name, wrong).checked()


def test_that_an_integer_is_the_same_as_a_float() -> None:
    svm = SvmParameters(widths=(1.0, 2.5, 3.0, 4.0), C=3.0, groups=4)
    normal = replace(BASE, svm=svm, sda=None).checked()
    assert normal.checked() is normal
    for changed in (replace(svm, C=3), replace(svm, widths=(1, 2.5, 3, 4)), replace(svm, seed=0.0, groups=4.0)):  # type: ignore[arg-type]
        assert replace(normal, svm=changed).hash == normal.hash


@pytest.mark.parametrize("axis", ["noises", "depths", "splits", "seeds"])
def test_that_a_sweep_refuses_a_wrong_axis(axis: str) -> None:
    for wrong in ((), 3, "0.5", ("0",), (True,), (-1,), (None,)):
        with pytest.raises(ValueError, match=f"^{axis[:-1]}"):
            replace(SWEEP, **{axis: wrong}).points()  # type: ignore[arg-type]


@pytest.mark.parametrize("table", [table for table in TABLES.values() if table is not DTYPES] + [LEVELS])
def test_that_every_entry_has_its_key_a_text_and_a_tip(table: dict[str, Choice]) -> None:
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
def test_that_the_lists_in_help_are_the_choices(kind: type, name: str) -> None:
    (listed,) = re.findall(rf"^{name} : \{{(.*?)\}}", inspect.getdoc(kind) or "", re.MULTILINE)
    assert re.findall(r'"(.*?)"', listed) == list(TABLES[name])


def test_that_help_lists_every_choice() -> None:
    assert {name for kind, name in LISTED if kind is SLIDE} == {"squashing", "fit_on", "dtype"}
    assert {name for kind, name in LISTED if kind is MultiWidthSVC} == {"criterion", "loss", "widths"}
