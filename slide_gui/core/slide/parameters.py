"""What a stack of denoisers is fitted with."""

from __future__ import annotations

from dataclasses import dataclass, replace

from slide_gui.core.choices import Choice, check_choice, table_of
from slide_gui.core.slide.denoiser import RIDGE
from slide_gui.core.slide.squashing import squashing_of
from slide_gui.core.validation import check_dtype, check_noise, check_number, check_ridge, check_whole

__all__ = ["FIT_ON", "LARGEST_NOISE", "MOST_LAYERS", "StackParameters"]

MOST_LAYERS = 8
"""The largest depth, of a fit as of sliders, commands and files."""

LARGEST_NOISE = 0.99
"""The largest noise that sliders and cursors offer, in steps of 0.01; a fit takes any below 1."""

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
    """What a stack is fitted with.

    Attributes
    ----------
    noise : float
        Probability 1 − p that a feature is blanked, in [0, 1).
    depth : int
        Number of layers l, 0 to `MOST_LAYERS`.
    threshold : float
        t of the threshold function (the paper's 0.5).
    squashing : str
        The function T between two layers, a key of `SQUASHINGS`.
    fit_on : {"values", "thresholded"}
        Whether a layer is fitted on the real-valued h (the paper) or on T(h).
    ridge : float
        Added to the diagonal of E[Q].
    dtype : {"float32", "float64"}
        Of the rows and representations; the solves are float64 always.
    batch_size : int
        Rows a block.
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
        """The dtype in which products of rows are summed; of rows of 0 and 1 they are exact in either.

        Rounded to float32, the scatter moves a row of W by about 3e-5 / noise of its length, so that with little noise
        float32 rows are summed in float64.
        """
        return "float64" if self.noise < _LITTLE_NOISE else self.dtype

    def checked(self) -> StackParameters:
        """Return these parameters, normalised.

        Raises
        ------
        ValueError
            Names the parameter that is out of range, what was found and what is allowed.
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
