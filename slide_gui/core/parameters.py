"""What a stack of denoisers is fitted with."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from slide_gui.core.denoiser import RIDGE
from slide_gui.core.errors import check_noise, check_ridge
from slide_gui.core.squashing import SQUASHINGS

__all__ = ["FIT_ON", "StackParameters"]

FIT_ON = ("values", "thresholded")


@dataclass(frozen=True)
class StackParameters:
    """What a stack is fitted with.

    Attributes
    ----------
    noise : float
        Probability 1 − p that a feature is blanked, in [0, 1).
    depth : int
        Number of layers l, 0 or more.
    threshold : float
        t of the threshold function (the paper's 0.5).
    squashing : {"threshold", "sigmoid", "tanh", "identity"}
        The function T between two layers.
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

    def checked(self) -> StackParameters:
        """Return these parameters, normalised.

        Raises
        ------
        ValueError
            Names the parameter that is out of range, what was found and what is allowed.
        """
        if isinstance(self.depth, bool) or int(self.depth) != self.depth or self.depth < 0:
            raise ValueError(f"depth is {self.depth!r}; it must be a whole number, 0 or more")
        if not math.isfinite(self.threshold):
            raise ValueError(f"threshold is {self.threshold!r}; it must be a finite number")
        if self.squashing not in SQUASHINGS:
            raise ValueError(f"squashing is {self.squashing!r}; it must be one of {', '.join(SQUASHINGS)}")
        if self.fit_on not in FIT_ON:
            raise ValueError(f"fit_on is {self.fit_on!r}; it must be one of {', '.join(FIT_ON)}")
        if np.dtype(self.dtype) not in (np.float32, np.float64):
            raise ValueError(f"dtype is {self.dtype!r}; it must be float32 or float64")
        if int(self.batch_size) != self.batch_size or self.batch_size < 1:
            raise ValueError(f"batch_size is {self.batch_size!r}; it must be a whole number, 1 or more")
        return replace(
            self,
            noise=check_noise(self.noise),
            ridge=check_ridge(self.ridge),
            depth=int(self.depth),
            threshold=float(self.threshold),
            dtype=np.dtype(self.dtype).name,
            batch_size=int(self.batch_size),
        )
