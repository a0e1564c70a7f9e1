"""The version of the numbers: derived from the sources, so that nobody has to remember to raise it.

`resources/numerics.toml` lists the modules that decide a number and what of each does: its syntax tree without
docstrings, annotations and the words of refusals, so that comments and layout do not count. While the modules are as
listed, the version is the one that stands there. Else it is a version of its own: what is computed then is never taken
for an answer of another, until `packaging/numerics.py` has declared the modules equal or new.
"""

from __future__ import annotations

import ast
import hashlib
import tomllib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from slide_gui.resources import resource

__all__ = ["Version", "bytes_digest", "numerics", "source_digest", "version_from", "version_of"]

Version = int | str

_NO_NUMBER = {"annotation", "returns", "type_params", "type_comment", "kind", "ctx", "simple"}


@lru_cache(maxsize=1)
def numerics() -> Version:
    """Return the version of the numbers that this program computes."""
    with resource("numerics.toml").open("rb") as stream:
        return version_of(Path(__file__).parent, tomllib.load(stream))


def version_from(text: str) -> Version:
    """Return the version that a text names."""
    return int(text) if text.isdigit() else text


def version_of(package: Path, record: dict[str, Any]) -> Version:
    """Return the recorded version, or one of its own where a module is not as recorded.

    Parameters
    ----------
    package : Path
        The folder `slide_gui`. A module that is not there as a file is as it was built into a bundle.
    record : dict
        Of `resources/numerics.toml`: ``version``, and ``modules``, path → digests of the tree and of the bytes.
    """
    recorded: Version = record["version"]
    changed = []
    for name, digests in record["modules"].items():
        file = package / name
        if not file.is_file():
            continue
        tree, content = digests.split()
        source = file.read_bytes()
        if bytes_digest(source) != content and source_digest(source) != tree:  # parsing takes a hundred times as long
            changed.append(f"{name} {source_digest(source)}")
    return f"{recorded}+{_short(chr(10).join(changed).encode())}" if changed else recorded


def bytes_digest(source: bytes) -> str:
    """Return a digest of a source, whatever its line ends."""
    return _short(source.replace(b"\r\n", b"\n"))


def source_digest(source: bytes | str) -> str:
    """Return a digest of what decides numbers in a source, the same on every supported version of Python."""
    return _short("\n".join(_tokens(ast.parse(source))).encode())


def _short(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _tokens(value: Any) -> Iterator[str]:
    """Yield a syntax tree in words, without fields that are empty, for some versions of Python do not have them."""
    if isinstance(value, list):
        yield "["
        for item in value:
            if not _is_idle(item):
                yield from _tokens(item)
        yield "]"
    elif isinstance(value, ast.JoinedStr):
        yield from _text(value)
    elif isinstance(value, ast.Raise):
        kind = value.exc.func if isinstance(value.exc, ast.Call) else value.exc
        yield "Raise"
        yield from _tokens(kind)
    elif isinstance(value, ast.AST):
        yield type(value).__name__
        for name in value._fields:
            part = getattr(value, name, None)
            if name not in _NO_NUMBER and part is not None and part != []:
                yield name
                yield from _tokens(part)
        yield "."
    else:
        yield repr(value)


def _text(value: ast.JoinedStr) -> Iterator[str]:
    """Yield an f-string; how its plain parts are cut differs between versions of Python."""
    yield "f"
    plain = ""
    for part in value.values:
        if isinstance(part, ast.Constant):
            plain += str(part.value)
            continue
        yield repr(plain)
        plain = ""
        yield from _tokens(part)
    yield repr(plain)


def _is_idle(item: object) -> bool:
    """Whether a statement does nothing: a docstring, ``...``, ``pass``, or names for whoever imports or annotates."""
    if isinstance(item, ast.Expr):
        return isinstance(item.value, ast.Constant)
    if isinstance(item, ast.Assign):
        return any(isinstance(target, ast.Name) and target.id == "__all__" for target in item.targets)
    if isinstance(item, ast.If):
        return isinstance(item.test, ast.Name) and item.test.id == "TYPE_CHECKING"
    return isinstance(item, ast.Pass)
