"""Visit all cards of the tour in a real window, once with the mouse and once with the keyboard."""

import functools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QSettings

from slide_gui.data import generators
from slide_gui.gui.app import make_application, tear_down
from slide_gui.gui.pages.weights.copies import CopiesView
from slide_gui.gui.pages.weights.explained import ExplainedWeight
from slide_gui.gui.pages.weights.flow import FlowPart
from slide_gui.gui.pages.weights.shuffle import ShuffleView
from slide_gui.gui.shell.main_window import MainWindow
from slide_gui.gui.state.decision import DecisionController
from tests.end_to_end.program import environment
from tests.gui.helpers import settle, wait

pytestmark = pytest.mark.display

CARDS = 11


def act(*words):
    subprocess.run(["xdotool", *map(str, words)], check=True)
    settle()


def to(widget, place):
    spot = widget.mapToGlobal(place)
    act("mousemove", spot.x(), spot.y())


class Visitor:
    """Carries out the action of each card, and checks the promised result."""

    def __init__(self, window, with_mouse):
        self.window, self.tour, self.with_mouse = window, window.tour, with_mouse

    def go(self):
        start = self.seen()
        self.press_button("next")
        for number in range(CARDS):
            wait(lambda number=number: self.tour.number == number)
            wait(lambda: self.window.workspace.model() is not None and self.tour.outline.isVisible())
            settle(0.15)
            assert self.control.isVisible()
            if number > 1:
                assert not self.tour.reached, number
            self.check_places()
            getattr(self, f"card_{number + 1}")()
            wait(lambda: self.tour.reached)
            if number == 0:
                self.tour.pause = 0.0
                wait(lambda: self.tour.number == 1)
                self.tour.pause = 1e9
            else:
                self.press_button("next")
        wait(lambda: self.tour.number == CARDS)
        self.press_button("back")
        wait(lambda: self.tour.number == CARDS - 1)
        self.press_button("next")
        self.press_button("next")
        wait(lambda: not self.tour.is_running)
        assert self.seen() == start
        assert not self.tour.card.isVisible()
        assert not self.tour.outline.isVisible()

    def seen(self):
        window = self.window
        return window.workspace.state, window.pages.name, window.pages.choices()[0], window.panel.more.isChecked()

    @property
    def control(self):
        return self.tour.control

    @property
    def parameters(self):
        return self.window.workspace.state.parameters

    @property
    def layer(self):
        return self.window.workspace.model().stack.layers[0]

    def check_places(self):
        """Check that the card is in the window, does not cover the control and shows its texts in full."""
        card, control = self.tour.card, self.control
        place = card.rect().translated(card.mapTo(self.window, QPoint()))
        assert self.window.rect().contains(place)
        assert not place.intersects(
            control.visibleRegion().boundingRect().translated(control.mapTo(self.window, QPoint()))
        )
        for text in (card.action, card.result):
            assert text.height() >= text.heightForWidth(text.width())

    def press_button(self, name):
        button = getattr(self.tour.card, name)
        if self.with_mouse:
            to(button, button.rect().center())
            act("click", 1)
        else:
            act("key", f"alt+{button.text().partition('&')[2][0].lower()}")
        settle(0.1)

    def do(self, *keys):
        """Click the control, or press keys on it."""
        if self.with_mouse:
            to(self.control, self.control.rect().center())
            act("click", 1)
        else:
            act("key", *keys)

    def search(self, keys, fractions):
        """Move over the control, or press keys, until the tour reports success."""
        rect = self.control.rect()
        steps = [(x, y) for y in fractions for x in np.linspace(0.02, 0.98, 25)] if self.with_mouse else keys * 40
        for step in steps:
            if self.with_mouse:
                to(self.control, QPoint(round(step[0] * rect.width()), round(step[1] * rect.height())))
            else:
                act("key", step)
            settle(0.1)
            if self.tour.reached:
                return

    def card_1(self):
        sample = self.window.workspace.state.selection.sample
        self.do("space")
        wait(lambda: self.window.workspace.state.selection.sample == sample + 1)
        assert any(name in self.window.weights_page.shown.caption for name in ("wider", "taller"))

    def card_2(self):
        self.search(["Left"], [0.5])
        pixel = self.window.weights_page.pixels.feature
        strongest = np.argsort(-self.layer.weights[pixel, :-1])[:5]
        rows, columns = np.divmod(strongest, 28)
        assert ((rows == pixel // 28) | (columns == pixel % 28)).all()

    def reach(self):
        """Return the mean distance from the central pixel, weighted by the squared weights."""
        weights, (rows, columns) = self.layer.weights[14 * 28 + 14, :-1] ** 2, np.divmod(np.arange(784), 28)
        return np.average(np.hypot(rows - 14, columns - 14), weights=weights)

    def card_3(self):
        assert self.parameters.noise == 0.1
        before = self.reach()
        if self.with_mouse:
            y, width = self.control.height() // 2, self.control.width()
            to(self.control, QPoint(9 + round(0.1 / 0.99 * (width - 18)), y))
            act("mousedown", 1)
            for x in np.linspace(0.2, 1.0, 9):
                to(self.control, QPoint(round(x * width), y))
            act("mouseup", 1)
        else:
            act("key", "End")
        wait(lambda: self.tour.reached)
        assert self.reach() > 1.5 * before

    def squashed(self):
        return np.isin(self.window.findChild(FlowPart).flow.layers[1].squashed, (0, 1)).all()

    def card_4(self):
        assert not self.squashed()
        if self.with_mouse:
            self.do()
            act("key", "Home", "Return")
        else:
            act("key", "Home")
        wait(lambda: self.tour.reached)
        assert self.squashed()

    def card_5(self):
        self.search(["Right", "Down"], [0.5, 0.4, 0.6])
        values = [line.value for line in self.window.findChild(ExplainedWeight).table.lines if line.name == "E[P]_{ab}"]
        assert len(values) == 2
        assert values[0] == values[1]

    def card_6(self):
        self.do("space")
        wait(lambda: self.tour.reached)
        assert -0.6 < self.window.findChild(CopiesView).copies.slope(None) < -0.4

    def card_7(self):
        self.do("space")
        wait(lambda: self.tour.reached)
        fit = self.window.findChild(ShuffleView).fit
        assert max(fit.differences) < 1e-3 * max(fit.largest)

    def card_8(self):
        self.do("space")
        wait(lambda: self.tour.reached)
        result = self.window.session.runs.result
        assert abs(sum(result.classifier.shares) - 1) < 1e-6
        assert result.rate.low < result.rate.error < result.rate.high

    def card_9(self):
        decider, canvas = self.window.findChild(DecisionController), self.control
        wait(lambda: decider.flip is not None)
        state, dataset = self.window.workspace.state, self.window.workspace.dataset
        assert decider.labels[decider.decision.first] != dataset.test_labels[state.test_row]
        wanted, image = decider.flip.image, canvas.image.ravel().copy()
        place = None
        for feature in map(int, decider.flip.features):
            if self.with_mouse:
                to(canvas, canvas.grid().rect(feature).center().toPoint())
                act("click", 1 if wanted[feature] > 0.5 else 3)
            else:
                if place is None:
                    act("key", "Right")
                    wait(lambda: canvas._current is not None)
                    place = canvas._current
                (r0, c0), (r1, c1) = divmod(place, 28), divmod(feature, 28)
                moves = [("Down", r1 - r0), ("Up", r0 - r1), ("Right", c1 - c0), ("Left", c0 - c1)]
                act("key", *[key for key, times in moves for _ in range(times)], "space")
                place = feature
        wait(lambda: self.tour.reached)
        assert (canvas.image.ravel() != image).sum() == len(
            decider.flip.features if decider.flip else wanted[wanted != image]
        )
        assert decider.labels[decider.decision.first] == dataset.test_labels[state.test_row]

    def card_10(self):
        point = next(point for point in self.window.pages.shown().points() if point.state == "done")
        if self.with_mouse:
            to(self.control, self.control.position(point).toPoint())
            act("click", 1)
        else:
            act("key", "Right", "Return")
        wait(lambda: self.tour.reached)
        assert (self.parameters.noise, self.parameters.depth) == (point.noise, point.depth)

    def card_11(self):
        self.search(["Right", "Down"], [0.3])
        assert " (" in self.control.item(*self.tour.seen[-1]).text()  # the interval


@pytest.mark.parametrize("way", ["mouse", "keyboard"])
def test_that_each_card_is_reached_and_shows_what_it_promises_and_the_window_returns_as_it_was(display, tmp_path, way):
    command = [sys.executable, "-m", "tests.end_to_end.test_tour", way, str(tmp_path)]
    done = subprocess.run(command, env=environment(tmp_path, display), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def visit(way, folder):
    """Visit all cards in this process, in a small window with the mouse."""
    generators.rectangles = functools.partial(generators.rectangles, 300, 200)
    make_application()
    window = MainWindow(QSettings(str(folder / "s.ini"), QSettings.Format.IniFormat), folder / "runs", folder / "state")
    window.faults.reported.connect(lambda *fault: sys.exit(str(fault)))
    window.resize(*((960, 640) if way == "mouse" else (1280, 720)))
    window.move(0, 0)
    window.start([])
    window.show()
    wait(lambda: window.workspace.model() is not None and not window.queue.busy)
    window.activateWindow()
    window.tour.pause = 1e9
    Visitor(window, way == "mouse").go()

    tear_down(window)


if __name__ == "__main__":
    visit(sys.argv[1], Path(sys.argv[2]))
