"""Weights to draw, made without a fit."""

from __future__ import annotations

import numpy as np

from slide_gui.core.slide.parameters import StackParameters
from slide_gui.experiments.inspection.rows import WeightRows


def weight_rows(
    name: str = "Rectangles",
    shape: tuple[int, int] | None = (6, 8),
    pixels: tuple[int, ...] = (9, 20, 37),
    depth: int = 2,
    generated: bool = True,
    size: float = 0.5,
    seed: int = 0,
) -> WeightRows:
    random = np.random.default_rng(seed)
    d = 48 if shape is None else shape[0] * shape[1]
    rows = random.uniform(-size, size, (len(pixels), depth, d))
    biases = random.normal(size=(len(pixels), depth))
    parameters = StackParameters(noise=0.25, depth=depth)
    return WeightRows(name, "0" * 64, shape, generated, parameters, pixels, rows, biases, np.zeros(depth))
