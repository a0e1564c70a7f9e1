"""A test of this machine's BLAS that the streamed fit relies on."""

from __future__ import annotations

import numpy as np

__all__ = ["float32_scatter_is_exact"]


def float32_scatter_is_exact() -> bool:
    """Whether the float32 scatter A Aᵀ of 0/1 data equals the one computed with whole numbers.

    Sums of 0/1 products stay far below 2²⁴, so float32 must be exact; a BLAS that is not has a broken
    symmetric product, and every fit on it would be wrong.
    """
    random = np.random.default_rng(0)
    bits = random.integers(0, 2, size=(300, 672))
    single = bits.astype(np.float32)
    return bool(np.array_equal((single @ single.T).astype(np.int64), bits @ bits.T))
