"""The window starts without importing libraries before they are used."""

import json
import os
import subprocess
import sys

LATE = ("sqlite3", "numpy.ma", "slide_gui.core.svm", "slide_gui.gui.help.guide", "slide_gui.gui.shell.palette")
HEAVY = ("matplotlib", "sklearn", "scipy", "pyqtgraph", "requests", "PIL", "pandas", "joblib")

SCRIPT = """
import json, sys, time
from slide_gui.gui.app import make_application, make_window
from slide_gui.gui.app import tear_down

app = make_application()
window = make_window([])
window.workspace.set_parameters(depth=1)
window.show()
loaded = {}
end = time.monotonic() + 60
while time.monotonic() < end:
    app.processEvents()
    if window.isVisible() and "shown" not in loaded:
        loaded["shown"] = sorted(sys.modules)
    if window.workspace.model() is not None and not window.queue.busy:
        loaded["fitted"] = sorted(sys.modules)
        window.actions_by_name["page_curves"].trigger()
        loaded["plot"] = sorted(sys.modules)
        break
    time.sleep(0.005)
tear_down(window)
print(json.dumps(loaded))
"""


def test_that_the_window_and_its_first_fit_import_nothing_heavy_and_a_plot_imports_pyqtgraph(tmp_path):
    settings = {"QT_QPA_PLATFORM": "offscreen", "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    command, environment = [sys.executable, "-c", SCRIPT], {**os.environ, **settings}
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)
    loaded = json.loads(done.stdout)
    assert set(loaded) == {"shown", "fitted", "plot"}
    assert "pyqtgraph" in loaded.pop("plot")
    assert [name for name in LATE if name in loaded["shown"]] == []
    for moment in loaded.values():
        assert "PySide6.QtWidgets" in moment
        assert [name for name in HEAVY if name in moment] == []
