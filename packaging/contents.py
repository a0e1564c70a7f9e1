"""List the components of a bundle with their licences, in a bill of materials and a folder of licence texts.

Tools that are only used to build the bundle are not listed. The build fails for a file of unknown origin, and for a
component without the text of its licence.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from slide_gui.licences import BILL, TEXTS, licence_of  # noqa: E402

OURS = ROOT / "packaging" / "licences"
_IS_TEXT = re.compile(r"(licen[cs]e|copying|notice|authors)", re.IGNORECASE)
_LICENCES = {
    "pyinstaller": "GPL-2.0-or-later WITH Bootloader-exception",  # of the bootloader; the metadata describe all files
    "pyinstaller-hooks-contrib": "Apache-2.0",  # of the hooks that run in a bundle
}
"""Distribution → the licence of its files in a bundle."""
_QT = ("LGPL-3.0.txt", "GPL-3.0.txt", "Qt.txt")


@dataclass(frozen=True)
class Part:
    """A third-party component of the bundle.

    Attributes
    ----------
    name, version : str
    licence : str
        An SPDX expression if the component declares one, else a name.
    purl : str
        The package URL, which identifies the origin.
    texts : tuple of Path
        Files with the text of the licence.
    within : tuple of dict
        Components in the bill of materials that the component itself contains, as CycloneDX objects.
    """

    name: str
    version: str
    licence: str
    purl: str
    texts: tuple[Path, ...]
    within: tuple[dict[str, Any], ...] = field(default=(), hash=False)


def parts_of(sources: Iterable[Path]) -> list[Part]:
    """Return the components that files belong to, sorted by name.

    Raises
    ------
    SystemExit
        If a file belongs to no component, or a component has no text of its licence.
    """
    parts: set[Part] = set()
    for source in sources:
        parts |= set(_parts_of(source))
    for part in parts:
        if not part.texts:
            raise SystemExit(f"{part.name} {part.version} is in the bundle, but the text of its licence is missing")
    return sorted(parts, key=lambda part: (part.name.lower(), part.version))


def _parts_of(source: Path) -> Iterator[Part]:
    distribution = _by_file().get(_plain(source))
    if distribution is not None and distribution.name != "slide-gui":
        yield _distributed(distribution)
        if source.name.startswith("libicu"):
            version = source.name.rpartition(".")[2]
            yield Part("ICU", version, "Unicode-DFS-2016", f"pkg:generic/icu@{version}", (OURS / "ICU.txt",))
        elif re.search(r"/((lib)?Qt6[^/]*$|plugins/|Qt\w+\.framework/)", source.as_posix()):
            version = metadata.version("PySide6-Essentials")
            yield Part("Qt", version, "LGPL-3.0-only", f"pkg:generic/qt@{version}", tuple(OURS / n for n in _QT))
    elif source.resolve().is_relative_to(Path(sys.base_prefix).resolve()) and sys.base_prefix not in ("/usr",):
        yield _python()
    elif distribution is None and not source.resolve().is_relative_to(ROOT):
        yield _debian(source.resolve())


@cache
def _by_file() -> dict[str, metadata.Distribution]:
    everything = ((each, file) for each in metadata.distributions() for file in each.files or ())
    return {_plain(Path(str(each.locate_file(file)))): each for each, file in everything}


def _plain(path: Path) -> str:
    return os.path.normcase(os.path.abspath(path))


@cache
def _distributed(distribution: metadata.Distribution) -> Part:
    name, version = distribution.name, distribution.version
    files = [file for file in distribution.files or () if any(part.endswith(".dist-info") for part in file.parts[:1])]
    texts = [Path(str(distribution.locate_file(file))) for file in files if _IS_TEXT.search(file.as_posix())]
    if name.lower().startswith(("pyside6", "shiboken6")):
        texts += [OURS / _QT[0]]
    within: list[dict[str, Any]] = []
    for file in files:
        if file.name.endswith(".cdx.json"):
            listed = json.loads(Path(str(distribution.locate_file(file))).read_bytes()).get("components", [])
            within += [_component(each) for each in listed if each["name"].lower() != name.lower()]
    purl = f"pkg:pypi/{name.lower().replace('_', '-')}@{version}"
    return Part(
        name,
        version,
        _LICENCES.get(name.lower()) or licence_of(distribution.metadata),
        purl,
        tuple(texts),
        tuple(within),
    )


def _component(listed: dict[str, Any]) -> dict[str, Any]:
    """Return a component of another bill of materials without its references to other components."""
    return {key: listed[key] for key in ("type", "name", "version", "purl", "licenses") if key in listed}


@cache
def _python() -> Part:
    version = sys.version.split()[0]
    places = (Path(sysconfig.get_path("stdlib")), Path(sys.base_prefix))  # on Windows, the text is in the second
    texts = tuple(place / "LICENSE.txt" for place in places if (place / "LICENSE.txt").is_file())[:1]
    return Part("Python", version, "PSF-2.0", f"pkg:generic/python@{version}", texts)


def package_of(file: Path) -> str:
    """Return the Debian package that contains a system file.

    Raises
    ------
    SystemExit
        If no package contains the file.
    """
    real = str(file.resolve())
    if shutil.which("dpkg") is None:
        raise SystemExit(f"{file} is needed, but neither a wheel nor Python contains it")
    for place in (real, real.removeprefix("/usr")):  # packages from before /lib became /usr/lib list files in /lib
        done = subprocess.run(["dpkg", "-S", place], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout.split(": ")[0].split(",")[0].partition(":")[0]
    raise SystemExit(f"{file} is needed, but neither a wheel, Python nor a Debian package contains it")


@cache
def _debian(file: Path) -> Part:
    """Return the Debian package of a file as a component."""
    name = package_of(file)
    query = ["dpkg-query", "-W", "-f", "${Version}\n${Architecture}\n", name]
    version, architecture = subprocess.run(query, capture_output=True, text=True, check=True).stdout.split()[:2]
    text = Path("/usr/share/doc") / name / "copyright"
    copyright_text = text.read_text(encoding="utf-8", errors="replace") if text.is_file() else ""
    # This stanza holds the licence of all files without a separate stanza.
    stanza = re.search(r"^Files: *\*\n(?:.+\n)*?License: *(\S.{0,60})$", copyright_text, re.MULTILINE)
    purl = f"pkg:deb/debian/{name}@{version}?arch={architecture}"
    return Part(name, version, stanza[1] if stanza else "see its text", purl, (text,) if copyright_text else ())


def bill(parts: Iterable[Part], version: str) -> dict[str, Any]:
    """Return the bill of materials of slide-gui in CycloneDX 1.6."""
    at = datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), UTC)
    program = {"type": "application", "name": "slide-gui", "version": version, "bom-ref": f"slide-gui@{version}"}
    listed = [_listed(part) for part in parts]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"timestamp": at.isoformat(), "component": {**program, "licenses": [{"license": {"id": "MIT"}}]}},
        "components": listed,
        "dependencies": [{"ref": program["bom-ref"], "dependsOn": [each["bom-ref"] for each in listed]}],
    }


def _listed(part: Part) -> dict[str, Any]:
    try:
        licence: dict[str, Any] = {"expression": canonicalize_license_expression(part.licence)}
    except InvalidLicenseExpression:
        licence = {"license": {"name": part.licence}}
    kind = "framework" if part.name == "Qt" else "library"
    listed: dict[str, Any] = {
        "type": kind, "bom-ref": part.purl, "name": part.name, "version": part.version, "purl": part.purl,
        "licenses": [licence],
        "properties": [{"name": TEXTS, "value": folder_of(part)}],
    }  # fmt: skip
    return listed | ({"components": list(part.within)} if part.within else {})


def folder_of(part: Part) -> str:
    """Return the name of the folder with the licence texts of a component."""
    return re.sub(r"[^\w.+-]", "_", f"{part.name}-{part.version}")


def write_contents(parts: Iterable[Part], version: str, folder: Path) -> None:
    """Write one folder of licence texts per component, and the bill of materials next to them."""
    shutil.rmtree(folder, ignore_errors=True)
    parts = list(parts)
    for part in parts:
        place = folder / folder_of(part)
        place.mkdir(parents=True, exist_ok=True)
        for number, text in enumerate(part.texts):
            name = text.name if not (place / text.name).exists() else f"{number}-{text.name}"
            shutil.copyfile(text, place / name)
    shutil.copyfile(ROOT / "LICENSE", folder / "LICENSE")
    (folder / BILL).write_text(json.dumps(bill(parts, version), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
