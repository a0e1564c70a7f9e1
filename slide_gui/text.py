"""Format numbers, durations, pixels, layers and data sets for the screen, figures and the terminal.

Numbers have a minus sign (U+2212) and thin spaces between thousands. A dash replaces NaN and missing numbers.
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
NONE = "–"
"""Text shown for a missing number."""

_MINUTES, _HOURS, _DAYS = 90, 5400, 360_000  # durations in seconds from which a rough time has this unit
_LONGEST_NAME = 100  # characters
_FORMULA = re.compile(r"[=+\-@\t\r\n＝＋－＠]")  # first characters of a formula, from OWASP's list
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?%?", re.ASCII)
_JOINERS = "\u200c\u200d"  # required by Persian, Indic scripts and emoji
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
    """Return a number rounded to a number of significant digits, or to more if it would be rounded to `unlike`.

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
    """Return a mean squared difference with four decimals, or outside 0.001 … 1000 with two significant digits.

    Examples
    --------
    >>> mean_square(0.0646), mean_square(2.479e-8), mean_square(6147243513.8), mean_square(0.0)
    ('0.0646', '2.5·10⁻⁸', '6.1·10⁹', '0.0000')
    """
    return f"{value:.4f}" if not value or 0.001 <= value < 1000 else significant(value, 2)


def number(value: float) -> str:
    """Return the shortest decimal text of a number, with at most six digits.

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
    """Return the singular for exactly one item, else the plural.

    Examples
    --------
    >>> plural("row", "rows", 1), plural("row", "rows", 0)
    ('row', 'rows')
    """
    return one if n == 1 else many


def counted(value: int, noun: str) -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> counted(1, "run"), counted(2000, "run")
    ('1 run', '2\u202f000 runs')
    """
    return f"{count(value)} {plural(noun, f'{noun}s', value)}"


def count_range(values: Collection[int]) -> str:
    """Return the smallest and the largest of several counts.

    Examples
    --------
    >>> count_range([2, 1]), count_range([3, 3])
    ('1 to 2', '3')
    """
    ends = min(values), max(values)
    return " to ".join(map(count, dict.fromkeys(ends)))


def percentage(value: float, decimals: int = 2) -> str:
    """Return a percentage without its unit, with up to two more decimals if it would be rounded to 0 or 100.

    Otherwise, a few errors in many rows would look like no errors.

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
    """Return an expected duration, rounded.

    Examples
    --------
    >>> about(0.4), about(12.4), about(290.0), about(9000.0), about(4e6)
    ('about 1 s', 'about 12 s', 'about 5 min', 'about 2.5 h', 'about 46 days')
    """
    return f"about {_rough(seconds)}"


def time_left(seconds: float | None) -> str:
    """Return the remaining time, rounded; empty while unknown.

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
    """Return a base with its exponent in superscript.

    Examples
    --------
    >>> power("10", -12), power("W", 10)
    ('10⁻¹²', 'W¹⁰')
    """
    return base + str(exponent).translate(_RAISED)


def layer_name(layer: int) -> str:
    """Return the name of a layer's output; 0 is the input.

    Examples
    --------
    >>> layer_name(0), layer_name(12)
    ('h⁰', 'h¹²')
    """
    return power("h", layer)


def pixel_name(
    feature: int, image_shape: tuple[int, int] | None, names: Sequence[str] = (), *, transposed: bool = False
) -> str:
    """Return the row and column of a pixel as displayed, from 0. For other features, return the name or the number.

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
    """Reword a text about images and pixels for a table, which has rows and features.

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
    r"""Return a text as one line, with line breaks, control and formatting characters as escape sequences.

    The result cannot control a terminal or a text layout, and is valid in XML and UTF-8. Spaces of all widths remain.

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
    r"""Return a text for the window with right-to-left words in Unicode isolates.

    Without them, numbers and signs after such a word would also be displayed to its left.

    Examples
    --------
    >>> isolated("\u05d0\u05d1 \u00b7 17/200") == "\u2068\u05d0\u05d1\u2069 \u00b7 17/200", isolated("ab, 17")
    (True, 'ab, 17')
    """
    return text if "\u2068" in text else _RIGHT_TO_LEFT_WORDS.sub("\u2068\\g<0>\u2069", text)


def clean_name(name: str) -> str:
    r"""Return a printable name of at most 100 characters for a name from a file.

    A printable short name is returned with composed characters. Any other name ends in the first digits of its SHA-256,
    so that different names remain different.

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
    """Return the names of labels, or their numbers if the data set has no names.

    >>> label_names((1, 0, 7), ("taller", "wider"))
    ('wider', 'taller', '7')
    """
    return tuple(known[label] if 0 <= label < len(known) else str(label) for label in labels)


def told_apart(names: Sequence[str]) -> tuple[str, ...]:
    """Return names without the words with which all of them start or end.

    A range between two numbers starts with its lower limit, because narrow columns show only the ends of a name.

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
    """Return the number of characters in the words with which all names start, including the last space."""
    length = 0
    for place, letters in enumerate(zip(*names, strict=False)):
        if len(set(letters)) > 1:
            break
        if not letters[0].isalnum():
            length = place + 1
    return length


@lru_cache(maxsize=1024)  # the table of runs shows thousands of runs at few noise levels
def level(noise: float) -> str:
    """Return a noise level, or a probability, with two decimals, or in full if it has more.

    Examples
    --------
    >>> level(0.3), level(0.999), level(1 - 0.9)
    ('0.30', '0.999', '0.10')
    """
    noise = round(noise, 9)
    return fixed(noise, 2) if noise == round(noise, 2) else f"{noise:g}"


def place_name(noise: float, depth: int) -> str:
    """Return the name of a point of the error curves; depth 0 has no noise.

    Examples
    --------
    >>> place_name(0.3, 2), place_name(0.3, 0)
    ('noise 0.30, depth 2', 'the raw input')
    """
    return f"noise {level(noise)}, depth {depth}" if depth else "the raw input"


def dataset_title(name: str, generated: bool) -> str:
    """Return the name of a data set, marked if it was generated.

    Examples
    --------
    >>> dataset_title("Rectangles", True)
    'Rectangles (generated)'
    """
    return f"{name} (generated)" if generated else name


def unmarked(name: str, generated: bool) -> str:
    """Return the clean name of a stored data set, without the mark "(generated)" that earlier versions added."""
    return clean_name(name.removesuffix(" (generated)") if generated else name)


def plain(text: str) -> str:
    """Return a text with its numbers in plain ASCII, for other programs.

    Examples
    --------
    >>> plain("−1\u202f000")
    '-1000'
    """
    return text.replace(THIN, "").replace("−", "-")


def csv_text(text: str) -> str:
    """Return a text for a spreadsheet cell, with an apostrophe before the first character of a formula.

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
        The header and its tooltip.
    value : callable
        Returns the sort key of a record; None and NaN are sorted last.
    text : callable
        Returns the text of a record's cell.
    widest : str
        Widest number to expect; empty for a text column, which is as wide as its longest entry.
    """

    title: str
    tip: str
    value: Callable[[Any], Any]
    text: Callable[[Any], str]
    widest: str = ""

    @property
    def is_number(self) -> bool:
        """True for a column of numbers, which are right-aligned."""
        return bool(self.widest)
