from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from scipy.io import savemat

from slide_gui.data import limits
from slide_gui.data.errors import DataError
from slide_gui.data.open import open_data
from slide_gui.data.reading import ParseOptions
from slide_gui.progress import Cancelled
from tests.data.writers import CancelAfter, amat_text, write_amat, write_idx, write_zip

REAL = os.environ.get("SLIDE_GUI_DATA")


def mnist_like(folder: Path, n: int = 6, suffix: str = "") -> list[Path]:
    random = np.random.default_rng(0)
    return [
        write_idx(folder / f"{part}-{what}-ubyte{suffix}", array)
        for part, count in (("train", n), ("t10k", n // 2))
        for what, array in (
            ("images-idx3", random.integers(0, 256, (count, 28, 28), np.uint8)),
            ("labels-idx1", np.arange(count, dtype=np.uint8)),
        )
    ]


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_that_the_four_idx_files_make_one_data_set_in_any_order(tmp_path: Path, suffix: str) -> None:
    paths = mnist_like(tmp_path, suffix=suffix)
    data = open_data(paths[::-1])
    assert data.train.shape == (6, 784)
    assert data.test.shape == (3, 784)
    assert data.image_shape == (28, 28)
    assert data.train.max() <= 1 < 255 * data.train.max()
    assert not data.generated
    assert data.fingerprint == open_data([tmp_path]).fingerprint


def test_that_part_of_the_idx_files_suffices(tmp_path: Path) -> None:
    images, labels, test_images, test_labels = mnist_like(tmp_path)
    alone = open_data([images])
    assert alone.train_labels is None
    assert alone.test.shape == (0, 784)
    assert open_data([images, labels]).train_labels is not None
    assert open_data([test_images, test_labels]).train.shape == (3, 784)
    with pytest.raises(DataError, match="labels without images"):
        open_data([labels])
    with pytest.raises(DataError, match="3 labels"):
        open_data([images, test_labels.rename(tmp_path / "train-other-ubyte")])


def test_that_whole_numbers_of_images_are_scaled_and_plain_features_are_not(tmp_path: Path) -> None:
    grey = np.array([[0, 51, 255, 102]] * 2).repeat(16, axis=1)
    np.savez(tmp_path / "a.npz", X_train=grey.astype(np.uint8), X_test=np.zeros((1, 64), np.uint8))
    assert np.allclose(open_data([tmp_path / "a.npz"]).train[0, ::16], [0, 0.2, 1, 0.4])
    np.savez(tmp_path / "b.npz", X=grey / 255 * 3 - 1)
    assert np.allclose(open_data([tmp_path / "b.npz"]).train, grey / 255 * 3 - 1)
    np.savez(tmp_path / "c.npz", X=grey[:, :5], y=[0, 1])
    assert np.array_equal(open_data([tmp_path / "c.npz"]).train, grey[:, :5])
    np.savez(tmp_path / "d.npz", X=grey // 17)
    assert open_data([tmp_path / "d.npz"]).train.max() == np.float32(15 / 16)
    np.savez(tmp_path / "e.npz", X=grey > 0)
    assert open_data([tmp_path / "e.npz"]).train.max() == 1


def test_that_training_and_test_text_files_are_combined(tmp_path: Path) -> None:
    eye = np.eye(16)
    paths = [write_amat(tmp_path / f"x_{part}.amat", eye, np.arange(16)) for part in ("test", "train")]
    data = open_data(paths)
    assert data.test.shape == data.train.shape == (16, 16)
    assert data.image_shape == (4, 4)
    for part in ("train", "test"):
        (tmp_path / f"{part}.csv").write_text("1,2,3,4,0\n5,6,7,8,1\n")
    assert open_data([tmp_path / "train.csv", tmp_path / "test.csv"]).test.shape == (2, 4)
    with pytest.raises(DataError, match="both training sets"):
        open_data([paths[1], tmp_path / "train.csv"])
    with pytest.raises(DataError, match="4 features, expected images of 4 × 4"):
        open_data([paths[1], tmp_path / "test.csv"])


def test_that_a_single_file_is_all_training(tmp_path: Path) -> None:
    data = open_data([write_amat(tmp_path / "mine.amat", np.eye(16), np.arange(16) % 4)])
    assert data.name == "mine"
    assert data.train.shape == (16, 16)
    assert data.test.shape == (0, 16)
    assert data.test_labels is not None


def test_that_the_benchmark_is_known_by_names_and_counts(tmp_path: Path) -> None:
    row = amat_text(np.zeros((1, 784)), np.ones(1))
    data = open_data([write_zip(tmp_path / "any.zip", {"rectangles_train.amat": row * 1200})])
    assert data.name == "Rectangles"
    assert data.label_names == ("wider", "taller")
    assert "Larochelle" in data.citation
    assert open_data([write_zip(tmp_path / "b.zip", {"rectangles_train.amat": row * 1199})]).name == "b"


def test_that_pixels_of_the_benchmark_are_not_said_to_be_scaled(tmp_path: Path) -> None:
    row = amat_text(np.zeros((1, 784)), np.ones(1))
    opened = open_data([write_zip(tmp_path / "any.zip", {"rectangles_train.amat": row * 1200})]).opened
    assert opened.sure
    assert not opened.scaled


def test_that_a_folder_of_pictures_is_opened(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        Image.fromarray(np.zeros((4, 4), np.uint8)).save(tmp_path / name / "0.png")
    data = open_data([tmp_path])
    assert data.label_names == ("a", "b")
    assert data.train.shape == (2, 16)


def test_that_arrays_cannot_be_changed_afterwards(tmp_path: Path) -> None:
    data = open_data([write_amat(tmp_path / "mine.amat", np.eye(16), np.arange(16))])
    with pytest.raises(ValueError, match="read-only"):
        data.train[0, 0] = 1


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("x.amat", b"", "empty"),
        ("x.amat", b"1\n", "one column"),
        ("x.bin", b"\x7fELF\x02\x01\x01\x00", "unknown format"),
        ("x.png", b"\x89PNG\r\n\x1a\n", "single picture"),
        ("x.gz", b"\x1f\x8bnonsense", "gzip"),
        ("x.zip", b"PK\x03\x04nonsense", "zip"),
        ("x.txt", b"hello world this is text\n", "'hello'"),
        ("x.mat", b"MATLAB 5.0 MAT-file", "header"),
    ],
)
def test_that_what_is_no_data_is_refused_in_one_sentence(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError, match=said) as caught:
        open_data([path])
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_that_missing_files_and_none_at_all_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No such file"):
        open_data([tmp_path / "missing.amat"])
    with pytest.raises(DataError, match="no file"):
        open_data([])


def test_that_values_that_are_not_finite_are_refused_with_their_row(tmp_path: Path) -> None:
    for value in (np.nan, np.inf, 1e39):
        x = np.zeros((5, 9))
        x[3, 2] = value
        np.savez(tmp_path / "x.npz", X=x)
        with pytest.raises(DataError, match="row 4, feature 3"):
            open_data([tmp_path / "x.npz"])


def test_that_more_than_the_memory_bound_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "memory_limit", lambda: 4000)
    paths = mnist_like(tmp_path)
    write_amat(tmp_path / "a.amat", np.eye(40), np.arange(40))
    np.save(tmp_path / "a.npy", np.eye(40))
    for path in (paths[0], tmp_path / "a.amat", tmp_path / "a.npy"):
        with pytest.raises(DataError, match="GiB"):
            open_data([path])


def test_that_a_cancelled_reading_raises_at_every_stage(tmp_path: Path) -> None:
    paths = mnist_like(tmp_path)
    whole = CancelAfter()
    open_data(paths, progress=whole)
    assert whole.fractions == sorted(whole.fractions)
    for calls in range(1, len(whole.fractions)):
        with pytest.raises(Cancelled):
            open_data(paths, progress=CancelAfter(calls))


@settings(max_examples=60)
@given(
    st.sampled_from(
        [b"", b"PK\x03\x04", b"\x93NUMPY\x01\0", b"\0\0\x08\x03", b"\x1f\x8b\x08", b"MATLAB 5.0 MAT-file", b"1 2 "]
    ),
    st.binary(max_size=200),
    st.sampled_from([".amat", ".csv", ".npz", ".mat", ".zip", "-ubyte"]),
)
def test_that_any_bytes_under_any_name_raise_nothing_but_data_errors(magic: bytes, data: bytes, suffix: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"x{suffix}"
        path.write_bytes(magic + data)
        with contextlib.suppress(DataError):
            open_data([path])


@pytest.mark.skipif(not (REAL and (Path(REAL) / "mnist").is_dir()), reason="SLIDE_GUI_DATA names no folder with mnist/")
def test_that_the_real_mnist_is_read_as_it_is() -> None:
    data = open_data([Path(REAL or "") / "mnist"])
    assert data.name == "MNIST"
    assert (data.train.shape, data.test.shape) == ((60_000, 784), (10_000, 784))
    assert data.train_labels is not None
    assert np.bincount(data.train_labels).tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert abs(float(data.train.mean(dtype=np.float64)) - 0.1306605) < 1e-6  # the mean everyone normalises by


def test_that_the_shape_said_is_taken_and_what_was_guessed_is_said(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", X=np.random.default_rng(0).random((3, 64)))
    guessed = open_data([tmp_path / "x.npz"])
    assert guessed.image_shape == (8, 8)
    assert [guess.what for guess in guessed.opened.guesses] == ["images of 8 × 8 pixels"]
    assert not guessed.opened.sure
    wide = open_data([tmp_path / "x.npz"], ParseOptions(shape=(4, 16)))
    assert wide.image_shape == (4, 16)
    assert wide.opened.sure
    assert np.array_equal(wide.train, guessed.train)
    plain = open_data([tmp_path / "x.npz"], ParseOptions(shape=()))
    assert plain.image_shape is None
    with pytest.raises(DataError, match="has 64 features, not 5 × 9 pixels"):
        open_data([tmp_path / "x.npz"], ParseOptions(shape=(5, 9)))
    with pytest.raises(DataError, match="not a text table, so it has no label column"):
        open_data([tmp_path / "x.npz"], ParseOptions(label_column="y"))
    with pytest.raises(DataError, match="not a text table, so it has no line of column names"):
        open_data([tmp_path / "x.npz"], ParseOptions(header=True))


def test_that_images_stored_by_columns_are_turned(tmp_path: Path) -> None:
    images = np.random.default_rng(0).random((3, 4, 6)).astype(np.float32)
    np.savez(tmp_path / "turned.npz", X=images.swapaxes(1, 2))
    np.savez(tmp_path / "flat.npz", X=images.swapaxes(1, 2).reshape(3, 24))
    for name, reading in (
        ("turned.npz", ParseOptions(transposed=True)),
        ("turned.npz", ParseOptions(shape=(4, 6), transposed=True)),
        ("flat.npz", ParseOptions(shape=(4, 6), transposed=True)),
    ):
        data = open_data([tmp_path / name], reading)
        assert data.image_shape == (4, 6)
        assert np.array_equal(data.train.reshape(3, 4, 6), images)
    with pytest.raises(DataError, match="24 features that are not pixels"):
        open_data([tmp_path / "flat.npz"], ParseOptions(transposed=True))


def test_that_two_tables_share_the_numbers_of_their_classes(tmp_path: Path) -> None:
    for part, kinds in (("train", "abb"), ("test", "cba")):
        lines = [f"1,2,3,4,{kind}\n" for kind in kinds]
        (tmp_path / f"x_{part}.csv").write_text("p,q,r,s,label\n" + "".join(lines))
    data = open_data([tmp_path / "x_train.csv", tmp_path / "x_test.csv"])
    assert data.label_names == ("a", "b", "c")
    assert data.train_labels.tolist() == [0, 1, 1]
    assert data.test_labels.tolist() == [2, 1, 0]


def test_that_a_test_table_of_fewer_classes_gets_the_numbers_of_the_training_table(tmp_path: Path) -> None:
    for part, kinds in (("train", "abc"), ("test", "dbc")):
        lines = [f"1,2,3,4,{kind}\n" for kind in kinds]
        (tmp_path / f"x_{part}.csv").write_text("p,q,r,s,label\n" + "".join(lines))
    data = open_data([tmp_path / "x_train.csv", tmp_path / "x_test.csv"])
    assert data.label_names == ("a", "b", "c", "d")
    assert data.train_labels.tolist() == [0, 1, 2]
    assert data.test_labels.tolist() == [3, 1, 2]


def test_that_test_rows_without_labels_go_with_training_rows_of_named_classes(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", X_train=np.eye(5), y_train=list("abaca"), X_test=np.ones((2, 5)))
    data = open_data([tmp_path / "x.npz"])
    assert data.label_names == ("a", "b", "c")
    assert data.train_labels.tolist() == [0, 1, 0, 2, 0]
    assert data.test.shape == (2, 5)
    assert data.test_labels is None


def test_that_two_tables_that_name_their_classes_otherwise_are_refused(tmp_path: Path) -> None:
    for part, kinds in (("train", "ab"), ("test", "01")):
        lines = [f"1,2,3,4,{kind}\n" for kind in kinds]
        (tmp_path / f"x_{part}.csv").write_text("p,q,r,s,label\n" + "".join(lines))
    with pytest.raises(DataError, match=r"x_test\.csv: must name its classes like the training set"):
        open_data([tmp_path / "x_train.csv", tmp_path / "x_test.csv"])


@pytest.mark.parametrize(
    ("reading", "said"),
    [
        (ParseOptions(shape=(8,)), "give the rows and columns of an image"),
        (ParseOptions(shape=(0, 8)), "give the rows and columns of an image, each at least 1"),
        (ParseOptions(shape=(), transposed=True), "features that are not pixels cannot be transposed"),
        (ParseOptions(label_column=" "), "the name of the label column is empty"),
        (ParseOptions(left_out=("a", "")), "the name of a column to leave out is empty"),
        (ParseOptions("a", left_out=("b", "a")), "column a cannot be the label column and be left out"),
    ],
)
def test_that_what_cannot_be_said_of_a_file_is_refused_before_it_is_read(
    tmp_path: Path, reading: ParseOptions, said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        open_data([tmp_path / "missing.csv"], reading)


def test_that_a_single_pixel_is_an_image_of_one_row_and_column(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", X=np.array([[0.25], [0.5]]))
    assert open_data([tmp_path / "x.npz"], ParseOptions(shape=(1, 1))).image_shape == (1, 1)


def test_that_hidden_files_of_a_folder_are_passed_over(tmp_path: Path) -> None:
    for name, value in (("x.csv", 1), ("._x.csv", 2)):
        (tmp_path / name).write_text(f"a,b,c,label\n{value},0,.5,0\n0,.5,1,1\n")
    assert open_data([tmp_path]).train.tolist() == [[1, 0, 0.5], [0, 0.5, 1]]


def pair(folder: Path, train: str, test: str) -> list[Path]:
    """Write a training table and a test table."""
    for name, text in (("x_train.csv", train), ("x_test.csv", test)):
        (folder / name).write_text(text)
    return [folder / "x_test.csv", folder / "x_train.csv"]


TRAIN = "a,b,class\n.1,.2,0\n.3,.4,1\n.5,.6,0\n"


@pytest.mark.parametrize(
    "test",
    ["a,b,class\n.7,.8,1\n.9,1,0\n", "b,a,class\n.8,.7,1\n1,.9,0\n", "class,b,a\n1,.8,.7\n0,1,.9\n"],
)
def test_that_columns_of_two_tables_are_joined_by_name(tmp_path: Path, test: str) -> None:
    data = open_data(pair(tmp_path, TRAIN, test))
    assert data.feature_names == ("a", "b")
    assert data.train.tolist() == np.float32([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]).tolist()
    assert data.test.tolist() == np.float32([[0.7, 0.8], [0.9, 1]]).tolist()
    assert data.test_labels.tolist() == [1, 0]
    assert data.opened.guesses == ()


def test_that_a_guessed_label_column_is_found_by_its_name_in_the_test_table(tmp_path: Path) -> None:
    train = "a,b,kind\n.1,.2,0\n.3,.4,1\n"
    data = open_data(pair(tmp_path, train, "kind,b,a\n1,0,.5\n1,1,.25\n"))
    assert data.test.tolist() == [[0.5, 0.0], [0.25, 1.0]]
    assert data.test_labels.tolist() == [1, 1]
    left_out = open_data(
        pair(tmp_path, "id," + train.replace("\n.", "\n7,."), "b,kind,a\n0,1,.5\n"), ParseOptions(left_out=("1",))
    )
    assert left_out.feature_names == ("a", "b")
    assert left_out.test.tolist() == [[0.5, 0.0]]


@pytest.mark.parametrize("name", ["Class", "label", "species"])
def test_that_the_labels_of_the_two_tables_may_have_different_names(tmp_path: Path, name: str) -> None:
    train, test = f"a,b,{name}\n.1,.2,p\n.3,.4,q\n", "class,b,a\nq,0,.5\n"
    data = open_data(pair(tmp_path, train, test))
    assert data.test.tolist() == [[0.5, 0.0]]
    assert data.test_labels.tolist() == [1]


def test_that_a_test_table_of_an_unlabelled_training_table_has_no_labels(tmp_path: Path) -> None:
    for head in ("", "a,b,c\n"):
        data = open_data(pair(tmp_path, head + ".1,.2,.5\n.3,.4,.6\n", head + ".1,.2,1\n.3,.4,0\n"))
        assert (data.train.shape, data.test.shape) == ((2, 3), (2, 3))
        assert data.test_labels is None


@pytest.mark.parametrize(("train", "test"), [(TRAIN, "b,a\n1,.5\n0,.25\n"), (".1,.2,0\n.3,.4,1\n", ".5,1\n.25,0\n")])
def test_that_a_test_table_without_the_label_column_has_no_labels(tmp_path: Path, train: str, test: str) -> None:
    data = open_data(pair(tmp_path, train, test))
    assert data.train_labels is not None
    assert data.test_labels is None
    assert data.test.tolist() == [[0.5, 1.0], [0.25, 0.0]]


@pytest.mark.parametrize(
    ("test", "said"),
    [
        ("a,c,class\n.7,.8,1\n", "lacks column “b” and has the additional column “c”, compared with the training set"),
        ("a,b,c,d,class\n.7,.8,1,1,1\n", r"x_test\.csv: has the additional columns “c”, “d”, compared with"),
        (
            "a,class\n.7,1\n",
            "lacks column “b”, compared with the training set .*; give both files the same column names",
        ),
        ("A,b,class\n.7,.8,1\n", "lacks column “a” and has the additional column “A”"),
    ],
)
def test_that_tables_of_other_columns_are_refused_by_name(tmp_path: Path, test: str, said: str) -> None:
    with pytest.raises(DataError, match=said):
        open_data(pair(tmp_path, TRAIN, test))


def test_that_tables_without_names_are_joined_by_position_and_one_without_them_is_a_guess(tmp_path: Path) -> None:
    rows = TRAIN.partition("\n")[2]
    both = open_data(pair(tmp_path, rows, rows))
    assert both.test.tolist() == both.train.tolist()
    one = open_data(pair(tmp_path, TRAIN, rows))
    assert one.test.tolist() == one.train.tolist()
    (guess,) = (each for each in one.opened.guesses if "matched by position" in each.what)
    assert not guess.sure
    assert guess.why.endswith("x_test.csv has no column names")
    assert not any("position" in each.what for each in both.opened.guesses)


def test_that_what_was_guessed_of_the_test_table_alone_names_it(tmp_path: Path) -> None:
    data = open_data(pair(tmp_path, TRAIN, "\n" + TRAIN))
    assert [guess.what for guess in data.opened.guesses] == ["x_test.csv: 1 blank line skipped"]


def test_that_a_test_set_of_other_classes_is_refused_and_of_some_others_is_a_warning(tmp_path: Path) -> None:
    train = "a,b,class\n.1,.2,p\n.3,.4,q\n"
    with pytest.raises(DataError, match=r"x_test\.csv: none of its classes \(“P”, “Q”\) occurs in .*“p”, “q”; write"):
        open_data(pair(tmp_path, train, train.replace("p", "P").replace("q", "Q")))
    data = open_data(pair(tmp_path, train, train + ".1,.1,r\n.2,.1,r\n.3,.1,other\n"))
    (guess,) = data.opened.guesses
    assert guess.what == "3 test rows of 5 in classes that the training set lacks"
    assert guess.why == "other: 1 row, r: 2 rows; a classifier misclassifies all of them"
    assert not data.opened.sure
    with pytest.raises(DataError, match="none of its classes"):
        open_data(pair(tmp_path, TRAIN, TRAIN.replace(",0\n", ",7\n").replace(",1\n", ",8\n")))
    np.savez(tmp_path / "x.npz", X_train=np.eye(4), y_train=[0, 1, 0, 1], X_test=np.eye(4), y_test=[1, 5, 5, 0])
    (guess,) = (each for each in open_data([tmp_path / "x.npz"]).opened.guesses if "lacks" in each.what)
    assert (guess.what[:16], guess.why[:9]) == ("2 test rows of 4", "5: 2 rows")


def test_that_missing_labels_in_arrays_of_text_are_refused(tmp_path: Path) -> None:
    for text in ("nan", "?", "NA"):
        np.savez(tmp_path / "x.npz", X=np.eye(3), y=["a", "b", text])
        with pytest.raises(
            DataError, match=r"label of row 3 is missing \(found '.*'\); fill it in, or leave the row out"
        ):
            open_data([tmp_path / "x.npz"])


QUANTITY = np.rint(np.random.default_rng(0).gamma(3, 50, 200)) / 2


def write_quantity(folder: Path, kind: str) -> Path:
    path, values = folder / f"x.{kind}", np.random.default_rng(1).random((200, 5))
    if kind == "npz":
        np.savez(path, X=values, y=QUANTITY)
    elif kind == "mat":
        savemat(path, {"X": values, "y": QUANTITY})
    else:
        mark, head = (" ", "") if kind == "amat" else (",", "a,b,c,d,e,target\n")
        rows = zip(values.tolist(), QUANTITY.tolist(), strict=True)
        path.write_text(head + "".join(mark.join(map(repr, [*row, label])) + "\n" for row, label in rows))
    return path


@pytest.mark.parametrize("kind", ["csv", "amat", "npz", "mat"])
def test_that_a_quantity_as_label_gives_no_classes_until_it_is_cut_into_ranges(tmp_path: Path, kind: str) -> None:
    path, many = write_quantity(tmp_path, kind), len(np.unique(QUANTITY))
    data = open_data([path])
    assert data.train_labels is None
    assert data.n_features == 5
    assert not data.opened.sure
    where = "The column 'target'" if kind == "csv" else "The label"
    with pytest.raises(DataError, match=f"{where} has {many} different numbers. It looks like a quantity.*--bins 3"):
        data.check_classes()
    cut = open_data([path], ParseOptions(bins=3))
    counts = np.bincount(cut.train_labels)
    assert counts.max() - counts.min() <= 4
    assert cut.label_names[1] == f"above {np.sort(QUANTITY)[66]:g} to {np.sort(QUANTITY)[133]:g}"
    assert (QUANTITY[cut.train_labels == 0].max(), cut.n_features) == (np.sort(QUANTITY)[66], 5)


def test_that_ranges_are_those_of_the_training_set_and_0_makes_each_number_a_class(tmp_path: Path) -> None:
    train, test = tmp_path / "a_train.npz", tmp_path / "a_test.npz"
    np.savez(train, X=np.eye(300, 5), y=np.arange(300) * 3)
    np.savez(test, X=np.eye(4, 5), y=[-50, 297, 298, 5000])
    data = open_data([train, test], ParseOptions(bins=3))
    assert data.test_labels.tolist() == [0, 0, 1, 2]
    each = open_data([train, test], ParseOptions(bins=0))
    assert (len(np.unique(each.train_labels)), each.why_no_classes) == (300, "")


def test_that_only_numbers_are_cut_into_ranges(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b,class\n1,2,cat\n3,4,dog\n")
    with pytest.raises(DataError, match="has no numeric labels to cut into ranges"):
        open_data([tmp_path / "x.csv"], ParseOptions(bins=3))
    with pytest.raises(ValueError, match="bins is 1; give 2 to 30 ranges, or 0"):
        ParseOptions(bins=1).checked()


@pytest.mark.parametrize("kind", ["csv", "tsv", "amat", "npz", "npy", "mat"])
def test_that_time_stamps_keep_their_seconds_in_every_kind_of_file(tmp_path: Path, kind: str) -> None:
    values = np.array([[1.7e9, 0.5, 3], [1.7e9 + 5, 0.25, 4], [1.7e9, 0.75, 5], [1.7e9 + 10, 0.1, 6]])
    path, labels = tmp_path / f"x.{kind}", [0, 1, 0, 1]
    if kind in ("csv", "tsv", "amat"):
        mark = {"csv": ",", "tsv": "\t", "amat": " "}[kind]
        rows = zip(values.tolist(), labels, strict=True)
        path.write_text("".join(mark.join(map(repr, [*row, label])) + "\n" for row, label in rows))
    elif kind == "npz":
        np.savez(path, X=values, y=labels)
    elif kind == "npy":
        np.save(path, values)
    else:
        savemat(path, {"X": values})
    assert open_data([path]).train[:, 0].tolist() == [0, 0.5, 0, 1]
