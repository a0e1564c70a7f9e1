"""Frozen values out of a JSON document, every part checked for its type before it is used."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import lru_cache
from types import MappingProxyType, NoneType, UnionType
from typing import Any, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

from slide_gui.text import clean_name

__all__ = ["checked_value", "from_document", "unmarked"]

T = TypeVar("T")

_MOST = (1 << 63) - 1
"""A whole number of a document fits into 64 bits."""


def from_document(
    kind: Callable[..., T], document: object, name: str = "", given: Mapping[str, Any] = MappingProxyType({})
) -> T:
    """Return the dataclass that a JSON object holds; what it leaves out stands at its default.

    Parameters
    ----------
    kind : type
        A dataclass of numbers, texts, truth values, None, tuples and such dataclasses; one that has a ``from_document``
        of its own is read by that.
    document : object
        What `json.loads` gave.
    name : str
        Of the value, for the refusal.
    given : mapping
        Fields that the document does not hold, taken as they are.

    Raises
    ------
    ValueError
        If a field is unknown, missing or of another type; it is named.
    """
    name = name or kind.__name__
    if not isinstance(document, dict):
        raise ValueError(f"{name} is {_short(document)}, expected an object")
    readers, needed = _fields(kind)
    for key in document:
        if key not in readers or key in given:
            raise ValueError(f"{name} has an unknown entry {_short(key)}")
    for key in needed:
        if key not in document and key not in given:
            raise ValueError(f"{name} has no entry {key!r}")
    return kind(**{key: readers[key](value, key) for key, value in document.items()}, **given)


def unmarked(name: str, generated: bool) -> str:
    """Return the clean name of a data set that a file holds, without the mark that earlier versions wrote into it."""
    return clean_name(name.removesuffix(" (generated)") if generated else name)


def checked_value(hint: Any, value: object, name: str) -> Any:
    """Return a value of a JSON document as a type hint asks for it, lists as tuples.

    Raises
    ------
    ValueError
        If it is of another type, a number that is not finite, or a text with what no text holds.
    """
    return _reader(hint)(value, name)


_Reader = Callable[[object, str], Any]


@lru_cache(maxsize=64)
def _fields(kind: Any) -> tuple[dict[str, _Reader], tuple[str, ...]]:
    """Return a reader for each field of a dataclass, and which it cannot do without."""
    hints, settable = get_type_hints(kind), [each for each in fields(kind) if each.init]
    needed = (each.name for each in settable if each.default is MISSING and each.default_factory is MISSING)
    return {each.name: _reader(hints[each.name]) for each in settable}, tuple(needed)


@lru_cache(maxsize=256)
def _reader(hint: Any) -> _Reader:
    """Return what checks a value against a type hint; made once, for a store holds thousands of such values."""
    if get_origin(hint) in (Union, UnionType):
        return _reader_of_choices(hint)
    if get_origin(hint) is tuple:
        return _reader_of_tuples(hint)
    if is_dataclass(hint):
        from_class = getattr(hint, "from_document", None)
        if from_class is not None:
            return lambda value, name: from_class(value) if isinstance(value, dict) else _refuse(value, name, hint)
        return lambda value, name: from_document(hint, value, name)  # type: ignore[arg-type]
    fits = _PLAIN.get(hint, _never)
    return lambda value, name: value if fits(value) else _refuse(value, name, hint)


def _reader_of_choices(hint: Any) -> _Reader:
    readers = [_reader(choice) for choice in get_args(hint) if choice is not NoneType]
    optional = NoneType in get_args(hint)

    def read(value: object, name: str) -> Any:
        if value is None and optional:
            return None
        if len(readers) == 1:  # which says best what is wrong
            return readers[0](value, name)
        for reader in readers:
            try:
                return reader(value, name)
            except ValueError:
                continue
        return _refuse(value, name, hint)

    return read


def _reader_of_tuples(hint: Any) -> _Reader:
    kinds = get_args(hint)
    many = len(kinds) == 2 and kinds[1] is Ellipsis
    readers = [_reader(kind) for kind in kinds if kind is not Ellipsis]

    def read(value: object, name: str) -> Any:
        if not isinstance(value, (list, tuple)) or not (many or len(value) == len(readers)):
            return _refuse(value, name, hint)
        if many:
            return tuple([readers[0](each, name) for each in value])
        return tuple([reader(each, name) for reader, each in zip(readers, value, strict=True)])

    return read


def _is_whole(value: object) -> bool:
    return type(value) is int and -_MOST <= value <= _MOST


def _is_number(value: object) -> bool:
    """Whether a value is a finite number; a whole one stays one, so that hashes stay."""
    return math.isfinite(value) if type(value) is float else _is_whole(value)


def _is_text(value: object) -> bool:
    if type(value) is not str or "\0" in value:
        return False
    try:
        value.encode("utf-8", "surrogateescape")  # a file name may hold bytes that are no UTF-8
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can hold
        return False
    return True


def _never(_: object) -> bool:
    return False


_PLAIN: dict[Any, Callable[[object], bool]] = {
    int: _is_whole,
    float: _is_number,
    str: _is_text,
    bool: lambda value: type(value) is bool,
    NoneType: lambda value: value is None,
}


def _refuse(value: object, name: str, hint: Any) -> NoReturn:
    raise ValueError(f"{name} is {_short(value)}, expected {_said(hint)}")


def _said(hint: Any) -> str:
    """Return a type hint in words."""
    words = {
        int: "a whole number",
        float: "a finite number",
        str: "a text",
        bool: "true or false",
        NoneType: "null",
    }
    if get_origin(hint) in (Union, UnionType):
        return " or ".join(_said(choice) for choice in get_args(hint))
    return words.get(hint, "a list" if get_origin(hint) is tuple else "an object")


def _short(value: object) -> str:
    return ascii(value)[:60]
