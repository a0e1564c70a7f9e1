"""The Weights page, which shows the weights with which each layer reconstructs a pixel from all pixels."""

import base64
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Slot
from PySide6.QtWidgets import QStackedWidget, QWidget

from slide_gui.figures.style import Style
from slide_gui.gui.dialogs.export import ANIMATION, FIGURE, ExportOption
from slide_gui.gui.pages.page import Page, PageView, late
from slide_gui.gui.pages.weights.selected_rows import PixelSelection, TileSource
from slide_gui.gui.pages.weights.view import ShownImage, View, ViewContext, ViewSettings, ViewSpec
from slide_gui.gui.pages.weights.weights_view import WeightsView
from slide_gui.gui.pages.weights.why import COPIES, EXPERIMENTS, EXPLAIN, SHUFFLE, WhyView
from slide_gui.gui.state.session import Session
from slide_gui.gui.state.workspace import State
from slide_gui.gui.theme import theme_changed, theme_of
from slide_gui.gui.widgets.controls import wrapped
from slide_gui.gui.widgets.layouts import placed
from slide_gui.progress import Progress

if TYPE_CHECKING:
    from slide_gui.figures.export import FigureExport

WEIGHTS, FLOW, WHY = "weights", "flow", "why"
# The views in the order of their tabs and of the shortcuts Alt+1, Alt+2, … The page is created with the first view.
VIEWS = (
    ViewSpec(
        "Weights",
        "All rows of W in each layer, and the rows that reconstruct the pixel under the mouse and the pinned pixels. "
        "Click to pin a pixel. Drag on a picture to draw; drag with the right button or Shift to erase",
        name=WEIGHTS,
        make=WeightsView,
        needs=frozenset({"show", "levels", "colors"}),
    ),
    ViewSpec(
        "Flow",
        "How the layers transform one image (§4 of the paper)",
        name=FLOW,
        title="Flow of one image",
        make=late("slide_gui.gui.pages.weights.flow", "FlowPart"),
        about="how the layers transform one image",
        needs=frozenset({"levels", "colors"}),
    ),
    ViewSpec(
        "Why it works",
        "Four experiments: formula of one weight, corrupted copies, shuffled pixels and hidden pixels",
        name=WHY,
        make=WhyView,
    ),
)

# Sessions saved by version 0.1 identify the view by a number. This table maps the number to the name of the view.
_EARLIER_VIEWS = {"0": WEIGHTS, "1": WEIGHTS, "2": FLOW, "3": COPIES, "4": EXPLAIN, "5": SHUFFLE}


class WeightsPage(Page):
    """The Weights page, which shows one of its views at a time.

    Attributes
    ----------
    pixels : PixelSelection
        The selected pixel, which is the same in all views.
    """

    def __init__(self, session: Session, _views: Sequence[PageView], parent: QWidget) -> None:
        super().__init__("Weights", "", VIEWS, parent, right=12)
        workspace = self._workspace = session.workspace
        self._source = TileSource(workspace)
        self.pixels = PixelSelection(workspace, self)
        self.shown = ShownImage(workspace, self)
        self._settings = ViewSettings(self)
        self._context = ViewContext(
            workspace, self.shown, self.pixels, self._source, self._settings, lambda: session.runs
        )
        self._view_of: dict[str, View] = {}
        self._views = placed(self.column, QStackedWidget(self), 1)
        # Set a minimum size. Otherwise, the page could not be smaller than its largest view, even if that view is
        # hidden.
        self._views.setMinimumSize(200, 160)
        self.tabs.idClicked.connect(self._tab_chosen)
        self._settings.changed.connect(self.chosen)
        self._view(VIEWS[0])
        workspace.dataset_changed.connect(self._show_subtitle)
        workspace.state_changed.connect(self._show_state)
        workspace.fitting.changed.connect(self._show_fit)
        theme_changed().connect(self._recolour)

    # Views ------------------------------------------------------------------------------------------------------

    @Slot(str)
    def set_view(self, name: str) -> Any:
        """Show and return the view with this name, or the experiment with this name in the view “Why it works”."""
        is_experiment = name in [spec.name for spec in EXPERIMENTS]
        number = [view.name for view in VIEWS].index(WHY if is_experiment else name)
        self.tabs.button(number).setChecked(True)
        if self._views.isAncestorOf(self.focusWidget()):
            # Qt would otherwise move the focus to the first button of the new view.
            self.tabs.button(number).setFocus()
        self._views.setCurrentWidget(self._view(VIEWS[number]))
        shown = self.shown_view()
        if is_experiment:
            shown = cast(WhyView, shown).show_experiment(name)
        self._show_subtitle()
        self.refresh()
        self.chosen.emit()
        return shown

    def _spec(self) -> ViewSpec:
        """Return the `ViewSpec` of the visible view or, in the view “Why it works”, of the visible experiment."""
        view = self.shown_view()
        return view.experiment if isinstance(view, WhyView) else VIEWS[self.tabs.checkedId()]

    def _view(self, spec: ViewSpec) -> View:
        if spec.name not in self._view_of:
            view = self._view_of[spec.name] = spec.make(self._context, self)
            self._views.addWidget(view)
            if spec.name == WHY:
                cast(WhyView, view).experiment_chosen.connect(self.set_view)
        return self._view_of[spec.name]

    @Slot(int)
    def _tab_chosen(self, number: int) -> None:
        self.set_view(VIEWS[number].name)

    # Methods that the window calls ------------------------------------------------------------------------------

    def needs(self) -> frozenset[str]:
        return super().needs() | self._spec().needs

    def choices(self) -> dict[str, str]:
        feature, test_row, drawing = self.pixels.feature, self._workspace.state.test_row, self._workspace.state.drawing
        chosen = {"view": self._spec().name} | self._settings.choices()
        chosen |= {} if feature is None else {"pixel": str(feature)}
        chosen |= {} if test_row is None else {"test": str(test_row)}
        return chosen | ({} if drawing is None else {"drawing": _text_of(drawing)})

    def choose(self, choices: Mapping[str, str]) -> None:
        view = choices.get("view", "")
        view = _EARLIER_VIEWS.get(view, view)
        if view in [spec.name for spec in (*VIEWS, *EXPERIMENTS)] and view != self._spec().name:
            self.set_view(view)
        self._settings.choose(choices)
        pixel, dataset = choices.get("pixel", ""), self._workspace.dataset
        is_known = pixel.isdecimal() and len(pixel) < 9 and self._workspace.has_feature(int(pixel))
        self.pixels.select(int(pixel) if is_known else None)
        test_row, state = choices.get("test", ""), self._workspace.state
        if test_row.isdecimal() and len(test_row) < 9 and int(test_row) != state.test_row:
            self.shown.show_test(int(test_row))
        drawing = _image_of(choices.get("drawing", ""), None if dataset is None else dataset.image_shape)
        if drawing is not None and (state.drawing is None or not np.array_equal(drawing, state.drawing)):
            self._workspace.draw(drawing)

    def show_item(self, item: Any) -> None:
        """Show a test image and its predicted class in the Flow view. `item` is the image's index in the test set."""
        self.shown.show_test(item)
        self.set_view(FLOW).set_corrupted(False)

    def set_full_screen(self, full: bool) -> None:
        """In full-screen mode (`full` is True), show a noise slider instead of the heading of the page."""
        self.heading.setVisible(not full)
        cast(WeightsView, self._view_of[WEIGHTS]).show_noise(full)

    # Export -----------------------------------------------------------------------------------------------------

    def export_options(self) -> tuple[ExportOption, ...]:
        model, source, dataset = self._workspace.model(), self._workspace.source, self._workspace.dataset
        if model is None or source is None or dataset is None or not model.stack.layers:
            return ()
        pixels, chosen = self.pixels.exported(), self._workspace.state.selection
        # Weights of 0 are white in exported figures, even if the window shows them in black, as in the dark theme.
        colors = "blue-white-red" if chosen.colors == "auto" else chosen.colors
        style = Style(width="double", colors=colors, levels=chosen.levels, show=chosen.show)

        def export(moves: bool, _progress: Progress) -> "FigureExport":
            from slide_gui.experiments.inspection.rows import weight_rows
            from slide_gui.figures.weights import noise_animation, weights_export

            rows = weight_rows(model, pixels)
            return noise_animation([dataset], [rows]) if moves else weights_export([rows], [source])

        title, still, moving = "the animation over the noise levels", partial(export, False), partial(export, True)
        about = "The preview shows the current noise level; the animation has one frame for each level from 0 to 0.95."
        return (
            *self.shown_view().export_options(style),
            ExportOption("weights", "the weight figure", still, style, FIGURE, True, self._shown_part().refusal),
            ExportOption("weights-noise", title, moving, style, ANIMATION, True, about),
        )

    def why_nothing_to_export(self) -> str:
        if self._workspace.state.parameters.depth == 0:
            return "There is no layer. Increase the depth."
        if self._workspace.model() is None:
            return "The layers are still being fitted. Try again in a moment."
        refusal = self._shown_part().refusal
        return refusal or "This view has no results yet. Start its computation, or wait until it is complete."

    def shown_view(self) -> View:
        """Return the visible view."""
        return cast(View, self._views.currentWidget())

    def _shown_part(self) -> View:
        """Return the visible view or, in the view “Why it works”, the visible experiment."""
        view = self.shown_view()
        return view.part if isinstance(view, WhyView) else view

    def numbers(self) -> str:
        return self.shown_view().numbers()

    # Updates after changes of the data, layers or selection ------------------------------------------------------

    @Slot()
    def _show_subtitle(self) -> None:
        usual = "the weights that reconstruct each pixel"
        if self._source.shows_contributions():
            usual = "contributions: weights × RMS of the input pixel"
        self.subtitle.setText(self._workspace.worded(self._spec().about or usual))
        for view, button in zip(VIEWS, self.tabs.buttons(), strict=True):
            button.setToolTip(wrapped(self._workspace.worded(view.tip)))

    @Slot(object, object)
    def _show_state(self, state: State, old: State) -> None:
        image = state.selection.sample, state.test_row
        if image != (old.selection.sample, old.test_row) or state.drawing is not old.drawing:
            self.shown.refresh()  # `refresh` emits `ShownImage.changed`, which updates the views that show the image.
        others = replace(state.selection, sample=old.selection.sample)
        if others != old.selection or state.parameters.depth != old.parameters.depth:
            self.refresh()

    @Slot()
    def _recolour(self) -> None:
        # The signal is not connected to the inherited slot `refresh`, because PySide would not disconnect it when the
        # page is destroyed.
        self.refresh()

    def _renew(self) -> None:
        """Show the current data, layers and selection."""
        theme, selection = theme_of(self), self._workspace.state.selection
        self._source.color_map = theme.diverging if selection.colors == "auto" else selection.colors
        self.pixels.watch()
        self._show_fit()

    @Slot()
    def _show_fit(self) -> None:
        """Update the subtitle and the visible view, unless this page is hidden."""
        if self._workspace.dataset is None or not self.isVisible():
            return
        self._show_subtitle()
        self.shown_view().refresh()


def _text_of(image: NDArray[np.float32]) -> str:
    """Return the pixels of a drawn image as compressed text, to be stored in the session."""
    return base64.b85encode(zlib.compress(image.astype("<f4").tobytes())).decode()


def _image_of(text: str, shape: tuple[int, int] | None) -> NDArray[np.float32] | None:
    """Return the image encoded by `_text_of`, or None if the text does not encode an image of this shape."""
    with suppress(ValueError, zlib.error):
        if shape is not None:
            pixels = zlib.decompressobj().decompress(base64.b85decode(text), 4 * shape[0] * shape[1])
            image = np.frombuffer(pixels, "<f4").astype(np.float32).reshape(shape)
            return image if np.isfinite(image).all() else None
    return None
