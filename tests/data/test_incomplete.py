"""A table is written with filled cells, and without any other change."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slide_gui.data.readers.incomplete import read_incomplete
from slide_gui.data.reading import ParseOptions
from tests.hostile import COLUMNS, hostile_file


@st.composite
def tables(draw):
    """Return the bytes of a table, its encoding, its cells without quotes, and the mask of missing cells."""
    columns, rows = draw(st.integers(2, 5)), draw(st.integers(2, 8))
    delimiter, end = draw(st.sampled_from(",;\t|")), draw(st.sampled_from(("\n", "\r\n")))
    commas = draw(st.booleans())
    missing = np.array(draw(st.lists(st.lists(st.booleans(), min_size=columns, max_size=columns), min_size=rows,
                                     max_size=rows)))  # fmt: skip
    missing[[0, -1]] = False  # rows of empty cells at the end are left out
    quoted = draw(st.booleans())
    lines = []
    for row in range(rows):
        cells = []
        for column in range(columns):
            if missing[row, column]:
                cells.append(draw(st.sampled_from(("", "NA", "nan", "?", " ", "null", '""', '"NA"', "#N/A"))))
                continue
            cell = f"{draw(st.integers(-999, 999))}.{draw(st.integers(1, 99)):02d}"
            cell = cell.replace(".", ",") if commas else cell
            cells.append(f'"{cell}"' if (commas and delimiter == ",") or quoted else cell)
        lines.append(delimiter.join(cells))
        if draw(st.integers(0, 5)) == 0:
            lines.append(draw(st.sampled_from(("", "  "))))
    names = [f"größe {k}" for k in range(columns)]
    last = draw(st.sampled_from((end, "")))
    text = draw(st.sampled_from(("", f"# note{end}"))) + end.join([delimiter.join(names), *lines]) + last
    return text.encode(draw(st.sampled_from(("utf-8", "utf-8-sig", "utf-16", "cp1252")))), missing


@settings(max_examples=150, deadline=None)
@given(tables())
def test_that_a_filled_table_reads_back_with_its_known_cells_and_the_filled_ones(table):
    raw, missing = table
    path = Path("table.csv")
    path.write_bytes(raw)
    found = read_incomplete(path)
    assert (np.isnan(found.rows) == missing).all()
    filled = np.where(missing, 12.345 + np.arange(missing.shape[1]), found.rows)
    written = found.with_filled(filled, np.ones(missing.shape[1]))
    path.write_bytes(written)
    again = read_incomplete(path)
    np.testing.assert_allclose(again.rows, filled, atol=1e-4)
    assert (again.layout.columns, again.columns) == (found.layout.columns, found.columns)
    # Removing the filled cells from both leaves the same bytes.
    assert found.with_filled(found.rows, np.ones(missing.shape[1])) == raw
    assert again.with_filled(again.rows, np.ones(missing.shape[1])) == written


@pytest.fixture(autouse=True)
def _in_empty_folder(tmp_path_factory, monkeypatch):
    monkeypatch.chdir(tmp_path_factory.mktemp("tables"))


def _filled(text, values, **reading):
    Path("t.csv").write_bytes(text)
    table = read_incomplete(Path("t.csv"), ParseOptions(**reading))
    filled = np.array(table.rows)
    filled[np.isnan(filled)] = values
    return table, table.with_filled(filled, np.ones(filled.shape[1]))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b'a,b\n"1,5","2,0"\n,"3,1"\n', b'a,b\n"1,5","2,0"\n"9,5","3,1"\n'),
        (b'"a, x",b\n"1",2\n"NA",3\n', b'"a, x",b\n"1",2\n9.5,3\n'),
        (b"a\tb\n1\t2\n3\t\n\t4\n", b"a\tb\n1\t2\n3\t9.5\n9.5\t4\n"),
        (b"a\tb\n\t\n1\t2\n3\t4\n", b"a\tb\n9.5\t9.5\n1\t2\n3\t4\n"),
        (b"# note\n1,2\n3,?\n\n4,5\n", b"# note\n1,2\n3,9.5\n\n4,5\n"),
        (b'a,b,name\n1,2,"x, ""y"""\n,3,"z,"\n', b'a,b,name\n1,2,"x, ""y"""\n9.5,3,"z,"\n'),
        (b"\xef\xbb\xbf,7.5\n3,?\n4,5.5\n", b"\xef\xbb\xbf9.5,7.5\n3,9.5\n4,5.5\n"),
    ],
)
def test_that_only_missing_cells_change(text, expected):
    assert _filled(text, 9.5)[1] == expected


def test_that_labels_groups_and_columns_left_out_are_neither_numbers_nor_changed():
    text = b"a,class,who,b,more\n1,,p1,2,\n,4,,3,5\n2,5,p2,3,6\n"
    table, written = _filled(text, 9.0, group="who", left_out=("more",))
    assert table.columns == (0, 3)
    assert written == text.replace(b"\n,4", b"\n9,4")
    table, written = _filled(text, 9.0, label_column="none", left_out=("more",))
    assert table.columns == (0, 1, 3)
    assert written == text.replace(b"\n,4", b"\n9,4").replace(b"1,,", b"1,9,")


def test_that_the_decimals_of_a_cell_follow_the_scale_of_its_column():
    Path("t.csv").write_text("a,b,c\n1,1,1\n,,\n2,2,2\n")
    table = read_incomplete(Path("t.csv"))
    filled = np.where(np.isnan(table.rows), 1234567.123456789, table.rows)
    line = table.with_filled(filled, np.array([1.0, 1e-6, 1e9])).splitlines()[2]
    assert [float(cell) for cell in line.split(b",")] == [1234567.1235, 1234567.12345679, 1200000.0]


def test_that_hostile_names_pass_unchanged():
    path = hostile_file(Path())
    raw = path.read_bytes()
    table = read_incomplete(path)
    assert table.columns == tuple(range(len(COLUMNS)))
    assert table.with_filled(table.rows, np.ones(len(COLUMNS))) == raw
