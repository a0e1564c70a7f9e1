from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from slide_gui.data.errors import DataError
from slide_gui.data.readers.images import read_image, read_image_folder


def save(path: Path, pixels: np.ndarray) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)
    return path


def test_that_sub_folders_are_classes_in_the_order_of_their_names(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    dogs, cats = random.integers(0, 256, (2, 5, 6), np.uint8), random.integers(0, 256, (3, 5, 6), np.uint8)
    for name, images in (("dog", dogs), ("cat", cats)):
        for index, image in enumerate(images):
            save(tmp_path / name / f"{index}.png", image)
    (tmp_path / "dog" / "notes.txt").write_text("not a picture")
    (part,) = read_image_folder(tmp_path)
    assert part.label_names == ("cat", "dog")
    assert part.labels is not None
    assert part.labels.tolist() == [0, 0, 0, 1, 1]
    assert part.image_shape == (5, 6)
    assert np.array_equal(part.rows, np.concatenate([cats, dogs]).reshape(5, 30).astype(np.float32) / np.float32(255))


def test_that_train_and_test_folders_share_their_classes(tmp_path: Path) -> None:
    grey = np.full((4, 4), 51, np.uint8)
    for name in ("train/a", "train/b", "test/b"):
        save(tmp_path / name / "0.png", grey)
    train, test = read_image_folder(tmp_path)
    assert (train.role, test.role) == ("train", "test")
    assert train.labels is not None
    assert test.labels is not None
    assert train.labels.tolist() == [0, 1]
    assert test.labels.tolist() == [1]


def test_that_colours_and_sixteen_bits_become_grey_within_zero_and_one(tmp_path: Path) -> None:
    white = save(tmp_path / "rgb.png", np.full((3, 3, 3), 255, np.uint8))
    deep = save(tmp_path / "deep.png", np.full((3, 3), 65535, np.uint16))
    assert np.array_equal(read_image(white), np.ones((3, 3)))
    assert np.array_equal(read_image(deep), np.ones((3, 3)))


def test_that_pictures_of_different_sizes_are_refused(tmp_path: Path) -> None:
    save(tmp_path / "a" / "0.png", np.zeros((4, 4), np.uint8))
    path = save(tmp_path / "a" / "1.png", np.zeros((4, 5), np.uint8))
    with pytest.raises(DataError, match="5 × 4 pixels, expected 4 × 4") as caught:
        read_image_folder(tmp_path)
    assert str(path) in str(caught.value)


def test_that_a_picture_that_unpacks_to_billions_of_pixels_is_refused(tmp_path: Path) -> None:
    path = save(tmp_path / "a" / "0.png", np.zeros((4, 4), np.uint8))
    content = bytearray(path.read_bytes())
    content[16:24] = (100_000).to_bytes(4, "big") * 2
    path.write_bytes(bytes(content))
    with pytest.raises(DataError):
        read_image_folder(tmp_path)


def test_that_a_large_picture_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="300 × 300 pixels"):
        read_image(save(tmp_path / "0.png", np.zeros((300, 300), np.uint8)))
    assert read_image(save(tmp_path / "1.png", np.zeros((256, 256), np.uint8))).shape == (256, 256)
    with pytest.raises(DataError, match="257 × 256 pixels, expected at most 65536"):
        read_image(save(tmp_path / "2.png", np.zeros((256, 257), np.uint8)))


@pytest.mark.parametrize("content", [b"", b"\x89PNG\r\n\x1a\n", b"hello"])
def test_that_a_broken_picture_is_refused_by_its_name(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "0.png").write_bytes(content)
    with pytest.raises(DataError, match=r"0\.png"):
        read_image_folder(tmp_path)


def test_that_a_folder_without_pictures_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no pictures"):
        read_image_folder(tmp_path)
