"""Arrays of MATLAB files equal those that SciPy reads."""

from __future__ import annotations

import struct
import tempfile
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from hypothesis import given, settings
from hypothesis import strategies as st

from slide_gui.data.errors import DataError
from slide_gui.data.readers import matlab
from slide_gui.data.readers.matlab import read_mat
from tests.data.writers import mat_bytes, write


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("dtype", ["f8", "f4", "u1", "i2", "u4", "i8"])
def test_that_numbers_of_every_type_equal_those_of_scipy(tmp_path: Path, dtype: str, packed: bool) -> None:
    images = (np.random.default_rng(0).random((5, 6, 7)) * 100).astype(dtype)
    others = {"labels": np.arange(5)[:, None], "z": np.ones(3) * 1j, "note": "text", "s": {"a": 1}}
    path = write(tmp_path / "x.mat", mat_bytes(packed, images=images, **others))
    (part,) = read_mat(path)
    assert np.array_equal(part.rows, scipy.io.loadmat(path)["images"].reshape(5, 42))
    assert part.image_shape == (6, 7)
    assert part.labels.tolist() == [0, 1, 2, 3, 4]


def element(kind: int, content: bytes) -> bytes:
    return struct.pack(">II", kind, len(content)) + content + b"\0" * (-len(content) % 8)


@pytest.mark.parametrize("name", [element(1, b"X"), struct.pack(">HH4s", 1, 1, b"X")])
@pytest.mark.parametrize(("kind", "dtype"), [(9, ">f8"), (2, "u1")])
def test_that_the_other_byte_order_is_read(tmp_path: Path, name: bytes, kind: int, dtype: str) -> None:
    numbers = np.arange(45.0).reshape(5, 9)
    inner = element(6, struct.pack(">II", 6, 0)) + element(5, struct.pack(">ii", 5, 9)) + name
    inner += element(kind, numbers.astype(dtype).tobytes(order="F"))
    header = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x01\x00MI"
    (part,) = read_mat(write(tmp_path / "x.mat", header + element(14, inner)))
    np.testing.assert_array_equal(part.rows, numbers)


@settings(max_examples=60)
@given(
    st.lists(st.text("abcäß -", min_size=1, max_size=6).filter(str.strip), min_size=1, max_size=9),
    st.sampled_from(["cells", "cells in a row", "letters"]),
    st.booleans(),
)
def test_that_labels_in_text_keep_the_names_of_the_classes(texts: list[str], kind: str, packed: bool) -> None:
    labels = np.array(texts) if kind == "letters" else np.array(texts, dtype=object)
    labels = labels[:, None] if kind == "cells" else labels
    rows = np.random.default_rng(0).random((len(texts), 5))
    with tempfile.TemporaryDirectory() as folder:
        (part,) = read_mat(write(Path(folder) / "x.mat", mat_bytes(packed, X=rows, y=labels, note="text")))
    names = [text.strip() for text in texts]
    assert part.label_names == tuple(sorted(set(names)))
    assert [part.label_names[code] for code in part.labels] == names
    assert np.array_equal(part.rows, rows)


def test_that_compressed_labels_with_too_much_text_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matlab, "_MOST_TEXT", 1 << 20)
    path = tmp_path / "x.mat"
    write(path, mat_bytes(True, X=np.ones((3, 5)), y=np.array([kind * 300_000 for kind in "abc"])))
    assert [len(name) for name in read_mat(path)[0].label_names] == [300_000] * 3
    write(path, mat_bytes(True, X=np.ones((3, 5)), y=np.array([kind * 400_000 for kind in "abc"])))
    with pytest.raises(DataError, match="y: has more than 1 MiB of text, too much for class names"):
        read_mat(path)


def test_that_long_texts_among_many_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    labels = np.array(["a", "b" * 300, "c"], dtype=object)
    path = write(tmp_path / "x.mat", mat_bytes(X=np.ones((3, 5)), y=labels))
    monkeypatch.setattr(matlab, "_MOST_TEXT", 1000)
    assert read_mat(path)[0].label_names[0] == "a"
    monkeypatch.setattr(matlab, "_MOST_TEXT", 899)
    with pytest.raises(DataError, match="a text of 300 letters among 3, too long for class names"):
        read_mat(path)
