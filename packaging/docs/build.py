"""Build the documentation in build/docs without network: `make docs`.

The sources are the pages in this folder, the guide in resources/help, pictures of the window, and the help of the
subcommands. The program itself makes the pictures and the help.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import Any
from zipfile import ZipFile, ZipInfo

from slide_gui.cli.parser import build_parser

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PICTURES = ROOT / "packaging" / "pictures"
PAGES = {
    "guide.md": "interface/index.md",
    "tour.md": "tutorial.md",
    "glossary.md": "glossary.md",
    "paper.md": "explanation/paper.md",
    "measurements.md": "results.md",
    "cluster.md": "how-to/cluster.md",
}
"""Page of the documentation for each file in resources/help. Pages of the interface include sections of guide.md."""

WINDOW = ("weights", "curves", "classifier", "evaluation", "runs")
"""Pages of the window of which the build makes pictures."""

CARDS = {
    "tour-2": "Row of W for a pixel of the upper edge, in four layers",
    "tour-3": "The same rows at noise level 0.8, with longer red lines",
    "tour-4": "An image on its way through four layers, black and white after each threshold",
    "tour-9": "A misclassified image that can be drawn on, with its prediction below",
    "tour-10": "Error against noise level, one curve for each depth",
}
"""Text in the tutorial for each picture of a card of the tour. The build makes these pictures."""

COMMANDS = {
    "tour": "",
    "guide": "interface/index.md",
    "open": "interface/own-data.md",
    "export": "interface/export.md",
    "page_curves": "interface/curves.md",
    "page_classifier": "interface/classifier.md",
    "page_evaluation": "interface/benchmark.md",
    "page_runs": "interface/runs.md",
    **dict.fromkeys(("view_weights", "view_flow", "view_copies", "view_explain"), "interface/weights.md"),
}
"""Page that describes each command to which the guide links, or an empty text if there is none."""


def relinked(text: str) -> str:
    """Return Markdown of the guide or of README.md, with links that lead to pages of the documentation."""

    def target(match: re.Match[str]) -> str:
        words, link, anchor = match.groups("")
        scheme, _, name = link.partition(":")
        if scheme == "https":
            return match[0]
        file = Path(link).name
        page = {"command": COMMANDS.get(name, ""), "data": "interface/own-data.md"}.get(scheme, PAGES.get(file, file))
        return f"[{words}](/{page}{anchor})" if page else words

    return re.sub(r"\[([^]]+)]\(([^)#]+)(#[^)]*)?\)", target, text)


def helps(parser: argparse.ArgumentParser, level: int = 2) -> Iterator[str]:
    """Yield the help of a command and of its subcommands, each below a heading."""
    printed = io.StringIO()
    with redirect_stdout(printed), suppress(SystemExit):
        parser.parse_known_args(["--help"])
    yield f"{'#' * level} {parser.prog}\n\n```text\n{printed.getvalue()}```\n"
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                yield from helps(each, min(level + 1, 4))


def assemble(source: Path) -> None:
    """Write all sources to a folder, except pictures of the window."""
    shutil.copytree(HERE, source, ignore=shutil.ignore_patterns("build.py", "__pycache__"))
    guide = ROOT / "resources" / "help"
    pages = {page: relinked((guide / name).read_text(encoding="utf-8")) for name, page in PAGES.items()}
    for section in pages.pop("interface/index.md").split("\n## ")[1:]:
        title, _, text = section.partition("\n")
        pages[f"guide/{re.sub('[^a-z]+', '-', title.lower())}.md"] = f"{text.strip()}\n"
    pages["guide/readme.md"] = relinked((ROOT / "README.md").read_text(encoding="utf-8").partition("\n## Start")[0])
    for name, words in CARDS.items():
        before, heading, after = pages["tutorial.md"].partition(f"\n## {int(name.removeprefix('tour-')) + 1}. ")
        pages["tutorial.md"] = f"{before}\n![{words}](/pictures/{name}.png)\n{heading}{after}"
    (source / "guide").mkdir()
    for page, text in pages.items():
        (source / page).write_text(text, encoding="utf-8")
    os.environ["COLUMNS"] = "92"  # width of the help
    with (source / "command-line.md").open("a", encoding="utf-8") as file:
        file.writelines(f"\n{text}" for text in helps(build_parser()))
    files = [ROOT / "CITATION.cff", ROOT / "resources" / "protocol.toml", *guide.glob("*.png"), *PICTURES.glob("*.gif")]
    for file in files:
        shutil.copy(file, source)


def bibtex(citation: dict[str, Any]) -> Iterator[str]:
    """Yield a BibTeX entry for the program and one for each work that CITATION.cff refers to."""
    for work in (citation, *citation["references"]):
        people = [each for each in work["authors"] if "family-names" in each]
        names = ["{family-names}, {given-names}".format_map(each) for each in people]
        year = str(work.get("year") or work["date-released"][:4])
        fields = {
            "author": " and ".join(names) or f"{{{work['authors'][0]['name']}}}",
            "title": f"{{{work['title']}}}",
            "year": year,
            "note": work.get("notes") or f"Version {work['version']}",
            **{name: work[name] for name in ("doi", "url") if name in work},
        }
        key = f"{people[0]['family-names'].lower()}{year}" if people else "slide-gui"
        yield "".join([f"@misc{{{key},\n", *(f"  {name} = {{{value}}},\n" for name, value in fields.items()), "}\n"])


def date_equally(folder: Path) -> None:
    """Sort the ZIP archives of the gallery and remove their times, so that equal sources give equal bytes."""
    for path in folder.rglob("*.zip"):
        with ZipFile(path) as archive:
            members = {name: archive.read(name) for name in sorted(archive.namelist())}
        with ZipFile(path, "w") as archive:
            for name, content in members.items():
                archive.writestr(ZipInfo(name), content)


def main() -> int:
    import yaml
    from sphinx.cmd.build import build_main

    source, target = ROOT / "build" / "docs-source", ROOT / "build" / "docs"
    for folder in (source, target):
        shutil.rmtree(folder, ignore_errors=True)
    assemble(source)
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    (source / "citation.bib").write_text("\n".join(bibtex(citation)), encoding="utf-8")
    os.environ.update(MPLBACKEND="agg", QT_QPA_PLATFORM="offscreen", TZ="UTC")
    script, folder = ROOT / "packaging" / "make_pictures.py", source / "pictures"
    subprocess.run([sys.executable, str(script), "--to", str(folder), *WINDOW, *CARDS], check=True)
    problem = build_main(["-n", "-W", "--keep-going", "-q", "-d", str(source / ".doctrees"), str(source), str(target)])
    date_equally(target)
    return problem


if __name__ == "__main__":
    raise SystemExit(main())
