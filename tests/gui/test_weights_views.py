"""Weights, Flow, Formula and Copies in the window, with shuffled pixels and with one kernel for all pixels."""

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton, QSlider

from slide_gui.core.slide.denoiser import expected_q
from slide_gui.data.dataset import Dataset
from slide_gui.experiments.inspection.flow import Forward, survivors
from slide_gui.experiments.inspection.rows import input_rms, weight_rows
from slide_gui.figures.style import Style
from slide_gui.figures.weights import as_shown, tile_limits
from slide_gui.gui.pages.weights import flow, shuffle
from slide_gui.gui.pages.weights.explained import ExplainedWeight
from slide_gui.gui.pages.weights.page import FLOW, WEIGHTS
from slide_gui.gui.pages.weights.selected_rows import TileSource
from slide_gui.gui.pages.weights.why import COPIES, EXPLAIN, SHUFFLE, WhyView
from slide_gui.gui.shell.panel import _ChoiceBox
from slide_gui.gui.state import workspace as workspace_module
from slide_gui.gui.theme import DARK, LIGHT, apply_theme
from slide_gui.gui.widgets.color_bar import ColorBar
from tests.gui.helpers import (
    StubSource,
    all_fitted,
    at_rest,
    button,
    centre,
    choose,
    dataset,
    draw,
    labelled,
    open_data,
    press,
    refit,
    settle,
    wait,
)
from tests.gui.test_accessibility import plain


def start_buttons(part):
    return [each for each in part.findChildren(QPushButton) if each.text() in ("Start", "Stop", "Resume")]


def expected_flow(window, image):
    """Return the flow of an image through the fitted layers, corrupted with the first seed."""
    kept = survivors(64, window.workspace.state.parameters.noise, 0)
    return Forward().flow(window.workspace.fitting.stack, image, kept)


def outputs(flow):
    return [layer.output for layer in flow.layers]


def test_that_the_flow_follows_the_sample_its_noise_and_the_stack_also_while_it_was_hidden(window):
    part, data = window.weights_page.set_view("flow"), window.workspace.dataset
    sample = window.workspace.state.selection.sample
    np.testing.assert_array_equal(part.flow.corrupted, expected_flow(window, data.train[sample]).corrupted)
    np.testing.assert_array_equal(outputs(part.flow), outputs(expected_flow(window, data.train[sample])))
    window.actions_by_name["next_sample"].trigger()
    np.testing.assert_array_equal(part.flow.clean, data.train[sample + 1])
    window.weights_page.set_view(WEIGHTS)
    refit(window, noise=0.6)
    window.weights_page.set_view(FLOW)
    np.testing.assert_array_equal(outputs(part.flow), outputs(expected_flow(window, data.train[sample + 1])))
    window.pages.show_item("weights", 3)
    np.testing.assert_array_equal(part.flow.clean, data.test[3])
    for depth in (3, 0):
        window.workspace.set_parameters(depth=depth)
        assert len(part.view.columns) == depth + 1


def test_that_negative_t_has_the_colours_of_h_and_the_legend_names_only_what_the_tiles_show(window):
    part = window.weights_page.set_view("flow")
    for depth, squashing in ((6, "threshold"), (3, "tanh"), (0, "tanh")):
        refit(window, depth=depth, squashing=squashing)
        assert all((column.upper.scale.map == "grey") == (depth == 6) for column in part.view.columns[1:])
        assert ("differences" in part.notice.text()) == (depth > 0)
        assert ("corrupted" in part.notice.text()) == (depth > 0)
        part.corrupt.click()
        assert "corrupted" not in part.notice.text()
        part.corrupt.click()


def test_that_a_narrow_caption_of_the_image_omits_the_missing_cells_and_then_the_number_of_images(window):
    row, shown = window.weights_page.set_view("flow")._image_row, window.weights_page.shown
    settle()
    shown.caption, shown.missing = f"{shown.caption} · 5 missing, filled", (1, 2, 3, 4, 5)
    buttons = row.width() - row._caption.width()
    for text in ("5 missing, filled · 17/250", "5 missing · 17/250", "17/250", "17"):
        row.setFixedWidth(buttons + row._caption.fontMetrics().horizontalAdvance(f"{text}."))
        settle()
        assert row._caption.text() == text


def test_that_every_view_takes_the_colours_of_a_theme_with_the_window(app, window):
    page = window.weights_page
    for theme in (DARK, LIGHT):
        apply_theme(app, theme.name)
        assert page.set_view(FLOW).findChild(ColorBar).scale.map == theme.diverging
        for name in (WEIGHTS, EXPLAIN):
            row = page.set_view(name).tiles.rows[0 if name == EXPLAIN else 1]
            assert row.tiles[-1].scale.map == theme.diverging
            assert row.color.name().upper() == theme.accent


def test_that_buttons_and_keys_erase_clear_and_blank_the_canvas(window):
    part = window.weights_page.set_view("flow")
    canvas, given = part.view.canvas, part.view.canvas.image
    lit = int(np.flatnonzero(given)[0])
    button(part, "Erase").click()
    draw(part, lit)
    assert canvas.image.flat[lit] == 0
    button(part, "Clear").click()
    np.testing.assert_array_equal(canvas.image, given)
    window.actions_by_name["blank_canvas"].trigger()
    assert (window.weights_page.shown.caption, part.flow.clean.any()) == ("drawing", False)
    window.actions_by_name["draw_or_erase"].trigger()
    assert button(part, "Draw").isChecked()
    draw(part, 19)
    assert canvas.image.sum() == 1
    window.actions_by_name["undo"].trigger()
    window.actions_by_name["undo"].trigger()
    np.testing.assert_array_equal(canvas.image, given)


def test_that_all_views_show_a_stroke_drawn_in_weights(window):
    page, pins = window.weights_page, window.workspace.state.selection.pins
    part, image = page.set_view("flow"), page.set_view(WEIGHTS).image
    first, second = np.flatnonzero(image.image == 0)[[0, -1]].tolist()
    QTest.mousePress(image, Qt.MouseButton.RightButton, pos=centre(image, int(image.image.argmax())))
    QTest.mouseRelease(image, Qt.MouseButton.RightButton)
    QTest.mousePress(image, Qt.MouseButton.LeftButton, pos=centre(image, first))
    QTest.mouseMove(image, centre(image, second))
    QTest.mouseRelease(image, Qt.MouseButton.LeftButton)
    assert image.image.flat[[first, second]].all()
    assert window.workspace.state.selection.pins == pins
    assert page.shown.caption.endswith(", drawn on")
    page.set_view("flow")
    np.testing.assert_array_equal(part.flow.clean, image.image.ravel())
    for _ in range(2):
        window.actions_by_name["undo"].trigger()
    assert not image.is_drawn_on
    assert not part.view.canvas.is_drawn_on


def test_that_an_image_passes_through_the_layers_of_earlier_data_under_their_names(window):
    part, workspace = window.weights_page.set_view("flow"), window.workspace
    first, layers = workspace.dataset, workspace.fitting.stack.layers
    assert not part.learned.isEnabled()
    open_data(window, dataset(seed=1, name="others"))
    assert part.learned.isEnabled()
    own = outputs(part.flow)
    assert "through layers" not in part.notice.text()
    choose(part.learned, first.fingerprint)
    assert part.notice.text() == "others passed through layers learned on given, noise 0.3, 4 layers"
    assert "select “these data”" in window.weights_page.export_options()[0].about
    assert part.notice.contentsMargins().left() == 6
    np.testing.assert_array_equal(part.flow.clean, workspace.dataset.train[workspace.state.selection.sample])
    for layer, weights in zip(part.flow.layers, layers, strict=True):
        expected = weights.weights[:, :-1] @ layer.squashed + weights.weights[:, -1]
        np.testing.assert_allclose(layer.output, expected, atol=1e-4)
    workspace.set_parameters(noise=0.5)
    assert not any(column.stale for column in part.view.columns)  # layers of other data do not depend on the panel
    assert part.notice.text().startswith("others passed through layers learned on given, noise 0.3")
    refit(window, noise=0.3)
    choose(part.learned, "")
    for before, after in zip(own, outputs(part.flow), strict=True):
        np.testing.assert_array_equal(before, after)
    for seed, divisor in ((2, 255.0), (3, 4095.0)):
        open_data(window, replace(dataset(seed=seed), scaling=np.repeat([[0.0], [divisor]], 64, axis=1)))
    choose(part.learned, workspace.earlier[0].fingerprint)
    assert part.notice.text().endswith("; the range 0–1 is 0 … 4095 here, but 0 … 255 in training")
    open_data(window, labelled())  # images of another size
    assert not part.learned.isEnabled()
    assert part.foreign is None


def test_that_rows_of_a_table_pass_through_layers_of_the_same_columns_in_their_scale_and_colours(window):
    part, rows = window.weights_page.set_view("flow"), np.random.default_rng(0).random((30, 3), np.float32)
    names, scales = ("a", "b", "c"), ([[0.0] * 3, [10.0] * 3], [[5.0] * 3, [2.0] * 3])
    part.view.canvas.setFocus()
    for name, scale in zip(("first", "second"), scales, strict=True):
        rows = rows[::-1].copy()
        open_data(window, Dataset(name, rows, rows[:0], feature_names=names, scaling=np.array(scale)))
    assert window.focusWidget() is part.view
    choose(part.learned, window.workspace.earlier[0].fingerprint)
    row = rows[window.workspace.state.selection.sample]
    np.testing.assert_allclose(part.flow.clean, (2 * row + 5) / 10, rtol=1e-6)
    open_data(window, Dataset("third", rows[:, ::-1].copy(), rows[:0], feature_names=("d", "e", "f")))
    assert not part.learned.isEnabled()
    assert part._bar.accessibleDescription().startswith("x, T, hᵏ ")
    tiles = window.weights_page.set_view("weights").tiles
    tile = tiles.layout_of().tile(1, 0)
    assert " at f\nClick to enlarge · Ctrl+click to pin" in tiles.tip_at(tiles.layout_of().spot(tile, 2).center())
    window.weights_page.set_view("flow").view.setFocus()
    open_data(window, dataset())
    assert window.focusWidget() is part.view.canvas


def test_that_layers_of_earlier_data_take_bounded_memory_and_no_scatters(window, monkeypatch):
    size = sum(layer.weights.nbytes for layer in window.workspace.fitting.stack.layers)
    monkeypatch.setattr(workspace_module, "_MOST_BYTES", 2 * size)
    for seed in (1, 2, 3, 2):
        open_data(window, dataset(seed=seed, name=f"data {seed}"))
    assert [model.dataset for model in window.workspace.earlier] == ["data 3", "data 2"]
    assert all(layer.scatter is None for model in window.workspace.earlier for layer in model.stack.layers)


def test_that_images_and_strokes_go_through_the_layers_once_and_in_the_queue_if_they_take_long(window, monkeypatch):
    part = window.weights_page.set_view("flow")
    wait(lambda: not window.queue.busy)  # the window reads the runs, because one may have a classifier
    calls, send = [], Forward.flow
    monkeypatch.setattr(Forward, "flow", lambda *given: calls.append(given) or send(*given))
    window.workspace.select(sample=3)
    assert len(calls) == 1
    calls.clear()
    empty = np.flatnonzero(part.flow.clean == 0)[:3].tolist()
    for number, cell in enumerate(empty[:2], start=1):
        before = part.flow.clean
        draw(part, cell)
        assert np.count_nonzero(part.flow.clean != before) == 1
        assert len(calls) == number
        assert not window.queue.busy
        assert part.flow.clean[cell] == 1.0
    before = part.flow
    monkeypatch.setattr(flow, "_AT_ONCE", 100)
    draw(part, empty[2])
    assert part.flow is before
    wait(lambda: part.flow is not before)
    assert part.flow.clean[empty[2]] == 1.0


def test_that_noise_and_a_new_corruption_change_the_pixels_and_layers_are_grey_until_fitted(window, fit_may_continue):
    part = window.weights_page.set_view("flow")
    first = part.flow.survivors
    fit_may_continue.clear()
    window.panel.sliders["noise"].findChild(QSlider).setValue(80)
    wait(lambda: all(column.stale for column in part.view.columns[1:]))
    fit_may_continue.set()
    at_rest(window)
    assert part.flow.survivors.sum() < first.sum()
    assert not any(column.stale for column in part.view.columns)
    first = part.flow.survivors
    window.actions_by_name["corrupt_again"].trigger()
    second, choices = part.flow.survivors, window.weights_page.choices()
    assert (second != first).any()
    button(part, "Corrupt").click()
    assert part.flow.survivors.all()
    for invalid in ("", "-1", "nan", "9" * 400):
        window.weights_page.choose(choices | dict.fromkeys(("hidden", "layer", "brush"), invalid))
        assert ((part.flow.survivors == second).all(), window.weights_page.choices()) == (True, choices)


def test_that_a_view_is_created_when_its_tab_is_chosen_and_refreshed_only_while_shown(window, monkeypatch):
    page, refreshed = window.weights_page, []
    monkeypatch.setattr(WhyView, "refresh", lambda view: refreshed.append(view))
    assert page.findChild(WhyView) is None
    button(page, "Why it works").click()
    assert page.findChild(WhyView).isVisible()
    refreshed.clear()
    window.workspace.select(levels="tile")
    page.set_view(WEIGHTS).image.setFocus()
    window.workspace.select(levels="layer")
    assert len(refreshed) == 1
    page.set_view("flow")
    assert window.focusWidget() is button(page, "Flow")


def choose_layer(part, layer):
    press(part.layers, *[Qt.Key.Key_Down] * (layer - part.layer))
    assert part.layer == layer


def all_points(part):
    return part.copies is not None and len(part.copies.points) == 11 and part._job is None


def started(window):
    """Show the copies, press Start, and wait for the first point."""
    part = window.weights_page.set_view(COPIES)
    (start,) = start_buttons(part)
    assert start.text() == "Start"
    start.click()
    wait(lambda: part.copies is not None and part.copies.points)
    return part


def test_that_copies_start_on_request_their_error_falls_by_one_half_per_factor_of_4_and_a_click_selects_m(window):
    window.actions_by_name["view_copies"].trigger()
    part = window.weights_page.set_view("copies")
    settle(0.1)
    assert part._job is None
    assert "Press Start" in part.plot.accessibleDescription()
    part = started(window)
    wait(lambda: all_points(part))
    assert part.plot.copies() == [2**k for k in range(11)]
    assert -0.6 < part.copies.slope() < -0.4
    assert "geometric mean of the relative error" in part.numbers()
    assert not any(each.isVisible() for each in start_buttons(part))
    QTest.mouseClick(part.plot, Qt.MouseButton.LeftButton, pos=part.plot.position(4, 0.2).toPoint())
    _image, estimate, limit, difference = part.tiles.rows[0].tiles
    point, feature = part.copies.points[2], window.weights_page.pixels.features()[0]
    assert point.copies == part.plot.chosen == 4
    np.testing.assert_array_equal(estimate.values.reshape(-1), point.weights[feature, :-1])
    np.testing.assert_allclose(difference.values, estimate.values - limit.values, atol=1e-6)
    assert estimate.scale == limit.scale == difference.scale
    choose_layer(part, 2)
    wait(lambda: part.copies.layer == 2)
    np.testing.assert_allclose(part.copies.limit, window.workspace.fitting.stack.layers[1].weights, atol=2e-3)


def test_that_copies_pause_on_cancel_resume_restart_after_a_new_fit_and_say_why_none_has_an_error(window):
    part = started(window)
    window.actions_by_name["cancel"].trigger()
    assert part._job is None
    (resume,) = start_buttons(part)
    assert resume.text() == "Resume"
    points = len(part.copies.points)
    settle(0.1)
    assert len(part.copies.points) == points
    resume.click()
    assert resume.text() == "Stop"
    window.actions_by_name["run_copies"].trigger()
    assert part._job is None
    resume.click()
    window.workspace.set_parameters(noise=0.5)
    wait(lambda: part.copies.noise == 0.5 and all_points(part))
    refit(window, noise=0.0)
    assert "at noise level 0, every copy equals the data" in part.plot.accessibleDescription()
    assert part.refusal == window.weights_page.why_nothing_to_export()
    assert not part.export_options(Style())
    assert not part.numbers()
    assert not any(each.isVisible() for each in start_buttons(part))


def test_that_copies_of_small_images_are_dropped_before_larger_ones_are_shown_and_too_many_features_are_refused(window):
    rows = np.random.default_rng(0).random((30, 16), np.float32)
    open_data(window, Dataset("small", rows[:20], rows[20:], image_shape=(4, 4)))
    part = started(window)
    open_data(window, labelled())  # an exception in a slot fails the test
    assert part.copies is None
    rows = (np.random.default_rng(0).random((60, 1100)) > 0.5).astype("float32")
    window.workspace.set_parameters(depth=1)
    open_data(window, Dataset("wide", rows[:50], rows[50:]))
    wait(lambda: "1100 features" in part.plot.accessibleDescription())


def test_that_copies_stop_when_another_page_is_shown_and_do_not_start_again(window):
    part = started(window)
    window.actions_by_name["page_runs"].trigger()
    refit(window, noise=0.5)
    window.actions_by_name["page_weights"].trigger()
    settle(0.1)
    assert part._job is None
    assert [each.text() for each in start_buttons(part) if each.isVisible()] == ["Start"]
    window.workspace.set_parameters(depth=0)
    assert part.plot.is_stale
    assert not any(each.isVisible() for each in start_buttons(part))


@pytest.fixture
def explained(window):
    window.weights_page.set_view(EXPLAIN)
    settle()
    return window.weights_page.findChild(ExplainedWeight)


def value(part, name):
    line = next(line for line in part.table.lines if line.name == name)
    return float(line.value.replace("−", "-"))


def hover(tiles, row, column, pixel):
    layout = tiles.layout_of()
    QTest.mouseMove(tiles, layout.spot(layout.tile(row, column), pixel).center().toPoint())


def test_that_numbers_belong_to_the_selected_pixel_and_the_one_under_the_cursor_or_of_most_weight(window, explained):
    hover(explained.tiles, 0, 0, 19)
    hover(explained.tiles, 0, 3, 27)
    layer, parameters = window.workspace.fitting.stack.layers[0], window.workspace.state.parameters
    assert value(explained, "S_{ab}") == pytest.approx(layer.scatter[19, 27], abs=0.006)
    assert value(explained, "W_{ab}") == pytest.approx(layer.weights[19, 27], abs=6e-5)
    expected = expected_q(layer.scatter, parameters.noise, 0.0)
    assert value(explained, "E[Q]_{ab}") == pytest.approx(expected[19, 27], abs=0.006)
    check, formula = explained.table.lines[-1], value(explained, "E[P]_{ab}")
    assert float(check.value) == pytest.approx(formula, abs=0.011)
    explained.tiles.pixel_hovered.emit(None)
    weights = np.abs(layer.weights[:, :-1])
    np.fill_diagonal(weights, 0.0)
    assert value(explained, "W_{ab}") == pytest.approx(layer.weights[19, weights[19].argmax()], abs=6e-5)


def test_that_the_numbers_follow_noise_layer_depth_and_data(window, explained):
    before = value(explained, "E[P]_{ab}")
    refit(window, noise=0.6)
    assert "· 0.4\n" in explained.table.toPlainText().replace("\u00a0", " ")
    assert value(explained, "E[P]_{ab}") != before
    choose_layer(explained, 3)
    a, layer = window.weights_page.pixels.target, window.workspace.fitting.stack.layers[2]
    noise = window.workspace.state.parameters.noise
    assert value(explained, "E[Q]_{aa}") == pytest.approx((1 - noise) * layer.scatter[a, a], abs=0.006)
    description = explained.table.accessibleDescription
    assert "h²" in description()
    window.workspace.set_parameters(depth=0)
    assert "Depth 0" in description()
    window.workspace.set_parameters(depth=2)
    open_data(window, plain())
    wait(lambda: "height" in description())
    assert len(explained.table.lines) == 6
    open_data(window, Dataset("one feature", *np.random.default_rng(0).random((2, 60, 1), np.float32)))
    wait(lambda: "b is a itself, the only feature" in description())


def test_that_the_queue_fits_to_shuffled_pixels_and_unshuffled_rows_equal_the_original(window):
    view = window.weights_page.set_view("shuffle")
    assert [[tile is None for tile in row.tiles] for row in view.tiles.rows] == [[False, True, True]] * 2
    window.actions_by_name["shuffle"].trigger()
    assert [[tile is None for tile in row.tiles] for row in view.tiles.rows] == [[False] * 3, [False, True, True]]
    wait(lambda: view.fit is not None)
    order = view._order
    for row in view.tiles.rows:
        original, shuffled, put_back = row.tiles
        np.testing.assert_allclose(put_back.values, original.values, atol=1e-6)
        np.testing.assert_array_equal(shuffled.values.ravel(), put_back.values.ravel()[order])
        assert order[shuffled.marker] == put_back.marker == original.marker
        assert original.scale == shuffled.scale == put_back.scale
    view.tiles.pixel_hovered.emit((0, 1, 5))
    assert window.weights_page.pixels.feature == order[5]
    view.tiles.pixel_clicked.emit((1, 1, 7))
    assert order[7] in window.workspace.state.selection.pins
    assert max(view.fit.differences) < 1e-12
    assert view.status.wordWrap()  # a narrow window shows the complete sentence
    before, after = view.status.text().split("; the largest weight or bias is ")
    assert before.startswith("W, put back in order, differs")
    largest = max(np.abs(layer.weights).max() for layer in view.fit.stack.layers)
    assert float(after[:-1]) == pytest.approx(largest, rel=0.1)
    assert len(view.numbers().split("\n")) == 1 + 4


def test_that_each_press_shuffles_again_and_other_layers_data_or_views_drop_the_fit(window, monkeypatch):
    view, orders = window.weights_page.set_view("shuffle"), []
    for _ in range(2):
        view.button.click()
        wait(lambda: view.fit is not None)
        orders.append(view._order)
    assert not np.array_equal(*orders)
    refit(window, noise=0.55)
    assert view.fit is None
    assert "differs" not in view.status.text()
    view.button.click()
    assert window.queue.busy
    window.actions_by_name["view_weights"].trigger()
    assert not window.queue.busy
    settle(0.05)
    assert view.fit is None
    window.weights_page.set_view("shuffle")
    with monkeypatch.context() as patched:
        patched.setattr(shuffle, "fit_shuffled", lambda *_, **__: 1 / 0)
        row = replace(view._row(3), approximate=True)
        patched.setattr(view, "_row", lambda _: row)
        view.start()
        wait(lambda: "could not be fitted" in window.notice.accessibleName())
        assert (view.status.text(), view.tiles.rows[1].tiles[0].caption) == ("", "≈")
    view.start()
    wait(lambda: view.fit is not None)
    window.workspace.set_parameters(depth=0)
    assert [tile is None for tile in view.tiles.rows[1].tiles] == [True] * 3
    assert not view.button.isEnabled()
    window.workspace.set_parameters(depth=1)
    open_data(window, plain())
    assert [[tile is None for tile in row.tiles] for row in view.tiles.rows] == [[False, True, True]] * 2
    assert view.button.text() == "Shuffle features"


def test_that_fill_masks_a_fraction_equal_to_the_noise_shows_the_values_of_numpy_and_none_at_depth_0(window):
    view = window.weights_page.set_view("fill")
    for seed, noise in ((1, 0.5), (2, 0.5), (9, 0.25)):
        window.weights_page.choose({"hidden": str(seed), "layer": "99"})
        refit(window, noise=noise)
        image, rest, by_w, by_mask = view.pictures
        M, W, X = np.isnan(rest), window.workspace.fitting.stack.layers[0].weights, window.workspace.dataset.train * 1.0
        assert set(np.flatnonzero(M)) == set(np.random.default_rng(seed).permutation(64)[: round(noise * 64)])
        np.testing.assert_allclose(by_w[M], W[M] @ np.append(np.where(M, 0.0, image), 1.0))
        mean, scale = X.mean(axis=0, dtype=float), np.maximum(X.std(axis=0, dtype=float), 1e-9)
        S = np.cov(((X - mean) / scale).T, bias=True) + np.eye(64) * 64 / (5 * len(X))
        z = S[np.ix_(M, ~M)] @ np.linalg.solve(S[np.ix_(~M, ~M)], ((image - mean) / scale)[~M])
        np.testing.assert_allclose(by_mask[M], (mean[M] + scale[M] * z), atol=1e-6)
    window.workspace.set_parameters(depth=0)
    assert (len(view.tiles.rows[0].tiles), view.numbers(), view.button.isEnabled()) == (1, "", False)
    refit(window, depth=2)
    view.draw()
    window.queue.stop()
    assert view.status.text().startswith("Filling was stopped.")
    view.button.click()
    wait(lambda: "error on hidden pixels" in view.status.text())
    assert window.weights_page.set_view(EXPLAIN).layers.currentText() == "Layer 2"


def sharing(window):
    return next(box for box in window.panel.findChildren(_ChoiceBox) if box.accessibleName() == "Weights")


def share_kernel(window):
    choose(sharing(window), "convolution")
    at_rest(window)


def test_that_all_pixels_have_the_kernel_of_the_choice_and_follow_the_noise(window, every_payload):
    workspace = window.workspace
    share_kernel(window)
    left, right = (workspace.model().stack.layers[0].weights[pixel, :64].reshape(8, 8) for pixel in (27, 28))
    np.testing.assert_array_equal(left[:, :7], right[:, 1:])
    workspace.set_parameters(noise=0.6)
    wait(lambda: workspace.fitting.preview is not None)
    preview = workspace.fitting.preview
    all_fitted(workspace)
    fitted = workspace.model().stack.layers[0].weights
    for feature, shown in preview.rows.items():
        np.testing.assert_allclose(shown[0], fitted[feature], atol=1e-8)
    assert preview.parameters == workspace.model().stack.parameters
    assert window.workspace.history.undoText() == "change of noise"
    workspace.history.undo()
    workspace.history.undo()
    assert sharing(window).currentData() == workspace.state.parameters.sharing == "none"


def test_that_an_enlarged_tile_shows_the_kernel_whose_window_the_panel_sets(window):
    slider = window.panel.sliders["window"]
    window.panel.more.click()
    assert not slider.isVisible()
    share_kernel(window)
    assert slider.isVisible()
    slider.findChild(QSlider).setValue(1)  # 3, 5, …
    at_rest(window)
    assert window.workspace.model().stack.parameters.window == 5
    tiles, pixels = window.weights_page.shown_view().tiles, window.weights_page.pixels
    pixels.point_at(4 * 8 + 1)  # the window is cut at the left border
    tiles.enlarge(1, 2)
    layout = tiles.layout_of()
    box, marker = layout.tile(1, 2), layout.spot(layout.tile(1, 2), 4 * 8 + 1)
    assert (box.height() / layout.scale, box.width() / layout.scale) == pytest.approx((5, 4))
    assert box.bottom() <= tiles.height()
    row = window.workspace.model().stack.layers[2].weights[4 * 8 + 1]
    outside = np.delete(row[:64].reshape(8, 8), np.s_[2:7], 0), row[:64].reshape(8, 8)[2:7, 4:]
    assert not any(each.any() for each in outside)
    QTest.mouseMove(tiles, box.bottomRight().toPoint() - QPoint(4, 4))
    assert pixels.source == 6 * 8 + 3
    shot, scale = tiles.grab().toImage(), tiles.rows[1].tiles[2].scale
    near = (marker.center() + QPointF(0, layout.scale)).toPoint()
    assert shot.pixelColor(near).getRgb()[:3] == tuple(scale.lut()[scale.indices(row[5 * 8 + 1])].tolist())


def test_that_formula_and_shuffle_name_the_kernel_and_features_that_are_not_pixels_have_a_row_each(window):
    share_kernel(window)
    table = window.weights_page.set_view(EXPLAIN).table
    settle()
    assert "All pixels share one kernel" in table.accessibleDescription()
    view = window.weights_page.set_view(SHUFFLE)
    view.start()
    wait(lambda: view.fit is not None)
    assert "use pixel positions" in view.status.text()
    assert "uses the positions of pixels, so W changes" in window.weights_page.shown_view()._sentence.text()
    assert sharing(window).isEnabled()
    open_data(window, replace(dataset(), image_shape=None))
    assert window.workspace.state.parameters.sharing == sharing(window).currentData() == "none"
    assert not sharing(window).isEnabled()
    assert "not pixels" in sharing(window).toolTip()


@pytest.mark.parametrize("show", ["weights", "contribution"])
@pytest.mark.parametrize("levels", ["tile", "layer", "global"])
def test_that_the_limits_on_screen_are_four_tenths_of_the_largest_weight(workspace, levels, show):
    tiles = TileSource(workspace)
    workspace.select(levels=levels, show=show)
    pins = workspace.state.selection.pins
    model = workspace.model()
    rows, contributions = as_shown([weight_rows(model, pins)], show)
    assert contributions == tiles.shows_contributions() == (show == "contribution")
    layers = [(layer.weights[:, :-1], input_rms(layer)) for layer in model.stack.layers]
    peaks = [np.abs(weights * (rms if contributions else 1.0)).max(axis=1) for weights, rms in layers]
    largest = np.array([np.median(each[each > 0]) for each in peaks])
    expected = {"tile": tile_limits(rows, "tile")[0], "layer": largest, "global": largest.max()}[levels]
    expected = 0.4 * np.broadcast_to(expected, (len(pins), 4))
    for i, shown in enumerate(tiles.tiles((0, *pins)).tiles[1:]):
        for k, tile in enumerate(shown):
            assert tile.scale.high == pytest.approx(expected[i, k], rel=1e-5)
            assert tile.values.ravel() == pytest.approx(rows[0].rows[i, k], rel=1e-6)
    workspace.dataset = replace(workspace.dataset, image_shape=None)  # bars must not be cut
    if levels == "layer":
        assert [tile.scale.high for tile in tiles.tiles((0,)).tiles[0]] == pytest.approx(2.5 * expected[0], rel=1e-5)


def test_that_mosaics_hold_all_rows_in_the_colours_of_the_layer_and_keep_their_picture_while_the_mouse_moves(workspace):
    tiles = TileSource(workspace)
    first, second = tiles.mosaics(3), tiles.mosaics(9)
    model, table = workspace.model(), tiles.tiles((3,))
    for k, mosaic in enumerate(first):
        assert mosaic.values == pytest.approx(model.stack.layers[k].weights[:, :-1].reshape(64, 8, 8), abs=1e-6)
        assert (mosaic.marker, second[k].marker) == (3, 9)
        assert mosaic.identity == second[k].identity
        assert mosaic.scale == table.tiles[0][k].scale
        assert not mosaic.equals(second[k])


def test_that_contributions_are_shown_by_default_if_the_weights_of_a_dark_pixel_hide_the_others(workspace):
    tiles = TileSource(workspace)
    assert (workspace.state.selection.show, tiles.shows_contributions()) == ("auto", False)
    dark = workspace.dataset.train.copy()
    dark[:, 63] = 0.0
    dark[3, 63] = 0.004
    workspace.open(StubSource(replace(workspace.dataset, train=dark)))
    wait(lambda: workspace.dataset.train is dark)
    all_fitted(workspace)
    assert tiles.shows_contributions()
    assert tiles.tiles((0,)).bar[1] == "contribution"
    workspace.select(show="weights")
    assert not tiles.shows_contributions()
    workspace.history.undo()
    assert tiles.shows_contributions()
