"""Arrays and pictures: values equal those that were written, names become sets, and folders become classes."""

import contextlib
import struct
import tempfile
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from PIL import Image

from slide_gui.data.errors import DataError
from slide_gui.data.open import open_data
from slide_gui.data.readers import images
from slide_gui.data.readers.arrays import known_names, parts_from_named, read_npy, read_npz
from slide_gui.data.readers.idx import read_idx
from slide_gui.data.readers.images import read_image, read_image_folder
from slide_gui.data.readers.matlab import read_mat
from slide_gui.data.reading import ParseOptions
from tests.core.svm_data import StopAfter
from tests.data.writers import IDX_TYPES, mat_bytes, npz_bytes, write, write_idx


@settings(max_examples=25)
@given(
    hnp.arrays(
        st.sampled_from([np.uint8, np.int32, np.float32, np.float64, ">f4"]),
        hnp.array_shapes(min_dims=2, max_dims=3, max_side=5),
    ),
    st.booleans(),
    st.booleans(),
)
def test_that_written_arrays_are_read_back(array, fortran, zipped):
    array = np.asfortranarray(array) if fortran else array
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("x.npz" if zipped else "x.npy")
        if zipped:
            np.savez_compressed(path, X=array)
        else:
            np.save(path, array)
        (part,) = read_npz(path) if zipped else read_npy(path)
    assert np.array_equal(part.rows, array.reshape(len(array), -1), equal_nan=array.dtype.kind == "f")
    assert part.image_shape == (array.shape[1:] if array.ndim == 3 else None)


@pytest.mark.parametrize(
    ("code", "is_letter"),
    [(0xD7FF, True), (0xE000, True), (0x10FFFF, True), (0xD800, False), (0xDFFF, False), (0x110000, False)],
)
def test_that_texts_must_be_unicode_characters(tmp_path, code, is_letter):
    texts = np.frombuffer(np.array([65, code], "<u4").tobytes(), "<U1")
    path = write(tmp_path / "x.npz", npz_bytes(X=np.ones((2, 5)), y=texts))
    if is_letter:
        assert read_npz(path)[0].label_names[1] == chr(code)
    else:
        with pytest.raises(DataError, match="labels that are not UTF-8 text"):
            read_npz(path)


def test_that_the_memory_of_all_pictures_is_checked_together_and_each_is_reported(tmp_path, monkeypatch):
    checked, listener = [], StopAfter()
    monkeypatch.setattr(images, "check_memory", lambda n_bytes, _place: checked.append(n_bytes))
    read_image_folder(save_all(tmp_path, "a/0.png", "a/1.png", "b/0.png"), progress=listener)
    assert (checked, listener.fractions) == ([4 * 3 * 24], [1 / 3, 2 / 3, 1])


def test_that_names_give_role_and_kind_in_any_order():
    names = ["X_train", "labels_train", "test_images", "TEST_Y", "other", "train_X_test"]
    assert known_names(names, "f") == {
        ("train", "rows"): "X_train",
        ("train", "labels"): "labels_train",
        ("test", "rows"): "test_images",
        ("test", "labels"): "TEST_Y",
    }
    for names in (["data", "target", "other"], ["features", "Y"], ["fea", "gnd"], ["image", "labels"], ["imgs", "y"]):
        assert known_names(names, "f") == {("", "rows"): names[0], ("", "labels"): names[1]}
    assert known_names(["anything"], "f") == {("", "rows"): "anything"}
    assert known_names(["X", "y_test"], "f") == {("", "rows"): "X"}  # there are no rows for these labels
    for names, shown in ((["a", "y"], "a, y"), ([], "no numbers"), ([*"abcdefghi"], "a, b, c, d, e, f, g, h")):
        with pytest.raises(DataError, match=f"contains {shown}; name the arrays"):
            known_names(names, "f")


@pytest.mark.parametrize(
    ("shape", "image"),
    [
        ((5, 3, 4), (3, 4)), ((5, 3, 4, 1), (3, 4)), ((5, 1, 3, 4), (3, 4)),
        ((5, 64), (8, 8)), ((5, 49), None), ((5, 65), None),
    ],
)  # fmt: skip
def test_that_images_are_recognised_by_their_axes_or_a_square_of_at_least_64_features(shape, image):
    array = np.arange(float(np.prod(shape))).reshape(shape)
    (part,) = parts_from_named({"X": array}, "f", "f_test.npz")
    assert (part.image_shape, part.role) == (image, "test")
    np.testing.assert_array_equal(part.rows, array.reshape(5, -1))


@settings(max_examples=100)
@given(
    st.lists(st.text("abcäß -", min_size=1, max_size=6).filter(str.strip), min_size=1, max_size=9),
    st.sampled_from([(-1,), (-1, 1), (1, -1)]),
)
def test_that_labels_in_text_keep_the_names_of_the_classes(texts, shape):
    rows = np.random.default_rng(0).random((len(texts), 5))
    (part,) = parts_from_named({"X": rows, "y": np.array(texts).reshape(shape)}, "f", "f.npz")
    names = [text.strip() for text in texts]
    assert part.label_names == tuple(sorted(set(names)))
    assert [part.label_names[code] for code in part.labels] == names
    assert np.array_equal(part.rows, rows)


# IDX -----------------------------------------------------------------------------------------------------------------


@settings(max_examples=25)
@given(
    st.sampled_from(sorted(IDX_TYPES)).flatmap(
        lambda name: hnp.arrays(name, hnp.array_shapes(min_dims=1, max_dims=4, max_side=4))
    ),
    st.sampled_from(["x", "x.gz"]),
)
def test_that_written_idx_arrays_are_read_back(array, name):
    with tempfile.TemporaryDirectory() as folder:
        values = read_idx(write_idx(Path(folder) / name, array))
    assert values.dtype == array.dtype
    assert np.array_equal(values, array, equal_nan=array.dtype.kind == "f")


# MATLAB --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_that_numbers_of_every_type_equal_those_of_scipy(tmp_path, dtype, packed):
    images = (np.random.default_rng(0).random((5, 6, 7)) * 100).astype(dtype)
    others = {"labels": np.arange(5)[:, None], "z": np.ones(3) * 1j, "note": "text", "s": {"a": 1}}
    path = write(tmp_path / "x.mat", mat_bytes(packed, images=images, **others))
    (part,) = read_mat(path)
    assert np.array_equal(part.rows, scipy.io.loadmat(path)["images"].reshape(5, 42))
    assert part.image_shape == (6, 7)
    assert part.labels.tolist() == [0, 1, 2, 3, 4]
    assert [guess.what for guess in part.opened.guesses] == ["left out: z, note, s"]


def save(path, pixels):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)
    return path


def save_all(folder, *names):
    for name in names:
        save(folder / name, np.zeros((4, 6), np.uint8))
    return folder


def test_that_sub_folders_are_classes_in_the_order_of_their_names(tmp_path):
    pictures = np.random.default_rng(0).integers(0, 256, (5, 5, 6), np.uint8)
    for picture, name in zip(pictures, ("cat/0", "cat/1", "cat/2", "dog/0", "dog/1"), strict=True):
        save(tmp_path / "pets" / f"{name}.png", picture)  # archives often have one folder with all others
    (tmp_path / "pets" / "dog" / "notes.txt").write_text("not a picture")
    data = open_data([tmp_path])
    assert (data.label_names, data.image_shape) == (("cat", "dog"), (5, 6))
    assert data.train_labels.tolist() == [0, 0, 0, 1, 1]
    assert np.array_equal(data.train, pictures.reshape(5, 30).astype(np.float32) / np.float32(255))


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        (["train/a/0.png", "train/c.png", "test/b/0.png", "val/b/0.png"], [("train", [0]), ("test", [1])]),
        (["train_set/a/0.png", "train_set/c.png", "test/0.png"], [("train", [0]), ("test", None)]),
        (["0.png", "1.png"], [("train", None)]),
        (["train/0.png", "val/0.png"], [("train", None)]),
        (["trainA/0.png", "test1/0.png"], [("train", None)]),
    ],
)
def test_that_folders_named_train_and_test_are_the_sets(tmp_path, names, labels):
    parts = [part for part in read_image_folder(save_all(tmp_path, *names)) if {*part.pictures} <= {*names}]
    assert [(part.role, None if part.labels is None else part.labels.tolist()) for part in parts] == labels
    left_out = {"val/": "folder val", "c.png": "pictures next to the folders of classes"}
    expected = [f"{what} left out" for name, what in left_out.items() if name in " ".join(names)]
    assert [guess.what for guess in parts[0].opened.guesses] == expected
    assert (parts[0].labels is None) == ("move those of each class to a subfolder" in parts[0].opened.unlabelled)
    write(tmp_path / "labels.csv", "a,b,label\n.1,.2,0\n.3,.4,1\n")
    remedy = "to open the pictures instead, move labels.csv out of the folder, and put the pictures of each class into"
    remedy += " one subfolder, or write a table of file names and labels"
    assert open_data([tmp_path]).opened.guesses[-1].why == remedy
    write(tmp_path / "labels.csv", "file,label\nx.png,x\ny.png,y\n")
    with pytest.raises(DataError, match=f"keep a feature, .*; {remedy}"):
        open_data([tmp_path])


@pytest.mark.parametrize(
    ("text", "names", "classes", "left_out"),
    [
        ("id,label\n3,frog\n1,cat\n0,cat\n", "310", ["frog", "cat", "cat"], "1 picture in train"),
        ("0.png,7\n1.png,8\n2.png,7\n9,8\n3.png,8\n", "0123", [7, 8, 7, 8], "1 row without a picture"),
        (",age,image,class\n0,31,3,frog\n1,,1,cat\n2,40,0,cat\n", "310", ["frog", "cat", "cat"], "1 picture in train"),
        ("kind;file\n01;train\\2\n1;.\\Train/0\n01;TRAIN/1.PNG\n", "201", ["01", "1", "01"], "1 picture in train"),
    ],
)
def test_that_a_table_of_file_names_labels_the_pictures_next_to_it(tmp_path, text, names, classes, left_out):
    for k, name in enumerate(["train/0", "train/1", "train/2", "train/3", "test/0", "test/1"]):
        save(tmp_path / f"{name}.png", np.full((2, 3), 50 * k, np.uint8))
    write(tmp_path / "sampleSubmission.csv", "id,label\n0,cat\n1,cat\n")
    assert open_data([tmp_path]).train_labels is None
    table = write(tmp_path / "trainLabels.csv", text)
    data = open_data([tmp_path])
    assert [round(255 / 50 * row[0]) for row in data.train.tolist()] == [int(name) for name in names]
    assert [data.label_names[code] if data.label_names else code for code in data.train_labels.tolist()] == classes
    assert data.opened.guesses[0].why == f"left out: 2 pictures in test, {left_out}"
    write(tmp_path / "test.csv", f"image,label\n1,{classes[1]}\n0,{classes[0]}\n")
    assert open_data([tmp_path]).test_labels.tolist() == data.train_labels[[1, 0]].tolist()
    for unlabelled in ("image\n1\n0\n", "image,label\n1,\n0,NA\n", "image,width\n1,6\n0,7\n"):
        write(tmp_path / "test.csv", unlabelled)
        data = open_data([tmp_path])
        assert (len(data.test), data.test_labels) == (2, None)
    assert "“sampleSubmission.csv” left out" in [guess.what for guess in open_data([tmp_path]).opened.guesses]
    table.rename(tmp_path / "more.csv").write_text(text + text.splitlines()[-1])
    with pytest.raises(DataError, match=r"more.csv: (has several pictures or rows for '.*', .*; leave|may have file)"):
        open_data([tmp_path])


def test_that_the_labels_of_pictures_are_chosen_if_several_columns_may_have_them(tmp_path):
    save_all(tmp_path, "é.png", "1.png", "b.png", "B.png")
    write(tmp_path / "meta.csv", "file,kind,age\nB.png,b,3\ne\u0301,a,4\n1,,5\nx,a,6\ny,a,7\nz,b,8\n")
    with pytest.raises(DataError, match=r"meta.csv: .* columns “file”, and labels in columns “kind”, “age”; choose"):
        open_data([tmp_path])
    with pytest.raises(DataError, match=r"line 4, column 2: the class is missing"):
        open_data([tmp_path], ParseOptions(label_column="kind"))
    data = open_data([tmp_path], ParseOptions(label_column="AGE", bins=0))
    assert (data.train_labels.tolist(), data.image_shape) == ([3, 4, 5], (4, 6))
    assert ("columns “kind” left out", False) in [(guess.what, guess.sure) for guess in data.opened.guesses]
    assert open_data([tmp_path], ParseOptions(label_column="none")).train_labels is None
    write(tmp_path / "test.csv", "file,age\n1.png,5\n")
    with pytest.raises(DataError, match=r"test.csv: .* for '1.png', or another row or table also labels this picture"):
        open_data([tmp_path], ParseOptions(label_column="age"))


@pytest.mark.parametrize(
    ("kind", "high", "level"),
    [("u1", 15, 255), ("u2", 99, 255), ("u2", 1023, 1023), ("u2", 4e3, 4095), ("u2", 9e3, 16383), ("u2", 2e4, 65535)],
)
def test_that_16_bit_pictures_are_divided_by_the_greatest_level_of_their_bits_in_both_sets(tmp_path, kind, high, level):
    for part, pixels in (("train", [[0, 1], [2, 3]]), ("test", [[0, 0], [0, high]])):
        save(tmp_path / part / "a" / "0.png", np.array(pixels, kind))
    parts = [*read_image_folder(tmp_path), read_image_folder(tmp_path, level=level)[1]]
    np.testing.assert_allclose([part.rows.max() for part in parts], [3 / level, high / level, high / level], rtol=1e-6)


def test_that_colours_and_16_bits_become_grey_between_0_and_1_upright_and_on_white(tmp_path):
    assert np.array_equal(read_image(save(tmp_path / "rgb.png", np.full((3, 3, 3), 255, np.uint8))), np.ones((3, 3)))
    deep = read_image(save(tmp_path / "a.png", np.array([[0, 65535], [32768, 13107]], np.uint16)))
    np.testing.assert_allclose(deep, [[0, 1], [32768 / 65535, 0.2]], rtol=1e-6)
    for ink, alpha, grey in ((0, 255, [0, 1, 1]), (255, 255, [1, 0, 0]), (255, 0, [1, 1, 1])):  # white needs black
        drawing = np.array([[[ink, ink, ink, alpha], [0, 0, 0, 0], [255, 0, 0, 0]]], np.uint8)
        assert read_image(save(tmp_path / "x.png", drawing)).tolist() == [grey]
    turned = Image.Exif()
    turned[0x112] = 6  # the camera was turned by 90 degrees
    Image.fromarray(np.array([[0, 255, 255]], np.uint8)).save(tmp_path / "y.png", exif=turned)
    assert read_image(tmp_path / "y.png").tolist() == [[0], [1], [1]]


def test_that_pictures_of_different_sizes_or_of_floating_point_numbers_are_refused(tmp_path):
    save_all(tmp_path, "a/0.png")
    save(tmp_path / "a" / "1.png", np.zeros((4, 5), np.uint8))
    save(tmp_path / "b" / "2.png", np.zeros((3, 3), np.uint8))
    sizes = r"1\.png: has 5 × 4 pixels, but 0\.png has 6 × 4, and 1 more picture of 3 differ from it; make all "
    with pytest.raises(DataError, match=sizes + r".*: mogrify -auto-orient -resize '6x4!' \*/\*\.png$"):
        read_image_folder(tmp_path)
    with pytest.raises(DataError, match=r"x\.tiff: has pixels of .* floating-point values; save it with 8 or 16 bits"):
        read_image(save(tmp_path / "x.tiff", np.full((4, 4), 0.5, np.float32)))


def test_that_further_frames_colours_dark_pictures_and_pixels_of_more_than_16_bits_are_reported(tmp_path):
    frames = [Image.fromarray(np.full((4, 6), 50 * k, np.uint8)) for k in range(2)]
    for name, more in (("a/0.tif", frames[1:]), ("b/1.tif", [])):
        (tmp_path / name).parent.mkdir()
        frames[0].save(tmp_path / name, save_all=True, append_images=more)
    for red, colours in ((16, []), (17, ["pictures in colour read as grey images"])):
        Image.new("RGB", (6, 4), (red, 0, 9)).save(tmp_path / "b/2.png")
        (part,) = read_image_folder(tmp_path)
        assert [guess.what for guess in part.opened.guesses] == ["only the first frame of 1 picture is read", *colours]
    for level, shown in ((0, []), (1, ["all pictures are almost black"]), (2, [])):
        save(tmp_path / "c" / "dark" / "0.png", np.full((4, 6), level, np.uint8))
        assert [guess.what for guess in read_image_folder(tmp_path / "c")[0].opened.guesses] == shown
    with pytest.raises(DataError, match=r"x\.tiff: has pixels of more than 16 bits .*; save it with 8 or 16 bits"):
        read_image(save(tmp_path / "x.tiff", np.full((4, 4), 70_000, np.int32)))


def test_that_arrays_with_other_names_or_axes_are_reported(tmp_path):
    images = np.zeros((4, 8, 8))
    path = write(tmp_path / "x.npz", npz_bytes(train_images=images, val_images=images, test_images=images))
    (guess,) = open_data([path]).opened.guesses
    assert (guess.what, guess.sure) == ("left out: val_images", False)
    for n, side in ((5, 4), (50, 40)):  # images are seldom four times as high as wide
        (guess,) = open_data([write(tmp_path / "x.npz", npz_bytes(images=np.zeros((n, side, 9))))]).opened.guesses
        assert (guess.what, guess.sure) == (f"{n} images of {side} × 9", False)


def test_that_large_pictures_are_refused(tmp_path):
    assert read_image(save(tmp_path / "1.png", np.zeros((256, 256), np.uint8))).shape == (256, 256)
    with pytest.raises(DataError, match="257 × 256 pixels, expected at most 65536; make it smaller"):
        read_image(save(tmp_path / "2.png", np.zeros((256, 257), np.uint8)))
    path = save(tmp_path / "0.png", np.zeros((4, 4), np.uint8))
    content = bytearray(path.read_bytes())
    content[16:24] = (100_000).to_bytes(4, "big") * 2
    with pytest.raises(DataError, match=r"0\.png: is a damaged picture"):
        read_image(write(path, bytes(content)))


def test_that_a_chunk_that_claims_gigabytes_takes_little_memory(tmp_path):
    path = save(tmp_path / "x.png", np.zeros((4, 4), np.uint8))
    read_image(path)  # import Pillow's modules before memory is measured
    content = path.read_bytes()
    at = content.index(b"IDAT") - 4
    path.write_bytes(content[:at] + struct.pack(">I", (1 << 31) - 1) + content[at + 4 :])
    tracemalloc.start()
    with contextlib.suppress(DataError):  # either outcome is right, because the pixels are complete
        read_image(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 << 20


def test_that_a_folder_without_readable_pictures_is_refused(tmp_path):
    remedies = {"a.txt": "open a folder .*, or open data files themselves$", "data_batch_1": "batches of CIFAR are not"}
    for name, remedy in remedies.items():
        write(tmp_path / name, "")
        with pytest.raises(DataError, match=f"contains no pictures of classes; {remedy}"):
            read_image_folder(tmp_path)
    save_all(tmp_path, "cat/0.png", "cat/1.png")
    for name, content in (("png", b""), ("png", b"\x89PNG\r\n\x1a\n"), ("jfif", b"hello"), ("heic", b"\0\0\0")):
        write(tmp_path / "cat" / f"0.{name}", content)
        with pytest.raises(DataError, match=rf"0\.{name}: is a damaged picture, or has an unsupported format"):
            read_image_folder(tmp_path)
        (tmp_path / "cat" / f"0.{name}").unlink()
