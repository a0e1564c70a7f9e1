"""The one exception of everything that reads data."""

from __future__ import annotations

__all__ = ["DataError", "printable"]


class DataError(ValueError):
    """Data that cannot be used, said in one sentence on one line, with the place and the remedy.

    Parameters
    ----------
    message : str
        What was found and what was expected, and where it helps, the remedy.
    place : str, optional
        The file, with the line or the archive's member.
    """

    def __init__(self, message: str, place: str = "") -> None:
        self.place = place
        super().__init__(printable(f"{place}: {message}" if place else message))


def printable(text: str) -> str:
    """Return a text on one line, with what a file's own names could do to a terminal written out."""
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)
