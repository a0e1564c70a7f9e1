"""The one exception of everything that reads data."""

from __future__ import annotations

from slide_gui.text import printable

_LONGEST = 1500  # letters of a sentence, its place not counted


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
        message = printable(message)
        if len(message) > _LONGEST:  # what a file says is quoted, and may be long
            message = f"{message[: _LONGEST // 2]} … {message[-_LONGEST // 2 :]}"
        super().__init__(f"{printable(place)}: {message}" if place else message)
