"""What stacked denoising autoencoders are trained with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from slide_gui.core.errors import check_dtype, check_noise, check_number, check_whole

__all__ = ["MOST_ROWS_A_STEP", "TUTORIAL", "SdaParameters"]

MOST_ROWS_A_STEP = 4096


@dataclass(frozen=True)
class SdaParameters:
    """What stacked denoising autoencoders are pre-trained and fine-tuned with.

    A step moves the weights against the MEAN gradient of a mini-batch, so that r times the rate and r times the rows
    a step come, for small rates, to the same path.

    Attributes
    ----------
    n_units : tuple of int
        Hidden units of each layer, lowest first; empty for none.
    noise : float or tuple of float
        Probability 1 − p that an input of a layer is set to 0, in [0, 1); one number, or one a layer.
    pretraining_rate : float
        Learning rate of the denoising autoencoders, on cross-entropy added up over the features. At 20 rows a step 0.1
        does in 15 epochs on a thousand images what 0.02 (the tutorials' 0.001 at one row a step) needs 50 for.
    pretraining_epochs : int
        Passes over the rows for each layer, 0 or more.
    fine_tuning_rate : float
        Learning rate of back-propagation through all layers.
    fine_tuning_epochs : int
        Passes over the labelled rows, 0 or more: at most so many with validation rows, exactly so many without.
    batch_size : int
        Rows a step, 1 to 4096. 20 gives small training parts (a thousand rows) enough steps in an epoch and keeps
        two thirds of the speed of the large matrix products that 100 reach; take 100 for tens of thousands of rows.
    patience : int
        Fine-tuning stops when so many epochs in a row were no better than the best so far on the validation rows.
    seed : int
        Of first weights, order of rows and masks, 0 or more.
    dtype : {"float32", "float64"}
        Of all arrays and products.
    """

    n_units: tuple[int, ...] = (1000, 1000, 1000)
    noise: float | tuple[float, ...] = 0.25
    pretraining_rate: float = 0.1
    pretraining_epochs: int = 15
    fine_tuning_rate: float = 0.1
    fine_tuning_epochs: int = 100
    batch_size: int = 20
    patience: int = 10
    seed: int = 0
    dtype: str = "float32"

    @property
    def noises(self) -> tuple[float, ...]:
        """The noise of each layer."""
        return self.noise if isinstance(self.noise, tuple) else (self.noise,) * len(self.n_units)

    def checked(self) -> SdaParameters:
        """Return these parameters, normalised.

        Raises
        ------
        ValueError
            Names the parameter that is out of range, what was found and what is allowed.
        """
        if not isinstance(self.n_units, (tuple, list)):
            raise ValueError(f"n_units is {self.n_units!r}; it must be whole numbers, one a layer")
        n_units = tuple(check_whole("n_units", units, 1) for units in self.n_units)
        return replace(
            self,
            n_units=n_units,
            noise=_noises(self.noise, len(n_units)),
            pretraining_rate=check_number("pretraining_rate", self.pretraining_rate, positive=True),
            pretraining_epochs=check_whole("pretraining_epochs", self.pretraining_epochs, 0),
            fine_tuning_rate=check_number("fine_tuning_rate", self.fine_tuning_rate, positive=True),
            fine_tuning_epochs=check_whole("fine_tuning_epochs", self.fine_tuning_epochs, 0),
            batch_size=check_whole("batch_size", self.batch_size, 1, MOST_ROWS_A_STEP),
            patience=check_whole("patience", self.patience, 1),
            seed=check_whole("seed", self.seed, 0),
            dtype=check_dtype(self.dtype),
        )


TUTORIAL = SdaParameters(
    n_units=(1000, 1000, 1000),
    noise=(0.1, 0.2, 0.3),
    pretraining_rate=0.001,
    pretraining_epochs=15,
    fine_tuning_rate=0.1,
    fine_tuning_epochs=1000,
    batch_size=1,
)
"""The recipe of the deep learning tutorials (deeplearning.net), whose code the paper's comparison uses."""


def _noises(noise: float | Sequence[float], depth: int) -> float | tuple[float, ...]:
    if not isinstance(noise, (tuple, list)):
        return check_noise(noise)  # type: ignore[arg-type]  # which refuses what is no number
    if len(noise) != depth:
        raise ValueError(f"noise has {len(noise)} numbers; there must be one, or one for each of the {depth} layers")
    return tuple(check_noise(value) for value in noise)
