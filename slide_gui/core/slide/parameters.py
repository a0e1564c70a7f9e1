"""Parameters of a stack of denoisers."""

from __future__ import annotations

from dataclasses import dataclass, replace

from slide_gui.core.choices import Choice, check_choice, table_of
from slide_gui.core.slide.denoiser import RIDGE
from slide_gui.core.slide.squashing import squashing_of
from slide_gui.core.validation import check_dtype, check_noise, check_number, check_ridge, check_whole

MOST_LAYERS = 8
"""Largest depth of a fit, and thus of sliders, commands and files."""

LARGEST_NOISE = 0.99
"""Largest noise level that sliders and cursors offer, in steps of 0.01; a fit accepts any below 1."""

FIT_ON = table_of(
    Choice(
        "values",
        "real values (the paper)",
        "each layer is fitted on the real-valued output of the layer below (eq. 11, Algorithm 2)",
    ),
    Choice("thresholded", "squashed values", "each layer is fitted on T of the output of the layer below"),
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
        Input of the fit of a layer: the real-valued h (as in the paper), or T(h).
    ridge : float
        Value added to the diagonal of E[Q].
    dtype : {"float32", "float64"}
        Data type of the rows and representations. Linear systems are always solved in float64.
    batch_size : int
        Largest number of rows per block.
    """

    noise: float = 0.3
    depth: int = 3
    threshold: float = 0.5
    squashing: str = "threshold"
    fit_on: str = "values"
    ridge: float = RIDGE
    dtype: str = "float32"
    batch_size: int = 4096

    @property
    def sums(self) -> str:
        """Data type in which products of rows are summed.

        Rounding the scatter to float32 changes a row of W by about 3e-5 / noise of its length. At low noise levels
        float32 rows are therefore summed in float64. For rows of 0 and 1 the sums are exact in both types.
        """
        return "float64" if self.noise < _LITTLE_NOISE else self.dtype

    def checked(self) -> StackParameters:
        """Return the parameters, checked and normalised.

        Raises
        ------
        ValueError
            If a parameter is out of range. The message gives its value and the allowed range.
        """
        check_choice("fit_on", self.fit_on, FIT_ON)
        return replace(
            self,
            squashing=squashing_of(self.squashing).key,
            noise=check_noise(self.noise),
            ridge=check_ridge(self.ridge),
            depth=check_whole("depth", self.depth, 0, MOST_LAYERS),
            threshold=check_number("threshold", self.threshold),
            dtype=check_dtype(self.dtype),
            batch_size=check_whole("batch_size", self.batch_size, 1),
        )
