"""Check parameters of estimators and fits. Each error message gives the value and the allowed range."""

import math
from contextlib import suppress
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.memory import check_free

_DTYPES = ("float32", "float64")


def check_number(
    name: str,
    value: object,
    *,
    positive: bool = False,
    least: float = -math.inf,
    below: float = math.inf,
    needed: str = "",
) -> float:
    """Return the value as a float. Raise ValueError if it is not a finite number in the allowed range.

    Text and booleans are rejected.

    Parameters
    ----------
    name : str
        Name of the parameter, for the error message.
    positive : bool
        True if the number must be above 0.
    least, below : float
        Limits of the range. The number may equal `least`, but must be less than `below`.
    needed : str
        Description of the allowed values, for the error message. The default is "a positive number" if `positive` is
        True, and "a finite number" otherwise.
    """
    number = number_or_nan(value)
    if not (math.isfinite(number) and least <= number < below) or (positive and number <= 0.0):
        allowed = needed or ("a positive number" if positive else "a finite number")
        raise ValueError(f"{name} is {_plain(value)!r}; it must be {allowed}")
    return number + 0.0  # −0.0 becomes 0.0, so that equal values have the same text in files.


def check_integer(name: str, value: object, least: int, most: int | None = None, otherwise: str = "") -> int:
    """Return the value as an int. Raise ValueError if it is not an integer in the allowed range.

    Text and booleans are rejected.

    Parameters
    ----------
    name : str
        Name of the parameter, for the error message.
    least, most : int
        Limits of the range, both included. If `most` is None, there is no upper limit.
    otherwise : str
        Description of other allowed values, which is appended to the error message.
    """
    number = number_or_nan(value)
    if not (number.is_integer() and least <= number and (most is None or number <= most)):
        allowed = f"{least} or more" if most is None else f"{least} to {most}"
        raise ValueError(f"{name} is {_plain(value)!r}; it must be an integer, {allowed}{otherwise}")
    return int(value)  # type: ignore[call-overload,no-any-return]  # exact above 2⁵³ as well


def check_integers(values: object, **least: int) -> dict[str, Any]:
    """Return attributes of `values` as ints. Keyword arguments give the names and the minimum values of the attributes.

    Raise ValueError if an attribute is not an integer, or is below its minimum.
    """
    return {name: check_integer(name, getattr(values, name), number) for name, number in least.items()}


def number_or_nan(value: object) -> float:
    """Return a real number as a float. Return NaN for booleans, numbers too large for a float, and other objects."""
    if isinstance(value, bool) or not isinstance(value, (int, float, Real)):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan


def _plain(value: object) -> object:
    """Convert a NumPy number to a Python number, because the repr of a NumPy number contains the type name."""
    return value.item() if isinstance(value, np.generic) else value


def check_flag(name: str, value: object) -> bool:
    """Return the value as a bool, or raise ValueError if it is not True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} is {value!r}; it must be True or False")
    return bool(value)


def check_dtype(value: Any) -> str:
    """Return the name of a data type. Raise ValueError if the type is not float32 or float64."""
    name = value
    if not isinstance(value, str) and value is not None:  # None is refused, because NumPy would interpret it as float64
        with suppress(TypeError):
            name = np.dtype(value).name
    if not isinstance(name, str) or name not in _DTYPES:
        raise ValueError(f"dtype is {value!r}; it must be one of {', '.join(_DTYPES)}")
    return name


def check_noise(noise: float) -> float:
    """Return the noise level 1 − p as a float, or raise ValueError if the keep probability p is not in (0, 1]."""
    needed = "at least 0 and below 1, so that p = 1 − noise is in (0, 1]"
    return check_number("noise", noise, least=0.0, below=1.0, needed=needed)


def check_ridge(ridge: float) -> float:
    """Return the ridge as a float, or raise ValueError if it is negative or not finite."""
    return check_number("ridge", ridge, least=0.0, needed="a finite number, 0 or more")


def empty(shape: tuple[int, ...], dtype: np.dtype[Any], needs: str, remedy: str) -> NDArray[Any]:
    """Return a new uninitialised array.

    If there is not enough memory, raise a MemoryError. Its message begins with a description of the computation that
    needs the array (`needs`) and ends with advice to the user (`remedy`).
    """
    check_free(math.prod(shape) * dtype.itemsize, needs, remedy)
    try:
        return np.empty(shape, dtype)
    except (MemoryError, ValueError):  # NumPy raises ValueError if the size exceeds the address space
        size = math.prod(shape) * dtype.itemsize / 1e9
        raise MemoryError(f"{needs} needs {size:.3g} GB of memory, more than is available; {remedy}") from None
