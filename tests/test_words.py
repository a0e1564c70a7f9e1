"""Texts have no banned phrases, and names are not vague."""

import ast
import io
import re
import tokenize
from pathlib import Path

ROOT = Path(__file__).parent.parent
BANNED = re.compile(
    r"\b(beside|begun|let be|for ever|a person|taken back|takes back|broken off|(?:is|are) (?:told|said)|so many"
    r"|stands? (?:in|for|here|there|above|below)|as it stands|goes on where"
    r"|one a (?:layer|class|row|line|depth)|a good \w+ minutes|what came out"
    r"|training part|test part|whole numbers?|blanked|scrambled?|version of the numbers|no client)\b",
    re.IGNORECASE,
)
PAGES = [*sorted((ROOT / "resources/help").glob("*.md")), *ROOT.glob("*.md"), *ROOT.glob("packaging/docs/**/*.md")]
MODULES = sorted((ROOT / "slide_gui").rglob("*.py"))
VAGUE = {"desk", "found", "kept", "made", "own", "taken"}
FIELDS = {"kept"}
"""Names in stored documents, which only attributes and keywords of records may have."""


def texts(source):
    """Yield comments and strings of at least two words, including docstrings, with their lines."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
            yield node.lineno, node.value


def hits(path):
    """Return the banned phrases of a file, each with its line."""
    content, name = path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix()
    lines = texts(content) if path.suffix == ".py" else enumerate(content.splitlines(), start=1)
    return [f"{name}:{line}: {hit[0]}" for line, text in lines for hit in BANNED.finditer(text)]


def test_that_no_text_has_a_banned_phrase():
    assert len(MODULES) > 100
    assert [hit for path in (*PAGES, *MODULES) for hit in hits(path)] == []


def vague(source):
    """Return vague names of variables, arguments, attributes, functions and classes in a source."""
    given = sorted(names(ast.parse(source)))
    return [f"{line}: {name}" for line, name in given if VAGUE & set(name.lower().split("_"))]


def names(tree):
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


def test_that_vague_names_are_recognised_wherever_they_are_given_and_no_name_is_vague():
    assert vague("def made(own, *, kept): self.own_error = found_at = f(taken=1)\nclass Row:\n    found: int") == [
        "1: found_at", "1: kept", "1: made", "1: own", "1: own_error", "1: taken", "3: found",
    ]  # fmt: skip
    assert vague("class Spec:\n    kept: float\nreplace(spec, kept=spec.kept)\n'found'; known = unfound") == []
    assert [f"{path}:{hit}" for path in MODULES for hit in vague(path.read_text(encoding="utf-8"))] == []
