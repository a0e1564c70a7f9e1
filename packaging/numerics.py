"""Declare which version of the numbers the sources make: `python packaging/numerics.py [equal|new]`.

Without a word it says whether the sources are as resources/numerics.toml has them (exit code 1 if not).
`equal`: what changed leaves every number as it was, so that stores go on serving what they hold.
`new`: some number is another one; stores keep what they hold, and answer nothing with it.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from slide_gui.numerics import Version, bytes_digest, source_digest  # noqa: E402

_START = "experiments/run.py"
_DECIDING = ("core/", "experiments/")  # the data are told by their fingerprint
_HEAD = """\
# The version of the numbers, and what of each module decides them (see slide_gui/numerics.py): digests of the syntax
# tree and of the bytes. Written by `python packaging/numerics.py equal` (no number changed) or `new` (some did).
"""


def reached(package: Path) -> list[str]:
    """Return the modules that a run imports, directly or through others, as paths within the package."""
    found: set[str] = set()
    left = [_START]
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += imports(package, ast.parse((package / name).read_bytes()))
    return sorted(name for name in found if name.startswith(_DECIDING))


def imports(package: Path, tree: ast.AST) -> list[str]:
    """Return the modules of the package that a source imports, anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    inner = [name.split(".")[1:] for name in names if name.split(".")[0] == package.name]
    files = [Path(*parts).with_suffix(".py") for parts in inner if parts]
    return [file.as_posix() for file in files if (package / file).is_file()]


def digests(package: Path) -> dict[str, str]:
    """Return module → digests of its tree and of its bytes."""
    sources = {name: (package / name).read_bytes() for name in reached(package)}
    return {name: f"{source_digest(source)} {bytes_digest(source)}" for name, source in sources.items()}


def changes(known: dict[str, str], found: dict[str, str]) -> list[str]:
    """Return the modules that decide numbers in another way than recorded, or that came or went."""
    return [name for name in sorted(known.keys() | found.keys()) if _tree(known, name) != _tree(found, name)]


def _tree(modules: dict[str, str], name: str) -> str:
    return modules.get(name, "").partition(" ")[0]


def new_version(version: Version, found: dict[str, str]) -> str:
    """Return the next version; its digest keeps two versions apart that were declared at the same time."""
    number = int(str(version).partition("-")[0]) + 1
    trees = "\n".join(f"{name} {_tree(found, name)}" for name in sorted(found))
    return f"{number}-{hashlib.sha256(trees.encode()).hexdigest()[:8]}"


def written(version: Version, modules: dict[str, str]) -> str:
    """Return the file."""
    said = str(version) if isinstance(version, int) else f'"{version}"'
    return "\n".join([f"{_HEAD}version = {said}\n", "[modules]", *(f'"{k}" = "{v}"' for k, v in modules.items()), ""])


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("declare", nargs="?", choices=("equal", "new"))
    parser.add_argument("--root", type=Path, default=ROOT, help="of another checkout")
    arguments = parser.parse_args()
    file: Path = arguments.root / "resources" / "numerics.toml"
    found = digests(arguments.root / "slide_gui")
    record = tomllib.loads(file.read_text("utf-8"))
    changed = changes(record["modules"], found)
    if arguments.declare is None:
        if not changed:
            print(f"version {record['version']} of the numbers, as recorded")
            return 0
        print(f"numbers may differ from version {record['version']}: {', '.join(changed)} changed; declare it")
        print("  python packaging/numerics.py equal   if no number of any run changed, to the bit")
        print("  python packaging/numerics.py new     if some did")
        return 1
    version = new_version(record["version"], found) if arguments.declare == "new" else record["version"]
    file.write_text(written(version, found), "utf-8", newline="\n")
    print(f"version {version} of the numbers; changed: {', '.join(changed) or 'nothing'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
