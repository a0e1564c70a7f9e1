"""`slide-gui demo`: fit generated data and write the weight figure, without a window."""

from __future__ import annotations

import argparse
from pathlib import Path

from slide_gui.cli.console import DONE, print_json, progress_bar
from slide_gui.cli.options import Subparsers, add_json, computing

__all__ = ["NAME", "register"]

NAME = "demo"


def register(commands: Subparsers) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(NAME, help="the main job without a display", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out"), metavar="FOLDER", help="where to write (out)")
    add_json(parser)
    parser.set_defaults(run=computing(_run))


def _run(arguments: argparse.Namespace) -> int:
    from slide_gui.cli.headless import headless

    with progress_bar("demo") as progress:
        written = headless(arguments.out, progress=progress)
    if arguments.json:
        print_json({"outputs": [str(path) for path in written]})
    else:
        for path in written:
            print(f"saved {path}")
    return DONE
