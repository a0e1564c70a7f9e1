"""What packages tell a desktop agrees with the program: names, versions, kinds of files, icons, licences."""

from __future__ import annotations

import json
import sys
import tomllib
from configparser import ConfigParser
from fnmatch import fnmatch
from pathlib import Path
from xml.etree import ElementTree

import pytest

import slide_gui
from slide_gui import licences, resources
from slide_gui.cli import main
from slide_gui.core.workers import ClusterError
from slide_gui.data.open import DATA_SUFFIXES
from slide_gui.experiments.files.session import SUFFIX
from slide_gui.experiments.sweeps.cluster import Cluster, ClusterChoice

ROOT = Path(__file__).parent.parent
LINUX = ROOT / "packaging" / "linux"
EVERYWHERE = {
    "text/csv": "*.csv",
    "text/tab-separated-values": "*.tsv",
    "application/zip": "*.zip",
    "application/gzip": "*.gz",
}
"""Kinds that every system knows → its pattern."""

MIME = "{http://www.freedesktop.org/standards/shared-mime-info}"


def entry() -> dict[str, str]:
    """Return the keys of the desktop file."""
    parser = ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(LINUX / "slide-gui.desktop", encoding="utf-8")
    return dict(parser["Desktop Entry"])


def patterns() -> dict[str, list[str]]:
    """Return the patterns of names of each kind of file that a package brings."""
    kinds = ElementTree.parse(LINUX / "slide-gui.xml").getroot().iter(f"{MIME}mime-type")
    return {kind.attrib["type"]: [glob.attrib["pattern"] for glob in kind.iter(f"{MIME}glob")] for kind in kinds}


def test_that_the_desktop_file_starts_the_command_of_the_project_with_its_icon_and_files() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    keys = entry()
    (command,) = project["scripts"]
    assert (keys["Type"], keys["Name"], keys["Exec"], keys["Icon"]) == (
        "Application",
        command,
        f"{command} %F",
        command,
    )
    assert (ROOT / "resources" / "icons" / f"{keys['Icon']}.svg").is_file()
    assert keys["Terminal"] == "false"
    assert keys["Categories"].startswith("Science;")


def test_that_every_format_that_the_program_opens_is_one_of_the_kinds_of_the_desktop_file() -> None:
    kinds = entry()["MimeType"].rstrip(";").split(";")
    ours = patterns()
    assert set(ours) <= set(kinds)
    assert set(kinds) - set(ours) - set(EVERYWHERE) == {"inode/directory"}
    globs = [*EVERYWHERE.values(), *(glob for each in ours.values() for glob in each)]
    for suffix in (*DATA_SUFFIXES, SUFFIX):
        assert any(fnmatch(f"name{suffix}", glob) for glob in globs), suffix
    for glob in globs:
        assert any(glob.endswith(suffix) for suffix in (*DATA_SUFFIXES, SUFFIX)), glob


def test_that_the_metadata_of_software_centres_name_this_program_and_this_version() -> None:
    root = ElementTree.parse(LINUX / "slide-gui.metainfo.xml").getroot()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    said = {child.tag: child.text for child in root}
    assert root.attrib["type"] == "desktop-application"
    assert str(said["id"]).rpartition(".")[2] == project["name"].replace("-", "_")
    assert (said["name"], said["project_license"]) == (project["name"], project["license"])
    assert said["launchable"] == f"{project['name']}.desktop"
    versions = [release.attrib["version"] for release in root.iter("release")]
    assert versions[0] == slide_gui.__version__
    assert {kind.text for kind in root.iter("mediatype")} <= set(patterns())


def test_that_the_changelog_and_the_citation_name_this_version() -> None:
    assert f"\n## {slide_gui.__version__}\n" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\nversion: {slide_gui.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_that_the_licences_of_this_installation_are_named_qts_among_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["licences", "--json"]) == 0
    said = {part["name"]: part["licence"] for part in json.loads(capsys.readouterr().out)}
    assert "LGPL-3.0" in said["PySide6_Essentials"]
    assert {"numpy", "scipy", "scikit-learn", "matplotlib", "requests", "urllib3"} <= set(said)
    assert all(said.values())
    for text in ("LGPL-3.0.txt", "GPL-3.0.txt"):
        assert "GNU" in (ROOT / "packaging" / "licences" / text).read_text(encoding="utf-8")


@pytest.fixture
def bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a bundle, of which this process takes itself to be the program."""
    monkeypatch.setattr(sys, "_MEIPASS", str(tmp_path), raising=False)
    return tmp_path


def test_that_a_bundle_lists_what_its_bill_says_and_where_the_texts_are(
    bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = bundle / "resources" / "licences"
    place.mkdir(parents=True)
    components = [
        {
            "name": "zlib", "version": "1.3", "licenses": [{"license": {"name": "Zlib"}}],
            "properties": [{"name": licences.TEXTS, "value": "zlib-1.3"}],
        },
        {
            "name": "Qt", "version": "6.11", "licenses": [{"expression": "LGPL-3.0-only"}],
            "properties": [{"name": licences.TEXTS, "value": "Qt-6.11"}],
        },
    ]  # fmt: skip
    (place / licences.BILL).write_text(json.dumps({"components": components}), encoding="utf-8")
    assert main(["licences"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "Qt 6.11: LGPL-3.0-only",
        "zlib 1.3: Zlib",
        f"licence texts: {place}",
    ]
    assert "| Qt | 6.11 | LGPL-3.0-only |" in licences.as_markdown()


@pytest.mark.usefixtures("bundle")
def test_that_a_bundle_says_in_a_sentence_what_it_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(
        ClusterError, match=r"the desktop bundle does not contain it.*pip install 'slide-gui\[cluster\]'"
    ):
        Cluster(ClusterChoice(workers=2))


def test_that_outside_of_a_bundle_an_extra_is_installed_by_pip_alone() -> None:
    assert resources.how_to_get("cluster") == "pip install 'slide-gui[cluster]'"
