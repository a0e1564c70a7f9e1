"""The language that the window speaks: English as it stands in the code, or the words of a catalogue.

A process has one language, chosen before anything that has words is imported. A process that chooses none speaks
English, as the command line and workers do. Keys, names in files, commands and numbers are the same in every language.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from gettext import GNUTranslations, NullTranslations

from slide_gui.resources import resource

__all__ = ["LANGUAGES", "in_english", "nearest", "plural", "speak", "spoken", "tr"]

LANGUAGES = {"en": "English", "de": "Deutsch"}
"""Code of a language → its own name for itself."""

_ENGLISH = NullTranslations()
_words = _ENGLISH
_spoken = "en"
_in_english: ContextVar[bool] = ContextVar("_in_english", default=False)


def speak(language: str) -> None:
    """Speak a language from here on.

    Parameters
    ----------
    language : str
        Of `LANGUAGES`.

    Raises
    ------
    ValueError
        If it is none of them.
    """
    global _words, _spoken
    if language not in LANGUAGES:
        raise ValueError(f"the language is {language!r}; it must be one of {', '.join(LANGUAGES)}")
    if language == "en":
        _words = _ENGLISH
    else:
        with resource(f"words/{language}.mo").open("rb") as file:
            _words = GNUTranslations(file)
    _spoken = language


def spoken() -> str:
    """Return the code of the language that is spoken."""
    return _spoken


@contextmanager
def in_english() -> Iterator[None]:
    """Return a context, and a decorator, in which texts are English: for what is stored, or read by programs.

    It is that of the thread that enters it; what was said before, at the level of a module too, stays as it is.
    """
    before = _in_english.set(True)
    try:
        yield
    finally:
        _in_english.reset(before)


def nearest(wanted: Iterable[str]) -> str:
    """Return the first language asked for that there is, else English.

    Parameters
    ----------
    wanted : iterable of str
        Codes, with or without a region.

    Examples
    --------
    >>> nearest(["fr-FR", "de_AT", "en"]), nearest(["fr"])
    ('de', 'en')
    """
    codes = (each.replace("_", "-").partition("-")[0].lower() for each in wanted)
    return next((code for code in codes if code in LANGUAGES), "en")


def tr(text: str, /, **values: object) -> str:
    """Return a text in the language that is spoken.

    Parameters
    ----------
    text : str
        A literal, in English: what the catalogue has it by.
    **values : object
        Fill its ``{name}``, as `str.format` does; without any, braces stand for themselves.

    Examples
    --------
    >>> tr("{n} of {total} rows", n=3, total=5)
    '3 of 5 rows'
    """
    said = _catalogue().gettext(text)
    return said.format(**values) if values else said


def plural(one: str, many: str, n: int) -> str:
    """Return the form that goes with a number.

    Examples
    --------
    >>> plural("row", "rows", 1), plural("row", "rows", 0)
    ('row', 'rows')
    """
    return _catalogue().ngettext(one, many, n)


def _catalogue() -> NullTranslations:
    return _ENGLISH if _in_english.get() else _words
