"""The exception that all readers of data raise."""

from slide_gui.text import printable

_LONGEST = 1500  # largest number of characters of a message, without the place at its start


class DataError(ValueError):
    """Error for data that cannot be used. The message is one line with the place, the problem and the remedy.

    Parameters
    ----------
    message : str
        The problem and the remedy.
    place : str, optional
        The file, with the line or the member of the archive in which the problem was found.
    """

    def __init__(self, message: str, place: str = "") -> None:
        message = printable(message)
        if len(message) > _LONGEST:  # messages quote strings from files, which may be long
            message = f"{message[: _LONGEST // 2]} … {message[-_LONGEST // 2 :]}"
        super().__init__(f"{printable(place)}: {message}" if place else message)
