"""What is imported is declared, what is declared is used, and each on the side it is needed on."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
TOOLS = {
    "pytest-timeout": "timeout = ",
    "pytest-xdist": "-n 3",
    "ruff": "/ruff ",
    "mypy": "/mypy",
    "import-linter": "/lint-imports ",
    "codespell": "/codespell ",
    "build": "packaging/wheels.py",
    "pyinstaller": "/pyinstaller ",
}
"""What is used without being imported → how Makefile or pyproject.toml use it."""

ABSENT = {"sklearnex": "scikit-learn-intelex", "cyclonedx": "cyclonedx-python-lib"}
"""Modules that need not be installed → what brings them; any other such module has the name of its distribution."""


@cache
def project() -> dict[str, Any]:
    document: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return document


def names(requirements: list[str]) -> set[str]:
    """Return the distributions of requirements, written as they are compared."""
    return {plain(re.split(r"[\s<>=!~;\[]", requirement)[0]) for requirement in requirements}


def plain(distribution: str) -> str:
    return re.sub(r"[-_.]+", "-", distribution).lower()


def declared(extra: str = "") -> set[str]:
    return names(project()["optional-dependencies"][extra] if extra else project()["dependencies"])


@cache
def homes() -> Mapping[str, list[str]]:
    """Return the distributions of every module that is installed."""
    return packages_distributions()


def statements(parent: ast.AST) -> Iterator[ast.AST]:
    """Return the statements in a node, those within them too, as an import is one."""
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        for node in getattr(parent, part, ()):
            yield node
            yield from statements(node)


@cache
def imported(folder: str) -> frozenset[str]:
    """Return the distributions that the sources of a folder import anywhere."""
    modules: set[str] = set()
    for file in (ROOT / folder).rglob("*.py"):
        for node in statements(ast.parse(file.read_bytes())):
            if isinstance(node, ast.Import):
                modules |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module is not None and not node.level:
                modules.add(node.module.partition(".")[0])
    outside = modules - set(sys.stdlib_module_names) - {"slide_gui", "tests"}
    return frozenset(plain(home) for module in outside for home in homes().get(module, [ABSENT.get(module, module)]))


def known(distributions: set[str]) -> set[str]:
    """Return distributions without the parts that PySide6 brings of itself."""
    return {"pyside6-essentials" if name.startswith(("pyside6", "shiboken6")) else name for name in distributions}


def test_that_all_that_the_program_imports_is_declared() -> None:
    assert known(set(imported("slide_gui"))) - declared() - declared("cluster") == set()


def test_that_all_that_is_declared_is_imported_by_the_program() -> None:
    assert declared() - known(set(imported("slide_gui"))) == set()


def test_that_all_that_tests_and_packaging_import_is_declared() -> None:
    beside = {plain(path.stem) for path in (ROOT / "packaging").glob("*.py")}
    used = known(set(imported("tests")) | set(imported("packaging"))) - beside
    assert used - declared() - declared("test") - declared("bench") - declared("cluster") - declared("release") == set()


@pytest.mark.parametrize("tool", sorted(declared("test") | declared("release")))
def test_that_each_tool_of_the_tests_and_of_releases_is_used(tool: str) -> None:
    words = "".join((ROOT / name).read_text(encoding="utf-8") for name in ("Makefile", "pyproject.toml"))
    assert tool in imported("tests") | imported("packaging") or TOOLS[tool] in words
