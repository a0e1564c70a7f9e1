"""Arguments of every subcommand that draws: how the figure looks, and where it goes."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slide_gui.cli.console import DONE, UsageError, print_json, usage
from slide_gui.cli.options import choice_help

if TYPE_CHECKING:
    from slide_gui.figures.sheet import Sheet
    from slide_gui.figures.style import Style

__all__ = ["FORMATS", "add_figure_options", "figure_outputs", "figure_style", "write_sheet"]

FORMATS = ("pdf", "svg", "png", "csv")


def add_figure_options(parser: argparse.ArgumentParser, name: str, *, bias: bool = False) -> None:
    """Add how the figure looks, with --bias if asked for, and where it goes: --output, --format and --bundle."""
    from slide_gui.figures.color_scale import MAPS
    from slide_gui.figures.style import LEVELS, WIDTHS, Style

    usual = Style()
    group = parser.add_argument_group("figure")
    group.add_argument("--levels", metavar="NAME", help=choice_help("colour limits", LEVELS, usual.levels))
    group.add_argument("--colors", metavar="NAME", help=f"{', '.join(MAPS)} ({usual.colors})")
    group.add_argument("--width", metavar="NAME", help=f"{', '.join(WIDTHS)} ({usual.width})")
    group.add_argument("--dpi", type=int, help=f"dots per inch of a PNG ({usual.dpi})")
    group.add_argument("--transpose", action="store_true", help="show images with rows and columns exchanged")
    if bias:
        group.add_argument("--bias", action="store_true", help="write each tile's bias below it")
    output = Path(f"{name}.pdf")
    parser.add_argument("-o", "--output", type=Path, default=output, help=f"figure, by suffix, or CSV ({output})")
    parser.add_argument(
        "--format", nargs="+", choices=FORMATS, help="write these formats, each under the output's name"
    )
    parser.add_argument(
        "--bundle",
        type=Path,
        metavar="FOLDER",
        help="write figure, CSV, commands and a Python script here instead",
    )


def figure_style(arguments: argparse.Namespace) -> Style:
    """Return the style asked for.

    Raises
    ------
    UsageError
        If a value is none of the choices.
    """
    from slide_gui.figures.style import Style

    names = ("levels", "colors", "width", "dpi")
    given = {name: getattr(arguments, name) for name in names if getattr(arguments, name) is not None}
    with usage():
        return Style(**given, bias=getattr(arguments, "bias", False), transposed=arguments.transpose)


def figure_outputs(arguments: argparse.Namespace) -> list[Path]:
    """Return the files asked for.

    Raises
    ------
    UsageError
        If the suffix is none that is written.
    """
    output: Path = arguments.output
    if arguments.format:
        return [output.with_suffix(f".{name}") for name in dict.fromkeys(arguments.format)]
    if output.suffix.lower() not in {f".{name}" for name in FORMATS}:
        raise UsageError(f"{str(output)!r} must end in .pdf, .svg, .png or .csv")
    return [output]


def write_sheet(
    sheet: Sheet,
    style: Style,
    outputs: list[Path],
    arguments: argparse.Namespace,
    document: Callable[[], dict[str, Any]],
    lines: Sequence[str] = (),
) -> int:
    """Write the files, or the bundle, and say what came out, as one JSON document or in lines; return the exit code."""
    from slide_gui.figures.sheet import save_bundle, save_sheet

    if arguments.bundle is not None:
        outputs = save_bundle(arguments.bundle, sheet, style)
    else:
        for path in outputs:
            save_sheet(path, sheet, style)
    if arguments.json:
        print_json({"outputs": [str(path) for path in outputs], **document()})
    else:
        for line in (*lines, *(f"saved {path}" for path in outputs)):
            print(line)
    return DONE
