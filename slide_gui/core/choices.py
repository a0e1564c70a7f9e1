"""One entry a choice, in the one table of its kind: checks, command line, panel and help are all made from it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeVar

__all__ = ["Choice", "check_choice", "stating", "table_of"]


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

    @property
    def short(self) -> str:
        """The text without what stands in brackets at its end."""
        return self.text.partition(" (")[0]


C = TypeVar("C", bound=Choice)
Documented = TypeVar("Documented", bound=type)


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
        raise ValueError(
            f"{name} is {str(value) if isinstance(value, str) else value!r}; it must be one of {', '.join(table)}"
        )
    return table[value]


def stating(**tables: Mapping[str, Choice]) -> Callable[[Documented], Documented]:
    """Return a decorator that writes the keys of tables into the docstring of a class.

    They stand in braces for the ``{…}`` in the line of the parameter of a table's name.

    >>> @stating(loss=table_of(Choice("hinge", "hinge", "the ordinary SVM")))
    ... class Model:
    ...     '''loss : {…}, default="hinge"'''
    >>> Model.__doc__
    'loss : {"hinge"}, default="hinge"'
    """

    def state(documented: Documented) -> Documented:
        for name, table in tables.items():
            keys = ", ".join(f'"{key}"' for key in table)
            text = documented.__doc__ or ""  # none where Python runs without them
            documented.__doc__ = re.sub(rf"^(\s*{name} : ){{…}}", rf"\1{{{keys}}}", text, flags=re.MULTILINE)
        return documented

    return state
