"""Output of subcommands: results go to stdout, progress and errors to stderr."""

import argparse
import errno
import json
import math
import os
import re
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, TextIO

from slide_gui.progress import Cancelled, Progress, Stage, TimeLeft
from slide_gui.text import about, printable, time_left

DONE, FAILED, USAGE = 0, 1, 2
_REMEDIES = dict.fromkeys(
    (errno.EACCES, errno.EPERM, errno.EROFS), "; choose another path, or change the permissions"
) | {errno.ENOSPC: "; free some space, or choose another path"}
_BETWEEN_REDRAWS, _BETWEEN_LINES = 0.1, 10.0  # seconds


# Two functions of a subcommand: one adds its options to a parser, the other runs it and returns the exit code.
# The second function is None if the first adds nested subcommands, because a separate function runs each of these.
Entry = tuple[Callable[[argparse.ArgumentParser], None], Callable[[argparse.Namespace], int] | None]


class UsageError(Exception):
    """An error in the arguments, which ends the program with exit code 2."""


@contextmanager
def usage() -> Iterator[None]:
    """Convert a ValueError raised in the body of a `with` statement to a `UsageError` with the same message."""
    try:
        yield
    except ValueError as error:
        raise UsageError(str(error)) from None


@contextmanager
def interruptible() -> Iterator[None]:
    """Open a context that treats SIGTERM, which batch systems send, like Ctrl+C.

    Both signals raise a KeyboardInterrupt, which ends the command and its workers. The function `guarded` then prints
    one sentence instead of a traceback.
    """
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _interrupt(number: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt(number)


def guarded(command: Callable[[], int]) -> int:
    """Run a command and turn any exception into one sentence on stderr and an exit code."""
    try:
        try:
            code = command()
        except SystemExit as end:  # argparse raises SystemExit after --help and --version
            code = int(end.code or DONE)
        with _without_reader(sys.stdout):
            sys.stdout.flush()
        return code
    except UsageError as error:
        warn(str(error))
        return USAGE
    except Cancelled:
        warn("cancelled")
    except MemoryError as error:
        # NumPy raises a subclass of MemoryError with a message that is not printed, because it only states the shape of
        # an array.
        message = str(error) if type(error) is MemoryError else ""
        warn(message or "not enough memory; use less data or a smaller depth")
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        warn(f"{place}{error.strerror or error}{_REMEDIES.get(error.errno or 0, '')}")
    except ValueError as error:  # ValueError includes its subclass DataError
        warn(str(error))
    except BaseException as error:
        # If Ctrl+C arrives while a compiled module is imported, another exception may replace the KeyboardInterrupt.
        interrupt: BaseException | None = error
        while interrupt is not None and not isinstance(interrupt, KeyboardInterrupt):
            interrupt = interrupt.__cause__ or interrupt.__context__
        if interrupt is not None:
            warn("cancelled")
            return 128 + int((*interrupt.args, signal.SIGINT)[0])
        warn(f"unexpected {type(error).__name__}: {error}; please report this error")
    return FAILED


def warn(sentence: str) -> None:
    """Print a sentence on stderr."""
    print_line(f"slide-gui: {' '.join(sentence.split())}", sys.stderr)


def print_line(text: str, stream: TextIO | None = None) -> None:
    """Print text of one or more lines, by default on stdout, with terminal control characters escaped.

    If the program that reads stdout has ended, the output is discarded. The command continues and saves its results.
    """
    with _without_reader(stream or sys.stdout):
        print("\n".join(map(printable, text.split("\n"))), file=stream)


@contextmanager
def _without_reader(stream: TextIO) -> Iterator[None]:
    """Open a context that redirects a stream to the null device if writing to the stream fails.

    The error is suppressed if the program that reads the stream has ended. Any other error, such as a full disk, is
    raised. The redirection discards the buffer of the stream, so that Python does not report the error again on exit.
    """
    try:
        yield
    except OSError as error:  # on Windows, writing to a pipe without a reader may give EINVAL (CPython issue 79935)
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if error.errno != errno.EPIPE and (sys.platform, error.errno) != ("win32", errno.EINVAL):
            raise


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the option --json."""
    parser.add_argument("--json", action="store_true", help="print the result as one JSON document on stdout")


def print_answer(arguments: argparse.Namespace, document: Any, lines: Iterable[str], saved: Iterable[Path] = ()) -> int:
    """Print the JSON document if --json is given, otherwise the lines, and return the exit code for success.

    After the lines, the name of each file in `saved` is printed. Paths in the JSON document are written as strings.
    """
    if arguments.json:
        to_ascii = "utf" not in str(sys.stdout.encoding).lower()
        text = json.dumps(document, indent=2, ensure_ascii=to_ascii, allow_nan=False, default=os.fspath)
        # Control characters and lone surrogates are escaped, so that a terminal shows them as text and a JSON parser
        # restores them exactly.
        text = re.sub(r"[^\n -~]", lambda sign: sign[0] if sign[0].isprintable() else json.dumps(sign[0])[1:-1], text)
        print_line(text)
    else:
        for line in (*lines, *(f"saved {path}" for path in saved)):
            print_line(line)
    return DONE


def announce(seconds: float) -> None:
    """Print the estimated time of a computation on stderr if it is at least ten seconds."""
    if seconds >= _BETWEEN_LINES:
        print_line(f"estimated time: {about(seconds)}", sys.stderr)


@contextmanager
def progress_bar(label: str) -> Iterator[Progress]:
    """Open a context with a `Progress` that draws a bar on a terminal and otherwise prints lines.

    The bar is erased when the context ends.
    """
    bar = _Progress(label, sys.stderr.isatty())
    try:
        yield bar
    finally:
        bar.wipe()


class _Progress(Progress):
    """Shows progress on stderr: a bar on a terminal, otherwise a line every ten seconds.

    The bar and each line show the label of the computation, the fraction done in per cent, the current stage and the
    estimated time left. If a partial result with a title is reported instead of a stage, the title is shown.
    """

    def __init__(self, label: str, terminal: bool) -> None:
        self._label, self._terminal = printable(label), terminal
        self._title, self._known, self._width = "", None, 0
        self._start, self._time_left = time.monotonic(), TimeLeft()
        self._printed = -math.inf if terminal else self._start

    def report(self, fraction: float, payload: object = None) -> None:
        if payload is not None:
            self._title = str(payload) if isinstance(payload, Stage) else getattr(payload, "title", "")
            self._known = getattr(payload, "seconds_left", None)
        now, pause = time.monotonic(), _BETWEEN_REDRAWS if self._terminal else _BETWEEN_LINES
        if now - self._printed < pause and not (self._terminal and fraction >= 1.0):
            return
        self._printed = now
        left = time_left(self._time_left.seconds(now - self._start, fraction, self._known))
        words = ", ".join(filter(None, (self._title, left and f"about {left}")))
        if not self._terminal:
            print_line(f"{self._label} {100 * fraction:.0f} % {words}".rstrip(), sys.stderr)
            return
        fraction = min(max(fraction, 0.0), 1.0)
        line = f"{self._label} {'█' * round(20 * fraction):·<20} {100 * fraction:3.0f} % {words}"
        line = line[: shutil.get_terminal_size().columns - 1]
        self._width = max(self._width, len(line))
        sys.stderr.write(f"\r{line}")
        sys.stderr.flush()

    def wipe(self) -> None:
        """Erase the bar from the terminal."""
        if self._terminal:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()
