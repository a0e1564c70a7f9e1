"""Parse the arguments of `slide-gui` and start the window or a subcommand."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from slide_gui import __version__
from slide_gui.blas import set_threads
from slide_gui.cli import data, doctor, evaluation, figures, runs
from slide_gui.cli.console import Command, UsageError, add_json, interruptible
from slide_gui.cli.options import add_data_options, files_source

if TYPE_CHECKING:
    from slide_gui.experiments.files.source import DataSource

_COMMANDS: dict[str, Command] = {
    command.name: command for module in (data, figures, runs, evaluation, doctor) for command in module.COMMANDS
}

_DESCRIPTION = """\
Show and use stacked linear denoisers (SLIDE).

Without a subcommand the window opens: `slide-gui` on the generated Rectangles data, `slide-gui FILE …` on
the files of one data set (options for reading and dividing them: see `slide-gui FILE --help`)."""


class _Parser(argparse.ArgumentParser):
    """A parser that reports errors in one sentence and adds the options of a subcommand when it is first used.

    Abbreviated options are refused: ``--fold`` would be read as ``--folds``.
    """

    command: Command | None = None
    """Command whose options are added at the first use."""

    def __init__(self, **given: Any) -> None:
        super().__init__(allow_abbrev=False, **given)

    def parse_known_args(self, *arguments: Any, **given: Any) -> Any:
        """Parse, as `argparse` does."""
        command, self.command = self.command, None
        if command is not None:
            command.options(self)
            if command.run is not None:
                add_json(self)
                self.set_defaults(run=command.run)
            self.set_defaults(computes=command.computes)
        return super().parse_known_args(*arguments, **given)

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see: {self.prog} --help)")


def build_parser() -> argparse.ArgumentParser:
    """Return the parser with all subcommands. Each sets `run`, a function of the parsed arguments, and `computes`."""
    parser = _Parser(prog="slide-gui", description=_DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", action="version", version=f"slide-gui {__version__}")
    commands = parser.add_subparsers(title="subcommands", metavar="COMMAND", required=True)
    for name, command in _COMMANDS.items():
        about = f"`slide-gui {name}`: {command.about}"
        commands.add_parser(name, help=command.help, description=about).command = command
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
        If the arguments are invalid.
    """
    if arguments[0] == "--" or (not arguments[0].startswith("-") and arguments[0] not in _COMMANDS):
        return _open_window(arguments)
    parsed = build_parser().parse_args(arguments)
    if parsed.computes:
        set_threads()
    with interruptible():
        code: int = parsed.run(parsed)
    return code


def _open_window(arguments: Sequence[str]) -> int:
    from slide_gui.gui.app import run as open_window

    source: DataSource | None = None
    if not any(each.startswith("-") for each in arguments):
        files = [Path(each) for each in arguments]
    else:
        about = "`slide-gui FILE …`: open the window on the files of one data set."
        parser = _Parser(prog="slide-gui FILE", description=about)
        parser.add_argument("data", nargs="+", metavar="FILE", help="the file or files of one data set")
        add_data_options(parser)
        parsed = parser.parse_args(arguments)
        files = [Path(name) for name in parsed.data]
        source = files_source(parsed)
    for file in files:
        if not file.exists():
            known = ", ".join(sorted(_COMMANDS))
            raise UsageError(f"{str(file)!r} is neither a file nor one of the subcommands {known}")
    return open_window(files, source)
