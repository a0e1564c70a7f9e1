"""The window in another language, in a process of its own: what is cut, and what is said without the catalogue.

``python -m tests.gui.in_language de`` speaks German, ``… marked`` puts ⟦ and ⟧ around every text of the catalogue, so
that what stands outside is a text that nobody can translate. Prints one JSON document.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from slide_gui import language
from tests.bracketed import Bracketed

MARKED = re.compile(r"⟦[^⟦⟧]*(⟧|$)")  # also a text that is shortened
KEYS = re.compile(r"\((Ctrl|Shift|Alt|Esc|Del|Return|Enter|F\d)[^)]*\)|tcp://\S+")
NAMES = re.compile(
    "slide-gui|SLIDE-SVM, median widths|SLIDE(-SVM)?|MNIST(-basic)?|Convex|Rectangles(-Images)?|Raw-SVM|RMS|max"
    "|bars|across|down"
)
"""What is called alike in every language, and what the data call themselves."""
WORD = re.compile(r"[A-Za-z]{3,}")


def unmarked(text: str) -> str:
    """Return what of a text stands outside of all brackets."""
    while MARKED.search(text):
        text = MARKED.sub("", text)
    return NAMES.sub("", KEYS.sub("", text))


def main(name: str) -> None:
    if name == "marked":
        language._words = Bracketed()
    else:
        language.speak(name)
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    # After the choice: tables of choices are made of words while they are imported.
    from PySide6.QtCore import QSettings

    from slide_gui.gui.app import make_application, tear_down
    from slide_gui.gui.main_window import MainWindow
    from tests.gui.given import Given, labelled, wait

    make_application()
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "runs.sqlite"
        window = MainWindow(QSettings(str(Path(folder) / "s.ini"), QSettings.Format.IniFormat), store)
        window.resize(1280, 720)
        window.show()
        window.workspace.open(Given(labelled()))
        wait(lambda: window.workspace.model() is not None and not window.lane.busy)
        window.workspace.select(pins=(3, 20))
        window.actions_by_name["train"].trigger()
        wait(lambda: window.session.runs.result is not None and not window.lane.busy, 60)
        texts, cuts = look(window)
        tear_down(window)
    outside = sorted({f"{where}: {text}" for where, text in texts if text != "Cancel" and WORD.search(unmarked(text))})
    print(json.dumps({"said": len(texts), "outside": outside, "cut": sorted(cuts)}, ensure_ascii=False))


def look(window: object) -> tuple[set[tuple[str, str]], set[str]]:
    """Return every text that is there with where it was, and what is cut, of all pages, views and dialogs."""
    from PySide6.QtWidgets import QWidget

    from slide_gui.gui.main_window import MainWindow
    from tests.gui.given import settle
    from tests.gui.test_accessibility import dialogs, over_pages, walk
    from tests.gui.test_space import cut

    assert isinstance(window, MainWindow)
    texts: set[tuple[str, str]] = set()
    cuts: set[str] = set()

    class Look:
        @staticmethod
        def over(root: QWidget, where: str) -> None:
            settle()
            for seen in walk(root):
                texts.update((where, each) for each in (seen.name, seen.description))
            texts.update((where, each) for each in written(root))
            cuts.update(f"{where}: {each}" for each in cut(root))

    for size in ((960, 640), (1280, 720)):
        window.resize(*size)
        over_pages(Look, window, f"{size[0]}")
    texts.update(
        ("commands", text) for action in window.actions_by_name.values() for text in (action.text(), action.toolTip())
    )
    opened: list[tuple[str, Callable[[], object]]] = [
        (name, window.actions_by_name[name].trigger)
        for name in ("export", "palette", "cluster", "shortcuts", "about", "show_table")
    ]
    window.pages.turn_to("curves")
    opened.append(("sweep", window.pages.page("curves").sweep_button.click))
    for name, opens in opened:
        opens()
        (dialog,) = dialogs(window)
        Look.over(dialog, name)
        dialog.hide()
    return texts, cuts


def written(root: object) -> Iterator[str]:
    """Return what widgets of Qt's own hold beside what a screen reader is told."""
    from PySide6.QtWidgets import QAbstractButton, QComboBox, QLabel, QLineEdit, QTreeWidget, QWidget

    assert isinstance(root, QWidget)
    for each in (root, *root.findChildren(QWidget)):
        if not each.isVisible():
            continue
        yield each.toolTip()
        if isinstance(each, QAbstractButton | QLabel):
            yield each.text()
        if isinstance(each, QComboBox):
            yield from (each.itemText(k) for k in range(each.count()))
        if isinstance(each, QLineEdit):
            yield each.placeholderText()
        if isinstance(each, QTreeWidget):
            yield from (each.headerItem().text(k) for k in range(each.columnCount()))


if __name__ == "__main__":
    main(sys.argv[1])
