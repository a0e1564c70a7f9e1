"""The card that shows one step of the tour with its text from resources/help/tour.md, and the outline of a control."""

from dataclasses import dataclass

from PySide6.QtCore import QPoint, QRectF, Qt
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QColor, QPainter, QPaintEvent, QPen, QRegion
from PySide6.QtWidgets import QBoxLayout, QFrame, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from slide_gui.gui.theme import figure_font, theme_of
from slide_gui.gui.widgets.controls import add_button, label
from slide_gui.gui.widgets.layouts import flush, nested
from slide_gui.resources import resource

_RING = 3  # Distance in pixels between a control and the outer edge of its outline.
_STATE = 96  # Width in pixels of the label `state` if the labels are side by side.
_ANY = 16_777_215  # Maximum size of a widget: Qt's constant QWIDGETSIZE_MAX, which PySide6 does not define.


@dataclass(frozen=True)
class CardText:
    """The text of a card: a question as the title, an action for the user, and the result of the action.

    Action and result are in Markdown.
    """

    title: str
    action: str
    result: str = ""


OFFER = CardText(
    "New here?", "A ten-minute tour leads from one pixel to the paper’s results. Your data are restored afterwards."
)


def card_texts() -> tuple[CardText, ...]:
    """Return the text of each card: a section of tour.md, without the number in its heading."""
    sections = (resource("help") / "tour.md").read_text(encoding="utf-8").split("\n## ")[1:]
    texts = []
    for section in sections:
        heading, action, *result = section.strip().split("\n\n")
        texts.append(CardText(heading.partition(". ")[2] or heading, action, *result))
    return tuple(texts)


class TourCard(QFrame):
    """A card with a question, an action for the user, and the result of the action.

    The card is part of the window's layout and does not cover other widgets.

    Attributes
    ----------
    action, result : PlainLabel
        Labels that describe the action, with links to commands, and the result of the action.
    state : PlainLabel
        Label with the number of the card, such as "2 of 9", and a tick mark after the user has completed the action.
    back, next, leave : QPushButton
        Buttons that show the previous or the next card, or end the tour.
    """

    def __init__(self, width: int, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("role", "panel")
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self._width, self.is_wide = width, False
        self._column = column = flush(QVBoxLayout(self), 8, (12, 0, 12, 12))
        self._rule = QFrame(self)
        self._rule.setProperty("role", "rule")
        self.state, self._title = label("", self, "for", wraps=True), label("", self, "", wraps=True)
        self.action, self.result = label("", self, "", wraps=True), label("", self, "", wraps=True)
        for each in (self._rule, self.state, self._title):
            column.addWidget(each)
        for stretch, each in enumerate((self.action, self.result), 1):
            column.addWidget(each, stretch)  # Side by side, the result is wider, because its text is longer.
            # Markdown may refer to files and web pages. This text may be shown as Markdown, because it comes from this
            # program.
            each.setTextFormat(Qt.TextFormat.MarkdownText)
        row = nested(column, QHBoxLayout(), spacing=4)
        self.leave = add_button(self, row, "&Leave", kind="flat")
        row.addStretch(1)
        self.back = add_button(self, row, "&Back", "Show the previous card")
        self.next = add_button(self, row, "&Next", kind="primary")
        self.hide()

    def show_text(self, shown: CardText, state: str, words: tuple[str, str], tips: tuple[str, str]) -> None:
        """Show the text of a card below the label `state`, and let screen readers announce both.

        `words` and `tips` contain the labels and the tooltips of the buttons `leave` and `next`.
        """
        self._title.setFont(figure_font(self, strong=True))
        self._title.setText(shown.title)
        self.action.setText(shown.action)
        self.result.setText(shown.result)
        self.result.setVisible(bool(shown.result))
        flags, has_links = Qt.TextInteractionFlag, "](" in shown.action
        self.action.setTextInteractionFlags(flags.TextBrowserInteraction if has_links else flags.NoTextInteraction)
        for button, word, tip in zip((self.leave, self.next), words, tips, strict=True):
            button.setText(word)
            button.setToolTip(tip)
        self.set_state(state)
        self.show()
        self._fit()

    def set_wide(self, wide: bool) -> None:
        """Arrange text and buttons side by side if `wide` is True, and otherwise in a column of the initial width."""
        self.is_wide = wide
        self._rule.setVisible(not wide)
        # The label `state` has a fixed width, so that the other labels do not move when its text changes.
        self.state.setFixedWidth(_STATE if wide else self._width - 24)
        self._column.setDirection(QBoxLayout.Direction.LeftToRight if wide else QBoxLayout.Direction.TopToBottom)
        self._column.setContentsMargins(12, 12 if wide else 0, 12, 12)
        self._fit()

    def _fit(self) -> None:
        if self.is_wide:
            self.setMinimumSize(0, 0)
            self.setMaximumSize(_ANY, _ANY)
        else:
            self.setFixedSize(self._width, self._column.totalHeightForWidth(self._width))

    def set_state(self, state: str) -> None:
        """Set the text of the label `state`, and let screen readers announce it together with the text of the card."""
        plain = f"{self.action.text()} {self.result.text()}".replace("*", "")
        self.state.setText(state)
        self._fit()
        self.setAccessibleName(f"Tour, {state}: {self._title.text()}")
        self.setAccessibleDescription(plain)
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, f"{state}. {self._title.text()} {plain}"))


class Outline(QWidget):
    """An outline around a control. It is drawn above all other widgets of its parent and receives no mouse events."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._host = parent
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def surround(self, control: QWidget | None) -> None:
        """Outline the visible part of a control; hide the outline if no part is visible or `control` is None."""
        if control is None or control.visibleRegion().isEmpty():
            self.hide()
            return
        box = control.visibleRegion().boundingRect().translated(control.mapTo(self._host, QPoint()))
        box = box.adjusted(-_RING, -_RING, _RING, _RING) & self._host.rect()
        if box != self.geometry() or not self.isVisible():
            self.setGeometry(box)
            inside = self.rect().adjusted(_RING, _RING, -_RING, -_RING)
            self.setMask(QRegion(self.rect()).subtracted(QRegion(inside)))
            self.show()
            self.raise_()

    def paintEvent(self, _event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(QColor(theme_of(self).accent), 2.0))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), _RING, _RING)
