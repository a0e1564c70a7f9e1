"""Run the tests with the lowest versions that pyproject.toml allows: `python packaging/lowest.py VENV [TESTS …]`.

The environment is created if it is missing. The installed versions are printed before the tests.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def lowest() -> list[str]:
    """Return the lowest version of each dependency of the program and its tests, as arguments of pip."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras, pins = project["optional-dependencies"], []
    for requirement in (*project["dependencies"], *extras["test"], *extras["cluster"]):
        match = re.match(r"([\w.-]+(?:\[\w+])?)>=([\w.]+)", requirement)
        if match is None:
            raise SystemExit(f"{requirement}: a dependency has to begin with its name and >= its lowest version")
        pins.append("{}=={}".format(*match.groups()))
    return pins


def main() -> int:
    home, tests = Path(sys.argv[1]), sys.argv[2:]
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", *lowest(), "--editable", str(ROOT)], check=True)
    subprocess.run([python, "-m", "pip", "freeze"], check=True)
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    command = [str(python), "-m", "pytest", "-n", "2", "--dist", "loadfile", *tests]
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main())
