from itertools import pairwise
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QWidget

from slide_gui.gui.theme import (
    BLUE,
    DARK,
    LIGHT,
    ORANGE,
    apply_theme,
    contrast,
    ink_on,
    sequential,
    stored_theme,
    style_sheet,
    theme_of,
    towards,
)
from slide_gui.gui.widgets.painted import STALE

# The program shows text in the first colour on the second.
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

# The program draws informative edges, rings or lines in the first colour on the second.
DRAWN_ON = [
    *(("accent", g) for g in ("background", "panel", "hover", "accent_wash", "paper", "line")),
    *(("edge", g) for g in ("background", "panel")),
    *((line, g) for line in ("text", "muted", "danger") for g in ("background", "panel", "paper")),
]


@pytest.fixture
def themed_app(app):
    yield app
    apply_theme(app, "light")


def ratio(theme, one, other):
    return contrast(QColor(getattr(theme, one)), QColor(getattr(theme, other)))


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda t: t.name)
def test_that_text_has_a_contrast_of_4_5_and_edges_lines_and_pins_one_of_3(theme):
    assert contrast(QColor("#777777"), QColor("white")) == pytest.approx(4.48, abs=0.01)  # known value by WCAG 2
    assert [pair for pair in TEXT_ON if ratio(theme, *pair) < 4.5] == []
    assert [pair for pair in DRAWN_ON if ratio(theme, *pair) < 3.0] == []
    pins = [theme.pin(number) for number in range(7)]
    assert len({pin.name() for pin in pins}) == 6
    assert pins[6] == pins[0]
    for ground in (theme.background, theme.panel, theme.paper):
        assert min(contrast(pin, QColor(ground)) for pin in pins) >= 3.0


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda t: t.name)
@pytest.mark.parametrize("hue", [BLUE, ORANGE])
def test_that_magnitudes_change_lightness_one_way_and_ink_reads_on_every_colour(theme, hue):
    page = QColor(theme.background)
    colours = [sequential(theme, entry / 255, hue) for entry in range(256)]
    steps = [contrast(colour, page) for colour in colours[::6]]
    assert all(b > a for a, b in pairwise(steps))
    assert steps[0] < 1.5
    assert contrast(colours[-1], page) > 7.0
    for colour in colours:
        for shown in (colour, towards(colour, page, STALE)):
            assert contrast(ink_on(shown), shown) >= 4.5


def test_that_system_follows_the_system_and_a_choice_does_not(themed_app):
    from slide_gui.gui import theme as module

    apply_theme(themed_app, "system")
    follower = themed_app.findChild(module._Follower)
    themed_app.styleHints().colorSchemeChanged.emit(Qt.ColorScheme.Dark)
    assert theme_of(QWidget()) is DARK
    apply_theme(themed_app, "light")
    themed_app.styleHints().colorSchemeChanged.emit(Qt.ColorScheme.Dark)
    assert theme_of(QWidget()) is LIGHT
    assert themed_app.findChildren(module._Follower) == [follower]
    with pytest.raises(ValueError, match="system"):
        apply_theme(themed_app, "sepia")


def test_that_a_chosen_theme_is_stored_and_an_unknown_one_is_the_systems(tmp_path):
    path = tmp_path / "settings.ini"
    for name in ("light", "dark", "system"):
        settings = QSettings(str(path), QSettings.Format.IniFormat)
        settings.setValue("theme", name)
        assert stored_theme(settings) == name
    for number, name in enumerate(("@Invalid()", "@Variant(\\0\\0\\0\\x7f)", "blue", "light, dark", "@Size(1 2)", "")):
        path = tmp_path / f"{number}.ini"
        path.write_text(f"[General]\ntheme={name}\n")
        assert stored_theme(QSettings(str(path), QSettings.Format.IniFormat)) == "system"


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda t: t.name)
def test_that_the_style_sheet_has_every_token_filled_and_every_picture(theme):
    sheet = style_sheet(theme)
    assert "$" not in sheet
    pictures = [line.split('url("')[1].split('"')[0] for line in sheet.splitlines() if "url(" in line]
    assert pictures
    assert all(Path(p).is_file() for p in pictures)
