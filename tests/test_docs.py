"""The documentation covers the program, its links lead to pages, and its examples give the results that they show."""

import doctest
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import slide_gui
from slide_gui.cli.parser import _COMMANDS
from slide_gui.gui.shell.page_stack import PAGES

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "packaging" / "docs"
LINK = re.compile(r"]\((?!https:)([^)#]*)(?:#([^)]+))?\)|^```\{(?:literal)?include} (\S+)$", re.MULTILINE)


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """Assemble the sources as `make docs` does, without pictures of the window and without Sphinx."""
    spec = importlib.util.spec_from_file_location("build", DOCS / "build.py")
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    folder = tmp_path_factory.mktemp("docs") / "source"
    build.assemble(folder)
    made = {folder / "citation.bib", *(folder / "pictures" / f"{name}.png" for name in (*build.WINDOW, *build.CARDS))}
    assert set(build.WINDOW) == {page.name for page in PAGES}
    return folder, {path: path.read_text("utf-8") for path in sorted(folder.rglob("*.md"))}, made


def test_that_every_public_name_subcommand_and_page_of_the_window_is_documented(source):
    folder, pages, _ = source
    assert sorted(re.findall(r"\.\. (?:autoclass|data):: (\w+)", pages[folder / "api.md"])) == sorted(slide_gui.__all__)
    headings = re.findall(r"^### slide-gui (.+)$", pages[folder / "command-line.md"], re.MULTILINE)
    assert headings == list(_COMMANDS)
    for page in PAGES:
        assert f"/pictures/{page.name}.png" in pages[folder / "interface" / f"{page.text.lower()}.md"]


def test_that_links_lead_to_pages_and_headings_and_each_section_of_the_guide_is_included_once(source):
    folder, pages, made = source
    included = []
    for path, text in pages.items():
        for link, anchor, include in LINK.findall(text):
            name = include or link or path.name
            target = folder / name[1:] if name.startswith("/") else path.parent / name
            example = DOCS / "gallery" / f"{target.stem}.py"  # its page is made from the script
            is_example = target.parent.name == "examples" and example.exists()
            assert target in made or target.exists() or is_example, name
            headings = re.findall(r"^#+ (.+)$", pages.get(target, ""), re.MULTILINE)
            assert not anchor or anchor in {each.lower().replace(" ", "-") for each in headings}, f"{name}#{anchor}"
            included += [include] if include.startswith("/guide/") else []
    assert sorted(included) == sorted(f"/guide/{path.name}" for path in (folder / "guide").iterdir())


def test_that_every_page_is_in_one_table_of_contents(source):
    folder, pages, _ = source
    listed = [folder / "index.md"]
    for path, text in pages.items():
        for tree in re.findall(r"```\{toctree}\n(.*?)```", text, re.DOTALL):
            names = re.findall(r"^(?:\w+ <)?([\w/-]+)>?$", tree, re.MULTILINE)
            listed += [path.parent / f"{name}.md" for name in names]
    listed.remove(folder / "examples" / "index.md")
    assert sorted(listed) == [path for path in pages if path.parent.name != "guide"]


@pytest.mark.parametrize("page", [path for path in sorted(DOCS.rglob("*.md")) if ">>> " in path.read_text("utf-8")])
def test_that_the_examples_of_a_page_give_their_results(page):
    results = doctest.testfile(str(page), module_relative=False)
    assert (results.attempted > 0, results.failed) == (True, 0)


@pytest.mark.timeout(1500)
def test_that_the_documentation_builds_twice_the_same_without_a_warning_and_without_network_addresses():
    for module in ("sphinx", "myst_parser", "numpydoc", "sphinx_gallery", "pydata_sphinx_theme"):
        pytest.importorskip(module)
    first, second = (built(zone) for zone in ("UTC", "Asia/Tokyo"))
    assert [name for name in first.keys() | second.keys() if first.get(name) != second.get(name)] == []
    pages = [content.decode() for path, content in first.items() if path.suffix == ".html"]
    assert len(pages) > 40
    loaded = re.compile(r'<(?:script|img|link)[^>]*(?:src|href)="https?:[^"]*"')
    assert not [tag for page in pages for tag in loaded.findall(page)]


def built(zone):
    """Build the documentation in a time zone; return the content of each file."""
    subprocess.run([sys.executable, str(DOCS / "build.py")], check=True, env={**os.environ, "TZ": zone})
    return {path: path.read_bytes() for path in (ROOT / "build" / "docs").rglob("*") if path.is_file()}
