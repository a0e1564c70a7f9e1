from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings, QSize, Qt
from PySide6.QtGui import QColor, QIcon
from PySide6.QtWidgets import QApplication, QPushButton, QWidget

from slide_gui.gui.app import stored_theme
from slide_gui.gui.shell.page_stack import PAGES, PageSpec
from slide_gui.gui.theme import DARK, LIGHT, PINS, Theme, apply_theme, figure_font, icon, style_sheet, theme_of
from slide_gui.gui.widgets.painted import STALE
from slide_gui.gui.widgets.sequential import BLUE, ORANGE, ink_on, sequential, towards

# Text in the first colour stands on the second somewhere in the program.
TEXT_ON = [
    *((t, g) for t in ("text", "muted") for g in ("background", "panel", "hover", "accent_wash")),
    ("text", "danger_wash"),
    ("text", "line"),
    ("text", "paper"),
    ("muted", "paper"),
    *(("accent_text", g) for g in ("background", "panel", "accent_wash", "hover")),
    ("on_accent", "accent"),
    ("on_accent", "accent_hover"),
    ("danger", "background"),
    ("danger", "panel"),
    ("danger", "danger_wash"),
    ("background", "text"),
]

# What is drawn in the first colour, an edge, a ring or a line, tells something on the second.
DRAWN_ON = [
    *(("accent", g) for g in ("background", "panel", "hover", "accent_wash", "paper", "line")),
    *(("edge", g) for g in ("background", "panel")),
    *((line, g) for line in ("text", "muted", "danger") for g in ("background", "panel", "paper")),
]


@pytest.fixture
def dressed(app: QApplication) -> Iterator[QApplication]:
    yield app
    apply_theme(app, "light")


def luminance(colour: str) -> float:
    parts = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in QColor(colour).getRgbF()[:3]]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda t: t.name)
@pytest.mark.parametrize(("text", "ground"), TEXT_ON)
def test_that_text_has_a_contrast_of_4_5(theme: Theme, text: str, ground: str) -> None:
    assert contrast(getattr(theme, text), getattr(theme, ground)) >= 4.5


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda t: t.name)
@pytest.mark.parametrize(("drawn", "ground"), DRAWN_ON)
def test_that_edges_rings_and_lines_have_a_contrast_of_3(theme: Theme, drawn: str, ground: str) -> None:
    assert contrast(getattr(theme, drawn), getattr(theme, ground)) >= 3.0


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda t: t.name)
def test_that_every_pin_and_line_of_a_plot_has_a_contrast_of_3(theme: Theme) -> None:
    for number in range(6):
        for ground in (theme.background, theme.panel, theme.paper):
            assert contrast(theme.pin(number).name(), ground) >= 3.0


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda t: t.name)
def test_that_ink_reads_on_every_colour_of_a_scale(theme: Theme) -> None:
    for hue in (BLUE, ORANGE):
        for share in range(256):
            colour = sequential(theme, share / 255, hue)
            for shown in (colour, towards(colour, QColor(theme.background), STALE)):
                assert contrast(ink_on(shown).name(), shown.name()) >= 4.5


def test_that_pins_repeat_in_their_order() -> None:
    for theme in (LIGHT, DARK):
        pins = PINS[theme.name]
        assert len(set(pins)) == 6
        assert [theme.pin(i).name().upper() for i in range(7)] == [*pins, pins[0]]


@pytest.mark.parametrize(("choice", "theme"), [("dark", DARK), ("light", LIGHT)])
def test_that_widgets_know_their_theme_from_their_palette(dressed: QApplication, choice: str, theme: Theme) -> None:
    apply_theme(dressed, choice)
    widget = QWidget()
    assert theme_of(widget) is theme
    assert widget.palette().window().color() == QColor(theme.background)


def test_that_system_follows_the_system_and_a_choice_does_not(
    dressed: QApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    from slide_gui.gui import theme as module

    apply_theme(dressed, "system")
    follower = dressed.findChild(module._Follower)
    monkeypatch.setattr(module, "_asked_for", lambda app: Qt.ColorScheme.Dark)
    dressed.styleHints().colorSchemeChanged.emit(Qt.ColorScheme.Dark)
    assert theme_of(QWidget()) is DARK
    apply_theme(dressed, "light")
    dressed.styleHints().colorSchemeChanged.emit(Qt.ColorScheme.Dark)
    assert theme_of(QWidget()) is LIGHT
    assert dressed.findChildren(module._Follower) == [follower]


def test_that_an_unknown_theme_is_refused(app: QApplication) -> None:
    with pytest.raises(ValueError, match="system"):
        apply_theme(app, "sepia")


@pytest.mark.parametrize("name", ["@Invalid()", "@Variant(\\0\\0\\0\\x7f)", "blue", "light, dark", "@Size(1 2)", ""])
def test_that_a_settings_file_without_a_theme_that_there_is_asks_for_the_systems(name: str, tmp_path: Path) -> None:
    path = tmp_path / "settings.ini"
    path.write_text(f"[General]\ntheme={name}\n")
    assert stored_theme(QSettings(str(path), QSettings.Format.IniFormat)) == "system"


def test_that_a_chosen_theme_is_kept(tmp_path: Path) -> None:
    settings = QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat)
    for name in ("light", "dark", "system"):
        settings.setValue("theme", name)
        assert stored_theme(settings) == name


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda t: t.name)
def test_that_the_style_sheet_has_every_token_filled_and_every_picture(theme: Theme) -> None:
    sheet = style_sheet(theme)
    assert "$" not in sheet
    pictures = [line.split('url("')[1].split('"')[0] for line in sheet.splitlines() if "url(" in line]
    assert pictures
    assert all(Path(p).is_file() for p in pictures)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_that_every_icon_is_drawn_in_the_themes_colours(app: QApplication, page: PageSpec) -> None:
    for state, colour in ((QIcon.State.Off, LIGHT.text), (QIcon.State.On, LIGHT.accent_text)):
        image = icon(page.icon, LIGHT).pixmap(QSize(48, 48), QIcon.Mode.Normal, state).toImage()
        solid = [
            image.pixelColor(x, y)
            for x in range(image.width())
            for y in range(image.height())
            if image.pixelColor(x, y).alpha() == 255
        ]
        assert len(solid) > 20
        assert {c.name().upper() for c in solid} == {colour}


def test_that_figures_are_tabular_and_sized_in_pixels(app: QApplication) -> None:
    font = figure_font(QWidget(), 11, strong=True)
    assert font.pixelSize() == 11
    assert font.weight() == 600
    assert [bytes(t.toString().data()) for t in font.featureTags()] == [b"tnum"]


def test_that_a_focused_button_looks_different(shown: Callable[..., QWidget]) -> None:
    window = QWidget()
    button, other = QPushButton("Open", window), QPushButton("Close", window)
    other.move(0, 60)
    shown(window, 120, 120)
    other.setFocus()
    before = button.grab().toImage()
    button.setFocus()
    after = button.grab().toImage()
    assert before.size() == after.size()
    assert before.pixelColor(40, 0) == QColor(LIGHT.edge)
    assert after.pixelColor(40, 0) == QColor(LIGHT.accent)
