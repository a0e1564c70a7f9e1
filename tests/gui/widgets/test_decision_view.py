from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from PySide6.QtCore import QRect
from PySide6.QtGui import QFontMetricsF

from slide_gui.gui.pages.weights.decision_view import (
    HEAD,
    LINE,
    SIDE,
    ClassBar,
    DecisionPicture,
    DecisionView,
    NearestPicture,
)
from slide_gui.gui.theme import SECONDARY, figure_font

Shown = Callable[..., Any]


def picture(name: str) -> DecisionPicture:
    near = NearestPicture(7, np.ones((4, 4), np.float32), name, 0.5, 10.66, (0.5, 0.5))
    return DecisionPicture("title", "about", (ClassBar("a", 1.0, "+0.66"),), "b", (near, near), (0.5, 0.5), None)


def test_that_a_long_name_of_a_class_leaves_the_pull_of_a_support_vector_legible(shown: Shown) -> None:
    view: DecisionView = shown(DecisionView(), 900, 150)
    wide = round(QFontMetricsF(figure_font(view, SECONDARY)).horizontalAdvance("+10.66"))
    pulls = []
    for name in ("a", "a class of a very long name"):
        view.set_picture(picture(name))
        right = round(view.place(1).left()) - 8  # a card ends before the next begins
        pulls.append(view.grab(QRect(right - wide, HEAD + SIDE + 3, wide, LINE)).toImage())
    assert pulls[0] == pulls[1]
