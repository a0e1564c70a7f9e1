"""Text tables keep their numbers, names, classes and groups; the options of the user come before any guess."""

import io
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from slide_gui.data.errors import DataError
from slide_gui.data.new_rows import read_new_rows
from slide_gui.data.open import open_data
from slide_gui.data.readers import tables
from slide_gui.data.readers.csv import read_csv
from slide_gui.data.readers.incomplete import read_incomplete
from slide_gui.data.reading import AS_GUESSED, ParseOptions
from slide_gui.progress import NO_PROGRESS
from tests.data.writers import amat_text, is_sure, write


def read(text, reading=AS_GUESSED):
    with tempfile.TemporaryDirectory() as folder:
        return read_csv(write(Path(folder) / "x.csv", text), reading, progress=NO_PROGRESS)


def classes(part):
    """Return the class of each row."""
    return [part.label_names[code] for code in part.labels]


def notes(part):
    return [guess.what for guess in part.opened.guesses]


@settings(max_examples=25)
@given(
    hnp.arrays(
        np.float32,
        st.tuples(st.integers(1, 5), st.integers(1, 7)),
        elements=st.floats(width=32, allow_nan=False, allow_infinity=False),
    ),
    st.sampled_from(",;\t|"),
    st.booleans(),
)
def test_that_written_tables_are_read_back(values, mark, quoted):
    labels = np.arange(len(values)) % 3
    head = mark.join([*(f"f{k}" for k in range(values.shape[1])), "label"])
    style = '"{!r}"' if quoted else "{!r}"
    table = [[*(style.format(float(v)) for v in row), str(labels[k])] for k, row in enumerate(values)]
    part = read("\n".join([head, *map(mark.join, table)]))
    assert np.array_equal(part.rows, values)
    assert np.array_equal(part.labels, labels)


@pytest.mark.parametrize("head", ["a,b,kind,\n", "a,b,kind\n", ""])
@pytest.mark.parametrize("names", ["012", "xyz"])
def test_that_a_delimiter_at_the_end_of_each_line_is_no_column(tmp_path, head, names):
    text = head + "".join(f"{k / 9:.2f},{k % 5 / 7:.2f},{names[k % 3]},\n" for k in range(30))
    data = open_data([write(tmp_path / "train.csv", text), write(tmp_path / "test.csv", text)])
    assert (data.n_features, data.n_classes, len(data.test_labels)) == (2, 3, 30)


@settings(max_examples=100)
@given(
    st.lists(
        st.text("abcxyzäß -", min_size=1, max_size=8).map(str.strip).filter(bool), min_size=2, max_size=4, unique=True
    ),
    st.integers(4, 30),
    st.integers(1, 7),
    st.integers(0, 3),
    st.sampled_from(",;\t|"),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_that_header_and_label_column_are_guessed_at_any_position_and_other_texts_left_out(
    kinds, n, d, n_texts, mark, has_header, random
):
    order = ["kind", *(f"f{k}" for k in range(d)), *(f"t{k}" for k in range(n_texts))]
    random.shuffle(order)
    # Classes repeat; column names and other texts do not.
    labels = [kinds[k % len(kinds)] for k in range(n)] + [kinds[0]]
    values = [[random.random() for _ in range(d)] for _ in labels]
    rows = [
        {"kind": label, **{f"f{k}": repr(x) for k, x in enumerate(row)}, **{f"t{k}": f"w{i}" for k in range(n_texts)}}
        for i, (label, row) in enumerate(zip(labels, values, strict=True))
    ]
    head = [mark.join(order)] if has_header else []
    part = read("\n".join([*head, *(mark.join(row[name] for name in order) for row in rows)]))
    features = [name for name in order if name[0] == "f"]
    assert classes(part) == labels
    assert list(part.label_names) == sorted(set(labels))
    assert part.rows.tolist() == [[row[int(name[1:])] for name in features] for row in values]
    assert part.feature_names == (tuple(features) if has_header else ())
    assert (part.opened.header, part.opened.label_column) == (has_header, order.index("kind"))


@pytest.mark.parametrize(
    ("header", "rows", "label"),
    [
        ("y,size,class", "0.5,1,cat\n1.5,2,dog", "class"),
        ("class,y,size", "cat,0.5,1\ndog,1.5,2", "class"),
        ("x,y,species", "0.5,1.5,cat\n0.25,2.5,dog", "species"),
        ("x,y,class", "0.5,1.5,0\n0.25,2.5,1", "class"),
        ("size,weight,y", "0.5,1.5,0\n0.25,2.5,1", "y"),
        ("a,Class,b", "0.5,3,1.5\n0.25,4,2.5", "Class"),
    ],
)
def test_that_a_label_column_of_text_comes_first_and_y_next_to_x_is_a_coordinate(header, rows, label):
    assert sorted(read(f"{header}\n{rows}\n").feature_names) == sorted(set(header.split(",")) - {label})


@pytest.mark.parametrize(
    ("text", "labels", "d"),
    [
        (",sold,a\n" + "".join(f"{k},{k % 2 > 0},.{k}\n" for k in range(10)), [0, 1] * 5, 1),
        ("".join(f"{k % 2 > 0},True,{k % 3 % 2}.0\n" for k in range(9)), [0, 1, 0] * 3, 2),
        ("id,a,b,done\n" + "".join(f"P{k},.{k},.5,{k % 2}\n" for k in range(10)), [0, 1] * 5, 2),
        ("1,.2,.3,.4,.5\n0,.6,.7,.8,.9\n", None, 5),
        ("1,.2,.3,.5\n-1,.6,.7,.9\n" * 2, [1, -1] * 2, 3),  # the first column has the labels
        ("\n1, 2 ,3,4,0\n\n  \r\n5,6,7,8,1\n\n", [0, 1], 4),
        (f".1,.2,0\n.5,.6,{2**31 - 1}\n", [0, 2**31 - 1], 2),
        (f".1,.2,0\n.5,.6,{-(2**31)}\n", None, 3),
        ("6,73 3,43 1\n5,5 2,25 0\n", [1, 0], 2),  # spaces between numbers with decimal commas
        ("6   ,7   ,1\n25  ,5   ,0\n", [1, 0], 2),  # spaces between numbers and commas
        ("a|b|label\n6|7,5|1\n25|5,5|0\n", [1, 0], 2),  # vertical bars between decimal commas
        ("6\t7\t1\n25\t\t5\t0\n", [1, 0], 2),  # several tabs between two numbers
        ("u\tv w\tk\n1\t.5\t7\t1\n2\t.6\t8\t0\n", [1, 0], 2),  # R writes no name above the row names
        ('6 1\t"a b"\n25 0\t"a c"\n', [0, 1], 2),  # spaces between numbers and a tab before texts
        ("6,73 ,43 1\n5,5 2,25 0\n", [1, 0], 2),  # a decimal comma without a digit before it
        (",0,1,2\n0,.5,.6,1\n1,.7,.8,0\n", [1, 0], 3),  # consecutive numbers as names, and an empty one for the index
    ],
)
def test_that_the_last_column_has_the_labels_if_it_has_integers(text, labels, d):
    part = read(text)
    assert (None if part.labels is None else part.labels.tolist()) == labels
    assert part.rows.shape[1] == d


def test_that_a_square_image_without_names_has_no_labels_unless_they_precede_it():
    rows = np.random.default_rng(0).integers(0, 9, (5, 64))
    part = read("".join(",".join(map(str, row)) + "\n" for row in rows))
    assert (part.labels, part.rows.tolist()) == (None, rows.tolist())
    shape = [(guess.what, guess.why) for guess in part.opened.guesses if guess.of_shape]
    assert shape == [("images of 8 × 8 pixels", "64 features make a square")]
    rows = np.zeros((90, 64), int)
    for rows[:, -1] in (0, np.arange(90) ** 2 // 50):  # the last pixel is constant, or has many values
        part = read("".join(",".join(map(str, [k % 5, *row])) + "\n" for k, row in enumerate(rows)))
        assert (part.labels.tolist(), part.image_shape) == ([0, 1, 2, 3, 4] * 18, (8, 8))
        assert np.array_equal(part.rows, rows)


@pytest.mark.parametrize("block", [20, 1 << 18])
def test_that_classes_may_be_quoted_and_have_spaces(monkeypatch, block):
    monkeypatch.setattr(tables, "_BLOCK", block)
    part = read("1,b b,2,3,4\n5,a,6,7,8\n\n9, b b ,6,7,8\n2,a,0,0,0\n")
    assert classes(part) == ["b b", "a", "b b", "a"]
    assert part.rows.tolist() == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 6, 7, 8], [2, 0, 0, 0]]
    quoted = read('1,2,3,4,"cat, grey"\n1,2,3,4,"a ""dog"""\n\n1,2,3,4,"cat, grey"\n')
    assert classes(quoted) == ["cat, grey", 'a "dog"', "cat, grey"]
    of_r = read('"a, z" "b" "class"\n"1" 0.5 1 "light blue"\n"2" 1.5 2 "red"\n')
    assert (classes(of_r), of_r.feature_names) == (["light blue", "red"], ("a, z", "b"))
    single = read("'a',b,'k'\n'1',2,'x, y'\n3,4,'it''s'\n")
    assert (classes(single), single.feature_names) == (["x, y", "'it''s'"], ("a", "b"))
    assert read("a,b,owner,k\n1,2,'tis,dogs'\n3,4,no,cats\n").feature_names == ("a", "b")


def test_that_a_class_named_y_is_no_column_name_repeated_and_empty_ones_get_numbers_and_long_ones_are_read(tmp_path):
    assert classes(read("y,1.5,2,3,4\nn,3.5,4,5,6\ny,5.5,6,7,8\n")) == ["y", "n", "y"]
    assert classes(read("y,1.5,2,3,4\nyes,3.5,4,5,6\nno,5.5,6,7,8\n")) == ["yes", "no"]
    assert notes(read("label,a,label\n0,.5,1\n1,.2,2\n")) == ["labels in column “label”"]  # the others may repeat them
    names = read("a,a,a (2),a,\n1,2,3,4,0.5\n2,1,3,4,0.25\n").feature_names
    assert names == ("a", "a (2)", "a (2) (3)", "a (4)", "column 5")
    dataset = open_data([write(tmp_path / "x.csv", f"{'W' * 5000},b,label\n" + "1,2,p\n3,4,q\n" * 4)])
    assert (dataset.train.shape[1], dataset.label_names) == (2, ("p", "q"))


def test_that_line_breaks_in_quoted_cells_and_old_line_ends_are_read():
    text = 'a,"the note",kind\n' + "".join(f'.{k},"one, {k}",{"xy"[k % 2]}\n' for k in range(1, 9))
    for changed in (text.replace("\n", "\r"), text.replace("the ", "the\n").replace("one, ", 'a ""b""\r\n, ')):
        part = read(changed)
        assert (classes(part), part.feature_names) == (["y", "x"] * 4, ("a",))
        np.testing.assert_allclose(part.rows[:, 0], np.arange(1, 9) / 10)


def test_that_a_cell_of_many_numbers_is_an_image_and_a_column_of_sets_divides_the_rows(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (30, 64))
    sets = "Training " * 20 + "PublicTest " * 4 + "PrivateTest " * 6
    rows = [f"{k % 3}, {' '.join(map(str, pixels[k]))},{name}\n" for k, name in enumerate(sets.split())]
    data = open_data([write(tmp_path / "x.csv", "emotion,pixels,Usage\n" + "".join(rows))])
    assert np.array_equal(np.rint(255 * np.concatenate([data.train, data.test])), pixels)
    assert (data.image_shape, *data.train_labels, *data.test_labels[-10:]) == ((8, 8), *[0, 1, 2] * 10)
    for head, n, word, found in (("emotion,pixels,Usage\n", 300, "9", "65 numbers"), ("", 0, "x", "'x'")):
        faulty = [head, *(rows * 10)[:n], rows[0].replace(",T", f" {word},T"), *rows]
        place = f"line {n + 1 + bool(head)}, column 2"
        with pytest.raises(DataError, match=f"{place}: found {found}, expected 64 numbers with spaces between them"):
            read("".join(faulty))
    with pytest.raises(DataError, match=r"line 2, column 2: found '1\.2\.3', expected a finite number"):
        read("".join([rows[0], f"0,{'1 ' * 63}1.2.3,Training\n", *rows]))


def test_that_options_come_before_guesses():
    text = "a,b,c,d,e\n" + "".join(f"{k % 2},{k},{k * 2},{k % 3},{k / 2}\n" for k in range(6))
    assert read(text).labels is None
    for name in ("d", "D", "4"):
        part = read(text, ParseOptions(label_column=name))
        assert part.labels.tolist() == [0, 1, 2, 0, 1, 2]
        assert part.feature_names == ("a", "b", "c", "e")
    for first in ("0,1,2,3,4\n", "0,0.1,0.2,0.3,0.4\n"):  # pandas makes the latter from five zeros
        counting = first + text.partition("\n")[2]
        assert (len(read(counting).rows), is_sure(read(counting)), read(counting).feature_names) == (6, False, ())
        assert len(read(counting, ParseOptions(header=False)).rows) == 7
    numbered = ",a,kind\n" + "".join(f"{k},{k * k},{'xy'[k % 2]}\n" for k in range(12))
    assert read(numbered, ParseOptions(header=True)).feature_names == ("column 1", "a")
    last = ".1,2,3,4,0\n.5,6,7,8,1\n"
    assert [is_sure(read(last, ParseOptions(label_column=label))) for label in (None, "5")] == [False, True]
    none = read(last, ParseOptions(label_column="none"))
    assert (none.labels, none.rows.shape) == (None, (2, 5))


@pytest.mark.parametrize(
    ("first", "rows", "names"),
    [
        ("town,2001,2002,2003", "Ulm{k},{k}.5,2.5,1.25", ("2001", "2002", "2003")),  # rising numbers are names
        (",400,410,420", "{k},.5,{k}.5,0.25", ("400", "410", "420")),
        ("7.5,6,5,4,3,2,1.5", "1,{k},2,3,4,5,6", ("7.5", "6", "5", "4", "3", "2", "1.5")),
        ("6.5,5,4.5", "1,{k},2.5", ()),  # ordered by chance
        (",0", "{k},{k}.5", ("0",)),
        ("1,NA,NA", "2,{k}.5,4", ()),  # a row with missing cells
        ('"a", "class", "b"', '.5, "x{c}_1", {k}', ("a", "b")),  # a class such as 1_0 is not a number
        ("a,b,kind,", ".5,{k}.5,0{c}", ("a", "b")),  # a number with a leading zero is a class; only names end with ,
    ],
)
def test_that_column_names_may_be_numbers_and_classes_codes_with_spaces_before_quotes(first, rows, names):
    part = read(f"{first}\n" + "".join(rows.format(k=k, c=k % 6) + "\n" for k in range(10)))
    assert (len(part.rows), part.opened.header) == ((10, True) if names else (11, False))
    assert part.feature_names == (names or part.feature_names)
    assert part.labels is None or len(part.label_names) == 6
    assert first != "a,b,kind," or part.opened.guesses[0].why.startswith("it is the only column of text or codes")


@pytest.mark.parametrize(
    ("cells", "why", "sure"),
    [
        ("11", "the last column has only the value 1, so all rows would be of one class", False),
        (["", ""], "all cells of the last column are missing", False),
        (["0", "", "1"], "the last column has no value in row 2, but labels must be complete", True),
        (["1700000000000", "1700000000001"], "the last column has integers beyond ±2147483648", True),
        (["1", "0.5"], "the last column has numbers other than integers", True),
    ],
)
def test_that_a_table_without_classes_has_the_reason_why_there_are_none(tmp_path, cells, why, sure):
    data = open_data([write(tmp_path / "x.csv", "a,b\n" + "".join(f".5,{cell}\n" for cell in cells))])
    assert (data.n_features, data.why_no_classes) == (2, f"{why}; choose a label column with two classes or more")
    assert [(guess.why, guess.sure) for guess in data.opened.guesses if guess.what == "no labels"] == [(why, sure)]
    named = open_data([write(tmp_path / "y.csv", "a,label\n.1,cat\n.2,cat\n")])
    with pytest.raises(DataError, match=r"y: all training rows are of the class cat; add rows of another .*r$"):
        named.check_classes()


PEOPLE = "name,town,a,b,c,d,e\n" + "".join(
    f"n{k},{town},{k},{k / 2},.5,{k % 3},.25\n" for k, town in enumerate(["Ulm", "Bonn", "Ulm", "Bonn", "Ulm"])
)


def test_that_text_columns_without_classes_are_left_out_and_reported():
    part = read(PEOPLE)
    assert classes(part) == ["Ulm", "Bonn", "Ulm", "Bonn", "Ulm"]
    assert part.feature_names == ("a", "b", "c", "d", "e")
    assert part.rows.tolist() == [[k, k / 2, 0.5, k % 3, 0.25] for k in range(5)]
    assert (part.opened.left_out, part.opened.label_column) == ((0,), 1)
    assert notes(part) == ["labels in column “town”", "column “name” left out"]
    assert not any(guess.sure for guess in part.opened.guesses)
    part = read("kind,a,sex\n" + "".join(f"{'xyz'[k % 3]},.{k},{'mf '[k % 3]}\n" for k in range(9)))
    assert (classes(part), part.opened.left_out) == (list("xyz" * 3), (2,))  # the sex of some rows is missing
    for name, words in (("set", ("val", "Train")), ("split", "TF"), ("is_test", ("False", "TRUE"))):
        part = read(f"{name},a,kind\n" + "".join(f"{words[k < 6]},.{k},{k % 3}\n" for k in range(9)))
        assert (part.labels.tolist(), part.opened.left_out) == ([0, 1, 2] * 3, (0,))
        assert part.opened.guesses[0].why.startswith("text" if name == "set" else "its name marks")
        part = read(f"id,a,{name}\n" + "".join(f"n{k},.{k},{words[k < 6]}\n" for k in range(9)))
        assert (part.labels is None) == (name == "set")
    part = read("note,a,kind\n" + "".join(f"{'broken' if k > 6 else ''},.{k},{k % 3}\n" for k in range(9)))
    assert (part.labels.tolist(), part.opened.left_out) == ([0, 1, 2] * 3, (0,))
    assert notes(read(PEOPLE, ParseOptions("d"))) == ["columns “name”, “town” left out"]
    many = [",".join([*(f"w{i}{k}" for i in range(7)), "ab"[k % 2], f"{k / 2}"]) for k in range(6)]
    assert notes(read("\n".join(many)))[-1] == "columns 1, 2, 3, 4, … left out"


@pytest.mark.parametrize("kinds", [["p", "q", "r"], ["True", "False", "False"]])
@pytest.mark.parametrize("yes", ["True", "true", '"TRUE"', "WAHR", "Vrai"])
def test_that_true_and_false_are_features_of_1_and_0_unless_they_are_in_the_last_column(tmp_path, kinds, yes):
    words = [yes, "False"] * 5
    text = "new,a,old,kind\n" + "".join(f"{words[k]},{k},{yes * (k != 3)},{kinds[k % 3]}\n" for k in range(9))
    part = read(text)
    assert (part.feature_names, part.opened.left_out, part.opened.label_column) == (("new", "a", "old"), (), 3)
    assert part.opened.guesses[0].sure == (kinds[0] == "p")
    np.testing.assert_array_equal(part.rows, [[1 - k % 2, k, 1 if k != 3 else np.nan] for k in range(9)])
    assert read_incomplete(write(tmp_path / "x.csv", text)).columns == (1,)  # words are not filled by numbers
    complete = write(tmp_path / "y.csv", text.replace(",3,,", f",3,{yes},"))
    rows, labels, *_ = read_new_rows([complete], 3, names=("old", "new", "a"), label_column="kind")
    assert (rows.tolist(), labels) == ([[1, 1 - k % 2, k] for k in range(9)], kinds * 3)
    first = read("sold,a\n" + "".join(f"{word},{k}\n" for k, word in enumerate(words)))
    assert (classes(first), first.feature_names) == ([yes.strip('"'), "False"] * 5, ("a",))
    middle = read("a,sold,b\n" + "".join(f".{k},{word if k else word.upper()},.{k}5\n" for k, word in enumerate(words)))
    assert (classes(middle), middle.feature_names) == ([yes.strip('"').upper(), "False"] * 5, ("a", "b"))
    # These words are also column names above numbers.
    assert not is_sure(read("True,False,FALSE\n" + "".join(f".{k},{word},.5\n" for k, word in enumerate(words))))
    with pytest.raises(DataError, match=r"line 299, column 1: found 'maybe', expected a finite number"):
        read(text + text.partition("\n")[2] * 32 + "maybe,1,True,p\n")


def test_that_columns_left_out_may_have_any_cells_and_a_test_table_leaves_out_those_of_the_training_table(tmp_path):
    part = read(PEOPLE.replace("n3,", '"one, two",').replace("n4", ""), ParseOptions("d", left_out=("name", "2")))
    assert part.labels.tolist() == [0, 1, 2, 0, 1]
    assert part.feature_names == ("a", "b", "c", "e")
    test = write(tmp_path / "x_test.csv", "note,town,a,b,c,d,e\nbad,Ulm,1,2,3,4,5\nbad,Ulm,1,2,3,4,6\n")
    data = open_data([write(tmp_path / "x_train.csv", PEOPLE), test])
    assert data.test_labels.tolist() == [1, 1]
    assert data.feature_names == ("a", "b", "c", "d", "e")
    assert "x_test.csv: column “note” left out" in [guess.what for guess in data.opened.guesses]


@pytest.mark.parametrize("kinds", ["pq", "01"])
@pytest.mark.parametrize("header", ["a,b,label\n", ""])
def test_that_a_test_table_may_have_an_empty_label_column(tmp_path, kinds, header):
    rows = [f".{k},.5,{{}}\n" for k in range(9)]
    train = write(tmp_path / "x.csv", header + "".join(row.format(kinds[k % 2]) for k, row in enumerate(rows)))
    data = open_data([train, write(tmp_path / "x_test.csv", header + "".join(row.format("") for row in rows))])
    assert (data.test.tolist(), data.test_labels) == (data.train.tolist(), None)
    assert "x_test.csv: no labels in the test set" in [guess.what for guess in data.opened.guesses]


@pytest.mark.parametrize("header", ["", "class,a,b\n", "# of 2024, by me\n\n# rows\nclass,a,b\n"])
def test_that_classes_that_begin_with_a_number_sign_are_not_comments(header):
    rows = "".join(f"{'#one' if k < 5 else 'two'},.{k},.5\n" for k in range(9))
    assert classes(read(header + rows)) == ["#one"] * 5 + ["two"] * 4
    assert classes(read(header + "#one,.1,.5\n#two,.2,.5\n")) == ["#one", "#two"]
    assert classes(read(header + "#one,.1,.5\n" * 900 + "two,.1,.2\n")) == ["#one"] * 900 + ["two"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# x\n\n# y, z\na,b,label\n\n.1,.2,0\n\n\n.3,.4,1\n", ["2 comment lines and 4 blank lines skipped"]),
        ("# x\na,b,label\n.1,.2,p\n\n.3,.4,q\n", ["1 comment line and 1 blank line skipped"]),
        ("# words without end\n" * 500 + "a,b,label\n.1,.2,0\n.3,.4,1\n", ["500 comment lines skipped"]),
        ("\ufeffsep=;\r\na;b;label\r\n1;.2;0\r\n0;.4;1\r\n", ["1 comment line skipped"]),
        ("sep=,\n|1x3 Cross validator\na,b,label\n.1,.2,0\n.3,.4,1\n", ["2 comment lines skipped"]),
        ("a,b,label\n.1,.2,0\n.3,.4,1\n", []),
        ("a|b|label\n.1|.2|0\n.3|.4|1\n||\n||\n", ["2 lines at the end left out"]),
        ("a,b,label\n.1,.2,0\n.3,.4,1\n\x1a", ["1 line at the end left out"]),
        (',"",\n\n,,\na,b,label\n.1,.2,0\n.3,.4,1\n', ["3 blank lines skipped"]),
        ('a,b,k\n.1,.2,0\n.3,.4,1\n,,\n\n,"",', ["3 lines at the end left out", "labels in column “k”"]),
    ],
)
def test_that_skipped_comments_and_blank_lines_are_counted(tmp_path, text, expected):
    data = open_data([write(tmp_path / "x.csv", text)])
    assert [guess.what for guess in data.opened.guesses] == expected
    assert [guess.what for guess in data.opened.guesses if not guess.sure] == [x for x in expected if "labels" in x]
    assert data.feature_names == ("a", "b")


@pytest.mark.parametrize("mark", [",", " "])
def test_that_column_names_in_the_last_comment_are_used(mark):
    names = mark.join(["b", "a", "class"])
    text = io.StringIO()
    np.savetxt(text, [[0.5, 0.25, 1], [0.1, 0.2, 0]], delimiter=mark, header=names)
    part = read(text.getvalue())
    assert (part.feature_names, part.labels.tolist()) == (("b", "a"), [1, 0])
    assert notes(part) == ["column names in the last comment line"]
    assert is_sure(part) == (mark == ",")  # with spaces, the comment may be a sentence
    assert read(text.getvalue(), ParseOptions(header=False)).feature_names == ()


def test_that_class_names_are_read_from_a_first_line_with_sizes_as_in_files_of_scikit_learn(tmp_path):
    rows = "".join(f"{k}.5,{k % 7},{k % 2}\n" for k in range(20))
    data = open_data([write(tmp_path / name, f"20,2,oak,ash\n{rows}") for name in ("x.csv", "x_test.csv")])
    assert (data.train.shape, data.test.shape, data.feature_names) == ((20, 2), (20, 2), ())
    assert [data.label_names[k] for k in data.train_labels[:2]] == ["oak", "ash"]
    assert np.array_equal(data.test_labels, data.train_labels)
    assert read(f"20,2,oak,ash\n{rows}", ParseOptions(bins=0)).label_names == ()
    for first in ("20,2,oak,2", "20,3,oak,ash", "x,2,oak,ash", "20,2,oak,oak"):
        with pytest.raises(DataError, match="line 1 has 4 cells"):
            read(f"{first}\n{rows}")


@pytest.mark.parametrize("mark", [";", "\t", ",", "|"])
@pytest.mark.parametrize("kinds", ["01", "pq"])
@pytest.mark.parametrize("header", [True, False])
def test_that_decimal_commas_are_read_and_reported(mark, kinds, header):
    quote = '"' if mark == "," else ""
    cells = [["0,5", "-1,25e-1", "3"], ["1.234,75", ",5", "-1.000.000,5"], ["7", "0,125", "2,0"]]
    lines = [mark.join([*(f"{quote}{cell}{quote}" for cell in row), kinds[k % 2]]) for k, row in enumerate(cells)]
    head = [mark.join(["a", "b", "c", "class"])] if header else []
    part = read("\n".join([*head, *lines]) + "\n")
    assert part.rows.tolist() == [[0.5, -0.125, 3.0], [1234.75, 0.5, -1000000.5], [7.0, 0.125, 2.0]]
    assert part.labels.tolist() == [0, 1, 0]
    (guess,) = (each for each in part.opened.guesses if "comma" in each.what)
    assert (guess.what, guess.why, guess.sure) == ("commas read as decimal commas", "cells have numbers like 0,5", True)
    # With commas as separators, there are as many numbers.
    assert read("0,5;p\n1,5;q\n2,5;p\n").label_names == read("0,5;x;p\n1,5;y;q\n2,5;z;p\n").label_names == ("p", "q")
    part = read("a;b;label\n1,234;5;0\n12,345;6;1\n")
    assert part.rows.tolist() == [[np.float32(1.234), 5.0], [np.float32(12.345), 6.0]]
    (guess,) = part.opened.guesses
    assert (guess.sure, "if the commas separate thousands" in guess.why) == (False, True)


@pytest.mark.parametrize(
    "cell",
    ['"1,234"', '"1,23,456.5"', "1 234", "45%", "5 %", "€5.50", "−5", "1.234.567", "1'000", "1.5D+02"],
)
def test_that_numbers_with_thousands_separators_or_units_are_refused_and_not_left_out_as_text(cell):
    with pytest.raises(DataError, match=r"has (numbers|cells) like .*; write .* without .*separators"):
        read("a,b,kind\n" + "".join(f"{cell if k else '-'},{k},{'xy'[k % 2]}\n" for k in range(12)))


@pytest.mark.parametrize(
    ("first", "names"), [("t,900.5,920,9", ("900.5", "920", "9")), ("a,?,3.5,9", ()), ("a,?,NA,", ())]
)
def test_that_a_first_line_has_names_only_if_its_texts_are_new_where_classes_repeat(first, names):
    part = read("\n".join([first, *(f"{'abc'[k % 3]},{k},2.5,{3 * k}" for k in range(10))]) + "\n")
    assert (part.feature_names, len(part.rows)) == (names, 10 + (not names))


@pytest.mark.parametrize(
    ("m", "name", "n"),
    [(2, "sex", 2), (61, "sex", 16), (61, "sex", 17), (2, "x", 21), (2, "rowId", 10), (61, "sexId", 10)],
)
def test_that_texts_before_a_last_column_of_few_values_are_classes_to_be_checked(m, name, n):
    part = read("\n".join([f"{name},age,disease", *(f"n{k % n},{k * 0.7},{k * k % m}" for k in range(40))]))
    assert part.opened.label_column == (0 if name.startswith("sex") else 2)
    assert all(guess.sure for guess in part.opened.guesses) == (n == 16)


@pytest.mark.parametrize(
    ("head", "rows", "what"),
    [
        ("id,a,kind", [(k + 1, k * k, "xy"[k % 2]) for k in range(10)], "column “id” numbers the rows or groups"),
        (",a,kind", [(7 * k % 10, k * k, "xy"[k % 2]) for k in range(10)], "column 1 left out"),
        ("a,kind", [(k + 1, k * k, "xy"[k % 2]) for k in range(10)], "column 1 left out"),
        ("Unnamed: 0,a,kind", [(k, k * k, k % 2) for k in range(10)], "column 1 left out"),
        ("a,b,kind", [(k * k, (7, -999)[k == 5], "xy"[k % 2]) for k in range(10)], "column “b” has the value -999"),
        ("a;b;kind", [(k * k, "1.037" if k else 900, "xy"[k % 2]) for k in range(10)], "column “b” has numbers like"),
        ("a,b,kind", [(k * k, "", "xy"[k % 2]) for k in range(10)], "column “b” left out"),
        ("a,kind", [(k * k, f"{k // 250 * '0'}{k % 3}") for k in range(300)], "labels with leading zeros are read as"),
        ("a,p,q,r", [(0.5, k % 3 // 2, k % 3 % 2, k % 3 == 0) for k in range(10)], "the label can be computed from"),
    ],
)
def test_that_row_numbers_and_one_column_per_class_are_reported(head, rows, what):
    mark = ";" if ";" in head else ","
    part = read("\n".join([head, *(mark.join(map(str, row)) for row in rows)]) + "\n")
    (guess,) = (each for each in part.opened.guesses if "labels in" not in each.what)
    assert guess.what.startswith(what)
    assert not guess.sure
    assert "leading zeros are" not in what or "choose the label column and move a row" in guess.why


def test_that_ten_numbers_that_count_up_are_column_names_if_the_next_line_does_not_count():
    pixels = np.random.default_rng(0).integers(0, 17, (30, 64))
    part = read("\n".join(",".join(map(str, row)) for row in [range(64), *pixels.tolist()]) + "\n")
    assert np.array_equal(part.rows, pixels)
    assert (part.labels, part.image_shape, part.opened.guesses[0].what) == (None, (8, 8), "line 1: column numbers")
    counted = np.arange(640).reshape(10, 64)
    assert np.array_equal(read("".join(",".join(map(str, row)) + "\n" for row in counted.tolist())).rows, counted)


@pytest.mark.parametrize(
    ("n_first", "second", "others", "last", "label"),
    [
        (4, [7], [7], [0, 0, 0, 200, 31], 0),
        (4, [0, 1], [0, 1], [0, 1], 0),  # fewer values than the first column
        (2, [0, 9], [0, 9], [0, 9], 0),  # gaps and 0
        (2, [1], [1], [-1, 1], 64),
        (2, [0], [0, 1], [0, 2], 64),  # unlike the pixel before it
        (4, [0], range(17), range(17), 0),  # has the largest value of all pixels
        (4, [0], range(18), range(17), 64),
        (4, [7], [7], ["nan"], 0),
        (3, [0, 1, 2], [0, 1, 2], [0, 2], 64),  # the first column is like the pixel after it
    ],
)
def test_that_labels_are_in_the_first_column_if_the_last_one_looks_like_pixels(n_first, second, others, last, label):
    columns = [range(n_first), second, *[others] * 62, last]
    rows = ([str(values[k % len(values)]) for values in columns] for k in range(40))
    assert read("".join(" ".join(row) + "\n" for row in rows)).opened.label_column == label
    part = read("".join(f"{k // 20 + 1},0.{k % 7},{k * k + 300}\n" for k in range(60)))  # the last one is a quantity
    assert (part.opened.label_column, np.unique(part.labels).tolist()) == (0, [1, 2, 3])


@pytest.mark.parametrize(("name", "shape"), [("p{}", (8, 8)), ("p{}x", None)])
def test_that_columns_are_pixels_only_if_their_names_end_in_digits(name, shape):
    head = ",".join(name.format(k) for k in range(64))
    part = read(head + ",label\n" + "".join(",".join(["0.5"] * 64 + [str(k % 2)]) + "\n" for k in range(12)))
    assert part.image_shape == shape
    part = read(head + "\n" + "".join(",".join(["0.5"] * 63 + [str(k % 2)]) + "\n" for k in range(12)))
    assert (part.labels is None, part.image_shape) == (bool(shape), shape)


@pytest.mark.parametrize(
    ("text", "group"),
    [
        ("id,a,b,kind\nP1,1,2,x\nP2,3,4,y\n P1 ,5,6,y\n", "id"),
        ("a,b,id,class\n1,2,7,0\n3,4,8,1\n5,6,7,1\n", "ID"),
        ("7,1,2,0\n8,3,4,1\n7,5,6,1\n", "1"),
        (amat_text(np.array([[7, 1, 2], [8, 3, 4], [7, 5, 6]]), np.array([0, 1, 1])), "1"),
        ("kind;id;a;b\nx;P;1,0;2\ny;Q;3,0;4\ny;P;5,0;6\n", "2"),
    ],
)
def test_that_a_column_of_groups_is_not_a_feature(tmp_path, text, group):
    data = open_data([write(tmp_path / "x.csv", text)], ParseOptions(group=group, scaled=False))
    assert data.groups.tolist() == [0, 1, 0]
    assert data.train.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert data.train_labels.tolist() == [0, 1, 1]


def test_that_groups_in_both_tables_are_reported(tmp_path):
    train = write(tmp_path / "x_train.csv", "id,a,kind\nP1,1,x\nP2,3,y\nP2,0,y\n")
    test = write(tmp_path / "x_test.csv", "a,kind,id\n1,x,P2\n1,y,P3\n")
    data = open_data([train, test], ParseOptions(group="id"))
    (guess,) = (each for each in data.opened.guesses if "group" in each.what)
    assert (guess.what, guess.why[:4]) == ("1 group in both the training set and the test set", "“P2”")
    write(test, "a,kind\n1,x\n1,y\n")
    assert open_data([train, test], ParseOptions(group="1")).groups.tolist() == [0, 1, 1]
