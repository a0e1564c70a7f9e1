"""Print the size of the checkout: `python -m tests.house`. Code lines are neither blank, comment nor docstring."""

from __future__ import annotations

import ast
import io
import tokenize
from pathlib import Path

ROOT = Path(__file__).parents[1]
_NO_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
}  # fmt: skip


def code_lines(text: str) -> int:
    """Return the number of lines that are neither blank, comment nor docstring."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if documented and ast.get_docstring(node) is not None:
            lines.difference_update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return len(lines)


def main() -> None:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "slide_gui").rglob("*.py")]
    tests = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py")]
    print(f"code lines: {sum(map(code_lines, sources))}")
    print(f"modules of more than 5 lines: {sum(len(text.splitlines()) > 5 for text in sources)}")
    print(f"lines of tests: {sum(len(text.splitlines()) for text in tests)}")


if __name__ == "__main__":
    main()
