"""`slide-gui draw`: an exported figure of runs again, from the document of its bundle."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from slide_gui.cli.console import DONE, print_json, progress_bar, usage
from slide_gui.cli.options import FORMATS, Subparsers, add_json, computing, figure_outputs, read_data

__all__ = ["NAME", "register"]

NAME = "draw"


def register(commands: Subparsers) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(NAME, help="make an exported figure of runs again", description=__doc__)
    parser.add_argument(
        "provenance", type=Path, metavar="FILE", help="curves.json, confusion.json or widths.json of a bundle"
    )
    parser.add_argument("--width", metavar="NAME", default="single", help="single, one-and-a-half, double or slide")
    parser.add_argument("--dpi", type=int, default=300, help="dots per inch of a PNG (300)")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="figure, by suffix, or CSV (FIGURE.pdf)")
    parser.add_argument(
        "--format", nargs="+", choices=FORMATS, help="write these formats, each under the output's name"
    )
    add_json(parser)
    parser.set_defaults(run=computing(_run))


def _run(arguments: argparse.Namespace) -> int:
    from slide_gui.experiments.provenance import FigureProvenance
    from slide_gui.figures.style import Style

    with usage():
        style = Style(width=arguments.width, dpi=arguments.dpi)
    provenance = FigureProvenance.read(arguments.provenance)
    arguments.output = arguments.output or Path(f"{provenance.figure}.pdf")
    outputs = figure_outputs(arguments)
    if provenance.difference:
        print(f"slide-gui: {arguments.provenance}: {provenance.difference}", file=sys.stderr)
    from slide_gui.figures.export import save_export
    from slide_gui.figures.run_exports import run_export

    dataset = read_data(provenance.source, f"reading {provenance.source.argument}")
    with progress_bar("training") as progress:
        results = provenance.answers(dataset, progress=progress)
    export = run_export(provenance, dataset, results)
    for path in outputs:
        save_export(path, export, style)
    if arguments.json:
        errors = [result.error for result in results]
        print_json({"figure": provenance.figure, "outputs": [str(path) for path in outputs], "errors": errors})
    else:
        for path in outputs:
            print(f"saved {path}")
    return DONE
