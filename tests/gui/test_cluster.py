"""The user chooses in the window where runs are computed: sweeps use the connection, which can be left again."""

import socket
import time
from dataclasses import replace

import pytest
from PySide6.QtWidgets import QLabel

from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.experiments.runs.spec import SweepSpec
from slide_gui.experiments.sweeps.cluster import ClusterChoice
from slide_gui.gui.dialogs.workers import ClusterDialog
from slide_gui.gui.state.cluster import ClusterController
from tests.gui.helpers import labelled, wait

OPENED = labelled


@pytest.fixture
def dialog(window):
    window.actions_by_name["cluster"].trigger()
    return window.findChild(ClusterDialog)


def test_that_workers_of_this_computer_are_shown_and_compute_the_sweep(window, dialog):
    session = window.session
    assert dialog.workers.lineEdit().textMargins().left() == 7, "the texts of all fields are aligned"
    dialog.local.setChecked(True)
    dialog.workers.setValue(1)
    dialog.connect_button.click()
    wait(lambda: session.cluster.state.n_workers > 0)
    assert dialog.status.text() == "Connected: 1 worker, all with the same software versions as this window."
    dialog.reject()
    wait(lambda: session.runs.usual_sweep() is not None)
    usual = session.runs.usual_sweep()
    base = replace(usual.base, svm=SvmParameters(widths="median", C=10.0), training="whole", labels=60, test_rows=100)
    session.runs.start_sweep(SweepSpec(base, (0.3,), (0, 1), warm=False))
    wait(lambda: not session.runs.sweep.running)
    assert len(session.runs.sweep.latest.done) == 2
    click_here(window, dialog)


def click_here(window, dialog):
    window.actions_by_name["cluster"].trigger()
    dialog.here.setChecked(True)
    dialog.connect_button.click()
    wait(lambda: not window.session.cluster.queue.busy)
    assert dialog.status.text() == "Runs are computed in this window."
    dialog.reject()


def test_that_a_scheduler_that_does_not_answer_is_named_and_can_be_left(window, dialog):
    dialog.far.setChecked(True)
    dialog.connect_button.click()
    assert dialog.status.text().startswith("The address of the scheduler is missing; expected tcp://")
    dialog.scheduler.setText("tcp://127.0.0.1:1")
    dialog.connect_button.click()
    wait(lambda: not window.session.cluster.state.connecting)
    assert dialog.status.text().startswith("Cannot connect to tcp://127.0.0.1:1 ")
    words = [each.text() for each in window.statusBar().findChildren(QLabel)]
    assert "runs are computed at tcp://127.0.0.1:1" in words
    click_here(window, dialog)
    words = [each.text() for each in window.statusBar().findChildren(QLabel)]
    assert "no data leave this computer" in words


def test_that_a_requested_connection_survives_reopening_the_dialog_and_can_be_cancelled(window, dialog, monkeypatch):
    def nobody_answers(_place, seconds):
        time.sleep(0.01)
        raise TimeoutError

    monkeypatch.setattr(socket, "create_connection", nobody_answers)
    cluster = window.session.cluster
    dialog.far.setChecked(True)
    dialog.scheduler.setText("tcp://127.0.0.1:8786")
    dialog.connect_button.click()
    dialog.reject()
    window.actions_by_name["cluster"].trigger()
    assert cluster.state.connecting
    assert cluster.queue.busy
    dialog.reject()
    window.actions_by_name["cancel"].trigger()
    assert not cluster.state.connecting
    assert dialog.status.text() == "The connection was cancelled before a worker answered."


@pytest.mark.usefixtures("app")
def test_that_the_choice_is_stored_and_an_invalid_one_is_ignored(stored_settings, tmp_path):
    for stored, expected in (((3, ""), ClusterChoice(3)), (("x", ""), ClusterChoice()), ((0, "none"), ClusterChoice())):
        for key, value in zip(("cluster/workers", "cluster/scheduler"), stored, strict=True):
            stored_settings.setValue(key, value)
        controller = ClusterController(tmp_path / "runs.sqlite", stored_settings)
        assert controller.state.choice == expected
        controller.close()
