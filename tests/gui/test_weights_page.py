import pytest
from PySide6.QtWidgets import QWidget

from slide_gui.gui.app import tear_down
from slide_gui.gui.pages.weights import page as weights
from slide_gui.gui.pages.weights.all_rows import Mosaic
from slide_gui.gui.pages.weights.page import PINNED, WeightsPage
from slide_gui.gui.pages.weights.view import View, ViewSpec
from slide_gui.gui.state.session import Session
from tests.gui.helpers import StubSource, button, dataset, wait


class Counting(View):
    """Counts how often it was asked to show what there is."""

    def __init__(self, context, parent):
        super().__init__(context, parent)
        self.context, self.refreshed = context, 0

    def refresh(self):
        self.refreshed += 1


@pytest.fixture
def page(app, monkeypatch, tmp_path):
    view = ViewSpec("counting", "Counting", "A view more", "One view more", Counting)
    monkeypatch.setattr(weights, "VIEWS", (*weights.VIEWS, view))
    window = QWidget()
    session = Session(tmp_path / "runs.sqlite", window)
    queue, workspace = session.queue, session.workspace
    page = WeightsPage(workspace, lambda: session.runs, window)
    window.show()
    workspace.open(StubSource(dataset()))
    wait(lambda: workspace.model() is not None and not queue.busy)
    yield page
    session.close()
    tear_down(window)


def test_that_a_view_is_made_when_its_tab_is_chosen_and_refreshed_only_while_shown(page):
    assert page.findChild(Counting) is None
    assert page.findChild(Mosaic) is None
    button(page, "Counting").click()
    view = page.findChild(Counting)
    assert view.isVisible()
    workspace = view.context.workspace
    seen = view.refreshed
    workspace.select(levels="tile")
    assert view.refreshed == seen + 1
    page.set_view(PINNED)
    seen = view.refreshed
    workspace.select(levels="layer")
    assert view.refreshed == seen
