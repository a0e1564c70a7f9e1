"""What is taken back and made again: in the order it was done, whatever it was, and at once where it is kept."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton

from slide_gui.experiments.store import RunStore
from slide_gui.gui.app import tear_down
from slide_gui.gui.state.history import MOST_STEPS, History, Step
from slide_gui.gui.state.jobs import Lane
from slide_gui.gui.state.workspace import Workspace
from tests.experiments.test_store import RESULT
from tests.gui.given import Given, dataset, settle, wait

THINGS = ("noise", "data", "stroke", "pins")


class Things:
    """Some values, changed by way of a history."""

    def __init__(self):
        self.history, self.values = History(), dict.fromkeys(THINGS, 0)
        self.apply = {name: partial(self.put, name) for name in THINGS}

    def put(self, name, value):
        self.values[name] = value
        self.history.push(Step("what follows", self.put, 0, 0))  # as a page that hears of it might
        self.history.join(Step("what follows", self.put, 0, 0))

    def change(self, name, value, gesture="", brings=""):
        self.history.push(Step(name, self.apply[name], self.values[name], value, gesture))
        self.values[name] = value
        if brings:
            self.history.join(Step(brings, self.apply[brings], self.values[brings], 0))
            self.values[brings] = 0


CHANGES = st.tuples(
    st.sampled_from(THINGS), st.integers(1, 9), st.sampled_from(("", "drag", "type")), st.sampled_from(("", *THINGS))
)


@given(st.lists(CHANGES, max_size=12), st.lists(st.booleans(), max_size=12))
@settings(max_examples=60)
def test_that_any_changes_taken_back_wholly_give_what_was_first_and_made_again_what_was_last(changes, moves):
    things = Things()
    for name, value, gesture, brings in changes:
        things.change(name, value, gesture and f"{gesture} {name}", brings if brings != name else "")
    last = dict(things.values)
    for back in moves:
        (things.history.undo if back else things.history.redo)()
    while things.history.next is not None:
        things.history.redo()
    assert things.values == last
    while things.history.last is not None:
        things.history.undo()
    assert things.values == dict.fromkeys(THINGS, 0)


def test_that_changes_come_back_one_by_one_in_their_order_and_a_new_one_forgets_what_was_taken_back():
    things = Things()
    for number, name in enumerate(THINGS, start=1):
        things.change(name, number)
    seen = []
    while things.history.last is not None:
        seen.append(things.history.last.text)
        things.history.undo()
    assert seen == list(reversed(THINGS))
    things.history.redo()
    assert (things.values["noise"], things.history.next.text) == (1, "data")
    things.change("pins", 7)
    assert things.history.next is None


def test_that_a_gesture_is_one_step_and_no_more_than_the_most_steps_are_kept():
    things = Things()
    for value in (1, 2, 3):
        things.change("noise", value, "drag")
    things.history.end_gesture()
    things.change("noise", 4, "drag")
    things.history.undo()
    assert things.values["noise"] == 3
    things.history.undo()
    assert (things.values["noise"], things.history.last) == (0, None)
    for value in range(MOST_STEPS + 5):
        things.change("pins", value)
    steps = 0
    while things.history.last is not None:
        things.history.undo()
        steps += 1
    assert (steps, things.values["pins"]) == (MOST_STEPS, 4)


# Over a workspace --------------------------------------------------------------------------------------------


@pytest.fixture
def workspace(app):
    lane = Lane()
    workspace = Workspace(lane, lane)
    workspace.open(Given(dataset()))
    quiet(workspace)
    yield workspace
    tear_down(lane)


def quiet(workspace):
    wait(lambda: workspace.model() is not None and not workspace.lane.busy)


def opened(workspace, source, name):
    workspace.open(source)
    wait(lambda: workspace.dataset.name == name)
    quiet(workspace)


def test_that_noise_and_pins_are_undone_in_their_order_and_redone(workspace):
    seen = [workspace.state]
    workspace.set_parameters(noise=0.6)
    seen.append(workspace.state)
    workspace.toggle_pin(3)
    seen.append(workspace.state)
    workspace.set_parameters(depth=2)
    texts = []
    for before in reversed(seen):
        texts.append(workspace.history.last.text)
        workspace.history.undo()
        assert workspace.state == before
    assert texts == ["change of depth", "change of pins", "change of noise"]
    assert workspace.history.last is None
    for after in seen[1:]:
        workspace.history.redo()
        assert workspace.state == after
    quiet(workspace)


def test_that_layers_fitted_before_are_there_at_once(workspace):
    first = workspace.stack
    workspace.set_parameters(noise=0.6)
    quiet(workspace)
    workspace.history.undo()
    assert workspace.stack is first
    assert workspace.model() is not None
    assert workspace.fit_seconds > 0
    assert not workspace.lane.busy


def test_that_other_data_leave_nothing_to_undo(workspace):
    workspace.set_parameters(noise=0.6)
    workspace.toggle_pin(3)
    workspace.history.undo()
    opened(workspace, Given(dataset(seed=1, name="other")), "other")
    assert (workspace.history.last, workspace.history.next) == (None, None)


# Over a window -----------------------------------------------------------------------------------------------


def draw(part, cell):
    grid = part.view.canvas.grid()
    QTest.mouseClick(part.view.canvas, Qt.MouseButton.LeftButton, pos=grid.rect(cell).center().toPoint())


def everything(window):
    """Return what a person sees changed by what the tests below do."""
    part, workspace = window.weights_page.shown_view(), window.workspace
    return workspace.dataset.name, workspace.state, part.view.canvas.image.tolist(), window.weights_page.shown.caption


def test_that_strokes_noise_images_and_pins_are_undone_in_one_row_and_redone(window):
    page, history = window.weights_page, window.workspace.history
    part = page.flow_part()
    settle()
    empty = np.flatnonzero(part.flow().clean == 0).tolist()
    steps = (
        lambda: draw(part, empty[0]),
        lambda: window.workspace.set_parameters(noise=0.6),
        lambda: draw(part, empty[1]),
        lambda: window.actions_by_name["next_sample"].trigger(),
        lambda: draw(part, int(np.flatnonzero(part.flow().clean == 0)[0])),
        lambda: page.shown.show_test(3),
        lambda: draw(part, int(np.flatnonzero(part.flow().clean == 0)[0])),
        lambda: window.actions_by_name["mean_image"].trigger(),
        lambda: window.workspace.toggle_pin(3),
        lambda: draw(part, int(np.flatnonzero(part.flow().clean == 0)[0])),
        lambda: window.actions_by_name["reset_drawing"].trigger(),
    )
    before = history.last
    seen = [everything(window)]
    for step in steps:
        step()
        quiet(window.workspace)
        seen.append(everything(window))
        assert seen[-1] != seen[-2]
    for was in reversed(seen[:-1]):
        window.actions_by_name["undo"].trigger()
        assert everything(window) == was
    assert history.last is before
    for now in seen[1:]:
        window.actions_by_name["redo"].trigger()
        assert everything(window) == now
    quiet(window.workspace)


def test_that_arrow_menu_and_keys_say_and_do_the_same_also_with_the_keyboard_in_the_image(window):
    part = window.weights_page.flow_part()
    settle()
    undo = window.actions_by_name["undo"]
    arrow = next(each for each in window.findChildren(QPushButton) if each.accessibleName() == "Undo")
    cell = int(np.flatnonzero(part.flow().clean == 0)[0])
    draw(part, cell)
    window.workspace.toggle_pin(3)
    assert undo.text() == "Undo change of pins"
    assert arrow.toolTip() == "Undo change of pins (Ctrl+Z)"
    arrow.click()
    assert undo.text() == "Undo stroke"
    window.activateWindow()
    part.view.canvas.setFocus()
    QTest.keyClick(part.view.canvas, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert not part.view.canvas.is_drawn_on
    assert window.actions_by_name["redo"].text() == "Redo stroke"


def test_that_deletions_and_tags_of_runs_are_taken_back_with_the_rest(window):
    with RunStore(window.session.library.path) as store:
        store.save(RESULT)
    library, history, key = window.session.library, window.workspace.history, RESULT.spec.hash
    library.refresh()

    def listed():
        return [(run.hash, run.tags) for run in library.runs]

    wait(lambda: listed() == [(key, ())])
    library.tag(key, "first, good")
    wait(lambda: listed() == [(key, ("first", "good"))])
    library.delete([key])
    wait(lambda: listed() == [])
    assert history.last.text == "delete 1 run"
    window.workspace.toggle_pin(3)
    library.undelete()  # by its button, though something else was done since
    wait(lambda: listed() == [(key, ("first", "good"))])
    assert history.last.text == "bring 1 run back"
    for expected in ([], [], [(key, ("first", "good"))], [(key, ())]):
        history.undo()
        wait(lambda expected=expected: listed() == expected and not library.reading)
    for _ in range(2):
        history.redo()
    wait(lambda: listed() == [] and not library.reading)
    library.undelete()  # nothing else was done since: it is what undo does
    assert history.next.text == "delete 1 run"
    wait(lambda: listed() == [(key, ("first", "good"))] and not window.lane.busy)


def test_that_tags_and_deletions_of_another_window_survive_those_of_this_one(window):
    library, history, key = window.session.library, window.workspace.history, RESULT.spec.hash
    with RunStore(library.path) as other:
        other.save(RESULT)
        library.refresh()
        wait(lambda: [run.hash for run in library.runs] == [key])
        other.tag(key, ["theirs"])  # this window does not know of it
        library.tag(key, "mine")
        wait(lambda: not library.reading)
        assert other.stored(key).tags == ("theirs", "mine")
        other.tag(key, ["theirs", "mine", "later"])
        history.undo()
        wait(lambda: not library.reading)
        assert other.stored(key).tags == ("theirs", "later")
        history.redo()
        wait(lambda: not library.reading)
        assert other.stored(key).tags == ("theirs", "later", "mine")
        other.delete([key])
        library.delete([key])  # which this window still shows
        wait(lambda: not library.reading)
        history.undo()
        wait(lambda: not library.reading)
        assert other.stored(key).deleted, "the other window deleted it"
        other.delete([key], undo=True)
        library.delete([key])
        history.undo()
        wait(lambda: not library.reading)
        assert not other.stored(key).deleted
