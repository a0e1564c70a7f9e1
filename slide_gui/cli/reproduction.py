"""`slide-gui reproduce` runs other subcommands to make all figures and tables of the paper.

It also writes an HTML page that shows the figures and tables.
"""

import argparse
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from string import Template

from slide_gui import __version__
from slide_gui.cli import options
from slide_gui.cli.console import Entry, print_answer, usage
from slide_gui.cli.evaluation import add_protocol_options
from slide_gui.data.files import folder_files, write_whole
from slide_gui.experiments.evaluation.protocol import plan
from slide_gui.experiments.store.store import RunStore
from slide_gui.resources import resource

_PAGE = "index.html"
_FORMATS = ("pdf", "svg", "png", "csv")
_DRAWN = f"--noise 0.3 --depth 3 --width double --format {' '.join(_FORMATS)}"
_CURVES = "--noise 0:0.9:0.1 --depth 0:4"
_QUICK_CURVES = "--noise 0.1:0.9:0.2 --depth 0:3 --method median --loss hinge -C 10 --labels 600 --test-rows 2000"


@dataclass(frozen=True)
class PaperItem:
    """A figure or table of the paper.

    Attributes
    ----------
    command : str
        Arguments of `slide-gui` that reproduce the item.
    files : tuple of str
        Names of the files that the command writes to the output folder, which also contains the HTML page.
    paper : str
        Description of the original figure or table in the paper.
    """

    title: str
    command: str
    files: tuple[str, ...]
    paper: str


def paper_items(arguments: argparse.Namespace) -> tuple[PaperItem, ...]:
    """Return the figures and tables of the paper, each with the command that reproduces it.

    `arguments` are the parsed arguments of `slide-gui reproduce`.
    """
    folder, is_quick, kind = arguments.out, arguments.quick, "generated:" if arguments.generated else ""
    places = {"store": arguments.store or folder / "runs.sqlite"}
    places |= options.given(arguments, "workers", "scheduler")
    computed = " ".join(f"--{name} {shlex.quote(str(value))}" for name, value in places.items() if value)
    extent = " --quick" * is_quick + " --generated" * arguments.generated
    extent += "" if arguments.splits is None else f" --splits {arguments.splits}"

    def outputs(names: tuple[str, ...], between: str = " ") -> str:
        return between.join(shlex.quote(str(folder / name)) for name in names)

    weights, flow, curves = (tuple(f"{name}.{each}" for each in _FORMATS) for name in ("weights", "flow", "curves"))
    tables = tuple(f"{name}.{each}" for name in ("errors", "times") for each in (*_FORMATS, "md", "tex"))
    all_data = " ".join(f"{kind}{key}" for key in ("rectangles", "rectangles-images", "convex", "mnist"))
    return (
        PaperItem(
            "Reconstruction weights",
            f"weights {all_data} --show weights {_DRAWN} -o {outputs(weights[:1])}",
            weights,
            "Reconstruction weights of four example pixels at different layers. The weights form crosses on both "
            "Rectangles sets and round patches on Convex and MNIST, and become fuzzier with depth.",
        ),
        PaperItem(
            "Schematic with a real image",
            f"flow {kind}mnist {_DRAWN} -o {outputs(flow[:1])}",
            flow,
            "Schematic of SLIDE: input h⁰, thresholded T(h⁰), layer h¹, T(h¹), …; no corrupted copies are needed.",
        ),
        PaperItem(
            "Error against noise level and depth",
            f"sweep {kind}rectangles {_QUICK_CURVES if is_quick else _CURVES} {computed} "
            f"--figure {outputs(curves, ' --figure ')}",
            curves,
            "The error on Rectangles against the noise level 1 − p, for 0 to 4 layers. Several layers are better than "
            "one, but beyond two layers, the gain is small. The paper does not publish the values of the curves.",
        ),
        PaperItem(
            "Tables 1 and 2",
            f"benchmark{extent} {computed} --tables {outputs(tables)}",
            tables,
            "Table 1 lists the error rates of seven methods, and Table 2 the running times of feature generation. Our "
            "tables show these values next to our results.",
        ),
    )


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help=f"folder for {_PAGE} and all results")
    add_protocol_options(parser, "run a small version in about two minutes; its results differ from the paper's")
    options.add_store(parser, " (default: runs.sqlite in FOLDER)")


def _reproduce(arguments: argparse.Namespace) -> int:
    from slide_gui.cli.parser import output_of

    with usage():
        plan("quick" if arguments.quick else "full", splits=arguments.splits)
    options.cluster_choice(arguments)
    folder: Path = arguments.out
    options.check_folder(arguments, folder)
    # `folder_files` marks the folder as an output folder before the run store is created in it. The store is
    # opened now, so that a file that is not a run store raises an error before any run is computed.
    with folder_files(folder), RunStore(arguments.store or folder / "runs.sqlite"):
        pass
    items, printed = paper_items(arguments), dict[str, str]()
    for item in items:
        with folder_files(folder, item.files):
            printed[item.title] = output_of(shlex.split(item.command))
        with folder_files(folder, [_PAGE]):
            write_whole(folder / _PAGE, _page(items, printed).encode())
    document = {"page": folder / _PAGE, "made": [vars(item) for item in items]}
    lines = (f"{item.title}: {', '.join(item.files)}" for item in items)
    return print_answer(arguments, document, lines, [folder / _PAGE])


def _page(items: tuple[PaperItem, ...], printed: Mapping[str, str]) -> str:
    """Return an HTML page with the figures and tables of the commands that have finished.

    The page has no scripts and needs no network.
    """
    complete = [item for item in items if item.title in printed]
    note = "<p><strong>The reproduction is incomplete: run the same command again to resume.</strong></p>"
    sections = "\n".join(_section(item, printed[item.title]) for item in complete)
    return Template(resource("reproduction.html").read_text(encoding="utf-8")).substitute(
        version=escape(__version__),
        incomplete="" if len(complete) == len(items) else note,
        sections=sections,
    )


def _section(item: PaperItem, output: str) -> str:
    """Return the HTML section of a figure or table of the paper.

    It contains the reproduced pictures, a description of the original, the command with its output, and links to all
    files.
    """
    pictures = (name for name in item.files if name.endswith(".png"))
    links = (f'<a href="{escape(name)}">{escape(name)}</a>' for name in item.files)
    return "\n".join([
        f"<section>\n<h2>{escape(item.title)}</h2>",
        *(f'<img src="{escape(name)}" alt="{escape(item.title)}">' for name in pictures),
        f'<p><span class="note">In the paper:</span> {escape(item.paper)}</p>',
        f"<pre>$ slide-gui {escape(item.command)}\n{escape(output)}</pre>",
        f'<p class="note">{" ".join(links)}</p>\n</section>',
    ])  # fmt: skip


COMMANDS: dict[str, Entry] = {"reproduce": (_options, _reproduce)}
