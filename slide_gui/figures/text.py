"""Text that is known to fit before it is drawn."""

from __future__ import annotations

from functools import cache

__all__ = ["fitted", "width_mm", "wrapped"]

_MM_PER_POINT = 25.4 / 72
_ELLIPSIS = "…"


@cache
def width_mm(text: str, size: float, weight: str = "normal") -> float:
    """Return the width in mm of `text` in DejaVu Sans at `size` points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextToPath

    font = FontProperties(family="DejaVu Sans", weight=weight, size=size)
    width, _, _ = TextToPath().get_text_width_height_descent(text, font, ismath=False)
    return float(width) * _MM_PER_POINT


def fitted(text: str, size: float, room: float, weight: str = "normal", smallest: float = 4.5) -> tuple[str, float]:
    """Return the text and type size that fit into `room` mm: smaller type first, then an ellipsis."""
    needed = width_mm(text, size, weight)
    if needed <= room:
        return text, size
    size = max(min(smallest, size), size * room / needed)
    while len(text) > 1 and width_mm(text, size, weight) > room + 1e-6:
        text = text.rstrip(_ELLIPSIS)[:-1] + _ELLIPSIS
    return text, size


def wrapped(text: str, size: float, room: float) -> list[str]:
    """Return the text broken between words into lines that fit into `room` mm."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and width_mm(longer, size) <= room:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines
