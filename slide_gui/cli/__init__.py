"""The `slide-gui` command: files or nothing opens the window, a subcommand runs without one.

Exit codes: 0 done, 1 failed or cancelled, 2 wrong usage; 130 or 143 where SIGINT (Ctrl+C) or SIGTERM closed the window.
Nothing heavy is imported before it is needed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program's name; default ``sys.argv[1:]``.
    """
    from slide_gui.cli.console import guarded

    arguments = list(sys.argv[1:] if argv is None else argv)

    def command() -> int:
        if not arguments:  # the window waits for no parser
            from slide_gui.gui.app import run as open_window

            return open_window([])
        from slide_gui.cli.parser import run

        return run(arguments)

    return guarded(command)
