"""The tour is short and restores the window; tests/end_to_end/test_tour.py visits each card."""

import numpy as np
import pytest
from PySide6.QtCore import QSettings

from slide_gui.gui.app import tear_down
from slide_gui.gui.help.tour_card import card_texts
from slide_gui.gui.shell.main_window import MainWindow
from slide_gui.gui.shell.tour import STOPS
from tests.gui.helpers import at_rest, dataset, labelled, open_data, train, wait

OPENED = labelled


def test_that_each_card_has_a_text_of_at_most_fifty_words_that_promises_a_result():
    texts = card_texts()
    assert len(texts) == len(STOPS) == 12
    assert all(len(f"{text.title} {text.action} {text.result}".split()) <= 50 for text in texts)
    assert all(text.result.startswith("*You should see*") for text in texts[:-1])


def test_that_leaving_restores_data_state_page_result_and_panel_and_sessions_never_hold_the_tour(small_example, window):
    train(window)
    window.workspace.show_test(3)
    window.workspace.draw(np.ones((6, 6), np.float32), "drawing")
    window.workspace.select(pins=(5,))
    window.panel.more.setChecked(True)
    window.show_panel(False)
    window.actions_by_name["page_runs"].trigger()
    before = window.workspace.state, window.workspace.dataset, window.keeper.record()
    runs, result, seen = window.session.runs, window.session.runs.result, []
    runs.result_changed.connect(lambda: seen.append(runs.result))
    window.actions_by_name["tour"].trigger()
    window.tour.next()
    wait(lambda: window.workspace.dataset.n_features == 784, 30)
    at_rest(window)
    assert window.tour.outline.isVisible()
    assert window.shows_panel
    assert window.keeper.snapshot == before[2]
    window.tour.leave()
    assert (window.workspace.state, window.workspace.dataset, window.keeper.record()) == before
    assert window.session.runs.result is result
    assert seen[-1] is result
    assert window.panel.more.isChecked()
    assert not window.shows_panel
    assert window.keeper.snapshot is None
    at_rest(window)


def test_that_the_tour_of_open_rectangles_leaves_earlier_steps_of_undo(small_example, closed_window):
    window = closed_window
    window.start([])
    at_rest(window)
    window.workspace.set_parameters(noise=0.6, depth=1)
    index, state = window.workspace.history.index(), window.workspace.state
    window.tour.start()
    for _ in range(len(STOPS) - 1):
        window.tour.next()
    assert window.workspace.history.index() > index
    window.tour.card.next.click()
    assert not window.tour.is_running
    assert (window.workspace.history.index(), window.workspace.state) == (index, state)
    at_rest(window)


def test_that_data_opened_meanwhile_end_the_tour_and_stay(small_example, window):
    window.tour.start()
    wait(lambda: window.workspace.dataset.n_features == 784, 30)
    own = dataset()
    open_data(window, own)
    assert not window.tour.is_running
    assert not window.tour.card.isVisible()
    assert window.workspace.dataset is own


def test_that_a_requested_job_must_end_first(window):
    window.session.runs.training.start(lambda progress: wait_for_cancel(progress), None)
    assert "requested job" in window.actions_by_name["tour"].follow()
    window.session.stop()
    wait(lambda: not window.queue.busy)
    assert not window.actions_by_name["tour"].follow()


def wait_for_cancel(progress):
    while True:
        progress.report(0.0)


@pytest.mark.parametrize("takes", [True, False])
def test_that_the_tour_is_offered_once_and_declined_or_started(small_example, app, tmp_path, takes):
    for first in (True, False):
        settings = QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat)
        window = MainWindow(settings, tmp_path / "runs.sqlite", tmp_path / "session")
        window.start([])
        window.show()
        at_rest(window)
        assert ("tour" in vars(window)) is first
        if first:
            (window.tour.card.next if takes else window.tour.card.leave).click()
            assert window.tour.is_running is takes
            assert window.tour.card.isVisible() is takes
        tear_down(window)
