"""Tables of choices; checks, command line, panel and help all use the same table."""

from collections.abc import Mapping
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
