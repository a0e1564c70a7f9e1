"""Tables of choices; checks, command line, panel and help all use the same table."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeVar


@dataclass(frozen=True)
class Choice:
    """One entry of a table of choices.

    Attributes
    ----------
    key : str
        Name in specs, in files and on the command line.
    text : str
        Name on screen.
    tip : str
        One-line description without colon, semicolon or full stop, so that it can be part of a list.
    """

    key: str
    text: str
    tip: str

    @property
    def short(self) -> str:
        """The text without the parenthesis at its end."""
        return self.text.partition(" (")[0]


C = TypeVar("C", bound=Choice)
Documented = TypeVar("Documented", bound=type)


def table_of(*entries: C) -> Mapping[str, C]:
    """Return a read-only mapping from key to entry, in the given order."""
    return MappingProxyType({entry.key: entry for entry in entries})


def check_choice(name: str, value: object, table: Mapping[str, C]) -> C:
    """Return the entry with the given key.

    Parameters
    ----------
    name : str
        Name of the parameter in the error.

    Raises
    ------
    ValueError
        If no entry has this key. The message lists all keys.
    """
    if not isinstance(value, str) or value not in table:
        raise ValueError(
            f"{name} is {str(value) if isinstance(value, str) else value!r}; it must be one of {', '.join(table)}"
        )
    return table[value]


def stating(**tables: Mapping[str, Choice]) -> Callable[[Documented], Documented]:
    """Return a decorator that writes the keys of tables into the docstring of a class.

    The keys replace ``{…}`` in the line of the parameter that has the name of the table.

    >>> @stating(loss=table_of(Choice("hinge", "hinge", "the ordinary SVM")))
    ... class Model:
    ...     '''loss : {…}, default="hinge"'''
    >>> Model.__doc__
    'loss : {"hinge"}, default="hinge"'
    """

    def state(documented: Documented) -> Documented:
        for name, table in tables.items():
            keys = ", ".join(f'"{key}"' for key in table)
            text = documented.__doc__ or ""  # None if Python runs with -OO
            documented.__doc__ = re.sub(rf"^(\s*{name} : ){{…}}", rf"\1{{{keys}}}", text, flags=re.MULTILINE)
        return documented

    return state
