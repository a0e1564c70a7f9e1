"""Undo and redo of parameters, pins, images, strokes, deleted runs and tags, in the order of the changes."""

import weakref

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from slide_gui.experiments.store.store import RunStore
from slide_gui.gui.state.undo import UndoHistory
from tests.experiments.test_store import RESULT
from tests.gui.helpers import all_fitted, dataset, draw, open_data, settle, show_page, wait


def test_that_dropped_changes_release_their_images(app):
    history, images = UndoHistory(), [np.zeros(3) for _ in range(3)]
    history.setUndoLimit(2)
    held = [weakref.ref(image) for image in images]
    for image in images:
        history.record("stroke", print, image, image)
    images.clear()
    del image
    assert [each() is None for each in held] == [True, False, False]
    history.clear()
    assert [each() is None for each in held] == [True, True, True]


def test_that_layers_fitted_before_are_restored_at_once_without_the_preview_of_others(workspace, every_payload):
    first = workspace.fitting.stack
    workspace.fitting.watched = (5,)
    for is_awaited in (lambda: workspace.fitting.preview is not None, lambda: not workspace.queue.busy):
        workspace.set_parameters(noise=0.6)
        wait(lambda is_awaited=is_awaited: is_awaited() or workspace.model() is not None)
        workspace.history.undo()
        assert workspace.fitting.stack is first
        assert workspace.model() is not None
        assert workspace.fitting.preview is None
        assert workspace.fitting.seconds > 0
        assert not workspace.queue.busy


def test_that_a_gesture_is_one_step_and_the_last_200_steps_are_stored(workspace):
    for noise in (0.5, 0.6, 0.7):
        workspace.set_parameters(gesture="noise", noise=noise)
    workspace.history.end_gesture()
    workspace.set_parameters(gesture="noise", noise=0.8)
    workspace.history.undo()
    assert workspace.state.parameters.noise == 0.7
    workspace.history.undo()
    assert workspace.history.undoText() == ""
    workspace.history.redo()
    assert workspace.state.parameters.noise == 0.7
    for noise in (0.8, 0.9, 0.7):  # the last value is that before the gesture
        workspace.set_parameters(gesture="noise", noise=noise)
    workspace.history.undo()
    assert workspace.history.undoText() == ""
    workspace.set_parameters(gesture="noise", noise=0.2)
    workspace.set_parameters(ridge=2.0)
    workspace.history.undo()
    workspace.set_parameters(gesture="noise", noise=0.3)
    assert not workspace.history.canRedo()
    for number in range(205):
        workspace.select(pins=(number % 64,))
    steps = 0
    while workspace.history.undoText():
        workspace.history.undo()
        steps += 1
    assert (steps, workspace.state.selection.pins) == (200, (4,))


def everything(window):
    """Return everything that the steps of the test change."""
    part, workspace = window.weights_page.shown_view(), window.workspace
    return workspace.dataset.name, workspace.state, part.view.canvas.image.tolist(), window.weights_page.shown.caption


def test_that_strokes_noise_images_and_pins_are_undone_and_redone_in_order(window):
    page = window.weights_page
    part = page.set_view("flow")
    settle()
    empty = np.flatnonzero(part.flow.clean == 0).tolist()
    steps = (
        lambda: draw(part, empty[0]),
        lambda: window.workspace.set_parameters(noise=0.6),
        lambda: draw(part, empty[1]),
        lambda: window.actions_by_name["next_sample"].trigger(),
        lambda: draw(part, int(np.flatnonzero(part.flow.clean == 0)[0])),
        lambda: page.shown.show_test(3),
        lambda: draw(part, int(np.flatnonzero(part.flow.clean == 0)[0])),
        lambda: window.actions_by_name["mean_image"].trigger(),
        lambda: window.workspace.toggle_pin(3),
        lambda: draw(part, int(np.flatnonzero(part.flow.clean == 0)[0])),
        lambda: window.actions_by_name["reset_drawing"].trigger(),
    )
    seen = [everything(window)]
    for step in steps:
        step()
        all_fitted(window.workspace)
        seen.append(everything(window))
        assert seen[-1] != seen[-2]
    for was in reversed(seen[:-1]):
        window.actions_by_name["undo"].trigger()
        assert everything(window) == was
    assert window.workspace.history.undoText() == ""
    for now in seen[1:]:
        window.actions_by_name["redo"].trigger()
        assert everything(window) == now


def test_that_menu_and_keys_undo_the_same_change_also_from_the_image(window):
    part = window.weights_page.set_view("flow")
    settle()
    undo = window.actions_by_name["undo"]
    draw(part, int(np.flatnonzero(part.flow.clean == 0)[0]))
    assert part._image_row._caption.text() == "17/250, drawn on"
    window.workspace.toggle_pin(3)
    undo.trigger()
    window.activateWindow()
    part.view.canvas.setFocus()
    QTest.keyClick(part.view.canvas, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert "drawn on" not in part._image_row._caption.text()
    window.follow()
    assert window.actions_by_name["redo"].text() == "Redo stroke"


def test_that_deletions_and_tags_of_runs_are_undone_with_other_changes_but_alone_after_opening_other_data(window):
    with RunStore(window.session.library.path) as store:
        store.save(RESULT)
    library, workspace, key = window.session.library, window.workspace, RESULT.spec.hash
    library.refresh()

    def listed():
        return [(run.hash, run.tags) for run in library.runs]

    wait(lambda: listed() == [(key, ())])
    library.tag(key, "first, good")
    wait(lambda: listed() == [(key, ("first", "good"))])
    show_page(window, "runs").run_table.delete_requested.emit((key,))
    wait(lambda: listed() == [])
    assert workspace.history.undoText() == "deletion of 1 run"
    workspace.toggle_pin(3)
    for expected in ([], [(key, ("first", "good"))], [(key, ())]):
        workspace.history.undo()
        wait(lambda expected=expected: listed() == expected and not library.reading)
    for _ in range(3):
        workspace.history.redo()
    wait(lambda: listed() == [] and not library.reading)
    workspace.toggle_pin(4)
    workspace.history.undo()
    open_data(window, dataset(seed=1))
    assert (workspace.history.undoText(), workspace.history.canRedo()) == ("deletion of 1 run", False)
    workspace.history.undo()
    wait(lambda: listed() == [(key, ("first", "good"))])


def test_that_tags_and_deletions_of_another_window_survive_those_of_this_one(window):
    library, workspace, key = window.session.library, window.workspace, RESULT.spec.hash

    def change(step, *given):
        step(*given)
        wait(lambda: not library.reading)

    wait(lambda: library.listed)
    with RunStore(library.path) as other:
        other.save(RESULT)
        show_page(window, "runs")
        wait(lambda: [run.hash for run in library.runs] == [key])
        other.tag(key, ["theirs"])  # this window has not read it
        change(library.tag, key, "mine")
        assert other.stored(key).tags == ("theirs", "mine")
        other.tag(key, ["theirs", "mine", "later"])
        change(workspace.history.undo)
        assert other.stored(key).tags == ("theirs", "later")
        change(workspace.history.redo)
        assert other.stored(key).tags == ("theirs", "later", "mine")
        other.delete([key])
        change(library.delete, [key])  # which this window still shows
        change(workspace.history.undo)
        assert other.stored(key).deleted, "the other window deleted it"
        other.delete([key], undo=True)
        library.delete([key])
        change(workspace.history.undo)
        assert not other.stored(key).deleted
