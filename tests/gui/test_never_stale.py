"""The window shows no results of earlier data; those of earlier parameters are pale and have no numbers."""

import threading
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QLabel, QWidget

from slide_gui.experiments.inspection.rows import Explorer
from slide_gui.gui.pages.weights.page import FLOW, VIEWS, WHY
from slide_gui.gui.pages.weights.why import COPIES, EXPERIMENTS, SHUFFLE
from slide_gui.gui.state import runs as runs_module
from tests.gui.helpers import StubSource, at_rest, labelled, settle, show_page, wait

OPENED = labelled

CURVES, CLASSIFIER = "curves", "classifier"
SHOWN = tuple(view.name for view in (*VIEWS, *EXPERIMENTS) if view.name != WHY)
PLACES = (*SHOWN, CURVES, CLASSIFIER)


@pytest.fixture
def fit_may_continue(monkeypatch):
    """Return an event, set at first, that every fit waits for."""
    event, update = threading.Event(), Explorer.update
    event.set()

    def slow(explorer, *arguments, progress, **options):
        while not event.wait(0.005):
            progress.report(0.0)
        return update(explorer, *arguments, progress=progress, **options)

    monkeypatch.setattr(Explorer, "update", slow)
    yield event
    event.set()


def show(window, place):
    """Show a page or a view of the Weights page, and return the widget."""
    if place in (CURVES, CLASSIFIER):
        return show_page(window, place)
    page = show_page(window, "weights")
    page.set_view(place)
    settle()
    return page


def pixels(widget):
    image = widget.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    return np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), image.width(), 4)[:, :, :3].copy()


def words(widget):
    """Return all text that a widget shows, copies or gives to a screen reader."""
    seen = [each for each in widget.findChildren(QWidget) if each.isVisibleTo(widget)]
    said = [each.accessibleDescription() for each in (widget, *seen)]
    said += [each.text() for each in seen if isinstance(each, QLabel)]
    return [*said, widget.numbers() if hasattr(widget, "numbers") else ""]


def use_everything(window):
    """Train, shuffle, corrupt copies and show every view, so that every view has results of these data."""
    at_rest(window)
    show_page(window, CLASSIFIER).train_button.click()
    wait(lambda: window.session.runs.result is not None and not window.queue.busy, 60)
    for place in PLACES:
        widget = show(window, place)
        if place == SHUFFLE:
            part = widget.set_view("shuffle")
            part.start()
            wait(lambda part=part: part.fit is not None)
        elif place == COPIES:
            part = widget.set_view("copies")
            part.toggle()
            wait(lambda part=part: part.copies is not None)
        elif place == FLOW:
            part = widget.set_view("flow")
            wait(lambda part=part: part._decided.lines())
    wait(lambda: not window.queue.busy, 30)


def seen_while_fitting(window, data, fit_may_continue):
    """Open data whose fit does not end, and return the pixels and texts of every view."""
    wait(lambda: not window.queue.busy, 30)
    fit_may_continue.clear()
    before = window.workspace.dataset
    window.workspace.open(StubSource(data))
    wait(lambda: window.workspace.dataset is not before)
    seen = {}
    for place in PLACES:
        widget = show(window, place)
        seen[place] = pixels(widget), words(widget)
    return seen


def test_that_no_view_shows_earlier_data_while_new_data_are_fitted(window, fit_may_continue, monkeypatch):
    monkeypatch.setattr(runs_module, "SWEEP_DEPTHS", (0, 1))
    new = labelled(2)
    use_everything(window)
    first = seen_while_fitting(window, new, fit_may_continue)
    fit_may_continue.set()
    wait(lambda: window.workspace.model() is not None)
    done = {}
    for place in SHOWN:
        done[place] = pixels(show(window, place))
    window.workspace.open(StubSource(labelled(1)))
    wait(lambda: window.workspace.dataset.fingerprint == labelled(1).fingerprint)
    use_everything(window)
    second = seen_while_fitting(window, replace(new), fit_may_continue)
    assert [place for place in PLACES if first[place][1] != second[place][1]] == []
    assert [place for place in PLACES if not np.array_equal(first[place][0], second[place][0])] == []
    for place, picture in done.items():
        assert not np.array_equal(picture, first[place][0]), place


def colourfulness(picture):
    """Return the mean difference between the colours of all pixels and grey."""
    return float(np.mean(np.ptp(picture.astype(int), axis=2)))


@pytest.mark.parametrize("place", [name for name in SHOWN if name != COPIES])
def test_that_results_of_another_stack_are_pale_without_numbers_until_the_fit_ends(window, fit_may_continue, place):
    widget = show(window, place)
    at_rest(window)
    target = widget.shown_view()
    before = colourfulness(pixels(target))
    assert bool(widget.numbers()) == (place != SHUFFLE)
    fit_may_continue.clear()
    window.workspace.set_parameters(noise=0.55)
    settle(0.05)
    assert not window.workspace.fitting.is_fresh(1)
    assert colourfulness(pixels(target)) < 0.9 * before
    assert not widget.numbers()
    fit_may_continue.set()
    at_rest(window)
    settle()
    assert colourfulness(pixels(target)) > 0.9 * before
