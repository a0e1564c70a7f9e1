"""The `slide-gui` command: files or nothing opens the window, a subcommand runs without one.

Exit codes: 0 done, 1 failed or cancelled, 2 wrong usage; 130 or 143 if SIGINT (Ctrl+C) or SIGTERM closed the window;
130 if SIGINT came while the program was starting. Nothing heavy is imported before it is needed.
"""

from __future__ import annotations

import os
import sys

# What `signal` wraps: its own import takes long enough for Ctrl+C to fall into it.
from _signal import SIG_DFL, SIGINT, default_int_handler, getsignal, signal  # type: ignore[import-not-found]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program's name; default ``sys.argv[1:]``.
    """
    starts_here = argv is None and getsignal(SIGINT) is default_int_handler
    if starts_here:
        signal(SIGINT, _end_at_once)
    from slide_gui.cli.console import guarded

    arguments = list(sys.argv[1:] if argv is None else argv)

    def command() -> int:
        if not arguments:  # the window waits for no parser
            from slide_gui.gui.app import run as open_window

            return open_window([])
        from slide_gui.cli.parser import run

        return run(arguments)

    code = guarded(command)
    if starts_here:
        signal(SIGINT, SIG_DFL)  # all is done: no traceback from the end of the interpreter
    return code


def _end_at_once(_number: int, _frame: object) -> None:
    """End the process without a traceback: an exception inside an import would come out as any other."""
    os.write(2, b"slide-gui: cancelled\n")
    os._exit(128 + SIGINT)
