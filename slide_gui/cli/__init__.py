"""The `slide-gui` command, which opens the window or runs a subcommand without a window.

Exit codes: 0 success, 1 failure, 2 wrong usage, 130 after SIGINT (Ctrl+C), 143 after SIGTERM. Heavy modules are
imported only when they are needed.
"""

import os
import sys

# `_signal` is imported rather than its wrapper `signal`, which takes longer to import. Until the import ends, Ctrl+C
# prints a traceback.
from _signal import SIG_DFL, SIGINT, default_int_handler, getsignal, signal  # type: ignore[import-not-found]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: "Sequence[str] | None" = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program's name; default ``sys.argv[1:]``.
    """
    starts_here = argv is None and getsignal(SIGINT) is default_int_handler
    if starts_here:
        signal(SIGINT, _end_at_once)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # the shell closed the stream, as in `slide-gui … >&-`
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        else:
            # On Windows, the default encodings of pipes and files lack characters such as ⁰. On other systems, the
            # locale sets the encoding, and characters that it lacks are written as escape sequences.
            encoding = "utf-8" if sys.platform == "win32" else None
            getattr(sys, name).reconfigure(encoding=encoding, errors="backslashreplace")
    from slide_gui.cli.console import guarded

    arguments = list(sys.argv[1:] if argv is None else argv)

    def command() -> int:
        if not arguments:  # without arguments the window opens, and the parser need not be imported
            from slide_gui.gui.app import run as open_window

            return open_window([])
        from slide_gui.cli.parser import run

        return run(arguments)

    code = guarded(command)
    if starts_here:
        signal(SIGINT, SIG_DFL)  # the command is done; Ctrl+C must not print a traceback while the interpreter ends
    return code


def _end_at_once(_number: int, _frame: object) -> None:
    """End the process at once after Ctrl+C.

    A KeyboardInterrupt does not end the process reliably: during an import, another exception can replace it.
    """
    os.write(2, b"slide-gui: cancelled\n")
    os._exit(128 + SIGINT)
