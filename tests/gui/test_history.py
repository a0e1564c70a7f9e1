"""What is taken back and made again: in the order it was done, whatever it was, and at once where it is kept."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QComboBox, QLineEdit, QPushButton

from slide_gui.core.slide.parameters import StackParameters
from slide_gui.data.errors import DataError
from slide_gui.experiments.session import Selection, SessionRecord, write_session
from slide_gui.experiments.source import DataSource
from slide_gui.experiments.store import RunStore
from slide_gui.gui.app import tear_down
from slide_gui.gui.state import workspace as module
from slide_gui.gui.state.history import MOST_STEPS, History, Step
from slide_gui.gui.state.jobs import Lane
from slide_gui.gui.state.workspace import Workspace
from tests.experiments.test_store import RESULT
from tests.gui.given import Given, dataset, settle, show_page, wait

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


def test_that_while_a_step_is_under_way_no_other_is_taken_and_one_that_fails_has_not_happened():
    history, heard = History(), []
    history.push(Step("first", heard.append, "not first", "first"))
    history.push(Step("slow", lambda value: (heard.append(value), history.wait()), "not slow", "slow"))
    history.join(Step("joined", heard.append, "not joined", "joined"))
    history.undo()
    history.undo()
    assert (history.last, history.next, heard) == (None, None, ["not slow"])
    history.fail()
    assert (history.last.text, history.next, heard) == ("slow", None, ["not slow"])
    history.undo()
    history.arrive(lambda: heard.append("there"))
    assert (history.last.text, history.next.text) == ("first", "slow")
    assert heard == ["not slow", "not slow", "there", "not joined"]
    history.arrive(lambda: heard.append("too late"))
    assert heard[-1] == "not joined"
    history.redo()
    history.push(Step("other", heard.append, "not other", "other"))  # done before the slow one has arrived
    assert (history.last.text, history.next) == ("other", None)
    history.undo()
    assert history.last.text == "first"


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


def shown(workspace):
    return workspace.dataset.name, workspace.state


def test_that_noise_data_and_pins_are_taken_back_in_their_order_and_made_again(workspace):
    seen = [shown(workspace)]
    workspace.set_parameters(noise=0.6)
    seen.append(shown(workspace))
    opened(workspace, Given(dataset(seed=1, name="other")), "other")
    seen.append(shown(workspace))
    workspace.toggle_pin(3)
    seen.append(shown(workspace))
    workspace.set_parameters(depth=2)
    texts = []
    for before in reversed(seen):
        texts.append(workspace.history.last.text)
        workspace.history.undo()
        assert shown(workspace) == before
    assert texts == ["change of depth", "change of pins", "opening other", "change of noise"]
    assert workspace.history.last is None
    for after in seen[1:]:
        workspace.history.redo()
        assert shown(workspace) == after
    quiet(workspace)


def test_that_layers_fitted_before_are_there_at_once_also_those_of_data_that_were_open(workspace):
    first = workspace.stack
    workspace.set_parameters(noise=0.6)
    quiet(workspace)
    second = workspace.stack
    opened(workspace, Given(dataset(seed=1, name="other")), "other")
    workspace.history.undo()
    assert workspace.stack is second
    assert workspace.model() is not None
    workspace.history.undo()
    assert workspace.stack is first
    assert workspace.model() is not None
    assert workspace.fit_seconds > 0
    assert not workspace.lane.busy


def test_that_data_that_are_no_longer_kept_are_loaded_again_and_nothing_else_is_taken_back_meanwhile(
    workspace, monkeypatch
):
    monkeypatch.setattr(module, "_MOST_BYTES", 0)
    workspace.set_parameters(noise=0.6)
    opened(workspace, Given(dataset(seed=1, name="other")), "other")
    workspace.history.undo()
    workspace.history.undo()
    assert (workspace.dataset.name, workspace.history.last, workspace.history.next) == ("other", None, None)
    wait(lambda: workspace.dataset.name == "given")
    assert workspace.state.parameters.noise == 0.6
    assert workspace.history.last.text == "change of noise"
    quiet(workspace)


@pytest.mark.parametrize("end", ["fails", "cancelled", "other change"])
def test_that_data_that_do_not_come_back_leave_everything_as_it_was(workspace, monkeypatch, end):
    monkeypatch.setattr(module, "_MOST_BYTES", 0)
    source = workspace.source
    opened(workspace, Given(dataset(seed=1, name="other")), "other")
    before = shown(workspace)
    if end == "fails":
        object.__setattr__(source, "result", DataError("is gone", "x.csv"))
    workspace.history.undo()
    if end == "cancelled":
        workspace.cancel()
    if end == "other change":
        workspace.toggle_pin(5)
        workspace.history.undo()
    wait(lambda: not workspace.lane.busy)
    settle()
    assert shown(workspace) == before
    assert workspace.history.last.text == "opening other"


def test_that_of_data_open_before_the_last_two_are_kept_within_a_bound(workspace, monkeypatch):
    for seed in (1, 2, 3):
        opened(workspace, Given(dataset(seed=seed, name=f"data {seed}")), f"data {seed}")
    assert [each.dataset.name for each in workspace._previous] == ["data 1", "data 2"]
    monkeypatch.setattr(module, "_MOST_BYTES", workspace._previous[0].n_bytes + 1)
    opened(workspace, Given(dataset(seed=4, name="data 4")), "data 4")
    assert [each.dataset.name for each in workspace._previous] == ["data 3"]
    for name in ("data 3", "data 2", "data 1", "given"):
        workspace.history.undo()
        wait(lambda name=name: workspace.dataset.name == name)
        quiet(workspace)
    assert workspace.history.last is None


# Over a window -----------------------------------------------------------------------------------------------


def draw(part, cell):
    grid = part.view.canvas.grid()
    QTest.mouseClick(part.view.canvas, Qt.MouseButton.LeftButton, pos=grid.rect(cell).center().toPoint())


def everything(window):
    """Return what a person sees changed by what the tests below do."""
    part, workspace = window.weights_page.shown_view(), window.workspace
    return workspace.dataset.name, workspace.state, part.view.canvas.image.tolist(), window.weights_page.shown.caption


def test_that_strokes_noise_data_images_and_pins_are_taken_back_in_one_row_and_made_again(window):
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
        lambda: opened(window.workspace, Given(dataset(seed=1, name="other")), "other"),
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


def chosen(window):
    return window.pages.name, {entry for entry in window.pages.choices() if entry[1] != "pixel"}


def test_that_views_and_choices_of_pages_are_taken_back_with_the_rest_where_they_were_made(window):
    history = window.workspace.history
    classifier, runs = show_page(window, "classifier"), show_page(window, "runs")
    show_page(window, "weights")
    seen, texts = [chosen(window)], []
    loss = next(box for box in classifier.findChildren(QComboBox) if box.accessibleName() == "Loss")
    for page, step in (
        ("weights", lambda: window.actions_by_name["view_flow"].trigger()),
        ("weights", lambda: window.weights_page.tabs.button(1).click()),
        ("classifier", lambda: loss.setCurrentIndex(1 - loss.currentIndex())),
        ("runs", lambda: QTest.keyClicks(runs.findChild(QLineEdit), "depth")),
    ):
        show_page(window, page)
        step()
        seen.append(chosen(window))
        texts.append(history.last.text)
        window.workspace.toggle_pin(3)
    assert texts == [
        "change of view on Weights",
        "change of view on Weights",
        "change of loss on Classifier",
        "change of filter on Runs",
    ]
    for was, text in zip(reversed(seen[:-1]), reversed(texts), strict=True):
        assert history.last.text == "change of pins"
        history.undo()
        assert history.last.text == text
        history.undo()
        assert chosen(window)[1] == was[1]
    assert history.last is None
    for now in seen[1:]:
        history.redo()
        assert chosen(window) == now
        history.redo()
    assert history.next is None
    wait(lambda: not window.lane.busy)


def test_that_a_session_is_taken_back_in_one_step_with_page_and_choices(small_example, window, tmp_path):
    source, choices = (
        DataSource(key="rectangles", generated=True),
        {"weights": ("view", "1"), "runs": ("filter", "depth")},
    )
    chosen_there = tuple((page, *choice) for page, choice in choices.items())
    record = SessionRecord(source, "", StackParameters(depth=1), Selection(pins=(1,)), "runs", chosen_there)
    write_session(record, tmp_path / "a.slide-session")
    window.weights_page.set_view("flow")
    before, data = chosen(window), window.workspace.dataset
    assert window.keeper.open(tmp_path / "a.slide-session")
    wait(lambda: window.workspace.dataset is not data)
    assert (window.pages.name, window.workspace.history.last.text) == ("runs", "opening Rectangles")
    assert ("weights", "view", "1") in chosen(window)[1]
    after = chosen(window)
    quiet(window.workspace)
    window.workspace.history.undo()
    assert chosen(window) == (before[0], before[1] | {("runs", "view", "0"), ("runs", "filter", "")})
    assert window.workspace.dataset is data
    window.workspace.history.redo()
    assert chosen(window) == after
    assert window.workspace.state.selection.pins == (1,)
    quiet(window.workspace)
