"""The problem report: versions, settings and the last lines of the log. The command Copy report copies it."""

import platform
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtGui import QGuiApplication

from slide_gui import __version__
from slide_gui.blas import cores, loaded_blas
from slide_gui.gui.shell.faults import last_log_lines
from slide_gui.gui.state.workspace import panel_parameters
from slide_gui.gui.theme import stored_scale, stored_theme
from slide_gui.licences import PACKAGES, installed_version
from slide_gui.resources import is_bundle
from slide_gui.results_version import RESULTS_VERSION

if TYPE_CHECKING:
    from slide_gui.gui.shell.main_window import MainWindow

# A quote followed by a letter or digit is part of a file name, as in O'Neil; any other quote ends the path.
_FOLDERS = re.compile(r"""(?<![\w.])(?:[A-Za-z]:)?[\\/](?:(?:[^\\/"'\n]|["'](?=\w))+[\\/])+""")
_PACKAGED = ("site-packages", "slide_gui")


def report(window: "MainWindow") -> str:
    """Return the problem report. For privacy, it omits folder names, and reports only the size of the open data."""
    return "\n".join([*_versions(), *_state(window), "last lines of the log:", *map(without_folders, last_log_lines())])


def without_folders(line: str) -> str:
    """Return the line with ~ for the home folder and with shortened absolute paths.

    An absolute path is shortened to its file name, or to the part that begins with ``site-packages`` or ``slide_gui``.
    """

    def shorten(match: re.Match[str]) -> str:
        names = re.split(r"[\\/]", match[0])
        package = max((at for at, name in enumerate(names) if name in _PACKAGED), default=len(names) - 1)
        return "/".join(names[package:])

    # Replace only the home folder itself by ~. Paths inside it are shortened with the pattern `_FOLDERS` instead.
    home = re.compile(re.escape(str(Path.home())) + r"(?![\w\\/])")
    return _FOLDERS.sub(shorten, home.sub("~", line))


def _versions() -> Iterator[str]:
    origin = "bundle" if is_bundle() else "package"
    yield f"slide-gui {__version__} ({origin}), results version {RESULTS_VERSION}"
    yield f"Python {platform.python_version()} on {platform.system()} {platform.machine()}, {cores()} cores"
    yield ", ".join(f"{name} {installed_version(name)}" for name in PACKAGES)
    yield "; ".join(map(str, loaded_blas()))


def _state(window: "MainWindow") -> Iterator[str]:
    dataset, settings, choice = window.workspace.dataset, window.settings, window.session.cluster.state.choice
    yield f"Qt platform {QGuiApplication.platformName()}, window {window.width()} × {window.height()}"
    yield f"theme {stored_theme(settings)}, size {stored_scale(settings):g}, page {window.pages.name}"
    yield f"runs are computed {'in this window' if choice.is_here else 'by workers'}"
    yield "no data" if dataset is None else f"{len(dataset.train)} training rows of {dataset.n_features} features"
    yield ", ".join(f"{name} {value}" for name, value in panel_parameters(window.workspace.state.parameters).items())
