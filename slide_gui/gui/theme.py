"""The look: colour tokens, fonts and tinted icons of the light and the dark theme.

`apply_theme` sets Fusion, a palette and one style sheet (`slide_gui.gui.style`). Widgets that paint
themselves ask `theme_of`, which reads the application's palette, so nothing else has to be kept.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from PySide6.QtCore import QByteArray, QObject, QRectF, Qt, Slot
from PySide6.QtGui import QColor, QFont, QFontDatabase, QIcon, QPainter, QPalette, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication, QWidget

from slide_gui.resources import resource

__all__ = ["DARK", "LIGHT", "PINS", "Theme", "apply_theme", "figure_font", "icon", "theme_of"]

PINS = ("#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#0072B2")
"""Colour-blind-safe colours of pins and of depth lines, always in this order."""

BODY, SECONDARY, TITLE = 13, 11, 20
"""Sizes of type, in pixels."""


@dataclass(frozen=True)
class Theme:
    """Tokens of one theme, each a colour ``#RRGGBB``; `name` is ``"light"`` or ``"dark"``."""

    name: str
    background: str
    panel: str
    line: str
    text: str
    muted: str
    accent: str
    accent_wash: str
    accent_hover: str
    accent_text: str
    on_accent: str
    hover: str
    danger: str
    danger_wash: str
    warning: str
    warning_wash: str
    paper: str
    ink: str

    @property
    def is_dark(self) -> bool:
        """Whether images are drawn white on near black."""
        return self.name == "dark"

    @property
    def diverging(self) -> str:
        """The colour map for weights whose zero vanishes in this theme."""
        return "blue-black-red" if self.is_dark else "blue-white-red"

    def pin(self, number: int) -> QColor:
        """Return the colour of the pin or depth `number` = 0, 1, …; after the last they start again."""
        return QColor(PINS[number % len(PINS)])

    def tokens(self) -> dict[str, str]:
        """Return name → colour, for the style sheet."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


LIGHT = Theme(
    name="light",
    background="#F7F7F8",
    panel="#FFFFFF",
    line="#E2E3E7",
    text="#1D1F24",
    muted="#666B76",
    accent="#2F6FDE",
    accent_wash="#E8F0FD",
    accent_hover="#2560C8",
    accent_text="#245FC9",
    on_accent="#FFFFFF",
    hover="#EEEFF2",
    danger="#B42318",
    danger_wash="#FDECEA",
    warning="#8A5A00",
    warning_wash="#FFF4DC",
    paper="#FFFFFF",
    ink="#1B1B1D",
)

DARK = Theme(
    name="dark",
    background="#1B1D21",
    panel="#24272C",
    line="#363A41",
    text="#E8EAED",
    muted="#9AA0AB",
    accent="#6FA3FF",
    accent_wash="#2A3550",
    accent_hover="#8CB6FF",
    accent_text="#7FAEFF",
    on_accent="#14161A",
    hover="#2D3137",
    danger="#FF8A80",
    danger_wash="#432A2C",
    warning="#F2B84B",
    warning_wash="#3D3321",
    paper="#17181B",
    ink="#FFFFFF",
)


def theme_of(widget: QWidget) -> Theme:
    """Return the theme of `widget`; while it changes, widgets take their own palettes one after the other."""
    return DARK if QApplication.palette(widget).color(QPalette.ColorRole.Window).lightness() < 128 else LIGHT


def apply_theme(app: QApplication, choice: str) -> None:
    """Dress the whole application, now and, for ``"system"``, whenever the system changes.

    Parameters
    ----------
    app : QApplication
    choice : {"light", "dark", "system"}
    """
    if choice not in ("light", "dark", "system"):
        raise ValueError(f'theme must be "light", "dark" or "system", not {choice!r}')
    follower = app.findChild(_Follower) or _Follower(app)
    follower.follow(choice)


class _Follower(QObject):
    """Keeps the person's choice and, where that is the system's, follows its changes."""

    def __init__(self, app: QApplication) -> None:
        super().__init__(app)
        self._app, self._choice, self._shown = app, "", ""
        app.setStyle("Fusion")
        font = QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont)
        font.setPixelSize(BODY)
        app.setFont(_tabular(font))
        app.styleHints().colorSchemeChanged.connect(self._scheme_changed)

    def follow(self, choice: str) -> None:
        self._choice = choice
        hints = self._app.styleHints()
        # Told to the platform too, so that the window's frame agrees.
        if choice == "system":
            hints.unsetColorScheme()
        else:
            hints.setColorScheme(Qt.ColorScheme.Dark if choice == "dark" else Qt.ColorScheme.Light)
        self._dress()

    @Slot()
    def _scheme_changed(self) -> None:
        self._dress()

    def _dress(self) -> None:
        from slide_gui.gui.style import palette, style_sheet

        dark = self._choice == "dark" or (self._choice == "system" and _asked_for(self._app) == Qt.ColorScheme.Dark)
        theme = DARK if dark else LIGHT
        if theme.name != self._shown:
            self._shown = theme.name
            self._app.setPalette(palette(theme))
            self._app.setStyleSheet(style_sheet(theme))


def _asked_for(app: QApplication) -> Qt.ColorScheme:
    return app.styleHints().colorScheme()


def figure_font(widget: QWidget, size: int = BODY, strong: bool = False) -> QFont:
    """Return the widget's font at `size` pixels with tabular figures, weight 600 if `strong`."""
    font = QFont(widget.font())
    font.setPixelSize(size)
    font.setWeight(QFont.Weight.DemiBold if strong else QFont.Weight.Normal)
    return _tabular(font)


def _tabular(font: QFont) -> QFont:
    font.setFeature(QFont.Tag("tnum"), 1)
    return font


def icon(name: str, theme: Theme) -> QIcon:
    """Return ``resources/icons/NAME.svg`` in the theme's colours, at 1 to 3 device pixels a pixel.

    Normal in the text colour, checked in the accent, disabled in the line colour.

    Raises
    ------
    FileNotFoundError
        If there is no such drawing.
    """
    drawing = resource(f"icons/{name}.svg").read_text(encoding="utf-8")
    found = QIcon()
    for mode, state, colour in (
        (QIcon.Mode.Normal, QIcon.State.Off, theme.text),
        (QIcon.Mode.Normal, QIcon.State.On, theme.accent_text),
        (QIcon.Mode.Disabled, QIcon.State.Off, theme.line),
        (QIcon.Mode.Disabled, QIcon.State.On, theme.line),
    ):
        renderer = QSvgRenderer(QByteArray(drawing.replace("currentColor", colour).encode()))
        for size in (16, 20, 24, 32, 48, 72):
            found.addPixmap(_render(renderer, size), mode, state)
    return found


def _render(renderer: QSvgRenderer, size: int) -> QPixmap:
    pixmap = QPixmap(size, size)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    renderer.render(painter, QRectF(0, 0, size, size))
    painter.end()
    return pixmap
