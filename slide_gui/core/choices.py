"""One entry a choice, in the one table of its kind: checks, command line, panel and help are all made from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeVar

__all__ = ["Choice", "check_choice", "table_of"]


@dataclass(frozen=True)
class Choice:
    """What can be chosen, in the words of program and person.

    Attributes
    ----------
    key : str
        In specs, in files and on the command line.
    text : str
        On screen.
    tip : str
        What it does, in a line without colon, semicolon or full stop, for it stands in lists.
    """

    key: str
    text: str
    tip: str


C = TypeVar("C", bound=Choice)


def table_of(*entries: C) -> Mapping[str, C]:
    """Return a table that cannot be changed: key → entry, in this order."""
    return MappingProxyType({entry.key: entry for entry in entries})


def check_choice(name: str, value: object, table: Mapping[str, C]) -> C:
    """Return the entry of a key.

    Parameters
    ----------
    name : str
        Of the parameter, for the refusal.

    Raises
    ------
    ValueError
        If it is the key of none; lists all of them.
    """
    if not isinstance(value, str) or value not in table:
        raise ValueError(f"{name} is {value!r}; it must be one of {', '.join(table)}")
    return table[value]
