"""Print the size of the checkout, and the source files that two gestures in the window use: `python -m tests.house`.

Code lines are neither blank, comment nor docstring. A gesture uses a file of slide_gui if it calls a function in it.
The gestures last from a move of the noise slider to the painted tiles of the new noise level, and from Train to the
stored run on its page. Files of the window and of experiments are counted separately from all others.
"""

import ast
import io
import os
import sys
import threading
import time
import tokenize
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
ROOT = Path(__file__).parents[1]
PACKAGE = str(ROOT / "slide_gui") + os.sep
_NO_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
}  # fmt: skip


def code_lines(text: str) -> int:
    """Return the number of lines that are neither blank, comment nor docstring."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if documented and ast.get_docstring(node) is not None:
            lines.difference_update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return len(lines)


class Trace:
    """Collects the files of slide_gui in which a function is called, on this thread and on threads started later."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        threading.setprofile(self._note)

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            self.files.add(frame.f_code.co_filename.removeprefix(PACKAGE))

    def of(self, gesture: Callable[[], None]) -> list[str]:
        """Return the files in which a function is called while `gesture` runs."""
        self.files.clear()
        sys.setprofile(self._note)
        gesture()
        sys.setprofile(None)
        return sorted(self.files)


def paths() -> dict[str, list[str]]:
    """Return the files that each gesture uses, in a window on small images."""
    from PySide6.QtWidgets import QSlider

    from slide_gui.gui.app import tear_down
    from slide_gui.gui.state import fitting
    from tests.bench.window import first_layer_shown, open_window, paint_times, wait, wait_for_fit
    from tests.gui.helpers import StubSource, image_and_tiles, labelled

    trace = Trace()
    app, window = open_window()
    wait_for_fit(app, window)
    data = labelled()
    window.workspace.open(StubSource(data))
    wait(app, lambda: window.workspace.dataset is data)
    wait_for_fit(app, window)
    _, tiles = image_and_tiles(window)
    paints, workspace = paint_times(tiles), window.workspace

    def drag() -> None:
        window.panel.sliders["noise"].findChild(QSlider).setValue(55)
        wait(app, lambda: first_layer_shown(workspace) and len(paints) > 0)

    def train() -> None:
        window.actions_by_name["train"].trigger()
        wait(app, lambda: window.session.runs.result is not None)
        app.processEvents()

    wait(app, lambda: workspace.is_at_rest)  # the layout after the fit above is done
    fitting._SETTLE_SECONDS = 60.0  # the other layers, which are fitted when the slider rests, are left out
    workspace.fitting.changed.connect(paints.clear)  # earlier paint events show the previous noise level
    files = {"noise slider to painted tile": trace.of(drag)}
    fitting._SETTLE_SECONDS = 0.0
    window.queue.cancel()
    workspace.fitting.fit()
    window.actions_by_name["page_classifier"].trigger()
    wait_for_fit(app, window)
    rested = time.monotonic() + 2.5  # delayed work after a change of state, such as storing the session, is then done
    wait(app, lambda: time.monotonic() > rested)
    files["Train to stored run and page"] = trace.of(train)
    tear_down(window)
    return files


def main() -> None:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "slide_gui").rglob("*.py")]
    tests = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py")]
    print(f"code lines: {sum(map(code_lines, sources))}")
    print(f"modules of more than 5 lines: {sum(len(text.splitlines()) > 5 for text in sources)}")
    print(f"lines of tests: {sum(len(text.splitlines()) for text in tests)}")
    for name, files in paths().items():
        window = [file for file in files if file.startswith(("gui/", "experiments/"))]
        below = [file for file in files if file not in window]
        print(f"{name}: {len(files)} files, {len(window)} of window and experiments", *window, *below, sep="\n  ")


if __name__ == "__main__":
    main()
