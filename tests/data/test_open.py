"""Files of every format become one data set; rows of .amat files equal ``float`` of their text; text keeps letters."""

import gzip
import io
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from slide_gui.data.errors import DataError
from slide_gui.data.open import open_data
from slide_gui.data.readers import encoding, tables
from slide_gui.data.readers.tables import decode, read_amat, read_table
from slide_gui.data.reading import AS_GUESSED, ParseOptions
from slide_gui.progress import Cancelled
from tests.core.svm_data import StopAfter
from tests.data.writers import amat_text, is_sure, mat_bytes, npy, npz_bytes, write, write_amat, write_idx


def mnist_like(folder, n=6, suffix=""):
    random = np.random.default_rng(0)
    return [
        write_idx(folder / f"{part}-{kind}-ubyte{suffix}", array)
        for part, count in (("train", n), ("t10k", n // 2))
        for kind, array in (
            ("images-idx3", random.integers(0, 256, (count, 28, 28), np.uint8)),
            ("labels-idx1", np.arange(count, dtype=np.uint8)),
        )
    ]


def open_npz(folder, reading=AS_GUESSED, **arrays):
    return open_data([write(folder / "x.npz", npz_bytes(**arrays))], reading)


def open_pair(folder, train, test, reading=AS_GUESSED):
    """Open a training table and a test table."""
    return open_data([write(folder / "x_test.csv", test), write(folder / "x_train.csv", train)], reading)


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_that_the_four_idx_files_make_one_data_set_next_to_hidden_files_and_unpacked_copies(tmp_path, suffix):
    data = open_data(mnist_like(tmp_path, suffix=suffix)[::-1])
    assert (data.train.shape, data.test.shape, data.image_shape) == ((6, 784), (3, 784), (28, 28))
    assert data.train.max() <= 1 < 255 * data.train.max()
    mnist_like(tmp_path)  # torchvision unpacks files in their folder
    write(tmp_path / "._train.csv", "0,1\n")
    assert data.fingerprint == open_data([tmp_path]).fingerprint


def test_that_some_of_the_idx_files_are_enough(tmp_path):
    images, labels, test_images, test_labels = mnist_like(tmp_path)
    alone = open_data([images])
    assert alone.test.shape == (0, 784)
    assert alone.opened.labels_file == str(labels)
    assert "train-labels-idx1-ubyte is in the same folder" in alone.why_no_classes
    assert open_data([images, labels]).train_labels is not None
    assert open_data([test_images, test_labels]).train.shape == (3, 784)
    known = open_data([write_idx(test_images, np.full((10_000, 28, 28), 33, np.uint8))])
    assert (known.key, is_sure(known)) == ("mnist", False)  # the labels in the same folder are offered
    one_channel = write_idx(tmp_path / "train-f", np.arange(128, dtype=np.uint8).reshape(2, 8, 8, 1))
    assert open_data([one_channel]).image_shape == (8, 8)
    emnist = images.rename(tmp_path / "emnist-letters-train-images-idx3-ubyte")
    assert [is_sure(open_data([emnist], ParseOptions(transposed=turn))) for turn in (False, True)] == [False, True]


def test_that_training_and_test_files_are_combined(tmp_path):
    train, test = (write_amat(tmp_path / f"x_{part}.amat", np.eye(16), np.arange(16)) for part in ("train", "test"))
    data = open_data([test, train])
    assert data.test.shape == data.train.shape == (16, 16)
    assert data.image_shape == (4, 4)
    (tmp_path / "50k").mkdir()
    test.rename(tmp_path / "50k" / test.name)  # as in convex.zip
    write(tmp_path / "50k" / "other_test.amat", "1 2\n3 4\n")
    assert open_data([tmp_path]).fingerprint == data.fingerprint
    assert open_npz(tmp_path, data=np.ones((2, 9)), images=np.ones((2, 3, 3))).train.shape == (2, 9)
    arrays = {"y_test": list("ba"), "X_test": np.eye(2), "y_train": list("abc"), "X_train": np.eye(3, 2), "z": [1]}
    files = [write(tmp_path / f"{name}.npy", npy(array)) for name, array in arrays.items()]
    assert (open_data(files).train.shape, [*open_data(files).test_labels]) == ((3, 2), [1, 0])
    other = write(tmp_path / "50k" / "X_test.npy", npy(np.eye(2)))
    with pytest.raises(DataError, match="y_train: has type"):  # the arrays are those of two data sets
        open_data([*files, other])
    table = write(tmp_path / "test.csv", "1,2,3,4,0\n5,6,7,8,1\n")
    with pytest.raises(DataError, match="4 features, expected images of 4 × 4"):
        open_data([train, table])


def test_that_an_open_can_be_cancelled_at_every_stage(tmp_path):
    paths = mnist_like(tmp_path)
    complete = StopAfter()
    open_data(paths, progress=complete)
    assert complete.fractions == sorted(complete.fractions)
    for calls in range(1, len(complete.fractions) + 1):
        with pytest.raises(Cancelled):
            open_data(paths, progress=StopAfter(calls))


def test_that_the_shape_of_images_is_guessed_unless_it_is_given(tmp_path):
    x = np.random.default_rng(0).random((3, 64))
    guessed = open_npz(tmp_path, X=x)
    assert guessed.image_shape == (8, 8)
    assert [guess.what for guess in guessed.opened.guesses] == ["images of 8 × 8 pixels"]
    assert not is_sure(guessed)
    by_columns = open_npz(tmp_path, X=np.ones((64, 65))).opened.guesses[0]
    assert by_columns.why == "if its 65 columns are the samples instead, save the transposed array"
    wide = open_npz(tmp_path, ParseOptions(shape=(4, 16)), X=x)
    assert wide.image_shape == (4, 16)
    assert is_sure(wide)
    assert np.array_equal(wide.train, guessed.train)
    assert open_npz(tmp_path, ParseOptions(shape=()), X=x).image_shape is None
    assert open_npz(tmp_path, ParseOptions(shape=(1, 1)), X=x[:, :1]).image_shape == (1, 1)


def test_that_images_stored_by_columns_are_transposed(tmp_path):
    images = np.random.default_rng(0).random((3, 4, 6)).astype(np.float32)
    stored = images.swapaxes(1, 2)
    for rows, reading in (
        (stored, ParseOptions(transposed=True)),
        (stored, ParseOptions(shape=(4, 6), transposed=True)),
        (stored.reshape(3, 24), ParseOptions(shape=(4, 6), transposed=True)),
    ):
        data = open_npz(tmp_path, reading, X=rows)
        assert data.image_shape == (4, 6)
        assert np.array_equal(data.train.reshape(3, 4, 6), images)
    with pytest.raises(DataError, match="24 features that are not pixels"):
        open_npz(tmp_path, ParseOptions(transposed=True), X=stored.reshape(3, 24))


@pytest.mark.parametrize(
    ("train", "test", "names", "train_labels", "test_labels"),
    [
        ("abc", "dbc", ("a", "b", "c", "d"), [0, 1, 2], [3, 1, 2]),
        (("a", "b", "b."), ("b.", "a.", "b"), ("a", "b", "b."), [0, 1, 2], [2, 0, 1]),  # points, as in adult.test
        ("ab", "bA", ("a", "b", "A"), [0, 1], [1, 2]),
        (("TRUE", "true", "False"), ("True", "FALSE"), ("False", "TRUE"), [1, 1, 0], [1, 0]),
        (("01", "1", "01"), "21", ("01", "1", "2"), [0, 1, 0], [2, 1]),
        (("01", "1.5") * 5, ("1.5", "1"), ("1", "1.5"), [0, 1] * 5, [1, 0]),  # numbers, as not all are integers
    ],
)
def test_that_two_tables_share_the_numbers_of_their_classes(tmp_path, train, test, names, train_labels, test_labels):
    data = open_pair(tmp_path, *("p,q,label\n" + "".join(f"1,2,{kind}\n" for kind in kinds) for kinds in (train, test)))
    assert data.label_names == names
    assert data.train_labels.tolist() == train_labels
    assert data.test_labels.tolist() == test_labels
    assert any("letter case" in guess.what for guess in data.checks) == ("01" in names or "A" in names)


def test_that_test_rows_without_labels_are_read_and_those_without_separators_have_the_trained_label_column(tmp_path):
    data = open_npz(tmp_path, X_train=np.eye(5), y_train=list("abaca"), X_test=np.ones((2, 5)))
    assert data.label_names == ("a", "b", "c")
    assert data.train_labels.tolist() == [0, 1, 0, 2, 0]
    assert data.test_labels is None
    for name, last_pixel in (("digits.train", np.zeros(30)), ("digits.test", CLASSES_3[::-1])):
        np.savetxt(tmp_path / name, np.column_stack([CLASSES_3, PIXELS_64[:, 1:], last_pixel]))
    data = open_data([tmp_path / "digits.train", tmp_path / "digits.test"])
    assert np.array_equal(data.test_labels, CLASSES_3)


TRAIN = "a,b,class\n.1,.2,0\n.3,.4,1\n.5,.6,0\n"


@pytest.mark.parametrize(
    ("train", "test", "reading", "rows", "labels"),
    [
        ("a,b,kind\n.1,.2,0\n.3,.4,1\n", "kind,b,a\n1,0,.5\n1,1,.25\n", AS_GUESSED, [[0.5, 0], [0.25, 1]], [1, 1]),
        (TRAIN, "b,a,class\n.75,.5,1\n1,.25,0\n", AS_GUESSED, [[0.5, 0.75], [0.25, 1]], [1, 0]),
        ("id,a,kind\n7,.1,0\n7,.3,1\n", "kind,a,B\n1,.5,2\n", ParseOptions(left_out=("1", "b")), [[0.5]], [1]),
        ("a,b,species\n.1,.2,p\n.3,.4,q\n", "class,b,a\nq,0,.5\n", AS_GUESSED, [[0.5, 0.0]], [1]),
        (TRAIN, "b,a\n1,.5\n0,.25\n", AS_GUESSED, [[0.5, 1], [0.25, 0]], None),
        (TRAIN, ",a,b,class\n" + "".join(f"{k},.5,1,0\n" for k in range(10)), AS_GUESSED, [[0.5, 1]] * 10, [0] * 10),
        (".1,.2,0\n.3,.4,1\n", ".5,1\n.25,0\n", AS_GUESSED, [[0.5, 1], [0.25, 0]], None),
        ("7,p,1,2\n8,q,3,4\n9,p,5,6\n", "7,1,2\n", ParseOptions(left_out=("1", "3")), [[0.0]], None),
        (".1,.5\n.3,.6\n", ".5,1\n.25,0\n", AS_GUESSED, [[0.5, 1], [0.25, 0]], None),
        ("a,b\n.1,.5\n.3,.6\n", "a,b\n.5,1\n.25,0\n", AS_GUESSED, [[0.5, 1], [0.25, 0]], None),
    ],
)
def test_that_a_test_table_follows_the_columns_of_the_training_table(tmp_path, train, test, reading, rows, labels):
    data = open_pair(tmp_path, train, test, reading)
    assert data.test.tolist() == rows
    assert (None if data.test_labels is None else data.test_labels.tolist()) == labels
    assert not any("position" in guess.what for guess in data.opened.guesses)


@pytest.mark.parametrize(
    ("train", "test", "sentence"),
    [
        (TRAIN, "a,b,c,d,class\n.7,.8,1,1,1\n", r"x_test\.csv: has the additional columns “c”, “d”, compared with"),
        (TRAIN, "a,class\n.7,1\n", "lacks column “b”, .*x_train.csv; give both .* names, or leave out the others$"),
        ("k,a,b\n0,.1,p\n", "a,b\n.1,p\n", "lacks column “k”, .*; give .*, leave .* alone and choose .*, such as “k”"),
        (TRAIN, "A,b,class\n.7,.8,1\n", "lacks column “a” and has the additional column “A”"),
        (TRAIN, "a,b,class\n.7,.8,p\n", r"x_test\.csv: its classes must be written as in the training set"),
        (TRAIN, "a,b,class\n.7,True,1\n.7,low,1\n", r"x_test\.csv: line 3, column 2: found 'low', expected a finite"),
    ],
)
def test_that_a_test_table_that_does_not_fit_is_refused(tmp_path, train, test, sentence):
    with pytest.raises(DataError, match=sentence):
        open_pair(tmp_path, train, test)


def test_that_sample_predictions_and_validation_rows_are_left_out_next_to_a_training_set(tmp_path):
    both = [write(tmp_path / "train.csv", TRAIN), write(tmp_path / "test.csv", "a,b\n.7,.8\n")]
    plain, reading = open_data(both), ParseOptions(label_column="class")
    sample = write(tmp_path / "sample_submission.csv", "id,class\n9,1\n")
    validation = write(tmp_path / "val.csv", TRAIN)
    for data in (open_data([tmp_path]), open_data([*both, sample, validation]), open_data([tmp_path], reading)):
        assert data.fingerprint == plain.fingerprint
        (guess,) = (each for each in data.opened.guesses if "left out" in each.what)
        assert (guess.what, guess.sure) == ("sample_submission.csv, val.csv left out", False)
    assert open_data([sample]).train.shape == (1, 1)
    with pytest.raises(DataError, match=r"test\.csv: lacks column “id” .* the training set .*sample_submission\.csv"):
        open_data([sample, both[1]])


def test_that_tables_without_names_are_matched_by_position(tmp_path):
    rows = TRAIN.partition("\n")[2]
    both = open_pair(tmp_path, rows, rows)
    assert both.test.tolist() == both.train.tolist()
    one = open_pair(tmp_path, TRAIN, rows)
    assert one.test.tolist() == one.train.tolist()
    (guess,) = (each for each in one.opened.guesses if "matched by position" in each.what)
    assert not guess.sure
    assert guess.why.endswith("x_test.csv has no column names")
    assert not any("position" in each.what for each in both.opened.guesses)
    numbered = open_pair(tmp_path, "0,1,label\n.1,.2,0\n.3,.4,1\n", "0,1\n.5,.6\n")
    assert numbered.test.tolist() == np.array([[0.5, 0.6]], np.float32).tolist()


def test_that_a_test_set_of_other_classes_is_refused_and_some_others_are_a_warning(tmp_path):
    train = "a,b,class\n.1,.2,p\n.3,.4,q\n"
    with pytest.raises(DataError, match=r"x_test\.csv: none of its classes \(“P”, “Q”\) occurs in .*“p”, “q”; write"):
        open_pair(tmp_path, train, train.replace("p", "P").replace("q", "Q"))
    data = open_pair(tmp_path, train, train + ".1,.1,r\n.2,.1,r\n.3,.1,other\n")
    (guess,) = data.opened.guesses
    assert guess.what == "the training set lacks the classes of 3 test rows (of 5)"
    assert guess.why == "other: 1 row, r: 2 rows; a classifier misclassifies all of them"
    assert not is_sure(data)
    data = open_npz(tmp_path, X_train=np.eye(4), y_train=[0, 1, 0, 1], X_test=np.eye(9, 4), y_test=[1, *range(1, 9)])
    (guess,) = (each for each in data.opened.guesses if "lacks" in each.what)
    assert guess.what.endswith("the classes of 7 test rows (of 9)")
    assert guess.why.startswith(", ".join(f"{label}: 1 row" for label in range(2, 8)) + ", …; a classifier")


@pytest.mark.parametrize(
    ("labels", "what"),
    [("aabbc", "class “c”"), ("aabbccxy", "each of the classes “x”, “y”"), ("abc", ""), ("aab", ""), ("aabb", "")],
)
def test_that_a_class_of_one_row_is_reported_unless_half_of_the_classes_are(tmp_path, labels, what):
    data = open_npz(tmp_path, X=np.eye(len(labels)), y=list(labels))
    assert [guess.what for guess in data.opened.guesses] == [f"only one training row in {what}"] * bool(what)


def write_rows(folder, kind, values, labels):
    """Write rows with numeric labels in a format."""
    path = folder / f"x.{kind}"
    if kind == "npz":
        return write(path, npz_bytes(X=values, y=labels))
    if kind == "mat":
        return write(path, mat_bytes(X=values, y=labels))
    heads = {"csv": "BMI,b,c,target\n", "tsv": "PAR1\tb\tc\ttarget\n"}  # BM begins bitmaps, and PAR1 Parquet files
    mark, head = {"csv": ",", "tsv": "\t", "amat": " "}[kind], heads.get(kind, "")
    rows = zip(values.tolist(), labels.tolist(), strict=True)
    return write(path, head + "".join(mark.join(map(repr, [*row, label])) + "\n" for row, label in rows))


@pytest.mark.parametrize("kind", ["csv", "amat", "npz", "mat"])
def test_that_a_quantity_gives_no_classes_until_it_is_cut_into_ranges(tmp_path, kind):
    quantity = np.rint(np.random.default_rng(0).gamma(3, 50, 200)) / 2
    path = write_rows(tmp_path, kind, np.random.default_rng(1).random((200, 3)), quantity)
    data = open_data([path])
    assert data.train_labels is None
    assert data.n_features == 3
    assert not is_sure(data)
    subject = "The column “target”" if kind == "csv" else "The label"
    sentence = f"{subject} has {len(np.unique(quantity))} different numbers. It looks like a quantity.*--bins 3"
    with pytest.raises(DataError, match=sentence):
        data.check_classes()
    cut = open_data([path], ParseOptions(bins=3))
    counts, ranked = np.bincount(cut.train_labels), np.sort(quantity)
    assert counts.max() - counts.min() <= 4
    assert cut.label_names[1] == f"above {ranked[66]:g} to {ranked[133]:g}"
    assert quantity[cut.train_labels == 0].max() == ranked[66]


def test_that_ranges_are_those_of_the_training_set_and_0_makes_each_number_a_class(tmp_path):
    train = write(tmp_path / "a_train.npz", npz_bytes(X=np.eye(300, 5), y=np.arange(300) * 3))
    test = write(tmp_path / "a_test.npz", npz_bytes(X=np.eye(4, 5), y=[-50, 297, 298, 5000]))
    assert open_data([train, test], ParseOptions(bins=3)).test_labels.tolist() == [0, 0, 1, 2]
    each = open_data([train, test], ParseOptions(bins=0))
    assert (len(np.unique(each.train_labels)), each.why_no_classes) == (300, "")
    assert open_data([train, write(test, npz_bytes(X=np.eye(4, 5)))], ParseOptions(bins=3)).test_labels is None
    with pytest.raises(DataError, match=r"a_test\.npz.*: the label of row 2 is missing \(nan\); fill it in"):
        open_data([train, write(test, npz_bytes(X=np.eye(4, 5), y=[0, np.nan, 1, 2]))], ParseOptions(bins=3))


@pytest.mark.parametrize("kind", ["csv", "tsv", "amat", "npz", "mat"])
def test_that_time_stamps_keep_their_seconds_in_every_format(tmp_path, kind):
    values = np.array([[1.7e9, 0.5, 3], [1.7e9 + 5, 0.25, 4], [1.7e9, 0.75, 5], [1.7e9 + 10, 0.1, 6]])
    data = open_data([write_rows(tmp_path, kind, values, np.array([0, 1, 0, 1]))])
    assert data.train[:, 0].tolist() == [0, 0.5, 0, 1]


def numbers_of(text):
    table = read_table(io.BytesIO(text.encode()), len(text), "here")
    return np.column_stack([table.rows, table.column]).astype(np.float64)


PIXELS_64, CLASSES_3 = np.random.default_rng(0).random((30, 64)), np.arange(30) % 3


def test_that_zeros_and_ones_are_read_correctly(tmp_path):
    random = np.random.default_rng(0)
    rows, labels = random.integers(0, 2, (300, 784)), random.integers(0, 2, 300)
    path = write_amat(tmp_path / "a_train.amat", rows, labels)
    part = read_amat(path)
    assert part.rows.dtype == np.float32
    assert np.array_equal(part.rows, rows)
    assert np.array_equal(part.labels, labels)
    assert (part.image_shape, part.role, is_sure(part)) == ((28, 28), "train", True)
    assert not is_sure(open_data([path.rename(tmp_path / "a.txt")]))  # the label may be in another column


@pytest.mark.parametrize(
    ("name", "columns", "shape", "n_classes", "note"),
    [
        ("x.amat", [PIXELS_64], (8, 8), 0, "no labels: its 64 columns were read as an image without labels"),
        ("zip.train", [CLASSES_3, PIXELS_64], (8, 8), 3, "labels in column 1: it has integers, and the others form"),
        ("iris.txt", [PIXELS_64[:, :4], CLASSES_3], None, 3, "labels in column 5: it is the last one and has integers"),
    ],
)
def test_that_the_last_of_the_numbers_may_be_no_label(tmp_path, name, columns, shape, n_classes, note):
    np.savetxt(tmp_path / name, np.column_stack(columns))
    data = open_data([tmp_path / name])
    assert (data.image_shape, data.n_classes) == (shape, n_classes)
    assert data.n_features == sum(each.size // 30 for each in columns) - bool(n_classes)
    (guess,) = (each for each in data.opened.guesses if "labels" in each.what)
    assert f"{guess.what}: {guess.why}".startswith(note)
    assert n_classes or "choose a label column" in data.why_no_classes


@settings(max_examples=40)
@given(
    hnp.arrays(
        np.float32,
        st.tuples(st.integers(1, 6), st.integers(2, 9)),
        elements=st.floats(width=32, allow_nan=False, allow_infinity=False),
    ),
    st.sampled_from(["%16.7e", " %.9g", "%25.16e", "%.9e "]),
)
def test_that_written_numbers_are_read_back(values, style):
    text = "".join(" ".join(style % value for value in row) + "\n" for row in values)
    expected = np.array([[float(cell) for cell in line.split()] for line in text.splitlines()])
    with np.errstate(over="ignore"):
        fits = np.isfinite(expected.astype(np.float32)).all()
    if fits:
        assert numbers_of(text).tobytes() == expected.tobytes()
    else:  # eight digits may round beyond float32
        with pytest.raises(DataError):
            numbers_of(text)


def test_that_decoded_numbers_have_the_last_bit_of_float_at_every_power_of_ten():
    digits = ("1.5433721", "5.6347005", "-1.2345678", "0.0000000", "-0.0000000")
    cells = [f"{each}e{k:+03d}".rjust(16) for each in digits for k in range(-45, 38)]
    line = np.frombuffer(("".join(cells) + "\n").encode(), np.uint8).reshape(1, -1)
    expected = np.array([[float(cell) for cell in cells]])
    assert decode(line, len(cells)).tobytes() == expected.tobytes()
    assert numbers_of("".join(cells) + "\n").tobytes() == expected.tobytes()


@pytest.mark.parametrize("style", ["%16.7e", " %.7e"])
def test_that_numbers_that_round_to_infinity_in_float32_are_refused(style):
    line = "".join(style % value for value in (0.5, 3.4028235e38, -3.4028235e38, 1)) + "\n"
    greatest = np.finfo(np.float32).max
    assert numbers_of(line)[0, :3].astype(np.float32).tolist() == [0.5, greatest, -greatest]
    for beyond in (line.replace(" 3.4028235", " 3.4028236"), line.replace("-3.4028235", "-3.4028236")):
        with pytest.raises(DataError, match=r"found '-?3\.4028236e\+38', expected a finite number"):
            numbers_of(beyond)


def test_that_only_the_benchmark_layout_is_decoded_in_blocks_and_a_blank_does_not_end_a_row():
    good = b"".join(b"%16.7e" % v for v in (0.5, -1.25, 3e-9)) + b"\n"
    assert decode(np.frombuffer(good, np.uint8).reshape(1, -1), 3).tolist() == [[0.5, -1.25, 3e-9]]
    for at in range(len(good)):
        for byte in b"x1 +,-.e\n":
            changed = bytearray(good)
            changed[at] = byte
            found = decode(np.frombuffer(bytes(changed), np.uint8).reshape(1, -1), 3)
            if found is not None:  # then it equals the result of float()
                assert changed[-1:] == b"\n"
                assert [float(changed[16 * k : 16 * k + 16]) for k in range(3)] == found[0].tolist()
    lines = amat_text(np.full((4, 16), 0.5), np.ones(4)).splitlines(keepends=True)
    with pytest.raises(DataError, match="line 2 has 34 numbers, expected 17"):
        numbers_of(lines[0] + lines[1].replace("\n", " ") + lines[2] + lines[3])


def test_that_rows_of_both_layouts_mix_across_blocks(monkeypatch):
    monkeypatch.setattr(tables, "_BLOCK", 700)
    values = np.round(np.random.default_rng(2).random((90, 10)), 6)
    lines = amat_text(values[:, :9], values[:, 9]).splitlines(keepends=True)
    lines[40:50] = [" ".join(f"{v:.6f}" for v in row) + "\r\n" for row in values[40:50]]
    lines[60] = "\n" + lines[60]
    assert np.array_equal(numbers_of("# a comment\n" + "".join(lines).rstrip("\n")), values)


def test_that_comments_and_blank_lines_are_counted_and_the_first_line_that_is_not_utf_8_is_named(tmp_path):
    part = read_amat(write(tmp_path / "x.amat", "# a\n\n# b\n0.1 0.2 1\n\n0.3 0.4 0\n"))
    assert part.rows.shape == (2, 2)
    assert [guess.what for guess in part.opened.guesses] == ["2 comment lines and 2 blank lines skipped"]
    data = open_data([write(tmp_path / "x.csv", b"a,b,class\n.1,.2,x\n\n.3,.4,\xe9t\xe9\n.5,.6,x\n")])
    (guess,) = (each for each in data.opened.guesses if not each.sure)
    assert guess.why.startswith("line 4 is not UTF-8")


def test_that_reading_can_be_cancelled_and_takes_little_more_memory_than_the_numbers(tmp_path):
    rows = np.random.default_rng(0).integers(0, 2, (2000, 99)).astype(float)
    path = write_amat(tmp_path / "a.amat", rows, np.arange(2000))  # 3.2 MB of text, 0.8 MB of numbers
    tracemalloc.start()
    read_amat(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3e6
    with pytest.raises(Cancelled):
        read_amat(path, progress=StopAfter(3))


NAMES = ["Tär", "Tör", "Tür", "T~r"]
TABLE = "Länge,Höhe,class\n" + "".join(f"0.{k},0.{9 - k},{NAMES[k % 4]}\n" for k in range(8))


@pytest.mark.parametrize("coding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252", "latin-1"])
@pytest.mark.parametrize("block", [1, 5, 1 << 20])
def test_that_names_keep_their_letters_in_every_encoding(tmp_path, coding, block, monkeypatch):
    monkeypatch.setattr(encoding, "_BLOCK", block)
    mark = "\ufeff" if coding in ("utf-16-le", "utf-16-be") and block > 1 else ""
    data = open_data([write(tmp_path / "x.csv.gz", gzip.compress((mark + TABLE).encode(coding)))])
    assert [data.label_names[label] for label in data.train_labels] == NAMES * 2
    assert data.feature_names == ("Länge", "Höhe")
    guesses = [(guess.what, guess.why) for guess in data.opened.guesses if "Windows" in guess.what]
    why = "line 1 is not UTF-8; if letters are wrong, save the file as UTF-8"
    assert guesses == ([("text read as Windows-1252", why)] if coding in ("cp1252", "latin-1") else [])
    assert is_sure(data) == (not guesses)


@pytest.mark.parametrize("coding", ["utf-8-sig", "utf-16"])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.amat", "0.25 0.5 1\n0.75 1 0\n"),
        ("x.amat", "0.25,0.5,1\n0.75,1,0\n"),
        ("x.csv", "0.25,0.5,1\n0.75,1,0\n"),
        ("x.csv", "label,a,b\n1,.25,.5\n0,.75,1\n"),
    ],
)
def test_that_a_byte_order_mark_is_not_part_of_the_first_cell(tmp_path, name, text, coding):
    for start in ("", "\ufeff"):  # a second mark
        data = open_data([write(tmp_path / name, (start + text).encode(coding))])
        assert data.train.tolist() == [[0.25, 0.5], [0.75, 1.0]]
        assert data.train_labels.tolist() == [1, 0]
