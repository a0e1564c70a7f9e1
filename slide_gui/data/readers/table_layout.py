"""Detect the layout of a table from its first lines: delimiter, column names, text columns and label column."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from typing import Any, BinaryIO
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from slide_gui.data.errors import DataError
from slide_gui.data.readers.encoding import EMPTY_CELLS
from slide_gui.data.readers.parts import MOST_CLASSES, DataPart, is_missing
from slide_gui.data.readers.tables import LONGEST_LINE, PACKED, is_number, split_line, unpacked
from slide_gui.data.reading import LABEL_NAMES, NO_COLUMN, Guess, ParseOptions, find_column, requested_column
from slide_gui.text import clean_name, counted, plural

DELIMITERS = (b",", b";", b"\t", b"|")
# Names of a first column without a name, which pandas or R may have written to number the rows.
UNNAMED = ("column 1", "Unnamed: 0")

_INSPECTED = 200  # number of lines at the start of a table from which the program detects text columns
_INSPECTED_BYTES = 1 << 22
FEW_LEVELS = 16  # most columns of pixels have more distinct values than this, most columns of classes have fewer
# A first line 0, 1, 2, … of at least this length has column names, unless the next line also counts up. A line such as
# 0, 0.1, 0.2, … has column names if at least this number of cells only repeat another one.
_COUNTED = 4
_ORDERED = 7  # an ordered first line of at least this length has column names; by chance, 1 in 2500 rows is ordered
# A column with at least this number of distinct strings may contain dates, or names of rows or groups, and not classes.
_IDENTIFIERS = 10
_IDENTIFIER_WORD = re.compile(r"(?i:column 1|unnamed: 0|index|(.*[_ ])?(id|patient|subject))")
_IDENTIFIER_NAME = re.compile(rf"{_IDENTIFIER_WORD.pattern}|.*[a-z](Id|ID)")
_MISSING_CODES = {-99.0, -999.0, -9999.0, -99999.0, 999.0, 9999.0, 99999.0}
# Spreadsheets in German and French write the words of their language.
_TRUTH_VALUES = {"true": b"1", "false": b"0", "wahr": b"1", "falsch": b"0", "vrai": b"1", "faux": b"0"}
SET_NAMES = {"train", "training", "test", "testing", "val", "valid", "validation", "dev", "publictest", "privatetest"}
# Pattern of the names of columns in which True and False mark the rows of a set.
_SET_MARK = re.compile(rf"(is_)?({'|'.join(SET_NAMES)}|split)", re.IGNORECASE)
# Excel writes cells #N/A and a first line sep=;. The first line of adult.test is “|1x3 Cross validator”.
_COMMENT = re.compile(rb'#(?!N/A)|\|1x3 |"?sep=.?"?\s*$', re.IGNORECASE)
# A number with a decimal comma and optional points between groups of three digits.
_COMMA_NUMBER = re.compile(r"\s*[+-]?(\d{1,3}(\.\d{3})+|\d*),(\d+)([eE][+-]?\d+)?\s*", re.ASCII)
# A number with thousands separators (also as in 1,23,456), a decimal comma, a sign such as < or €, or a unit.
_FORMATTED_NUMBER = re.compile(
    r"(?a)[<>]?\(?[+−-]?[€$£]?[ \xa0]?[+−-]?(?=[.,]?\d)"
    r"(\d{1,3}([.,' \xa0\u202f]\d{3})+|\d{1,2}(,\d\d)+,\d{3}|\d*)([.,]\d+)?([dDeE][+-]?\d+)?[ \xa0]?[%€$£]?\)?"
)


@dataclass(frozen=True)
class TableLayout:
    """The layout of a table, detected from its first lines.

    Attributes
    ----------
    reading : ParseOptions
        The options for reading. For a test set, the options for columns are those of the training set.
    columns : tuple of str
        Column names, or "1", "2", … if there are none.
    named : bool
        True if the columns have names.
    label : int or None
        Index of the label column, or None if the choice depends on the numbers in the columns.
    text, truth_values, left_out : frozenset of int
        Indices of the text columns, of the features with True and False, and of the columns that are not features.
    start, first_line : int
        Byte offset and line number of the first row.
    comments, blanks : int
        Numbers of comment lines and blank lines before the first row.
    last : int
        Index of the last column. An empty column is not counted if each line only ends with a delimiter.
    decimal_commas : bool
        True if the numbers have decimal commas.
    group : int or None
        Index of the group column, which is also in `left_out`.
    class_names : dict
        Class name of each text of the label column that differs from it. It is a number if a line above the rows has
        the names. It is a name with a point at its end if the training set lacks this point, as in adult.test.
    packed : tuple of int
        Number of columns to which each cell is expanded if some cells have many numbers; otherwise empty.
    classes, groups : dict
        Code of each name in the label column, and of each name in the group column, in order of appearance.
    spellings : dict
        Class names of the training set, by their names in lower case. Words such as TRUE are spelled like these.
    """

    reading: ParseOptions
    delimiter: bytes
    columns: tuple[str, ...]
    named: bool
    label: int | None
    text: frozenset[int]
    truth_values: frozenset[int]
    left_out: frozenset[int]
    start: int
    first_line: int
    comments: int
    blanks: int
    last: int
    decimal_commas: bool
    group: int | None
    guesses: tuple[Guess, ...]
    place: str
    class_names: dict[str, str]
    packed: tuple[int, ...]
    spellings: dict[str, str]
    classes: dict[str, int] = field(default_factory=dict)
    groups: dict[str, int] = field(default_factory=dict)

    def labels(self, codes: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the class number of each row. Classes are numbered in alphabetical order."""
        number = {name: k for k, name in enumerate(sorted(self.classes))}
        return np.array([number[name] for name in self.classes], np.int64)[codes.astype(np.intp)]

    def could_be_pixels(self, columns: Iterable[str]) -> bool:
        """Return True if columns have no names, or names that end in a digit, as those of pixels usually do."""
        return not self.named or all(name[-1].isdigit() for name in columns)

    def suspicious_columns(
        self, rows: NDArray[np.floating], last_label: NDArray[Any] | None, features: list[int]
    ) -> Iterator[Guess]:
        """Yield warnings about columns that should perhaps be left out, and about numbers that may mean missing cells.

        Columns should be left out if they number the rows or groups, or are the 0/1 columns of one-hot encoded classes.
        """
        ends = np.fmin.reduce(rows).astype(float), np.fmax.reduce(rows).astype(float)
        spans = ends[1] - ends[0]
        for place, k in enumerate(features if len(rows) >= _IDENTIFIERS else ()):
            for end in _MISSING_CODES & {ends[0][place], ends[1][place]}:
                others = np.abs(rows[rows[:, place] != end, place])
                if len(others) and np.fmax.reduce(others) < abs(end) / 4:
                    what = f"column {shown_column(k, self.columns)} has the value {end:g}, which is far from all others"
                    yield Guess(what, "if it marks missing numbers, leave these cells empty")
            counts = spans[place] == len(rows) - 1 and (np.diff(np.sort(rows[:, place].astype(float))) == 1).all()
            if counts or _IDENTIFIER_NAME.fullmatch(self.columns[k]):
                remedy = "leave it out, or use it for groups (--group)"
                yield Guess(f"column {shown_column(k, self.columns)} numbers the rows or groups", remedy)
        total = np.full(len(rows), np.nan) if last_label is None else last_label.astype(np.float64)
        for k in range(len(features) - 1, -1, -1):
            total += rows[:, k]
            if (total == 1).all() and np.isin(rows[:, k:], (0, 1)).all():
                what = f"the label can be computed from the {counted(len(features) - k, 'column')} before it"
                yield Guess(what, "leave these columns out, or write one column of classes")
            if not (total <= 1).all():
                return

    def replace_texts(self, cells: list[bytes], lines: NDArray[np.int64]) -> list[bytes]:
        """Replace class and group names by codes, cells of left-out columns by 0, and decimal commas by points.

        In features with True and False, replace these words by 1 and 0.
        """
        d, named = len(self.columns), {self.group} | ({self.label} & self.text)
        coded = {k: self._codes(cells[k::d], lines, k) for k in named if k is not None}
        for k in self.left_out | coded.keys():
            cells[k::d] = coded.get(k, [b"0"] * len(lines))
        for k in self.truth_values:
            cells[k::d] = [_TRUTH_VALUES.get(cell.decode().strip().lower(), cell) for cell in cells[k::d]]
        if not self.decimal_commas:
            return cells
        if b"." in b"".join(cells):
            return [self._with_point(cell, lines[k // d], k % d) for k, cell in enumerate(cells)]
        return [cell.replace(b",", b".") for cell in cells]  # five times as fast as checking each cell

    def _codes(self, cells: list[bytes], lines: NDArray[np.int64], column: int) -> list[bytes]:
        kind, known = ("group", self.groups) if column == self.group else ("class", self.classes)
        texts, n_known = [normalize("NFC", cell.decode().strip()) for cell in cells], len(known)
        spellings = {each.lower(): each for each in reversed([*known, *dict.fromkeys(texts)])} | self.spellings
        texts = [spellings[text.lower()] if text.lower() in _TRUTH_VALUES else text for text in texts]
        names = [self.class_names.get(text, text) for text in texts] if kind == "class" else texts
        codes = [b"%d" % known.setdefault(name, len(known)) for name in names]
        missing = next(filter(is_missing, islice(known, n_known, None)), None)
        if missing is not None:
            others = "leave the row out, choose another label column or none, or write another name for this class"
            problem = f"line {lines[names.index(missing)]}, column {column + 1}: the {kind} is missing"
            remedy = f"fill it in, {others if kind == 'class' else 'or leave the row out'}"
            raise DataError(f"{problem} (found {missing!r}); {remedy}", self.place)
        if kind == "class" and len(known) > MOST_CLASSES:
            problem = f"column {shown_column(column, self.columns)} has more than {MOST_CLASSES} different names"
            raise DataError(f"{problem}, too many for classes; leave it out, or choose other labels", self.place)
        return codes

    def _with_point(self, cell: bytes, line: int, column: int) -> bytes:
        """Replace the decimal comma of a number by a decimal point."""
        if b"," not in cell and b"." not in cell:
            return cell
        text = cell.decode().strip()
        if not _COMMA_NUMBER.fullmatch(text):
            problem = f"line {line}, column {column + 1}: found {text[:20]!r} in a table with decimal commas"
            raise DataError(f"{problem}; write all numbers with them and without thousands separators", self.place)
        return _with_point(text).encode()


def table_layout(
    stream: BinaryIO,
    reading: ParseOptions,
    place: str,
    like: DataPart | None = None,
    known: tuple[str, ...] = (),
    *,
    before_test: bool = False,
) -> TableLayout:
    """Detect the layout of a table from its first lines. `known` are the column names of the training set, if any."""
    lines, comments, blanks = _first_lines(stream, place)
    delimiter = _delimiter([line for line, _, _ in lines], place)
    rows, packed = _rows([line for line, _, _ in lines], delimiter, place)
    pixels = {k for k, n in enumerate(n for n in packed for _ in range(n)) if n > 1}
    class_names = {} if reading.header else _class_names(rows)
    lines, rows = lines[bool(class_names) :], rows[bool(class_names) :]
    line, number, start = lines[0]
    # R writes a column of row names without a column name. All row names are different, and are strings or integers.
    row_names = {row[0].strip() for row in rows[1:] if len(row) == len(rows[0]) + 1 and row[-1].strip()}
    lacks_name = len(row_names) == len(rows) - 1 > 0 and not any(map(is_number, rows[0])) and not line.count(b'"') % 2
    lacks_name = lacks_name and all(name.isdecimal() or not is_number(name) for name in row_names)
    if lacks_name:
        rows[0].insert(0, "")
    if not rows[0][-1].strip() and {len(row) for row in rows[1:]} == {len(rows[0]) - 1}:
        rows[0].pop()  # only the line of column names ends with a delimiter
    elif {(len(row) - len(rows[0]), row[-1].strip()) for row in rows[1:]} == {(1, "")}:
        rows[0].append("")  # every other line ends with a delimiter
    with_commas = [cell.strip() for row in rows for cell in row if _COMMA_NUMBER.fullmatch(cell)]
    decimal_commas = bool(with_commas) and not any("." in cell and is_number(cell) for row in rows for cell in row)
    if decimal_commas:
        rows = [[_with_point(cell) for cell in row] for row in rows]
    first, below = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    ((n_cells, n_such),) = Counter(map(len, rows)).most_common(1)
    if not below and n_such > 2:
        problem = f"line {number} has {counted(len(first), 'cell')}, but {n_such} of the next lines have {n_cells}"
        raise DataError(f"{problem}; remove a title above the table, or correct the line", place)
    # Spreadsheets write empty cells after a title. The line below it has the names of the columns.
    second = next(filter(any, below), [])
    if sum(map(bool, first)) == 1 < sum(map(bool, second)) and not any(map(is_number, first + second)):
        raise DataError(f"line {number} has a title and empty cells; remove the title above the table", place)
    if len(first) == 1 and reading.group is None and not reading.left_out:
        remedy = "separate the numbers with commas, semicolons or tabs, or add the labels to the table of features"
        raise DataError(f"line {number} has one column; {remedy}", place)
    known = known if like is None else like.feature_names
    if known and reading.header is None and set(known) <= set(_unique_names(first)):
        reading = replace(reading, header=True)
    header, sure = _has_header(first, below, reading)
    names = _unique_names(first) if header and (reading.header or not (_counts_on(first) or _is_renamed(first))) else ()
    if not header and reading.header is None and comments:
        names = _commented_names(comments[-1], delimiter, len(first), place)
    columns = names or tuple(str(k + 1) for k in range(len(first)))
    samples = below if header else [first, *below]
    text = _text_columns(samples, len(first))
    reading = _options_like(reading, like, columns, bool(names), place)
    if before_test:
        reading = replace(reading, left_out=tuple(x for x in reading.left_out if find_column(x, columns) is not None))
    index = {name: k for k, name in enumerate(columns)}
    left_out = frozenset(index.get(each) or requested_column(each, columns, place) for each in reading.left_out)
    group = None if reading.group is None else requested_column(reading.group, columns, place)
    if pixels and group is None:
        group = next((k for k in text - left_out if {x.lower() for x in _filled(samples, k)} <= SET_NAMES), None)
    if group is not None:
        left_out |= {group}
    # A column with the name of a training feature is not a text column, even if most of its cells contain text.
    text_left = text - left_out - {index[name] for name in known if name in index}
    last = len(columns) - 1
    # In tables of images, all numbers may have leading zeros.
    coded = not text_left and _has_codes(samples, last) and not _has_codes(samples, last - 1)
    coded = (coded or bool(class_names)) and like is None and reading.bins is None and last not in left_out
    words = {k: set(map(str.lower, _filled(samples, k))) for k in text - left_out}
    truth_values = {k for k, cells in words.items() if cells <= _TRUTH_VALUES.keys()}
    # True and False in a column such as “test” mark the rows of a set, unless only this column may be the label column.
    marks = {k for k in text_left if _SET_MARK.fullmatch(columns[k]) and words[k] <= {*"tf", *_TRUTH_VALUES}}
    others = {k for k in text_left - marks - (truth_values - {last}) if 2 * len(words[k]) <= len(samples)}
    others |= {k for k, name in enumerate(columns) if name.lower() in LABEL_NAMES}
    if not others and len(marks) == 1 and reading.label_column is None and not _has_class_numbers(samples, last):
        marks = set()
    truth_values -= marks
    if like is not None:  # other words in a feature of the training set are refused later, with their line
        truth_values |= {k for k in words.keys() - text_left if words[k] & _TRUTH_VALUES.keys()}
    # A column of True and False is seldom the label column, unless it is the last one. If there is no other text and no
    # last column of class numbers, it can also be the only such column, the first one, or the one after an identifier.
    likely = text_left if len(text_left) == 1 else {int(bool(_IDENTIFIER_NAME.fullmatch(columns[0])))}
    likely = {last} if _has_class_numbers(samples, last) else likely
    texts = {last} if coded else set(text_left - (truth_values - {last}) or text_left & likely) - marks
    label, guesses = _label_column(columns, samples, texts, truth_values, reading, place)
    if pixels and label is None and reading.label_column is None:
        others = set(range(len(columns))) - pixels - left_out - text
        label = others.pop() if len(others) == 1 else None
        reading = replace(reading, label_column=NO_COLUMN)  # a pixel is never guessed to be the label
    if like is not None and label is not None and not _filled(samples, label):
        guesses.append(Guess("no labels in the test set", "the label column is empty in the first lines"))
        left_out, label = left_out | {label}, None
    if label is not None and label not in text:
        coded = (bool(class_names) and label == last) or _has_codes(samples, label)
        as_names = bool(like.label_names) if like is not None else reading.bins is None and coded
        if as_names or not all(map(is_number, _filled(samples, label))):
            text |= {label}  # the column has class names such as 1, 2 and 2b, or codes such as 01 and 02
            if reading.label_column is None and not class_names:
                what = f"column {shown_column(label, columns)} read as class names"
                guesses.append(Guess(what, "some are text or codes"))
    numbered = len({row[0] for row in samples if row[0].strip().isdecimal()}) == len(samples)
    numbered &= lacks_name or len(samples) >= _IDENTIFIERS
    # pandas and R write such an index. If a model uses it as a feature, `header` is given when new rows are read.
    numbered &= columns[0] in UNNAMED and columns[0] not in known and 0 not in (label, *left_out)
    if numbered and (known or reading.header is None):
        guesses.append(Guess("column 1 left out", "it has no name and numbers the rows"))
        left_out |= {0}
    if label is not None and label in left_out:
        problem = f"column {shown_column(label, columns)} is the label column"
        raise DataError(f"{problem}; choose another to leave out or for groups", place)
    truth_values -= {label}
    text, text_left = text - truth_values, text_left - truth_values
    _refuse_formatted((k for k in sorted(text_left) if k != label or guesses), samples, columns, place)
    empty: set[int] = set()
    # In other tables, such as a test set, a column without values may be a feature of the training set.
    if like is None and (known or reading.header is None):
        empty = {k for k in range(len(columns)) if columns[k] not in known and not _filled(samples, k)}
        last -= last in empty and not first[-1].strip()  # each line ends with a delimiter
        empty -= {label, *left_out, last if label is None and reading.label_column is None else None}
    reasons = {"text cannot be a feature": text_left - marks - {label}, "no value in the first lines": empty}
    for why, some in {**reasons, "its name marks the rows of a set": marks - {label}}.items():
        shown = [shown_column(k, columns) for k in sorted(some)]
        what = f"{plural('column', 'columns', len(shown))} {', '.join(shown[:4])}{', …' if len(shown) > 4 else ''}"
        guesses += [Guess(f"{what} left out", why)] * bool(some)
        left_out |= some
    guesses += [Guess("True and False read as 1 and 0", "features are numbers", sure=True)] * bool(truth_values)
    if delimiter == b";" and not decimal_commas:
        guesses += _possible_thousands(samples, columns, set(range(len(columns))) - {label, *left_out})
    trained = like.label_names if like is not None else ()
    dotted = {f"{name}.": name for name in trained if f"{name}." not in trained}
    if header:
        start, number = start + len(line), number + 1
    if names and not header:
        what, why = "column names in the last comment line", "it has one name per column"
        # If spaces separate the cells, a comment with one word per column may also be a sentence.
        guesses.append(Guess(what, why, sure=bool(delimiter)))
    if class_names:
        guesses.append(Guess("sizes and class names in the first line", "its second number is the feature count", True))
    if decimal_commas:
        guesses.append(_decimal_commas(with_commas, delimiter, place))
    if not sure:
        what = f"line {lines[0][1]}: {'column names' if names else 'column numbers' if header else 'a row of numbers'}"
        guesses.append(Guess(what, "column names are often ascending numbers, or words in no other line"))
    return TableLayout(
        reading=reading, delimiter=delimiter, columns=columns, named=bool(names), label=label, text=text,
        truth_values=frozenset(truth_values), left_out=left_out, start=start, first_line=number, group=group,
        comments=len(comments) - bool(names and not header), blanks=blanks, last=last, decimal_commas=decimal_commas,
        guesses=tuple(guesses), class_names=dotted | (class_names if label == last else {}), packed=packed,
        spellings={name.lower(): name for name in trained}, place=place,
    )  # fmt: skip


def _rows(lines: list[bytes], delimiter: bytes, place: str) -> tuple[list[list[str]], tuple[int, ...]]:
    """Return the cells of lines. If some cells have many numbers, as in FER2013, also return how many each cell has.

    Such a cell has eight or more numbers. Fewer numbers could be one number with spaces between thousands. The few
    lines that have other cells are left out; an error names them when all lines are read.
    """
    rows = [split_line(line, delimiter, place) for line in lines]
    wide = [split_line(unpacked(line, delimiter), delimiter, place) for line in lines] if delimiter else rows
    sizes = [(len(row), len(cells)) for row, cells in zip(wide, rows, strict=True)]
    usual = max(sizes[1:], key=sizes[1:].count, default=(0, 0))
    if usual[0] == usual[1] or 2 * sizes[1:].count(usual) < len(rows):
        return rows, ()
    widths = [len(cell.split()) if PACKED.fullmatch(cell.encode()) else 1 for cell in rows[sizes.index(usual, 1)]]
    header = [f"{cell} {k}" if n > 1 else cell for cell, n in zip(rows[0], widths, strict=False) for k in range(n)]
    is_header = sizes[0][0] == sizes[0][1] and not any(cell.count(" ") > 7 for cell in header)
    return [*[header] * is_header, *(row for row, n in zip(wide, sizes, strict=True) if n == usual)], tuple(widths)


def _class_names(rows: list[list[str]]) -> dict[str, str]:
    """Return the name of each class number, if the first line has two sizes and the class names, or else {}.

    scikit-learn's iris.csv has such a line: 150,4,setosa,versicolor,virginica.
    """
    names = {str(k): clean_name(cell) for k, cell in enumerate(rows[0][2:])}
    texts = {name for name in names.values() if not is_number(name) and not is_missing(name)}
    is_complete = len(texts) == len(names) > 1 and {row[-1].strip() for row in rows[1:]} <= set(names)
    n_features = {str(len(row) - 1) for row in rows[1:]}
    return names if is_complete and rows[0][0].isdecimal() and n_features == {rows[0][1]} else {}


def _refuse_formatted(features: Iterable[int], samples: list[list[str]], columns: tuple[str, ...], place: str) -> None:
    """Raise an error for features with thousands separators or units, because they would be left out as text."""
    for k in features:
        cells = _filled(samples, k)
        formatted = all(_FORMATTED_NUMBER.fullmatch(cell) or not re.search(r"\w", cell) for cell in cells)
        if formatted and re.search(r"\d", str(cells)):
            example = next(cell for cell in cells if not is_number(cell))
            what = f"column {shown_column(k, columns)} has cells like {example!r}; write numbers with a decimal point"
            raise DataError(f"{what} and without separators or units, write NA, or leave the column out", place)


def _possible_thousands(samples: list[list[str]], columns: tuple[str, ...], features: set[int]) -> Iterator[Guess]:
    """Yield a warning about each feature in which points may separate thousands, as in 512; 1.037; 2.114."""
    number = re.compile(r"0|[+-]?[1-9]\d{0,2}(\.\d{3})?")
    cells = {k: _filled(samples, k) for k in sorted(features)}
    pointed = {k: [cell for cell in each if "." in cell] for k, each in cells.items()}
    if not all(number.fullmatch(cell) for each in pointed.values() for cell in each):
        return  # at least one point cannot separate thousands, so all points are decimal points
    for k, each in pointed.items():
        if each and all(map(number.fullmatch, cells[k])):
            what = f"column {shown_column(k, columns)} has numbers like {each[0]}"
            yield Guess(what, "if the points separate thousands, save the table without them")


def _decimal_commas(cells: list[str], delimiter: bytes, place: str) -> Guess:
    """Return the guess that the commas in `cells` are decimal commas. Raise an error if they separate thousands."""
    unambiguous = not all(re.fullmatch(r"[+-]?[1-9]\d{0,2},\d{3}", cell) for cell in cells)
    if not unambiguous and delimiter == b",":  # programs that write decimal commas separate cells by semicolons
        problem = f"has numbers like {cells[0]!r}"
        raise DataError(f"{problem}; write all numbers with decimal points and without thousands separators", place)
    remedy = "" if unambiguous else "; if the commas separate thousands, save the table without them"
    return Guess("commas read as decimal commas", f"cells have numbers like {cells[0]}{remedy}", sure=unambiguous)


def _commented_names(comment: bytes, delimiter: bytes, columns: int, place: str) -> tuple[str, ...]:
    """Return the column names in a comment line, as `numpy.savetxt` writes them, or () if it does not contain names."""
    if (delimiter and comment.count(delimiter) != columns - 1) or not comment.startswith(b"#"):
        return ()
    cells = split_line(comment.lstrip(b"# "), delimiter, place)
    return () if len(cells) != columns or any(map(is_number, cells)) else _unique_names(cells)


def _first_lines(stream: BinaryIO, place: str) -> tuple[list[tuple[bytes, int, int]], list[bytes], int]:
    """Return the first rows with line number and offset, the comments before them, and the number of blank lines.

    Lines of empty cells before the first row, which spreadsheets write above a table, count as blank lines. A line that
    begins with ``#`` is a row if it has numbers in the same cells as the rows. Its first cell may then be a class name
    that begins with ``#``.
    """
    lines: list[tuple[bytes, int, int]] = []
    comments: list[tuple[bytes, int, int]] = []
    number, end, n_read = 0, stream.tell(), 0
    while len(lines) < _INSPECTED and n_read < _INSPECTED_BYTES and (line := stream.readline(LONGEST_LINE)):
        number, start, end = number + 1, end, end + len(line)
        if line.strip(None if lines else EMPTY_CELLS):
            (lines if lines or not _COMMENT.match(line) else comments).append((line, number, start))
            n_read += len(line)
    row = (lines[:2] or comments or [(b"", 0, 0)])[-1][0]
    first_row = next((k for k, (line, _, _) in enumerate(comments) if _has_numbers_like(line, row)), len(comments))
    lines = [*comments[first_row:], *lines]
    if not lines:
        raise DataError("has no rows of numbers; write one sample per line", place)
    return lines, [line for line, _, _ in comments[:first_row]], lines[0][1] - first_row - 1


def _has_numbers_like(line: bytes, row: bytes) -> bool:
    """Return True if a line has as many cells as a row, and has numbers in the same cells."""
    for mark in DELIMITERS:
        cells, others = (each.decode("utf-8", "ignore").split(mark.decode()) for each in (line, row))
        numbers = [is_number(_with_point(cell)) for cell in cells]
        if any(numbers) and numbers == [is_number(_with_point(cell)) for cell in others]:
            return True
    return False


def _delimiter(lines: list[bytes], place: str) -> bytes:
    """Return the separator of the cells: the candidate that gives the largest number of numeric cells.

    The separator is empty if the cells are separated by spaces.
    """
    # A delimiter in quotes is part of a cell, unless the quotes enclose the whole line.
    unquoted = re.sub(rb'(?<!\w)"[^"]*"', b'""', lines[0])
    present = [mark for mark in DELIMITERS if mark in (unquoted if unquoted.strip() != b'""' else lines[0])]
    numbers = lines[0].decode("utf-8", "ignore").split()
    # In “1,5 2,5” and “,5 1,5”, the commas are decimal commas, but in “1 ,5 ,2” they separate the cells.
    parts = [x for x in numbers if "," in x]
    if present == [b","] and len(numbers) > 1 and all(map(_COMMA_NUMBER.fullmatch, parts)):
        is_decimal = "," in numbers[0] or any(x[0] != "," for x in numbers[1:])
        return b"" if is_decimal else b","
    if present == [b"\t"]:
        # Several tabs or spaces may separate two cells. Splitting at spaces is right if only then all lines
        # have the same number of cells, or if only then some cells are numbers.
        by_tabs, by_blanks = ([split_line(line, mark, place) for line in lines] for mark in (b"\t", b""))
        below = by_tabs[1:] or by_tabs
        lacks_name = all(cell.strip() for row in below for cell in row)  # R writes no name above the row names
        are_split = {len(row) - len(by_tabs[0]) for row in below} in ({0}, {int(lacks_name)})
        tabs, blanks = (any(is_number(cell) for row in rows for cell in row) for rows in (by_tabs, by_blanks))
        if not (are_split and tabs) and blanks and len(set(map(len, by_blanks))) == 1:
            return b""
    if len(present) < 2:
        return present[0] if present else b"" if len(lines[-1].split()) > 1 else DELIMITERS[0]

    def n_numbers(mark: bytes) -> int:
        return sum(is_number(_with_point(cell)) for line in lines for cell in split_line(line, mark, place))

    # In “0,5;cat”, comma and semicolon give equally many numbers. The comma is then a decimal comma.
    return max(present, key=lambda mark: (n_numbers(mark), lines[0].count(mark), mark != b","))


def _with_point(cell: str) -> str:
    """Replace the decimal comma of a number by a decimal point. Return any other text unchanged."""
    return cell if _COMMA_NUMBER.fullmatch(cell) is None else cell.replace(".", "").replace(",", ".")


def _has_header(first: list[str], below: list[list[str]], reading: ParseOptions) -> tuple[bool, bool]:
    """Return two values: whether the first line has column names, and whether this is certain."""
    if reading.header is not None:
        return reading.header, True
    # A table of a pivot may have the column names True and False, with numbers below them.
    cells = [{cell.strip().lower() for cell in column} for column in zip(first, *below[:1], strict=True)]
    words = {k for k, cell in enumerate(first) if not (is_number(cell) or cells[k] <= _TRUTH_VALUES.keys())}
    named = {k for k in words if not is_missing(first[k])}
    # A class may also have a name such as “y”, but then this name occurs again in the lines below.
    new = {k for k in named if all(row[k] != first[k] for row in below)}
    numbers = [[cell for k, cell in enumerate(row) if k not in words] for row in (first, *below)]
    counts = any(numbers[0] == [str(start + k) for k in range(len(first)) if k not in words] for start in (-1, 0, 1))
    # A single number, as in the row “1, NA, NA”, does not show that column names count up. An exception is the header
    # “, 0” of a table with an index and one column.
    counts = counts and numbers[0] not in numbers[1:] and (len(numbers[0]) > 1 or words == {0})
    many = counts and bool(below) and len(first) >= _COUNTED and not _counts_on(below[0])
    # Column names can be ordered numbers, such as years or wavelengths.
    first_way, *others = map(_direction, numbers)
    ordered = first_way != 0 and first_way not in others and new == named and len(below) >= _IDENTIFIERS
    renamed = _is_renamed(numbers[0]) and not any(map(_is_renamed, numbers[1:]))
    many |= renamed or (ordered and len(first) >= _ORDERED)
    counts |= renamed or (ordered and (many or bool(words) or all(map(str.isdecimal, first))))
    if not named:
        return many or (counts and bool(words)), bool(words) or not counts
    known = any(first[k].strip().lower() in LABEL_NAMES for k in new)
    classes_alone = len(named) < len(first) and named <= _text_columns(below, len(first))
    sure = known or counts or not below or not classes_alone
    several = new == named and len(below) >= _IDENTIFIERS
    several = several and any(min(Counter(row[k] for row in below).values()) > 1 for k in new)
    return sure or several, sure or not several


def _counts_on(cells: list[str]) -> bool:
    """Return True if all cells have numbers, each one more than the number in the cell before it."""
    return all(is_number(cell) for cell in cells) and all(float(b) - float(a) == 1 for a, b in pairwise(cells))


def _is_renamed(cells: list[str]) -> bool:
    """Return True if cells look like a first row from which pandas made unique column names, such as 0, 0.1, 0.2, …"""
    bases = Counter(re.sub(r"\.[1-9]\d*$", "", cell) for cell in cells)
    names = {f"{base}.{k}".removesuffix(".0") for base, n in bases.items() for k in range(n)}
    return all(map(is_number, cells)) and names == set(cells) and len(cells) - len(bases) >= _COUNTED


def _direction(cells: list[str]) -> int:
    """Return 1 if at least three cells have strictly increasing numbers, −1 if decreasing numbers, otherwise 0."""
    if len(cells) < 3 or not all(map(is_number, cells)):
        return 0
    pairs = list(pairwise(map(float, cells)))
    return int(all(a < b for a, b in pairs)) - int(all(a > b for a, b in pairs))


def _filled(rows: list[list[str]], k: int) -> list[str]:
    """Return the cells of a column that are not missing."""
    return [row[k].strip() for row in rows if not is_missing(row[k])]


def _has_codes(rows: list[list[str]], k: int) -> bool:
    """Return True if a column has only integers, some with leading zeros. In such codes, 01 and 1 may be different."""
    cells = _filled(rows, k)
    return all(map(str.isdecimal, cells)) and any(len(cell) > 1 and cell[0] == "0" for cell in cells)


def _has_class_numbers(rows: list[list[str]], k: int) -> bool:
    """Return True if a column has 2 to `FEW_LEVELS` integers, each of them in two rows or more on average."""
    cells = {row[k].strip() for row in rows}
    return 1 < len(cells) <= min(FEW_LEVELS, len(rows) // 2) and all(map(re.compile(r"-?\d+(\.0)?").fullmatch, cells))


def _text_columns(rows: list[list[str]], columns: int) -> frozenset[int]:
    """Return the indices of the text columns, in which most of the known cells are not numbers."""
    cells = {k: _filled(rows, k) for k in range(columns)}
    return frozenset(k for k in cells if 2 * sum(map(is_number, cells[k])) < len(cells[k]))


def _unique_names(cells: list[str]) -> tuple[str, ...]:
    """Return unique column names. An empty or repeated name gets the number of its column."""
    names: dict[str, None] = {}
    for k, cell in enumerate(cells, start=1):
        name = clean_name(" ".join(cell.split())) or f"column {k}"
        while name in names:
            name = f"{name} ({k})"
        names[name] = None
    return tuple(names)


def shown_column(column: int, columns: tuple[str, ...]) -> str:
    """Return the name of a column in quotation marks, or its number if the table has no names."""
    name = columns[column]
    return name if name == str(column + 1) else f"“{name}”"


def _label_column(
    columns: tuple[str, ...], rows: list[list[str]], text: set[int], truth: set[int], reading: ParseOptions, place: str
) -> tuple[int | None, list[Guess]]:
    """Choose the label column by the options, the column names or the text columns. Return it, and guesses about it."""
    if reading.label_column is not None:
        is_none = reading.label_column.lower() == NO_COLUMN
        return None if is_none else requested_column(reading.label_column, columns, place), []
    # A repeated name has the number of its column in parentheses.
    used = {k: re.sub(r" \(\d+\)$", "", name.lower()) for k, name in enumerate(columns) if name not in reading.left_out}
    likely = [k for k, name in used.items() if name in LABEL_NAMES and not (name == "y" and "x" in used.values())]
    if likely:
        label = next((k for k in likely if k in text), likely[0])
        others = ", ".join(shown_column(k, columns) for k in likely if k != label and k not in text)
        why = f"leave out {others} if it repeats the labels"
        return label, [Guess(f"labels in column {shown_column(label, columns)}", why)] if others else []
    n_texts = {k: len(set(_filled(rows, k))) for k in text}
    # Strings that identify the rows, groups of rows such as patients, or the training and test set are not classes.
    # Notes and flags, which most rows lack, are not classes either.
    identifiers = {k for k in text if 2 * n_texts[k] > len(_filled(rows, k))}
    # A column such as speciesID may have the classes if no other column of text or class numbers could have them.
    alone = len(text - identifiers) == 1 and not any(_has_class_numbers(rows, k) for k in {len(columns) - 1} - text)
    pattern = _IDENTIFIER_WORD if alone else _IDENTIFIER_NAME
    identifiers |= {k for k in text if pattern.fullmatch(columns[k])}
    identifiers = {k for k in identifiers if n_texts[k] >= _IDENTIFIERS}
    identifiers |= {k for k in text if {cell.lower() for cell in _filled(rows, k)} <= SET_NAMES}
    identifiers |= {k for k in text if 2 * len(_filled(rows, k)) < len(rows)}
    repeated = [k for k in text - identifiers if 2 <= n_texts[k] < len(_filled(rows, k))]
    if not repeated and (identifiers or not text):
        return None, []
    # Missing cells are refused in the label column, but not in a column that is left out.
    complete = [k for k in repeated if len(_filled(rows, k)) == len(rows)] or repeated
    label = min(complete, key=lambda k: (n_texts[k], -k), default=min(text, key=lambda k: (n_texts[k], -k)))
    alike = truth - {label} if label in truth else set()
    why = "it has the fewest distinct values" if len(text) > 1 else "it is the only column of text or codes"
    why = "other columns also have only True and False" if alike and len(text) == 1 else why
    why += " of columns without missing cells" * (complete != repeated)
    ends = {int(_counts_on([row[0] for row in rows])), len(columns) - 1} - text - truth
    # Many distinct strings may be dates or places, and True and False between numbers may be a feature.
    doubtful = len(text | alike) > 1 or n_texts[label] > FEW_LEVELS or label in truth - {0, len(columns) - 1}
    doubtful |= any(pattern.fullmatch(columns[label]) for pattern in (_SET_MARK, _IDENTIFIER_NAME))
    doubtful |= any(2 <= len({row[k].strip() for row in rows}) <= FEW_LEVELS for k in ends)
    what = f"labels in column {shown_column(label, columns)}"
    return label, [Guess(what, f"{why} in the first lines", sure=not doubtful)]


def _options_like(
    reading: ParseOptions, like: DataPart | None, columns: tuple[str, ...], named: bool, place: str
) -> ParseOptions:
    """Return the options for a test set, with the label column and the left-out columns of the training set."""
    if like is None or not like.opened.columns:
        return reading
    trained_on, k = like.opened.columns, like.opened.label_column
    if like.opened.header != named:
        if k is None or reading.label_column is not None or len(columns) != len(trained_on):
            return reading
        return replace(reading, label_column=f"#{k + 1}")
    others_left = (each for each in reading.left_out if find_column(each, trained_on) is None)
    in_test_only = [columns[requested_column(each, columns, place)] for each in others_left]
    label = None if k is None else trained_on[k]
    n_known = len(trained_on) - (label is not None)
    if k is not None and not named and len(columns) == n_known:  # the test set has no label column
        numbers = tuple(str(n + (n < k)) for n in like.opened.left_out)
        return replace(reading, label_column=NO_COLUMN, left_out=numbers, group=None)
    group = reading.group and trained_on[requested_column(reading.group, trained_on, place)]
    left_out = [*(trained_on[n] for n in like.opened.left_out if trained_on[n] != group), *in_test_only]
    others = set(columns) - {*like.feature_names, *left_out, group} if named else columns[n_known:]
    return replace(
        reading,
        label_column=label if label in columns else reading.label_column if others else NO_COLUMN,
        left_out=tuple(each for each in left_out if each in columns),
        group=group if group in columns else None,
    )
