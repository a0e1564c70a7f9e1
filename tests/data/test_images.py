"""Pictures become grey images, and their folders become classes and sets."""

import contextlib
import struct
import tracemalloc

import numpy as np
import pytest
from PIL import Image

from slide_gui.data.errors import DataError
from slide_gui.data.open import open_data
from slide_gui.data.readers import images
from slide_gui.data.readers.images import read_image, read_image_folder
from tests.data.writers import write


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
        save(tmp_path / f"{name}.png", picture)
    (tmp_path / "dog" / "notes.txt").write_text("not a picture")
    data = open_data([tmp_path])
    assert data.label_names == ("cat", "dog")
    assert data.train_labels.tolist() == [0, 0, 0, 1, 1]
    assert data.image_shape == (5, 6)
    assert np.array_equal(data.train, pictures.reshape(5, 30).astype(np.float32) / np.float32(255))


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        (["train/a/0.png", "train/b/0.png", "test/b/0.png"], [("train", [0, 1]), ("test", [1])]),
        (["training/a/0.png", "training/b/0.png"], [("train", [0, 1])]),
        (["0.png", "1.png"], [("train", None)]),
    ],
)
def test_that_folders_named_train_and_test_are_the_sets(tmp_path, names, labels):
    parts = read_image_folder(save_all(tmp_path, *names))
    assert [(part.role, None if part.labels is None else part.labels.tolist()) for part in parts] == labels


def test_that_colours_and_16_bits_become_grey_between_0_and_1(tmp_path):
    assert np.array_equal(read_image(save(tmp_path / "rgb.png", np.full((3, 3, 3), 255, np.uint8))), np.ones((3, 3)))
    deep = read_image(save(tmp_path / "a.png", np.array([[0, 65535], [32768, 13107]], np.uint16)))
    np.testing.assert_allclose(deep, [[0, 1], [32768 / 65535, 0.2]], rtol=1e-6)


def test_that_pictures_of_different_sizes_are_refused(tmp_path):
    save_all(tmp_path, "a/0.png")
    save(tmp_path / "a" / "1.png", np.zeros((4, 5), np.uint8))
    with pytest.raises(DataError, match=r"1\.png: has 5 × 4 pixels, expected 6 × 4 like the others; make all pictures"):
        read_image_folder(tmp_path)


def test_that_large_pictures_are_refused(tmp_path):
    assert read_image(save(tmp_path / "1.png", np.zeros((256, 256), np.uint8))).shape == (256, 256)
    with pytest.raises(DataError, match="257 × 256 pixels, expected at most 65536; make it smaller"):
        read_image(save(tmp_path / "2.png", np.zeros((256, 257), np.uint8)))
    path = save(tmp_path / "0.png", np.zeros((4, 4), np.uint8))
    content = bytearray(path.read_bytes())
    content[16:24] = (100_000).to_bytes(4, "big") * 2
    path.write_bytes(bytes(content))
    with pytest.raises(DataError, match=r"0\.png: is not a readable picture"):
        read_image(path)


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


def test_that_the_memory_of_all_pictures_is_checked(tmp_path, monkeypatch):
    checked = []
    monkeypatch.setattr(images, "check_memory", lambda n_bytes, _place: checked.append(n_bytes))
    read_image_folder(save_all(tmp_path, "a/0.png", "a/1.png", "b/0.png"))
    assert checked == [4 * 3 * 24]


def test_that_a_folder_without_readable_pictures_is_refused(tmp_path):
    with pytest.raises(DataError, match="contains no pictures; expected a sub-folder of pictures for each class"):
        read_image_folder(tmp_path)
    for content in (b"", b"\x89PNG\r\n\x1a\n", b"hello"):
        write(tmp_path / "0.png", content)
        with pytest.raises(DataError, match=r"0\.png: is not a readable picture; remove it"):
            read_image_folder(tmp_path)
