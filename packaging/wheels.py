"""Build sdist and wheel twice, and check that the bytes are equal: `python packaging/wheels.py FOLDER`.

The first wheel is built from the sdist. The second wheel is built from the checkout, with another output folder, umask
and time zone. Then the wheel is installed in a new environment and used from an empty folder.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def epoch() -> str:
    """Return the time of the last commit, which dates all files in the packages."""
    command = ["git", "log", "-1", "--format=%ct"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def build(folder: Path, zone: str, *options: str) -> dict[str, str]:
    """Build sdist and wheel in a folder; return their names with their SHA-256."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": epoch(), "TZ": zone}
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), *options, str(ROOT)]
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.iterdir())
        if path.name.endswith((".whl", ".tar.gz")) and path.name.startswith("slide_gui-")
    }


def use(wheel: Path, place: Path) -> None:
    """Install a wheel in a new environment, and use it in an empty folder."""
    venv.create(place / "environment", with_pip=True)
    scripts = place / "environment" / ("Scripts" if os.name == "nt" else "bin")
    subprocess.run([scripts / "python", "-m", "pip", "install", "--quiet", str(wheel)], check=True)
    empty = place / "empty"
    empty.mkdir()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"HOME": str(empty)}
    for command in (["doctor"], ["weights", "rectangles", "--depth", "1", "--pixels", "14,9", "-o", "weights.pdf"]):
        subprocess.run([scripts / "slide-gui", *command], cwd=empty, env=environment, check=True)


def main() -> int:
    target = Path(sys.argv[1]).resolve()
    target.mkdir(parents=True, exist_ok=True)
    for old in (*target.glob("slide_gui-*.whl"), *target.glob("slide_gui-*.tar.gz")):
        old.unlink()
    first = build(target, "UTC")
    with tempfile.TemporaryDirectory() as other:
        before = os.umask(0o077)
        second = build(Path(other) / "again", "Asia/Tokyo", "--sdist", "--wheel")
        os.umask(before)
        if first != second:
            raise SystemExit(f"two builds differ: {first} and {second}")
        print("\n".join(f"{name}: two identical builds, SHA-256 {digest}" for name, digest in first.items()))
        use(next(target.glob("slide_gui-*.whl")), Path(other))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
