"""Greedy pre-training of stacked denoising autoencoders, layer by layer."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.blocked import rows_per_block
from slide_gui.core.pulse import Steady
from slide_gui.core.sda_denoiser import DenoisingDescent, first_layer
from slide_gui.core.sda_history import PRE_TRAINING, SdaEpoch, SdaHistory
from slide_gui.core.sda_model import DenoisingLayer, Sda
from slide_gui.core.sda_parameters import SdaParameters
from slide_gui.core.sda_rows import generator, mini_batches, unit_rows
from slide_gui.core.sda_units import Masks
from slide_gui.progress import NO_PROGRESS, Progress

__all__ = ["denoising_epoch", "pretrain"]

Values = NDArray[Any]


def pretrain(X: Values, parameters: SdaParameters, progress: Progress = NO_PROGRESS) -> Sda:
    """Train each layer to reconstruct the clean output of the layer below from that output masked.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Values from 0 to 1; an array of the parameters' dtype is not copied. Beside it there are two layers' outputs
        in memory, at most.
    parameters : SdaParameters
    progress : Progress
        Gets an `SdaHistory` as payload after each epoch.

    Raises
    ------
    ValueError
        If a parameter is out of range, a value is not from 0 to 1, there are no rows or no features, or training
        diverges.
    """
    parameters = parameters.checked()
    steady = Steady(progress)
    rows = unit_rows(X, parameters.dtype, steady.pulse)
    sda = Sda(parameters, (), rows.shape[1], rows.shape[0], SdaHistory())
    sizes = np.array([rows.shape[1], *parameters.n_units], dtype=float)
    reached = np.concatenate([[0.0], np.cumsum(sizes[:-1] * sizes[1:])])
    for k, noise in enumerate(parameters.noises):
        if k > 0:
            rows = _encoded(rows, sda.layers[-1], steady.pulse)
        part = steady.part(reached[k] / reached[-1], reached[k + 1] / reached[-1])
        layer, history = _train(rows, k + 1, noise, parameters, sda.history, part)
        sda = replace(sda, layers=(*sda.layers, layer), history=history)
    return sda


def _train(
    rows: Values, number: int, noise: float, parameters: SdaParameters, history: SdaHistory, progress: Progress
) -> tuple[DenoisingLayer, SdaHistory]:
    """Return layer `number` trained on these rows, and the history with its epochs."""
    random = generator(parameters.seed, number)
    layer = first_layer(rows.shape[1], parameters.n_units[number - 1], random, parameters.dtype)
    batch_size = min(parameters.batch_size, len(rows))
    descent = DenoisingDescent(layer, batch_size)
    masks = Masks(noise, random, (batch_size, rows.shape[1]))
    epochs = parameters.pretraining_epochs
    for epoch in range(1, epochs + 1):
        part = progress.part((epoch - 1) / epochs, epoch / epochs)
        loss = denoising_epoch(descent, rows, parameters.pretraining_rate, masks, random, part)
        if not math.isfinite(loss):
            raise ValueError(
                f"pre-training of layer {number} diverged in epoch {epoch}: "
                f"the rate {parameters.pretraining_rate:g} is too large"
            )
        history = history.then(SdaEpoch(PRE_TRAINING, number, epoch, loss))
        part.report(1.0, history)
    return layer, history


def denoising_epoch(
    descent: DenoisingDescent,
    rows: Values,
    rate: float,
    masks: Masks,
    random: np.random.Generator,
    progress: Progress = NO_PROGRESS,
) -> float:
    """Take a step for each mini-batch of the rows, and return the mean loss of a row.

    Parameters
    ----------
    descent : DenoisingDescent
    rows : ndarray of shape (n, n_inputs)
    rate : float
    masks : Masks
    random : numpy.random.Generator
        Of the order of the rows.
    progress : Progress
        Reported to several times a step.
    """
    total, done = 0.0, 0
    with np.errstate(over="ignore", invalid="ignore"):  # the loss tells
        for chosen in mini_batches(len(rows), len(descent.clean), random):
            m = len(chosen)
            clean, masked = descent.rows(m)
            np.take(rows, chosen, axis=0, out=clean, mode="clip")  # unlike "raise", fills out without a buffer
            masks.apply(clean, masked)
            total += descent.step(m, rate, progress.part(done / len(rows), done / len(rows)))
            done += m
    return total / len(rows)


def _encoded(rows: Values, layer: DenoisingLayer, progress: Progress) -> Values:
    """Return the clean output of a layer, shape (n, n_units)."""
    hidden: Values = np.empty((len(rows), len(layer.weights)), rows.dtype)
    step = rows_per_block(max(layer.weights.shape))
    for start in range(0, len(rows), step):
        layer.encode(rows[start : start + step], out=hidden[start : start + step])
        progress.report(0.0)
    return hidden
