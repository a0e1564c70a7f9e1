"""Tables of the allowed values of parameters.

Parameter checks, the command line, the window and the help pages share these tables.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeVar


@dataclass(frozen=True)
class Choice:
    """One allowed value of a parameter, with its name on screen and its description.

    Attributes
    ----------
    key : str
        Name of the value in Python, in files and on the command line.
    text : str
        Name of the value on screen.
    tip : str
        One-line description without colons, semicolons or full stops, so that it can be an item of a list.
    """

    key: str
    text: str
    tip: str

    @property
    def short(self) -> str:
        """Display name without the trailing remark in parentheses."""
        return self.text.partition(" (")[0]


C = TypeVar("C", bound=Choice)


def table_of(*entries: C) -> Mapping[str, C]:
    """Return a read-only table that maps the key of each entry to the entry, in the given order."""
    return MappingProxyType({entry.key: entry for entry in entries})


def check_choice(name: str, value: object, table: Mapping[str, C]) -> C:
    """Return the entry of a table whose key is `value`.

    Parameters
    ----------
    name : str
        Name of the parameter, for the error message.

    Raises
    ------
    ValueError
        If no entry of the table has this key. The message lists the keys of the table.
    """
    if not isinstance(value, str) or value not in table:
        raise ValueError(
            f"{name} is {str(value) if isinstance(value, str) else value!r}; it must be one of {', '.join(table)}"
        )
    return table[value]
