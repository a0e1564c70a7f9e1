"""Parameters of a stack of denoisers, and the squashing functions between two layers (§4 of the paper)."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.choices import Choice, check_choice, table_of
from slide_gui.core.slide.denoiser import RIDGE
from slide_gui.core.slide.sharing import Windows, windows_of
from slide_gui.core.validation import check_dtype, check_integer, check_noise, check_number, check_ridge

Values = NDArray[np.floating]

# Largest number of layers of a stack. The limit applies to fits, sliders, commands and model files.
MOST_LAYERS = 8

# Largest noise level on the program's sliders. A fit accepts every noise level below 1.
LARGEST_NOISE = 0.99


@dataclass(frozen=True)
class Squashing(Choice):
    """A squashing function T, which is applied between two layers.

    Attributes
    ----------
    apply : callable
        Function (values, t) → T(values), in which t is the threshold. The result has the shape of the values. If it is
        boolean, False means 0 and True means 1.
    uses_threshold : bool
        True if the function depends on the threshold t.
    binary : bool
        True if T(a) is always 0 or 1, so that float32 sums of products of these values are exact.
    linear : bool
        True if T(a) = a, so that T(a) and a have the same scatter matrix.
    """

    apply: Callable[[Values, float], Values | NDArray[np.bool_]]
    uses_threshold: bool = False
    binary: bool = False
    linear: bool = False


SQUASHINGS = table_of(
    Squashing(
        "threshold",
        "threshold",
        "T(a) = 1 if a > t, else 0, as in the paper (§4)",
        lambda values, threshold: np.greater(values, threshold),
        uses_threshold=True,
        binary=True,
    ),
    Squashing(
        "sigmoid",
        "sigmoid",
        "T(a) = 1 / (1 + e^−a)",
        lambda values, _: np.asarray(0.5 * (1.0 + np.tanh(0.5 * values)), values.dtype),
    ),
    Squashing("tanh", "tanh", "T(a) = tanh a", lambda values, _: np.asarray(np.tanh(values))),
    Squashing("identity", "identity", "T(a) = a, so the stack stays linear", lambda values, _: values, linear=True),
)

FIT_ON = table_of(
    Choice(
        "values",
        "real values",
        "each layer is fitted to the real-valued output of the layer below, as in the paper (eq. 11, Algorithm 2)",
    ),
    Choice("thresholded", "squashed values", "each layer is fitted to the squashed output of the layer below"),
)

SHARING = table_of(
    Choice("none", "one row of W per pixel", "each feature has its own weights (eq. 8)"),
    Choice(
        "convolution",
        "one kernel for all pixels",
        "all pixels of an image share one set of weights for the window around each pixel",
    ),
)

_LITTLE_NOISE = 0.1


@dataclass(frozen=True)
class StackParameters:
    """Parameters of a stack of denoisers.

    Attributes
    ----------
    noise : float
        Noise level 1 − p: the probability that a feature is set to 0, in [0, 1).
    depth : int
        Number of layers l, 0 to `MOST_LAYERS`.
    threshold : float
        Threshold t of the threshold function (0.5 in the paper).
    squashing : str
        Key in `SQUASHINGS` of the function T between two layers.
    fit_on : {"values", "thresholded"}
        Input that a layer is fitted on: the real-valued output h of the layer below (as in the paper), or T(h).
    ridge : float
        Value added to the diagonal of E[Q], the expected scatter matrix of the corrupted rows.
    dtype : {"float32", "float64"}
        Data type of the rows and representations. Linear systems are always solved in float64.
    batch_size : int
        Largest number of rows that are converted and multiplied at a time.
    sharing : {"none", "convolution"}
        "none" gives each feature its own weights (as in the paper); "convolution" means one kernel for all pixels.
    window : int
        Side of the convolution kernel in pixels: odd, 3 or more.
    """

    noise: float = 0.3
    depth: int = 3
    threshold: float = 0.5
    squashing: str = "threshold"
    fit_on: str = "values"
    ridge: float = RIDGE
    dtype: str = "float32"
    batch_size: int = 4096
    sharing: str = "none"
    window: int = 9

    def document(self) -> dict[str, Any]:
        """Return the parameters as JSON-compatible values. Omit `sharing` and `window` if they have their defaults."""
        added = {name for name in ("sharing", "window") if getattr(self, name) == getattr(StackParameters, name)}
        return {name: value for name, value in vars(self).items() if name not in added}

    @property
    def sums(self) -> str:
        """Data type in which the products of rows are summed.

        Rounding the scatter matrix to float32 changes each row of the weights W by about 3e-5 / noise times the norm of
        the row. Products of float32 rows are therefore summed in float64 at noise levels below 0.1. For rows of 0 and 1
        the sums are exact in both data types.
        """
        return "float64" if self.noise < _LITTLE_NOISE else self.dtype

    @property
    def function(self) -> Squashing:
        """The squashing function T.

        Raises
        ------
        ValueError
            If `squashing` is not a key of `SQUASHINGS`.
        """
        return check_choice("squashing", self.squashing, SQUASHINGS)

    def windows(self, d: int, image_shape: tuple[int, ...] | None) -> Windows | None:
        """Return the windows of a convolution (see `windows_of`), or None if each feature has its own weights."""
        return None if self.sharing == "none" else windows_of(self.window, d, image_shape)

    def squash(self, values: Values, out: Values | None = None) -> Values:
        """Return T(values), with the shape and data type of the values.

        Parameters
        ----------
        values : ndarray
        out : ndarray, optional
            Array to fill and return. Its data type may differ from that of the values.
        """
        squashed = self.function.apply(values, self.threshold)
        if out is None:
            return squashed.astype(values.dtype, copy=False)
        np.copyto(out, squashed)
        return out

    def checked(self) -> Self:
        """Check all parameters, and return them with numbers converted to plain Python types.

        Raises
        ------
        ValueError
            If a parameter is out of range. The message gives its value and the allowed range.
        """
        check_choice("fit_on", self.fit_on, FIT_ON)
        check_choice("sharing", self.sharing, SHARING)
        if not check_integer("window", self.window, 3) % 2:
            raise ValueError(f"window is {self.window}; it must be an odd integer, 3 or more")
        return replace(
            self,
            squashing=self.function.key,
            noise=check_noise(self.noise),
            ridge=check_ridge(self.ridge),
            depth=check_integer("depth", self.depth, 0, MOST_LAYERS),
            threshold=check_number("threshold", self.threshold, least=-1e38, below=1e38, needed="within ±1e38"),
            dtype=check_dtype(self.dtype),
            batch_size=check_integer("batch_size", self.batch_size, 1),
            window=int(self.window),
        )
