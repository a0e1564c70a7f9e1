"""Create frozen dataclasses from JSON documents, after checking the type of every value."""

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import MISSING, fields, is_dataclass
from functools import lru_cache
from types import MappingProxyType, NoneType, UnionType
from typing import Any, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")

# Largest absolute value that an integer in a JSON document may have, because SQLite stores integers in 64 bits.
_MOST = (1 << 63) - 1


def from_document(
    kind: Callable[..., T], document: object, name: str = "", given: Mapping[str, Any] = MappingProxyType({})
) -> T:
    """Create an instance of a dataclass from a JSON object of field values. Omitted fields get their default values.

    Parameters
    ----------
    kind : type
        A dataclass whose fields are numbers, strings, booleans, None, tuples or other dataclasses. The
        ``from_document`` method of a nested dataclass, if there is one, reads this dataclass.
    document : object
        Result of `json.loads`.
    name : str
        Name of the value in error messages.
    given : mapping
        Values of fields that the document must not contain. They are passed to the dataclass without a check.

    Raises
    ------
    ValueError
        If `document` is not a JSON object, has an unknown field or lacks a required field, or if a value has the wrong
        type. The error message contains the name of the field.
    """
    name = name or kind.__name__
    if not isinstance(document, dict):
        raise ValueError(f"{name} is {_short(document)}, expected a JSON object")
    readers, needed = _fields(kind)
    for key in document:
        if key not in readers or key in given:
            raise ValueError(f"{name} has an unknown entry {_short(key)}")
    for key in needed:
        if key not in document and key not in given:
            raise ValueError(f"{name} has no entry {key!r}")
    return kind(**{key: readers[key](value, key) for key, value in document.items()}, **given)


def checked_value(hint: Any, value: object, name: str) -> Any:
    """Check the type of a value of a JSON document against a type hint, and return the value. Lists become tuples.

    Raises
    ------
    ValueError
        If the type does not match the hint, a number is not finite, or a string contains invalid characters.
    """
    return _reader(hint)(value, name)


_Reader = Callable[[object, str], Any]


@lru_cache(maxsize=64)
def _fields(kind: Any) -> tuple[dict[str, _Reader], tuple[str, ...]]:
    """Return the functions that check the fields of a dataclass, and the names of the required fields."""
    hints, settable = get_type_hints(kind), [each for each in fields(kind) if each.init]
    needed = (each.name for each in settable if each.default is MISSING and each.default_factory is MISSING)
    return {each.name: _reader(hints[each.name]) for each in settable}, tuple(needed)


@lru_cache(maxsize=256)
def _reader(hint: Any) -> _Reader:
    """Return a function that checks the type of a value against a type hint.

    The functions are cached, because a store contains many values with the same type hints.
    """
    if get_origin(hint) in (Union, UnionType):
        return _reader_of_choices(hint)
    if get_origin(hint) is tuple:
        return _reader_of_tuples(hint)
    if is_dataclass(hint):
        from_class = getattr(hint, "from_document", None)
        if from_class is not None:
            return lambda value, name: from_class(value) if isinstance(value, dict) else _refuse(value, name, hint)
        return lambda value, name: from_document(hint, value, name)  # type: ignore[arg-type]
    fits, _ = _PLAIN.get(hint, (lambda _: False, ""))
    return lambda value, name: value if fits(value) else _refuse(value, name, hint)


def _reader_of_choices(hint: Any) -> _Reader:
    readers = [_reader(choice) for choice in get_args(hint) if choice is not NoneType]
    optional = NoneType in get_args(hint)

    def read(value: object, name: str) -> Any:
        if value is None and optional:
            return None
        # If only one type is valid, the error for this type is more precise than the general error below.
        if len(readers) == 1:
            return readers[0](value, name)
        for reader in readers:
            with suppress(ValueError):
                return reader(value, name)
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


def _is_integer(value: object) -> bool:
    return type(value) is int and -_MOST <= value <= _MOST


def _is_text(value: object) -> bool:
    if type(value) is not str or "\0" in value:
        return False
    try:
        # File names may contain bytes that are not UTF-8, which Python represents by surrogate escapes.
        value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # JSON allows half of a surrogate pair, which UTF-8 cannot encode.
        return False
    return True


# Maps a type to the function that checks whether a value has this type, and to its name in error messages.
_PLAIN: dict[Any, tuple[Callable[[object], bool], str]] = {
    int: (_is_integer, "an integer"),
    # An integer is also valid for a field of type float. It is not converted to float, because that would change the
    # hash of the JSON document.
    float: (lambda value: math.isfinite(value) if type(value) is float else _is_integer(value), "a finite number"),
    str: (_is_text, "a string"),
    bool: (lambda value: type(value) is bool, "true or false"),
    NoneType: (lambda value: value is None, "null"),
}


def _refuse(value: object, name: str, hint: Any) -> NoReturn:
    raise ValueError(f"{name} is {_short(value)}, expected {_expected(hint)}")


def _expected(hint: Any) -> str:
    """Describe, for an error message, which type a type hint requires."""
    if get_origin(hint) in (Union, UnionType):
        return " or ".join(_expected(choice) for choice in get_args(hint))
    return _PLAIN[hint][1] if hint in _PLAIN else "a list" if get_origin(hint) is tuple else "a JSON object"


def _short(value: object) -> str:
    return ascii(value)[:60]
