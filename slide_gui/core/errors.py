"""Checks of the parameters that every part of the core shares, each refusal one clear sentence."""

from __future__ import annotations

import math

__all__ = ["check_noise", "check_ridge"]


def check_noise(noise: float) -> float:
    """Return the noise 1 − p as a float, or raise ValueError unless the survival probability p is in (0, 1]."""
    value = float(noise)
    if not 0.0 <= value < 1.0:
        raise ValueError(f"noise is {noise!r}; it must be at least 0 and below 1, so that p = 1 − noise is in (0, 1]")
    return value


def check_ridge(ridge: float) -> float:
    """Return the ridge as a float, or raise ValueError unless it is finite and not negative."""
    value = float(ridge)
    if not (math.isfinite(value) and value >= 0.0):
        raise ValueError(f"ridge is {ridge!r}; it must be a finite number, 0 or above")
    return value
