import ast
from pathlib import Path

import numpy as np
import pytest

from slide_gui.core.slide.stack import fit_stack
from slide_gui.data.errors import DataError
from slide_gui.gui import state
from slide_gui.gui.app import tear_down
from slide_gui.gui.pages.weights.selected_rows import PixelSelection, TileSource
from slide_gui.gui.state.jobs import JobQueue
from slide_gui.gui.state.workspace import MAX_PINS, Workspace
from slide_gui.text import pixel_name
from tests.gui.helpers import StubSource, dataset, settle, wait


@pytest.fixture
def workspace(app):
    queue = JobQueue()
    yield Workspace(queue, queue)
    tear_down(queue)


@pytest.fixture
def opened(workspace):
    workspace.open(StubSource(dataset()))
    wait(lambda: workspace.model() is not None and not workspace.queue.busy)
    return workspace


def test_that_opening_fits_with_four_pins_chosen(opened):
    assert len(opened.fitting.stack.layers) == opened.state.parameters.depth == 4
    assert len(opened.state.selection.pins) == 4
    expected = fit_stack(opened.dataset.train, opened.state.parameters)
    np.testing.assert_array_equal(opened.fitting.stack.layers[3].weights, expected.layers[3].weights)


def test_that_a_new_noise_first_previews_watched_rows_then_refits(opened, every_payload):
    seen = []
    opened.fitting.watch((5, 9))
    opened.fitting.changed.connect(
        lambda: seen.append((opened.fitting.preview, [opened.fitting.is_fresh(k) for k in range(1, 5)]))
    )
    opened.set_parameters(gesture="noise", noise=0.6)
    wait(lambda: opened.model() is not None)
    assert seen[0][0] is None
    assert seen[0][1] == [False] * 4
    previews = [preview for preview, _ in seen if preview is not None]
    assert previews
    assert previews[0].parameters.noise == 0.6
    np.testing.assert_allclose(previews[0].rows[9], opened.fitting.stack.layers[0].weights[9], atol=1e-8)
    assert seen[-1] == (None, [True] * 4)


def test_that_fewer_layers_need_no_fit_and_more_do(opened):
    opened.set_parameters(depth=2)
    assert opened.model() is not None
    assert len(opened.model().stack.layers) == 2
    assert opened.model().stack.parameters.depth == 2
    opened.set_parameters(depth=6)
    assert opened.model() is None
    wait(lambda: opened.model() is not None)
    assert len(opened.model().stack.layers) == 6


def test_that_a_refused_file_leaves_what_was_open_untouched(opened):
    problems = []
    opened.problem.connect(problems.append)
    before = opened.dataset, opened.fitting.stack, opened.state
    opened.open(StubSource(DataError("line 3 has 2 numbers, expected 785", "x.amat")))
    wait(lambda: problems)
    assert problems[0].sentence == "x.amat: line 3 has 2 numbers, expected 785."
    assert (opened.dataset, opened.fitting.stack, opened.state) == before
    assert opened.model() is not None


def test_that_a_failed_fit_is_reported_and_the_old_layers_stay_stale(opened):
    problems = []
    opened.problem.connect(problems.append)
    opened.set_parameters(ridge=-1.0)
    wait(lambda: problems)
    assert "ridge is -1.0" in problems[0].sentence
    assert opened.fitting.stack is not None
    assert not opened.fitting.is_fresh(1)
    assert opened.model() is None


def test_that_cancel_keeps_the_old_layers_and_a_new_request_fits_again(opened):
    old = opened.fitting.stack
    opened.set_parameters(noise=0.7)
    opened.cancel()
    settle(0.2)
    assert opened.fitting.stack is old
    assert opened.model() is None
    opened.fitting.fit()
    wait(lambda: opened.model() is not None)
    assert opened.model().stack.parameters.noise == 0.7


def test_that_one_pin_too_many_is_refused_with_the_reason(opened):
    problems = []
    opened.problem.connect(problems.append)
    opened.select(pins=tuple(range(MAX_PINS)))
    opened.toggle_pin(MAX_PINS)
    assert opened.state.selection.pins == tuple(range(MAX_PINS))
    assert "Release one first" in problems[0].sentence
    opened.toggle_pin(3)
    assert 3 not in opened.state.selection.pins


def test_that_a_preview_is_dropped_with_its_parameters(opened, every_payload):
    opened.fitting.watch((5,))
    opened.set_parameters(noise=0.6)
    wait(lambda: opened.fitting.preview is not None or opened.model() is not None)
    opened.history.undo()
    assert opened.model() is not None
    assert opened.fitting.preview is None


def test_that_a_pixel_beyond_the_data_is_neither_pinned_nor_selected(opened):
    pixels, pins = PixelSelection(opened), opened.state.selection.pins
    for feature in (64, -1):
        opened.toggle_pin(feature)
        pixels.point_at(feature)
        pixels.cross(3, feature)
    assert opened.state.selection.pins == pins
    assert [opened.feature_name(feature) for feature in (64, 63)] == ["64", pixel_name(63, (8, 8))]
    assert (pixels.feature, pixels.source) == (None, None)
    pixels.point_at(63)
    assert pixels.feature == 63


def test_that_opening_other_data_replaces_everything_at_once(opened):
    changes = []
    opened.dataset_changed.connect(lambda data: changes.append((data.name, opened.fitting.stack)))
    opened.open(StubSource(dataset(seed=1, name="other")))
    wait(lambda: opened.dataset.name == "other" and opened.model() is not None)
    assert changes == [("other", None)]


def test_that_the_layers_of_other_data_never_arrive_after_it_was_replaced(opened):
    opened.set_parameters(noise=0.8)
    opened.open(StubSource(dataset(seed=1, name="other")))
    wait(lambda: opened.dataset.name == "other" and opened.model() is not None)
    expected = fit_stack(opened.dataset.train, opened.state.parameters)
    np.testing.assert_array_equal(opened.fitting.stack.layers[0].weights, expected.layers[0].weights)


def test_that_the_state_imports_qtcore_and_only_undo_of_qtgui():
    modules = sorted(Path(state.__file__).parent.glob("*.py"))
    nodes = [node for path in modules for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    imported = {(node.module, each.name) for node in nodes if isinstance(node, ast.ImportFrom) for each in node.names}
    others = {each for each in imported if each[0].startswith("PySide6") and each[0] != "PySide6.QtCore"}
    assert others == {("PySide6.QtGui", "QUndoCommand"), ("PySide6.QtGui", "QUndoStack")}
    assert not [node for node in nodes if isinstance(node, ast.Import) and "PySide6" in ast.dump(node)]


def test_that_nothing_is_selected_that_the_data_do_not_have(opened):
    opened.select(pins=(3, 64, 7), sample=10**6)
    assert opened.state.selection.pins == (3, 7)
    assert opened.state.selection.sample == len(opened.dataset.train) - 1


def test_that_layers_have_no_row_of_a_pixel_beyond_their_size(opened):
    source = TileSource(opened)
    assert source.row(63, 1) is not None
    assert source.row(64, 1) is None
    assert source.by_layer(64) is None
