"""`slide-gui bench`: measure speed and memory here, each figure beside its reference."""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import asdict

from slide_gui.cli.console import DONE, FAILED, Command, UsageError, print_answer
from slide_gui.resources import is_bundle

__all__ = ["COMMANDS"]


def _options(parser: argparse.ArgumentParser) -> None:
    if is_bundle():
        raise UsageError("`slide-gui bench` starts Python, which the desktop bundle has not: pip install slide-gui")
    from slide_gui.bench.measurements import listing

    parser.formatter_class, parser.epilog = argparse.RawDescriptionHelpFormatter, listing()
    parser.add_argument("names", nargs="*", metavar="NAME", help="figures to measure (default: all)")


def _run(arguments: argparse.Namespace) -> int:
    """Measure and print; the exit code says whether every bound was met."""
    from slide_gui.bench.measurements import MEASUREMENTS

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
    met, minutes = sum(figure.met for figure in figures), (time.perf_counter() - start) / 60
    lines = [f"{met} of {len(figures)} bounds met, in {minutes:.1f} min"]
    print_answer(arguments, [asdict(figure) for figure in figures], lines)
    return DONE if all(figure.met for figure in figures) else FAILED


COMMANDS = (
    Command(
        "bench", "measure speed and memory on this machine",
        "measure speed and memory here, each figure beside its reference.", _options, _run,
    ),
)  # fmt: skip
