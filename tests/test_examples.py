"""The examples in docstrings hold."""

from __future__ import annotations

import ast
import doctest
import importlib
from pathlib import Path

import pytest

import slide_gui

PACKAGE = Path(slide_gui.__file__).parent


def with_examples() -> list[str]:
    """Return the modules of which a docstring holds an example."""
    parser, modules = doctest.DocTestParser(), []
    for file in sorted(PACKAGE.rglob("*.py")):
        kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
        nodes = [node for node in ast.walk(ast.parse(file.read_bytes())) if isinstance(node, kinds)]
        if any(parser.get_examples(ast.get_docstring(node) or "") for node in nodes):
            modules.append(".".join(("slide_gui", *file.relative_to(PACKAGE).with_suffix("").parts)))
    return modules


@pytest.mark.parametrize("module", with_examples())
def test_that_the_examples_of_a_module_hold(module: str) -> None:
    results = doctest.testmod(importlib.import_module(module))
    assert results.attempted > 0
    assert results.failed == 0
