"""scikit-learn's `random_state` as the one whole number that seeds the core."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["seed_of"]


def seed_of(random_state: Any) -> int:
    """Return a whole number as it is, 0 for None, and for a RandomState the next number it draws."""
    if random_state is None:
        return 0
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    from sklearn.utils.validation import check_random_state

    return int(check_random_state(random_state).randint(2**31 - 1))
