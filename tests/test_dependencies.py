"""Imported packages are declared and declared packages are used, by the program and by tests and packaging."""

import ast
import re
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TOOLS = {
    "pytest-timeout": "timeout = ",
    "pytest-xdist": "-n 3",
    "ruff": "/ruff ",
    "mypy": "/mypy",
    "import-linter": "/lint-imports ",
    "codespell": "/codespell ",
    "build": "packaging/wheels.py",
    "pyinstaller": "/pyinstaller ",
    "hatchling": "hatchling.build",
    "editables": "--editable ",
    "uv": "/uv ",
    "myst-parser": '"myst_parser"',
    "numpydoc": '"numpydoc"',
    "sphinx-gallery": '"sphinx_gallery.gen_gallery"',
    "pydata-sphinx-theme": '"pydata_sphinx_theme"',
}
"""Package that is used without being imported → its use in Makefile, pyproject.toml or the configuration of Sphinx."""

ABSENT = {"sklearnex": "scikit-learn-intelex", "cyclonedx": "cyclonedx-python-lib", "yaml": "pyyaml"}
"""Module that may be missing → its distribution; other missing modules have the name of their distribution."""


def plain(distribution):
    """Return the normalised name; all distributions of PySide6 count as one."""
    name = re.sub(r"[-_.]+", "-", distribution).lower()
    return "pyside6-essentials" if name.startswith(("pyside6", "shiboken6")) else name


def declared(*extras):
    """Return the declared distributions, including those of `extras`."""
    lists = [PROJECT["dependencies"], *(PROJECT["optional-dependencies"][extra] for extra in extras)]
    return {plain(re.split(r"[\s<>=!~;\[]", requirement)[0]) for each in lists for requirement in each}


@cache
def imported(folder):
    """Return all distributions that the sources in a folder import, also within functions."""
    modules = set()
    for file in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_bytes())):
            if isinstance(node, ast.Import):
                modules |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module is not None and not node.level:
                modules.add(node.module.partition(".")[0])
    outside, known = modules - set(sys.stdlib_module_names) - {"slide_gui", "tests"}, packages_distributions()
    return frozenset(plain(name) for module in outside for name in known.get(module, [ABSENT.get(module, module)]))


def test_that_the_program_imports_exactly_the_declared_packages_and_those_of_tests_and_packaging_are_declared():
    assert imported("slide_gui") - declared("cluster") == set()
    assert declared() - imported("slide_gui") == set()
    scripts = {plain(path.stem) for path in (ROOT / "packaging").glob("*.py")}
    used = (imported("tests") | imported("packaging")) - scripts
    assert used - declared("test", "bench", "cluster", "release", "docs") == set()


@pytest.mark.parametrize("tool", sorted(declared("test", "release", "docs") - declared()))
def test_that_each_tool_of_the_tests_and_of_releases_is_used(tool):
    files = ("Makefile", "pyproject.toml", "packaging/docs/conf.py")
    words = "".join((ROOT / name).read_text(encoding="utf-8") for name in files)
    assert tool in imported("tests") | imported("packaging") or TOOLS[tool] in words
