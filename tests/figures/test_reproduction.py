"""A reproduction of the paper on tiny data writes its files and page, and resumes after an interruption."""

import re
from dataclasses import replace

import pytest

from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.data.files import folder_files
from slide_gui.experiments.evaluation.protocol import CellPlan
from slide_gui.experiments.store.store import RunStore
from slide_gui.progress import Cancelled, Listener
from slide_gui.reproduction.figures import ReproductionScale, ReproductionState, reproduce, reproduction_scale
from slide_gui.reproduction.page import reading_page
from tests.experiments.tiny import rectangles

DATA = rectangles(60, 80)
DATA_KEYS = ("rectangles", "rectangles-images", "convex", "mnist")
EXTENT = ReproductionScale(
    (
        CellPlan("rectangles", "slide-svm", 1, (("noise", (0.3,)), ("depth", (1,))), widths="median", C=10.0),
        CellPlan("rectangles", "raw-svm", 1, C=10.0),
    ),
    (0.2, 0.4),
    (0, 1),
    SvmParameters(C=10.0),
    "median",
    left_out=("Nearly everything.",),
    formats=(".png",),
)


def load(key, progress):
    return replace(DATA, name=key)


def stop(fraction, payload):
    if isinstance(payload, ReproductionState) and payload.title == "Tables 1 and 2" and fraction > 0.36:
        raise Cancelled


def test_that_everything_is_created_and_an_interrupted_reproduction_resumes(tmp_path):
    pages = []

    def seen(items):
        pages.append(list(items))

    with folder_files(tmp_path):  # marks the folder as one of a reproduction
        pass
    with RunStore(tmp_path / "runs.sqlite") as store:
        with pytest.raises(Cancelled):
            reproduce(
                tmp_path,
                EXTENT,
                load,
                store,
                progress=Listener(stop),
                seen=seen,
            )
        before = {stored.hash: stored.created for stored in store.runs()}
        assert len(pages) == 3
        fractions = []
        listener = Listener(lambda fraction, _payload: fractions.append(fraction))
        made = reproduce(tmp_path, EXTENT, load, store, progress=listener, seen=seen)
        after = {stored.hash: stored.created for stored in store.runs()}
    assert before.items() <= after.items()
    assert len(after) == 5  # curves: the raw input and two noise levels; tables: two
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    names = [one.name for one in made]
    assert names == ["weights", "flow", "curves", "errors"]
    for one in made:
        assert {f"{one.name}{suffix}" for suffix in (".png", ".csv")} <= set(one.files)
        assert all((tmp_path / name).stat().st_size > 50 for name in one.files)
        assert one.data in ("generated: mnist", "generated: rectangles", f"generated: {', '.join(DATA_KEYS)}")
    assert {"errors.md", "errors.tex", "times.md", "times.csv"} <= set(made[-1].files)
    page = reading_page(made, EXTENT.left_out, True)
    targets = re.findall(r'(?:href|src)="([^"]+)"', page)
    assert all(target.startswith("#") or (tmp_path / target).exists() for target in targets)
    assert "://" not in page
    assert "prefers-color-scheme: dark" in page
    assert "Nearly everything." in page
    assert "reproduction is incomplete" not in page
    assert "reproduction is incomplete" in reading_page(made[:2], (), False)
    assert re.search(r"<td>\d+\.\d\d \(\d+\.\d\d–", page)


def test_that_the_small_version_says_what_it_leaves_out():
    quick, full = reproduction_scale(True), reproduction_scale(False)
    assert any("600 training" in sentence for sentence in quick.left_out)
    assert (len(full.noises), len(full.depths)) == (10, 5)
    assert {cell.n_splits for cell in reproduction_scale(False, 2).cells} == {2}
    assert {cell.data for cell in quick.cells} <= {cell.data for cell in full.cells}
