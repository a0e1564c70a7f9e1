"""The Flow view: one image, which the user can draw on, and its representation in each layer (§4 of the paper)."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QVBoxLayout, QWidget

from slide_gui.core.slide.stack import Stack
from slide_gui.experiments.files.model_file import FittedModel
from slide_gui.experiments.inspection.flow import Flow, FlowLayer, Forward, corrupted_input, survivors
from slide_gui.experiments.inspection.likeness import Likeness
from slide_gui.figures.color_scale import ColorScale, signed
from slide_gui.figures.style import Style
from slide_gui.gui.dialogs.export import ExportOption
from slide_gui.gui.pages.page import table_text
from slide_gui.gui.pages.weights.decided import DecidedPart
from slide_gui.gui.pages.weights.flow_view import FlowColumn, FlowTile, FlowView
from slide_gui.gui.pages.weights.selected_rows import SHARES_OF_LIMIT
from slide_gui.gui.pages.weights.view import NO_LAYER, ImageRow, View, ViewContext
from slide_gui.gui.widgets.color_bar import ColorBar
from slide_gui.gui.widgets.controls import (
    ChoiceButtons,
    ElidedBox,
    ElidedLabel,
    add_button,
    label,
    name_box,
    set_look,
    with_keys,
)
from slide_gui.gui.widgets.layouts import flush, nested, placed
from slide_gui.gui.widgets.painted import INK
from slide_gui.gui.widgets.tiles import Shape
from slide_gui.progress import Progress
from slide_gui.text import count, counted, dataset_title, layer_name, mean_square, number, power

if TYPE_CHECKING:
    from slide_gui.figures.export import FigureExport

# Largest number of multiplications that the GUI thread computes for an image, in 6 ms. Passing an image of d features
# through l layers takes l·d² multiplications. Larger computations run in the job queue.
_AT_ONCE = 16_000_000
_BRUSHES = (1, 2, 3, 5)
_LOW = 540  # Height of the view, in pixels, below which the prediction is shortened to one line.
# Smallest width of the row that shows the image's name and buttons, and largest width of the colour bar, in pixels.
_IMAGE_ROW, _BAR = 232, 260
_UNLIKE = "This image is unlike the training images: few of them share its bright pixels, or it is blank."


class FlowPart(View):
    """The Flow view: the image, its corrupted copy and its hidden representations, with tools for drawing.

    Attributes
    ----------
    flow : Flow or None
        The image and the hidden representations that are shown. None until the layers are fitted.
    notice : ElidedLabel
        Legend of the values below the tiles, or a note about the image or the layers.
    corrupt : QAbstractButton
        The button that switches the corruption on or off.
    """

    def __init__(self, context: ViewContext, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        self._forward = Forward()
        # The layers that are shown, and the fingerprint of the data to which they were fitted.
        self._stack: Stack | None = None
        self._fingerprint = ""
        # The detector of images that are unlike the training images. `_compared` is the fingerprint of the data to
        # which these training images belong. `_listed` is the fingerprint of the data for which the box `learned` was
        # last filled.
        self._likeness: Likeness | None = None
        self._compared = self._listed = ""
        self._image: NDArray[Any] | None = None  # The image with the user's strokes, of shape (d,).
        self.flow: Flow | None = None
        self._stale = False  # True if the layers shown do not match the current parameters.
        layout = flush(QVBoxLayout(self))
        self._tools = nested(layout, QHBoxLayout(), spacing=4)
        row = nested(layout, QHBoxLayout())
        self._drawing = placed(row, QWidget(self))
        row.addStretch(1)
        self._bar = placed(row, ColorBar(self), 2)
        self._bar.setMaximumWidth(_BAR)
        self._build_tools()
        self._build_drawing(flush(QHBoxLayout(self._drawing), 4))
        self.notice = placed(layout, ElidedLabel("", self))
        self.view = placed(layout, FlowView(self), 1)
        self.view.canvas.drawn.connect(self._drawn)
        self.view.canvas.stroked.connect(self._shown.keep_stroke)
        self.view.pixel_hovered.connect(self._pixels.point_at)
        self._blank.clicked.connect(self.view.canvas.blank)
        self._decided = placed(layout, DecidedPart(self._workspace, context.runs(), self))
        self._shown.changed.connect(self._take_image)
        self._settings.changed.connect(self._show_settings)
        self._show_settings()
        self._take_image()

    def _build_tools(self) -> None:
        self._image_row = placed(self._tools, ImageRow(self._shown, self._workspace.worded, self), 1)
        self._image_row.setMinimumWidth(_IMAGE_ROW)
        self._image_row.setMaximumWidth(2 * _IMAGE_ROW)
        self._tools.addStretch(1)
        self._tools.addWidget(label("learned on", self))
        self.learned = placed(self._tools, ElidedBox(self, least=14))
        """The box that selects the data on which the layers were learned.

        Each item stores the fingerprint of its data, or "" for the open data."""
        name_box(self.learned, "learned on")
        self.learned.activated.connect(self.refresh)
        tip = with_keys("Set each feature to 0 with probability 1 − p", "Ctrl+K")
        self.corrupt = add_button(self, self._tools, "Corrupt", tip, "flat", clicked=self.set_corrupted)
        self.corrupt.setCheckable(True)
        tip = with_keys("Set another random selection of features to 0", "Ctrl+Shift+K")
        again = add_button(self, self._tools, "New", tip, "flat", clicked=self.corrupt_again)
        again.setAccessibleName("New corruption")

    def _build_drawing(self, row: QHBoxLayout) -> None:
        self._modes = ChoiceButtons(self)
        tips = "Draw with the left mouse button; erase with the right one or Shift", "Erase with the left mouse button"
        for erases, (text, tip) in enumerate(zip(("Draw", "Erase"), tips, strict=True)):
            button = self._modes.add(erases, text, self)
            button.setToolTip(with_keys(tip, "Ctrl+D"))
            row.addWidget(button)
        self._modes.idClicked.connect(self.set_erasing)
        row.addWidget(label("brush", self))
        self._brush = placed(row, QComboBox(self))
        self._brush.addItems(list(map(str, _BRUSHES)))
        self._brush.activated.connect(self._brush_activated)
        name_box(self._brush, "brush width in pixels")
        tip = with_keys("Remove the drawing from the image", "Ctrl+R")
        self._reset = add_button(self, row, "Clear", tip, "flat", clicked=self._clear)
        tip = with_keys("Start from an image of zeros", "Ctrl+Shift+R")
        self._blank = add_button(self, row, "Blank canvas", tip, "flat")

    @Slot()
    def _show_settings(self) -> None:
        brush = self._settings.values["brush"]
        if brush in _BRUSHES:
            self._brush.setCurrentText(str(brush))
            self.view.canvas.set_brush(brush)
        self.corrupt.setChecked(self._seed is not None)
        self.refresh()

    @Slot()
    def _clear(self) -> None:
        self._workspace.draw(None)

    @Slot(int)
    def _brush_activated(self, position: int) -> None:
        self._settings.set(brush=_BRUSHES[position])

    @Slot(int)
    def set_erasing(self, erases: int) -> None:
        """Let the left mouse button erase if the argument is 1, or draw if it is 0."""
        self._modes.button(erases).setChecked(True)
        self.view.canvas.erases = bool(erases)

    def toggle_erasing(self) -> None:
        """Switch the left mouse button between drawing and erasing."""
        self.set_erasing(1 - self._modes.checkedId())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Shorten the prediction to one line if the view is not high enough for more."""
        super().resizeEvent(event)
        self._decided.set_brief(self.height() < _LOW)

    # Methods that the window calls ------------------------------------------------------------------------------

    @Slot(bool)
    def set_corrupted(self, corrupted: bool) -> None:
        """Switch the corruption on or off. If it is on, the prediction refers to the corrupted image."""
        self._settings.set(clean=int(not corrupted))

    @Slot()
    def corrupt_again(self) -> None:
        """Corrupt the input with a new random mask."""
        self._settings.set(corruption=self._settings.values["corruption"] + 1, clean=0)

    def export_options(self, style: Style) -> tuple[ExportOption, ...]:
        model, source, image = self._workspace.model(), self._workspace.source, self._image
        if model is None or source is None or image is None or self.foreign is not None:
            return ()
        caption = f"{self._workspace.worded('image')} {self._shown.caption}"
        seed = self._seed

        def export(_progress: Progress) -> "FigureExport":
            from slide_gui.experiments.inspection.flow import flow_result
            from slide_gui.figures.flow import flow_export

            return flow_export(flow_result(model, image, caption, seed), source)

        return (ExportOption("flow", "the flow of this input through the layers", export, style),)

    def numbers(self) -> str:
        flow, names = self.flow, self._workspace.feature_names
        if flow is None or self._stale:
            return ""
        lines = [_line("x", None, 0.0, flow.clean), _line("input", None, flow.corruption_error, flow.corrupted)]
        for k, layer in enumerate(flow.layers, start=1):
            lines.append(_line(f"T(h{k - 1})", None, None, layer.squashed))
            lines.append(_line(f"h{k}", layer.target_error, layer.input_error, layer.output))
        stages, cells = [(line[0],) for line in lines], [line[1:] for line in lines]
        heads = ("mean squared difference from the layer below", "mean squared difference from x", *names)
        shown = table_text(("stage",), stages, heads, cells)
        decided = () if self.foreign else self._decided.lines()
        if not decided:
            return shown
        what, values = [each[:2] for each in decided], [each[2:] for each in decided]
        return f"{shown}\n\n{table_text(('quantity', 'class'), what, ('value',), values)}"

    # Computation -----------------------------------------------------------------------------------------------

    @Slot()
    def _take_image(self) -> None:
        dataset, values = self._workspace.dataset, self._shown.values
        if dataset is None or values is None:
            return
        self._image = values
        if dataset.fingerprint != self._listed:
            self._listed = dataset.fingerprint
            self._list_others()
        self._drawing.setVisible(dataset.image_shape is not None)
        if dataset.image_shape is None:
            self.refresh()
        else:
            # The canvas emits `drawn` for a new image as well as for a stroke, so the slot `_drawn` refreshes the view.
            self._shown.show_on(self.view.canvas)

    @Slot(object)
    def _drawn(self, image: NDArray[np.float32]) -> None:
        self._image = image.reshape(-1)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Compute and show the representation of the image in each layer. Long computations run in the job queue."""
        self._take_stack()
        image, stack, foreign, dataset = self._image, self._stack, self.foreign, self._workspace.dataset
        self._reset.setEnabled(self.view.canvas.is_drawn_on)
        if image is None or not self.isVisible():
            return
        if foreign is not None and dataset is not None:
            image = foreign.rescaled(image, dataset)
        noise = self._workspace.state.parameters.noise
        surviving = None if self._seed is None else survivors(image.size, noise, self._seed)
        self._workspace.queue.cancel(channel="flow")
        if stack is None:
            self._show(None, corrupted_input(image, surviving))
            return
        if len(stack.layers) * image.size**2 <= _AT_ONCE:
            self._show(stack, self._forward.flow(stack, image, surviving))
            return
        if self.flow is not None and not (foreign or self._workspace.fitting.is_current(stack.parameters)):
            # The parameters have changed, so show the previous result in grey until the new layers are fitted.
            self._show(stack, self.flow)
        self._workspace.queue.submit(
            "Passing the input through the layers",
            lambda _progress: self._forward.flow(stack, image, surviving),
            channel="flow",
            on_result=partial(self._show, stack),
            automatic=True,
        )

    @property
    def _seed(self) -> int | None:
        """Return the seed of the corruption, or None if the input is not corrupted."""
        return None if self._settings.values["clean"] else self._settings.values["corruption"]

    @property
    def foreign(self) -> FittedModel | None:
        """Return the model selected in the box `learned`, or None if the layers of the open data are selected."""
        return next((model for model in self._others() if model.fingerprint == self.learned.currentData()), None)

    def _others(self) -> list[FittedModel]:
        """Return the models fitted to previously opened data with the same features as the open data."""
        dataset = self._workspace.dataset
        if dataset is None:
            return []
        wanted = dataset.image_shape, dataset.n_features, dataset.feature_names
        earlier = (each for each in self._workspace.earlier if each.fingerprint != dataset.fingerprint)
        return [each for each in earlier if (each.image_shape, each.stack.n_features, each.feature_names) == wanted]

    def _list_others(self) -> None:
        others = self._others()
        self.learned.clear()
        self.learned.addItem("these data", "")
        for model in others:
            self.learned.addItem(_learned_on(model), model.fingerprint)
        self.learned.setEnabled(bool(others))
        tip = "Pass the input through layers that were fitted to previously opened data"
        self.learned.setToolTip(tip if others else f"{tip};\nfirst open other data with the same features")

    def _through(self, model: FittedModel) -> str:
        dataset = self._workspace.dataset
        assert dataset is not None
        text = f"{dataset_title(dataset.name, dataset.generated)} passed through layers learned on {_learned_on(model)}"
        here, there = FittedModel.of(dataset, model.stack).scaling, model.scaling
        if model.image_shape is None or here is None or there is None or np.array_equal(here, there):
            return text
        (low, size), (first, span) = here[:, 0], there[:, 0]
        return f"{text}; the range 0–1 is {low:g} … {low + size:g} here, but {first:g} … {first + span:g} in training"

    def _take_stack(self) -> None:
        """Update the layers that the view shows. While the same data are fitted again, keep the previous layers."""
        dataset, stack = self._workspace.dataset, self._workspace.fitting.stack
        if dataset is None:
            return
        depth, foreign = self._workspace.state.parameters.depth, self.foreign
        fingerprint = dataset.fingerprint if foreign is None else foreign.fingerprint
        if fingerprint != self._fingerprint:
            self._fingerprint, self._stack, self.flow = fingerprint, None, None
        if foreign is not None:
            self._stack = foreign.stack
        elif stack is not None and len(stack.layers) >= depth:
            self._stack = replace(stack, layers=stack.layers[:depth])

    def _compare_training_images(self) -> None:
        """Fit the detector of images that are unlike the training images. This job runs once per data set."""
        dataset = self._workspace.dataset
        if dataset is None or dataset.fingerprint == self._compared:
            return
        self._compared, self._likeness = dataset.fingerprint, None
        self._workspace.queue.cancel(channel="likeness")
        if dataset.image_shape is None:
            return
        self._workspace.queue.submit(
            "Fitting the detector of unusual images",
            partial(Likeness, dataset.train),
            channel="likeness",
            on_result=self._compared_images,
            failure="The detector of unusual images could not be fitted",
            background=True,
        )

    def _compared_images(self, likeness: Likeness) -> None:
        self._likeness = likeness
        self.refresh()

    def _show(self, stack: Stack | None, flow: Flow) -> None:
        """Show the image and its hidden representations. Layers that are not fitted yet have empty tiles."""
        dataset, state = self._workspace.dataset, self._workspace.state
        if dataset is None or stack is not self._stack:
            return
        limit = max(1.0, float(np.abs(flow.clean).max(initial=0.0)))
        per_tile = state.selection.levels == "tile"
        scale = ColorScale.symmetric(self._source.color_map, 1.0 if per_tile else limit)
        # The caption of the colour bar names the tiles to which the bar applies. Images of x, and of T(hᵏ) without
        # negative values, are grey instead. If features are not pixels, these tiles show bars with the limits ±1. The
        # colour bar applies to them as well if its limits are ±1.
        shown = "T, hᵏ" if _has_negative_t(flow) else "hᵏ"
        shown = "x, T, hᵏ" if dataset.image_shape is None and limit == 1.0 else shown
        self._bar.set_scale(scale, *(("per tile", SHARES_OF_LIMIT) if per_tile else (shown,)))
        foreign = self.foreign
        depth = state.parameters.depth if stack is None else len(flow.layers)
        fitted = stack if foreign is None else None
        self._stale = fitted is not None and replace(fitted.parameters, depth=0) != replace(state.parameters, depth=0)
        limits = None if per_tile else limit
        columns = flow_columns(flow, depth, dataset.image_shape, self._source.color_map, limits, self._stale)
        self.view.set_columns(columns)
        self.flow = flow if stack is not None else None
        if fitted is not None:
            self._compare_training_images()
        image, likeness = self._image, self._likeness
        is_new = self._workspace.state.test_row is not None or self.view.canvas.is_drawn_on
        is_unlike = bool(is_new and fitted and likeness and image is not None and likeness.is_unlike(image))
        self._decided.setVisible(foreign is None)
        self.refusal = _NOT_EXPORTED if foreign else ""
        if fitted is not None:
            self._decided.follow(flow.corrupted, _input_symbol(flow), is_unlike)
        else:
            self._decided.controller.rest()
        legend = _LEGEND + " Only the input x is corrupted." * (_input_symbol(flow) != "x") if depth else NO_LAYER
        self.notice.setText(self._through(foreign) if foreign else _UNLIKE if is_unlike else legend)
        is_badge = self.notice.text() != legend
        set_look(self.notice, "role", "badge" if is_badge else "secondary")
        self.notice.setContentsMargins(6 * is_badge, 0, 6 * is_badge, 0)

    def hideEvent(self, event: Any) -> None:
        """Stop predicting the class of the image while the view is hidden."""
        super().hideEvent(event)
        self._decided.controller.rest()


_NOT_EXPORTED = "To export the Flow view, select “these data” in the box “learned on”."
# If the layers are arranged in two rows, there is space for only one number below each hᵏ: the difference from x.
_LEGEND = "The numbers below each hᵏ are its mean squared differences."


def _has_negative_t(flow: Flow) -> bool:
    return any(layer.squashed.min() < 0.0 for layer in flow.layers)


def _learned_on(model: FittedModel) -> str:
    """Describe a model by the name of its data set, its noise level and its number of layers."""
    layers, title = counted(len(model.stack.layers), "layer"), dataset_title(model.dataset, model.generated)
    return f"{title}, noise {number(model.stack.parameters.noise)}, {layers}"


def _line(stage: str, from_target: float | None, from_x: float | None, values: NDArray[Any]) -> tuple[Any, ...]:
    return stage, from_target, from_x, *values.tolist()


def flow_columns(
    flow: Flow, depth: int, shape: Shape, colors: str, limit: float | None, stale: bool = False
) -> tuple[FlowColumn, ...]:
    """Return the columns of tiles: x above the input of the stack, then T(hᵏ⁻¹) above hᵏ for each layer.

    Parameters
    ----------
    depth : int
        Number of layers. The tiles of layers that `flow` does not contain yet are empty.
    shape : tuple of (rows, columns), or None
        Shape of the image, or None for features that are not pixels.
    colors : str
        Colour map of hᵏ. It is also the colour map of all T(hᵏ⁻¹) if any of them has negative values.
    limit : float or None
        The colour map ranges from −limit to limit. If None, the limit of each tile is its largest absolute value.
    stale : bool
        True if the layers are drawn in grey and without captions, because they do not match the current parameters.
    """

    def scale_of(values: NDArray[Any]) -> ColorScale:
        return ColorScale.symmetric(colors, float(np.abs(values).max(initial=0.0)) if limit is None else limit)

    name, is_signed = _input_symbol(flow), _has_negative_t(flow)
    columns = [_input(flow, name, shape)]
    for k in range(1, depth + 1):
        below = layer_name(k - 1) if k > 1 else name
        if k > len(flow.layers):
            upper, lower = FlowTile(f"T({below})"), FlowTile(layer_name(k), tip="This layer is being fitted")
            columns.append(FlowColumn(upper, lower, power("W", k), "T"))
            continue
        layer = flow.layers[k - 1]
        scales = scale_of(layer.squashed) if is_signed else INK, scale_of(layer.output)
        columns.append(_layer(k, layer, below, shape, scales, stale))
    return tuple(columns)


def _input_symbol(flow: Flow) -> str:
    """Return the symbol of the stack's input: x, or x̃ if it is corrupted."""
    return "x" if flow.survivors.all() else "x̃"


def _input(flow: Flow, symbol: str, shape: Shape) -> FlowColumn:
    lines: tuple[str, ...] = ("not corrupted",)
    if symbol != "x":
        corrupted = f"{count(int(np.count_nonzero(~flow.survivors)))} of {count(flow.clean.size)} set to 0"
        lines = (corrupted, f"{mean_square(flow.corruption_error)} from x")
    seen = np.where(flow.survivors, flow.corrupted, np.nan)
    return FlowColumn(
        _tile("x", flow.clean, shape, lines=(_caption(flow.clean),), tip="h⁰, the input"),
        _tile(symbol, seen, shape, lines=lines, tip="Input of the stack; values set to 0 are tinted"),
        down="" if symbol == "x" else "corrupt",
        across="T",
    )


def _layer(
    k: int, layer: FlowLayer, below: str, shape: Shape, scales: tuple[ColorScale, ColorScale], stale: bool
) -> FlowColumn:
    name, weights = layer_name(k), power("W", k)
    lines: tuple[str, ...] = (f"{mean_square(layer.input_error)} from x",)
    if k > 1:
        lines = (f"{mean_square(layer.target_error)} from {below}", *lines)
    caption, tip = (_caption(layer.squashed),), f"{name} = {weights} T({below}), values {_range(layer.output)}"
    upper = _tile(f"T({below})", layer.squashed, shape, scales[0], () if stale else caption, f"T applied to {below}")
    lower = _tile(name, layer.output, shape, scales[1], () if stale else lines, "" if stale else tip)
    return FlowColumn(upper, lower, weights, "T", stale)


def _tile(
    title: str, values: NDArray[Any], shape: Shape, scale: ColorScale = INK, lines: tuple[str, ...] = (), tip: str = ""
) -> FlowTile:
    return FlowTile(title, values.astype(np.float32).reshape(shape or values.shape), scale, lines, tip)


def _caption(values: NDArray[Any]) -> str:
    """Return a caption with the number of ones if all values are 0 or 1, and otherwise with the range of the values."""
    return counted(int(values.sum()), "one") if np.isin(values, (0, 1)).all() else _range(values)


def _range(values: NDArray[Any]) -> str:
    return f"{signed(float(values.min()))} to {signed(float(values.max()))}"
