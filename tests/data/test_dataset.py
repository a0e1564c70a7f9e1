from __future__ import annotations

import numpy as np
import pytest

from slide_gui.data.dataset import Dataset
from slide_gui.data.errors import DataError


def rows(n: int, d: int = 6) -> np.ndarray:
    return np.arange(n * d, dtype=np.float32).reshape(n, d)


def test_that_equal_data_have_equal_fingerprints_and_any_change_another() -> None:
    def make(**changed: object) -> str:
        given: dict[str, object] = {
            "name": "a",
            "train": rows(4),
            "test": rows(2),
            "train_labels": np.arange(4),
            "test_labels": np.arange(2),
            "image_shape": (2, 3),
        }
        return Dataset(**{**given, **changed}).fingerprint  # type: ignore[arg-type]

    prints = [
        make(),
        make(train=rows(4) + 1),
        make(test=rows(3), test_labels=np.arange(3)),
        make(train_labels=np.arange(4)[::-1].copy()),
        make(train_labels=None),
        make(image_shape=(3, 2)),
        make(image_shape=None),
    ]
    assert make(name="b", source="elsewhere") == prints[0]
    assert len(set(prints)) == len(prints)


def test_that_arrays_are_read_only() -> None:
    data = Dataset("a", rows(4), rows(2), np.arange(4), np.arange(2))
    for array in (data.train, data.test, data.train_labels, data.test_labels):
        assert array is not None
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"train": rows(0)}, "empty"),
        ({"train": rows(4).astype(np.float64)}, "float32"),
        ({"test": rows(2, 5)}, "5"),
        ({"train_labels": np.arange(3)}, "one for each of 4 rows"),
        ({"image_shape": (2, 4)}, "6 pixels"),
    ],
)
def test_that_arrays_that_do_not_agree_are_refused(given: dict[str, object], said: str) -> None:
    with pytest.raises(DataError, match=said):
        Dataset(**{"name": "a", "train": rows(4), "test": rows(2), **given})  # type: ignore[arg-type]
