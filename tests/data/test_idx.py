from __future__ import annotations

import contextlib
import gzip
import struct
import tempfile
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from slide_gui.data.errors import DataError
from slide_gui.data.readers.idx import read_idx
from slide_gui.progress import Cancelled
from tests.data.writers import IDX_TYPES, CancelAfter, idx_bytes, write_idx


@settings(max_examples=25)
@given(
    st.sampled_from(sorted(IDX_TYPES)).flatmap(
        lambda name: hnp.arrays(name, hnp.array_shapes(min_dims=1, max_dims=3, max_side=4))
    ),
    st.sampled_from(["x", "x.gz"]),
)
def test_that_written_arrays_come_back_packed_or_not(array: np.ndarray, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = read_idx(write_idx(Path(folder) / name, array))
    assert found.dtype == array.dtype
    assert np.array_equal(found, array, equal_nan=array.dtype.kind == "f")


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_that_a_truncated_file_is_refused_with_its_sizes(tmp_path: Path, suffix: str) -> None:
    content = idx_bytes(np.arange(10 * 28 * 28, dtype=np.float64).astype(np.uint8).reshape(10, 28, 28))[:-5]
    path = tmp_path / f"x{suffix}"
    path.write_bytes(gzip.compress(content) if suffix else content)
    with pytest.raises(DataError, match="7840 bytes") as caught:
        read_idx(path)
    assert "7835" in str(caught.value)


def test_that_a_truncated_gzip_stream_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(idx_bytes(np.random.default_rng(0).integers(0, 255, (50, 99), np.uint8)))[:-700])
    with pytest.raises(DataError, match="truncated gzip"):
        read_idx(path)


def test_that_bytes_behind_the_data_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(idx_bytes(np.zeros((5, 4), np.uint8)) + b"\0"))
    with pytest.raises(DataError, match=r"declares 20 bytes .* but more follow; it is damaged"):
        read_idx(path)


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_that_a_claim_of_ten_gigabytes_is_refused_before_allocation(tmp_path: Path, suffix: str) -> None:
    content = bytes((0, 0, 8, 3)) + struct.pack(">3I", 12_755_103, 28, 28) + b"\0" * 1000
    path = tmp_path / f"x{suffix}"
    path.write_bytes(gzip.compress(content) if suffix else content)
    tracemalloc.start()
    with pytest.raises(DataError, match="claims 10000000752 bytes"):
        read_idx(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5e6


@pytest.mark.parametrize(
    "content", [b"", b"\0\0\x08", b"\0\0\x07\x01\0\0\0\1x", b"\0\0\x08\x03\0\0\0\1", b"\0\0\x08\x01\0\0\0\0"]
)
def test_that_a_broken_header_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(DataError):
        read_idx(path)


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_that_arrays_of_one_to_four_axes_are_read_and_no_others(tmp_path: Path, suffix: str) -> None:
    for axes in (1, 2, 3, 4):
        array = np.arange(2, dtype=np.uint8).reshape(2, *[1] * (axes - 1))
        assert np.array_equal(read_idx(write_idx(tmp_path / f"x{suffix}", array)), array)
    for axes in (0, 5):
        path = write_idx(tmp_path / f"x{suffix}", np.ones((1,) * axes, np.uint8))
        with pytest.raises(DataError, match=f"begins with 00 00 08 0{axes}, expected an IDX header"):
            read_idx(path)


@settings(max_examples=60)
@given(st.binary(max_size=80), st.booleans())
def test_that_random_bytes_raise_nothing_but_data_errors(data: bytes, packed: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        path.write_bytes(gzip.compress(b"\0\0\x08\x02" + data)[: len(data) + 30] if packed else b"\0\0" + data)
        with contextlib.suppress(DataError):
            read_idx(path)


def test_that_reading_can_be_cancelled(tmp_path: Path) -> None:
    path = write_idx(tmp_path / "x", np.zeros((3000, 28, 28), np.uint8))
    with pytest.raises(Cancelled):
        read_idx(path, progress=CancelAfter(2))
