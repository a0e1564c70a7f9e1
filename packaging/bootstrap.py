"""Set up everything that the project needs in its checkout; the Makefile runs this script with any Python 3.

It creates the virtual environment, installs the package with its tools, and installs the system libraries of Qt.
"""

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
sys.path.insert(0, str(ROOT))
from slide_gui.gui.display import LIBRARIES  # noqa: E402  (standard library only)

NEWEST, OLDEST = (3, 13), (3, 11)
FONTS = "fonts-dejavu-core"


def suitable(command):
    """Return the version of a Python that can run the project, or None."""
    script = "import sys, venv, ensurepip; print(*sys.version_info[:2])"
    try:
        done = subprocess.run([command, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    version = tuple(int(part) for part in done.stdout.split())
    return version if OLDEST <= version <= NEWEST else None


def find_python():
    wanted = os.environ.get("PYTHON")
    names = [wanted] if wanted else [sys.executable, "python3.13", "python3.12", "python3.11", "python3"]
    for name in names:
        if suitable(name):
            return name
    sys.exit(
        "slide-gui needs Python 3.11, 3.12 or 3.13 with the module venv. On Debian or Ubuntu, install it with: "
        "apt-get install python3 python3-venv. Or give its path: make PYTHON=/path/to/python3.12 run"
    )


def make_environment():
    interpreter = VENV / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not suitable(str(interpreter)):
        shutil.rmtree(VENV, ignore_errors=True)
        subprocess.run([find_python(), "-m", "venv", str(VENV)], check=True)
    pip = [str(interpreter), "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "install", "--no-compile", "--editable", f"{ROOT}[test,cluster]"], check=True)
    # Compile on all cores. Tests of libraries are left out, because some contain files with intended errors.
    compiling = [str(interpreter), "-m", "compileall", "-qq", "-j", "0", "-x", r"[\\/]tests[\\/]"]
    subprocess.run([*compiling, str(VENV / ("Lib" if os.name == "nt" else "lib"))], check=False)


def missing_packages(with_display_server):
    missing = []
    for library, package in LIBRARIES.items():
        try:
            ctypes.CDLL(library)
        except OSError:
            missing.append(package)
    if not any(Path("/usr/share/fonts").rglob("*.ttf")):
        missing.append(FONTS)
    if with_display_server:
        missing += [package for tool, package in (("Xvfb", "xvfb"), ("xdotool", "xdotool")) if not shutil.which(tool)]
    return missing


def install_system_packages(with_display_server):
    """Install missing packages, or print the command if this fails or needs a password."""
    if not sys.platform.startswith("linux"):
        return
    packages = missing_packages(with_display_server)
    if not packages:
        return
    command = ["apt-get", "install", "--yes", "--no-install-recommends", *packages]
    if shutil.which("apt-get"):
        prefix = [] if os.geteuid() == 0 else ["sudo", "-n"]
        if not prefix or shutil.which("sudo"):
            environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
            for step in (["apt-get", "update", "--quiet"], command):
                done = subprocess.run([*prefix, *step], env=environment, capture_output=True, text=True, check=False)
            if done.returncode == 0:
                return
            print(done.stderr.strip(), file=sys.stderr)
    print(
        f"System packages are missing: {' '.join(packages)}.\n"
        f"Install them with:  sudo {' '.join(command)}\n"
        "(on other systems, the packages that contain the same libraries)",
        file=sys.stderr,
    )


if __name__ == "__main__":
    make_environment()
    install_system_packages(with_display_server="--tests" in sys.argv)
