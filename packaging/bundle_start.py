"""Prepare a process of the bundle; PyInstaller runs this script before the program.

Processes that the program starts must not load libraries of the bundle. pyqtgraph imports Qt's OpenGL modules, but the
program does not let it draw with OpenGL. These modules take 10 MB, so empty modules replace them.
"""

import os
import sys
from types import ModuleType

for name in ("PySide6.QtOpenGL", "PySide6.QtOpenGLWidgets"):
    sys.modules[name] = ModuleType(name)
    sys.modules[name].__getattr__ = lambda _: object

if sys.platform.startswith("linux"):
    before = os.environ.pop("LD_LIBRARY_PATH_ORIG", None)
    os.environ.pop("LD_LIBRARY_PATH", None)
    if before is not None:
        os.environ["LD_LIBRARY_PATH"] = before
