from __future__ import annotations

import contextlib
import io
import os
import time
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from slide_gui.data.errors import DataError
from slide_gui.data.open import open_data
from slide_gui.data.readers import tables
from slide_gui.data.readers.amat import read_amat, read_amat_zip
from slide_gui.data.readers.parts import DataPart
from slide_gui.data.readers.tables import decode, read_table
from slide_gui.progress import Cancelled
from tests.data.writers import CancelAfter, amat_text, write_amat, write_zip

REAL = os.environ.get("SLIDE_GUI_DATA")
REAL_ZIP = Path(REAL or ".") / "rectangles" / "rectangles.zip"


def table_of(text: str | bytes) -> tables.Table:
    data = text.encode() if isinstance(text, str) else text
    return read_table(io.BytesIO(data), len(data), "here")


def by_python(text: str) -> np.ndarray:
    """The reference: every number through float(), one by one."""
    return np.array([[float(cell) for cell in line.split()] for line in text.splitlines() if line.strip()])


def test_that_zeros_and_ones_are_read_as_written(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    rows, labels = random.integers(0, 2, (300, 784)), random.integers(0, 2, 300)
    part = read_amat(write_amat(tmp_path / "a_train.amat", rows, labels))
    assert part.rows.dtype == np.float32
    assert np.array_equal(part.rows, rows)
    assert part.labels is not None
    assert np.array_equal(part.labels, labels)
    assert part.image_shape == (28, 28)
    assert part.role == "train"


def test_that_any_values_equal_float_of_their_text_bit_for_bit() -> None:
    random = np.random.default_rng(1)
    values = random.normal(size=(200, 17)) * 10.0 ** random.integers(-12, 12, (200, 17))
    values[::7] = random.random((29, 17))
    values[3, 4], values[3, 5] = -0.0, 1e-30
    text = amat_text(values[:, :16], values[:, 16])
    table = table_of(text)
    got = np.column_stack([table.rows, table.column]).astype(np.float64)
    assert got.tobytes() == by_python(text).tobytes()


def test_that_every_power_of_ten_is_read_as_float_reads_it() -> None:
    values = np.array([[sign * 1.2345678 * 10.0**k for k in range(-45, 38)] for sign in (1, -1)])
    text = amat_text(values, np.zeros(2))
    assert table_of(text).rows.tolist() == by_python(text)[:, :-1].tolist()


def test_that_numbers_are_decoded_to_the_last_bit_of_double_precision_at_every_power() -> None:
    cells = [f"{digits}e{k:+03d}".rjust(16) for digits in ("1.5433721", "5.6347005") for k in range(-45, 38)]
    line = np.frombuffer(("".join(cells) + "\n").encode(), np.uint8).reshape(1, -1)
    assert decode(line, len(cells)).tolist() == [[float(cell) for cell in cells]]  # type: ignore[union-attr]


@pytest.mark.parametrize("style", ["%16.7e", " %.7e"])
def test_that_the_largest_number_of_single_precision_is_read_and_what_rounds_beyond_is_not(style: str) -> None:
    line = "".join(style % value for value in (0.5, 3.4028235e38, -3.4028235e38, 1))
    assert table_of(line + "\n").rows.tolist() == [[0.5, np.finfo(np.float32).max, np.finfo(np.float32).min]]
    for beyond in (line.replace(" 3.4028235", " 3.4028236"), line.replace("-3.4028235", "-3.4028236")):
        with pytest.raises(DataError, match=r"found '-?3\.4028236e\+38', expected a finite number"):
            table_of(beyond + "\n")


def test_that_one_feature_and_a_label_make_a_row() -> None:
    table = table_of("0.5 1\n0.25 0\n")
    assert table.rows.tolist() == [[0.5], [0.25]]
    assert table.column.tolist() == [1, 0]


def test_that_a_blank_in_place_of_a_line_end_does_not_end_a_row() -> None:
    lines = amat_text(np.full((4, 16), 0.5), np.ones(4)).splitlines(keepends=True)
    with pytest.raises(DataError, match="line 2 has 34 numbers, expected 17"):
        table_of(lines[0] + lines[1].replace("\n", " ") + lines[2] + lines[3])


def test_that_the_fast_path_takes_the_benchmark_layout_and_only_that() -> None:
    good = b"".join(b"%16.7e" % v for v in (0.5, -1.25, 3e-9)) + b"\n"
    block = np.frombuffer(good, np.uint8).reshape(1, -1)
    assert decode(block, 3).tolist() == [[0.5, -1.25, 3e-9]]  # type: ignore[union-attr]
    for at in range(len(good)):
        for byte in b"x1 -.e\n":
            changed = bytearray(good)
            changed[at] = byte
            found = decode(np.frombuffer(bytes(changed), np.uint8).reshape(1, -1), 3)
            if found is not None:  # then it is what a parser of the text finds
                cells = [bytes(changed[16 * k : 16 * k + 16]) for k in range(3)]
                assert changed[-1:] == b"\n"
                assert [float(cell) for cell in cells] == found[0].tolist()


@settings(max_examples=40)
@given(
    hnp.arrays(
        np.float32,
        st.tuples(st.integers(1, 6), st.integers(5, 9)),
        elements=st.floats(width=32, allow_nan=False, allow_infinity=False),
    ),
    st.sampled_from(["%16.7e", " %.9g", "%25.16e", "%.9e "]),
)
def test_that_written_numbers_come_back(values: np.ndarray, style: str) -> None:
    text = "".join(" ".join(style % value for value in row) + "\n" for row in values)
    expected = by_python(text)
    with np.errstate(over="ignore"):
        fits = np.isfinite(expected.astype(np.float32)).all()
    if not fits:  # eight digits may round beyond float32
        with pytest.raises(DataError):
            table_of(text)
        return
    table = table_of(text)
    got = np.column_stack([table.rows, table.column]).astype(np.float64)
    assert got.tobytes() == expected.tobytes()


def test_that_rows_of_both_layouts_mix_across_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_BLOCK", 700)
    random = np.random.default_rng(2)
    values = np.round(random.random((90, 10)), 6)
    lines = amat_text(values[:, :9], values[:, 9]).splitlines(keepends=True)
    lines[40:50] = [" ".join(f"{v:.6f}" for v in row) + "\r\n" for row in values[40:50]]
    lines[60] = "\n" + lines[60]
    table = table_of("# a comment\n" + "".join(lines).rstrip("\n"))
    assert np.array_equal(table.rows, values[:, :9])
    assert np.array_equal(table.column, values[:, 9])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t.replace("   5.0000000e-01", "             NaN", 1), "line 1, column 1"),
        (lambda t: t.replace("   5.0000000e-01", "   1.0000000e+39", 1), "line 1, column 1"),
        (lambda t: t.replace("   5.0000000e-01", "   5.00x0000e-01", 1), "5.00x0000e-01"),
        (lambda t: t.replace("   5.0000000e-01", "   5_0000000e-01", 1), "line 1, column 1: found '5_0"),
        (lambda t: t[:-20], "line 30"),
        (lambda t: t + "1 2 3\n", "line 31 has 3 numbers, expected 17"),
        (lambda t: "", "no rows"),
        (lambda t: "\n \n", "no rows"),
        (lambda t: "1\n" * 5, "one column"),
    ],
)
def test_that_damaged_text_is_refused_with_its_place(tmp_path: Path, change, said: str) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "a.amat"
    path.write_text(change(amat_text(np.full((30, 16), 0.5), np.ones(30))))
    with pytest.raises(DataError, match=said) as caught:
        read_amat(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_that_labels_between_whole_numbers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"label of row 2 is 0\.5"):
        open_data([write_amat(tmp_path / "a.amat", np.zeros((3, 16)), np.array([0, 0.5, 1]))])


def test_that_both_members_of_a_zip_are_read_and_named(tmp_path: Path) -> None:
    text = amat_text(np.eye(16), np.arange(16))
    path = write_zip(tmp_path / "x.zip", {"x_train.amat": text, "50k/x_test.amat": text * 2, "readme.txt": "no"})
    parts = {part.role: part for part in read_amat_zip(path)}
    assert parts["train"].rows.shape == (16, 16)
    assert parts["test"].rows.shape == (32, 16)


def test_that_progress_over_the_members_of_a_zip_rises_from_nothing_to_one(tmp_path: Path) -> None:
    text = amat_text(np.eye(16), np.arange(16))
    path = write_zip(tmp_path / "x.zip", {"x_train.amat": text, "x_test.amat": text})
    listener = CancelAfter()
    read_amat_zip(path, progress=listener)
    assert listener.fractions == sorted(listener.fractions)
    assert 0.5 in listener.fractions
    assert (listener.fractions[0], listener.fractions[-1]) == (0.0, 1.0)


def _patched(path: Path, member: str, field: int, value: int) -> Path:
    """Overwrite a 32-bit size in the archive's directory (20: packed, 24: unpacked)."""
    content = bytearray(path.read_bytes())
    at = content.rindex(b"PK\x01\x02", 0, content.rindex(member.encode()))
    content[at + field : at + field + 4] = value.to_bytes(4, "little")
    path.write_bytes(bytes(content))
    return path


def test_that_a_member_claiming_gigabytes_is_refused_before_anything_is_allocated(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "x.zip", {"x_train.amat": amat_text(np.eye(16), np.arange(16))})
    _patched(path, "x_train.amat", 24, 0xFFFF_0000)
    tracemalloc.start()
    with pytest.raises(DataError, match="claims 4294901760 bytes"):
        read_amat_zip(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10e6


@pytest.mark.parametrize("off", [-100, 5000])
def test_that_a_member_of_another_size_than_declared_is_refused(tmp_path: Path, off: int) -> None:
    text = amat_text(np.eye(16), np.arange(16))
    path = _patched(write_zip(tmp_path / "x.zip", {"x_train.amat": text}), "x_train.amat", 24, len(text) + off)
    with pytest.raises(DataError, match=r"x\.zip, x_train\.amat"):
        read_amat_zip(path)


@settings(max_examples=60)
@given(st.binary(max_size=300) | st.text("0123456789.e-+ \nxN", max_size=300).map(str.encode))
def test_that_random_bytes_raise_nothing_but_data_errors(data: bytes) -> None:
    with contextlib.suppress(DataError):
        assert np.isfinite(table_of(data).rows).all()


def test_that_cancelling_stops_the_reading_and_progress_never_falls(tmp_path: Path) -> None:
    path = write_amat(tmp_path / "a.amat", np.zeros((200, 784)), np.zeros(200))
    listener = CancelAfter()
    read_amat(path, progress=listener)
    assert listener.fractions == sorted(listener.fractions)
    assert listener.fractions[-1] == 1.0
    with pytest.raises(Cancelled):
        read_amat(path, progress=CancelAfter(3))


@pytest.mark.skipif(not REAL_ZIP.exists(), reason="SLIDE_GUI_DATA names no folder with rectangles/rectangles.zip")
def test_that_the_real_archive_is_read_within_two_and_a_half_times_its_unzipping() -> None:
    """628 MB of text: time against unzipping alone, memory against the array kept, progress steps."""

    class Steps(CancelAfter):
        def report(self, fraction: float, payload: object = None) -> None:
            now = time.perf_counter()
            self.longest = max(getattr(self, "longest", 0.0), now - getattr(self, "last", now))
            self.last = now

    block, alone, reading = tables._BLOCK // 12561 * 12561, [], []
    with zipfile.ZipFile(REAL_ZIP) as archive:
        for _ in range(3):
            parts: list[DataPart] = []  # what was read last is let go before the next reading
            start = time.perf_counter()
            with archive.open("rectangles_test.amat") as stream:
                while stream.read(block):
                    pass
            alone.append(time.perf_counter() - start)
            steps = Steps()
            start = time.perf_counter()
            parts = read_amat_zip(REAL_ZIP, progress=steps)
            reading.append(time.perf_counter() - start)
    print(f"\nunzipping alone {min(alone):.3f} s, reading {min(reading):.3f} s, longest step {steps.longest:.3f} s")
    assert {part.role: part.rows.shape for part in parts} == {"train": (1200, 784), "test": (50000, 784)}
    assert min(reading) <= 2.5 * min(alone)
    assert steps.longest < 0.1
    kept = sum(part.rows.nbytes for part in parts)
    del parts
    tracemalloc.start()
    parts = read_amat_zip(REAL_ZIP)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 2 * kept
    with zipfile.ZipFile(REAL_ZIP) as archive, archive.open("rectangles_test.amat") as stream:
        stream.seek(12561 * 1000)
        expected = by_python(stream.read(12561 * 50).decode())
    test = next(part for part in parts if part.role == "test")
    assert np.array_equal(test.rows[1000:1050], expected[:, :-1])
    assert test.labels is not None
    assert np.array_equal(test.labels[1000:1050], expected[:, -1])


def test_that_comments_stand_only_before_the_rows_and_are_counted_with_blank_lines(tmp_path: Path) -> None:
    path = tmp_path / "x.amat"
    path.write_text("# a\n\n# b\n0.1 0.2 1\n\n0.3 0.4 0\n")
    part = read_amat(path)
    assert part.rows.shape == (2, 2)
    assert [guess.what for guess in part.opened.guesses] == ["2 comment lines and 2 blank lines skipped"]
    for late in ("# c", "#1 0.2 0"):
        path.write_text(f"0.1 0.2 1\n{late}\n0.3 0.4 0\n")
        with pytest.raises(DataError, match="line 2 begins with #, but comments are allowed only before the first row"):
            read_amat(path)
