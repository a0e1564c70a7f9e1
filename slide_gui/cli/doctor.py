"""`slide-gui doctor`: examine this installation and name problems with their remedies."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from slide_gui import __version__
from slide_gui.cli.console import DONE, FAILED, Command, print_answer

PACKAGES = (
    "numpy", "scipy", "scikit-learn", "matplotlib", "pillow", "pooch", "platformdirs", "threadpoolctl",
    "PySide6-Essentials", "pyqtgraph",
)  # fmt: skip
_REINSTALL = "install slide-gui again: pip install --force-reinstall slide-gui"


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Attributes
    ----------
    name : str
        Subject of the check.
    state : {"ok", "note", "broken"}
        A note reports a limitation. Only "broken" makes the command fail.
    text : str
        Result of the check.
    remedy : str
        Command or action that repairs it. Empty if none is needed.
    """

    name: str
    state: str
    text: str
    remedy: str = ""


def examine() -> list[Finding]:
    """Run all checks. A check that raises an exception is reported as broken."""
    looks: list[tuple[str, Callable[[], list[Finding]]]] = [
        ("python", _python),
        ("packages", _packages),
        ("BLAS", _blas),
        ("float32 scatter", _float32_scatter),
        ("display", _display),
        ("data folders", _data_folders),
        ("settings folder", _settings_folder),
    ]
    findings = []
    for name, look in looks:
        try:
            findings += look()
        except Exception as error:
            findings.append(Finding(name, "broken", f"{type(error).__name__}: {error}", _REINSTALL))
    return findings


def _run(arguments: argparse.Namespace) -> int:
    findings = examine()
    broken = [finding for finding in findings if finding.state == "broken"]
    said = [{"name": each.name, "state": each.state, "found": each.text, "remedy": each.remedy} for each in findings]
    remedies = (f"; {each.remedy}" if each.remedy else "" for each in findings)
    lines = (f"{x.state:<6}  {x.name}: {x.text}{remedy}" for x, remedy in zip(findings, remedies, strict=True))
    print_answer(arguments, {"ok": not broken, "findings": said}, lines)
    return FAILED if broken else DONE


def _python() -> list[Finding]:
    said = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}, slide-gui {__version__}"
    if not (3, 11) <= sys.version_info[:2] < (3, 14):
        return [Finding("python", "broken", said, "use Python 3.11, 3.12 or 3.13")]
    return [Finding("python", "ok", said)]


def _packages() -> list[Finding]:
    findings = []
    for name in PACKAGES:
        try:
            findings.append(Finding(name, "ok", metadata.version(name)))
        except metadata.PackageNotFoundError:
            findings.append(Finding(name, "broken", "not installed", f"pip install {name}"))
    return [*findings, *_qt_binding()]


def _qt_binding() -> list[Finding]:
    """Report PySide6 6.12 on Python 3.11, which loses references to None and True while painting, and aborts."""
    try:
        version = tuple(int(part) for part in metadata.version("PySide6-Essentials").split(".")[:2])
    except (metadata.PackageNotFoundError, ValueError):
        return []
    if version >= (6, 12) and sys.version_info < (3, 12):
        return [
            Finding(
                "Qt binding",
                "broken",
                "this PySide6 crashes on Python 3.11 while it paints",
                "pip install 'PySide6-Essentials<6.12'",
            )
        ]
    return []


def _blas() -> list[Finding]:
    from slide_gui.blas import cores, loaded_blas, set_threads

    set_threads()
    said = f"{'; '.join(map(str, loaded_blas()))}, on {cores()} cores"
    if loaded_blas()[0].threads is None:
        return [Finding("BLAS", "note", f"{said}; the number of its threads is unknown and cannot be set")]
    return [Finding("BLAS", "ok", said)]


def _float32_scatter() -> list[Finding]:
    from slide_gui.core.linear_algebra import float32_scatter_is_exact

    if float32_scatter_is_exact():
        return [Finding("float32 scatter", "ok", "exact on 0/1 data")]
    return [
        Finding(
            "float32 scatter",
            "broken",
            "this BLAS multiplies 0/1 data wrongly, so every fit would be wrong",
            "install another NumPy: pip install 'numpy<2.5'",
        )
    ]


def _display() -> list[Finding]:
    from slide_gui.gui.display import display_problem, missing_libraries

    findings = []
    platform_name = os.environ.get("QT_QPA_PLATFORM", "")
    problem = display_problem()
    if problem is not None:
        findings.append(Finding("display", "note", problem))
    else:
        findings.append(Finding("display", "ok", f"Qt platform {platform_name}" if platform_name else "available"))
    missing = missing_libraries() if sys.platform.startswith("linux") else []
    if missing:
        remedy = f"apt-get install {' '.join(missing)}"
        findings.append(Finding("Qt libraries", "broken", f"{len(missing)} system libraries are missing", remedy))
    else:
        findings.append(Finding("Qt libraries", "ok", "all found"))
    return findings


def _data_folders() -> list[Finding]:
    from slide_gui.data.catalogue import data_folders, find
    from slide_gui.data.entries import entries

    findings = []
    for folder in data_folders():
        if folder.is_dir():
            findings.append(Finding("data folder", "ok", str(folder)))
        else:
            findings.append(Finding("data folder", "note", f"{folder} does not exist yet"))
    present = [entry.key for entry in entries() if find(entry.key)]
    said = f"files found: {', '.join(present) or 'none'}"
    if len(present) < len(entries()):
        said += "; the others are generated"
    return [*findings, Finding("data sets", "ok" if present else "note", said)]


def _settings_folder() -> list[Finding]:
    from platformdirs import user_config_path

    folder = user_config_path("slide-gui", appauthor=False)
    existing = next(place for place in (folder, *folder.parents) if place.exists())
    if _is_writable(existing):
        return [Finding("settings folder", "ok", str(folder))]
    return [Finding("settings folder", "broken", f"{existing} cannot be written to", f"chmod u+rwx {existing}")]


def _is_writable(folder: Path) -> bool:
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)


COMMANDS = (
    Command(
        "doctor", "check this installation", "check this installation and name problems with their remedies.",
        lambda _: None, _run, computes=False,
    ),
)  # fmt: skip
