"""The state of the window: parameters, layers and pins, and that results of earlier data are never shown."""

import ast
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QLabel, QWidget

from slide_gui.experiments.inspection.rows import Explorer
from slide_gui.gui import state
from slide_gui.gui.pages.weights.page import FLOW, VIEWS, WHY
from slide_gui.gui.pages.weights.selected_rows import PixelSelection, TileSource
from slide_gui.gui.pages.weights.why import COPIES, EXPERIMENTS, SHUFFLE
from slide_gui.gui.state import fitting
from slide_gui.gui.state import runs as runs_module
from slide_gui.gui.state.workspace import MAX_PINS
from slide_gui.text import pixel_name
from tests.gui.helpers import StubSource, all_fitted, at_rest, labelled, record, settle, show_page, train, wait


def test_that_earlier_layers_are_shown_as_such_soon_even_if_their_scatter_fits_no_preview(workspace, monkeypatch):
    update, watched, seen = Explorer.update, [], []
    monkeypatch.setattr(Explorer, "update", lambda *a, **options: watched.append(a[2]) or update(*a, **options))
    workspace.fitting.watched = (9,)
    for changes in ({"threshold": 0.4}, {"fit_on": "thresholded"}, {"noise": 0.5}):
        workspace.set_parameters(**changes)
        all_fitted(workspace)
    monkeypatch.setattr(fitting, "_SETTLE_SECONDS", 60.0)
    workspace.fitting.changed.connect(lambda: seen.append(workspace.fitting.is_fresh(1)))
    workspace.set_parameters(gesture="threshold", threshold=0.6)
    wait(lambda: seen and len(watched) == 4)
    assert (watched, seen) == ([(9,), (), (9,), ()], [False])


def test_that_approximate_layers_are_marked_until_each_is_fitted(workspace, every_payload):
    seen, pictures, source = [], [], TileSource(workspace)
    earlier = [mosaic.identity[0] for mosaic in source.mosaics(9)]
    workspace.fitting.watched = (9,)

    def look():
        pictures.append([mosaic.identity[0] for mosaic in source.mosaics(9)])
        table, n_fresh = source.tiles((9,)), workspace.fitting.n_fresh
        marked = [title.startswith("≈") for title in table.titles]
        captions = [tile.caption.startswith("≈ ") for tile in table.tiles[0]]
        pale = [tile.stale for tile in table.tiles[0]], [mosaic.stale for mosaic in source.mosaics(9)]
        exact = [k for k, _ in source.fresh_rows(9)]
        seen.append((n_fresh, marked, captions, pale, exact, workspace.model() is None))

    workspace.fitting.changed.connect(look)
    workspace.set_parameters(noise=0.6)
    wait(lambda: workspace.model() is not None)
    assert pictures[0] == earlier
    rows_only = next(each for each in seen if not each[3][0][0])
    assert rows_only == (0, [False] * 4, [False] * 4, ([False, True, True, True], [True] * 4), [1], True)
    for n_fresh in range(4):
        marked = [k > max(n_fresh, 1) for k in range(1, 5)]  # the row of the first layer is exact
        exact = list(range(1, max(n_fresh, 1) + 1))
        assert (n_fresh, marked, marked, ([False] * 4,) * 2, exact, True) in seen
    assert seen[-1] == (4, [False] * 4, [False] * 4, ([False] * 4,) * 2, [1, 2, 3, 4], False)


def test_that_tiles_of_a_pinned_feature_are_computed_again_only_if_their_contents_change(workspace):
    source = TileSource(workspace)

    def pinned(hovered):
        return source.tiles((hovered, 3)).tiles[1]

    first = pinned(9)
    assert pinned(10) is first
    workspace.select(levels="tile")
    assert [a.scale.high != b.scale.high for a, b in zip(first, pinned(10), strict=True)] == [True] * 4
    workspace.set_parameters(noise=0.6)
    assert [tile.stale for tile in pinned(10)] == [True] * 4
    wait(lambda: workspace.model() is not None)
    assert all((a.values != b.values).any() and not b.stale for a, b in zip(first, pinned(10), strict=True))


def test_that_rows_of_all_layers_follow_the_noise_slider_soon_after_the_fit(workspace, every_payload, monkeypatch):
    source, seen = TileSource(workspace), []
    monkeypatch.setattr(fitting, "_SLOW_SECONDS", 0.0)
    workspace.set_parameters(ridge=1e-4)
    workspace.fitting.watched = (9,)
    wait(lambda: not workspace.queue.busy)
    workspace.set_parameters(depth=3)  # needs no fit
    workspace.set_parameters(depth=4)
    wait(lambda: workspace.fitting.explorer.interpolation is not None)
    assert not workspace.queue.busy
    wait(lambda: not workspace.queue.wants("interpolation"))
    workspace.fitting._prepare_interpolation()
    assert not workspace.queue.wants("interpolation")  # it would interrupt a sweep
    workspace.select(show="contribution")
    before = source.row(3, 2).shown[:-1]
    workspace.fitting._outdated.blockSignals(True)  # on a busy computer, it comes before the preview
    workspace.fitting.changed.connect(
        lambda: seen.append((source.tiles((9,)), source.row(3, 2).shown[:-1], source.mosaics(3)[1].values[3].ravel()))
    )
    workspace.set_parameters(noise=0.6)
    wait(lambda: seen)
    table, *unwatched = seen[0]
    assert [(tile.stale, tile.caption[0] == "≈") for tile in table.tiles[0]] == [(False, k > 0) for k in range(4)]
    assert [title.startswith("≈") for title in table.titles] == [False, True, True, True]
    for contributions in unwatched:  # weights and inputs of the earlier noise level
        assert contributions == pytest.approx(before)


def test_that_layers_of_an_earlier_noise_are_pale_and_a_failed_fit_is_reported(workspace, every_payload):
    source, (problems,) = TileSource(workspace), record(workspace.problem)
    workspace.fitting.watched = (9,)
    workspace.set_parameters(noise=0.6)
    wait(lambda: workspace.fitting.preview is not None and workspace.fitting.preview.layers)
    workspace.set_parameters(noise=0.7)
    assert [tile.stale for tile in source.tiles((9,)).tiles[0]] == [True] * 4
    workspace.set_parameters(ridge=-1.0)
    wait(lambda: problems)
    assert "ridge is -1.0" in problems[0].sentence
    assert [tile.stale for tile in source.tiles((9,)).tiles[0]] == [True] * 4
    assert (workspace.fitting.preview, workspace.model()) == (None, None)


def test_that_fewer_layers_need_no_fit_and_more_do_and_cancel_keeps_the_old_ones_until_a_new_request(workspace):
    workspace.set_parameters(depth=2)
    assert len(workspace.model().stack.layers) == 2
    assert workspace.model().stack.parameters.depth == 2
    workspace.set_parameters(depth=6)
    assert workspace.model() is None
    wait(lambda: workspace.model() is not None)
    assert len(workspace.model().stack.layers) == 6
    old = workspace.fitting.stack
    workspace.set_parameters(noise=0.7)
    workspace.queue.stop()
    settle(0.2)
    assert workspace.fitting.stack is old
    assert workspace.model() is None
    workspace.fitting.fit()
    wait(lambda: workspace.model() is not None)
    assert workspace.model().stack.parameters.noise == 0.7


def test_that_one_pin_too_many_is_refused_with_the_reason_and_a_pixel_beyond_the_data_not_pinned_or_selected(workspace):
    (problems,) = record(workspace.problem)
    workspace.select(pins=tuple(range(MAX_PINS)))
    workspace.toggle_pin(MAX_PINS)
    assert workspace.state.selection.pins == tuple(range(MAX_PINS))
    assert "Release one of them first" in problems[0].sentence
    workspace.toggle_pin(3)
    assert 3 not in workspace.state.selection.pins
    pixels, pins = PixelSelection(workspace), workspace.state.selection.pins
    for feature in (64, -1):
        workspace.toggle_pin(feature)
        pixels.point_at(feature)
        pixels.cross(3, feature)
    assert workspace.state.selection.pins == pins
    assert [workspace.feature_name(feature) for feature in (64, 63)] == ["64", pixel_name(63, (8, 8))]
    assert (pixels.feature, pixels.source) == (None, None)
    pixels.point_at(63)
    assert pixels.feature == 63
    source = TileSource(workspace)
    assert source.row(63, 1) is not None
    assert source.row(64, 1) is None
    workspace.select(pins=(3, 64, 7), sample=10**6)
    assert workspace.state.selection.pins == (3, 7)
    assert workspace.state.selection.sample == len(workspace.dataset.train) - 1


def test_that_the_state_imports_qtcore_and_only_undo_of_qtgui():
    modules = sorted(Path(state.__file__).parent.glob("*.py"))
    nodes = [node for path in modules for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    imported = {(node.module, each.name) for node in nodes if isinstance(node, ast.ImportFrom) for each in node.names}
    others = {each for each in imported if each[0].startswith("PySide6") and each[0] != "PySide6.QtCore"}
    assert others == {("PySide6.QtGui", "QUndoCommand"), ("PySide6.QtGui", "QUndoStack")}
    assert not [node for node in nodes if isinstance(node, ast.Import) and "PySide6" in ast.dump(node)]


OPENED = labelled

CURVES, CLASSIFIER = "curves", "classifier"
SHOWN = tuple(view.name for view in (*VIEWS, *EXPERIMENTS) if view.name != WHY)
PLACES = (*SHOWN, CURVES, CLASSIFIER)


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
    train(window)
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
    wait(lambda: not window.queue.busy)


def seen_while_fitting(window, data, fit_may_continue):
    """Open data whose fit does not end, and return the pixels and texts of every view."""
    wait(lambda: not window.queue.busy)
    fit_may_continue.clear()
    before = window.workspace.dataset
    window.workspace.open(StubSource(data))
    wait(lambda: window.workspace.dataset is not before)
    seen = {}
    for place in PLACES:
        widget = show(window, place)
        wait(lambda: window.workspace.is_at_rest and not window.pages.page("curves")._rest.isActive())
        seen[place] = pixels(widget), words(widget)
    return seen


def test_that_no_view_shows_earlier_data_while_new_data_are_fitted(window, fit_may_continue, monkeypatch):
    monkeypatch.setattr(runs_module, "SWEEP_DEPTHS", (0, 1))
    new = labelled(2)
    use_everything(window)
    first = seen_while_fitting(window, new, fit_may_continue)
    fit_may_continue.set()
    wait(lambda: window.workspace.model() is not None)
    done = {place: pixels(show(window, place)) for place in SHOWN}
    window.workspace.open(StubSource(labelled(1)))
    wait(lambda: window.workspace.dataset.fingerprint == labelled(1).fingerprint)
    use_everything(window)
    second = seen_while_fitting(window, replace(new), fit_may_continue)
    assert [place for place in PLACES if first[place][1] != second[place][1]] == []
    assert [place for place in PLACES if not np.array_equal(first[place][0], second[place][0])] == []
    for place, picture in done.items():
        assert not np.array_equal(picture, first[place][0]), place
    flow = show(window, "weights").set_view(FLOW)
    for change in (lambda: window.workspace.select(sample=3), lambda: window.workspace.set_parameters(noise=0.6)):
        change()
        settle()
        assert [column.lower.values for column in flow.view.columns[1:]] == [None] * 4
        assert flow.numbers() == ""


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
    wait(lambda: colourfulness(pixels(target)) < 0.9 * before)
    assert not window.workspace.fitting.is_fresh(1)
    assert not widget.numbers()
    fit_may_continue.set()
    at_rest(window)
    settle()
    assert colourfulness(pixels(target)) > 0.9 * before
