"""Frozen values out of a JSON document, every part checked for its type before it is used."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import lru_cache
from types import MappingProxyType, NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

__all__ = ["checked_value", "from_document"]

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
    hints = _hints(kind)
    for key in document:
        if key not in hints or key in given:
            raise ValueError(f"{name} has an unknown entry {_short(key)}")
    for each in fields(kind):  # type: ignore[arg-type]
        if each.name not in {**document, **given} and each.default is MISSING and each.default_factory is MISSING:
            raise ValueError(f"{name} has no entry {each.name!r}")
    return kind(**{key: checked_value(hints[key], value, key) for key, value in document.items()}, **given)


def checked_value(hint: Any, value: object, name: str) -> Any:
    """Return a value of a JSON document as a type hint asks for it, lists as tuples.

    Raises
    ------
    ValueError
        If it is of another type, a number that is not finite, or a text with what no text holds.
    """
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        choices = [choice for choice in get_args(hint) if choice is not NoneType or value is None]
        if len(choices) == 1:  # which says best what is wrong
            return checked_value(choices[0], value, name)
        for choice in choices:
            try:
                return checked_value(choice, value, name)
            except ValueError:
                continue
    elif origin is tuple and isinstance(value, (list, tuple)):
        kinds = get_args(hint)
        if len(kinds) == 2 and kinds[1] is Ellipsis:
            return tuple(checked_value(kinds[0], each, name) for each in value)
        if len(kinds) == len(value):
            return tuple(checked_value(kind, each, name) for kind, each in zip(kinds, value, strict=True))
    elif is_dataclass(hint) and isinstance(value, dict):
        own = getattr(hint, "from_document", None)
        return from_document(hint, value, name) if own is None else own(value)  # type: ignore[arg-type]
    elif _is_plain(hint, value):
        return value
    raise ValueError(f"{name} is {_short(value)}, expected {_said(hint)}")


@lru_cache(maxsize=64)
def _hints(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {each.name: hints[each.name] for each in fields(kind) if each.init}


def _is_plain(hint: Any, value: object) -> bool:
    if type(value) is int and abs(value) > _MOST:
        return False
    if hint is float:  # a whole number stays one, so that hashes stay
        return type(value) is int or (type(value) is float and math.isfinite(value))
    if hint is str:
        return isinstance(value, str) and "\0" not in value and _is_unicode(value)
    return hint in (int, bool, NoneType) and type(value) is hint


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can hold
        return False
    return True


def _said(hint: Any) -> str:
    """Return a type hint in words."""
    words = {int: "a whole number", float: "a finite number", str: "a text", bool: "true or false", NoneType: "null"}
    if get_origin(hint) in (Union, UnionType):
        return " or ".join(_said(choice) for choice in get_args(hint))
    return words.get(hint, "a list" if get_origin(hint) is tuple else "an object")


def _short(value: object) -> str:
    return ascii(value)[:60]
