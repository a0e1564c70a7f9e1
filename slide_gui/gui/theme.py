"""Colours, fonts, icons, palette and style sheet of the light theme and the dark theme."""

from dataclasses import asdict, dataclass, field, fields
from string import Template
from typing import cast

from PySide6.QtCore import QObject, QRectF, QSettings, Qt, Signal, SignalInstance, Slot
from PySide6.QtGui import QColor, QFont, QFontDatabase, QIcon, QImage, QPainter, QPalette, QPixmap
from PySide6.QtWidgets import QApplication, QWidget

from slide_gui.resources import resource

# Colours of pins and depths that colour-blind users can distinguish. Their contrast with the page is at least 3.
PINS = {
    "light": ("#C24E00", "#009E73", "#C0609A", "#2A93D5", "#B98200", "#005A91"),
    "dark": ("#E06A10", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#2487C9"),
}

# The font sizes of the window in pixels.
BODY, SECONDARY = 13, 11
# The themes that the user can choose.
THEMES = ("system", "light", "dark")
# The scale factors that the user can choose for text, images and controls.
SCALES = (1.0, 1.25, 1.5, 1.75, 2.0)


@dataclass(frozen=True)
class Theme:
    """The colours of one theme, each as ``#RRGGBB``. The attribute `name` is ``"light"`` or ``"dark"``.

    The default value of each field is its colour in the light theme; its metadata contain its colour in the dark theme.
    """

    name: str = "light"
    background: str = field(default="#F7F7F8", metadata={"dark": "#1B1D21"})
    panel: str = field(default="#FFFFFF", metadata={"dark": "#24272C"})
    line: str = field(default="#E2E3E7", metadata={"dark": "#363A41"})
    edge: str = field(default="#868B95", metadata={"dark": "#777D88"})
    text: str = field(default="#1D1F24", metadata={"dark": "#E8EAED"})
    muted: str = field(default="#666B76", metadata={"dark": "#9AA0AB"})
    accent: str = field(default="#2F6FDE", metadata={"dark": "#6FA3FF"})
    accent_wash: str = field(default="#E8F0FD", metadata={"dark": "#2A3550"})
    accent_hover: str = field(default="#2560C8", metadata={"dark": "#8CB6FF"})
    accent_text: str = field(default="#245FC9", metadata={"dark": "#7FAEFF"})
    on_accent: str = field(default="#FFFFFF", metadata={"dark": "#14161A"})
    hover: str = field(default="#EEEFF2", metadata={"dark": "#2D3137"})
    danger: str = field(default="#B42318", metadata={"dark": "#FF8A80"})
    danger_wash: str = field(default="#FDECEA", metadata={"dark": "#432A2C"})
    # The colours `better` and `worse` were chosen so that colour-blind users can distinguish them.
    better: str = field(default="#0072B2", metadata={"dark": "#56B4E9"})
    worse: str = field(default="#D55E00", metadata={"dark": "#E69F00"})
    paper: str = field(default="#FFFFFF", metadata={"dark": "#17181B"})
    ink: str = field(default="#1B1B1D", metadata={"dark": "#FFFFFF"})

    @property
    def is_dark(self) -> bool:
        """True for the dark theme, in which images are drawn in white on an almost black background."""
        return self.name == "dark"

    @property
    def diverging(self) -> str:
        """Return the diverging colour map in which the colour of zero is close to the background of this theme."""
        return "blue-black-red" if self.is_dark else "blue-white-red"

    def pin(self, number: int) -> QColor:
        """Return the colour of the pin or depth with index `number`. The colours repeat after the last one."""
        pins = PINS[self.name]
        return QColor(pins[number % len(pins)])


LIGHT = Theme()
DARK = Theme("dark", **{each.name: each.metadata["dark"] for each in fields(Theme) if each.metadata})

BLUE, ORANGE = "blue", "orange"
_GREY_LUMINANCE = 0.179  # A grey with this luminance has the same contrast with black and with white.

# Each row contains colours of one hue for magnitudes from 0 to the maximum. Their lightness increases or decreases
# steadily, and the colour for 0 is close to the colour of the page.
_MAGNITUDES = {
    (BLUE, "light"): ("#ECF2FB", "#BBD4F3", "#7FADE4", "#4580CB", "#1F5299", "#0B2A5C"),
    (BLUE, "dark"): ("#262D39", "#2C4567", "#38669D", "#518ECF", "#8ABAEC", "#D3E8FF"),
    (ORANGE, "light"): ("#FFF2E6", "#FBD0A8", "#F2A262", "#D8701F", "#A1480A", "#6B2A02"),
    (ORANGE, "dark"): ("#32291F", "#59391D", "#8D521B", "#C6742B", "#EFA566", "#FFE1C4"),
}


def sequential(theme: Theme, share: float, hue: str = BLUE) -> QColor:
    """Return the colour for a magnitude, given as a fraction `share` of the maximum.

    Large magnitudes have dark colours in the light theme and light colours in the dark theme.
    """
    anchors = _MAGNITUDES[hue, theme.name]
    place = min(max(share, 0.0), 1.0) * (len(anchors) - 1)
    left = min(int(place), len(anchors) - 2)
    return towards(QColor(anchors[left + 1]), QColor(anchors[left]), place - left)


def towards(colour: QColor, page: QColor, share: float) -> QColor:
    """Return a mixture of `colour` and `page`, in which `share` is the fraction of `colour`."""
    return QColor(*(round(share * a + (1 - share) * b) for a, b in zip(_rgb(colour), _rgb(page), strict=True)))


def _rgb(colour: QColor) -> tuple[int, int, int]:
    return colour.red(), colour.green(), colour.blue()


def luminance(colour: QColor) -> float:
    """Return the relative luminance of a colour, from 0 for black to 1 for white (WCAG 2)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in _rgb(colour))]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def ink_on(colour: QColor) -> QColor:
    """Return black or white, whichever is more readable on this colour; the contrast is at least 4.5."""
    return QColor("#000000" if luminance(colour) > _GREY_LUMINANCE else "#FFFFFF")


def paint_ramp(painter: QPainter, theme: Theme, box: QRectF, hue: str = BLUE) -> None:
    """Fill a rectangle with the colours for magnitudes from 0 on the left to the maximum on the right."""
    from PySide6.QtGui import QLinearGradient  # Import only when needed, because the import is slow.

    ramp = QLinearGradient(box.topLeft(), box.topRight())
    anchors = _MAGNITUDES[hue, theme.name]
    for number, colour in enumerate(anchors):
        ramp.setColorAt(number / (len(anchors) - 1), QColor(colour))
    painter.fillRect(box, ramp)


def stored_theme(settings: QSettings) -> str:
    """Return the theme stored in the settings, or "system" if it is missing or invalid."""
    name = str(settings.value("theme", "system"))
    return name if name in THEMES else "system"


def stored_scale(settings: QSettings) -> float:
    """Return the display size stored in the settings, a factor from 1 to 2, or 1 if it is missing or invalid."""
    return next((scale for scale in SCALES if str(scale) == str(settings.value("scale", "1.0"))), 1.0)


def theme_of(widget: QWidget) -> Theme:
    """Return the theme of `widget`.

    While the theme changes, two widgets can have different themes, because Qt updates one widget after another.
    """
    return DARK if QApplication.palette(widget).color(QPalette.ColorRole.Window).lightness() < 128 else LIGHT


def apply_theme(app: QApplication, choice: str) -> None:
    """Apply a theme to the application. With ``"system"``, also follow later changes of the system's theme.

    Parameters
    ----------
    choice : {"light", "dark", "system"}
    """
    (app.findChild(_Follower) or _Follower(app)).follow(choice)


def theme_changed() -> SignalInstance:
    """Return the signal that is emitted when all widgets have changed to another theme, or a screen was connected."""
    app = cast(QApplication, QApplication.instance())
    return cast(_Follower, app.findChild(_Follower)).themed


class _Follower(QObject):
    """Stores the user's choice of theme and applies it. If the choice is "system", the system's theme is applied."""

    themed = Signal()

    def __init__(self, app: QApplication) -> None:
        super().__init__(app)
        self._app, self._choice, self._shown = app, "", ""
        app.setStyle("Fusion")
        font = QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont)
        font.setPixelSize(BODY)
        app.setFont(_tabular(font))
        app.styleHints().colorSchemeChanged.connect(self._dress)
        app.screenAdded.connect(self.themed)

    def follow(self, choice: str) -> None:
        self._choice = choice
        hints = self._app.styleHints()
        # Qt passes the colour scheme to the platform, which draws the window frame in a matching colour.
        if choice == "system":
            hints.unsetColorScheme()
        else:
            hints.setColorScheme(Qt.ColorScheme.Dark if choice == "dark" else Qt.ColorScheme.Light)
        self._dress(hints.colorScheme())

    @Slot(Qt.ColorScheme)
    def _dress(self, scheme: Qt.ColorScheme) -> None:
        dark = self._choice == "dark" or (self._choice == "system" and scheme == Qt.ColorScheme.Dark)
        theme = DARK if dark else LIGHT
        if theme.name != self._shown:
            self._shown = theme.name
            self._app.setPalette(palette(theme))
            self._app.setStyleSheet(style_sheet(theme))
            self.themed.emit()


def figure_font(widget: QWidget, size: int = BODY, strong: bool = False) -> QFont:
    """Return a widget's font with a size of `size` pixels and digits of equal width; semi-bold if `strong` is True."""
    font = QFont(widget.font())
    font.setPixelSize(size)
    font.setWeight(QFont.Weight.DemiBold if strong else QFont.Weight.Normal)
    return _tabular(font)


def _tabular(font: QFont) -> QFont:
    font.setFeature(QFont.Tag("tnum"), 1)
    return font


def icon(name: str, theme: Theme) -> QIcon:
    """Return an icon in the theme's colours, 20 logical pixels wide, for the screens that are connected now.

    The icon is read from ``resources/icons/<name>.svg``. Its parts with the colour "currentColor" have the text colour
    on normal buttons, the accent colour on checked buttons and the line colour on disabled buttons.
    """
    drawing = resource(f"icons/{name}.svg").read_text(encoding="utf-8")
    tinted = QIcon()
    for mode, colour, states in (
        (QIcon.Mode.Normal, theme.text, (QIcon.State.Off,)),
        (QIcon.Mode.Normal, theme.accent_text, (QIcon.State.On,)),
        (QIcon.Mode.Disabled, theme.line, (QIcon.State.Off, QIcon.State.On)),
    ):
        for size in {round(20 * screen.devicePixelRatio()) for screen in QApplication.screens()}:
            svg = drawing.replace("currentColor", colour).replace("<svg", f'<svg width="{size}" height="{size}"')
            pixmap = QPixmap.fromImage(QImage.fromData(svg.encode()))
            for state in states:
                tinted.addPixmap(pixmap, mode, state)
    return tinted


def palette(theme: Theme) -> QPalette:
    """Return the Qt palette of a theme, which the Fusion style and the program's own widgets use for painting."""
    role = QPalette.ColorRole
    roles = {
        theme.background: (role.Window, role.ToolTipText),
        theme.text: (role.WindowText, role.Text, role.ButtonText, role.ToolTipBase),
        theme.panel: (role.Base, role.Button, role.Light),
        theme.hover: (role.AlternateBase, role.Midlight),
        theme.muted: (role.PlaceholderText,),
        theme.line: (role.Mid, role.Dark, role.Shadow),
        theme.danger: (role.BrightText,),
        theme.accent: (role.Highlight, role.Accent),
        theme.on_accent: (role.HighlightedText,),
        theme.accent_text: (role.Link, role.LinkVisited),
    }
    dressed = QPalette()
    for colour, each in ((colour, each) for colour, several in roles.items() for each in several):
        dressed.setColor(each, QColor(colour))
    for each in (role.WindowText, role.Text, role.ButtonText):
        dressed.setColor(QPalette.ColorGroup.Disabled, each, QColor(theme.muted))
    return dressed


def style_sheet(theme: Theme) -> str:
    """Return the application's style sheet: ``resources/style.qss``, whose $names are replaced by theme colours."""
    names = {each: each for each in ("chevron_down", "chevron_up", "chevron_right")}
    names["check"] = f"check_{theme.name}"
    paths = {f"icon_{key}": resource(f"icons/{name}.svg").as_posix() for key, name in names.items()}
    return Template(resource("style.qss").read_text(encoding="utf-8")).substitute(asdict(theme), **paths)
