"""`slide-gui reproduce` runs the commands of all figures and tables, shows them on a page, and resumes."""

import re
import shlex
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest

from slide_gui.cli import reproduction
from slide_gui.cli.parser import build_parser
from slide_gui.cli.reproduction import PaperItem, paper_items

TAG = "<script>alert('x')</script>\"&"
ITEMS = (
    PaperItem("Weights", "weights tiny.npz --depth 1 -o out/w.png --format png csv", ("w.png", "w.csv"), "rows of W"),
    PaperItem(TAG, "train late.npz --depth 0 --method raw-svm --figure out/confusion.csv", ("confusion.csv",), TAG),
)


def test_that_everything_is_made_on_a_page_and_an_interrupted_reproduction_resumes(cli, tiny, monkeypatch):
    monkeypatch.setattr(reproduction, "paper_items", lambda _arguments: ITEMS)
    cli("reproduce --out out", code=1)
    assert "reproduction is incomplete" in Path("out/index.html").read_text(encoding="utf-8")
    shutil.copy(tiny, "late.npz")
    document = cli("reproduce --out out --json").json
    page = Path(document["page"]).read_text(encoding="utf-8")
    assert [item["files"] for item in document["made"]] == [list(item.files) for item in ITEMS]
    targets = re.findall(r'(?:href|src)="([^"]+)"', page)
    assert set(targets) == {name for item in ITEMS for name in item.files}
    assert all(Path("out", name).stat().st_size > 50 for name in targets)
    ElementTree.fromstring(re.sub(r"<!DOCTYPE html>|<meta[^>]*>|<img [^>]*>", "", page))
    assert not any(words in page for words in ("<script", "://", "reproduction is incomplete"))
    assert "$ slide-gui train late.npz" in page
    assert "test error" in page


def test_that_a_file_that_is_no_store_is_refused_before_anything_is_drawn(cli):
    Path("mine.csv").write_text("a,b\n" * 100)
    assert "mine.csv: this is not a run store" in cli("reproduce --out out --store mine.csv", code=1).err
    assert [path.name for path in Path("out").iterdir()] == ["slide-gui.sha256"]


@pytest.mark.parametrize("words", ["", "--quick --generated --splits 2 --workers 2 --store 'my runs.sqlite'"])
def test_that_the_commands_of_all_items_are_accepted_and_use_the_given_options(words):
    items = paper_items(build_parser().parse_args(["reproduce", "--out", "a folder", *shlex.split(words)]))
    parsed = [build_parser().parse_args(shlex.split(item.command)) for item in items]
    assert {each.store for each in parsed[2:]} == {Path("my runs.sqlite" if words else "a folder/runs.sqlite")}
    assert {each.workers for each in parsed[2:]} == {2 if words else 0}
    assert [name.startswith("generated:") for name in parsed[0].data] == [bool(words)] * 4
    assert (parsed[3].quick, parsed[3].generated, parsed[3].splits) == (
        (True, True, 2) if words else (False, False, None)
    )
    assert all(str(path.parent) == "a folder" for path in (*parsed[2].figure, *parsed[3].tables))
