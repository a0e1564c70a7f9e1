"""Packages and the program agree on names, versions, file types, icons and licences."""

import ast
import json
import re
import shutil
import subprocess
import sys
import tomllib
from configparser import ConfigParser
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree

import pytest
from packaging.requirements import Requirement
from PIL import Image

import slide_gui
from slide_gui import licences, resources
from slide_gui.cli import main
from slide_gui.core.workers import ClusterError
from slide_gui.data.open import DATA_SUFFIXES
from slide_gui.experiments.files.session import SUFFIX
from slide_gui.experiments.sweeps.cluster import Cluster, ClusterChoice

ROOT = Path(__file__).parent.parent
LINUX, PICTURES = ROOT / "packaging" / "linux", ROOT / "packaging" / "pictures"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EVERYWHERE = {"text/csv": "csv", "text/tab-separated-values": "tsv", "application/zip": "zip", "application/gzip": "gz"}
"""File type that every system defines → its suffix."""

MIME = "{http://www.freedesktop.org/standards/shared-mime-info}"


def desktop_file():
    parser = ConfigParser(interpolation=None)
    parser.optionxform = str
    parser.read(LINUX / "slide-gui.desktop", encoding="utf-8")
    return dict(parser["Desktop Entry"])


def patterns():
    """Return the file name patterns of each file type that a package installs."""
    kinds = ElementTree.parse(LINUX / "slide-gui.xml").getroot().iter(f"{MIME}mime-type")
    return {kind.attrib["type"]: [glob.attrib["pattern"] for glob in kind.iter(f"{MIME}glob")] for kind in kinds}


def test_that_the_desktop_file_starts_the_command_with_its_icon_and_files():
    keys, (command,) = desktop_file(), PROJECT["scripts"]
    expected = {"Type": "Application", "Name": command, "Exec": f"{command} %F", "Icon": command, "Terminal": "false"}
    assert keys == {**keys, **expected}
    assert (ROOT / "resources" / "icons" / f"{command}.svg").is_file()
    assert keys["Categories"].startswith("Science;")


def test_that_the_desktop_file_names_every_format_that_the_program_opens():
    kinds, own = set(desktop_file()["MimeType"].rstrip(";").split(";")), patterns()
    assert own.keys() <= kinds
    assert kinds - own.keys() - EVERYWHERE.keys() == {"inode/directory"}
    globs = [*(f"*.{suffix}" for suffix in EVERYWHERE.values()), *(glob for each in own.values() for glob in each)]
    for suffix in (*DATA_SUFFIXES, SUFFIX):
        assert any(fnmatch(f"name{suffix}", glob) for glob in globs), suffix
    for glob in globs:
        assert any(glob.endswith(suffix) for suffix in (*DATA_SUFFIXES, SUFFIX)), glob


def test_that_metadata_changelog_and_citation_name_this_version():
    root = ElementTree.parse(LINUX / "slide-gui.metainfo.xml").getroot()
    texts, name = {child.tag: child.text for child in root}, PROJECT["name"]
    assert root.attrib["type"] == "desktop-application"
    assert str(texts["id"]).rpartition(".")[2] == name.replace("-", "_")
    assert (texts["name"], texts["project_license"]) == (name, PROJECT["license"])
    assert texts["launchable"] == f"{name}.desktop"
    assert {kind.text for kind in root.iter("mediatype")} <= patterns().keys()
    assert next(root.iter("release")).attrib["version"] == slide_gui.__version__
    version, date = slide_gui.__version__, next(root.iter("release")).attrib["date"]
    assert f"\n## [{version}] - {date}\n" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f'\nversion: {version}\ndate-released: "{date}"\n' in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_that_the_pictures_of_readme_and_appstream_exist_and_are_small():
    for image in ElementTree.parse(LINUX / "slide-gui.metainfo.xml").getroot().iter("image"):
        with Image.open(PICTURES / str(image.text).rpartition("/")[2]) as picture:
            assert picture.size == (int(image.attrib["width"]), int(image.attrib["height"]))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert {ROOT / name for name in re.findall(r"(packaging/pictures/[^\s)\"]+)", readme)} == set(PICTURES.iterdir())
    assert (PICTURES / "moving.gif").stat().st_size <= 2_000_000
    assert len(readme.split()) <= 700


def test_that_the_conda_recipe_names_the_version_and_the_dependencies_of_the_project():
    recipe = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    names = {"matplotlib": "matplotlib-base", "PySide6-Essentials": "pyside6"}
    least, python = PROJECT["requires-python"].split(",")
    expected = {f"python >=${{{{ python_min }}}},{python}"}
    for requirement in PROJECT["dependencies"]:
        name, versions = re.fullmatch(r"([\w-]+)(.+)", requirement).groups()
        expected.add(f"{names.get(name, name)} {versions}")
    assert set(re.findall(r"    - (.+)", recipe.partition("  run:")[2].partition("\ntests:")[0])) == expected
    assert f'version: "{slide_gui.__version__}"\n  python_min: "{least.removeprefix(">=")}"' in recipe
    assert [licences.installed_version(name) for name in licences.PACKAGES].count(None) == 0
    assert {re.split("[>]", each)[0] for each in PROJECT["dependencies"]} == set(licences.PACKAGES)


def test_that_installed_packages_are_listed_with_their_licences(capsys):
    assert main(["licences", "--json"]) == 0
    known = {part["name"]: part["licence"] for part in json.loads(capsys.readouterr().out)}
    assert "LGPL-3.0" in known["PySide6_Essentials"]
    assert {"numpy", "scipy", "scikit-learn", "matplotlib", "requests", "urllib3"} <= known.keys()
    assert all(known.values())
    for text in ("LGPL-3.0.txt", "GPL-3.0.txt"):
        assert "GNU" in (ROOT / "packaging" / "licences" / text).read_text(encoding="utf-8")


@pytest.fixture
def bundle(tmp_path, monkeypatch):
    """Let this process appear to be the program of a bundle, and return the bundle's folder."""
    monkeypatch.setattr(sys, "_MEIPASS", str(tmp_path), raising=False)
    return tmp_path


def test_that_a_bundle_lists_the_components_of_its_bill_of_materials(bundle, capsys):
    folder = bundle / "resources" / "licences"
    folder.mkdir(parents=True)
    texts = [{"name": licences.TEXTS, "value": "texts"}]
    components = [
        {"name": "zlib", "version": "1.3", "licenses": [{"license": {"name": "Zlib"}}], "properties": texts},
        {"name": "Qt", "version": "6.11", "licenses": [{"expression": "LGPL-3.0-only"}], "properties": texts},
    ]
    (folder / licences.BILL).write_text(json.dumps({"components": components}), encoding="utf-8")
    assert main(["licences"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["Qt 6.11: LGPL-3.0-only", "zlib 1.3: Zlib", f"licence texts: {folder}"]
    assert "| Qt | 6.11 | LGPL-3.0-only |" in licences.as_markdown()


@pytest.mark.usefixtures("bundle")
def test_that_a_bundle_explains_how_to_get_an_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ClusterError, match=r"the desktop bundle lacks this feature.*pip install '.\[cluster\]'"):
        Cluster(ClusterChoice(workers=2))


def test_that_outside_a_bundle_an_extra_needs_only_pip():
    assert resources.how_to_get("cluster") == "run pip install '.[cluster]' in the source folder of slide-gui"


WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_that_workflows_only_use_actions_pinned_by_hash_and_existing_targets():
    targets = set(re.findall(r"^([\w. -]+):(?!=)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    targets = {name for each in targets for name in each.split()}
    for path in WORKFLOWS:
        text = path.read_text(encoding="utf-8")
        assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}  # v[\d.]+", use) for use in re.findall(r"uses: (.+)", text))
        commands = re.findall(r"run: make ([\w ]+?) *(?:#.*)?$", text, re.MULTILINE)
        assert commands
        assert {name for words in commands for name in words.split()} - {"docs"} <= targets


@pytest.mark.skipif(shutil.which("actionlint") is None, reason="actionlint is not installed")
def test_that_actionlint_accepts_the_workflows():
    done = subprocess.run(["actionlint", *map(str, WORKFLOWS)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("extra", ["release", "docs"])
def test_that_the_lock_has_hashes_and_a_version_in_the_range_of_each_dependency(extra):
    lock = (ROOT / "packaging" / f"{extra}.lock").read_text(encoding="utf-8")
    versions = re.findall(r"^([\w.-]+)==(\S+).*\\\n    --hash=sha256:[0-9a-f]{64}", lock, re.MULTILINE)
    assert len(versions) == len(re.findall(r"^[^ #]", lock, re.MULTILINE))
    locked = dict(versions)
    for each in map(Requirement, (*PROJECT["dependencies"], *PROJECT["optional-dependencies"][extra])):
        assert locked[each.name.lower()] in each.specifier, f"{each}: run `make lock`"


@pytest.mark.parametrize("script", [*(ROOT / "packaging").glob("*.py"), ROOT / "packaging" / "slide-gui.spec"], ids=str)
def test_that_scripts_of_packaging_import_names_that_exist(script):
    for node in ast.walk(ast.parse(script.read_bytes())):
        if isinstance(node, ast.ImportFrom) and node.module.partition(".")[0] in ("slide_gui", "tests"):
            assert all(hasattr(import_module(node.module), alias.name) for alias in node.names), node.module
        elif isinstance(node, ast.ImportFrom) and (sibling := script.with_name(f"{node.module}.py")).exists():
            defined = {getattr(each, "name", "") for each in ast.parse(sibling.read_bytes()).body}
            assert {alias.name for alias in node.names} <= defined
