"""Judging rows: in growing blocks, with the error so far, whatever their order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from slide_gui.error_rate import ErrorRate
from slide_gui.experiments.runs.run import Predictions, predict_in_blocks
from slide_gui.progress import Progress
from tests.core.svm_data import StopAfter


class Parity:
    """Takes the first column of a row for its class, modulo three; its decision values tell the row."""

    def __init__(self) -> None:
        self.blocks: list[list[int]] = []

    def answer(self, rows: np.ndarray, progress: Progress) -> tuple[Any, Any]:
        self.blocks.append(rows[:, 0].astype(int).tolist())
        return rows[:, 0].astype(np.intp) % 3, rows * np.array([1.0, 10.0])


N = 13_000
PART = np.column_stack([np.arange(N), np.ones(N)])
CODES = (np.arange(N) % 3 + (np.arange(N) % 10 == 0)) % 3  # every tenth row is wrong


def test_that_rows_are_predicted_in_growing_blocks_of_the_order_and_returned_by_row() -> None:
    order, predictor, listener = np.random.default_rng(0).permutation(N), Parity(), StopAfter()
    given = order.copy()
    found = predict_in_blocks(predictor, PART, CODES, order, progress=listener)
    np.testing.assert_array_equal(order, given)
    np.testing.assert_array_equal(found.rows, np.arange(N))
    np.testing.assert_array_equal(found.truth, CODES)
    np.testing.assert_array_equal(found.predicted, found.rows % 3)
    np.testing.assert_array_equal(found.decisions, np.column_stack([found.rows, np.full(N, 10)]))
    np.testing.assert_array_equal(found.rows[found.wrong], found.rows[found.rows % 10 == 0])
    assert found.error == 0.1
    ends = [500, 1500, 3500, 7500, 11_500, N]
    blocks = [order[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    assert predictor.blocks == [sorted(block.tolist()) for block in blocks]
    assert [(e.done, e.total) for e in listener.payloads] == [(end, N) for end in ends]
    assert [e.wrong for e in listener.payloads] == [int(np.sum(order[:end] % 10 == 0)) for end in ends]
    assert listener.payloads[-1].rate == ErrorRate.of_run(0.1, N)
    assert listener.fractions == [end / N for end in ends]
    some = predict_in_blocks(Parity(), PART, CODES, order[:12_000])
    np.testing.assert_array_equal(some.rows, np.sort(order[:12_000]))


def test_that_a_confusion_counts_truth_down_and_predictions_across() -> None:
    truth, predicted = np.array([0, 0, 1, 2, 2, 2]), np.array([0, 1, 1, 0, 0, 2])
    found = Predictions(np.arange(6), truth, predicted, np.zeros((6, 3)))
    assert found.confusion(3).tolist() == [[1, 1, 0], [0, 1, 0], [2, 0, 1]]
    assert found.error == pytest.approx(0.5)
