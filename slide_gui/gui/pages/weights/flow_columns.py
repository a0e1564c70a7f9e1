"""The flow of one image as tiles with their words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.experiments.inspection.flow import Flow, FlowLayer
from slide_gui.figures.color_scale import ColorScale, signed
from slide_gui.gui.widgets.flow_view import INK, FlowColumn, FlowTile
from slide_gui.gui.widgets.numbers import count

__all__ = ["flow_columns"]

_POWERS = "⁰¹²³⁴⁵⁶⁷⁸"
Shape = tuple[int, int] | None


def flow_columns(
    flow: Flow, shape: Shape, colors: str, limit: float | None, stale: bool = False
) -> tuple[FlowColumn, ...]:
    """Return x over what enters, then T(hᵏ⁻¹) over hᵏ for each layer.

    Parameters
    ----------
    flow : Flow
    shape : tuple of (rows, columns), or None
    colors : str
        The map of hᵏ.
    limit : float, optional
        Value of its strongest colours; without it each tile has its own.
    stale : bool
        Whether the layers are greyed.
    """
    entered = "x" if flow.survivors.all() else "x̃"
    columns = [_input(flow, entered, shape)]
    for k, layer in enumerate(flow.layers, start=1):
        own = float(np.abs(layer.output).max(initial=0.0)) if limit is None else limit
        below = f"h{_POWERS[k - 1]}" if k > 1 else entered
        columns.append(_layer(k, layer, below, shape, ColorScale.symmetric(colors, own), stale))
    return tuple(columns)


def _input(flow: Flow, entered: str, shape: Shape) -> FlowColumn:
    lines: tuple[str, ...] = ("as drawn",)
    if entered != "x":
        blanked, size = int(np.count_nonzero(~flow.survivors)), flow.clean.size
        lines = (f"{count(blanked)} of {count(size)} blanked", f"{flow.corruption_error:.4f} from x")
    seen = np.where(flow.survivors, flow.corrupted, np.nan)
    return FlowColumn(
        _tile("x", flow.clean, shape, lines=(_lit(flow.clean),), tip="h⁰, the input"),
        _tile(entered, seen, shape, lines=lines, tip="What enters the stack; blanked values are tinted"),
        down="" if entered == "x" else "corrupt",
        across="T",
    )


def _layer(k: int, layer: FlowLayer, below: str, shape: Shape, scale: ColorScale, stale: bool) -> FlowColumn:
    name, weights = f"h{_POWERS[k]}", f"W{_POWERS[k]}"
    lines: tuple[str, ...] = (f"{layer.input_error:.4f} from x",)
    if k > 1:
        lines = (f"{layer.own_error:.4f} from {below}", *lines)
    tip = f"{name} = {weights} T({below}), values {_reach(layer.output)}"
    return FlowColumn(
        _tile(f"T({below})", layer.squashed, shape, lines=(_lit(layer.squashed),), tip=f"T applied to {below}"),
        _tile(name, layer.output, shape, scale, lines, tip),
        down=weights,
        across="T",
        stale=stale,
    )


def _tile(
    title: str,
    values: NDArray[Any],
    shape: Shape,
    scale: ColorScale = INK,
    lines: tuple[str, ...] = (),
    tip: str = "",
) -> FlowTile:
    return FlowTile(title, values.astype(np.float32).reshape(shape or values.shape), scale, lines, tip)


def _lit(values: NDArray[Any]) -> str:
    """Return how many values are one, or their range where they are not only zeros and ones."""
    if np.isin(values, (0, 1)).all():
        return f"{count(int(values.sum()))} lit"
    return _reach(values)


def _reach(values: NDArray[Any]) -> str:
    return f"{signed(float(values.min()))} to {signed(float(values.max()))}"
