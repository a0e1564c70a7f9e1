from __future__ import annotations

import contextlib
import struct
import tempfile
import zlib
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from hypothesis import given, settings
from hypothesis import strategies as st

from slide_gui.data.errors import DataError
from slide_gui.data.readers import matlab
from slide_gui.data.readers.matlab import read_mat


@pytest.mark.parametrize("packed", [False, True])
def test_that_arrays_are_read_by_their_names(tmp_path: Path, packed: bool) -> None:
    x = np.random.default_rng(0).random((7, 64))
    scipy.io.savemat(
        tmp_path / "x.mat", {"X": x, "y": np.arange(7), "note": "text", "s": {"a": 1}}, do_compression=packed
    )
    (part,) = read_mat(tmp_path / "x.mat")
    assert np.array_equal(part.rows, x)
    assert part.labels is not None
    assert part.labels.tolist() == list(range(7))
    assert part.image_shape == (8, 8)


def test_that_version_7_3_is_refused_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "x.mat").write_bytes(b"MATLAB 7.3 MAT-file, Platform: x".ljust(512) + b"\x89HDF\r\n\x1a\n")
    with pytest.raises(DataError, match="save it with -v7"):
        read_mat(tmp_path / "x.mat")


def test_that_a_truncated_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.mat"
    scipy.io.savemat(path, {"X": np.random.default_rng(0).random((7, 64)), "y": np.arange(7)}, do_compression=True)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(DataError):
        read_mat(path)


@pytest.mark.parametrize("packed", [False, True])
def test_that_an_array_claiming_ten_gigabytes_is_refused(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / "x.mat"
    scipy.io.savemat(path, {"X": np.ones((5, 64))})
    content = path.read_bytes()
    at = content.index(struct.pack("<ii", 5, 64))
    content = content[:at] + struct.pack("<ii", 1_250_000, 1000) + content[at + 8 :]
    if packed:
        body = zlib.compress(content[128:])
        content = content[:128] + struct.pack("<II", 15, len(body)) + body
    path.write_bytes(content)
    with pytest.raises(DataError, match="claims 1250000000 bytes"):
        read_mat(path)


def test_that_a_name_that_is_longer_than_its_array_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "x.mat"
    scipy.io.savemat(path, {"X_train": np.zeros((5, 64), np.uint8)})
    content = path.read_bytes()
    at = content.index(struct.pack("<II", 1, 7))
    path.write_bytes(content[: at + 4] + struct.pack("<I", 1000) + content[at + 8 :])
    with pytest.raises(DataError, match="is a damaged MATLAB file"):
        read_mat(path)


@settings(max_examples=200)
@given(st.binary(min_size=1, max_size=24), st.integers(100, 900), st.booleans())
def test_that_damaged_bytes_raise_nothing_but_data_errors(noise: bytes, at: int, packed: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.mat"
        scipy.io.savemat(path, {"X": np.eye(9), "y": np.arange(9)}, do_compression=packed)
        content = bytearray(path.read_bytes())
        at %= len(content)
        content[at : at + len(noise)] = noise
        path.write_bytes(bytes(content))
        with contextlib.suppress(DataError):
            read_mat(path)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("dtype", ["f8", "f4", "u1", "i2", "u4", "i8"])
def test_that_numbers_of_every_width_equal_those_of_scipy(tmp_path: Path, dtype: str, packed: bool) -> None:
    path = tmp_path / "x.mat"
    images = (np.random.default_rng(0).random((5, 6, 7)) * 100).astype(dtype)
    scipy.io.savemat(
        path, {"images": images, "labels": np.arange(5)[:, None], "z": np.ones(3) * 1j}, do_compression=packed
    )
    (part,) = read_mat(path)
    assert np.array_equal(part.rows, scipy.io.loadmat(path)["images"].reshape(5, 42))
    assert part.image_shape == (6, 7)
    assert part.labels is not None
    assert part.labels.tolist() == [0, 1, 2, 3, 4]


def test_that_the_other_order_of_bytes_is_read(tmp_path: Path) -> None:
    body = struct.pack(">IIII", 6, 8, 6, 0) + struct.pack(">IIii", 5, 8, 2, 64)
    body += struct.pack(">HH4s", 1, 1, b"X") + struct.pack(">II", 2, 128) + bytes(range(128))
    content = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack(">H", 0x0100) + b"MI"
    (tmp_path / "x.mat").write_bytes(content + struct.pack(">II", 14, len(body)) + body)
    (part,) = read_mat(tmp_path / "x.mat")
    assert part.rows[1, :3].tolist() == [1.0, 3.0, 5.0]


@settings(max_examples=60)
@given(
    st.lists(st.text("abcäß -", min_size=1, max_size=6).filter(str.strip), min_size=1, max_size=9),
    st.sampled_from(["cells", "cells in a row", "letters"]),
    st.booleans(),
)
def test_that_labels_in_text_keep_the_names_of_the_classes(texts: list[str], kind: str, packed: bool) -> None:
    labels = np.array(texts) if kind == "letters" else np.array(texts, dtype=object)
    labels = labels[:, None] if kind == "cells" else labels
    with tempfile.TemporaryDirectory() as folder:
        rows = np.random.default_rng(0).random((len(texts), 5))
        scipy.io.savemat(Path(folder) / "x.mat", {"X": rows, "y": labels, "note": "text"}, do_compression=packed)
        (part,) = read_mat(Path(folder) / "x.mat")
    wanted = [text.strip() for text in texts]
    assert part.label_names == tuple(sorted(set(wanted)))
    assert [part.label_names[code] for code in part.labels] == wanted
    assert np.array_equal(part.rows, rows)


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (np.array(["a", 2.0], dtype=object), "cells that are not text"),
        (np.array([["a", "b"], ["c", "d"]], dtype=object), "shape 2 × 2, expected a vector"),
        (np.array(["a", "", "c"], dtype=object), "label of row 2 is missing"),
        (np.array(["a", "b"], dtype=object), "3 rows but y 2 labels"),
    ],
)
def test_that_texts_that_are_no_labels_are_refused(tmp_path: Path, labels: np.ndarray, said: str) -> None:
    scipy.io.savemat(tmp_path / "x.mat", {"X": np.ones((3, 5)), "y": labels})
    with pytest.raises(DataError, match=said):
        read_mat(tmp_path / "x.mat")


@settings(max_examples=150)
@given(st.integers(0, 10**6), st.binary(min_size=1, max_size=4), st.booleans(), st.booleans())
def test_that_damaged_files_of_texts_raise_nothing_but_data_errors(
    at: int, fault: bytes, packed: bool, letters: bool
) -> None:
    labels = np.array(["one", "two", "three"], dtype=None if letters else object)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.mat"
        scipy.io.savemat(path, {"X": np.ones((3, 5)), "y": labels}, do_compression=packed)
        content = bytearray(path.read_bytes())
        at = 128 + at % (len(content) - 128)
        content[at : at + len(fault)] = fault
        path.write_bytes(content)
        with contextlib.suppress(DataError):
            read_mat(path)


def test_that_packed_labels_that_unpack_to_much_text_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matlab, "_MOST_TEXT", 1 << 20)
    path = tmp_path / "x.mat"
    for letters, fits in ((300_000, True), (400_000, False)):
        labels = np.array([kind * letters for kind in "abc"])
        scipy.io.savemat(path, {"X": np.ones((3, 5)), "y": labels}, do_compression=True)
        if fits:
            assert [len(name) for name in read_mat(path)[0].label_names] == [letters] * 3
            continue
        with pytest.raises(DataError, match="y: has more than 1 MiB of text, too much for class names"):
            read_mat(path)


def test_that_texts_that_would_take_much_memory_as_an_array_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels = np.array(["a", "b" * 300, "c"], dtype=object)
    scipy.io.savemat(tmp_path / "x.mat", {"X": np.ones((3, 5)), "y": labels})
    monkeypatch.setattr(matlab, "_MOST_TEXT", 1000)
    assert read_mat(tmp_path / "x.mat")[0].label_names[0] == "a"
    monkeypatch.setattr(matlab, "_MOST_TEXT", 899)
    with pytest.raises(DataError, match="a text of 300 letters among 3, too long for class names"):
        read_mat(tmp_path / "x.mat")
