from __future__ import annotations

import contextlib
import io
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from slide_gui.data import limits
from slide_gui.data.errors import DataError
from slide_gui.data.open import open_data
from slide_gui.data.readers.arrays import read_npy, read_npz
from tests.data.writers import write_zip


@settings(max_examples=25)
@given(
    hnp.arrays(
        st.sampled_from([np.uint8, np.int32, np.float32, np.float64, ">f4"]),
        hnp.array_shapes(min_dims=2, max_dims=3, max_side=5),
    ),
    st.booleans(),
    st.booleans(),
)
def test_that_written_arrays_come_back(array: np.ndarray, fortran: bool, zipped: bool) -> None:
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


def test_that_a_member_without_a_name_is_passed_over(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", X=np.ones((4, 64)), z=np.ones(3))
    content = bytearray((tmp_path / "x.npz").read_bytes())
    at = content.rindex(b"PK\x01\x02")  # the directory's entry of the last member
    name = int.from_bytes(content[at + 28 : at + 30], "little")
    content[at + 28 : at + 32] = bytes((0, 0, name, 0))  # its name is said to be something else
    content[at + 46 : at + 46 + name] = bytes(name)
    (tmp_path / "x.npz").write_bytes(bytes(content))
    (part,) = read_npz(tmp_path / "x.npz")
    assert part.rows.shape == (4, 64)


def test_that_arrays_that_fit_one_by_one_are_refused_if_they_do_not_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez(tmp_path / "x.npz", X_train=np.ones((100, 64)), X_test=np.ones((100, 64)))
    monkeypatch.setattr(limits, "memory_limit", lambda: 80_000)
    with pytest.raises(DataError, match=r"more than the .* this machine can spare"):
        read_npz(tmp_path / "x.npz")
    np.savez(tmp_path / "x.npz", X_train=np.ones((100, 64)), X_test=np.ones((50, 64)))
    assert len(read_npz(tmp_path / "x.npz")) == 2


@pytest.mark.parametrize(
    ("names", "roles"),
    [
        (("X_train", "y_train", "X_test", "y_test"), {"train", "test"}),
        (("x_train", "y_train", "x_test", "y_test"), {"train", "test"}),
        (("train_images", "train_labels", "test_images", "test_labels"), {"train", "test"}),
        (("X", "y", "other", "more"), {"train"}),
        (("images", "labels", "other", "more"), {"train"}),
        (("data", "target", "other", "more"), {"train"}),
    ],
)
def test_that_the_customary_names_are_understood(tmp_path: Path, names: tuple[str, ...], roles: set[str]) -> None:
    arrays = [np.ones((6, 64)), np.arange(6), np.zeros((4, 64)), np.arange(4)]
    np.savez(tmp_path / "x.npz", **dict(zip(names, arrays, strict=True)))
    parts = {part.role: part for part in read_npz(tmp_path / "x.npz")}
    assert set(parts) == roles
    assert parts["train"].labels is not None
    assert parts["train"].labels.tolist() == [0, 1, 2, 3, 4, 5]
    assert parts["train"].image_shape == (8, 8)


def test_that_python_objects_are_never_read(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([{}, []], dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match="Python objects"):
        read_npy(tmp_path / "x.npy")


def _npy(shape: tuple[int, ...], content: bytes, descr: str = "<f8") -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": descr, "fortran_order": False, "shape": shape})
    return stream.getvalue() + content


@pytest.mark.parametrize("zipped", [False, True])
def test_that_a_header_claiming_ten_gigabytes_is_refused(tmp_path: Path, zipped: bool) -> None:
    content = _npy((1_250_000, 1000), b"\0" * 800)
    path = tmp_path / "x.npy"
    path.write_bytes(content)
    with pytest.raises(DataError, match="10000000000 bytes"):
        read_npz(write_zip(tmp_path / "x.npz", {"X.npy": content})) if zipped else read_npy(path)


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"X": np.ones((5, 9)), "y": np.arange(4)}, "5 rows but y 4 labels"),
        ({"X": np.ones((2, 9)), "y": np.array([0.5, 1])}, "expected an integer"),
        ({"X": np.ones((2, 9)), "y": np.array([np.nan, 1])}, r"label of row 1 is missing \(nan\)"),
        ({"X": np.ones((2, 9)), "x": np.ones((2, 9))}, "both"),
        ({"X": np.ones(9), "y": np.ones(9)}, "shape 9"),
        ({"X": np.ones((2, 4, 4, 3)), "y": np.ones(2)}, "grey images"),
        ({"a": np.ones((2, 9)), "b": np.ones(2)}, "name the arrays X and y"),
        ({"X": np.ones((2, 9), complex), "y": np.ones(2)}, "real numbers"),
        ({"X": np.ones((0, 9)), "y": np.ones(0)}, "shape 0 × 9"),
    ],
)
def test_that_arrays_that_make_no_data_set_are_refused(
    tmp_path: Path, arrays: dict[str, np.ndarray], said: str
) -> None:
    np.savez(tmp_path / "x.npz", **arrays)
    with pytest.raises(DataError, match=said):
        open_data([tmp_path / "x.npz"])


@settings(max_examples=60)
@given(st.binary(max_size=120), st.integers(0, 200))
def test_that_damaged_bytes_raise_nothing_but_data_errors(noise: bytes, at: int) -> None:
    content = bytearray(_npy((2, 8), bytes(128)))
    content[at : at + len(noise)] = noise
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.npy"
        path.write_bytes(bytes(content))
        with contextlib.suppress(DataError):
            read_npy(path)
        write_zip(path.with_suffix(".npz"), {"X.npy": bytes(content)})
        archive = bytearray(path.with_suffix(".npz").read_bytes())
        archive[at : at + len(noise)] = noise
        path.with_suffix(".npz").write_bytes(bytes(archive))
        with contextlib.suppress(DataError):
            read_npz(path.with_suffix(".npz"))


@settings(max_examples=60)
@given(
    st.lists(st.text("abcä ß-", min_size=1, max_size=6).filter(str.strip), min_size=1, max_size=12),
    st.booleans(),
    st.booleans(),
)
def test_that_labels_in_text_keep_the_names_of_the_classes(texts: list[str], column: bool, packed: bool) -> None:
    labels = np.array(texts)
    labels = labels[:, None] if column else labels
    with tempfile.TemporaryDirectory() as folder:
        save = np.savez_compressed if packed else np.savez
        save(Path(folder) / "x.npz", X=np.ones((len(texts), 5)), y=labels)
        (part,) = read_npz(Path(folder) / "x.npz")
    wanted = [text.strip() for text in texts]
    assert part.label_names == tuple(sorted(set(wanted)))
    assert [part.label_names[code] for code in part.labels] == wanted


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (np.array(["a", " ", "b"]), "label of row 2 is missing"),
        (np.array([b"a", b"\xff", b"b"]), "labels that are not UTF-8 text"),
        (np.frombuffer(np.array([65, 0x7FFFFFFF, 66], "<u4").tobytes(), "<U1"), "labels that are not UTF-8 text"),
        (np.array(["a", "b"]), "3 rows but y 2 labels"),
        (np.array(["a", "b", None], dtype=object), "Python objects, which are never read"),
    ],
)
def test_that_labels_that_are_no_classes_are_refused(tmp_path: Path, labels: np.ndarray, said: str) -> None:
    np.savez(tmp_path / "x.npz", X=np.ones((3, 5)), y=labels)
    with pytest.raises(DataError, match=said):
        read_npz(tmp_path / "x.npz")


def test_that_text_is_of_unicode_letters_to_the_last_one_and_of_no_halves_of_pairs(tmp_path: Path) -> None:
    def read(code: int) -> str:
        np.savez(tmp_path / "x.npz", X=np.ones((2, 5)), y=np.frombuffer(np.array([65, code], "<u4").tobytes(), "<U1"))
        return read_npz(tmp_path / "x.npz")[0].label_names[1]

    for code in (0xD7FF, 0xE000, 0x10FFFF):
        assert read(code) == chr(code)
    for code in (0xD800, 0xDFFF, 0x110000):
        with pytest.raises(DataError, match="labels that are not UTF-8 text"):
            read(code)


def test_that_rows_in_text_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", X=np.array([["a", "b"]]), y=np.array(["c"]))
    with pytest.raises(DataError, match="expected real numbers"):
        read_npz(tmp_path / "x.npz")
