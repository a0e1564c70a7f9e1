"""The base class of the views of the Weights page, and the state that the views share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QWidget

from slide_gui.data.dataset import Dataset
from slide_gui.figures.style import Style
from slide_gui.gui.dialogs.export import ExportOption
from slide_gui.gui.pages.page import PageView
from slide_gui.gui.pages.weights.selected_rows import PixelSelection, TileSource
from slide_gui.gui.state.workspace import MEAN_ROWS, Workspace, mean_row
from slide_gui.gui.widgets.controls import ElidedLabel, add_button, keys_text, named, with_keys
from slide_gui.gui.widgets.image import DrawingCanvas
from slide_gui.gui.widgets.layouts import flush, placed
from slide_gui.gui.widgets.weight_tiles import WeightTiles
from slide_gui.text import count, label_names

if TYPE_CHECKING:
    from slide_gui.gui.state.runs import RunController

NO_LAYER = "The depth is 0, so there is no layer. Increase the depth."


class ViewSettings(QObject):
    """The settings that the views share, and that sessions store.

    Attributes
    ----------
    values : dict of str to int
        Width of the brush; "clean" is 1 if *Flow* does not corrupt its input; seeds of the corruption in *Flow* and of
        the hidden features in *Fill*; selected layer of the experiments, which may exceed the current depth.

    Signals
    -------
    changed()
        The user or a session changed a setting.
    """

    changed = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.values = {"brush": 1, "clean": 0, "corruption": 0, "hidden": 0, "layer": 1}

    def set(self, **values: int) -> None:
        """Change the settings named in `values`."""
        self.values |= values
        self.changed.emit()

    def choices(self) -> dict[str, str]:
        """Return the settings as texts, to be stored in the session."""
        return {name: str(value) for name, value in self.values.items()}

    def choose(self, choices: Mapping[str, str]) -> None:
        """Restore the settings that `choices` returned. Texts that are not a number of up to 8 digits are ignored."""
        given = {name: choices.get(name, "") for name in self.values}
        self.set(**{name: int(text) for name, text in given.items() if text.isdecimal() and len(text) < 9})


@dataclass(frozen=True, eq=False)
class ViewContext:
    """Objects shared by all views: workspace (data and layers), image, selected pixel, tile source and settings.

    `runs` is a function that returns the run controller. The controller is imported only when the function is called,
    because most views do not need it and the import takes time.
    """

    workspace: Workspace
    shown: "ShownImage"
    pixels: PixelSelection
    tiles: TileSource
    settings: ViewSettings
    runs: "Callable[[], RunController]"


class View(QWidget):
    """A view of the Weights page, built when it is first shown.

    Attributes
    ----------
    refusal : str
        The reason why the view cannot compute or export its results, or "" if it can.
    """

    refusal = ""

    def __init__(self, context: ViewContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace, self._shown = context.workspace, context.shown
        self._pixels, self._source, self._settings = context.pixels, context.tiles, context.settings

    @Slot()
    def refresh(self) -> None:
        """Show the current data, layers and selection. The page calls this after changes while the view is visible."""
        raise NotImplementedError

    def export_options(self, style: Style) -> tuple[ExportOption, ...]:
        """Return the figures that this view can export, drawn in the given style."""
        return ()

    def numbers(self) -> str:
        """Return the numbers shown in this view as tab-separated text, or "" if there are none."""
        return ""

    def _add_tiles(self, name: str) -> WeightTiles:
        """Return a new, empty widget for tiles. Hovering over a tile selects a weight, and Ctrl+click pins a pixel."""
        tiles = named(WeightTiles(self), f"{name}: tiles")
        tiles.pixel_hovered.connect(self._point_at)
        tiles.pixel_clicked.connect(self._pin)
        tiles.hint = f"{keys_text(Qt.Modifier.CTRL.value)}click to pin"
        tiles.name_feature = self._workspace.feature_name
        return tiles

    def _feature_of(self, row: int) -> int | None:
        """Return the feature whose row of W is shown in this row of tiles, or None if the tiles show something else."""
        return self._pixels.features()[0]

    @Slot(object)
    def _point_at(self, spot: tuple[int, int, int] | None) -> None:
        feature = None if spot is None else self._feature_of(spot[0])
        self._pixels.cross(feature, None if spot is None or feature is None else spot[2])

    @Slot(object)
    def _pin(self, spot: tuple[int, ...]) -> None:
        self._workspace.toggle_pin(spot[-1])

    @Slot()
    def _refresh_if_seen(self) -> None:
        if self.isVisible():
            self.refresh()


@dataclass(frozen=True, kw_only=True)
class ViewSpec(PageView):
    """The description of a view of the Weights page. It determines the view's tab and its command in menus.

    Attributes
    ----------
    name : str
        Name by which `WeightsPage.set_view` selects the view.
    title : str
        Title in the menu and the command palette, or "" to use the text of the tab.
    make : callable
        Class of the view, or a function from `late`, which imports the class only when the view is built.
    needs : frozenset of str
        Settings in the panel that affect the tiles of this view: "show", "levels" or "colors".
    """

    name: str
    make: Callable[[ViewContext, QWidget], View]
    needs: frozenset[str] = frozenset({"colors"})
    title: str = ""


class ShownImage(QObject):
    """The image on the Weights page: a training image, a test image or the mean image, with the user's strokes.

    Signals
    -------
    changed()
        The image has changed, and with it `values`, `missing` and `caption`.
    """

    changed = Signal()

    def __init__(self, workspace: Workspace, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._mean: NDArray[np.float32] | None = None
        self._given: NDArray[np.float32] | None = None  # The image without the user's strokes.
        self.values: NDArray[np.float32] | None = None
        self.missing: tuple[int, ...] = ()
        self.caption = ""
        self.is_mean = False
        workspace.dataset_changed.connect(self._forget)

    @Slot()
    def next(self) -> None:
        """Show the next training image."""
        self._step(1)

    @Slot()
    def previous(self) -> None:
        """Show the previous training image."""
        self._step(-1)

    @Slot()
    def toggle_mean(self) -> None:
        """Show the mean of the training images, or return to the training image that was shown before."""
        # The value ~k selects the mean image. It encodes k, so that training image k can be shown again.
        self._workspace.select(sample=~self._workspace.state.selection.sample)

    def show_test(self, row: int) -> None:
        """Show a test image until the user selects a training image."""
        dataset = self._workspace.dataset
        if dataset is not None and 0 <= row < dataset.n_test:
            self._workspace.show_test(row)

    def show_on(self, canvas: DrawingCanvas) -> None:
        """Show the image and its strokes on a canvas."""
        dataset = self._workspace.dataset
        if dataset is not None and dataset.image_shape and self._given is not None:
            canvas.set_image(self._given.reshape(dataset.image_shape), self._workspace.state.drawing)
            canvas.set_missing(self.missing)

    @Slot(object)
    def keep_stroke(self, image: NDArray[np.float32]) -> None:
        """Store the drawn image in the workspace, so that the user can undo the stroke."""
        is_given = self._given is not None and np.array_equal(image.reshape(-1), self._given)
        self._workspace.draw(None if is_given else image)

    def _step(self, step: int) -> None:
        dataset = self._workspace.dataset
        if dataset is not None:
            sample = self._workspace.state.selection.sample  # ~k if the mean image replaces image k
            self._workspace.select(sample=(max(sample, ~sample) + step) % len(dataset.train))

    @Slot()
    def refresh(self) -> None:
        """Set `values`, `missing` and `caption` for the image that the user has selected."""
        dataset, state = self._workspace.dataset, self._workspace.state
        row, sample = state.test_row, state.selection.sample
        if dataset is None:
            return
        total = count(len(dataset.train))
        self.is_mean = row is None and sample < 0
        if row is not None:
            self._given, labels = dataset.test[row], dataset.test_labels
            self.caption = f"test {count(row + 1)}{_class_caption(dataset, labels, row)}"
        elif sample >= 0:
            self._given, labels = dataset.train[sample], dataset.train_labels
            self.caption = f"{count(sample + 1)} of {total}{_class_caption(dataset, labels, sample)}"
        else:
            if self._mean is None:
                self._mean = mean_row(dataset).astype(np.float32)
            self._given, self.caption = self._mean, f"mean of {count(min(len(dataset.train), MEAN_ROWS))}"
        self.values = self._given
        if state.drawing is not None:
            self.values = state.drawing.reshape(-1)
            # If most of the image was erased, as on a blank canvas, its class does not describe the drawing.
            unchanged = np.count_nonzero(self._given * (self.values == self._given))
            erased = 2 * unchanged < np.count_nonzero(self._given)
            self.caption = "drawing" if erased else f"{self.caption}, drawn on"
        self.missing = ()
        if dataset.missing is not None and not self.is_mean:
            mask = dataset.missing[sample if row is None else len(dataset.train) + row]
            # Do not mark a missing cell if the user has drawn over the value with which it was filled.
            self.missing = tuple(np.flatnonzero(mask & (self.values == self._given)).tolist())
        if self.missing:
            self.caption = f"{self.caption} · {count(len(self.missing))} missing, filled"
        self.changed.emit()

    @Slot(object)
    def _forget(self, _dataset: Dataset) -> None:
        self._mean = None
        self.refresh()


def _class_caption(dataset: Dataset, labels: NDArray[np.int64] | None, row: int) -> str:
    if labels is None:
        return ""
    label = int(labels[row])
    (name,) = label_names((label,), dataset.label_names)
    return f" · label {label}" if name == str(label) else f" · {name}"


class ImageRow(QWidget):
    """The name of the image, and the buttons “◀”, “▶” and “mean”."""

    def __init__(self, shown: ShownImage, worded: Callable[[str], str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown, self._worded = shown, worded
        row = flush(QHBoxLayout(self), 0)
        self._caption = placed(row, ElidedLabel("", self), 1)
        slots = {"◀": shown.previous, "▶": shown.next, "mean": shown.toggle_mean}
        self._buttons = [add_button(self, row, text, kind="flat", clicked=slot) for text, slot in slots.items()]
        for arrow in self._buttons[:2]:
            arrow.setFixedWidth(28)
        self._buttons[2].setCheckable(True)
        shown.changed.connect(self._follow)
        self._follow()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._follow()

    @Slot()
    def _follow(self) -> None:
        # The class comes first, because a caption that is too long is cut off at its end. If the caption does not
        # fit, the note on missing cells is first shortened and then left out. Last, the number of images is left out.
        place, *others = self._shown.caption.split(" · ")
        brief = [part.removesuffix(", filled") for part in others]
        known = others[:-1] if self._shown.missing else others
        place = place if self._shown.is_mean else place.replace(" of ", "/")
        self._caption.setToolTip(self._shown.caption)
        for parts in ((*others, place), (*brief, place), (*known, place), (*known, place.partition("/")[0])):
            self._caption.setText(" · ".join(parts))
            if self._caption.shown_text() == self._caption.text():
                break
        self._buttons[2].setChecked(self._shown.is_mean)
        tips = "Previous image", "Next image", "Mean of the training images"
        keys = "Ctrl+Left", "Ctrl+Right", "Ctrl+M"
        for button, tip, key in zip(self._buttons, map(self._worded, tips), keys, strict=True):
            named(button, tip, with_keys(tip, key))
