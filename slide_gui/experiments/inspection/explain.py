"""Explain one weight step by step: S, q, E[P], E[Q] and W of two selected pixels (§3 of the paper)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.slide.denoiser import survival

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Explanation:
    """The quantities that determine W_ab, the weight that reconstructs a from b.

    Attributes
    ----------
    a, b : int
        Reconstructed feature, and feature it is reconstructed from.
    n : int
        Number of samples.
    s_ab, s_aa : float
        Entries of the scatter S = XXᵀ, not divided by n.
    q_a, q_b : float
        Probability p = 1 − noise that the feature survives.
    p_ab : float
        E[P]_ab = S_ab q_b.
    q_ab, q_aa : float
        Entries of E[Q] (eq. 10), without the ridge.
    w_ab, bias : float
        Entries of row a of W = E[P] (E[Q] + ridge·I)⁻¹ (eq. 8).
    product : float
        Σ_c W_ac (E[Q] + ridge·I)_cb, which equals `p_ab` if W is the solution.
    s_row, p_row, q_row, w_row : ndarray of shape (d,)
        Row a of S, E[P], E[Q] and W, without the bias.
    """

    a: int
    b: int
    n: int
    noise: float
    ridge: float
    s_ab: float
    s_aa: float
    q_a: float
    q_b: float
    p_ab: float
    q_ab: float
    q_aa: float
    w_ab: float
    bias: float
    product: float
    s_row: Array
    p_row: Array
    q_row: Array
    w_row: Array


def explain(scatter: Array, row: Array, noise: float, ridge: float, a: int, b: int) -> Explanation:
    """Return the quantities that determine W_ab.

    Parameters
    ----------
    scatter : ndarray of shape (d + 1, d + 1)
        S of the layer's input, with a constant 1 appended.
    row : ndarray of shape (d + 1,)
        Row a of W, bias last.
    noise, ridge : float
        Parameters of the fit.
    a, b : int
        Features, 0 to d − 1.
    """
    q = survival(noise, len(scatter) - 1)
    expected_p = scatter[a] * q
    expected_q = expected_p * q[a]
    expected_q[a] = scatter[a, a] * q[a]
    column = scatter[b] * q * q[b]
    column[b] = scatter[b, b] * q[b] + ridge
    return Explanation(
        a=a,
        b=b,
        n=round(float(scatter[-1, -1])),
        noise=noise,
        ridge=ridge,
        s_ab=float(scatter[a, b]),
        s_aa=float(scatter[a, a]),
        q_a=float(q[a]),
        q_b=float(q[b]),
        p_ab=float(expected_p[b]),
        q_ab=float(expected_q[b]),
        q_aa=float(expected_q[a]),
        w_ab=float(row[b]),
        bias=float(row[-1]),
        product=float(np.einsum("i,i->", row, column)),
        s_row=scatter[a, :-1],
        p_row=expected_p[:-1],
        q_row=expected_q[:-1],
        w_row=row[:-1],
    )


def strongest(row: Array, a: int) -> int:
    """Return the feature other than a with the largest absolute weight in row a, or a itself if it is the only one."""
    size = np.abs(row[:-1])
    size[a] = -1.0
    return int(np.argmax(size)) if size.size > 1 else a
