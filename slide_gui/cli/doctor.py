"""`slide-gui doctor` checks the installation and suggests remedies. `slide-gui licences` lists the licences."""

import argparse
import os
import platform
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from slide_gui import __version__
from slide_gui.cli.console import DONE, FAILED, Entry, print_answer
from slide_gui.licences import PACKAGES, installed_version

_REINSTALL = "install slide-gui again: run pip install --force-reinstall . in the folder of its source code"


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Attributes
    ----------
    name : str
        Name of the item checked, such as "python" or "display".
    state : {"ok", "note", "failed"}
        "note" reports a limitation. Only "failed" makes `slide-gui doctor` return the exit code for failure.
    text : str
        Result of the check as text, such as a version or a problem.
    remedy : str
        Command or action that solves the problem. Empty if there is no problem, if `text` contains the remedy, or
        if no remedy is known.
    """

    name: str
    state: str
    text: str
    remedy: str = ""


def examine() -> list[Finding]:
    """Run all checks. A check that raises an exception is reported as failed."""
    checks: dict[str, Callable[[], list[Finding]]] = {
        "python": _python,
        "packages": _packages,
        "BLAS": _blas,
        "float32 scatter": _float32_scatter,
        "display": _display,
        "folders": _folders,
    }
    findings = []
    for name, check in checks.items():
        try:
            findings += check()
        except Exception as error:
            findings.append(Finding(name, "failed", f"{type(error).__name__}: {error}", _REINSTALL))
    return findings


def _doctor(arguments: argparse.Namespace) -> int:
    findings = examine()
    broken = any(finding.state == "failed" for finding in findings)
    document = [{"name": x.name, "state": x.state, "found": x.text, "remedy": x.remedy} for x in findings]
    lines = (f"{x.state:<6}  {x.name}: {'; '.join(filter(None, (x.text, x.remedy)))}" for x in findings)
    print_answer(arguments, {"ok": not broken, "findings": document}, lines)
    return FAILED if broken else DONE


def _python() -> list[Finding]:
    text = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}, slide-gui {__version__}"
    if not (3, 11) <= sys.version_info[:2] < (3, 14):
        return [Finding("python", "failed", text, "use Python 3.11, 3.12 or 3.13")]
    return [Finding("python", "ok", text)]


def _packages() -> list[Finding]:
    from slide_gui.gui.display import binding_problem

    versions = {name: installed_version(name) for name in PACKAGES}
    findings = [
        Finding(name, "ok", version) if version else Finding(name, "failed", "not installed", f"pip install {name}")
        for name, version in versions.items()
    ]
    binding = versions["PySide6-Essentials"]
    problem = None if binding is None else binding_problem(binding)
    return findings if problem is None else [*findings, Finding("Qt binding", "failed", problem)]


def _blas() -> list[Finding]:
    from slide_gui.blas import cores, loaded_blas, set_threads

    set_threads()
    text = f"{'; '.join(map(str, loaded_blas()))}, on {cores()} cores"
    if loaded_blas()[0].threads is None:
        return [Finding("BLAS", "note", f"{text}; the number of BLAS threads is unknown and cannot be set")]
    return [Finding("BLAS", "ok", text)]


def _float32_scatter() -> list[Finding]:
    from slide_gui.core.linear_algebra import float32_scatter_is_exact

    if float32_scatter_is_exact():
        return [Finding("float32 scatter", "ok", "exact on 0/1 data")]
    text = "this BLAS library multiplies matrices of zeros and ones incorrectly, so all fits would be wrong"
    return [Finding("float32 scatter", "failed", text, "install another version of NumPy: pip install 'numpy<2.5'")]


def _display() -> list[Finding]:
    from slide_gui.gui.display import display_problem, missing_libraries

    platform_name = os.environ.get("QT_QPA_PLATFORM", "")
    problem = display_problem()
    text = f"Qt platform {platform_name}" if platform_name else "available"
    display = Finding("display", "ok", text) if problem is None else Finding("display", "note", problem)
    missing = missing_libraries() if sys.platform.startswith("linux") else []
    if not missing:
        return [display, Finding("Qt libraries", "ok", "all found")]
    text, remedy = f"{len(missing)} system libraries are missing", f"apt-get install {' '.join(missing)}"
    return [display, Finding("Qt libraries", "failed", text, remedy)]


def _folders() -> list[Finding]:
    from slide_gui.gui.app import make_settings, store_path

    settings = Path(make_settings().fileName())
    return [_folder("settings folder", settings.parent), _folder("data folder", store_path().parent)]


def _folder(name: str, folder: Path) -> Finding:
    existing = next(place for place in (folder, *folder.parents) if place.exists())
    if existing.is_dir() and os.access(existing, os.W_OK | os.X_OK):
        return Finding(name, "ok", str(folder))
    return Finding(name, "failed", f"{existing} is not writable", f"chmod u+rwx {existing}")


def _licences(arguments: argparse.Namespace) -> int:
    from slide_gui.licences import components

    parts = components()
    lines = [f"{part.name} {part.version}: {part.licence}" for part in parts]
    lines += [f"licence texts: {place}" for place in {part.texts.parent for part in parts if part.texts is not None}]
    return print_answer(arguments, [asdict(part) for part in parts], lines)


COMMANDS: dict[str, Entry] = {"doctor": (lambda _: None, _doctor), "licences": (lambda _: None, _licences)}
