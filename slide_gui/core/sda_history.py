"""What training stacked denoising autoencoders reports, epoch by epoch."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FINE_TUNING", "PRE_TRAINING", "SdaEpoch", "SdaHistory"]

PRE_TRAINING = "pre-training"
FINE_TUNING = "fine-tuning"


@dataclass(frozen=True)
class SdaEpoch:
    """One pass over the training rows.

    Attributes
    ----------
    phase : {"pre-training", "fine-tuning"}
    layer : int
        Which layer is pre-trained, 1 … l; 0 in fine-tuning, which moves all.
    epoch : int
        1, 2, … within the layer or the fine-tuning.
    loss : float
        Mean over the rows as the epoch met them: of the reconstruction cross-entropy of a row in nats (the sum over
        its features), or of the negative log-likelihood of its class.
    validation_loss, validation_error : float or None
        After the epoch of fine-tuning, where there are validation rows: mean negative log-likelihood, and share of
        rows given a wrong class.
    """

    phase: str
    layer: int
    epoch: int
    loss: float
    validation_loss: float | None = None
    validation_error: float | None = None


@dataclass(frozen=True)
class SdaHistory:
    """All epochs so far, in order: what every report of an epoch carries.

    Attributes
    ----------
    epochs : tuple of SdaEpoch
    """

    epochs: tuple[SdaEpoch, ...] = ()

    def then(self, epoch: SdaEpoch) -> SdaHistory:
        """Return this history with one more epoch."""
        return SdaHistory((*self.epochs, epoch))

    def of(self, phase: str, layer: int = 0) -> tuple[SdaEpoch, ...]:
        """Return the epochs of one layer's pre-training, or of fine-tuning."""
        return tuple(e for e in self.epochs if (e.phase, e.layer) == (phase, layer))
