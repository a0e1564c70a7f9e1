"""Parse the arguments of `slide-gui` and start the window or a subcommand."""

import argparse
import io
import re
import time
import warnings
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from slide_gui import __version__
from slide_gui.blas import set_threads
from slide_gui.cli.console import UsageError, add_json, interruptible, print_line, warn

_RESUMES = "if interrupted, the same command resumes where it stopped"
# This table maps each subcommand to the module of `slide_gui.cli` that defines it in `COMMANDS`, and to its help text.
_COMMANDS = {
    "datasets": ("data", "list data sets, download their files, or describe one"),
    "fit": ("data", "fit a stack and save the model"),
    "fill": ("fill", "fill the missing cells of a table, and measure the error by hiding and filling known cells"),
    "weights": ("figures", "draw the paper's weight figure as the window exports it"),
    "flow": ("figures", "draw one image and its hidden representation after each layer, as the window shows them"),
    "copies": ("figures", "compare the weights fitted to m corrupted copies with their closed-form limit"),
    "draw": ("figures", "redraw an exported figure of runs from the JSON file in its folder"),
    "demo": ("figures", "fit a stack to generated data, and write a weight figure and a screenshot; needs no display"),
    "train": ("runs", "train the multi-width SVM on a data set, and compute the test error"),
    "sweep": ("runs", f"compute the error for each noise level, depth and split; {_RESUMES}"),
    "try": ("runs", "find a good setting for your data in about a minute, test it, and report the result in sentences"),
    "predict": ("predict", "classify new rows with a model that `train --save-model` or `try --save-model` has saved"),
    "features": ("predict", "compute the representations [h⁰ | … | hˡ] of new rows with a saved model"),
    "decide": ("runs", "explain a stored classifier's prediction for an image, and find changes that alter it"),
    "runs": ("store", "list, show, check, delete, restore and export stored runs"),
    "benchmark": ("evaluation", f"compare all methods on all data sets, as in the paper's tables; {_RESUMES}"),
    "reproduce": ("reproduction", f"reproduce every figure and table of the paper on one page; {_RESUMES}"),
    "doctor": ("doctor", "check this installation, and print a remedy for each problem"),
    "licences": ("doctor", "list every component of the program with its version and licence"),
}

# The number of BLAS threads is not set before these subcommands run, because `doctor` sets the number itself, and the
# others multiply no matrices.
_WITHOUT_PRODUCTS = ("datasets", "runs", "doctor", "licences")

_DESCRIPTION = """\
Show and use stacked linear denoisers (SLIDE).

Without a subcommand, the window opens. `slide-gui` alone shows the generated Rectangles data. `slide-gui FILE …`
opens the files of one data set; `slide-gui FILE --help` lists the options for reading and splitting the data."""


class _StoreOnce(argparse.Action):
    """An action that stores the value of an option, and refuses a second value instead of using only the last one."""

    is_given = False

    def __call__(self, _parser: object, namespace: object, values: object, _option: str | None = None) -> None:
        if self.is_given:
            raise argparse.ArgumentError(self, "this option is given more than once; give it only once")
        self.is_given = True
        setattr(namespace, self.dest, values)


class _Parser(argparse.ArgumentParser):
    """A parser that reports errors in one sentence, and adds the options of its subcommand when it is first used.

    Abbreviated options are refused, because ``--fold`` would otherwise be read as ``--folds``. Options with a value are
    refused if they are repeated, unless they have the action "append".

    Attributes
    ----------
    command : str
        Subcommand whose options are added at the first use.
    """

    command = ""

    def __init__(self, **given: Any) -> None:
        super().__init__(allow_abbrev=False, **given)
        self.register("action", None, _StoreOnce)
        # The pattern of argparse lacks exponents, so argparse would read -1e-3 as an option.
        self._negative_number_matcher = re.compile(r"^-(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$", re.IGNORECASE)

    def parse_known_args(self, *arguments: Any, **given: Any) -> Any:
        """Add the options of the subcommand on the first call, then parse as `argparse` does.

        Unknown options are refused here rather than by the parser of all subcommands, so that the error message refers
        to the help of the subcommand.
        """
        command, self.command = self.command, ""
        if command:
            add_options, run = import_module(f"slide_gui.cli.{_COMMANDS[command][0]}").COMMANDS[command]
            add_options(self)
            if run is not None:
                add_json(self)
                self.set_defaults(run=run)
            self.set_defaults(computes=command not in _WITHOUT_PRODUCTS)
        parsed, unknown = super().parse_known_args(*arguments, **given)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return parsed, unknown

    def _print_message(self, message: str, file: Any = None) -> None:
        # The method of `argparse` ignores a full disk if Python does not buffer the output (PYTHONUNBUFFERED).
        print_line(message.removesuffix("\n"), file)

    def error(self, message: str) -> NoReturn:
        misplaced = message.endswith("required: DATA") or "--seeds: invalid" in message
        raise UsageError(f"{message}{'; write DATA before the options' if misplaced else ''} (see: {self.prog} --help)")


def build_parser() -> argparse.ArgumentParser:
    """Return the parser with all subcommands.

    The parser adds two attributes to the parsed arguments. `run` is the function that runs the subcommand; its only
    argument is the object with the parsed arguments. `computes` is True if the number of BLAS threads must be set
    before the subcommand runs.
    """
    parser = _Parser(prog="slide-gui", description=_DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", action="version", version=f"slide-gui {__version__}")
    commands = parser.add_subparsers(title="subcommands", metavar="COMMAND", required=True)
    for name, (_, text) in _COMMANDS.items():
        commands.add_parser(name, help=text, description=f"`slide-gui {name}`: {text}.").command = name
    return parser


def run(arguments: Sequence[str]) -> int:
    """Open files in the window or run a subcommand, and return the exit code.

    Parameters
    ----------
    arguments : sequence of str
        Arguments without the program's name; at least one.

    Raises
    ------
    UsageError
        If the arguments are invalid.
    """
    if arguments[0] == "--" or (not arguments[0].startswith("-") and arguments[0] not in _COMMANDS):
        return _open_window(arguments)
    # The time budget of `slide-gui try` includes the slow imports that follow, so the clock starts here.
    parsed = build_parser().parse_args(arguments, argparse.Namespace(started=time.monotonic()))
    if parsed.computes:
        set_threads()
    # During `doctor` and `demo`, a signal raises no exception, because an exception during the import of Qt would make
    # Qt abort the process. `doctor` has nothing to clean up, and a second `demo` replaces unfinished files.
    interruption = nullcontext() if arguments[0] in ("doctor", "demo") else interruptible()
    with interruption, warnings.catch_warnings():
        # Each warning is printed as one sentence. For example, a scikit-learn classifier warns if it has not converged.
        warnings.showwarning = lambda message, *_: warn(f"{message}")
        return int(parsed.run(parsed))


def output_of(arguments: Sequence[str]) -> str:
    """Run a subcommand from within another one, and return the text that it prints on stdout."""
    parsed = build_parser().parse_args(arguments)
    with redirect_stdout(io.StringIO()) as output:
        parsed.run(parsed)
    return output.getvalue()


def _open_window(arguments: Sequence[str]) -> int:
    from slide_gui.cli.options import add_data_options, files_source
    from slide_gui.gui.app import run as open_window

    about = "`slide-gui FILE …`: open the window and show the files of one data set."
    parser = _Parser(prog="slide-gui FILE", description=about)
    parser.add_argument("data", nargs="+", metavar="FILE", help="the file or files of one data set")
    add_data_options(parser)
    parsed = parser.parse_args(arguments)
    files = [Path(name) for name in parsed.data]
    for file in files:
        if not file.exists():
            known = ", ".join(sorted(_COMMANDS))
            raise UsageError(f"{str(file)!r} is neither a file nor one of the subcommands {known}")
    return open_window(files, files_source(parsed))
