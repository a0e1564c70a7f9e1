"""The arguments of `slide-gui`, and which subcommand they start."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from slide_gui import __version__
from slide_gui.cli import bench as bench_command
from slide_gui.cli import (
    copies,
    datasets,
    demo,
    doctor,
    draw,
    evaluation,
    fit,
    flow,
    reproduce,
    runs,
    sweep,
    train,
    weights,
)
from slide_gui.cli.console import DONE, UsageError

__all__ = ["build_parser", "run"]

_MODULES = (
    datasets, fit, weights, flow, copies, train, sweep, evaluation, reproduce, runs, draw, demo, bench_command, doctor,
)  # fmt: skip

_DESCRIPTION = """\
See and use stacked linear denoisers (SLIDE).

Without a subcommand the window opens: `slide-gui` on generated Rectangles, `slide-gui FILE …` on the
files of one data set."""


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one sentence, as all others of this program, and whose options may wait for it."""

    options: Callable[[argparse.ArgumentParser], None] | None = None
    """Adds its options when it is first used (see `slide_gui.cli.options.add_command`)."""

    def parse_known_args(self, *arguments: Any, **given: Any) -> Any:
        """Parse, as `argparse` does."""
        options, self.options = self.options, None
        if options is not None:
            options(self)
        return super().parse_known_args(*arguments, **given)

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see: {self.prog} --help)")


def build_parser() -> argparse.ArgumentParser:
    """Return the parser with all subcommands; each sets `run`, a function of the parsed arguments."""
    parser = _Parser(prog="slide-gui", description=_DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", action="version", version=f"slide-gui {__version__}")
    commands = parser.add_subparsers(title="subcommands", metavar="COMMAND", required=True)
    for module in _MODULES:
        module.register(commands)
    return parser


def run(arguments: Sequence[str]) -> int:
    """Open files in the window or run a subcommand, and return the exit code.

    Parameters
    ----------
    arguments : sequence of str
        At least one.

    Raises
    ------
    UsageError
        If the arguments make no sense.
    """
    if not arguments[0].startswith("-") and arguments[0] not in _COMMANDS:
        return _open_window(arguments)
    if arguments[0] == "--":
        return _open_window(arguments[1:])
    try:
        parsed = build_parser().parse_args(arguments)
    except SystemExit as end:  # --help and --version
        return int(end.code or DONE)
    code: int = parsed.run(parsed)
    return code


_COMMANDS = frozenset(module.NAME for module in _MODULES)


def _open_window(names: Sequence[str]) -> int:
    files = [Path(name) for name in names]
    for file in files:
        if not file.exists():
            known = ", ".join(sorted(_COMMANDS))
            raise UsageError(f"{str(file)!r} is neither a file nor one of the subcommands {known}")
    from slide_gui.gui.app import run as open_window

    return open_window(files)
