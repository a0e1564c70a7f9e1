"""Names in the sources say what a value is, not merely that somebody has it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "slide_gui"
VAGUE = {"desk", "found", "kept", "made", "own", "taken"}
FIELDS = {"kept"}
"""Of stored documents: attributes and keywords of records may be called so, variables may not."""


def vague(source: str) -> list[str]:
    """Return the vague names that a source gives to variables, arguments, attributes, functions and classes."""
    given = sorted(names(ast.parse(source)))
    return [f"{line}: {name}" for line, name in given if VAGUE & set(name.lower().split("_"))]


def names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    fields = {id(line.target) for each in classes for line in each.body if isinstance(line, ast.AnnAssign)}
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) if id(node) not in fields or name not in FIELDS:
                yield node.lineno, name
            case ast.Attribute(attr=name) if name not in FIELDS:
                yield node.lineno, name
            case ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield node.lineno, name
            case ast.keyword(arg=str(name)) if name not in FIELDS:
                yield node.value.lineno, name
            case _:
                pass


def test_that_vague_names_are_recognised_wherever_they_are_given() -> None:
    assert vague("def made(own, *, kept): self.own_error = found_at = f(taken=1)\nclass Row:\n    found: int") == [
        "1: found_at", "1: kept", "1: made", "1: own", "1: own_error", "1: taken", "3: found",
    ]  # fmt: skip
    assert vague("class Spec:\n    kept: float\nreplace(spec, kept=spec.kept)\n'found'; known = unfound") == []


def test_that_no_name_is_vague() -> None:
    sources = {path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    assert len(sources) > 100
    hits = {name: vague(source) for name, source in sources.items()}
    assert {name: lines for name, lines in hits.items() if lines} == {}
