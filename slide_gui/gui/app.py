"""Start the program: show the window first, and import slow modules afterwards."""

import gc
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from slide_gui.gui.display import binding_problem, display_problem

if TYPE_CHECKING:
    from PySide6.QtCore import QSettings
    from PySide6.QtWidgets import QApplication, QWidget

    from slide_gui.experiments.files.source import DataSource
    from slide_gui.gui.shell.main_window import MainWindow
    from slide_gui.gui.state.jobs import JobQueue

_SWITCH_SECONDS = 0.001  # Number of seconds after which a thread gives up the global interpreter lock.
_COLLECT_MILLISECONDS = 2000
_MANY_MODULES = 100
_SCREENSHOT_MILLISECONDS = 60_000
# Number of seconds for which the main thread sleeps between two passes of an event loop that waits for a worker thread.
# Without the sleep, the worker thread could not get the global interpreter lock.
_PAUSE = 0.01


def run(files: Sequence[Path], source: "DataSource | None" = None) -> int:
    """Open the window, and return the exit code after the window has closed.

    If a signal such as SIGTERM closed the window, the exit code is 128 plus the number of the signal.

    Parameters
    ----------
    files : sequence of Path
        Files to open as one data set. Without files, the window restores the last session; if there is none, it opens
        the generated data set Rectangles.
    source : DataSource, optional
        Data to open instead of `files`, with the settings for reading and splitting them.
    """
    problem = binding_problem() or display_problem()
    if problem is not None:
        print(f"slide-gui: {problem}", file=sys.stderr)
        return 1
    from slide_gui.gui.shell.faults import Interruption

    prepare_interpreter()
    app = make_application()
    interruption = Interruption(app)
    interruption.interrupted.connect(app.closeAllWindows)
    window = make_window(files, source, keeps_session=True)
    collect_in_turn(window)
    window.restore_place()
    window.show()
    code = int(app.exec())
    tear_down(window)
    number = interruption.stop()
    return code if number is None else 128 + number


def prepare_interpreter() -> None:
    """Keep the GUI thread responsive during jobs, and disable automatic garbage collection.

    After the window is built, `collect_in_turn` starts a timer that collects garbage instead.
    """
    gc.disable()
    sys.setswitchinterval(_SWITCH_SECONDS)


def collect_in_turn(window: "MainWindow") -> None:
    """Collect garbage with a timer on the GUI thread while the window exists.

    Automatic collection could also run on a worker thread, where Qt objects must not be destroyed. Objects that were
    created while the program started are excluded from garbage collection, because examining them would delay the event
    loop. When many more modules, such as those for plots, have been imported and no job is running, their objects are
    excluded too.
    """
    from PySide6.QtCore import QTimer

    gc.freeze()
    n_modules = len(sys.modules)

    def collect() -> None:
        nonlocal n_modules
        gc.collect()
        if len(sys.modules) >= n_modules + _MANY_MODULES and not window.session.busy:
            gc.freeze()
            n_modules = len(sys.modules)

    collector = QTimer(window, interval=_COLLECT_MILLISECONDS)
    collector.timeout.connect(collect)
    collector.start()


def tear_down(window: "QWidget | JobQueue") -> None:
    """Close a window, or a job queue without a window, and immediately destroy it and all its children.

    The program and its tests close every window with this function.

    Closing stops the job queue and waits for its worker thread, so that no callback reaches the window afterwards. The
    method `deleteLater` is not used, because it would delete the objects only when an event loop runs. The garbage
    collector would delete them in an undefined order.

    Parameters
    ----------
    window : QWidget or JobQueue
        The object to close. It must not have a parent. If it is already destroyed, nothing happens.
    """
    from shiboken6 import Shiboken

    if Shiboken.isValid(window):
        window.close()
        Shiboken.delete(window)


def make_application() -> "QApplication":
    """Return the Qt application, with the theme and the display size that are stored in the settings."""
    from PySide6.QtGui import QIcon
    from PySide6.QtWidgets import QApplication

    from slide_gui.gui.shell.faults import guard_overrides
    from slide_gui.gui.theme import apply_theme, stored_scale, stored_theme
    from slide_gui.resources import resource

    guard_overrides()
    running, settings = QApplication.instance(), make_settings()
    if running is None and stored_scale(settings) != 1.0:
        os.environ.setdefault("QT_SCALE_FACTOR", str(stored_scale(settings)))
    app = running if isinstance(running, QApplication) else QApplication(sys.argv[:1])
    app.setApplicationName("slide-gui")
    app.setApplicationDisplayName("slide-gui")
    app.setDesktopFileName("slide-gui")
    app.setWindowIcon(QIcon(str(resource("icons/slide-gui.svg"))))
    apply_theme(app, stored_theme(settings))
    return app


def make_settings() -> "QSettings":
    """Return the settings of the program, or empty settings if their file cannot be read."""
    from PySide6.QtCore import QSettings

    return QSettings(QSettings.Format.IniFormat, QSettings.Scope.UserScope, "slide-gui", "slide-gui")


def store_path() -> Path:
    """Return the path of the user's run store."""
    from platformdirs import user_data_path

    return Path(user_data_path("slide-gui", appauthor=False)) / "runs.sqlite"


def make_window(
    files: Sequence[Path], source: "DataSource | None" = None, *, keeps_session: bool = False
) -> "MainWindow":
    """Return a new window that opens the files or `source` as described in `run`."""
    from slide_gui.gui.shell.main_window import MainWindow

    store = store_path()
    window = MainWindow(make_settings(), store, store.parent / "session" if keeps_session else None)
    window.start([Path(file) for file in files], source)
    return window


def take_screenshot(path: Path) -> None:
    """Save a screenshot of a window that shows layers fitted to the generated Rectangles data, in the light theme.

    Parameters
    ----------
    path : Path
        Path of the PNG file.

    Raises
    ------
    KeyboardInterrupt
        If the process receives SIGINT or SIGTERM before the screenshot is saved.
    TimeoutError, OSError
        If fitting the layers takes longer than a minute (TimeoutError), or the file cannot be written (OSError).
    """
    from PySide6.QtCore import QDeadlineTimer

    from slide_gui.gui.shell.faults import Interruption
    from slide_gui.gui.theme import apply_theme

    app = make_application()
    apply_theme(app, "light")
    window = make_window([])
    interruption = Interruption(window)
    window.resize(1280, 800)
    window.show()
    limit = QDeadlineTimer(_SCREENSHOT_MILLISECONDS)
    while not limit.hasExpired() and interruption.number is None:
        if window.workspace.model() is not None and not window.queue.busy:
            break
        app.processEvents()
        time.sleep(_PAUSE)
    app.processEvents()
    fitted = window.workspace.model() is not None
    saved = fitted and window.grab().save(str(path))
    number = interruption.stop()
    tear_down(window)
    if number is not None:
        raise KeyboardInterrupt(number)
    if not fitted:
        raise TimeoutError(f"the layers were not fitted within {_SCREENSHOT_MILLISECONDS // 1000} s")
    if not saved:
        raise OSError(f"the picture could not be written to {path}; choose another path")
