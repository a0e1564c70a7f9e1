"""`slide-gui draw`: an exported figure of runs again, from the document of its bundle."""

from __future__ import annotations

import argparse
from pathlib import Path

from slide_gui.cli.console import DONE, UsageError, print_json, progress_bar
from slide_gui.cli.options import Subparsers, add_json

__all__ = ["NAME", "register"]

NAME = "draw"
_FORMATS = ("pdf", "svg", "png", "csv")


def register(commands: Subparsers) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(NAME, help="make an exported figure of runs again", description=__doc__)
    parser.add_argument(
        "recipe", type=Path, metavar="FILE", help="curves.json, confusion.json or widths.json of a bundle"
    )
    parser.add_argument("--width", metavar="NAME", default="single", help="single, one-and-a-half, double or slide")
    parser.add_argument("--dpi", type=int, default=300, help="dots per inch of a PNG (300)")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="figure, by suffix, or CSV (FIGURE.pdf)")
    parser.add_argument(
        "--format", nargs="+", choices=_FORMATS, help="write these formats, each under the output's name"
    )
    add_json(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from slide_gui.experiments.recipe import Recipe
    from slide_gui.figures.style import Style

    try:
        style = Style(width=arguments.width, dpi=arguments.dpi)
    except ValueError as error:
        raise UsageError(str(error)) from None
    recipe = Recipe.read(arguments.recipe)
    outputs = _outputs(arguments, recipe.figure)
    from slide_gui.figures.run_sheets import run_sheet
    from slide_gui.figures.sheet import save_sheet

    with progress_bar(f"reading {recipe.source.argument}") as progress:
        dataset = recipe.source.load(progress=progress)
    with progress_bar("training") as progress:
        results = recipe.answers(dataset, progress=progress)
    sheet = run_sheet(recipe, dataset, results)
    for path in outputs:
        save_sheet(path, sheet, style)
    if arguments.json:
        errors = [result.error for result in results]
        print_json({"figure": recipe.figure, "outputs": [str(path) for path in outputs], "errors": errors})
    else:
        for path in outputs:
            print(f"saved {path}")
    return DONE


def _outputs(arguments: argparse.Namespace, figure: str) -> list[Path]:
    output: Path = arguments.output or Path(f"{figure}.pdf")
    if arguments.format:
        return [output.with_suffix(f".{name}") for name in dict.fromkeys(arguments.format)]
    if output.suffix.lower() not in {f".{name}" for name in _FORMATS}:
        raise UsageError(f"{str(output)!r} must end in .pdf, .svg, .png or .csv")
    return [output]
