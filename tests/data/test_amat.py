"""Rows of .amat files equal ``float`` of their text to the last bit; text in any encoding keeps every letter."""

import io
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from slide_gui.data.errors import DataError
from slide_gui.data.open import open_data
from slide_gui.data.readers import encoding, tables
from slide_gui.data.readers.tables import decode, read_amat, read_amat_zip, read_table
from slide_gui.progress import Cancelled
from tests.core.svm_data import StopAfter
from tests.data.writers import amat_text, write, write_amat, write_zip


def numbers_of(text):
    table = read_table(io.BytesIO(text.encode()), len(text), "here")
    return np.column_stack([table.rows, table.column]).astype(np.float64)


def by_python(text):
    """Return the reference: each number by float()."""
    return np.array([[float(cell) for cell in line.split()] for line in text.splitlines() if line.strip()])


def test_that_zeros_and_ones_are_read_correctly(tmp_path):
    random = np.random.default_rng(0)
    rows, labels = random.integers(0, 2, (300, 784)), random.integers(0, 2, 300)
    part = read_amat(write_amat(tmp_path / "a_train.amat", rows, labels))
    assert part.rows.dtype == np.float32
    assert np.array_equal(part.rows, rows)
    assert np.array_equal(part.labels, labels)
    assert (part.image_shape, part.role, part.opened.sure) == ((28, 28), "train", True)


@settings(max_examples=40)
@given(
    hnp.arrays(
        np.float32,
        st.tuples(st.integers(1, 6), st.integers(2, 9)),
        elements=st.floats(width=32, allow_nan=False, allow_infinity=False),
    ),
    st.sampled_from(["%16.7e", " %.9g", "%25.16e", "%.9e "]),
)
def test_that_written_numbers_are_read_back(values, style):
    text = "".join(" ".join(style % value for value in row) + "\n" for row in values)
    expected = by_python(text)
    with np.errstate(over="ignore"):
        fits = np.isfinite(expected.astype(np.float32)).all()
    if fits:
        assert numbers_of(text).tobytes() == expected.tobytes()
    else:  # eight digits may round beyond float32
        with pytest.raises(DataError):
            numbers_of(text)


def test_that_decoded_numbers_have_the_last_bit_of_float_at_every_power_of_ten():
    digits = ("1.5433721", "5.6347005", "-1.2345678", "0.0000000", "-0.0000000")
    cells = [f"{each}e{k:+03d}".rjust(16) for each in digits for k in range(-45, 38)]
    line = np.frombuffer(("".join(cells) + "\n").encode(), np.uint8).reshape(1, -1)
    expected = np.array([[float(cell) for cell in cells]])
    assert decode(line, len(cells)).tobytes() == expected.tobytes()
    assert numbers_of("".join(cells) + "\n").tobytes() == expected.tobytes()


@pytest.mark.parametrize("style", ["%16.7e", " %.7e"])
def test_that_numbers_that_round_to_infinity_in_float32_are_refused(style):
    line = "".join(style % value for value in (0.5, 3.4028235e38, -3.4028235e38, 1)) + "\n"
    assert numbers_of(line)[0, :3].astype(np.float32).tolist() == [
        0.5,
        np.finfo(np.float32).max,
        np.finfo(np.float32).min,
    ]
    for beyond in (line.replace(" 3.4028235", " 3.4028236"), line.replace("-3.4028235", "-3.4028236")):
        with pytest.raises(DataError, match=r"found '-?3\.4028236e\+38', expected a finite number"):
            numbers_of(beyond)


def test_that_a_blank_in_place_of_a_line_end_does_not_end_a_row():
    lines = amat_text(np.full((4, 16), 0.5), np.ones(4)).splitlines(keepends=True)
    with pytest.raises(DataError, match="line 2 has 34 numbers, expected 17"):
        numbers_of(lines[0] + lines[1].replace("\n", " ") + lines[2] + lines[3])


def test_that_only_the_benchmark_layout_is_decoded_in_blocks():
    good = b"".join(b"%16.7e" % v for v in (0.5, -1.25, 3e-9)) + b"\n"
    assert decode(np.frombuffer(good, np.uint8).reshape(1, -1), 3).tolist() == [[0.5, -1.25, 3e-9]]
    for at in range(len(good)):
        for byte in b"x1 -.e\n":
            changed = bytearray(good)
            changed[at] = byte
            found = decode(np.frombuffer(bytes(changed), np.uint8).reshape(1, -1), 3)
            if found is not None:  # then it equals the result of float()
                assert changed[-1:] == b"\n"
                assert [float(changed[16 * k : 16 * k + 16]) for k in range(3)] == found[0].tolist()


def test_that_rows_of_both_layouts_mix_across_blocks(monkeypatch):
    monkeypatch.setattr(tables, "_BLOCK", 700)
    values = np.round(np.random.default_rng(2).random((90, 10)), 6)
    lines = amat_text(values[:, :9], values[:, 9]).splitlines(keepends=True)
    lines[40:50] = [" ".join(f"{v:.6f}" for v in row) + "\r\n" for row in values[40:50]]
    lines[60] = "\n" + lines[60]
    assert np.array_equal(numbers_of("# a comment\n" + "".join(lines).rstrip("\n")), values)


def test_that_comments_and_blank_lines_are_counted(tmp_path):
    part = read_amat(write(tmp_path / "x.amat", "# a\n\n# b\n0.1 0.2 1\n\n0.3 0.4 0\n"))
    assert part.rows.shape == (2, 2)
    assert [guess.what for guess in part.opened.guesses] == ["2 comment lines and 2 blank lines skipped"]


def test_that_both_members_of_a_zip_are_read_with_rising_progress(tmp_path):
    text = amat_text(np.eye(16), np.arange(16))
    path = write_zip(tmp_path / "x.zip", {"x_train.amat": text, "50k/x_test.amat": text, "readme.txt": "no"})
    listener = StopAfter()
    parts = {part.role: part for part in read_amat_zip(path, progress=listener)}
    assert np.array_equal(parts["train"].rows, np.eye(16))
    assert np.array_equal(parts["test"].rows, np.eye(16))
    assert listener.fractions == sorted(listener.fractions)
    assert 0.5 in listener.fractions
    assert listener.fractions[-1] == 1.0


def test_that_reading_can_be_cancelled_and_takes_little_more_memory_than_the_numbers(tmp_path):
    rows = np.random.default_rng(0).integers(0, 2, (2000, 99)).astype(float)
    path = write_amat(tmp_path / "a.amat", rows, np.arange(2000))  # 3.2 MB of text, 0.8 MB of numbers
    tracemalloc.start()
    read_amat(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3e6
    with pytest.raises(Cancelled):
        read_amat(path, progress=StopAfter(3))


NAMES = ["Tär", "Tör", "Tür", "Tor"]
TABLE = "Länge,Höhe,class\n" + "".join(f"0.{k},0.{9 - k},{NAMES[k % 4]}\n" for k in range(8))


@pytest.mark.parametrize("coding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252", "latin-1"])
@pytest.mark.parametrize("block", [1, 5, 1 << 20])
def test_that_names_keep_their_letters_in_every_encoding(tmp_path, coding, block, monkeypatch):
    monkeypatch.setattr(encoding, "_BLOCK", block)
    mark = "\ufeff" if coding in ("utf-16-le", "utf-16-be") else ""
    data = open_data([write(tmp_path / "x.csv", (mark + TABLE).encode(coding))])
    assert [data.label_names[label] for label in data.train_labels] == NAMES * 2
    assert data.feature_names == ("Länge", "Höhe")
    guesses = [(guess.what, guess.why) for guess in data.opened.guesses if "Windows" in guess.what]
    why = "line 1 is not UTF-8; if letters are wrong, save the file as UTF-8"
    assert guesses == ([("text read as Windows-1252", why)] if coding in ("cp1252", "latin-1") else [])
    assert data.opened.sure == (not guesses)


def test_that_the_first_line_that_is_not_utf_8_is_named(tmp_path):
    data = open_data([write(tmp_path / "x.csv", b"a,b,class\n.1,.2,x\n\n.3,.4,\xe9t\xe9\n.5,.6,x\n")])
    (guess,) = (each for each in data.opened.guesses if not each.sure)
    assert guess.why.startswith("line 4 is not UTF-8")


@pytest.mark.parametrize("coding", ["utf-8-sig", "utf-16"])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.amat", "0.25 0.5 1\n0.75 1 0\n"),
        ("x.csv", "0.25,0.5,1\n0.75,1,0\n"),
        ("x.csv", "label,a,b\n1,.25,.5\n0,.75,1\n"),
    ],
)
def test_that_a_byte_order_mark_is_not_part_of_the_first_cell(tmp_path, name, text, coding):
    data = open_data([write(tmp_path / name, text.encode(coding))])
    assert data.train.tolist() == [[0.25, 0.5], [0.75, 1.0]]
    assert data.train_labels.tolist() == [1, 0]
