"""Rows that stay in their files: what is read, and what is refused in one sentence."""

import json
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr

from slide_gui.data import lazy as lazy_module
from slide_gui.data.errors import DataError
from slide_gui.data.lazy import is_lazy, open_lazy
from slide_gui.data.reading import ParseOptions

pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")  # Dask's own, of pandas

IMAGES = np.random.default_rng(0).random((300, 4, 5)).astype("float32")


@pytest.fixture
def stored(tmp_path):
    """Return a folder of the arrays and tables of these tests."""
    root = tmp_path / "stored"
    root.mkdir()
    for name, values, chunks in (
        ("flat.zarr", IMAGES.reshape(300, 20), (70, 7)),
        ("images.zarr", IMAGES, (50, 2, 5)),
        ("line.zarr", IMAGES[:, 0, 0], (50,)),
        ("empty.zarr", IMAGES[:0], (50, 4, 5)),
        ("group.zarr/rows", IMAGES.reshape(300, 20), (70, 20)),
    ):
        zarr.create_array(str(root / name), shape=values.shape, chunks=chunks, dtype=values.dtype)[...] = values
    zarr.open_group(str(root / "group.zarr"), mode="a")
    (root / "bad.zarr").mkdir()
    (root / "bad.zarr" / "zarr.json").write_text("{")
    columns = {f"x{i}": IMAGES.reshape(300, 20)[:, i] for i in range(4)}
    words = {"word": ["a", "b", "c"] * 100, "class": np.arange(300) % 3, "lit": IMAGES[:, 0, 0] > 0.5}
    table = pa.table({**columns, **words})
    pq.write_table(table, root / "one.parquet", row_group_size=100)
    (root / "many.parquet").mkdir()
    for part in range(3):
        pq.write_table(table.slice(100 * part, 100), root / "many.parquet" / f"part-{part}.parquet")
    pq.write_table(pa.table({"word": ["a", "b"]}), root / "words.parquet")
    (root / "text.parquet").write_text("no table")
    return root


def computed(rows):
    return rows.train.compute(scheduler="synchronous")


def test_that_a_name_says_whether_rows_stay_in_their_files():
    assert is_lazy("zarr:///data/a")
    assert is_lazy("parquet://b")
    assert not is_lazy("a.zarr")
    with pytest.raises(DataError, match="expected zarr://PATH or parquet://PATH"):
        open_lazy("a.zarr")


@pytest.mark.parametrize("name", ["flat.zarr", "group.zarr/rows"])
def test_that_a_zarr_array_is_read_in_chunks_of_whole_rows(monkeypatch, stored, name):
    monkeypatch.setattr(lazy_module, "_CHUNK", 3 * 70 * 80)
    rows = open_lazy(f"zarr://{stored / name}")
    assert rows.train.chunks == ((210, 90), (20,))
    assert (rows.image_shape, rows.feature_names) == (None, ())
    np.testing.assert_array_equal(computed(rows), IMAGES.reshape(300, 20))


def test_that_images_in_a_zarr_array_become_rows_of_pixels(stored):
    rows = open_lazy(f"zarr://{stored / 'images.zarr'}")
    assert (rows.name, rows.image_shape, rows.train.shape) == ("images", (4, 5), (300, 20))
    np.testing.assert_array_equal(computed(rows), IMAGES.reshape(300, 20))
    assert open_lazy(f"zarr://{stored / 'images.zarr'}", ParseOptions(shape=())).image_shape is None
    assert open_lazy(f"zarr://{stored / 'flat.zarr'}", ParseOptions(shape=(5, 4))).image_shape == (5, 4)


@pytest.mark.parametrize("name", ["one.parquet", "many.parquet"])
@pytest.mark.parametrize("chunk", [1, 32 << 20])
def test_that_the_numbers_of_a_parquet_table_are_read_without_its_labels_and_text(monkeypatch, stored, name, chunk):
    monkeypatch.setattr(lazy_module, "_CHUNK", chunk)
    rows = open_lazy(f"parquet://{stored / name}")
    assert rows.feature_names == ("x0", "x1", "x2", "x3", "lit")
    assert rows.train.dtype == np.float32
    assert sum(rows.train.chunks[0]) == 300
    assert chunk > 1 or rows.train.chunks[0] == (100, 100, 100)
    expected = np.column_stack([IMAGES.reshape(300, 20)[:, :4], IMAGES[:, 0, 0] > 0.5])
    np.testing.assert_array_equal(computed(rows), expected)


def test_that_label_and_other_columns_are_left_out_as_asked(stored):
    name = f"parquet://{stored / 'one.parquet'}"
    assert open_lazy(name, ParseOptions(label_column="x1", left_out=("1",))).feature_names == (
        "x2",
        "x3",
        "class",
        "lit",
    )
    assert "class" in open_lazy(name, ParseOptions(label_column="none")).feature_names


def test_that_a_missing_number_of_a_table_is_no_number(stored):
    table = pa.table({"a": pa.array([1, None, 3], pa.int64()), "b": [1.0, 2.0, 3.0]})
    pq.write_table(table, stored / "gap.parquet")
    rows = open_lazy(f"parquet://{stored / 'gap.parquet'}")
    assert rows.train.dtype == np.float64
    assert np.isnan(computed(rows)[1, 0])


@pytest.mark.parametrize(
    ("name", "reading", "words"),
    [
        ("zarr://absent.zarr", {}, "does not exist; check the path"),
        ("zarr://", {}, "does not exist"),
        ("zarr://group.zarr", {}, r"is a group of arrays \(rows\); give the path of one array, .*/NAME"),
        ("zarr://line.zarr", {}, r"is a 1-D array \(300,\) of float32, expected rows"),
        ("zarr://empty.zarr", {}, r"is a 3-D array \(0, 4, 5\)"),
        ("zarr://bad.zarr", {}, "cannot be read .*check its format"),
        ("zarr://one.parquet", {}, "cannot be read"),
        ("zarr://flat.zarr", {"label_column": "a"}, "is not a table with named columns"),
        ("zarr://flat.zarr", {"shape": (3, 3)}, "has 20 features, not 3 × 3 pixels"),
        ("zarr://flat.zarr", {"scaled": True}, "without scaling; remove that option"),
        ("zarr://flat.zarr", {"shape": (4, 5), "transposed": True}, "store the images row by row"),
        ("parquet://text.parquet", {}, "cannot be read .*check its format"),
        ("parquet://words.parquet", {}, "has no column of numbers except the labels; it has columns word"),
        (
            "parquet://one.parquet",
            {"label_column": "z"},
            "has no column 'z'; it has columns x0, x1, x2, x3, word, class",
        ),
        ("parquet://one.parquet", {"header": True}, "without a line of column names"),
    ],
)
def test_that_what_cannot_be_read_is_refused_in_one_line_with_its_place(monkeypatch, stored, name, reading, words):
    monkeypatch.chdir(stored)
    with pytest.raises(DataError, match=words) as refused:
        open_lazy(name, ParseOptions(**reading))
    assert str(refused.value).startswith(name)
    assert "\n" not in str(refused.value)


def test_that_more_features_than_a_scatter_has_memory_for_are_refused_before_anything_is_asked_for(stored):
    zarr.create_array(str(stored / "wide.zarr"), shape=(3, 2**31), chunks=(1, 1000), dtype="uint8")
    with pytest.raises(DataError, match=r"wide.zarr: the scatter of 2147483648 features needs .* use fewer features"):
        open_lazy(f"zarr://{stored / 'wide.zarr'}")


@pytest.mark.parametrize("place", ["compressor", "filters"])
def test_that_a_codec_that_could_run_what_a_file_holds_is_refused_before_anything_is_read(stored, place):
    name = stored / "pickled.zarr"
    zarr.create_array(str(name), shape=(2, 3), chunks=(2, 3), dtype="float32", zarr_format=2, compressors=None)
    (name / "0.0").write_bytes(b"cos\nsystem\n(S'echo ran > ran.txt'\ntR.")
    metadata = json.loads((name / ".zarray").read_text())
    codec = {"id": "pickle", "protocol": 5}
    (name / ".zarray").write_text(json.dumps(metadata | {place: [codec] if place == "filters" else codec}))
    with pytest.raises(DataError, match=r"uses the codec pickle, which is not accepted|cannot be read"):
        open_lazy(f"zarr://{name}")


def test_that_any_usual_packing_is_read_and_shards_are_read_whole(stored):
    for number, how in enumerate(
        ({"zarr_format": 2}, {"zarr_format": 3}, {"shards": (140, 20)}, {"compressors": None})
    ):
        name = str(stored / f"packed-{number}.zarr")
        array = zarr.create_array(name, shape=(300, 20), chunks=(70, 20), dtype="float32", **how)
        array[...] = IMAGES.reshape(300, 20)
        rows = open_lazy(f"zarr://{name}")
        assert rows.train.chunks[0] == (300,)
        np.testing.assert_array_equal(computed(rows), IMAGES.reshape(300, 20))


def test_that_equal_files_have_equal_fingerprints_wherever_they_stand_and_others_another(stored):
    def fingerprint(name):
        return open_lazy(f"zarr://{stored / name}").fingerprint

    for name in ("again.zarr", "other.zarr"):
        array = zarr.create_array(str(stored / name), shape=(300, 20), chunks=(70, 7), dtype="float32")
        array[...] = IMAGES.reshape(300, 20)
    zarr.open(str(stored / "other.zarr"))[299, 19] = 7.0
    assert fingerprint("again.zarr") == fingerprint("flat.zarr")
    assert fingerprint("other.zarr") != fingerprint("flat.zarr")
    assert len(open_lazy(f"parquet://{stored / 'one.parquet'}").fingerprint) == 64


def test_that_beginning_and_end_of_each_file_are_part_of_its_fingerprint(stored):
    def packed(first, last):
        rows = np.zeros((4000, 4))
        rows[0, 0], rows[-1, -1] = first, last
        table = pa.table({f"x{i}": rows[:, i] for i in range(4)})
        pq.write_table(table, stored / "wide.parquet", compression="none", use_dictionary=False, write_statistics=False)
        return open_lazy(f"parquet://{stored / 'wide.parquet'}").fingerprint

    assert len({packed(1.0, 1.0), packed(2.0, 1.0), packed(1.0, 2.0)}) == 3
    assert packed(1.0, 1.0) == packed(1.0, 1.0)


def test_that_the_names_of_the_files_of_a_table_are_part_of_its_fingerprint(stored):
    table = stored / "many.parquet"
    before = open_lazy(f"parquet://{table}").fingerprint
    (table / "part-2.parquet").rename(table / "part-3.parquet")
    assert open_lazy(f"parquet://{table}").fingerprint != before


def test_that_what_is_missing_is_named_with_what_installs_it(stored, monkeypatch):
    monkeypatch.setitem(sys.modules, "zarr", None)
    with pytest.raises(ValueError, match=r"zarr is not installed: pip install 'slide-gui\[cluster\]'"):
        open_lazy(f"zarr://{stored / 'flat.zarr'}")
