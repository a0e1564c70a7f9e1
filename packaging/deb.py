"""Make a Debian package of a bundle: `python packaging/deb.py dist/slide-gui ICONS FOLDER`.

The bundle is installed in /opt/slide-gui, with a link in /usr/bin, a menu entry, file types and icons. The package
depends on the packages of the system libraries that the bundle needs. It is then unpacked, checked and started.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINUX = ROOT / "packaging" / "linux"
sys.path[:0] = [str(ROOT), str(ROOT / "packaging")]

from check_bundle import seconds_to_window  # noqa: E402
from contents import package_of  # noqa: E402

from slide_gui import __version__  # noqa: E402
from slide_gui.gui.display import LIBRARIES  # noqa: E402
from tests.end_to_end.program import virtual_display  # noqa: E402

_WAYLAND = {
    "libwayland-client.so.0": "libwayland-client0",
    "libwayland-cursor.so.0": "libwayland-cursor0",
    "libwayland-egl.so.1": "libwayland-egl1",
}
"""Package of each library that only Wayland desktops need."""

_CONTROL = """\
Package: slide-gui
Version: {version}
Section: science
Priority: optional
Architecture: {architecture}
Installed-Size: {size}
Depends: {depends}
Recommends: {recommends}, xdg-utils, shared-mime-info, desktop-file-utils
Maintainer: The slide-gui maintainers <maintainers@slide-gui.invalid>
Description: see and use stacked linear denoisers
 A linear map that reconstructs an image from randomly corrupted pixels has a
 closed form over all corruptions; stacking such maps gives features in seconds.
 This program shows the weights of each layer, trains support vector machines
 with a width for each layer, sweeps noise and depth, and exports figures.
"""


def needed(folder: Path) -> list[str]:
    """Return the packages of all libraries that a bundle needs but does not contain."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    binaries = [path for path in files if ".so" in path.name or path.name == "slide-gui"]
    inside = {path.name for path in folder.rglob("*.so*")}
    headers = subprocess.run(["objdump", "-p", *map(str, binaries)], capture_output=True, text=True, check=True).stdout
    libraries = set(re.findall(r"NEEDED +(\S+)", headers)) - inside - set(_WAYLAND)
    listed = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    places = {line.split()[0]: line.rpartition("=> ")[2] for line in reversed(listed.splitlines()) if "=> " in line}
    packages = {LIBRARIES[name] for name in LIBRARIES if name not in inside}
    for library in sorted(libraries):
        if library.startswith(("ld-linux", "libc.so", "libm.so", "libpthread", "libdl", "librt", "libutil")):
            continue
        if library not in places:
            raise SystemExit(f"{library} is needed, but no package on this computer contains it")
        packages.add(package_of(Path(places[library])))
    versions = sorted({tuple(map(int, each.split("."))) for each in re.findall(r"GLIBC_([\d.]+)", headers)})
    return [f"libc6 (>= {'.'.join(map(str, versions[-1]))})", *sorted(packages)]


def lay_out(bundle: Path, icons: Path, root: Path) -> None:
    """Copy all files to their folders in the package."""
    share = root / "usr" / "share"
    shutil.copytree(bundle, root / "opt" / "slide-gui", symlinks=True)
    (root / "usr" / "bin").mkdir(parents=True)
    (root / "usr" / "bin" / "slide-gui").symlink_to("/opt/slide-gui/slide-gui")
    for source, target in {
        LINUX / "slide-gui.desktop": "applications/slide-gui.desktop",
        LINUX / "slide-gui.xml": "mime/packages/slide-gui.xml",
        LINUX / "slide-gui.metainfo.xml": "metainfo/org.slide_gui.slide_gui.metainfo.xml",
        ROOT / "resources" / "icons" / "slide-gui.svg": "icons/hicolor/scalable/apps/slide-gui.svg",
        ROOT / "LICENSE": "doc/slide-gui/copyright",
    }.items():
        (share / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, share / target)
    for icon in icons.glob("slide-gui-*.png"):
        side = icon.stem.rpartition("-")[2]
        place = share / "icons" / "hicolor" / f"{side}x{side}" / "apps"
        place.mkdir(parents=True)
        shutil.copyfile(icon, place / "slide-gui.png")
    for path in root.rglob("*"):
        if not path.is_symlink():
            executable = path.is_dir() or (path.name == "slide-gui" and path.parent.name == "slide-gui")
            path.chmod(0o755 if executable else 0o644)


def try_out(package: Path, root: Path) -> None:
    """Unpack a package, validate its desktop files, and start its program."""
    subprocess.run(["dpkg-deb", "-x", str(package), str(root)], check=True)
    share = root / "usr" / "share"
    for command in (
        ["desktop-file-validate", share / "applications" / "slide-gui.desktop"],
        ["appstreamcli", "validate", "--no-net", share / "metainfo" / "org.slide_gui.slide_gui.metainfo.xml"],
        ["update-mime-database", share / "mime"],
    ):
        if shutil.which(command[0]) is None:
            print(f"{command[0]} is not installed; the package is not checked with it", file=sys.stderr)
            continue
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{command[0]}: {done.stdout}{done.stderr}")
    link = root / "usr" / "bin" / "slide-gui"
    program = root / str(link.readlink()).removeprefix("/")
    with virtual_display() as screen:
        print(f"start of the unpacked package: {seconds_to_window(program, screen, root):.2f} s")


def main() -> int:
    bundle, icons, target = (Path(argument).resolve() for argument in sys.argv[1:4])
    command = ["dpkg", "--print-architecture"]
    architecture = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) / "slide-gui"
        lay_out(bundle, icons, root)
        size = sum(path.stat().st_size for path in root.rglob("*") if path.is_file() and not path.is_symlink()) // 1024
        control = _CONTROL.format(
            version=__version__,
            architecture=architecture,
            size=size,
            depends=", ".join(needed(bundle)),
            recommends=", ".join(_WAYLAND.values()),
        )
        (root / "DEBIAN").mkdir()
        (root / "DEBIAN" / "control").write_text(control, encoding="utf-8")
        root.chmod(0o755)
        package = target / f"slide-gui_{__version__}_{architecture}.deb"
        command = ["dpkg-deb", "--build", "--root-owner-group", "-Zxz", str(root), str(package)]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        try_out(package, Path(scratch) / "elsewhere")
    print(re.findall("^Depends:.*", control, re.MULTILINE)[0])
    print(f"{package.name}: {package.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
