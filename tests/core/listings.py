"""The paper's two MATLAB listings, ported line by line as a reference for the fast code."""

import numpy as np


def lide(X, p):
    """Return W (d × d+1) and h (d × n) of Algorithm 1; X is d × n, with one column per sample."""
    X = np.vstack([X, np.ones((1, X.shape[1]))])
    d = X.shape[0]
    q = np.ones((d, 1)) * p
    q[-1] = 1
    S = X @ X.T
    Q = S * (q @ q.T)
    Q[np.diag_indices(d)] = q[:, 0] * np.diag(S)
    P = S * np.tile(q, (1, d))
    W = np.linalg.solve(Q + 1e-5 * np.eye(d), P[:, :-1]).T
    return W, W @ X


def slide(X, p, t, l):
    """Return the l matrices W and the l + 1 representations of Algorithm 2, each d × n."""
    Ws, hs = [], [X]
    for _ in range(l):
        W, _ = lide(hs[-1], p)
        Ws.append(W)
        hs.append(W @ np.vstack([hs[-1] > t, np.ones((1, X.shape[1]))]).astype(float))
    return Ws, hs


def solution_error(W, rows, S, p):
    """Return the error of some rows of a solution of W (E[Q] + 1e-5 I) = E[P], for float64 E[Q] and E[P].

    The residual is summed in long double precision, so the error of an inexact solution is accurate as well.
    """
    d = len(S)
    q = np.append(np.full(d - 1, p), 1.0)
    Q = S * (p * p)
    Q[-1], Q[:, -1] = S[-1] * p, S[:, -1] * p
    Q[np.diag_indices(d)] = q * np.diag(S) + 1e-5
    residual = (S[rows] * q).astype(np.longdouble) - W.astype(np.longdouble) @ Q.astype(np.longdouble)
    return np.linalg.solve(Q, residual.astype(np.float64).T).T
