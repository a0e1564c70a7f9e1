from dataclasses import replace

import numpy as np
import pytest

from slide_gui.experiments.inspection.rows import input_rms, weight_rows
from slide_gui.figures.weights import as_shown, tile_limits
from slide_gui.gui.pages.weights.selected_rows import TileSource
from tests.gui.helpers import StubSource, all_fitted, dataset, wait


@pytest.mark.parametrize("show", ["weights", "contribution"])
@pytest.mark.parametrize("levels", ["tile", "layer", "global"])
def test_that_the_limits_on_screen_are_four_tenths_of_the_largest_weight(workspace, levels, show):
    tiles = TileSource(workspace)
    workspace.select(levels=levels, show=show)
    pins = workspace.state.selection.pins
    model = workspace.model()
    rows, contributions = as_shown([weight_rows(model, pins)], show)
    assert contributions == tiles.shows_contributions() == (show == "contribution")
    peaks = [np.abs(layer_rows(model, k, contributions)).max(axis=1) for k in range(4)]
    largest = np.array([np.median(each[each > 0]) for each in peaks])
    expected = {"tile": tile_limits(rows, "tile")[0], "layer": largest, "global": largest.max()}[levels]
    expected = 0.4 * np.broadcast_to(expected, (len(pins), 4))
    for i, shown in enumerate(tiles.tiles((0, *pins)).tiles[1:]):
        for k, tile in enumerate(shown):
            assert tile.scale.high == pytest.approx(expected[i, k], rel=1e-5)
            assert tile.values.ravel() == pytest.approx(rows[0].rows[i, k], rel=1e-6)


def test_that_bars_of_a_table_reach_the_largest_weight_of_a_typical_row(workspace):
    table = replace(workspace.dataset, image_shape=None)
    workspace.open(StubSource(table))
    wait(lambda: workspace.dataset is table)
    all_fitted(workspace)
    peaks = [np.abs(layer_rows(workspace.model(), k, False)).max(axis=1) for k in range(4)]
    limits = [tile.scale.high for tile in TileSource(workspace).tiles((0,)).tiles[0]]
    assert limits == pytest.approx([np.median(each[each > 0]) for each in peaks], rel=1e-5)


def layer_rows(model, k, contributions):
    """Return all rows of W of a layer, as weights or as contributions."""
    layer = model.stack.layers[k]
    return layer.weights[:, :-1] * (input_rms(layer) if contributions else 1.0)


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


def test_that_deep_layers_keep_their_last_picture_pale_until_they_are_fitted_but_not_of_other_data(workspace):
    tiles = TileSource(workspace)
    before, partial = tiles.mosaics(3), []

    def look():
        stack = workspace.fitting.stack
        partial.append((0 if stack is None else len(stack.layers), tiles.mosaics(3), tiles.tiles((3,)).tiles[0]))

    workspace.fitting.changed.connect(look)
    workspace.set_parameters(noise=0.6)
    all_fitted(workspace)
    for fitted, mosaics, row in partial:
        assert all(each is not None for each in (*mosaics, *row))
        if fitted < 4:
            assert [each.stale for each in mosaics[fitted:]] == [each.stale for each in row[fitted:]]
            assert all(a.identity[0] == b.identity[0] for a, b in zip(mosaics[fitted:], before[fitted:], strict=True))
    assert not any(each.stale for each in (*tiles.mosaics(3), *tiles.tiles((3,)).tiles[0]))
    partial.clear()
    workspace.open(StubSource(replace(dataset(), name="other")))
    wait(lambda: workspace.dataset.name == "other")
    assert partial[0][0] == 0
    assert set(partial[0][1]) == set(partial[0][2]) == {None}
    workspace.fitting.changed.disconnect(look)


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
