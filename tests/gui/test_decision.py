"""Flow shows the decision of the classifier on its image."""

import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel

from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.experiments.inspection.decision import Decider
from slide_gui.experiments.inspection.likeness import Likeness
from slide_gui.experiments.runs.run import restore
from slide_gui.gui.pages.weights import flow
from slide_gui.gui.pages.weights.decided import DecidedPart, _flip_text, _margin_text
from slide_gui.gui.state import decision
from slide_gui.gui.theme import theme_of
from tests.gui.helpers import StubSource, button, dataset, draw, labelled, open_data, refit, settle, wait
from tests.gui.test_jobs import working

OPENED = labelled


@pytest.fixture
def part(window):
    """Return Flow with a trained classifier and its decision on the first image without corruption."""
    runs = window.session.runs
    runs.train(runs.spec_of(SvmParameters(widths="median", C=10.0)))
    wait(lambda: runs.result is not None)
    flow = window.weights_page.set_view("flow")
    flow.corrupt.click()
    wait(lambda: shown(flow).controller.decision is not None)
    return flow


def shown(flow):
    return flow.findChild(DecidedPart)


def test_that_flow_shows_the_decision_of_the_model(window, part, data):
    again = restore(data, window.session.runs.result)
    for sample in (0, 5, 9):
        window.workspace.select(sample=sample)
        margin = again.model.margins(again.representation.transform(data.train[sample : sample + 1]))[0, 0]
        decided, name = shown(part), data.label_names[int(margin > 0)]
        first, second, *vectors = decided.lines()
        assert first[1] == name
        assert decided.title.text() == f"“{name}” beats “{second[1]}” by {abs(margin):.2f}"
        assert [label.text() for _, _, label in decided._bars[:2]] == [f"+{abs(margin):.2f}", ""]
        assert "input x, SVM trained at noise 0.3 with 4 layers" in decided.about.text()
        for card, (_, vector_name, _) in zip(decided.cards, vectors, strict=True):
            assert vector_name == data.label_names[data.train_labels[card.row]]
            image = card.image.icon().pixmap(card.image.iconSize()).toImage()
            for row, column in ((1, 1), (3, 4), (4, 2)):
                dark = image.pixelColor(10 * column + 5, 10 * row + 5).lightness() < 128
                assert dark == bool(data.train[card.row].reshape(6, 6)[row, column])
    decided._names = lambda: ("cultivar of the grape 1", "cultivar of the grape 2")
    decided._show()
    assert decided.title.text().startswith("“…")  # shortened, because the full names do not fit
    assert [name.text() for name, *_ in decided._bars[:2]] == ["…1", "…2"]


def test_that_colours_of_layers_in_flow_do_not_depend_on_h0_and_other_parameters_of_a_decision_are_named(window, part):
    window.session.runs.train(window.session.runs.spec_of(SvmParameters(C=10.0, starts=1), "slide-svm-without-input"))
    wait(lambda: (now := shown(part).controller.decision) is not None and len(now.shares) == 4)
    assert shown(part)._legend.pixmap().toImage().pixelColor(4, 8) == theme_of(part).pin(1)
    wait(lambda: "without h⁰" in shown(part).about.text())
    assert "panel" not in shown(part).about.text()
    refit(window, ridge=2.0)
    assert shown(part).about.text().endswith("(the panel’s parameters differ)")


@pytest.mark.parametrize("data", [replace(labelled(), image_shape=None)], ids=["table"])
def test_that_rows_of_a_table_are_counted_from_1(window, part):
    row = shown(part).cards[0].row
    assert f"training row {row + 1}," in shown(part).cards[0].image.toolTip()
    assert f"support vector {row + 1}\t" in part.numbers()


def test_that_a_stroke_changes_the_decision_at_once_and_flips_are_searched_after_a_rest(window, part, monkeypatch):
    before, drawn, show = shown(part).controller.decision, [], DecidedPart._show_decision
    monkeypatch.setattr(DecidedPart, "_show_decision", lambda *given: drawn.append(show(*given)))
    part.view.canvas.set_brush(3)
    draw(part, 14)
    decided = shown(part).controller
    assert decided.decision is not before
    assert len(drawn) == 1
    assert decided.flip is None
    wait(lambda: decided.flip is not None)
    assert shown(part).flip_text.text().startswith(f"Setting {len(decided.flip.features)} pixel")
    assert "fewer" not in _flip_text(replace(decided.flip, features=(3,)), "pixel", "down")
    assert "fewer" in _flip_text(replace(decided.flip, features=(3, 4)), "pixel", "down")
    assert [_margin_text(margin) for margin in (0.934, 0.005, 0.0031, 0.0)] == ["0.93", "0.01", "0.003", "0.00"]


def test_that_images_unlike_the_training_images_get_this_notice_and_no_prediction(window, part):
    decided, canvas = shown(part), part.view.canvas
    wait(lambda: not window.queue.busy)
    assert decided.lines()
    assert "unlike" not in part.notice.text()
    settle()
    canvas.set_brush(5)
    before = canvas.geometry()
    for cell in (14, 0, 35, 5, 30):
        draw(part, cell)
    assert part.notice.text().startswith("This image is unlike the training images")
    assert not decided.title.isVisible()
    assert decided.lines() == []
    assert "quantity\tclass" not in part.numbers()
    settle()
    assert canvas.geometry() == before
    window.workspace.draw(None)
    assert decided.title.isVisible()
    canvas.blank()
    assert part.notice.text().startswith("This image is unlike the training images")


def test_that_training_images_are_not_unlike_and_new_data_are_compared_again(window, part, monkeypatch):
    wait(lambda: not window.queue.busy)
    monkeypatch.setattr(Likeness, "is_unlike", lambda *_: True)
    part.refresh()
    assert "unlike" not in part.notice.text()
    window.workspace.show_test(0)
    assert part.notice.text().startswith("This image is unlike the training images")
    compared = []
    monkeypatch.setattr(flow, "Likeness", lambda *given: compared.append(given[0]) or Likeness(*given))
    window.workspace.open(StubSource(labelled(1)))
    wait(lambda: compared and not window.queue.busy)
    assert [images is window.workspace.dataset.train for images in compared] == [True]


def test_that_large_models_decide_in_the_queue_with_the_same_result(window, part, monkeypatch):
    sample, controller = window.workspace.state.selection.sample, shown(part).controller
    at_once = controller.decision
    monkeypatch.setattr(decision, "_AT_ONCE", 0)
    for wanted in (sample + 1, sample):
        before = controller.decision
        window.workspace.select(sample=wanted)
        wait(lambda before=before: controller.decision is not before)
    assert controller.decision.first == at_once.first
    assert controller.decision.margin == pytest.approx(at_once.margin, abs=1e-4)


def test_that_a_click_or_a_key_on_a_support_vector_shows_that_image(window, part):
    first, second = shown(part).cards[:2]
    row = second.row
    assert f"training image {row + 1}" in second.image.toolTip()
    QTest.mouseClick(second.image, Qt.MouseButton.LeftButton)
    assert window.workspace.state.selection.sample == row
    np.testing.assert_array_equal(part.flow.clean, window.workspace.dataset.train[row])
    first.image.setFocus()
    QTest.keyClick(first.image, Qt.Key.Key_Right)
    assert second.image.hasFocus()
    row = second.row
    QTest.keyClick(second.image, Qt.Key.Key_Space)
    assert window.workspace.state.selection.sample == row


def test_that_support_vectors_that_do_not_fit_are_hidden_and_a_low_view_shows_one_line(window, part):
    decided = shown(part)
    assert all(card.isVisible() for card in decided.cards)
    tall = decided.sizeHint().height()
    window.resize(900, 720)
    settle()
    assert [card.isVisible() for card in decided.cards].count(True) in range(1, len(decided.cards))
    assert all(card.geometry().right() <= decided.width() for card in decided.cards if card.isVisible())
    decided.set_brief(True)
    wait(lambda: "pixels to the minimum or maximum" in decided.brief.text())  # this search makes the text longer
    settle()
    assert decided.height() < tall / 3
    assert decided.brief.text().startswith(decided.title.text())


def test_that_flow_says_what_is_missing_and_trains_on_request_without_moving_the_images(window):
    flow = window.weights_page.set_view("flow")
    part = shown(flow)
    settle()
    before = flow.view.geometry()
    assert not part.title.isVisible()
    train = button(part, "Train")
    train.click()
    assert not train.isEnabled()
    wait(lambda: window.session.runs.result is not None and part.controller.decision is not None)
    assert part.title.isVisible()
    settle()
    assert flow.view.geometry() == before


def stop(window):
    wait(lambda: window.queue.busy)
    window.queue.stop()


def test_that_the_search_resumes_on_return_and_a_stopped_step_says_so_until_the_next_image(window, part, monkeypatch):
    decided, wanted = shown(part), window.workspace.state.selection.sample
    for view in ("weights", "flow"):
        window.weights_page.set_view(view)
    wait(lambda: decided.controller.flip is not None)
    for owner, name, label in ((Decider, "flip", decided.flip_text), (decision, "restore", decided.brief)):
        with monkeypatch.context() as patched:
            patched.setattr(owner, name, working(threading.Event()))
            if name == "restore":
                window.session.runs.show(replace(window.session.runs.result))
            window.workspace.select(sample=(wanted := wanted + 1))
            stop(window)
            assert label.text() == "The computation was stopped. Show another image to restart it."
        window.workspace.select(sample=(wanted := wanted + 1))
        wait(lambda: decided.controller.flip is not None)
    monkeypatch.setattr(decision, "_AT_ONCE", 0)
    monkeypatch.setattr(Decider, "decide", lambda *_: time.sleep(0.1))
    window.workspace.select(sample=wanted + 1)
    stop(window)
    assert decided.controller.decision is None, "it belongs to another image"


def test_that_flow_left_during_the_preparation_predicts_when_it_is_shown_again(window, part):
    controller = shown(part).controller
    window.workspace.select(sample=3)
    controller._decider = controller.decision = None
    controller._prepare()
    window.weights_page.set_view("weights")
    wait(lambda: not window.queue.busy)
    window.weights_page.set_view("flow")
    wait(lambda: controller.decision is not None)


def test_that_nothing_is_predicted_while_another_view_is_shown_or_for_other_data(window, part):
    decided = shown(part)
    wait(lambda: decided.controller.flip is not None and not window.queue.busy)
    window.weights_page.set_view("weights")
    before = decided.controller.decision
    window.workspace.select(sample=3)
    settle()
    assert decided.controller.decision is before
    window.weights_page.set_view("flow")
    assert decided.controller.decision is not before
    for other in (labelled(seed=4), dataset()):  # one with the same features, one with others and without labels
        open_data(window, other)
        assert not decided.controller.decides_here
        assert decided.controller.decision is None
        assert not decided.title.isVisible()
    assert any("have no labels" in each.text() for each in decided.findChildren(QLabel) if each.isVisible())
    assert not button(decided, "Train").isVisible()
