"""Format numbers, durations and the names of pixels, layers and data sets for the screen, figures and the terminal.

Numbers are written with a minus sign (U+2212) and with thin spaces as thousands separators. A dash replaces NaN and
missing numbers.
"""

import hashlib
import math
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

THIN = "\u202f"
# A dash, which is shown for a missing number.
NONE = "–"

_MINUTES, _HOURS, _DAYS = 90, 5400, 360_000  # shortest durations, in seconds, for which these units are used
_LONGEST_NAME = 100  # characters
_FORMULA = re.compile(r"[=+\-@\t\r\n＝＋－＠]")  # characters with which a formula can start, from OWASP's list
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?%?", re.ASCII)
_JOINERS = "\u200c\u200d"  # invisible characters that Persian, Indic scripts and emoji need
_TABLE_WORDS = {"an image": "a row", "image": "row", "pixel": "feature"}
_RIGHT_TO_LEFT = "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001eeff]+"
_RIGHT_TO_LEFT_WORDS = re.compile(f"{_RIGHT_TO_LEFT}(?:[ _-]{_RIGHT_TO_LEFT})*")
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def fixed(value: float, decimals: int) -> str:
    """Return a number with a fixed number of decimals.

    Examples
    --------
    >>> fixed(-0.251, 2), fixed(-0.001, 2), fixed(float("nan"), 1)
    ('−0.25', '0.00', '–')
    """
    if not math.isfinite(value):
        return NONE
    return f"{round(value, decimals) + 0.0:,.{decimals}f}".replace(",", THIN).replace("-", "−")


def significant(value: float, digits: int = 4, unlike: float = 0.0) -> str:
    """Return a number rounded to `digits` significant digits, or to more if it would otherwise be rounded to `unlike`.

    Examples
    --------
    >>> significant(0.0123456), significant(123456.0, 3), significant(2.5e-9, 2)
    ('0.01235', '123\u202f456', '2.5·10⁻⁹')
    >>> significant(0.99987, 3, unlike=1.0), significant(1.0, 3, unlike=1.0)
    ('0.9999', '1.00')
    """
    if not math.isfinite(value):
        return NONE
    while value != unlike == float(f"{value:.{digits - 1}e}"):
        digits += 1
    size = math.floor(math.log10(abs(value))) if value else 0
    if not -4 <= size < 7:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        times = "" if mantissa == "1" else f"{mantissa}·".replace("-", "−")
        return f"{times}{power('10', int(exponent))}"
    return fixed(value, max(0, digits - 1 - size))


def mean_square(value: float) -> str:
    """Return a mean squared difference with four decimals, or with two significant digits if outside 0.001 … 1000.

    Examples
    --------
    >>> mean_square(0.0646), mean_square(2.479e-8), mean_square(6147243513.8), mean_square(0.0)
    ('0.0646', '2.5·10⁻⁸', '6.1·10⁹', '0.0000')
    """
    return f"{value:.4f}" if not value or 0.001 <= value < 1000 else significant(value, 2)


def number(value: float) -> str:
    """Return a number in its shortest decimal form, with at most six significant digits.

    Examples
    --------
    >>> number(0.30000000000000004), number(-2.0)
    ('0.3', '−2')
    """
    return f"{value:.6g}".replace("-", "−")


def count(value: int) -> str:
    """Return an integer with thin spaces between thousands.

    Examples
    --------
    >>> count(50000)
    '50\u202f000'
    """
    return f"{value:,}".replace(",", THIN).replace("-", "−")


def plural(one: str, many: str, n: int) -> str:
    """Return the singular form if the number of items is 1, and the plural form otherwise.

    Examples
    --------
    >>> plural("row", "rows", 1), plural("row", "rows", 0)
    ('row', 'rows')
    """
    return one if n == 1 else many


def counted(value: int, noun: str) -> str:
    """Return a number of items with a noun in the singular or plural.

    Examples
    --------
    >>> counted(1, "run"), counted(2000, "run")
    ('1 run', '2\u202f000 runs')
    """
    return f"{count(value)} {plural(noun, f'{noun}s', value)}"


def count_range(values: Collection[int]) -> str:
    """Return the range of several numbers of items, from the smallest to the largest.

    Examples
    --------
    >>> count_range([2, 1]), count_range([3, 3])
    ('1 to 2', '3')
    """
    return " to ".join(map(count, dict.fromkeys((min(values), max(values)))))


def percentage(value: float, decimals: int = 2) -> str:
    """Return a percentage without its unit, with up to two more decimals if it would otherwise be rounded to 0 or 100.

    Without these decimals, a few errors in many rows would look like no errors.

    Examples
    --------
    >>> percentage(1.3), percentage(0.002), percentage(99.98, 1), percentage(100.0, 1)
    ('1.30', '0.002', '99.98', '100.0')
    """
    return fixed(value, next((n for n in range(decimals, decimals + 3) if 0 < round(value, n) < 100), decimals))


def per_cent(value: float, decimals: int = 2) -> str:
    """Return a percentage with its unit.

    Examples
    --------
    >>> per_cent(1.3)
    '1.30\u202f%'
    """
    return f"{percentage(value, decimals)}{THIN}%"


def p_value_text(p: float) -> str:
    """Return a p-value with two significant digits, or more if it would otherwise be rounded to 0.05.

    Examples
    --------
    >>> p_value_text(0.5), p_value_text(0.0497), p_value_text(0.050003), p_value_text(0.00002)
    ('p = 0.50', 'p = 0.0497', 'p = 0.050003', 'p < 0.0001')
    """
    return f"p = {significant(p, 2, unlike=0.05)}" if p >= 1e-4 else "p < 0.0001"


def duration(seconds: float | None) -> str:
    """Return a measured duration.

    Examples
    --------
    >>> duration(0.25), duration(75.0), duration(7500.0), duration(None)
    ('0.25 s', '1 min 15 s', '2 h 05 min', '–')
    >>> duration(59.6), duration(3599.6)
    ('1 min 0 s', '1 h 00 min')
    """
    if seconds is None:
        return NONE
    if seconds < 10:
        return f"{seconds:.2f} s" if seconds < 1 else f"{seconds:.1f} s"
    rounded = round(seconds)
    if rounded < 60:
        return f"{rounded} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{rounded // 60} min {rounded % 60} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def about(seconds: float) -> str:
    """Return an expected duration, roughly rounded.

    Examples
    --------
    >>> about(0.4), about(12.4), about(290.0), about(9000.0), about(4e6)
    ('about 1 s', 'about 12 s', 'about 5 min', 'about 2.5 h', 'about 46 days')
    """
    return f"about {_rough(seconds)}"


def time_left(seconds: float | None) -> str:
    """Return the remaining time, roughly rounded, or an empty string if it is unknown.

    Examples
    --------
    >>> time_left(12.4), time_left(300.0), time_left(9000.0), time_left(None)
    ('12 s left', '5 min left', '2.5 h left', '')
    """
    return "" if seconds is None else f"{_rough(seconds)} left"


def _rough(seconds: float) -> str:
    if seconds < _MINUTES:
        return f"{max(1, round(seconds))} s"
    if seconds >= _DAYS:
        return f"{round(seconds / 86400)} days"
    return f"{round(seconds / 60)} min" if seconds < _HOURS else f"{seconds / 3600:.1f} h"


def power(base: str, exponent: int) -> str:
    """Return a base with its exponent in superscript characters.

    Examples
    --------
    >>> power("10", -12), power("W", 10)
    ('10⁻¹²', 'W¹⁰')
    """
    return base + str(exponent).translate(_RAISED)


def layer_name(layer: int) -> str:
    """Return the name of a layer's output; layer 0 is the input.

    Examples
    --------
    >>> layer_name(0), layer_name(12)
    ('h⁰', 'h¹²')
    """
    return power("h", layer)


def pixel_name(
    feature: int, image_shape: tuple[int, int] | None, names: Sequence[str] = (), *, transposed: bool = False
) -> str:
    """Return the row and column (from 0) where a pixel is displayed. For other features, return the name or index.

    Examples
    --------
    >>> pixel_name(30, (28, 28)), pixel_name(30, (28, 28), transposed=True), pixel_name(30, None)
    ('1, 2', '2, 1', 'x30')
    >>> pixel_name(1, None, ("sepal length", "sepal width"))
    'sepal width'
    """
    if image_shape is None:
        return names[feature] if names else f"x{feature}"
    row, column = divmod(feature, image_shape[1])
    return f"{column}, {row}" if transposed else f"{row}, {column}"


def of_table(text: str) -> str:
    """Adapt a message about images and pixels to a table, in which they are called rows and features.

    Examples
    --------
    >>> of_table("Images of 784 pixels: draw on an image")
    'Rows of 784 features: draw on a row'
    """

    def translated(match: re.Match[str]) -> str:
        word = _TABLE_WORDS[match[0].lower()]
        return word.capitalize() if match[0][0].isupper() else word

    return re.sub(r"\b(an image|image|pixel)", translated, text, flags=re.IGNORECASE)


def printable(text: str) -> str:
    r"""Return a string as one line: line breaks, control and formatting characters become escape sequences.

    The result cannot change the state of a terminal or the layout of the surrounding text, and is valid in XML and
    UTF-8. Spaces of all widths are kept.

    Examples
    --------
    >>> printable("bell\a, red\x1b[31m, Tür")
    'bell\\x07, red\\x1b[31m, Tür'
    """
    if text.isprintable():
        return text
    hidden = {each for each in text if not each.isprintable() and unicodedata.category(each) != "Zs"} - set(_JOINERS)
    return "".join(ascii(letter)[1:-1] if letter in hidden else letter for letter in text)


def isolated(text: str) -> str:
    r"""Return a string for the window, with Unicode isolate characters around right-to-left words.

    Without these characters, numbers and signs that follow such a word would be displayed to its left.

    Examples
    --------
    >>> isolated("\u05d0\u05d1 \u00b7 17/200") == "\u2068\u05d0\u05d1\u2069 \u00b7 17/200", isolated("ab, 17")
    (True, 'ab, 17')
    """
    return text if "\u2068" in text else _RIGHT_TO_LEFT_WORDS.sub("\u2068\\g<0>\u2069", text)


def clean_name(name: str) -> str:
    r"""Make a name that was read from a file printable, and limit it to 100 characters.

    If the name is already short and printable, it is only converted to composed characters (Unicode NFC). Any other
    name is escaped and shortened. It then ends in the first digits of its SHA-256 hash, so that different names remain
    different.

    Examples
    --------
    >>> clean_name("<b>R&D</b>"), clean_name("a\nb")
    ('<b>R&D</b>', 'a\\nb [7e18f73731]')
    >>> clean_name("W" * 3000)
    'WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW…WWWWWWWWWWWWWWWWWWWW [978ffb132a]'
    """
    name = unicodedata.normalize("NFC", name)
    shown = printable(name)
    if shown == name and len(name) <= _LONGEST_NAME:
        return name
    if len(shown) > _LONGEST_NAME - 20:
        shown = f"{shown[:50]}…{shown[-20:]}"
    return f"{shown} [{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:10]}]"


def label_names(labels: Iterable[int], known: Sequence[str]) -> tuple[str, ...]:
    """Return the names of labels. A label without a name is returned as a number.

    >>> label_names((1, 0, 7), ("taller", "wider"))
    ('wider', 'taller', '7')
    """
    return tuple(known[label] if 0 <= label < len(known) else str(label) for label in labels)


def listed_names(names: Sequence[str]) -> str:
    """Return the first six names in quotation marks, separated by commas."""
    return ", ".join(f"“{name}”" for name in names[:6]) + (", …" if len(names) > 6 else "")


def listed_columns(names: Sequence[str]) -> str:
    """Return the first six column names in quotation marks, after the word column or columns."""
    return f"{plural('column', 'columns', len(names))} {listed_names(names)}"


def told_apart(names: Sequence[str]) -> tuple[str, ...]:
    """Shorten names by omitting the words with which all of them start or end.

    In names of ranges, "above" before the lower limit is also omitted, because narrow columns show only the start and
    the end of a name.

    Examples
    --------
    >>> told_apart(("cultivar 0", "cultivar 12")), told_apart(("left hand", "right hand"))
    (('…0', '…12'), ('left…', 'right…'))
    >>> told_apart(("up to 1.5", "above 1.5 to 3", "above 3"))
    ('up to 1.5', '1.5 to 3', 'above 3')
    """
    names = [re.sub(r"^above (?=\S*\d to \S*\d$)", "", name) for name in names]
    if len(set(names)) < 2:
        return tuple(names)
    before = _shared_length(names)
    after = _shared_length([name[before:][::-1] for name in names])
    return tuple(f"{'…' * bool(before)}{name[before : len(name) - after]}{'…' * bool(after)}" for name in names)


def _shared_length(names: Sequence[str]) -> int:
    """Return the number of characters in the words with which all names start, including the space after them."""
    length = 0
    for place, letters in enumerate(zip(*names, strict=False)):
        if len(set(letters)) > 1:
            break
        if not letters[0].isalnum():
            length = place + 1
    return length


@lru_cache(maxsize=1024)  # cached for the table of runs, which may show thousands of runs with few noise levels
def level(noise: float) -> str:
    """Return a noise level or a probability with two decimals, or with up to nine decimals if there are more than two.

    Examples
    --------
    >>> level(0.3), level(0.9999999), level(1 - 0.9)
    ('0.30', '0.9999999', '0.10')
    """
    text = f"{noise:.9f}".rstrip("0")
    return text + "0" * max(0, 2 - len(text.partition(".")[2]))


def noise_and_keep(noise: float) -> str:
    """Return a noise level together with the keep probability p.

    Examples
    --------
    >>> noise_and_keep(0.3)
    'noise 1 − p = 0.30 (p = 0.70)'
    """
    return f"noise 1 − p = {level(noise)} (p = {level(1 - noise)})"


def place_name(noise: float, depth: int) -> str:
    """Return the name of a point of the error curves. At depth 0, the noise level has no effect.

    Examples
    --------
    >>> place_name(0.3, 2), place_name(0.3, 0)
    ('noise 0.30, depth 2', 'the raw input')
    """
    return f"noise {level(noise)}, depth {depth}" if depth else "the raw input"


def dataset_title(name: str, generated: bool) -> str:
    """Return the name of a data set, with "(generated)" appended if the program generated the data.

    Examples
    --------
    >>> dataset_title("Rectangles", True)
    'Rectangles (generated)'
    """
    return f"{name} (generated)" if generated else name


def unmarked(name: str, generated: bool) -> str:
    """Return a printable name of a stored data set, without the suffix "(generated)" that earlier versions added."""
    return clean_name(name.removesuffix(" (generated)") if generated else name)


def plain(text: str) -> str:
    """Return a string whose numbers have ASCII minus signs and no thin spaces, so that other programs can read them.

    Examples
    --------
    >>> plain("−1\u202f000")
    '-1000'
    """
    return text.replace(THIN, "").replace("−", "-")


def csv_text(text: str) -> str:
    """Return a string for a spreadsheet cell. If it could be read as a formula, an apostrophe is put before it.

    Examples
    --------
    >>> csv_text("=1+1"), csv_text("-2"), csv_text("a=b")
    ("'=1+1", '-2', 'a=b')
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def spreadsheet_text(table: str) -> str:
    """Return a tab-separated table for the clipboard, with `csv_text` applied to each cell."""
    return "\n".join("\t".join(map(csv_text, line.split("\t"))) for line in table.split("\n"))


@dataclass(frozen=True)
class TextColumn:
    """One column of a table of records.

    Attributes
    ----------
    title, tip : str
        Header of the column, and the tooltip of the header.
    value : callable
        Function of a record that returns its sort key. None and NaN are sorted last.
    text : callable
        Function of a record that returns the text in its cell.
    widest : str
        Widest number to expect in the column, or an empty string if it contains text. A column of text is as wide as
        its longest entry.
    """

    title: str
    tip: str
    value: Callable[[Any], Any]
    text: Callable[[Any], str]
    widest: str = ""

    @property
    def is_number(self) -> bool:
        """True if the column contains numbers, which are aligned to the right."""
        return bool(self.widest)
