"""Stacked denoising autoencoders in runs: as representation or classifier, and shared between runs."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.sda.model import Sda, SdaEpoch, SdaHistory, SdaNetwork, SdaParameters
from slide_gui.core.sda.training import fine_tune, into_range, pretrain, range_of
from slide_gui.data.dataset import Dataset
from slide_gui.experiments.runs.spec import RunSpec
from slide_gui.progress import NO_PROGRESS, Listener, Progress

Indices = NDArray[np.intp]

_MOST = 24  # largest number of each kind in the cache


@dataclass(frozen=True)
class NetworkRecord:
    """The training history of autoencoders.

    Attributes
    ----------
    epochs : tuple of SdaEpoch
        Epochs of pre-training, and of fine-tuning if it was done.
    best_epoch : int or None
        Epoch of fine-tuning whose parameters are used.
    """

    epochs: tuple[SdaEpoch, ...]
    best_epoch: int | None = None


@dataclass(frozen=True, eq=False)
class SdaFeatures:
    """Pre-trained autoencoders as a representation. Values are first scaled to [0, 1].

    Attributes
    ----------
    limits : (float, float)
        Values that are scaled to 0 and to 1.
    seconds : tuple of float
        Time of pre-training up to the end of each layer.
    """

    sda: Sda
    limits: tuple[float, float]
    seconds: tuple[float, ...]

    def transform(self, rows: NDArray[Any], *, progress: Progress = NO_PROGRESS) -> NDArray[np.floating]:
        """Return [x | h¹ | … | hˡ] of shape (n, Σ sizes)."""
        return self.sda.transform(into_range(rows, self.limits), progress=progress)

    def first(self, depth: int) -> SdaFeatures:
        """Return the lowest layers, equal to those of pre-training with this depth."""
        return replace(self, sda=self.sda.first(depth), seconds=self.seconds[:depth])


@dataclass(frozen=True, eq=False)
class Tuned:
    """A fine-tuned network that predicts classes from rows.

    Attributes
    ----------
    limits : (float, float)
        Values that are scaled to 0 and to 1.
    seconds : float
        Time of fine-tuning.
    """

    network: SdaNetwork
    limits: tuple[float, float]
    seconds: float

    def answer(self, rows: NDArray[Any], progress: Progress) -> tuple[Indices, NDArray[np.float64]]:
        """Return classes and log-probabilities. For two classes, return their difference, second minus first."""
        scores = self.network.scores(into_range(rows, self.limits), progress=progress).astype(np.float64)
        decisions = scores[:, 1:] - scores[:, :1] if scores.shape[1] == 2 else scores
        return np.asarray(scores.argmax(axis=1), np.intp), decisions


class Networks:
    """Cache of recently trained networks, so that runs with the same networks share them."""

    def __init__(self) -> None:
        self._pretrained: list[tuple[tuple[str, str], SdaFeatures]] = []
        self._tuned: dict[str, Tuned] = {}

    def __len__(self) -> int:
        """Return the number of cached pre-trained networks."""
        return len(self._pretrained)

    def pretrained(
        self,
        dataset: Dataset,
        parameters: SdaParameters,
        rows: Indices | None = None,
        *,
        progress: Progress = NO_PROGRESS,
    ) -> SdaFeatures:
        """Return autoencoders pre-trained on the training set, from the first layers of cached deeper ones if possible.

        Parameters
        ----------
        parameters : SdaParameters
            Parameters in their normal form.
        rows : ndarray of int, optional
            Rows to train on. Default: all.
        """
        key = dataset.fingerprint, "" if rows is None else hashlib.sha256(rows.tobytes()).hexdigest()
        for of, known in self._pretrained:
            if of == key and _begins(known.sda.parameters, parameters):
                return known.first(len(parameters.n_units))
        network = pretrained(dataset.train if rows is None else dataset.train[rows], parameters, progress=progress)
        self._pretrained = [*self._pretrained[1 - _MOST :], (key, network)]
        return network

    def tuned(self, spec_hash: str) -> Tuned | None:
        """Return a cached fine-tuned network by the hash of a run that trains it, or None."""
        return self._tuned.get(spec_hash)

    def keep(self, spec_hash: str, network: Tuned) -> None:
        """Cache a fine-tuned network and drop the oldest if the cache is full."""
        self._tuned[spec_hash] = network
        if len(self._tuned) > _MOST:
            del self._tuned[next(iter(self._tuned))]


def shared_networks(spec: RunSpec) -> str:
    """Return a key shared by runs on the same data whose autoencoders differ only in depth; may be empty."""
    if spec.sda is None:
        return ""
    rows = spec.training, spec.split, spec.seed, spec.fit_rows, spec.labels if spec.fit_rows == "labelled" else None
    lowest = replace(spec.sda.unsupervised, n_units=spec.sda.n_units[:1], noise=spec.sda.noises[0])
    return repr((spec.fingerprint, rows, lowest))


def pretrained(rows: NDArray[Any], parameters: SdaParameters, *, progress: Progress = NO_PROGRESS) -> SdaFeatures:
    """Pre-train autoencoders on rows, and record the time at the end of each layer."""
    limits = range_of(rows)
    started, told = time.perf_counter(), dict[int, float]()

    def note(fraction: float, payload: object) -> None:
        if isinstance(payload, SdaHistory) and payload.epochs:
            told[payload.epochs[-1].layer] = time.perf_counter() - started
        progress.report(fraction, payload)

    sda = pretrain(into_range(rows, limits), parameters.unsupervised, Listener(note))
    ends: list[float] = []
    for layer in range(1, len(parameters.n_units) + 1):
        ends.append(told.get(layer, ends[-1] if ends else 0.0))  # a layer without epochs took no time
    return SdaFeatures(sda, limits, tuple(ends))


def tuned(
    features: SdaFeatures,
    dataset: Dataset,
    codes: Indices,
    rows: Indices,
    validation: Indices,
    spec: RunSpec,
    networks: Networks,
    progress: Progress,
) -> Tuned:
    """Fine-tune autoencoders on some rows, with early stopping on the validation rows if there are any.

    Parameters
    ----------
    codes : ndarray of int
        Class of each row of the training set.
    rows, validation : ndarray of int
        Rows of the training set.
    spec : RunSpec
        Spec in its normal form.
    networks : Networks
        Cache of networks.
    """
    key = replace(spec, evaluate="test", test_rows=None).hash
    known = networks.tuned(key)
    if known is not None:
        return known
    started = time.perf_counter()

    def part(wanted: Indices) -> tuple[NDArray[Any], Indices]:
        chosen = dataset.train if len(wanted) == len(dataset.train) else dataset.train[wanted]
        return into_range(chosen, features.limits), codes[wanted]

    n_classes = int(codes.max()) + 1
    X, y = part(rows)
    X_valid, y_valid = part(validation) if len(validation) else (None, None)
    network = fine_tune(features.sda, X, y, n_classes, X_valid, y_valid, spec.sda, progress)
    result = Tuned(network, features.limits, time.perf_counter() - started)
    networks.keep(key, result)
    return result


def _begins(deeper: SdaParameters, wanted: SdaParameters) -> bool:
    """Return True if the lowest layers of the deeper autoencoders are the wanted ones."""
    depth = len(wanted.n_units)
    if deeper.n_units[:depth] != wanted.n_units or deeper.noises[:depth] != wanted.noises:
        return False
    first, second = (replace(one.unsupervised, n_units=(), noise=0.0) for one in (deeper, wanted))
    return first == second
