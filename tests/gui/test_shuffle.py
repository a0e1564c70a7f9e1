"""Layers fitted to shuffled pixels equal those of the original; hidden pixels are filled in two ways."""

import threading

import numpy as np

from slide_gui.gui.pages.weights import shuffle
from tests.gui.helpers import at_rest, open_data, settle, wait
from tests.gui.test_accessibility import plain


def test_that_the_queue_fits_to_shuffled_pixels_and_unshuffled_rows_equal_the_original(window, monkeypatch):
    threads, fit = [], shuffle.fit_shuffled
    monkeypatch.setattr(
        shuffle, "fit_shuffled", lambda *a, **k: threads.append(threading.current_thread()) or fit(*a, **k)
    )
    view = window.weights_page.set_view("shuffle")
    assert [[tile is None for tile in row.tiles] for row in view.tiles.rows] == [[False, True, True]] * 2
    window.actions_by_name["shuffle"].trigger()
    assert [[tile is None for tile in row.tiles] for row in view.tiles.rows] == [[False] * 3, [False, True, True]]
    wait(lambda: view.fit is not None)
    assert threads
    assert threads[0] is not threading.main_thread()
    order = view.fit.order
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
    assert "at most" in view.status.text()
    assert len(view.numbers().split("\n")) == 1 + 4


def test_that_each_press_shuffles_again_and_other_layers_data_or_views_drop_the_fit(window):
    view = window.weights_page.set_view("shuffle")
    orders = []
    for _ in range(2):
        view.button.click()
        wait(lambda: view.fit is not None)
        orders.append(view.fit.order)
    assert not np.array_equal(*orders)
    window.workspace.set_parameters(noise=0.55)
    at_rest(window)
    assert view.fit is None
    assert "differs" not in view.status.text()
    view.button.click()
    assert window.queue.busy
    window.actions_by_name["view_weights"].trigger()
    assert not window.queue.busy
    settle(0.05)
    assert view.fit is None
    window.weights_page.set_view("shuffle")
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
    for seed, noise in enumerate((0.5, 0.5, 0.25), 1):
        view.draw()
        window.workspace.set_parameters(noise=noise)
        at_rest(window)
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
