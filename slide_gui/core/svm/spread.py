"""Solve the one-vs-one problems of an SVM as independent tasks on the workers of a Dask cluster."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import TYPE_CHECKING

from slide_gui.blas import limit_threads
from slide_gui.core.svm.model import PairProblems, PairSolution, Solve
from slide_gui.core.workers import TaskProgress, results_of, sent
from slide_gui.progress import Progress

if TYPE_CHECKING:
    from distributed import Client


def solved_by(client: Client) -> Solve:
    """Return a function that solves the problems of all pairs of classes on a cluster, one task per pair.

    The rows are sent once. Each task uses one BLAS thread, so a worker should run one task at a time.

    Raises
    ------
    TypeError
        If `client` is not a `distributed.Client`.
    """
    if not callable(getattr(client, "submit", None)):
        raise TypeError(f"client is {client!r}; it must be a distributed.Client, or None")

    def solve(problems: PairProblems, progress: Progress) -> Iterable[PairSolution]:
        token = secrets.token_hex(8)
        there = sent(client, problems, f"slide-pairs-{token}")
        numbers = range(len(problems.pairs))
        tasks = [client.submit(_solved, there, number, key=f"slide-pair-{token}-{number}") for number in numbers]
        return results_of(client, tasks, progress)

    return solve


def _solved(problems: PairProblems, number: int) -> PairSolution:
    limit_threads(1)
    (solution,) = problems.solved([number], TaskProgress())
    return solution
