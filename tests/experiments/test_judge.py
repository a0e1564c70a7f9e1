"""Judging rows: in growing blocks, with the error so far, whatever their order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from slide_gui.error_rate import ErrorRate
from slide_gui.experiments.runs.run import Estimate, Judgement, judge
from slide_gui.progress import Progress


class Parity:
    """Takes the first column of a row for its class, modulo three; its decision values tell the row."""

    def __init__(self) -> None:
        self.blocks: list[list[int]] = []

    def answer(self, rows: np.ndarray, progress: Progress) -> tuple[Any, Any]:
        self.blocks.append(rows[:, 0].astype(int).tolist())
        return rows[:, 0].astype(np.intp) % 3, rows * np.array([1.0, 10.0])


class Listener(Progress):
    def __init__(self) -> None:
        self.fractions: list[float] = []
        self.estimates: list[Estimate] = []

    def report(self, fraction: float, payload: object = None) -> None:
        self.fractions.append(fraction)
        if isinstance(payload, Estimate):
            self.estimates.append(payload)


N = 13_000
PART = np.column_stack([np.arange(N), np.ones(N)])
CODES = (np.arange(N) % 3 + (np.arange(N) % 10 == 0)) % 3  # every tenth row is wrong


def judged(order: np.ndarray) -> tuple[Judgement, Parity, Listener]:
    predictor, listener = Parity(), Listener()
    return judge(predictor, PART, CODES, order, progress=listener), predictor, listener


def test_that_answers_come_by_row_whatever_the_order() -> None:
    order = np.random.default_rng(0).permutation(N)[:12_000]
    given = order.copy()
    found, _, _ = judged(order)
    np.testing.assert_array_equal(order, given)
    np.testing.assert_array_equal(found.rows, np.sort(order))
    np.testing.assert_array_equal(found.truth, CODES[found.rows])
    np.testing.assert_array_equal(found.predicted, found.rows % 3)
    np.testing.assert_array_equal(found.decisions, np.column_stack([found.rows, np.full(12_000, 10)]))
    np.testing.assert_array_equal(found.rows[found.wrong], found.rows[found.rows % 10 == 0])
    assert found.error == np.mean(found.rows % 10 == 0)


def test_that_blocks_are_the_next_of_the_order_doubled_up_to_4000_rows_and_read_in_the_order_of_the_file() -> None:
    order = np.random.default_rng(0).permutation(N)
    _, predictor, _ = judged(order)
    assert [len(block) for block in predictor.blocks] == [500, 1000, 2000, 4000, 4000, 1500]
    assert all(block == sorted(block) for block in predictor.blocks)
    assert predictor.blocks[1] == sorted(order[500:1500].tolist())


def test_that_the_error_so_far_is_told_after_each_block() -> None:
    order = np.random.default_rng(0).permutation(N)
    _, _, listener = judged(order)
    ends = [500, 1500, 3500, 7500, 11_500, N]
    assert [(e.done, e.total) for e in listener.estimates] == [(end, N) for end in ends]
    assert [e.wrong for e in listener.estimates] == [int(np.sum(order[:end] % 10 == 0)) for end in ends]
    assert listener.estimates[-1].error == 0.1
    assert listener.estimates[-1].rate == ErrorRate.of_run(0.1, N)
    assert listener.fractions == [end / N for end in ends]


def test_that_a_confusion_counts_truth_down_and_predictions_across() -> None:
    truth, predicted = np.array([0, 0, 1, 2, 2, 2]), np.array([0, 1, 1, 0, 0, 2])
    found = Judgement(np.arange(6), truth, predicted, np.zeros((6, 3)))
    assert found.confusion(3).tolist() == [[1, 1, 0], [0, 1, 0], [2, 0, 1]]
    assert found.error == pytest.approx(0.5)
