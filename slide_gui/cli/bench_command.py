"""`slide-gui bench`: measure speed and memory here, each figure beside its reference."""

from __future__ import annotations

import argparse

from slide_gui.cli.options import Subparsers, add_json

__all__ = ["NAME", "register"]

NAME = "bench"


def register(commands: Subparsers) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(NAME, help="measure speed and memory on this machine", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="figures to measure (default: all)")
    add_json(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from slide_gui.cli.bench import bench

    return bench(arguments.names, as_json=arguments.json)
