"""IDX files are read in native byte order, compressed or not."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from slide_gui.data.errors import DataError
from slide_gui.data.readers.idx import read_idx
from slide_gui.progress import Cancelled
from tests.data.writers import IDX_TYPES, CancelAfter, write_idx


@settings(max_examples=25)
@given(
    st.sampled_from(sorted(IDX_TYPES)).flatmap(
        lambda name: hnp.arrays(name, hnp.array_shapes(min_dims=1, max_dims=4, max_side=4))
    ),
    st.sampled_from(["x", "x.gz"]),
)
def test_that_written_arrays_are_read_back(array: np.ndarray, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        values = read_idx(write_idx(Path(folder) / name, array))
    assert values.dtype == array.dtype
    assert np.array_equal(values, array, equal_nan=array.dtype.kind == "f")


@pytest.mark.parametrize("name", ["x", "x.gz"])
@pytest.mark.parametrize("axes", [0, 5])
def test_that_arrays_have_one_to_four_axes(tmp_path: Path, name: str, axes: int) -> None:
    with pytest.raises(DataError, match=f"begins with 00 00 08 0{axes}, expected an IDX header"):
        read_idx(write_idx(tmp_path / name, np.ones((1,) * axes, np.uint8)))


def test_that_reading_can_be_cancelled(tmp_path: Path) -> None:
    path = write_idx(tmp_path / "x", np.zeros((3000, 28, 28), np.uint8))
    with pytest.raises(Cancelled):
        read_idx(path, progress=CancelAfter(2))
