"""Texts for readers are plain English: banned phrases and terms occur in no docstring, comment, message or page."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
BANNED = re.compile(
    r"\b(beside|begun|let be|for ever|a person|taken back|takes back|broken off|(?:is|are) (?:told|said)|so many"
    r"|stands? (?:in|for|here|there|above|below)|as it stands|goes on where"
    r"|one a (?:layer|class|row|line|depth)|a good \w+ minutes|what came out"
    r"|training part|test part|whole numbers?|blanked|scrambled?|version of the numbers|no client)\b",
    re.IGNORECASE,
)
PAGES = [*sorted((ROOT / "resources/help").glob("*.md")), *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING"))]
MODULES = sorted((ROOT / "slide_gui").rglob("*.py"))


def texts(source: str) -> Iterator[tuple[int, str]]:
    """Return the comments, and the strings of at least two words, docstrings among them, with their lines."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
            yield node.lineno, node.value


def hits(path: Path) -> list[str]:
    """Return the banned phrases of a file, each with its place."""
    content, name = path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix()
    lines = texts(content) if path.suffix == ".py" else enumerate(content.splitlines(), start=1)
    return [f"{name}:{line}: {hit[0]}" for line, text in lines for hit in BANNED.finditer(text)]


def test_that_no_text_has_a_banned_phrase() -> None:
    assert len(MODULES) > 100
    assert [hit for path in (*PAGES, *MODULES) for hit in hits(path)] == []
