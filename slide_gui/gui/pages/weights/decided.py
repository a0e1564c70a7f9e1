"""The trained classifier's prediction for the image in the Flow view, with the reasons for the prediction."""

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF, QSizeF, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFontMetricsF, QIcon, QPainter, QPen, QPixmap, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from slide_gui.experiments.inspection.decision import MOST_CHANGES, Decision, Flip, SupportVector
from slide_gui.experiments.runs.spec import METHODS, describe_spec
from slide_gui.figures.color_scale import ColorScale
from slide_gui.gui.state.decision import DecisionController
from slide_gui.gui.state.runs import RunController
from slide_gui.gui.state.workspace import Workspace
from slide_gui.gui.theme import SECONDARY, figure_font, theme_changed, theme_of
from slide_gui.gui.widgets.controls import ElidedLabel, PlainLabel, add_button, label, named, set_look
from slide_gui.gui.widgets.layouts import flush, nested, placed
from slide_gui.gui.widgets.painted import INK, MIDDLE, PixelGrid, frame, image_of, integer_scale
from slide_gui.gui.widgets.tiles import bar_image
from slide_gui.text import count, counted, fixed, label_names, number, per_cent, significant, told_apart

_SIDE, _GAP, _NARROW_GAP = 64, 20, 6
# Widths, in pixels, of the class bars, of a support vector, and of the changed image with its description. The changed
# image is the input after those pixel changes that flip the prediction.
_BARS, _CARD, _FLIP = 216, 74, 198
_MOST_BARS = 5
_STOPPED = "The computation was stopped. Show another image to restart it."


class SupportVectorCard(QWidget):
    """A widget that shows a support vector: its image, its class and its contribution to the margin.

    The image is a button. A bar at the bottom shows how much each layer contributes to the squared distance between the
    input and the support vector.

    Signals
    -------
    clicked(int)
        The user clicked the image. The argument is the index of the support vector in the training set.
    """

    clicked = Signal(int)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.row = 0
        self.setFixedWidth(_CARD)
        column = flush(QVBoxLayout(self), 2)
        self.image = placed(column, QToolButton(self))
        self.image.clicked.connect(self._click)
        self._name, self._pull, self._shares = ElidedLabel("", self), label("", self, "for"), PlainLabel("", self)
        texts = nested(column, QHBoxLayout(), spacing=4)
        texts.addWidget(self._name, 1)
        texts.addWidget(self._pull)
        column.addWidget(self._shares)
        self._shares.setFixedHeight(6)

    def show_vector(self, vector: SupportVector, name: str, picture: QPixmap, tip: str, colors: list[QColor]) -> None:
        """Show a support vector. `name` is the name of its class, and `colors` contains the colour of each layer."""
        self.row = vector.row
        self.image.setIconSize(picture.deviceIndependentSize().toSize())
        self.image.setIcon(QIcon(picture))
        named(self.image, tip, tip)
        self._name.setText(name)
        role, sign = ("for", "+") if vector.pull >= 0 else ("against", "−")
        self._pull.setText(f"{sign}{fixed(abs(vector.pull), 2)}")
        set_look(self._pull, "role", role)
        bar, start = QPixmap(_CARD, 6), 0
        with QPainter(bar) as painter:
            for color, share in zip(colors, vector.shares, strict=True):
                painter.fillRect(QRectF(start, 0, _CARD - start, 6), color)
                start += round(share * _CARD)
        self._shares.setPixmap(bar)

    @Slot()
    def _click(self) -> None:
        self.clicked.emit(self.row)


class DecidedPart(QWidget):
    """The widget that shows the classifier's prediction for the image in the Flow view.

    If there is no classifier, the widget explains why and, if possible, offers a button that trains one.
    """

    def __init__(self, workspace: Workspace, runs: RunController, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace, self._runs = workspace, runs
        self.controller = DecisionController(workspace, runs, self)
        self._input, self._brief, self._unlike = "x", False, False
        self._bars: list[tuple[ElidedLabel, QProgressBar, QLabel]] = []
        self._arrange()
        row = flush(QHBoxLayout(self._hint), 12)
        self._why = placed(row, label("", self._hint, wraps=True), 1)
        tip = "Train the classifier with the parameters in the panel; this also learns the kernel widths and C"
        self._train = add_button(self, row, "Train", tip, clicked=self.controller.train_as_default)
        self.controller.changed.connect(self._show)
        runs.training.changed.connect(self._show)
        self._workspace.dataset_changed.connect(self._show)
        self._workspace.dataset_changed.connect(self._show_known)
        runs.library.changed.connect(self._show_known)
        theme_changed().connect(self._show)
        self._show()

    def _arrange(self) -> None:
        """Create the class bars, the support vectors and the changed image, side by side."""
        layout = flush(QVBoxLayout(self))
        self.brief = placed(layout, label("", self, "", wraps=True, height=32))
        self._details, self._hint = placed(layout, QWidget(self)), placed(layout, QWidget(self))
        layout.addStretch(1)
        columns = flush(QHBoxLayout(self._details), _GAP)
        left = nested(columns, QVBoxLayout(), spacing=6)
        self.title = placed(left, ElidedLabel("", self._details, ""))
        self.title.setToolTip("The predicted class, and its margin over the next best class")
        self.title.setFixedWidth(_BARS)
        self._grid = nested(left, QGridLayout(), spacing=4)
        for row in range(_MOST_BARS):
            name = placed(self._grid, ElidedLabel("", self._details), row, 0)
            bar = placed(self._grid, QProgressBar(self._details, textVisible=False), row, 1)
            bar.setMinimumWidth(24)
            self._bars.append((name, bar, placed(self._grid, label("", self._details), row, 2)))
        self.about = placed(left, label("", self._details, wraps=True, height=30))
        left.addStretch(1)
        middle = nested(columns, QVBoxLayout(), spacing=6)
        middle.addWidget(ElidedLabel("Nearest support vectors of the top two classes", self._details, ""))
        self._vectors = nested(middle, QHBoxLayout(), spacing=_NARROW_GAP)
        self.cards = [placed(self._vectors, SupportVectorCard(self._details))]
        self.cards[0].clicked.connect(self._show_sample)
        self._legend = placed(middle, PlainLabel("", self._details))
        self._legend.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._legend.setFixedHeight(16)
        middle.addStretch(1)
        self._flip = placed(columns, QWidget(self._details), 1)
        right = flush(QGridLayout(self._flip), 6)
        right.addWidget(ElidedLabel("Changes that flip the prediction", self._flip, ""), 0, 0, 1, 2)
        self._flip_image = placed(right, PlainLabel("", self._flip), 1, 0, Qt.AlignmentFlag.AlignTop)
        self.flip_text = placed(right, label("", self._flip, wraps=True), 1, 1, Qt.AlignmentFlag.AlignTop)
        right.setColumnStretch(1, 1)
        right.setRowStretch(2, 1)
        for each in (self.brief, *self.findChildren(ElidedLabel)):
            if each.property("role") == "":
                each.setFont(figure_font(self, SECONDARY, strong=True))

    def set_brief(self, brief: bool) -> None:
        """Show the prediction in one line if `brief` is True, and otherwise with all details."""
        if brief != self._brief:
            self._brief = brief
            self._show()

    def follow(self, image: NDArray[Any], name: str, unlike: bool = False) -> None:
        """Predict the class of this image now, and again whenever the classifier changes.

        Parameters
        ----------
        name : str
            Symbol that denotes the image: x, or x̃ if it is corrupted.
        unlike : bool
            True if the image is unlike the training images, so that a warning replaces the prediction.
        """
        self._input, self._unlike = name, unlike
        self.controller.follow(image)

    def lines(self) -> list[tuple[str, str, str | float]]:
        """Return the prediction as rows of a table with the columns quantity, class and value."""
        decision = self._decision()
        if decision is None or self._unlike:
            return []
        names = self._names()
        bars = [("decision", name, text) for name, _, text in _bars(decision, names)]
        return [*bars, *((f"support vector {v.row + 1}", names[v.code], v.pull) for v in decision.nearest)]

    def _decision(self) -> Decision | None:
        """Return the prediction if it belongs to the open data set, otherwise None."""
        return self.controller.decision if self.controller.decides_here else None

    def _names(self) -> tuple[str, ...]:
        dataset = self._workspace.dataset
        assert dataset is not None
        return label_names(self.controller.labels, dataset.label_names)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._show_known()

    @Slot()
    def _show_known(self) -> None:
        """If no classifier is shown, load a stored or shipped one that has the current parameters."""
        if self.isVisible():
            self._runs.show_known(self._runs.spec_of(self._runs.svm))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Show as many support vectors as the width allows. Hide the changed image if not even one fits next to it."""
        decision, width = self._decision(), self.width() - _BARS - _GAP
        has_flip = width >= _CARD + _GAP + _FLIP
        fitting = (width - (_GAP + _FLIP) * has_flip) // (_CARD + _NARROW_GAP)
        # Before the first prediction, one empty `SupportVectorCard` reserves space for the support vectors.
        shown = 1 if decision is None else min(len(decision.nearest), max(fitting, 1))
        for position, card in enumerate(self.cards):
            card.setVisible(position < shown)
        self._flip.setVisible(has_flip)
        if decision is not None:
            self._legend.setPixmap(self._legend_of(decision.shares, shown * (_CARD + _NARROW_GAP)))

    @Slot()
    def _show(self) -> None:
        controller, decision, running = self.controller, self._decision(), self._runs.training.running
        is_trained = controller.result is not None
        has_details = decision is not None and not (self._brief or self._unlike)
        self.brief.setVisible(is_trained and not has_details)
        self._details.setVisible(is_trained and has_details)
        self._hint.setVisible(not is_trained)
        why = self._runs.why_not()
        self._train.setVisible(not why)
        self._train.setEnabled(not running)
        if running:
            why = "The classifier is being trained and will predict the class of this image."
        why = why or "Train the classifier to see which class it predicts for this image, and why."
        self._why.setText(self._workspace.worded(why))
        self.brief.setText(_STOPPED if controller.is_stopped else "Preparing the classifier…")
        if decision is not None:
            self._show_decision(decision, self._names())
            flip = "" if controller.flip is None else self.flip_text.text().replace("\n", " · ")
            self.brief.setText(" · ".join(filter(None, (self.title.text(), flip, self.about.text()))))
        if self._unlike:
            self.brief.setText("The classifier’s prediction for this image would be unreliable.")
        self._reserve()
        self._fit()

    def _reserve(self) -> None:
        """Reserve the height that the prediction needs, so that the images above do not move when it appears."""
        dataset, parts = self._workspace.dataset, [self.brief, self._hint]
        if dataset is not None and not (self._brief or self._runs.why_not()):
            parts.append(self._details)
            if self._decision() is None:
                self.cards[0].image.setIconSize(self._picture(dataset.train[0]).deviceIndependentSize().toSize())
                for position, part in product(range(_MOST_BARS), range(3)):
                    self._bars[position][part].setVisible(position < dataset.n_classes)
        self.setMinimumHeight(max(part.minimumHeight() or part.sizeHint().height() for part in parts))

    def _show_decision(self, decision: Decision, names: tuple[str, ...]) -> None:
        dataset, flip = self._workspace.dataset, self.controller.flip
        assert dataset is not None
        by = _margin_text(decision.margin)
        # A negative margin means that the SVM for these two classes prefers the second one. The first class is
        # predicted because it has more votes of the pairwise SVMs or, with equally many votes, the larger sum of
        # margins.
        if decision.margin < 0:
            is_tied = decision.votes[decision.first] == decision.votes[decision.second]
            by = "the sum of margins" if is_tied else "votes"
        for each in (names, told_apart(names)):
            self.title.setText(f"“{each[decision.first]}” beats “{each[decision.second]}” by {by}")
            if self.title.shown_text() == self.title.text():
                break
        self.about.setText(self._about())
        shown = _bars(decision, each)[:_MOST_BARS]  # The bars have the same short names as the title.
        advance = self._bars[0][0].fontMetrics().horizontalAdvance
        self._grid.setColumnMinimumWidth(0, min(max(advance(name) + 1 for name, _, _ in shown), 80))
        for parts, (name, length, text) in zip(self._bars, shown + [("", 0.0, "")] * _MOST_BARS, strict=False):
            parts[0].setText(name)
            parts[1].setValue(round(100 * length))
            # Like the title, the bars show the margin of two classes once: next to the predicted class.
            parts[2].setText("" if text.startswith("−") else text)
            for part in parts:
                part.setVisible(bool(name))
        while len(self.cards) < len(decision.nearest):
            card = SupportVectorCard(self._details)
            card.clicked.connect(self._show_sample)
            self._vectors.addWidget(card)
            self.cards.append(card)
        for card, vector in zip(self.cards, decision.nearest, strict=False):
            favoured = names[decision.first if vector.pull >= 0 else decision.second]
            shares, pull = ", ".join(self._share_texts(vector.shares)), fixed(abs(vector.pull), 2)
            tip = (
                f"{self._workspace.worded('training image')} {count(vector.row + 1)}, class {names[vector.code]}\n"
                f"K = {significant(vector.kernel, 3, unlike=1.0)}; adds {pull} to the margin in favour of {favoured}\n"
                f"share of each layer in the squared distance: {shares}"
            )
            name, picture = told_apart(names)[vector.code], self._picture(dataset.train[vector.row])
            card.show_vector(vector, name, picture, tip, self._layer_colors(vector.shares))
        self._legend.setAccessibleName(", ".join(self._share_texts(decision.shares)))
        self._flip_image.setVisible(flip is not None and bool(flip.features))
        if flip is None:
            self.flip_text.setText(_STOPPED if self.controller.is_stopped else "Searching for the fewest changes…")
            return
        self.flip_text.setText(_flip_text(flip, self._workspace.worded("pixel"), names[flip.code]))
        self._flip_image.setPixmap(self._picture(flip.image, flip.features))

    def _about(self) -> str:
        result = self.controller.result
        if result is None:
            return ""
        spec, stack = result.spec, result.spec.stack
        about = describe_spec(spec)
        if spec.stacked and not METHODS[spec.method].regroups:
            layers = f"at noise {number(stack.noise)} with {counted(stack.depth, 'layer')}"
            about = f"SVM trained {layers if stack.depth else 'on the raw input'}"
        is_stale = spec.stacked and not self._workspace.has_parameters(stack)
        return f"input {self._input}, {about}{' (the panel’s parameters differ)' if is_stale else ''}"

    def _share_texts(self, shares: tuple[float, ...]) -> list[str]:
        """Return the name of each layer with its share of the squared distance between input and support vectors."""
        assert self.controller.result is not None
        names = self.controller.result.spec.group_names
        return [f"{name} {per_cent(100 * share, 0)}" for name, share in zip(names, shares, strict=False)]

    def _layer_colors(self, shares: tuple[float, ...]) -> list[QColor]:
        """Return the colour of each layer that has a share. The colours do not depend on whether h⁰ has a share."""
        assert self.controller.result is not None
        first = METHODS[self.controller.result.spec.method].omits_input
        return [theme_of(self).pin(first + number) for number in range(len(shares))]

    def _legend_of(self, shares: tuple[float, ...], width: int) -> QPixmap:
        """Return a legend with the colour and share of each layer. Layers for which there is no space are left out."""
        theme, font, ratio = theme_of(self), figure_font(self, SECONDARY), self.devicePixelRatioF()
        texts = self._share_texts(shares)
        widths = [QFontMetricsF(font).horizontalAdvance(text) + 24 for text in texts]
        legend = QPixmap((QSizeF(width, 16) * ratio).toSize())
        legend.setDevicePixelRatio(ratio)
        legend.fill(theme.background)
        left = 0.0
        with QPainter(legend) as painter:
            painter.setFont(font)
            painter.setPen(QColor(theme.muted))
            for color, text, needed in zip(self._layer_colors(shares), texts, widths, strict=True):
                if left + needed - 12 > width:
                    break
                painter.fillRect(QRectF(left, 4, 8, 8), color)
                painter.drawText(QRectF(left + 12, 0, needed, 16), MIDDLE, text)
                left += needed
        return legend

    def _picture(self, values: NDArray[Any], changed: tuple[int, ...] = ()) -> QPixmap:
        """Return a picture of a sample. Features other than pixels are shown as bars. Changed features are outlined."""
        dataset, theme, ratio = self._workspace.dataset, theme_of(self), self.devicePixelRatioF()
        assert dataset is not None
        shape = dataset.image_shape
        values = values.astype(np.float32)
        if shape is None:
            side = round(_SIDE * ratio)
            scale = ColorScale.symmetric(theme.diverging, float(np.abs(values).max(initial=1e-12)))
            picture = QPixmap.fromImage(bar_image(values, scale, (side, side), theme, theme.panel))
            spots = [QRectF((i + 0.5) * _SIDE / values.size, 0, 0, _SIDE) for i in changed]
        else:
            grid = PixelGrid(shape, 0, 0, integer_scale(max(shape), _SIDE, ratio))
            drawn = image_of(values.reshape(shape), INK, theme)
            picture = QPixmap.fromImage(drawn.scaled((grid.frame.size() * ratio).toSize()))
            spots = [grid.rect(i) for i in changed]
        picture.setDevicePixelRatio(ratio)
        with QPainter(picture) as painter:
            frame(painter, QRectF(0, 0, *picture.deviceIndependentSize().toTuple()).adjusted(1, 1, -1, -1), theme.line)
            painter.setPen(QPen(QColor(theme.danger), 1.5))
            painter.drawRects(spots)
        return picture

    @Slot(int)
    def _show_sample(self, row: int) -> None:
        self._workspace.select(sample=row)


def _bars(decision: Decision, names: tuple[str, ...]) -> list[tuple[str, float, str]]:
    """Return the name of each class with the length and label of its bar. The predicted class comes first.

    The bars show votes or, if there are only two classes, the margin.
    """
    order = [decision.first, decision.second]
    order += sorted(set(range(len(names))) - set(order), key=lambda c: (-decision.votes[c], decision.margins[c]))
    if len(names) == 2:
        margin = _margin_text(abs(decision.margin))
        length = max(decision.margin, 0.0) / 2.0
        return [(names[decision.first], min(length, 1.0), f"+{margin}"), (names[decision.second], 0.0, f"−{margin}")]
    return [(names[c], decision.votes[c] / (len(names) - 1), counted(decision.votes[c], "vote")) for c in order]


def _margin_text(margin: float) -> str:
    """Format a margin with two decimals, or with one significant digit if two decimals would show 0.00."""
    return significant(margin, 1) if 0.0 < margin < 0.005 else fixed(margin, 2)


def _flip_text(flip: Flip, noun: str, name: str) -> str:
    if not flip.features:
        return f"The search found no change of up to {MOST_CHANGES} {noun}s that flips the prediction."
    change = f"Setting {counted(len(flip.features), noun)} to the minimum or maximum gives class “{name}”"
    if len(flip.features) == 1:
        return change
    return f"{change}\n{'fewer changes do not suffice' if flip.fewest else 'fewer changes may suffice'}"
