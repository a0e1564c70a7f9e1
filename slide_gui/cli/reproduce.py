"""`slide-gui reproduce`: every figure and table of the paper on one page; broken off, it goes on where it was."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slide_gui.cli.console import DONE, print_json, progress_bar, usage
from slide_gui.cli.options import Subparsers, add_json, computing

if TYPE_CHECKING:
    from slide_gui.reproduction.figures import ReproducedItem
    from slide_gui.reproduction.plan import ReproductionScale

__all__ = ["NAME", "register"]

NAME = "reproduce"


def register(commands: Subparsers) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(NAME, help="every figure and table of the paper, on one page", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="where index.html and all files go")
    parser.add_argument(
        "--quick", action="store_true", help="a small version in at most two minutes; the page says what it leaves out"
    )
    parser.add_argument("--splits", type=int, metavar="N", help="80/20 splits of each data set (the protocol's)")
    parser.add_argument(
        "--generated", action="store_true", help="generate the data, even where the real files are found"
    )
    parser.add_argument(
        "--store", type=Path, metavar="FILE", help="take runs from this file, and keep them there (in the folder)"
    )
    add_json(parser)
    parser.set_defaults(run=computing(_run))


def _run(arguments: argparse.Namespace) -> int:
    from slide_gui.experiments.source import DataSource
    from slide_gui.experiments.store import RunStore
    from slide_gui.reproduction.plan import reproduction_scale
    from slide_gui.reproduction.run import reproduce

    with usage():
        scale = reproduction_scale(arguments.quick, arguments.splits)
    folder: Path = arguments.out
    folder.mkdir(parents=True, exist_ok=True)

    def load(key: str, progress: Any) -> Any:
        return DataSource(key=key, generated=arguments.generated).load(progress=progress)

    def seen(items: tuple[ReproducedItem, ...]) -> None:
        _write_page(folder, items, scale, complete=False)

    with RunStore(arguments.store or folder / "runs.sqlite") as store, progress_bar("reproduce") as progress:
        items = reproduce(folder, scale, load, store, progress=progress, seen=seen)
    page = _write_page(folder, items, scale, complete=True)
    if arguments.json:
        print_json(
            {
                "page": str(page),
                "left_out": list(scale.left_out),
                "made": [
                    {
                        "name": one.name,
                        "title": one.title,
                        "files": list(one.files),
                        "data": one.data,
                        "seconds": one.seconds,
                    }
                    for one in items
                ],
            }
        )
    else:
        for one in items:
            print(f"{one.title}: {', '.join(one.files)}")
        print(f"saved {page}")
    return DONE


def _write_page(folder: Path, items: tuple[ReproducedItem, ...], scale: ReproductionScale, *, complete: bool) -> Path:
    from slide_gui.figures.evaluation import save_text
    from slide_gui.reproduction.page import reading_page

    page = folder / "index.html"
    save_text(page, reading_page(items, scale.left_out, complete))
    return page
