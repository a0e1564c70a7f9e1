"""What is taken back and made again: in the order it was done, whatever it was, and at once where it is kept."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slide_gui.data.errors import DataError
from slide_gui.gui.app import tear_down
from slide_gui.gui.state import workspace as module
from slide_gui.gui.state.history import MOST_STEPS, History, Step
from slide_gui.gui.state.jobs import Lane
from slide_gui.gui.state.workspace import Workspace
from tests.gui.given import Given, dataset, settle, wait

THINGS = ("noise", "data", "stroke", "pins")


class Things:
    """Some values, changed by way of a history."""

    def __init__(self):
        self.history, self.values = History(), dict.fromkeys(THINGS, 0)

    def apply(self, values):
        self.values.update(values)
        self.history.push(Step("what follows", self.apply, {}, {}))  # as a page that hears of it might

    def change(self, name, value, gesture="", brings=""):
        before, after = {name: self.values[name]}, {name: value}
        self.history.push(Step(name, self.apply, before, after, gesture))
        self.values[name] = value
        if brings:
            self.history.join(Step(brings, self.apply, {brings: self.values[brings]}, {brings: 0}))
            self.values[brings] = 0


CHANGES = st.tuples(
    st.sampled_from(THINGS), st.integers(1, 9), st.sampled_from(("", "drag", "type")), st.sampled_from(("", *THINGS))
)


@given(st.lists(CHANGES, max_size=12), st.lists(st.booleans(), max_size=12))
@settings(max_examples=60, deadline=None)
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
    history.arrive(well=False)
    assert (history.last.text, history.next, heard) == ("slow", None, ["not slow"])
    history.undo()
    history.arrive(well=True)
    assert (history.last.text, history.next.text) == ("first", "slow")
    assert heard == ["not slow", "not slow", "not joined"]
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
