"""``python -m slide_gui`` is ``slide-gui``."""

from __future__ import annotations

import sys

from slide_gui.cli import main

if __name__ == "__main__":
    sys.exit(main())
