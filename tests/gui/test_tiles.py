from dataclasses import replace

import pytest

from slide_gui.experiments.inspection.rows import weight_rows
from slide_gui.figures.weights import as_shown, tile_limits
from slide_gui.gui.pages.weights.selected_rows import TileSource
from tests.gui.helpers import StubSource, dataset, wait
from tests.gui.test_workspace import workspace  # noqa: F401


@pytest.fixture
def source(workspace):  # noqa: F811
    workspace.open(StubSource(dataset()))
    wait(lambda: workspace.model() is not None and not workspace.queue.busy)
    source = TileSource(workspace)
    source.color_map = "blue-white-red"
    return source, workspace


@pytest.mark.parametrize("show", ["weights", "contribution"])
@pytest.mark.parametrize("levels", ["tile", "layer", "global"])
def test_that_the_limits_on_screen_are_those_of_the_exported_figure(source, levels, show):
    tiles, workspace = source  # noqa: F811
    workspace.select(levels=levels, show=show)
    pins = workspace.state.selection.pins
    model = workspace.model()
    rows, contributions = as_shown([weight_rows(model, pins)], show)
    assert contributions == tiles.shows_contributions() == (show == "contribution")
    expected = tile_limits(rows, levels)[0]
    for i, shown in enumerate(tiles.tiles((0, *pins)).tiles[1:]):
        for k, tile in enumerate(shown):
            assert tile.scale.high == pytest.approx(expected[i, k])
            assert tile.values.ravel() == pytest.approx(rows[0].rows[i, k], rel=1e-6)


def test_that_contributions_are_shown_unasked_where_a_hardly_lit_pixel_drowns_the_weights(source):
    tiles, workspace = source  # noqa: F811
    assert (workspace.state.selection.show, tiles.shows_contributions()) == ("auto", False)
    dark = workspace.dataset.train.copy()
    dark[:, 63] = 0.0
    dark[3, 63] = 0.004
    workspace.open(StubSource(replace(workspace.dataset, train=dark)))
    wait(lambda: workspace.dataset.train is dark and workspace.model() is not None and not workspace.queue.busy)
    assert tiles.shows_contributions()
    assert tiles.tiles((0,)).bar[1] == "contribution"
    workspace.select(show="weights")
    assert not tiles.shows_contributions()
    workspace.history.undo()
    assert tiles.shows_contributions()
