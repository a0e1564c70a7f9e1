import ast
from pathlib import Path

import numpy as np

from slide_gui.core.slide.stack import fit_stack
from slide_gui.gui import state
from slide_gui.gui.pages.weights.selected_rows import PixelSelection, TileSource
from slide_gui.gui.state.workspace import MAX_PINS
from slide_gui.text import pixel_name
from tests.gui.helpers import StubSource, dataset, settle, wait


def test_that_opening_fits_with_four_pins_chosen(workspace):
    assert len(workspace.fitting.stack.layers) == workspace.state.parameters.depth == 4
    assert len(workspace.state.selection.pins) == 4
    expected = fit_stack(workspace.dataset.train, workspace.state.parameters)
    np.testing.assert_array_equal(workspace.fitting.stack.layers[3].weights, expected.layers[3].weights)


def test_that_a_new_noise_first_previews_watched_rows_then_refits(workspace, every_payload):
    seen = []
    workspace.fitting.watch((5, 9))
    workspace.fitting.changed.connect(
        lambda: seen.append((workspace.fitting.preview, [workspace.fitting.is_fresh(k) for k in range(1, 5)]))
    )
    workspace.set_parameters(gesture="noise", noise=0.6)
    wait(lambda: workspace.model() is not None)
    assert seen[0][0] is None
    assert seen[0][1] == [False] * 4
    previews = [preview for preview, _ in seen if preview is not None]
    assert previews
    assert previews[0].parameters.noise == 0.6
    np.testing.assert_allclose(previews[0].rows[9], workspace.fitting.stack.layers[0].weights[9], atol=1e-8)
    assert seen[-1] == (None, [True] * 4)


def test_that_approximate_layers_are_shown_with_their_mark_until_each_is_fitted_and_are_never_taken_for_it(
    workspace, every_payload
):
    seen, source = [], TileSource(workspace)
    workspace.fitting.watch((9,))

    def look():
        table, n_fresh = source.tiles((9,)), workspace.fitting.n_fresh
        marked = [title.startswith("≈") for title in table.titles]
        captions = [tile.caption.startswith("≈ ") for tile in table.tiles[0]]
        pale = [tile.stale for tile in table.tiles[0]], [mosaic.stale for mosaic in source.mosaics(9)]
        exact = [k for k, _ in source.fresh_rows(9)]
        seen.append((n_fresh, marked, captions, pale, exact, workspace.model() is None))

    workspace.fitting.changed.connect(look)
    workspace.set_parameters(noise=0.6)
    wait(lambda: workspace.model() is not None)
    rows_only = next(each for each in seen if not each[3][0][0])
    assert rows_only == (0, [False] * 4, [False] * 4, ([False, True, True, True], [True] * 4), [1], True)
    for n_fresh in range(4):
        marked = [k > n_fresh for k in range(1, 5)]
        rows = [k > max(n_fresh, 1) for k in range(1, 5)]  # the row of the first layer is exact
        exact = list(range(1, max(n_fresh, 1) + 1))
        assert (n_fresh, marked, rows, ([False] * 4,) * 2, exact, True) in seen
    assert seen[-1] == (4, [False] * 4, [False] * 4, ([False] * 4,) * 2, [1, 2, 3, 4], False)


def test_that_approximate_layers_of_an_earlier_noise_are_pale_and_a_failed_fit_drops_them(workspace, every_payload):
    source = TileSource(workspace)
    workspace.fitting.watch((9,))
    workspace.set_parameters(noise=0.6)
    wait(lambda: workspace.fitting.preview is not None and workspace.fitting.preview.layers)
    workspace.set_parameters(noise=0.7)
    assert [tile.stale for tile in source.tiles((9,)).tiles[0]] == [True] * 4
    workspace.set_parameters(ridge=-1.0)
    wait(lambda: not workspace.queue.busy)
    assert workspace.fitting.preview is None


def test_that_fewer_layers_need_no_fit_and_more_do(workspace):
    workspace.set_parameters(depth=2)
    assert workspace.model() is not None
    assert len(workspace.model().stack.layers) == 2
    assert workspace.model().stack.parameters.depth == 2
    workspace.set_parameters(depth=6)
    assert workspace.model() is None
    wait(lambda: workspace.model() is not None)
    assert len(workspace.model().stack.layers) == 6


def test_that_a_failed_fit_is_reported_and_the_old_layers_stay_stale(workspace):
    problems = []
    workspace.problem.connect(problems.append)
    workspace.set_parameters(ridge=-1.0)
    wait(lambda: problems)
    assert "ridge is -1.0" in problems[0].sentence
    assert workspace.fitting.stack is not None
    assert not workspace.fitting.is_fresh(1)
    assert workspace.model() is None


def test_that_cancel_keeps_the_old_layers_and_a_new_request_fits_again(workspace):
    old = workspace.fitting.stack
    workspace.set_parameters(noise=0.7)
    workspace.cancel()
    settle(0.2)
    assert workspace.fitting.stack is old
    assert workspace.model() is None
    workspace.fitting.fit()
    wait(lambda: workspace.model() is not None)
    assert workspace.model().stack.parameters.noise == 0.7


def test_that_one_pin_too_many_is_refused_with_the_reason(workspace):
    problems = []
    workspace.problem.connect(problems.append)
    workspace.select(pins=tuple(range(MAX_PINS)))
    workspace.toggle_pin(MAX_PINS)
    assert workspace.state.selection.pins == tuple(range(MAX_PINS))
    assert "Release one first" in problems[0].sentence
    workspace.toggle_pin(3)
    assert 3 not in workspace.state.selection.pins


def test_that_a_preview_is_dropped_with_its_parameters(workspace, every_payload):
    workspace.fitting.watch((5,))
    workspace.set_parameters(noise=0.6)
    wait(lambda: workspace.fitting.preview is not None or workspace.model() is not None)
    workspace.history.undo()
    assert workspace.model() is not None
    assert workspace.fitting.preview is None


def test_that_a_pixel_beyond_the_data_is_neither_pinned_nor_selected(workspace):
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


def test_that_opening_other_data_replaces_everything_at_once(workspace):
    changes = []
    workspace.dataset_changed.connect(lambda data: changes.append((data.name, workspace.fitting.stack)))
    workspace.open(StubSource(dataset(seed=1, name="other")))
    wait(lambda: workspace.dataset.name == "other" and workspace.model() is not None)
    assert changes == [("other", None)]


def test_that_the_state_imports_qtcore_and_only_undo_of_qtgui():
    modules = sorted(Path(state.__file__).parent.glob("*.py"))
    nodes = [node for path in modules for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    imported = {(node.module, each.name) for node in nodes if isinstance(node, ast.ImportFrom) for each in node.names}
    others = {each for each in imported if each[0].startswith("PySide6") and each[0] != "PySide6.QtCore"}
    assert others == {("PySide6.QtGui", "QUndoCommand"), ("PySide6.QtGui", "QUndoStack")}
    assert not [node for node in nodes if isinstance(node, ast.Import) and "PySide6" in ast.dump(node)]
