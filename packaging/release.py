"""Make all files of a release in dist/, without uploading them: `make release`.

On Linux, these are the wheel, the documentation, the Debian package and the bundle. On Windows and macOS, only the
bundle is made. The script stops if there are uncommitted changes, or if CHANGELOG.md does not name the version.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
sys.path[:0] = [str(ROOT), str(ROOT / "packaging")]

from wheels import epoch  # noqa: E402

from slide_gui import __version__  # noqa: E402
from slide_gui.licences import BILL  # noqa: E402


def refuse() -> None:
    """Stop if there are uncommitted changes, or if the changelog lacks the version or lists unreleased changes."""
    command = ["git", "status", "--porcelain"]
    changed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    if changed:
        raise SystemExit(f"{changed[0].strip()}: commit or stash {len(changed)} changes first")
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    named = re.findall(r"^## \[(\S+)\]", text, re.MULTILINE)
    if __version__ not in named:
        raise SystemExit(f"CHANGELOG.md has no heading for {__version__}, only for {', '.join(named)}")
    if re.search(r"^## \[Unreleased\]\s+###", text, re.MULTILINE):
        raise SystemExit("CHANGELOG.md lists unreleased changes; give them a version, also in slide_gui/__init__.py")


def pack(folder: Path, archive: Path) -> None:
    """Write a folder to an archive, with its files sorted, without owner, and dated by the last commit."""

    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        member.mtime = int(epoch())
        return member

    with tarfile.open(archive, "w:gz", compresslevel=6) as packed:
        for path in sorted(folder.rglob("*")):
            packed.add(path, f"{folder.name}-{__version__}/{path.relative_to(folder)}", recursive=False, filter=plain)


def pack_pages(folder: Path, archive: Path) -> None:
    """Write a folder to a ZIP archive, with its files sorted and dated by the last commit."""
    date = time.gmtime(int(epoch()))[:6]
    with zipfile.ZipFile(archive, "w") as packed:
        for path in sorted(each for each in folder.rglob("*") if each.is_file()):
            name = f"slide-gui-{__version__}-docs/{path.relative_to(folder).as_posix()}"
            packed.writestr(zipfile.ZipInfo(name, date), path.read_bytes(), zipfile.ZIP_DEFLATED)


def main() -> int:
    refuse()
    shutil.rmtree(DIST, ignore_errors=True)
    # `make deb` builds the bundle first.
    targets = ("test", "wheel", "docs", "deb") if sys.platform == "linux" else ("bundle",)
    for target in targets:
        subprocess.run(["make", target], cwd=ROOT, check=True)
    bill = (DIST / "slide-gui" / "_internal" / "resources" / "licences" / BILL).read_text(encoding="utf-8")
    problem = JsonStrictValidator(SchemaVersion.V1_6).validate_str(bill)
    if problem is not None:
        raise SystemExit(f"the bill of materials is not valid CycloneDX: {problem}")
    (DIST / f"slide-gui-{__version__}-{sys.platform}.cdx.json").write_text(bill, encoding="utf-8")
    program = "slide-gui.app" if sys.platform == "darwin" else "slide-gui"
    pack(DIST / program, DIST / f"slide-gui-{__version__}-{sys.platform}.tar.gz")
    if "docs" in targets:
        pack_pages(ROOT / "build" / "docs", DIST / f"slide-gui-{__version__}-docs.zip")
    files = sorted(path for path in DIST.iterdir() if path.is_file())
    sums = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)
    (DIST / "SHA256SUMS").write_text(sums, encoding="utf-8")
    print(sums, end="")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
