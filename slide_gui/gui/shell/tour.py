"""The tour: eleven cards. Each card outlines a control and waits for an action of the user."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from PySide6.QtCore import QModelIndex, QObject, Qt, QTimer, Slot
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QAbstractButton, QAbstractItemView, QBoxLayout, QScrollArea, QWidget

from slide_gui.experiments.files.session import Selection
from slide_gui.experiments.files.source import DataSource
from slide_gui.gui.help.tour_card import OFFER, Outline, TourCard, card_texts
from slide_gui.gui.state.workspace import Opened, State, panel_parameters

if TYPE_CHECKING:
    from slide_gui.core.slide.parameters import StackParameters
    from slide_gui.error_rate import ErrorRate
    from slide_gui.experiments.runs.result import RunResult
    from slide_gui.gui.shell.main_window import MainWindow

_DATA = DataSource(key="rectangles", generated=True)
_STATE = State(selection=Selection(sample=16))
_LOOK_MILLISECONDS = 100
# If the panel is hidden and the window is narrower than this number of pixels, the card is shown below the page. The
# page can then use the full width of the window.
_NARROW = 1060
_OFFER, _UNSEEN = -1, object()


@dataclass(frozen=True)
class Stop:
    """A card of the tour.

    Attributes
    ----------
    command : str
        Command that opens the view that the card explains.
    control : str
        Accessible name of the control that the card outlines, or text of this control if it is a button.
    watch : callable
        Returns a value that the user's action changes, such as the index of the shown image, or None. The card is
        completed when the value is not None and differs from the value when the card was first shown.
    parameters : mapping
        Parameters of the stack to set; the remaining parameters are set to their defaults. If None, no parameter is
        changed.
    prepare : callable
        Called with the window when the card is shown, to prepare the view for the user's action.
    """

    command: str
    control: str
    watch: Callable[[MainWindow], object]
    parameters: Mapping[str, Any] | None = field(default_factory=dict)
    prepare: Callable[[MainWindow], object] = lambda _window: None


def _pixel_of_outline(window: MainWindow) -> int | None:
    feature, values = window.weights_page.pixels.feature, window.weights_page.shown.values
    return feature if feature is not None and values is not None and values[feature] > 0.5 else None


def _fitted(window: MainWindow, is_changed: Callable[[StackParameters], bool]) -> bool | None:
    """Return True if all layers are fitted and `is_changed` returns True for the current parameters, else None."""
    workspace = window.workspace
    return (is_changed(workspace.state.parameters) and workspace.model() is not None) or None


def _copies(window: MainWindow) -> object:
    """Return True if the Copies view shows weights fitted to 64 or more corrupted copies, else None.

    With fewer copies, the user would not yet see how the error decreases with the number of copies.
    """
    from slide_gui.gui.pages.weights.copies import CopiesView

    part = window.findChild(CopiesView)
    copies = None if part is None else part.copies
    return True if copies is not None and copies.points and copies.points[-1].copies >= 64 else None


def _shuffled(window: MainWindow) -> object:
    from slide_gui.gui.pages.weights.shuffle import ShuffleView

    part = window.findChild(ShuffleView)
    return None if part is None else part.fit


def _result(window: MainWindow) -> RunResult | None:
    runs = window.session.runs
    return None if runs.training.running else runs.result


def _opened_run(window: MainWindow) -> object:
    """Return the run that is being trained, or else the result that the window shows.

    When the user clicks a dot on the error curves, the window shows the stored result of a run. If the result is not
    stored, the window trains the run.
    """
    runs = window.session.runs
    return runs.spec if runs.training.running else runs.result


def _trained(window: MainWindow) -> object:
    """Return the result of the classifier that the user trained last.

    Return None if the user has trained no classifier or is training one now. Shipped results are ignored.
    """
    training = window.session.runs.training
    return None if training.running else getattr(training.latest, "result", None)


def _show_misclassified(window: MainWindow) -> None:
    """Show the misclassified test image nearest to the decision boundary."""
    result = _result(window)
    if result is None or result.spec.evaluate != "test" or not len(result.misclassified):
        return
    if window.session.runs.shows_open_data:
        nearest = np.abs(result.decisions).max(axis=1).argmin()
        window.weights_page.show_item(int(result.misclassified[nearest]))


def _flipped(window: MainWindow) -> bool | None:
    """Return True if the test image is classified correctly after the user has drawn on it, else None."""
    # Import this slow module here, because the module `tour` is also imported when the tour is only offered.
    from slide_gui.gui.state.decision import DecisionController

    decider, state, dataset = window.findChild(DecisionController), window.workspace.state, window.workspace.dataset
    if state.test_row is None:
        _show_misclassified(window)  # If training has just ended, no test image is shown yet.
    decision = None if decider is None else decider.decision
    if decision is None or state.drawing is None or state.test_row is None or dataset is None:
        return None
    assert decider is not None
    assert dataset.test_labels is not None
    return decider.labels[decision.first] == dataset.test_labels[state.test_row] or None


def _cells(window: MainWindow) -> tuple[tuple[int, int], ...] | None:
    """Return the positions (row, column) of the cell under the mouse and of the current cell in the error table.

    Cells in the first column, which contains headings, are ignored. If no cell remains, return None.
    """
    table = cast("QAbstractItemView | None", _visible(window, _TABLE))
    if table is None:
        return None
    place = table.viewport().mapFromGlobal(QCursor.pos())
    under_mouse = table.indexAt(place) if table.viewport().rect().contains(place) else QModelIndex()
    return tuple((i.row(), i.column()) for i in (under_mouse, table.currentIndex()) if i.column() > 0) or None


_TABLE = "Error rates"
# The cards, in the order of the sections of the guide page tour.md.
STOPS = (
    Stop("view_weights", "Next image", lambda w: w.workspace.state.selection.sample),
    Stop("view_weights", "Image for selecting pixels", _pixel_of_outline),
    Stop("view_weights", "Noise level", lambda w: _fitted(w, lambda p: p.noise >= 0.75), {"noise": 0.1}),
    Stop("view_flow", "Squashing", lambda w: _fitted(w, lambda p: p.squashing == "threshold"),
         {"squashing": "identity"}, lambda w: w.panel.more.setChecked(True)),
    Stop("view_explain", "Input, and row a of S, E[P], E[Q] and W: tiles", lambda w: w.weights_page.pixels.source),
    Stop("view_copies", "Start", _copies),
    Stop("view_shuffle", "Shuffle pixels", _shuffled),
    Stop("page_classifier", "Train", _trained),
    Stop("view_flow", "Input image for drawing", _flipped, prepare=_show_misclassified),
    Stop("page_curves", "Plot of error against noise level, one line per depth", _opened_run),
    Stop("page_evaluation", _TABLE, _cells),
    Stop("page_evaluation", "", lambda _window: None, None),
)  # fmt: skip


@dataclass(frozen=True)
class _Snapshot:
    """The state of the window before the tour, which is restored when the tour ends."""

    opened: Opened | None
    history: int
    page: str
    choices: tuple[tuple[str, str, str], ...]
    shows_panel: bool
    shows_more: bool
    results: tuple[RunResult | None, ErrorRate | None, object] | None


class Tour(QObject):
    """Shows the cards of the tour below the panel or the page, and restores the window when the tour ends.

    Attributes
    ----------
    card : TourCard
        The widget that shows the text of the current card.
    outline : Outline
        The frame that is drawn around `control`.
    control : QWidget or None
        The control that the current card outlines.
    seen : object
        The latest value returned by the function `watch` of the current card.
    number : int
        Index of the current card, or −1 while the tour is not running.
    reached : bool
        True if the user has performed the action of the current card.
    pause : float
        Number of seconds for which the user must be idle before the next card is shown.
    """

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window, self._texts = window, card_texts()
        self.card = TourCard(window.panel.width(), window.side)
        self._place_card(wide=False)
        self.outline = Outline(window)
        self.number, self.reached, self.pause = _OFFER, False, 6.0
        self._before: _Snapshot | None = None
        self.control: QWidget | None = None
        self.seen: object = None
        self._first: object = _UNSEEN
        self._still: tuple[object, float] = (None, 0.0)
        self._clock = QTimer(self, interval=_LOOK_MILLISECONDS)
        self._clock.timeout.connect(self.look)
        self.card.next.clicked.connect(self.next)
        self.card.back.clicked.connect(self.back)
        self.card.leave.clicked.connect(self.leave)
        self.card.action.linkActivated.connect(self._follow)
        window.workspace.dataset_changed.connect(self._follow_data)

    @property
    def is_running(self) -> bool:
        """True from the start of the tour until its end, but not while the tour is only offered."""
        return self._before is not None

    def offer(self) -> None:
        """Show a card that offers the tour."""
        self.card.back.hide()
        tips = "Hide this offer. You can start the tour later from the Help menu", "Start the tour"
        self.card.show_text(OFFER, "A tour", ("&Just look", "&Show me around"), tips)

    def start(self) -> None:
        """Store a snapshot of the window, open the generated Rectangles and show the first card."""
        window, workspace = self._window, self._window.workspace
        if self.is_running:
            self.card.next.setFocus()
            return
        pages, runs = window.pages, window.session.built_runs
        results = None if runs is None else (runs.result, runs.folds_rate, runs.trial.latest)
        self._before = _Snapshot(
            workspace.snapshot(), workspace.history.index(), pages.name, pages.choices(), window.shows_panel,
            window.panel.more.isChecked(), results,
        )  # fmt: skip
        window.keeper.snapshot = window.keeper.record()
        window.set_full(False)
        window.show_panel(True)
        if workspace.source != _DATA:
            workspace.open(_DATA, _STATE)
        else:
            workspace.restore(cast("Opened", workspace.snapshot()), _STATE)
        self._show(0)

    @Slot()
    def next(self) -> None:
        """Show the next card, or leave the tour after the last one."""
        if not self.is_running:
            self.start()
        elif self.number + 1 < len(STOPS):
            self._show(self.number + 1)
        else:
            self.leave()

    @Slot()
    def back(self) -> None:
        """Show the previous card."""
        self._show(self.number - 1)

    def _show(self, number: int) -> None:
        stop, window, last = STOPS[number], self._window, number + 1 == len(STOPS)
        focused = window.focusWidget()
        has_focus = focused is not None and self.card.isAncestorOf(focused)
        self.control = None
        self.number, self.reached, self._first = number, False, _UNSEEN
        window.panel.more.setChecked(False)
        if stop.parameters is not None:
            wanted = panel_parameters(_STATE.parameters) | dict(stop.parameters)
            window.workspace.set_parameters(gesture=f"tour {number}", **wanted)
        window.run_command(stop.command)
        if stop.command.startswith("page_"):  # Show the first view of the page, which the card explains.
            window.pages.shown().choose({"view": "0", "shown": ""})
        stop.prepare(window)
        self.card.back.setVisible(number > 0)
        end = "Leave the tour and restore the window"
        words, tips = ("&Leave", "Fi&nish" if last else "&Next"), (end, end if last else "Show the next card")
        self.card.show_text(self._texts[number], self._state(), words, tips)
        self._surround()
        self._clock.start()  # The timer calls `look` after Qt has updated the layout of the window.
        (self.card.next if has_focus else self.control or self.card.next).setFocus()

    def _state(self) -> str:
        if self.number + 1 == len(STOPS):
            return "The end of the tour"
        place = f"{self.number + 1} of {len(STOPS) - 1}"
        return f"{place} · ✓ done, the next card follows" if self.reached else place

    def _place_card(self, wide: bool) -> None:
        """Put the card below the page if `wide` is True, or else below the panel."""
        if wide:
            self._window.foot.addWidget(self.card)
        else:
            below_panel = cast(QBoxLayout, self._window.side.layout())
            below_panel.addWidget(self.card, 0, Qt.AlignmentFlag.AlignBottom)
        if wide != self.card.is_wide:
            self.card.set_wide(wide)

    def _surround(self) -> None:
        """Outline the control, and put the card below the page if the panel is hidden and the window is narrow."""
        window, stop = self._window, STOPS[self.number]
        wide = not window.panel.isVisible() and window.width() < _NARROW
        if wide != self.card.is_wide:
            self._place_card(wide)
        if self.control is None or not self.control.isVisible():
            self.control = _visible(window, stop.control)
        self.outline.surround(self.control)
        # At first, the card may cover a part of the control. Later, the user may have scrolled the control away.
        if self._first is _UNSEEN or not self.outline.isVisible():
            _scroll_to(self.control)

    @Slot()
    def look(self) -> None:
        """Check if the user has performed the action of the card. If so, show the next card once the user is idle."""
        window, stop = self._window, STOPS[self.number]
        self._surround()
        if window.workspace.source != _DATA or window.workspace.is_opening:
            return
        self.seen, still = stop.watch(window), (QCursor.pos(), window.workspace.state)
        if self._first is _UNSEEN:
            self._first = self.seen
        if not self.reached and self.seen is not None and self.seen != self._first:
            self.reached = True
            self.card.set_state(self._state())
        if not self.reached or still != self._still[0]:
            self._still = still, time.monotonic()
        elif time.monotonic() >= self._still[1] + self.pause:
            self.next()

    # End --------------------------------------------------------------------------------------------------------

    @Slot()
    def leave(self) -> None:
        """End the tour: restore the window, and stop the jobs that the cards have started."""
        window, before = self._window, self._before
        self._end()
        if before is None:
            return
        if window.session.built_runs is not None:
            window.session.built_runs.stop()
        if before.opened is not None:
            if before.opened.dataset is window.workspace.dataset:
                window.workspace.history.setIndex(before.history)
                window.workspace.history.drop()
            window.workspace.restore(before.opened, before.opened.state or _STATE)
        window.pages.choose(before.page, before.choices)
        window.panel.more.setChecked(before.shows_more)
        window.show_panel(before.shows_panel)
        if before.results is not None:
            result, rate, window.session.runs.trial.latest = before.results
            window.session.runs.show(result, rate)
            window.session.runs.trial.changed.emit()
        _content(window).setFocus()

    def _end(self) -> None:
        """End the tour: hide its card and discard the snapshot of the window."""
        self._clock.stop()
        self.outline.hide()
        self.card.hide()
        self.number, self._before = _OFFER, None
        self._window.keeper.snapshot = None

    @Slot(str)
    def _follow(self, link: str) -> None:
        """Leave the tour, and run the command that is named in the link that the user has clicked."""
        self.leave()
        self._window.run_command(link.removeprefix("command:"))

    @Slot()
    def _follow_data(self) -> None:
        """End the tour if the user has opened data. The state of the window before the tour is then not restored."""
        if self.is_running and self._window.workspace.source != _DATA:
            self._end()


def _content(window: MainWindow) -> QWidget:
    return cast(QWidget, window.centralWidget())


def _visible(window: MainWindow, name: str) -> QWidget | None:
    """Return a visible widget with the accessible name `name`, or else a visible button with this text."""
    shown = [each for each in _content(window).findChildren(QWidget) if each.isVisible()] if name else []
    named = (each for each in shown if each.accessibleName() == name)
    return next(named, None) or next((b for b in shown if isinstance(b, QAbstractButton) and b.text() == name), None)


def _scroll_to(control: QWidget | None) -> None:
    """Scroll all scroll areas around the control so that it becomes visible."""
    area = None if control is None else control.parentWidget()
    while control is not None and area is not None:
        if isinstance(area, QScrollArea):
            area.ensureWidgetVisible(control)
        area = area.parentWidget()
