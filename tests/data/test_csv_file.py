from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from slide_gui.data.errors import DataError
from slide_gui.data.open import open_data
from slide_gui.data.readers.csv import read_csv
from slide_gui.data.reading import ParseOptions


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@settings(max_examples=25)
@given(
    hnp.arrays(
        np.float32,
        st.tuples(st.integers(1, 5), st.integers(1, 7)),
        elements=st.floats(width=32, allow_nan=False, allow_infinity=False),
    ),
    st.sampled_from(",;\t"),
    st.booleans(),
)
def test_that_written_tables_come_back(values: np.ndarray, mark: str, quoted: bool) -> None:
    labels = np.arange(len(values)) % 3
    head = mark.join([*(f"f{k}" for k in range(values.shape[1])), "label"]) + "\n"
    style = '"{!r}"' if quoted else "{!r}"
    rows = [
        mark.join([style.format(float(v)) for v in row] + [str(label)])
        for row, label in zip(values, labels, strict=True)
    ]
    with tempfile.TemporaryDirectory() as folder:
        part = read_csv(write(Path(folder) / "x.csv", head + "\n".join(rows)))
    assert np.array_equal(part.rows, values)
    assert part.labels is not None
    assert np.array_equal(part.labels, labels)


def test_that_a_named_label_column_is_taken_wherever_it_stands(tmp_path: Path) -> None:
    part = read_csv(write(tmp_path / "x.csv", "\ufeffa,Class,b,c,d\r\n.1,3,.2,.3,.4\r\n.5,4,.6,.7,.8\r\n"))
    assert part.labels is not None
    assert part.labels.tolist() == [3, 4]
    assert np.allclose(part.rows, [[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8]])


@pytest.mark.parametrize("text", ["label,a,b,c,d\n1,.1,.2,.3,.4\n0,.5,.6,.7,.8\n", ".1,.2,.3,.4,1\n.5,.6,.7,.8,0\n"])
def test_that_a_byte_order_mark_is_no_part_of_the_first_cell(tmp_path: Path, text: str) -> None:
    plain = read_csv(write(tmp_path / "plain.csv", text))
    marked = read_csv(write(tmp_path / "marked.csv", "\ufeff" + text))
    assert marked.labels is not None
    assert marked.labels.tolist() == [1, 0]
    assert np.array_equal(marked.rows, plain.rows)
    assert marked.rows.shape == (2, 4)


@pytest.mark.parametrize(
    ("header", "rows", "label"),
    [
        ("y,size,class", "0.5,1,cat\n1.5,2,dog", "class"),
        ("class,y,size", "cat,0.5,1\ndog,1.5,2", "class"),
        ("x,y,species", "0.5,1.5,cat\n0.25,2.5,dog", "species"),
        ("x,y,class", "0.5,1.5,0\n0.25,2.5,1", "class"),
        ("size,weight,y", "0.5,1.5,0\n0.25,2.5,1", "y"),
    ],
)
def test_that_a_label_column_of_text_comes_first_and_y_beside_x_is_a_coordinate(
    tmp_path: Path, header: str, rows: str, label: str
) -> None:
    path = tmp_path / "table.csv"
    path.write_text(f"{header}\n{rows}\n")
    part = read_csv(path)
    assert sorted(part.feature_names) == sorted(set(header.split(",")) - {label})


@pytest.mark.parametrize("label", [2**31, -(2**31), 2**32, 2**62])
def test_that_numbers_from_2_to_the_31_on_are_no_labels(tmp_path: Path, label: int) -> None:
    part = read_csv(write(tmp_path / "x.csv", f".1,.2,.3,.4,0\n.5,.6,.7,.8,{label}\n"))
    assert part.labels is None
    with pytest.raises(DataError, match=r"label of row 2 is .*, expected an integer within ±2147483648"):
        open_data([write(tmp_path / "y.csv", f"a,b,c,d,label\n.1,.2,.3,.4,0\n.5,.6,.7,.8,{label}\n")])
    small = read_csv(write(tmp_path / "z.csv", f".1,.2,.3,.4,0\n.5,.6,.7,.8,{2**31 - 1}\n"))
    assert small.labels is not None
    assert small.labels.tolist() == [0, 2**31 - 1]


def test_that_without_names_the_last_whole_numbered_column_holds_the_labels(tmp_path: Path) -> None:
    part = read_csv(write(tmp_path / "x.csv", ".1,.2,.3,.4,0\n.5,.6,.7,.8,1\n"))
    assert part.labels is not None
    assert part.labels.tolist() == [0, 1]
    part = read_csv(write(tmp_path / "y.csv", "1,.2,.3,.4,.5\n0,.6,.7,.8,.9\n"))
    assert part.labels is None
    assert part.rows.shape == (2, 5)


def test_that_labels_in_front_of_a_square_image_are_found(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).integers(0, 9, (5, 64))
    rows[:, -1] = 0
    text = "".join(",".join(map(str, [label, *row])) + "\n" for label, row in enumerate(rows))
    part = read_csv(write(tmp_path / "x.csv", text))
    assert part.labels is not None
    assert part.labels.tolist() == [0, 1, 2, 3, 4]
    assert np.array_equal(part.rows, rows)
    assert part.image_shape == (8, 8)


def test_that_blank_lines_and_blanks_around_numbers_are_passed_over(tmp_path: Path) -> None:
    part = read_csv(write(tmp_path / "x.csv", "\n1, 2 ,3,4,0\n\n  \r\n5,6,7,8,1\n\n"))
    assert np.array_equal(part.rows, [[1, 2, 3, 4], [5, 6, 7, 8]])


def test_that_a_square_image_without_names_has_no_labels(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).integers(0, 9, (5, 64))
    part = read_csv(write(tmp_path / "x.csv", "".join(",".join(map(str, row)) + "\n" for row in rows)))
    assert part.labels is None
    assert np.array_equal(part.rows, rows)
    assert [(guess.what, guess.why) for guess in part.opened.guesses if guess.of_shape] == [
        ("images of 8 × 8 pixels", "64 features make a square")
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no rows"),
        ("a,b,c,d,label\n", "no rows"),
        ("# one number a line\n\n5\n6\n", "line 3 has one column; separate the numbers with commas"),
        ("1,2,0\n3,4,1\n5,0\n", "line 3 has 2 numbers, expected 3"),
        ("a,b,c,d,label\n1,2,3,4,0\n1,2,3\n", "line 3 has 3 numbers, expected 5"),
        ("1,2,3,4,0\n1,2,,4,1\n", "line 2, column 3: the value is missing .found ''.; fill it in, or leave out"),
        ("1,2,3,4,0\n,,,,\n", "line 2, column 1: the value is missing"),
        ("1,2,3,4,0\n1,2 3,,4,1\n", "line 2, column 2: found '2 3'"),
        ("1,2,3,4,0\n1,2,3,4\n", "line 2"),
        ("1,2,3,4,0\n1,2,nan,4,1\n", "line 2, column 3: the value is missing .found 'nan'"),
        ("a,b,c,d,label\n1,2,3,4,0\n1,2,3,4,1\n1,2,3,4,dog\n", "line 4, column 5: found 'dog'"),
    ],
)
def test_that_damaged_tables_are_refused_with_their_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(DataError, match=said):
        read_csv(write(tmp_path / "x.csv", text))


def test_that_a_label_between_whole_numbers_is_refused_with_its_row(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="label of row 1"):
        open_data([write(tmp_path / "x.csv", "a,b,c,d,label\n1,2,3,4,0.5\n")])


@settings(max_examples=60)
@given(st.binary(max_size=200) | st.text('0123456789.e-+,;\t"\n\rxN_', max_size=200).map(str.encode))
def test_that_random_bytes_raise_nothing_but_data_errors(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(DataError):
        assert np.isfinite(read_csv(write(Path(folder) / "x.csv", data)).rows).all()


IRIS = "sepal length,sepal width,petal length,petal width,species\n" + "".join(
    f"{k},{k / 4},{k % 3},.5,{name}\n" for k, name in enumerate(["virginica", "setosa", "setosa", "versicolor"])
)


def test_that_names_of_columns_and_classes_are_kept(tmp_path: Path) -> None:
    data = open_data([write(tmp_path / "iris.csv", IRIS)])
    assert data.feature_names == ("sepal length", "sepal width", "petal length", "petal width")
    assert data.label_names == ("setosa", "versicolor", "virginica")
    assert data.train_labels.tolist() == [2, 0, 0, 1]
    np.testing.assert_array_equal(data.train[:, 1], np.float32([0, 1 / 3, 2 / 3, 1]))
    guessed = ["labels in column “species”", "each feature is scaled to 0 … 1"]
    assert [guess.what for guess in data.opened.guesses] == guessed
    assert data.opened.sure


def test_that_classes_in_text_need_no_line_of_names_and_no_last_column(tmp_path: Path) -> None:
    part = read_csv(write(tmp_path / "x.csv", "1,b b,2,3,4\n5,a,6,7,8\n\n9, b b ,6,7,8\n2,a,0,0,0\n"))
    assert part.label_names == ("a", "b b")
    assert part.labels.tolist() == [1, 0, 1, 0]
    assert part.rows.tolist() == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 6, 7, 8], [2, 0, 0, 0]]
    assert part.feature_names == ()
    quoted = read_csv(write(tmp_path / "q.csv", '1,2,3,4,"cat, grey"\n1,2,3,4,"a ""dog"""\n1,2,3,4,"cat, grey"\n'))
    assert quoted.label_names == ('a "dog"', "cat, grey")
    assert quoted.labels.tolist() == [1, 0, 1]


def test_that_a_class_called_y_is_no_name_of_a_column(tmp_path: Path) -> None:
    part = read_csv(write(tmp_path / "x.csv", "y,1.5,2,3,4\nn,3.5,4,5,6\ny,5.5,6,7,8\n"))
    assert [part.label_names[code] for code in part.labels] == ["y", "n", "y"]
    named = read_csv(write(tmp_path / "named.csv", "y,1.5,2,3,4\nyes,3.5,4,5,6\nno,5.5,6,7,8\n"))
    assert [named.label_names[code] for code in named.labels] == ["yes", "no"]


@settings(max_examples=60)
@given(
    st.integers(2, 30),
    st.integers(4, 7),
    st.integers(0, 7),
    st.sampled_from(",;\t"),
    st.booleans(),
    st.lists(st.text("abcxyzäß -", min_size=1, max_size=8).map(str.strip).filter(bool), min_size=2, max_size=4),
    st.randoms(use_true_random=False),
)
def test_that_header_and_label_column_are_guessed_wherever_they_stand(
    n: int, d: int, at: int, mark: str, has_header: bool, classes: list[str], random: object
) -> None:
    at = min(at, d)
    # The first class comes again, as classes do: that tells the first row from a line of names.
    labels = [classes[k % len(classes)] for k in range(n)] + [classes[0]]
    rows = [[repr(random.random()) for _ in range(d)] for _ in labels]  # type: ignore[attr-defined]
    lines = [mark.join([*row[:at], label, *row[at:]]) for row, label in zip(rows, labels, strict=True)]
    names = [f"feature {k}" for k in range(d)]
    head = [mark.join([*names[:at], "kind", *names[at:]])] if has_header else []
    with tempfile.TemporaryDirectory() as folder:
        part = read_csv(write(Path(folder) / "x.csv", "\n".join([*head, *lines])))
    kept = [label.strip() for label in labels]
    assert [part.label_names[code] for code in part.labels] == kept
    assert list(part.label_names) == sorted(set(kept))
    assert part.rows.tolist() == np.array(rows, np.float64).tolist()
    assert part.feature_names == (tuple(names) if has_header else ())
    assert part.opened.header == has_header
    assert part.opened.label_column == at


def test_that_what_is_said_of_a_table_is_taken_before_any_guess(tmp_path: Path) -> None:
    text = "a,b,c,d,e\n" + "".join(f"{k % 2},{k},{k * 2},{k % 3},{k / 2}\n" for k in range(6))
    path = write(tmp_path / "x.csv", text)
    assert read_csv(path).labels is None
    for asked in ("d", "D", "4"):
        part = read_csv(path, ParseOptions(label_column=asked))
        assert part.labels.tolist() == [0, 1, 2, 0, 1, 2]
        assert part.feature_names == ("a", "b", "c", "e")
    counted = write(tmp_path / "counted.csv", "0,1,2,3,4\n" + text.partition("\n")[2])
    assert len(read_csv(counted).rows) == 7
    assert not read_csv(counted).opened.sure
    assert len(read_csv(counted, ParseOptions(header=True)).rows) == 6
    last = write(tmp_path / "last.csv", ".1,2,3,4,0\n.5,6,7,8,1\n")
    assert not read_csv(last).opened.sure
    assert read_csv(last, ParseOptions(label_column="5")).opened.sure
    none = read_csv(last, ParseOptions(label_column="none"))
    assert none.labels is None
    assert none.rows.shape == (2, 5)


@pytest.mark.parametrize(
    ("text", "reading", "said"),
    [
        ("a,b,c,d,k\n1,2,3,4,p\n1,2,3,4,\n", ParseOptions(), "line 3, column 5: the class is missing"),
        ("a,b,c,d,k\n1,2,3,4,p\n1,2,3,4\n", ParseOptions(), "line 3 has 4 numbers, expected 5"),
        (
            "a,b,c,d,k\n1,2,3,4,p\n1,2,?,4,q\n1,2,3,4,q\n",
            ParseOptions(),
            "line 3, column 3: the value is missing .found '\\?'",
        ),
        ("a,b,c,d,k\n1,2,3,4,0\n1,2,3,4,1\n", ParseOptions("e"), "no column 'e'; it has columns a, b, c, d, k"),
        ("1,2,3,4,0\n1,2,3,4,1\n", ParseOptions("6"), "no column '6'; it has 5 columns"),
    ],
)
def test_that_columns_that_cannot_be_read_are_named(
    tmp_path: Path, text: str, reading: ParseOptions, said: str
) -> None:
    with pytest.raises(DataError, match=said):
        read_csv(write(tmp_path / "x.csv", text), reading)


def test_that_a_table_of_one_class_says_so(tmp_path: Path) -> None:
    rows = "".join(f".{k},.2,.3,.4,1\n" for k in range(5))
    data = open_data([write(tmp_path / "x.csv", rows)])
    assert "last column has only the value 1" in data.why_no_classes
    named = open_data([write(tmp_path / "y.csv", "a,b,c,d,label\n" + rows.replace(",1\n", ",cat\n"))])
    assert "of the class cat; add rows of another class" in named.why_no_classes


def test_that_a_table_of_one_row_opens_and_says_that_it_has_no_classes(tmp_path: Path) -> None:
    data = open_data([write(tmp_path / "x.csv", ".1,.2,.3,.4,1\n")])
    assert data.train.shape == (1, 5)
    assert data.train_labels is None
    assert "last column has only the value 1" in data.why_no_classes


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize(("classes", "codes"), [("pq", [0, 1]), ("01", [0, 1])])
def test_that_a_table_of_few_features_opens_with_its_classes(
    tmp_path: Path, d: int, classes: str, codes: list[int]
) -> None:
    rows = [[0.1 * (row + k) for k in range(d)] for row in range(6)]
    text = "".join(f"{','.join(map(str, row))},{classes[n % 2]}\n" for n, row in enumerate(rows))
    data = open_data([write(tmp_path / "x.csv", text)])
    assert data.why_no_classes == ""
    assert data.n_features == d
    assert data.train_labels.tolist() == codes * 3
    np.testing.assert_allclose(data.train, rows, atol=1e-7)


PEOPLE = "name,town,a,b,c,d,e\n" + "".join(
    f"n{k},{town},{k},{k / 2},.5,{k % 3},.25\n" for k, town in enumerate(["Ulm", "Bonn", "Ulm", "Bonn", "Ulm"])
)


def test_that_the_text_column_with_the_fewest_texts_is_guessed_to_hold_the_classes(tmp_path: Path) -> None:
    part = read_csv(write(tmp_path / "x.csv", PEOPLE))
    assert [part.label_names[code] for code in part.labels] == ["Ulm", "Bonn", "Ulm", "Bonn", "Ulm"]
    assert part.feature_names == ("a", "b", "c", "d", "e")
    assert part.rows.tolist() == [[k, k / 2, 0.5, k % 3, 0.25] for k in range(5)]
    assert (part.opened.text, part.opened.label_column) == ((0, 1), 1)
    assert [(guess.what, guess.sure) for guess in part.opened.guesses] == [
        ("labels in column “town”", False),
        ("column “name” left out", False),
    ]
    chosen = read_csv(tmp_path / "x.csv", ParseOptions("d"))
    assert chosen.labels.tolist() == [0, 1, 2, 0, 1]
    assert [guess.what for guess in chosen.opened.guesses] == ["columns “name”, “town” left out"]


def test_that_a_test_table_leaves_out_the_text_columns_of_the_training_table(tmp_path: Path) -> None:
    train = write(tmp_path / "x_train.csv", PEOPLE)
    test = write(tmp_path / "x_test.csv", "note,town,a,b,c,d,e\nbad,Ulm,1,2,3,4,5\nbad,Ulm,1,2,3,4,6\n")
    data = open_data([train, test])
    assert data.test_labels.tolist() == [1, 1]
    assert data.feature_names == ("a", "b", "c", "d", "e")
    assert "x_test.csv: column “note” left out" in [guess.what for guess in data.opened.guesses]


def test_that_of_many_columns_of_text_the_first_four_are_named(tmp_path: Path) -> None:
    words = [f"w{i}" for i in range(7)]
    lines = [",".join([*words, "class", "a"])]
    lines += [",".join([*(f"{word}{k}" for word in words), "ab"[k % 2], f"{k / 2}"]) for k in range(6)]
    part = read_csv(write(tmp_path / "x.csv", "\n".join(lines) + "\n"))
    assert part.opened.guesses[-1].what == "columns “w0”, “w1”, “w2”, “w3”, … left out"


def test_that_left_out_columns_may_hold_anything_and_faults_keep_their_places(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", PEOPLE.replace("n3,", '"one, two",').replace("n4", ""))
    part = read_csv(path, ParseOptions("d", left_out=("name", "2")))
    assert part.labels.tolist() == [0, 1, 2, 0, 1]
    assert part.feature_names == ("a", "b", "c", "e")
    broken = write(tmp_path / "y.csv", PEOPLE.replace("3,1.5", "3,x"))
    with pytest.raises(DataError, match="line 5, column 4: found 'x'"):
        read_csv(broken, ParseOptions("town", left_out=("name",)))


@pytest.mark.parametrize(
    ("reading", "said"),
    [
        (ParseOptions("town", left_out=("street",)), "no column 'street'"),
        (ParseOptions("town", left_out=("2",)), "column “town” is the label column; choose another to leave out"),
        (
            ParseOptions("town", left_out=("name", *"abcde")),
            "has only labels and columns left out",
        ),
    ],
)
def test_that_what_cannot_be_left_out_is_said(tmp_path: Path, reading: ParseOptions, said: str) -> None:
    with pytest.raises(DataError, match=said):
        read_csv(write(tmp_path / "x.csv", PEOPLE), reading)


@settings(max_examples=60)
@given(
    st.integers(2, 4),
    st.integers(1, 6),
    st.integers(3, 12),
    st.sampled_from(",;\t"),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_that_a_guess_reads_every_table_of_several_columns_of_text(
    texts: int, d: int, n: int, mark: str, has_header: bool, random: object
) -> None:
    order = [*(f"t{k}" for k in range(texts)), *(f"f{k}" for k in range(d))]
    random.shuffle(order)  # type: ignore[attr-defined]
    classes = order.index("t0")
    lines = [
        mark.join(
            f"{'abc'[row % 2]}" if name == "t0" else f"w{row}{name}" if name[0] == "t" else repr(random.random())  # type: ignore[attr-defined]
            for name in order
        )
        for row in range(n)
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "x.csv", "\n".join([*([mark.join(order)] if has_header else []), *lines]))
        part = read_csv(path, ParseOptions(header=has_header))
    assert part.rows.shape == (n, d)
    assert part.opened.label_column == classes
    assert [part.label_names[code] for code in part.labels] == ["abc"[row % 2] for row in range(n)]


def test_that_repeated_names_of_columns_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,a,a (2),a,\n" + "1,2,3,4,0.5\n2,1,3,4,0.25\n")
    part = read_csv(tmp_path / "x.csv")
    assert part.feature_names == ("a", "a (2)", "a (2) (3)", "a (4)", "column 5")


def test_that_a_column_of_more_than_ten_thousand_different_texts_holds_no_classes(tmp_path: Path) -> None:
    rows = [f"{k},c{k}\n" for k in range(10_001)]
    part = read_csv(write(tmp_path / "x.csv", "".join(["a,label\n", *rows[:-1]])))
    assert len(part.label_names) == 10_000
    with pytest.raises(DataError, match="column “label” has more than 10000 different texts, too many for classes"):
        read_csv(write(tmp_path / "x.csv", "".join(["a,label\n", *rows])))


def notes(path: Path) -> list[str]:
    return [guess.what for guess in read_csv(path).opened.guesses]


@pytest.mark.parametrize("header", ["", "class,a,b\n", "# of 2024, by me\n\n# rows\nclass,a,b\n"])
def test_that_classes_that_begin_with_a_number_sign_are_no_comments(tmp_path: Path, header: str) -> None:
    rows = "".join(f"{'#one' if k < 5 else 'two'},.{k},.5\n" for k in range(9))
    part = read_csv(write(tmp_path / "x.csv", header + rows))
    assert [part.label_names[label] for label in part.labels] == ["#one"] * 5 + ["two"] * 4
    alone = read_csv(write(tmp_path / "y.csv", header + "#one,.1,.5\n#two,.2,.5\n"))
    assert (alone.label_names, len(alone.rows)) == (("#one", "#two"), 2)


def test_that_skipped_comments_and_blank_lines_are_counted(tmp_path: Path) -> None:
    text = "# by me\n\n# with a, comma\na,b,label\n\n.1,.2,0\n\n\n.3,.4,1\n"
    path = write(tmp_path / "x.csv", text)
    assert notes(path) == ["2 comment lines and 4 blank lines skipped"]
    assert notes(write(tmp_path / "y.csv", "a,b,label\n.1,.2,0\n.3,.4,1\n")) == []
    assert notes(write(tmp_path / "z.csv", "# x\na,b,label\n.1,.2,p\n\n.3,.4,q\n")) == [
        "1 comment line and 1 blank line skipped"
    ]


@pytest.mark.parametrize(
    "rows", [".1,.2,0\n# late\n.3,.4,1\n", ".1,.2,0\n#.5,.2,0\n.3,.4,1\n", ".1,.2,p\n# q\n.3,.4,q\n"]
)
def test_that_comments_after_the_first_row_are_refused(tmp_path: Path, rows: str) -> None:
    with pytest.raises(DataError, match="line 3 begins with #, but comments are allowed only before the first row"):
        read_csv(write(tmp_path / "x.csv", "a,b,label\n" + rows))


def test_that_names_in_the_last_comment_as_savetxt_writes_them_are_names_of_columns(tmp_path: Path) -> None:
    np.savetxt(tmp_path / "x.csv", [[0.5, 0.25, 1], [0.1, 0.2, 0]], delimiter=",", header="b,a,class")
    part = read_csv(tmp_path / "x.csv")
    assert part.feature_names == ("b", "a")
    assert part.labels.tolist() == [1, 0]
    assert [guess.what for guess in part.opened.guesses] == ["column names in the last comment line"]
    assert read_csv(tmp_path / "x.csv", ParseOptions(header=False)).feature_names == ()


@pytest.mark.parametrize("mark", [";", "\t", ","])
@pytest.mark.parametrize("kinds", ["01", "pq"])
@pytest.mark.parametrize("header", [True, False])
def test_that_decimal_commas_are_read_and_shown(tmp_path: Path, mark: str, kinds: str, header: bool) -> None:
    quote = '"' if mark == "," else ""
    cells = [["0,5", "-1,25e-1", "3"], ["1.234,75", ",5", "-1.000.000,5"], ["7", "0,125", "2,0"]]
    lines = [mark.join([*(f"{quote}{cell}{quote}" for cell in row), kinds[k % 2]]) for k, row in enumerate(cells)]
    head = [mark.join(["a", "b", "c", "class"])] if header else []
    part = read_csv(write(tmp_path / "x.csv", "\n".join([*head, *lines]) + "\n"))
    assert part.rows.tolist() == [[0.5, -0.125, 3.0], [1234.75, 0.5, -1000000.5], [7.0, 0.125, 2.0]]
    assert part.labels.tolist() == [0, 1, 0]
    (guess,) = (each for each in part.opened.guesses if "comma" in each.what)
    assert (guess.what, guess.why, guess.sure) == ("commas read as decimal commas", "cells have numbers like 0,5", True)


def test_that_commas_that_may_separate_thousands_are_a_guess_to_be_checked(tmp_path: Path) -> None:
    part = read_csv(write(tmp_path / "x.csv", "a;b;label\n1,234;5;0\n12,345;6;1\n"))
    assert part.rows.tolist() == [[np.float32(1.234), 5.0], [np.float32(12.345), 6.0]]
    assert [guess.sure for guess in part.opened.guesses] == [False]
    assert "if the commas separate thousands" in part.opened.guesses[0].why


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a;b;label\n0,5;1.5;0\n0,25;2.5;1\n", "column “a” has numbers like '0,5'; write them with a decimal point"),
        ("a;b;label\n1,234.5;1;0\n2,345.5;2;1\n", "column “a” has numbers like '1,234.5'; write them"),
        ("a;b\n1,234.5;1\n2,345.5;2\n", "column “a” has numbers like '1,234.5'; write them"),
        (
            "a;b;label\n" + "0,5;1;0\n1,5;2;1\n" * 150 + "2.5;1;0\n",
            "line 302, column 1: found '2.5' in a table with decimal commas; write all numbers with decimal commas",
        ),
    ],
)
def test_that_numbers_with_points_and_commas_of_two_meanings_are_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(DataError, match=said):
        read_csv(write(tmp_path / "x.csv", text))


@pytest.mark.parametrize("mark", ["NA", "?", "n/a", "NaN", "null", "", '""', " na "])
def test_that_a_missing_class_is_refused_with_its_line(tmp_path: Path, mark: str) -> None:
    with pytest.raises(DataError, match=r"line 3, column 3: the class is missing \(found .*\); fill it in, or leave"):
        read_csv(write(tmp_path / "x.csv", f"a,b,class\n.1,.2,x\n.3,.4,{mark}\n.5,.6,y\n"))
    with pytest.raises(DataError, match=r"line 3, column 3: the label is missing \(found .*\); fill it in, or leave"):
        read_csv(write(tmp_path / "y.csv", f"a,b,class\n.1,.2,0\n.3,.4,{mark}\n.5,.6,1\n"))


@pytest.mark.parametrize("missing", ["NA", "?", ""])
def test_that_a_feature_of_missing_cells_is_no_column_of_classes_and_no_header(tmp_path: Path, missing: str) -> None:
    rows = [f".1,{missing},.3,.4\n", f".2,{missing},.3,.4\n", ".3,.5,.3,.2\n"]
    for text in ("a,b,c,d\n" + "".join(rows), "".join(rows)):
        with pytest.raises(DataError, match=rf"line {1 + (text[0] == 'a')}, column 2: the value is missing \(found"):
            read_csv(write(tmp_path / "x.csv", text))


def test_that_the_names_of_counted_columns_may_have_an_empty_one_for_the_index(tmp_path: Path) -> None:
    part = read_csv(write(tmp_path / "x.csv", ",0,1,2\n0,.5,.6,1\n1,.7,.8,0\n"))
    assert part.feature_names == ("column 1", "0", "1")
    assert part.labels.tolist() == [1, 0]


@pytest.mark.parametrize("suffix", [".csv", ".txt"])
def test_that_many_lines_that_begin_with_a_number_sign_leave_a_table_a_table(tmp_path: Path, suffix: str) -> None:
    rows = "".join(f"#one,.{k % 10},.5\n" for k in range(900)) + "two,.1,.2\n"
    data = open_data([write(tmp_path / f"x{suffix}", rows)])
    assert (data.label_names, data.train.shape) == (("#one", "two"), (901, 2))


def test_that_a_table_may_begin_with_a_long_comment(tmp_path: Path) -> None:
    data = open_data([write(tmp_path / "x.csv", "# words without end\n" * 500 + "a,b,label\n.1,.2,0\n.3,.4,1\n")])
    assert data.feature_names == ("a", "b")
    assert data.opened.guesses[0].what == "500 comment lines skipped"


@pytest.mark.parametrize(
    ("text", "group"),
    [
        ("id,a,b,kind\nP1,1,2,x\nP2,3,4,y\n P1 ,5,6,y\n", "id"),
        ("a,b,id,class\n1,2,7,0\n3,4,8,1\n5,6,7,1\n", "ID"),
        ("7,1,2,0\n8,3,4,1\n7,5,6,1\n", "1"),
        ("kind;id;a;b\nx;P;1,0;2\ny;Q;3,0;4\ny;P;5,0;6\n", "2"),
    ],
)
def test_that_a_column_of_groups_is_no_feature(tmp_path: Path, text: str, group: str) -> None:
    data = open_data([write(tmp_path / "x.csv", text)], ParseOptions(group=group, scaled=False))
    assert data.groups.tolist() == [0, 1, 0]
    assert data.train.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert data.train_labels.tolist() == [0, 1, 1]


def test_that_groups_of_two_tables_may_differ_and_those_in_both_are_reported(tmp_path: Path) -> None:
    train = write(tmp_path / "x_train.csv", "id,a,kind\nP1,1,x\nP2,3,y\nP2,0,y\n")
    test = write(tmp_path / "x_test.csv", "a,kind,id\n1,x,P2\n1,y,P3\n")
    (guess,) = (
        each for each in open_data([train, test], ParseOptions(group="id")).opened.guesses if "group" in each.what
    )
    assert (guess.what, guess.why[:4]) == ("1 group in both the training set and the test set", "“P2”")
    write(test, "a,kind\n1,x\n1,y\n")
    assert open_data([train, test], ParseOptions(group="1")).groups.tolist() == [0, 1, 1]


def test_that_groups_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", "id,a,kind\nP1,1,x\n,3,y\n")
    for group, said in (
        ("id", r"line 3, column 1: the group is missing \(found ''\)"),
        ("KIND", "column “kind” is the label column; choose another to leave out or for groups"),
        ("who", "has no column 'who'; it has columns id, a, kind"),
    ):
        with pytest.raises(DataError, match=said):
            open_data([path], ParseOptions("kind", group=group))
    np.savez(tmp_path / "x.npz", X=np.eye(3))
    with pytest.raises(DataError, match="is not a text table, so it has no group column"):
        open_data([tmp_path / "x.npz"], ParseOptions(group="id"))
    with pytest.raises(ValueError, match="column 'a' cannot hold the groups"):
        ParseOptions("a", group="a").checked()
