"""Settings: runs made in the same way are points of one curve, and what differs is said."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.data.dataset import HeldOut
from slide_gui.experiments.runs.run import run
from slide_gui.experiments.runs.spec import METHODS, RunSpec
from slide_gui.experiments.store.setting import Setting
from slide_gui.experiments.store.stored_run import StoredRun
from slide_gui.experiments.sweeps.curves import known_answers
from tests.experiments.tiny import rectangles

BASE = RunSpec("ab" * 32, "tiny.npz", stack=StackParameters(noise=0.3, depth=2)).checked()
SPLIT = replace(BASE, training="split", split=2, seed=1).checked()


def test_that_place_data_split_and_seed_are_no_part_of_a_setting() -> None:
    held_out = HeldOut(0.0, 0, 5, 1)
    moved = replace(SPLIT, stack=replace(SPLIT.stack, noise=0.7, depth=1), split=0, seed=5, held_out=held_out)
    assert Setting.of(moved.checked()) == Setting.of(SPLIT)
    assert Setting.of(SPLIT) != Setting.of(BASE)


@pytest.mark.parametrize(
    "change",
    [
        {}, {"labels": 20}, {"evaluate": "validation", "training": "split"}, {"svm": SvmParameters(criterion="press")},
        {"stack": StackParameters(0.3, 2, threshold=0.4)}, {"svm": SvmParameters(widths=(1.0, 2.0, 3.0), C=2.0)},
        {"method": "raw-svm"}, {"test_rows": 50},
    ],
)  # fmt: skip
def test_that_a_text_brings_a_setting_back_and_gives_the_run_again(change: dict[str, object]) -> None:
    spec = replace(BASE, **change).checked()
    setting = Setting.of(spec)
    assert Setting.from_text(setting.text) == setting
    assert setting.at(BASE, spec.stack.noise, spec.stack.depth, spec.split, spec.seed).hash == spec.hash


def test_that_what_cannot_be_read_is_no_setting() -> None:
    for text in (None, "", "[]", "{", json.dumps({"method": 3}), json.dumps({"labels": "many"})):
        assert Setting.from_text(text) is None


def test_that_a_run_without_layers_is_on_the_curves_of_every_stack() -> None:
    raw = Setting.of(replace(BASE, stack=StackParameters(depth=0)).checked())
    other = Setting.of(replace(BASE, stack=replace(BASE.stack, threshold=0.4)).checked())
    assert other.covers(raw)
    assert Setting.of(BASE).covers(raw)
    assert not other.covers(Setting.of(BASE))
    assert not Setting.of(SPLIT).covers(raw)


def test_that_the_difference_names_rows_labels_criterion_and_start() -> None:
    mine = Setting.of(BASE)
    assert mine.difference(Setting.of(replace(BASE, split=0))) == ""
    assert mine.difference(Setting.of(SPLIT)) == "trained on 80 %"
    few = replace(BASE, labels=20, svm=SvmParameters(criterion="press")).checked()
    assert mine.difference(Setting.of(few), 2) == "20 labels, widths by press"
    assert Setting.of(few).difference(mine, 2) == "widths by span (automatic), not 20 labels"
    warm = replace(BASE, neighbour=replace(BASE, stack=StackParameters(0.2, 2))).checked()
    assert mine.difference(Setting.of(warm)) == "started from the noise before it"
    judged = replace(SPLIT, evaluate="validation").checked()
    assert mine.difference(Setting.of(judged)) == "evaluated on the validation rows, trained on 80 %"


def test_that_a_method_that_learns_no_widths_is_named_in_their_place() -> None:
    raw, text = Setting.of(replace(BASE, method="raw-svm").checked()), METHODS["raw-svm"].text
    assert raw.words() == f"test error · trained on all rows · {text}"
    assert Setting.of(BASE).difference(raw) == text


def test_that_answers_are_gathered_by_place_of_one_setting_and_the_run_made_afresh_is_preferred() -> None:
    data = rectangles(40, 30)
    svm = SvmParameters(widths="median", C=1.0)
    base = RunSpec(data.fingerprint, svm=svm)

    def line(noise: float, depth: int, **change: object) -> StoredRun:
        spec = replace(base, stack=StackParameters(noise=noise, depth=depth), **change)
        return StoredRun.of(run(data, spec))

    lines = [line(0.2, 1), line(0.4, 1), line(0.2, 0), line(0.2, 1, training="split"), line(0.2, 1, labels=20)]
    warm = replace(lines[0], hash="warm", setting=json.dumps({**json.loads(lines[0].setting or ""), "warm": True}))
    setting = Setting.of(replace(base, stack=StackParameters(noise=0.2, depth=1)).checked())
    known = known_answers(setting, [base], [lines[0], warm, *lines[1:]])
    assert {place: tuple(runs) for place, runs in known.items()} == {
        (0.2, 1): (lines[0].hash,),
        (0.4, 1): (lines[1].hash,),
        (0.2, 0): (lines[2].hash,),
        (0.4, 0): (lines[2].hash,),
    }
    assert known[0.2, 1][lines[0].hash].row_errors == lines[0].row_errors is not None
    assert known_answers(setting, [replace(base, fingerprint="cd" * 32)], lines) == {}
