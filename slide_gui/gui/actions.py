"""Every command of the window in one table: text, shortcut, icon; menus, buttons and the palette are made from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QWidget

__all__ = ["ACTIONS", "ActionSpec", "make_actions"]


@dataclass(frozen=True)
class ActionSpec:
    """One command.

    Attributes
    ----------
    name : str
        The window's method that it calls is ``do_<name>``.
    text : str
        As in the menu.
    group : str
        The menu it stands in.
    shortcut : str
        In Qt's portable notation.
    icon : str
        A name under ``resources/icons``.
    checkable : bool
    """

    name: str
    text: str
    group: str
    shortcut: str
    icon: str = ""
    checkable: bool = False


ACTIONS = (
    ActionSpec("open", "Open…", "File", "Ctrl+O", "open"),
    ActionSpec("open_folder", "Open folder of images…", "File", "Ctrl+Shift+O"),
    ActionSpec("export", "Export…", "File", "Ctrl+E", "export"),
    ActionSpec("copy_image", "Copy page as image", "File", "Ctrl+Shift+C"),
    ActionSpec("copy_table", "Copy numbers as table", "File", "Ctrl+Alt+C"),
    ActionSpec("quit", "Quit", "File", "Ctrl+Q"),
    ActionSpec("undo", "Undo", "Edit", "Ctrl+Z", "undo"),
    ActionSpec("redo", "Redo", "Edit", "Ctrl+Shift+Z", "redo"),
    ActionSpec("release_pins", "Release all pins", "Edit", "Ctrl+Shift+X"),
    ActionSpec("cancel", "Cancel what is running", "Edit", "Esc", "cancel"),
    ActionSpec("fit_again", "Fit the layers again", "Edit", "F5"),
    ActionSpec("page_weights", "Weights", "View", "Ctrl+1", "weights"),
    ActionSpec("page_curves", "Error curves", "View", "Ctrl+2", "curves"),
    ActionSpec("page_classifier", "Classifier", "View", "Ctrl+3", "classifier"),
    ActionSpec("page_benchmark", "Benchmark", "View", "Ctrl+4", "benchmark"),
    ActionSpec("page_runs", "Runs", "View", "Ctrl+5", "runs"),
    ActionSpec("view_pinned", "Pinned pixels", "View", "Alt+1"),
    ActionSpec("view_all", "All rows of a layer", "View", "Alt+2"),
    ActionSpec("view_flow", "Flow of one image", "View", "Alt+3"),
    ActionSpec("view_copies", "Corrupted copies", "View", "Alt+4"),
    ActionSpec("view_explain", "Explain one weight", "View", "Alt+5"),
    ActionSpec("corrupt", "Corrupt the image of the flow, or not", "View", "Ctrl+K"),
    ActionSpec("corrupt_again", "New corruption", "View", "Ctrl+Shift+K"),
    ActionSpec("reset_drawing", "Reset the drawn image", "View", "Ctrl+R"),
    ActionSpec("run_copies", "Stop the copies, or go on", "View", "Ctrl+Shift+M"),
    ActionSpec("next_sample", "Next image", "View", "Ctrl+Right", "next"),
    ActionSpec("previous_sample", "Previous image", "View", "Ctrl+Left", "previous"),
    ActionSpec("mean_image", "Mean image", "View", "Ctrl+M"),
    ActionSpec("more_noise", "More noise", "View", "Ctrl+Up"),
    ActionSpec("less_noise", "Less noise", "View", "Ctrl+Down"),
    ActionSpec("deeper", "One layer more", "View", "Ctrl+PgUp"),
    ActionSpec("shallower", "One layer less", "View", "Ctrl+PgDown"),
    ActionSpec("transpose", "Exchange rows and columns of images", "View", "Ctrl+T", checkable=True),
    ActionSpec("theme_system", "Theme: as the system", "View", "Ctrl+Alt+0"),
    ActionSpec("theme_light", "Theme: light", "View", "Ctrl+Alt+1"),
    ActionSpec("theme_dark", "Theme: dark", "View", "Ctrl+Alt+2"),
    ActionSpec("developer", "Developer mode", "View", "Ctrl+Shift+D", checkable=True),
    ActionSpec("palette", "Command palette…", "Help", "Ctrl+Shift+P"),
    ActionSpec("show_log", "Show the log folder", "Help", "Ctrl+Shift+L"),
    ActionSpec("about", "About slide-gui", "Help", "F1"),
)


def make_actions(window: QWidget, handler: Callable[[str], Callable[..., None]]) -> dict[str, QAction]:
    """Return a QAction for every command, added to the window so that its shortcut works everywhere.

    Parameters
    ----------
    window : QWidget
        Parent of the actions.
    handler : callable
        Gives the slot for a command's name.
    """
    made = {}
    for spec in ACTIONS:
        action = QAction(spec.text, window)
        action.setObjectName(spec.name)
        action.setShortcut(QKeySequence(spec.shortcut))
        action.setCheckable(spec.checkable)
        action.setToolTip(
            f"{spec.text.rstrip('…')} ({action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)})"
        )
        action.triggered.connect(handler(spec.name))
        window.addAction(action)
        made[spec.name] = action
    return made
