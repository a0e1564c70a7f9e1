"""Sets are checked, scaled, converted to float32 and named; a data set is immutable and has a fingerprint."""

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from slide_gui.data import assemble as assemble_module
from slide_gui.data.assemble import assemble
from slide_gui.data.dataset import Dataset, HeldOut
from slide_gui.data.errors import DataError
from slide_gui.data.readers import parts as parts_module
from slide_gui.data.readers.parts import DataPart
from slide_gui.data.reading import AS_GUESSED, ParseOptions, ParseReport
from tests.core.svm_data import StopAfter

PATHS = [Path("folder/mine.npz")]


def image(values, role="train", shape=(2, 3), **more):
    return DataPart(np.asarray(values), None, shape, f"{role} file", role, **more)


def plain(values, role="train", **more):
    return image(values, role, None, **more)


def assembled(*parts, paths=PATHS, reading=AS_GUESSED):
    return assemble(parts, paths, reading)


SCALES = [(1, 1), (2, 16), (16, 16), (17, 255), (255, 255), (256, 1023), (1024, 4095), (4096, 16383), (65535, 65535)]


@pytest.mark.parametrize("dtype", [np.uint16, np.float64, np.float32, np.int64])
@pytest.mark.parametrize(("high", "scale"), SCALES)
def test_that_integer_pixels_are_divided_by_the_smallest_scale_that_bounds_both_sets(dtype, high, scale):
    low = np.array([[0, 1, 0, min(high, 2), 1, 0]], dtype)
    bright = low.copy()
    bright[0, 2] = high
    for train, test, scaled in ((low, bright, None), (bright, low, False)):
        data = assembled(image(train.copy()), image(test.copy(), "test"), reading=ParseOptions(scaled=scaled))
        np.testing.assert_allclose(data.train, train / scale, rtol=1e-7)
        np.testing.assert_allclose(data.test, test / scale, rtol=1e-7)
        np.testing.assert_array_equal(data.scaling, [[0] * 6, [scale] * 6])


@pytest.mark.parametrize(
    "part",
    [
        image([[0.0, 1.0, 2.5, 3.0, 4.0, 5.0]]),
        image([[-0.1, 1.0, 0.2, 0.3, 0.4, 1.1]]),
        image([[True, False] * 3]),
        plain(np.array([[0, 0.25, 0.5, 0.75, 0.875, 1], [0.5] * 6], np.float32)),
    ],
)
def test_that_other_numbers_are_unchanged(part):
    data = assembled(part)
    np.testing.assert_array_equal(data.train, part.rows.astype(np.float32))
    assert not data.opened.scaled


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [
        ([-1.0, 0.0, 0.5, 0.9, 0.0, 0.0], -1, 1),
        ([-1e-9, 1.0, 0.0, 0.0, 0.0, 255.0], -1e-9, 255),
        ([5.0, 1.5, 2.0, 3.0, 4.0, 1000.0], 0, 1000),
        ([0, 1, 2, 3, 4, 65536], 0, 65536),
    ],
)
def test_that_images_below_0_or_above_255_are_scaled_by_one_range_with_a_note(values, low, high):
    data = assembled(image([values]), image([[(low + high) / 2] * 6], "test"))
    np.testing.assert_allclose(data.train[0], (np.array(values) - low) / (high - low), atol=1e-6)
    np.testing.assert_allclose(data.test, 0.5, atol=1e-6)
    np.testing.assert_allclose(data.scaling[:, 0], [low, high - low])
    assert data.opened.guesses[-1].what == f"pixels of {low:g} … {high:g} are scaled to 0 … 1"
    kept = assembled(image([values]), reading=ParseOptions(scaled=False)).train
    np.testing.assert_allclose(kept, [values], rtol=1e-6)


@pytest.mark.parametrize(("most", "remedy"), [(16.5, "give the shape"), (255, "give the shape"), (16, "their maximum")])
def test_that_images_in_no_known_scale_are_reported(most, remedy):
    part = image([[0.5, most, 1.5, 0.0, 0.0, 0.0]], opened=ParseReport(guesses=parts_module.square_guess((2, 3))))
    data = assembled(part)
    assert (data.train.max(), data.scaling) == (np.float32(most), None)
    assert data.opened.guesses[-1].what == f"pixels up to {most:g} are not scaled"
    assert remedy in data.opened.guesses[-1].why


NOT_TINY = st.floats(-(2.0**90), 2.0**90, width=32).map(lambda value: 0.0 if abs(value) < 1e-30 else value)


@given(
    npst.arrays(np.float32, st.tuples(st.integers(2, 6), st.integers(1, 4)), elements=NOT_TINY),
    npst.arrays(np.float32, st.tuples(st.integers(1, 3), st.just(4)), elements=NOT_TINY),
)
def test_that_plain_features_beyond_one_are_scaled_by_their_range_in_the_training_set(rows, others):
    others = others[:, : rows.shape[1]]
    before = rows.astype(np.float64)
    low, high = before.min(axis=0), before.max(axis=0)
    varies = high > low
    expected = (others.astype(np.float64) - low)[:, varies] / (high - low)[varies]
    assume(np.max(np.abs(expected), initial=0.0) < np.finfo(np.float32).max)
    data = assembled(plain(rows.copy()), plain(others.copy(), "test"))
    assert data.opened.scaled == bool((rows < 0).any() or (rows > 1).any())
    if not data.opened.scaled:
        np.testing.assert_array_equal(data.train, rows)
        return
    assert (data.train.min(axis=0) == 0).all()
    assert (data.train.max(axis=0) == varies).all()
    np.testing.assert_allclose(data.train[:, varies], ((before - low) / (high - low + ~varies))[:, varies], atol=1e-6)
    np.testing.assert_allclose(data.test[:, varies], expected, rtol=1e-6, atol=1e-6)
    assert data.opened.guesses[0].sure


def test_that_a_constant_feature_becomes_0_and_keeps_its_distances_and_the_user_may_decide_about_scaling():
    data = assembled(plain([[5.0, 0.0], [5.0, 10.0]]), plain([[8.0, -10.0], [7.0, 20.0], [8.0, 20.0]], "test"))
    np.testing.assert_array_equal(data.train, [[0.0, 0.0], [0.0, 1.0]])
    np.testing.assert_array_equal(data.test, [[3.0, -1.0], [2.0, 2.0], [3.0, 2.0]])
    quantiles = assembled(plain(np.eye(3)), plain([[-9.0, 0.0, 0.5]], "test"), reading=ParseOptions(scaled="quantile"))
    for each in (data, quantiles):
        assert each.opened.guesses[-1].what == "most test values of “1” are far beyond the training range"
    counts, fractions = [[0, 1], [200, 5]], [[0.5, 0.25], [0.75, 0.25]]
    np.testing.assert_array_equal(assembled(plain(counts), reading=ParseOptions(scaled=False)).train, counts)
    data = assembled(plain(fractions), reading=ParseOptions(scaled=True))
    np.testing.assert_array_equal(data.train, [[0, 0], [1, 0]])
    assert data.opened.guesses == ()


def test_that_all_numbers_are_checked_before_images_are_scaled(monkeypatch):
    monkeypatch.setattr(assemble_module, "_BLOCK", 6)
    values = np.full((5, 6), 16.0)
    assert assembled(image(values)).train.max() == 1.0
    assert assembled(image(values), image([[0.5] * 6], "test")).train.max() == 16.0
    values[4, 5] = 0.5  # in the last block
    assert assembled(image(values)).train.max() == 16.0
    assert assembled(image(15 * values)).train.max() == np.float32(240 / 255)  # resizing makes fractions


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_that_the_first_number_that_is_not_finite_is_named(monkeypatch, dtype):
    monkeypatch.setattr(assemble_module, "_BLOCK", 12)
    values = np.zeros((7, 6), dtype)
    values[2, 2], values[5, [2, 4]] = np.nan, np.inf
    with pytest.raises(DataError, match=r"test file: row 6, feature 3 is inf"):
        assembled(image(np.zeros((2, 6), dtype)), image(values, "test"))


def test_that_rows_known_to_be_finite_are_not_copied_and_a_test_set_alone_is_for_training():
    rows = np.random.default_rng(0).random((4, 6), np.float32)
    assert assembled(image(rows, finite=True)).train is rows
    data = assembled(image(np.asfortranarray(rows), finite=True))
    assert data.train.flags.c_contiguous
    np.testing.assert_array_equal(data.train, rows)
    data = assembled(image([[0.5] * 6], "test"))
    assert (data.train.shape, data.test.shape, data.test_labels) == ((1, 6), (0, 6), None)
    assert assembled(DataPart(np.ones((1, 6)), np.array([1]), None, "file", "test")).test_labels is not None


def test_that_sets_that_do_not_agree_or_have_different_scales_or_exceed_float32_after_scaling_are_refused():
    for role, word in (("train", "training"), ("test", "test")):
        with pytest.raises(DataError, match=f"are both {word} sets; open only one of them"):
            assembled(image([[0.5] * 6], role), image([[0.5] * 6], role))
    with pytest.raises(DataError, match="has images of 3 × 2, expected images of 2 × 3 as in the training set"):
        assembled(image([[0.5] * 6]), image([[0.5] * 6], "test", (3, 2)))
    with pytest.raises(DataError, match="has 5 features, expected 6 features"):
        assembled(plain([[0.5] * 6]), plain([[0.5] * 5], "test"))
    with pytest.raises(DataError, match=r"test file: has pixels up to 1, but the other set has pixels up to 17;"):
        assembled(image([[0, 17, 9, 0, 0, 0]]), image([[1] * 6], "test"))
    with pytest.raises(DataError, match=r"test file: .*beyond the range of float32 when scaled like the"):
        assembled(plain([[2.0, 1e-34], [0.0, 0.0]]), plain([[1.0, 37587.0]], "test"))


@pytest.mark.parametrize(
    ("paths", "name"),
    [
        (["folder/mine.tar.npz"], "mine"),
        (["folder/.hidden"], ".hidden"),
        (["folder/train.csv", "folder/test.csv"], "folder"),
        (["one/train.csv", "two/test.csv"], "one"),
        (["train.csv", "test.csv"], "train"),
        (["v1.2 digits"], "v1.2 digits"),
    ],
)
def test_that_a_data_set_has_the_name_of_its_file_or_folder(tmp_path, monkeypatch, paths, name):
    monkeypatch.chdir(tmp_path)
    Path("v1.2 digits").mkdir()
    data = assembled(image([[0.5] * 6]), paths=[Path(path) for path in paths])
    assert data.name == name
    assert data.source == "; ".join(paths)
    assert (data.licence, data.citation, data.generated) == ("not stated", "", False)


def test_that_progress_rises_over_both_sets_to_one(monkeypatch):
    listener = StopAfter()
    monkeypatch.setattr(assemble_module, "_BLOCK", 6)
    parts = image(np.zeros((3, 6))), image(np.zeros((1, 6)), "test")
    assemble(parts, PATHS, AS_GUESSED, progress=listener)
    assert listener.fractions == [0.25, 0.5, 0.75, 1.0]


def test_that_tiny_values_become_0_and_a_feature_of_only_these_is_named():
    values = np.array([[0.5, 1e-31, 1e-40], [2e-30, 0.5, 0.0], [1e-45, -1e-39, 3e-39]], np.float32)
    data = assembled(plain(values.copy()), reading=ParseOptions(scaled=False))
    assert data.train.tolist() == [[0.5, 0, 0], [values[1, 0], 0.5, 0], [0, 0, 0]]
    assert [(guess.what, guess.sure) for guess in data.opened.guesses] == [("feature “3” set to 0", False)]
    named = assembled(plain(values[:, 1:].copy(), feature_names=("p", "q")), reading=ParseOptions(scaled=False))
    assert [guess.what for guess in named.opened.guesses] == ["feature “q” set to 0"]


@pytest.mark.parametrize("size", [1e-31, 1e-40, 1e-300])
def test_that_features_that_are_all_tiny_are_scaled(size):
    data = assembled(plain(np.array([[1, 2], [3, 0], [0, 1]]) * size))
    np.testing.assert_allclose(data.train, [[1 / 3, 1], [1, 0], [0, 0.5]], atol=1e-4)
    assert data.opened.scaled


def rows(n, d=6):
    return np.arange(n * d, dtype=np.float32).reshape(n, d)


def test_that_fingerprints_differ_exactly_if_the_data_differ_and_arrays_are_read_only():
    original = Dataset("a", rows(4), rows(2), np.arange(4), np.arange(2), (2, 3))
    others = [
        replace(original, train=rows(4) + 1),
        replace(original, test=rows(3), test_labels=np.arange(3)),
        replace(original, train_labels=np.arange(4)[::-1].copy()),
        replace(original, train_labels=None),
        replace(original, image_shape=(3, 2)),
        replace(original, image_shape=None),
        *(replace(original, groups=np.array(each)) for each in ([0, 1, 2, 2], [2, 2, 1, 0])),
        *(Dataset("a", np.ones((n, d), np.float32), np.ones((0, d), np.float32)) for n, d in ((2, 6), (3, 4), (4, 3))),
    ]
    assert replace(original, name="b", source="elsewhere").fingerprint == original.fingerprint
    assert len({each.fingerprint for each in (original, *others)}) == 1 + len(others)
    assert [each.central_feature for each in (original, *others[4:6])] == [4, 3, 3]
    data = Dataset("a", rows(4), rows(2), np.arange(4), np.arange(2))
    for array in (data.train, data.test, data.train_labels, data.test_labels):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize("labels", [(None, None), (np.arange(4), np.arange(2))])
def test_that_a_fingerprint_is_the_same_in_every_version(labels):
    made = hashlib.sha256(b"None")
    for array in (rows(4), rows(2), *labels):
        made.update(b"none" if array is None else f"{array.dtype.str}{array.shape}".encode() + array.tobytes())
    assert Dataset("a", rows(4), rows(2), *labels).fingerprint == made.hexdigest()


@pytest.mark.parametrize("train", [rows(0), np.ones((4, 0), np.float32)])
def test_that_an_empty_training_set_is_refused(train):
    with pytest.raises(DataError, match=r"the training set .* is empty; give rows and features"):
        Dataset("a", train, train)


@pytest.mark.parametrize(
    "split", [HeldOut(0.9), HeldOut(0.0), HeldOut(seed=2**32 - 1), HeldOut(folds=2, fold=1), HeldOut(folds=5, fold=0)]
)
def test_that_a_split_within_its_bounds_is_accepted(split):
    checked = split.checked()
    assert checked == replace(split, share=0.0 if split.folds else split.share)
    assert checked.checked() == checked


@pytest.mark.parametrize(
    ("split", "sentence"),
    [
        (HeldOut(0.91), "fraction held out is 0.91; give 0 to 0.9"),
        (HeldOut(-0.01), "fraction held out is -0.01"),
        (HeldOut(float("nan")), "fraction held out is nan"),
        (HeldOut(seed=2**32), "seed is 4294967296; give an integer"),
        (HeldOut(seed=-1), "seed is -1"),
        (HeldOut(seed=True), "seed is True"),
        (HeldOut(folds=1), "fold 1 of 1 does not exist; give at least 2"),
        (HeldOut(folds=3, fold=3), "fold 4 of 3 does not exist; give at least 2 folds"),
    ],
)
def test_that_a_split_out_of_its_bounds_is_refused(split, sentence):
    with pytest.raises(ValueError, match=sentence):
        split.checked()


def test_that_rows_of_both_sets_and_repeated_training_rows_are_counted():
    train = np.array([[0, 1], [2, 3], [0, 1], [4, 5], [0, 1]], np.float32)
    test = np.array([[-0.0, 1], [4, 5], [1, 0]], np.float32)
    labels = np.array([0, 1, 0, 1, 0]), np.array([0, 1, 1])
    data = Dataset("d", train, test, *labels)
    assert data.n_repeated == (2, 2)
    assert [check.what for check in data.checks] == [
        "the training set also contains 2 of 3 test rows",
        "2 of 5 training rows are equal to an earlier row",
    ]
    assert [check.sure for check in data.checks] == [False, True]
    assert Dataset("d", train, test, *labels, generated=True).checks == ()
    assert Dataset("d", train, test).checks == ()
    many = np.arange(42, dtype=np.float32).reshape(21, 2)
    for n, sure in ((19, False), (20, True)):  # one of 20 or 21 rows
        few_shared = Dataset("d", train, np.vstack([train[:1], many[:n] + 10]), labels[0], np.zeros(n + 1, np.int64))
        assert [check.sure for check in few_shared.checks] == [sure, True]
    assert Dataset("d", train[1:4], test[2:]).checks == ()


def test_that_a_feature_that_numbers_rows_in_the_order_of_the_classes_is_reported():
    numbers = np.arange(30.0, dtype=np.float32)
    data = Dataset("d", np.column_stack([numbers * 7 % 30, numbers]), np.empty((0, 2), np.float32), numbers // 10)
    assert [(check.what, check.sure) for check in data.checks] == [("feature 2 separates all classes", False)]
    assert replace(data, train=data.train[1:29], train_labels=data.train_labels[1:29]).checks == ()
    overlapping = np.where(numbers < 20, numbers, numbers - 5)
    assert replace(data, train=np.column_stack([data.train[:, 0], overlapping])).checks == ()


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("test.csv", "test"), ("convex_TEST.amat", "test"), ("t10k-images-idx3-ubyte.gz", "test"),
        ("testing_1.npy", "test"), ("train.csv", "train"), ("latest.csv", "train"), ("contest-data.npz", "train"),
        ("", "train"), ("sat.tst", "test"), ("optdigits.tes", "test"), ("TestData.csv", "test"), ("test1.csv", "test"),
        ("testset.csv", "test"), ("KDDTest+.txt", "test"), ("set10k.csv", "train"), ("greatestData.csv", "train"),
    ],
)  # fmt: skip
def test_that_a_test_set_is_recognised_by_a_word_of_its_name(name, role):
    assert parts_module.role_of(name) == role


def test_that_labels_are_integers_of_any_type_and_the_first_other_one_is_named():
    for values in (np.array([3, -2], np.int8), np.array([3.0, -2.0]), np.array([3, -2], np.float32)):
        labels = parts_module.integer_labels(values, "here")
        assert (labels.dtype, labels.tolist()) == (np.int64, [3, -2])
    assert parts_module.integer_labels(np.array([True, False]), "here").tolist() == [1, 0]
    assert parts_module.integer_labels(np.array([2.0**31 - 1, 1 - 2.0**31]), "here").tolist() == [2**31 - 1, 1 - 2**31]
    for wrong in (0.5, np.nan, np.inf, 2.0**31, -(2.0**31)):
        with pytest.raises(DataError, match="label of row 3 is"):
            parts_module.integer_labels(np.array([0.0, 1.0, wrong, wrong]), "here")
    with pytest.raises(DataError, match="labels are complex128, expected integers"):
        parts_module.integer_labels(np.array([1j]), "here")


RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("is_quantity", "numbers"),
    [
        (False, np.repeat(np.arange(40), 10)),  # Olivetti faces
        (False, np.repeat(np.arange(40), 3)),
        (False, np.repeat([65, 70, *range(97, 130)], 4)),  # character codes of letters
        (False, np.repeat(np.arange(1, 103), np.arange(40, 142))),  # numbered from 1, with unequal sizes
        (False, np.repeat(np.arange(10), 2)),
        (False, np.array([0.5, 1.5])),
        (False, np.append(np.repeat(np.arange(10), 9), [2.5, 7.5])),  # with two mistakes
        (True, np.rint(RANDOM.gamma(3, 50, 442))),
        (True, np.rint(RANDOM.normal(45, 12, 20_000))),  # ages: most values occur in many rows
        (True, RANDOM.random(500)),
        (True, np.round(RANDOM.random(5_000), 2)),
        (True, RANDOM.permutation(500)),
        (True, np.rint(RANDOM.normal(50, 20, 30))),
        (True, np.repeat(np.arange(40), 20) / 4),
        ("not of images", RANDOM.integers(1, 48, 188)),  # a few rows of EMNIST
        (True, np.repeat(np.arange(15) / 10, [9, 3, *[9] * 13])),  # few numbers, of which one fraction is rare
    ],
)
def test_that_many_measured_numbers_look_like_a_quantity_and_class_numbers_do_not(is_quantity, numbers):
    numbers = np.random.default_rng(0).permutation(numbers)
    assert parts_module.looks_like_quantity(numbers) == bool(is_quantity)
    assert parts_module.looks_like_quantity(numbers, images=True) == (is_quantity is True)


def test_that_a_few_fractions_are_class_names_if_each_has_five_rows():
    rows, labels = np.zeros((15, 6)), np.repeat([0.5, 1.0, 10.5], 5)
    parts = [DataPart(rows, labels, None, "train file", "train")]
    data = assembled(*parts, DataPart(rows[:2], np.array([10.5, 0.5]), None, "test file", "test"))
    assert [data.label_names[code] for code in data.train_labels[::5]] == ["0.5", "1", "10.5"]
    assert [data.label_names[code] for code in data.test_labels] == ["10.5", "0.5"]
    single = assembled(DataPart(rows, labels.astype(np.float32) / np.float32(10), None, "train file", "train"))
    assert single.label_names == ("0.05", "0.1", "1.05")
    labels[0] = 2.5
    with pytest.raises(DataError, match=r"the label of row 1 is 2\.5, expected an integer"):
        assembled(*parts)
    assert assembled(*parts, reading=ParseOptions(bins=0)).label_names == ("0.5", "1", "10.5", "2.5")


def test_that_ranges_have_equally_many_values_and_are_named_by_limits_and_at_most_10_000_texts_are_classes():
    limits, names = parts_module.quantile_ranges(np.arange(1, 301), 3, "here")
    assert limits.tolist() == [100, 200]
    assert names == ("up to 100", "above 100 to 200", "above 200")
    for tied, wanted in (([0] * 80 + [*range(1, 21)], [0, 10]), ([*range(1, 21)] + [99] * 80, [10, 20])):
        assert parts_module.quantile_ranges(np.array(tied), 3, "here")[0].tolist() == wanted
    assert parts_module.quantile_ranges(np.array([0, 0, 5, 7]), 3, "here")[1] == ("up to 0", "above 0 to 5", "above 5")
    with pytest.raises(DataError, match="here: has fewer than 3 different labels; choose a smaller number"):
        parts_module.quantile_ranges(np.array([0, 0, 0, 0, 1]), 3, "here")
    texts = [f"class {k:05}" for k in range(10_001)]
    labels, names = parts_module.named_labels(texts[:-1], "here")
    assert (labels[-1], len(names)) == (9_999, 10_000)
    with pytest.raises(DataError, match="here: has more than 10000 different class names"):
        parts_module.named_labels(texts, "here")
