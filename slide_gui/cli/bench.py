"""`slide-gui bench`: measure speed and memory here, each figure beside its reference."""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import asdict

from slide_gui.cli.console import DONE, FAILED, UsageError, print_json
from slide_gui.cli.options import Subparsers, add_json, computing

__all__ = []

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
        from slide_gui.bench import listing

        parser.epilog = listing()
        parser.print_help()
        parser.exit()


def _run(arguments: argparse.Namespace) -> int:
    """Measure and print; the exit code says whether every bound was met."""
    from slide_gui.bench import MEASUREMENTS

    unknown = [name for name in arguments.names if name not in MEASUREMENTS]
    if unknown:
        raise UsageError(f"there is no measurement {unknown[0]!r}; choose from {', '.join(MEASUREMENTS)}")
    figures = []
    start = time.perf_counter()
    for name in arguments.names or MEASUREMENTS:
        if sys.stderr.isatty():
            print(f"measuring {name} …", file=sys.stderr)
        for figure in MEASUREMENTS[name]():
            figures.append(figure)
            if not arguments.json:
                print(figure.line(), flush=True)
    if arguments.json:
        print_json([asdict(figure) for figure in figures])
    else:
        met, minutes = sum(figure.met for figure in figures), (time.perf_counter() - start) / 60
        print(f"{met} of {len(figures)} bounds met, in {minutes:.1f} min")
    return DONE if all(figure.met for figure in figures) else FAILED
