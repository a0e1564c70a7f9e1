"""A job that would need more memory than is free is refused in a notice, and the window stays usable."""

from slide_gui import memory
from tests.gui.helpers import wait


def test_that_a_fit_that_needs_more_than_the_free_memory_is_refused_with_its_numbers(window, monkeypatch):
    before = window.workspace.model()
    monkeypatch.setattr(memory, "_SMALL", 0)
    monkeypatch.setattr(memory, "free_memory", lambda: 1000)
    window.workspace.set_parameters(noise=0.77)
    wait(lambda: window.notice.isVisible() and not window.queue.busy)
    said = window.notice.accessibleName()
    assert "layers to 64 features needs about" in said
    assert "GB are free; use fewer features." in said
    monkeypatch.undo()
    window.workspace.set_parameters(noise=0.5)
    wait(lambda: window.workspace.model() not in (None, before) and not window.queue.busy)
