"""One kernel for all pixels is chosen in the panel; tables cannot have one, and the experiments say so."""

from dataclasses import replace

import numpy as np

from slide_gui.gui.pages.weights.explained import ExplainedWeight
from slide_gui.gui.pages.weights.shuffle import ShuffleView
from slide_gui.gui.pages.weights.why import EXPLAIN, SHUFFLE
from slide_gui.gui.shell.panel import _ChoiceBox
from tests.gui.helpers import all_fitted, dataset, open_data, settle, wait


def sharing(window):
    return next(box for box in window.panel.findChildren(_ChoiceBox) if box.accessibleName() == "Weights")


def choose(window, key):
    box = sharing(window)
    box.setCurrentIndex(box.findData(key))
    box.activated.emit(box.currentIndex())
    all_fitted(window.workspace)


def test_that_all_pixels_have_the_kernel_of_the_choice_and_follow_the_noise(window):
    workspace = window.workspace
    choose(window, "convolution")
    left, right = (workspace.model().stack.layers[0].weights[pixel, :64].reshape(8, 8) for pixel in (27, 28))
    np.testing.assert_array_equal(left[:, :7], right[:, 1:])
    workspace.set_parameters(noise=0.6)
    wait(lambda: workspace.fitting.preview is not None)
    preview = workspace.fitting.preview
    all_fitted(workspace)
    fitted = workspace.model().stack.layers[0].weights
    for feature, shown in preview.rows.items():
        np.testing.assert_allclose(shown, fitted[feature], atol=1e-8)
    assert preview.parameters == workspace.model().stack.parameters
    assert window.workspace.history.undoText() == "change of noise"
    workspace.history.undo()
    workspace.history.undo()
    assert sharing(window).currentData() == workspace.state.parameters.sharing == "none"


def test_that_features_that_are_not_pixels_have_a_row_each(window):
    choose(window, "convolution")
    assert sharing(window).isEnabled()
    open_data(window, replace(dataset(), image_shape=None))
    assert window.workspace.state.parameters.sharing == sharing(window).currentData() == "none"
    assert not sharing(window).isEnabled()
    assert "not pixels" in sharing(window).toolTip()


def test_that_the_formula_of_one_weight_and_the_shuffle_name_the_kernel(window):
    choose(window, "convolution")
    window.weights_page.set_view(EXPLAIN)
    settle()
    table = window.weights_page.findChild(ExplainedWeight).table
    assert "All pixels share one kernel" in table.accessibleDescription()
    window.weights_page.set_view(SHUFFLE)
    settle()
    view = window.weights_page.findChild(ShuffleView)
    view.start()
    wait(lambda: view.fit is not None)
    assert "depends on the positions of pixels" in view.status.text()
