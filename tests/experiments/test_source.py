import os

import numpy as np
import pytest

from slide_gui.data.entries import entries
from slide_gui.data.errors import DataError
from slide_gui.experiments.files.source import DataSource, read_image


@pytest.mark.parametrize(
    "source",
    [
        *[DataSource(key=entry.key) for entry in entries()],
        DataSource(key="rectangles", generated=True),
        DataSource(key="convex", seed=7, generated=True),
        DataSource(paths=("a.amat",)),
        DataSource(paths=("a.amat", "b.amat")),
    ],
)
def test_that_an_argument_reads_back_as_the_source_it_came_from(source):
    assert DataSource.parse(source.argument, source.seed) == source


def test_that_generated_data_are_generated_even_where_real_files_are_found(tmp_path, monkeypatch):
    (tmp_path / "rectangles.zip").write_bytes(b"not even a zip")
    monkeypatch.setenv("SLIDE_GUI_DATA", str(tmp_path))
    data = DataSource.parse("generated:rectangles").load()
    assert data.generated
    assert data.train.shape == (1200, 784)
    assert np.unique(data.train).tolist() == [0.0, 1.0]


def test_that_several_files_are_joined_by_the_systems_separator():
    assert DataSource.of(["x.csv", "y.csv"]).argument == f"x.csv{os.pathsep}y.csv"


def test_that_a_number_beyond_float32_is_refused_without_a_warning(tmp_path):
    (tmp_path / "x.txt").write_text("0 1e300")
    with pytest.raises(DataError, match="some that are not finite"):
        read_image(tmp_path / "x.txt")
