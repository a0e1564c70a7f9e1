"""Parts become one data set: scaled as pictures are, checked, named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from numpy.typing import NDArray

from slide_gui.data import assemble as assemble_module
from slide_gui.data.assemble import assemble
from slide_gui.data.dataset import Dataset
from slide_gui.data.entries import entry
from slide_gui.data.errors import DataError
from slide_gui.data.readers.parts import DataPart
from slide_gui.data.reading import AS_GUESSED, ParseOptions
from tests.data.writers import CancelAfter

PATHS = [Path("folder/mine.npz")]


def part(values: object, role: str = "train", shape: tuple[int, int] | None = (2, 3), **more: object) -> DataPart:
    rows = np.asarray(values)
    return DataPart(rows, None, shape, f"{role} file", role, **more)  # type: ignore[arg-type]


def of(*parts: DataPart, paths: list[Path] = PATHS, reading: ParseOptions = AS_GUESSED) -> Dataset:
    return assemble(parts, paths, reading)


@pytest.mark.parametrize("dtype", [np.uint8, np.float64, np.float32, np.int64])
@pytest.mark.parametrize(("high", "scale"), [(1, 1), (2, 16), (16, 16), (17, 255), (255, 255)])
def test_that_whole_numbers_of_images_are_scaled_by_the_smallest_scale_that_holds_both(
    dtype: type, high: int, scale: int
) -> None:
    low = np.array([[0, 1, 0, 1, 1, 0]], dtype)
    bright = low.copy()
    bright[0, 2] = high
    for train, test in ((low, bright), (bright, low)):
        data = of(part(train.copy()), part(test.copy(), "test"))
        np.testing.assert_allclose(data.train, train / scale, rtol=1e-7)
        np.testing.assert_allclose(data.test, test / scale, rtol=1e-7)


@pytest.mark.parametrize(
    "values",
    [[[0.0, 1.0, 2.5, 3.0, 4.0, 5.0]], [[-1.0, 1.0, 2.0, 3.0, 4.0, 5.0]], [[0.0, 1.0, 2.0, 3.0, 4.0, 256.0]]],
)
def test_that_other_numbers_stay_as_they_are(values: list[list[float]]) -> None:
    np.testing.assert_array_equal(of(part(values)).train, np.array(values, np.float32))


def test_that_plain_features_within_one_and_truth_values_stay_as_they_are() -> None:
    shares = np.array([[0, 0.25, 0.5, 0.75, 0.875, 1], [0.5] * 6], np.float32)
    data = of(part(shares, shape=None))
    np.testing.assert_array_equal(data.train, shares)
    assert not data.opened.scaled
    np.testing.assert_array_equal(of(part([[True, False] * 3])).train, [[1, 0] * 3])


def test_that_test_values_no_single_precision_number_holds_once_scaled_are_refused() -> None:
    with pytest.raises(DataError, match="beyond the range of float32 after scaling to the training set"):
        of(part([[2.0, 1e-34], [0.0, 0.0]], shape=None), part([[1.0, 37587.0]], "test", shape=None))


NOT_TINY = st.floats(-(2.0**90), 2.0**90, width=32).map(lambda value: 0.0 if abs(value) < 1e-30 else value)


@given(
    npst.arrays(np.float32, st.tuples(st.integers(2, 6), st.integers(1, 4)), elements=NOT_TINY),
    npst.arrays(np.float32, st.tuples(st.integers(1, 3), st.just(4)), elements=NOT_TINY),
)
def test_that_plain_features_beyond_one_go_from_0_to_1_in_the_training_part(
    rows: NDArray[np.float32], others: NDArray[np.float32]
) -> None:
    others = others[:, : rows.shape[1]]
    before = rows.astype(np.float64)
    low, high = before.min(axis=0), before.max(axis=0)
    farthest = np.max(np.abs(others - low)[:, high > low] / (high - low)[high > low], initial=0.0)
    assume(farthest < np.finfo(np.float32).max)
    data = of(part(rows.copy(), shape=None), part(others.copy(), "test", shape=None))
    assert data.opened.scaled == bool((rows < 0).any() or (rows > 1).any())
    if not data.opened.scaled:
        np.testing.assert_array_equal(data.train, rows)
        return
    varies = high > low
    assert (data.train.min(axis=0) == 0).all()
    assert (data.train.max(axis=0) == varies).all()
    np.testing.assert_allclose(data.train[:, varies], ((before - low) / (high - low + ~varies))[:, varies], atol=1e-6)
    expected = (others.astype(np.float64) - low)[:, varies] / (high - low)[varies]
    np.testing.assert_allclose(data.test[:, varies], expected, rtol=1e-6, atol=1e-6)
    assert data.opened.guesses[0].sure


OFFSETS = np.array([[1.7e9, 0.1], [1.7e9 + 5, 0.2], [1.7e9, 0.3], [1.7e9 + 10, 0.4]])


@pytest.mark.parametrize("dtype", [np.float64, np.int64])
def test_that_features_are_scaled_before_they_are_rounded_and_the_test_set_likewise(dtype: type) -> None:
    data = of(part(OFFSETS.astype(dtype), shape=None), part(OFFSETS[::-1].astype(dtype), "test", None))
    assert data.train[:, 0].tolist() == [0, 0.5, 0, 1]
    assert data.test[:, 0].tolist() == [1, 0, 0.5, 0]
    assert all(guess.sure for guess in data.opened.guesses)


@pytest.mark.parametrize("offset", [1.7e9, 0.5])
def test_that_values_which_become_equal_in_float32_are_reported(offset: float) -> None:
    values = np.column_stack([np.linspace(0, 1, 40), offset + 1e-9 * np.arange(40)])
    if offset > 1:
        values[:, 1] = offset + np.arange(40) % 2
    data = of(part(values, shape=None, feature_names=("a", "time")), reading=ParseOptions(scaled=False))
    (guess,) = data.opened.guesses
    assert guess.what == "different values of feature “time” become equal"
    assert not guess.sure
    assert not of(part(values[:, :1], shape=None)).opened.guesses


def test_that_an_outlier_which_makes_scaled_values_equal_is_reported() -> None:
    values = np.array([[0.0], [1.0], [2.0], [-1e12]])
    assert any("4 become 2" in guess.why for guess in of(part(values, shape=None)).opened.guesses)


def test_that_many_random_values_of_which_a_few_become_equal_are_not_reported() -> None:
    values = np.random.default_rng(0).random((100_000, 1))
    assert len(np.unique(values.astype(np.float32))) < len(values)
    assert not of(part(values, shape=None)).opened.guesses


def test_that_known_files_read_as_plain_features_say_how_these_were_scaled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assemble_module, "recognise", lambda *_: entry("rectangles"))
    data = of(part([[0.0, 200.0], [100.0, 0.0]], shape=None))
    assert data.key == "rectangles"
    assert data.opened.scaled
    assert [guess.sure for guess in data.opened.guesses] == [True]


def test_that_a_person_may_say_whether_features_are_scaled() -> None:
    counts, shares = [[0, 1], [200, 5]], [[0.5, 0.25], [0.75, 0.25]]
    np.testing.assert_array_equal(of(part(counts, shape=None), reading=ParseOptions(scaled=False)).train, counts)
    data = of(part(shares, shape=None), reading=ParseOptions(scaled=True))
    np.testing.assert_array_equal(data.train, [[0, 0], [1, 0]])
    assert data.opened.guesses == ()
    with pytest.raises(DataError, match="holds images, whose pixels share one scale"):
        of(part([[0, 1] * 3]), reading=ParseOptions(scaled=True))
    with pytest.raises(ValueError, match="pixels cannot be scaled one by one"):
        ParseOptions(shape=(2, 3), scaled=True).checked()


def test_that_a_feature_that_does_not_vary_is_moved_to_0_and_keeps_its_distances_in_the_test_part() -> None:
    data = of(part([[5.0, 0.0], [5.0, 10.0]], shape=None), part([[8.0, 5.0]], "test", shape=None))
    np.testing.assert_array_equal(data.train, [[0.0, 0.0], [0.0, 1.0]])
    np.testing.assert_array_equal(data.test, [[3.0, 0.5]])


def test_that_every_number_is_looked_at_before_images_are_scaled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assemble_module, "_BLOCK", 6)
    values = np.full((5, 6), 200.0)
    assert of(part(values)).train.max() == np.float32(200 / 255)
    values[4, 5] = 0.5  # in the last block
    assert of(part(values)).train.max() == 200.0
    assert of(part(np.full((5, 6), 200.0)), part([[0.5] * 6], "test")).train.max() == 200.0


def test_that_the_first_number_that_is_not_finite_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assemble_module, "_BLOCK", 12)
    for dtype in (np.float64, np.float32):
        values = np.zeros((7, 6), dtype)
        values[5, 2] = np.nan
        with pytest.raises(DataError, match=r"test file: row 6, feature 3 is nan"):
            of(part(np.zeros((2, 6), dtype)), part(values, "test"))
    with pytest.raises(DataError, match="row 1, feature 1 is 1e"):
        of(part([[1e39] * 6]))


def test_that_rows_seen_to_be_finite_are_taken_as_they_are() -> None:
    rows = np.random.default_rng(0).random((4, 6), np.float32)
    assert of(part(rows, finite=True)).train is rows
    turned = np.asfortranarray(rows)
    data = of(part(turned, finite=True))
    assert data.train.flags.c_contiguous
    np.testing.assert_array_equal(data.train, rows)


def test_that_a_test_part_alone_is_for_training() -> None:
    data = of(part([[0.5] * 6], "test"))
    assert (data.train.shape, data.test.shape) == ((1, 6), (0, 6))
    assert data.test_labels is None
    labelled = DataPart(np.ones((1, 6)), np.array([1]), None, "file", "test")
    assert assemble([labelled], PATHS).test_labels is not None


def test_that_two_of_one_role_and_parts_that_do_not_agree_are_refused() -> None:
    for role, word in (("train", "training"), ("test", "test")):
        with pytest.raises(DataError, match=f"are both {word} sets; open only one of them"):
            of(part([[0.5] * 6], role), part([[0.5] * 6], role))
    with pytest.raises(DataError, match="has images of 3 × 2, expected images of 2 × 3 as in the training set"):
        of(part([[0.5] * 6]), part([[0.5] * 6], "test", (3, 2)))
    with pytest.raises(DataError, match="has 5 features, expected 6 features"):
        of(part([[0.5] * 6], shape=None), part([[0.5] * 5], "test", None))


def test_that_both_parts_together_must_fit_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(assemble_module, "check_memory", lambda n_bytes, _place: asked.append(n_bytes))
    of(part(np.zeros((3, 6))), part(np.zeros((2, 6)), "test"))
    assert asked == [4 * (18 + 12)]


@pytest.mark.parametrize(
    ("paths", "name"),
    [
        (["folder/mine.tar.npz"], "mine"),
        (["folder/.hidden"], ".hidden"),
        (["folder/train.csv", "folder/test.csv"], "folder"),
        (["train.csv", "test.csv"], "train"),
    ],
)
def test_that_it_is_named_after_the_file_or_the_folder_of_several(paths: list[str], name: str) -> None:
    data = of(part([[0.5] * 6]), paths=[Path(path) for path in paths])
    assert data.name == name
    assert data.source == "; ".join(paths)
    assert (data.licence, data.citation, data.generated) == ("not stated", "", False)


def test_that_a_folder_keeps_its_whole_name(tmp_path: Path) -> None:
    (tmp_path / "v1.2 digits").mkdir()
    assert of(part([[0.5] * 6]), paths=[tmp_path / "v1.2 digits"]).name == "v1.2 digits"


def test_that_progress_rises_over_both_parts_to_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assemble_module, "_BLOCK", 6)
    listener = CancelAfter()
    assemble([part(np.zeros((3, 6))), part(np.zeros((1, 6)), "test")], PATHS, progress=listener)
    assert listener.fractions == [0.0, 0.25, 0.5, 0.75, 1.0]


def test_that_tiny_values_become_0_and_a_feature_of_nothing_else_is_named() -> None:
    values = np.array([[0.5, 1e-31, 1e-40], [0.25, 0.5, 0.0], [1e-45, -1e-39, 3e-39]], np.float32)
    data = of(part(values.copy(), shape=None), reading=ParseOptions(scaled=False))
    assert data.train.tolist() == [[0.5, 0, 0], [0.25, 0.5, 0], [0, 0, 0]]
    assert [(guess.what, guess.sure) for guess in data.opened.guesses] == [("feature “3” set to 0", False)]
    named = of(part(values[:, 1:].copy(), shape=None, feature_names=("p", "q")), reading=ParseOptions(scaled=False))
    assert [guess.what for guess in named.opened.guesses] == ["feature “q” set to 0"]


@pytest.mark.parametrize("size", [1e-31, 1e-40, 1e-300])
def test_that_features_that_are_all_tiny_are_scaled(size: float) -> None:
    data = of(part(np.array([[1, 2], [3, 0], [0, 1]]) * size, shape=None))
    np.testing.assert_allclose(data.train, [[1 / 3, 1], [1, 0], [0, 0.5]], atol=1e-4)
    assert data.opened.scaled
