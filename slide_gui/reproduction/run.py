"""Reproduce every figure and table of the paper, one after the other, with progress reports."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from slide_gui.experiments.evaluation.run import Load
from slide_gui.experiments.evaluation.table import EvaluationState
from slide_gui.experiments.store.store import RunStore
from slide_gui.progress import NO_PROGRESS, Listener, Progress
from slide_gui.reproduction.figures import PARTS, ReproducedItem, ReproductionContext
from slide_gui.reproduction.plan import ReproductionScale

if TYPE_CHECKING:
    from slide_gui.experiments.sweeps.cluster import Cluster


@dataclass(frozen=True, eq=False)
class ReproductionState:
    """The state of a reproduction.

    Attributes
    ----------
    title : str
        Title of the current item.
    seconds_left : float or None
        Estimated remaining seconds of the runs of the current item.
    """

    title: str
    items: tuple[ReproducedItem, ...] = ()
    seconds_left: float | None = None
    evaluation: EvaluationState | None = None


def reproduce(
    folder: Path,
    scale: ReproductionScale,
    load: Load,
    store: RunStore,
    *,
    progress: Progress = NO_PROGRESS,
    seen: Callable[[tuple[ReproducedItem, ...]], None] = lambda items: None,
    cluster: Cluster | None = None,
) -> tuple[ReproducedItem, ...]:
    """Reproduce every figure and table of the paper.

    Each run is stored before the next starts, so the same call resumes after an interruption.

    Parameters
    ----------
    folder : Path
        Folder for PDF, SVG, PNG and CSV of each item, and LaTeX and Markdown of the tables.
    load : callable
        Returns the data set of a key, given the key and a progress.
    progress : Progress
        Receives a `ReproductionState`.
    seen : callable
        Called with all completed items after each item.
    cluster : Cluster, optional
        Computes the runs in place of this process.

    Raises
    ------
    DataError
        If a data set is unsuitable.
    Cancelled
        By the progress.
    """
    return _Reproduction(ReproductionContext(folder, scale, load, store, cluster), progress, seen).run()


class _Reproduction:
    def __init__(
        self, context: ReproductionContext, progress: Progress, seen: Callable[[tuple[ReproducedItem, ...]], None]
    ) -> None:
        self._context, self._progress, self._seen = context, progress, seen
        self._state = ReproductionState("")

    def run(self) -> tuple[ReproducedItem, ...]:
        start = 0.0
        for title, stop, make in PARTS:
            self._state = replace(self._state, title=title, seconds_left=None)
            part = self._part(start, stop)
            part.report(0.0, self._state)
            began = time.perf_counter()
            item = make(title, self._context, part)
            item = replace(item, seconds=time.perf_counter() - began)
            self._state = replace(self._state, items=(*self._state.items, item))
            self._seen(self._state.items)
            start = stop
        self._progress.report(1.0, self._state)
        return self._state.items

    def _part(self, start: float, stop: float) -> Progress:
        """Return the progress of a part, which turns payloads into states of the whole reproduction."""
        part = self._progress.part(start, stop)
        return Listener(lambda fraction, said: part.report(fraction, None if said is None else self._told(said)))

    def _told(self, payload: object) -> ReproductionState:
        left = getattr(payload, "seconds_left", None)
        if isinstance(payload, EvaluationState):
            self._state = replace(self._state, evaluation=payload)
        if not isinstance(payload, ReproductionState):
            self._state = replace(self._state, seconds_left=left)
        return self._state
