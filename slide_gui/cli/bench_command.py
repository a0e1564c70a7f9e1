"""`slide-gui bench`: measure speed and memory here, each figure beside its reference."""

from __future__ import annotations

import argparse

from slide_gui.cli.options import Subparsers, add_json, computing

__all__ = ["NAME", "register"]

NAME = "bench"


def register(commands: Subparsers) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        NAME,
        help="measure speed and memory on this machine",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=False,
    )
    parser.add_argument("-h", "--help", action=_Help, nargs=0, help="show this help message and exit")
    parser.add_argument("names", nargs="*", metavar="NAME", help="figures to measure (default: all)")
    add_json(parser)
    parser.set_defaults(run=computing(_run))


class _Help(argparse.Action):
    """Prints the help with the list of figures, for which the measuring code is imported only here."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from slide_gui.cli.bench import listing

        parser.epilog = listing()
        parser.print_help()
        parser.exit()


def _run(arguments: argparse.Namespace) -> int:
    from slide_gui.cli.bench import bench

    return bench(arguments.names, as_json=arguments.json)
