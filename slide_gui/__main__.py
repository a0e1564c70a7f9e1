"""Run ``slide-gui`` as ``python -m slide_gui``."""

import sys

from slide_gui.cli import main

if __name__ == "__main__":
    sys.exit(main())
