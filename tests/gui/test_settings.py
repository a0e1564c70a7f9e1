"""Pages show few controls, further parameters are under More, and the dialog changes the settings."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QComboBox, QWidget

from slide_gui.data.dataset import HeldOut
from slide_gui.experiments.files.source import DataSource
from slide_gui.experiments.sweeps.cluster import ClusterChoice
from slide_gui.gui.state.runs import TRY_SECONDS
from slide_gui.gui.theme import DARK, LIGHT, stored_scale, stored_theme, theme_of
from tests.gui.helpers import button, dialogs, every_view, labelled, settle, wait

OPENED = labelled


def test_that_no_page_shows_more_than_twenty_controls_at_first_sight(window):
    for view in every_view(window):
        shown = [each for each in window.findChildren(QWidget) if each.isVisible()]
        assert sum(bool(each.focusPolicy() & Qt.FocusPolicy.TabFocus) for each in shown) <= 20, view


def test_that_data_noise_and_depth_are_shown_and_the_rest_is_behind_more_which_is_stored(window):
    panel = window.panel

    def boxes():
        return {box.accessibleName() for box in panel.findChildren(QComboBox) if box.isVisible()}

    assert boxes() == {"Data set"}
    assert {name for name, slider in panel.sliders.items() if slider.isVisible()} == {"noise", "depth"}
    QTest.mouseClick(panel.more, Qt.MouseButton.LeftButton)
    assert boxes() >= {"Data set", "Squashing", "Fit on", "Show"}
    assert {name for name, slider in panel.sliders.items() if not slider.isVisible()} == {"window"}  # of a kernel
    assert window.settings.value("panel_more", False, bool)
    QTest.keyClick(window, Qt.Key.Key_B, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    assert boxes() == {"Data set"}
    assert not window.settings.value("panel_more", True, bool)


def test_that_more_counts_the_hidden_parameters_that_were_changed(window):
    more = window.panel.more
    assert more.text() == "▸ More"
    window.workspace.set_parameters(ridge=1e-3, squashing="identity")
    assert more.text() == "▸ More · 2 changed"
    assert more.accessibleDescription() == "Changed: Ridge, Squashing"
    more.click()
    assert more.text() == "▾ More"
    window.workspace.set_parameters(noise=0.7, depth=2, ridge=1e-5, squashing="threshold")
    more.click()
    assert more.text() == "▸ More"


@pytest.fixture
def settings(window):
    """Open the dialog of settings by its shortcut and return it."""
    QTest.keyClick(window, Qt.Key.Key_Comma, Qt.KeyboardModifier.ControlModifier)
    (shown,) = dialogs(window)
    return shown


def test_that_settings_change_theme_size_and_session_at_once_or_at_the_next_start(window, settings):
    for name, theme in (("dark", DARK), ("light", LIGHT)):
        settings.theme.setCurrentText(name)
        settings.theme.textActivated.emit(name)
        assert (theme_of(window), stored_theme(window.settings)) == (theme, name)
    settings.scale.setCurrentText("150 %")
    settings.scale.activated.emit(settings.scale.currentIndex())
    assert stored_scale(window.settings) == 1.5
    window.settings.setValue("scale", "huge")
    assert stored_scale(window.settings) == 1.0
    resumed = []
    window.keeper.start = lambda resume: resumed.append(resume)
    window.start([])
    settings.reopen.click()
    window.start([])
    wait(lambda: not window.queue.busy)
    assert resumed == [True, False]


def test_that_the_time_in_the_settings_is_that_of_a_trial(window, settings, monkeypatch):
    budgets = []
    monkeypatch.setattr(window.session.runs, "start_trial", budgets.append)
    settings.budget.setValue(90)
    window.actions_by_name["try"].trigger()
    window.settings.setValue(TRY_SECONDS, "soon")
    window.actions_by_name["try"].trigger()
    assert budgets == [90.0, 60.0]


def test_that_settings_forget_recent_files_and_how_files_are_read(window, settings, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("1,2\n")
    window.recent.add([path])
    window.workspace.choices.remember(DataSource(paths=(str(path),), held_out=HeldOut(0.5)))
    settings.show_settings()
    assert settings.recent.text() == "1 file"
    settings.forget.click()
    assert (window.recent.openings, settings.recent.text()) == ((), "none")
    assert window.workspace.choices.recall(DataSource(paths=(str(path),))) is None


def test_that_a_reset_asks_first_and_returns_every_setting_to_its_default(window, settings, tmp_path):
    window.recent.add([tmp_path / "a.csv"])
    window.set_theme("dark")
    window.set_scale(2.0)
    window.show_panel(False)
    window.panel.more.click()
    window.session.cluster.choose(ClusterChoice(workers=0, scheduler="tcp://127.0.0.1:9"))
    window.session.cluster.stop()
    assert settings.place.text() == "tcp://127.0.0.1:9"
    settings.reset.click()
    question = settings.question
    cancel, reset = (button(question, text) for text in ("Cancel", "Reset"))
    cancel.click()
    assert stored_theme(window.settings) == "dark"
    settings.reset.click()
    reset.click()
    settle()
    assert stored_theme(window.settings) == "system"
    assert stored_scale(window.settings) == 1.0
    assert window.shows_panel
    assert not window.panel.more.isChecked()
    assert window.recent.openings == ()
    assert window.session.cluster.state.choice.is_here
    assert (settings.theme.currentText(), settings.place.text()) == ("system", "in this window")
    assert "Display size 100 % after a restart" in window.notice.accessibleName()


def test_that_a_button_of_the_settings_asks_where_runs_are_computed(window, settings):
    settings.change_place.click()
    assert len(dialogs(window)) == 2
