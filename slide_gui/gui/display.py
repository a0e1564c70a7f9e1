"""Check that Qt can open a window, because Qt would otherwise abort the process without a clear message."""

import builtins
import ctypes
import os
import re
import socket
import sys

# The Debian package of each shared library that Qt needs on X11 but that is not part of the PySide6 wheel.
LIBRARIES = {
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libEGL.so.1": "libegl1",
    "libfontconfig.so.1": "libfontconfig1",
    "libdbus-1.so.3": "libdbus-1-3",
}


# The message with which an X11 client opens a connection: little-endian, protocol 11.0, no authorisation. Every X11
# server replies to it.
_X11_GREETING = b"l\0\x0b\0\0\0\0\0\0\0\0\0"


def missing_libraries() -> list[str]:
    """Return the Debian packages of those libraries in `LIBRARIES` that are not installed."""
    missing = []
    for library, package in LIBRARIES.items():
        try:
            ctypes.CDLL(library)
        except OSError:
            missing.append(package)
    return missing


def display_problem() -> str | None:
    """Return a sentence that explains why no window can be opened, or None if a window can be opened."""
    if not sys.platform.startswith("linux") or os.environ.get("QT_QPA_PLATFORM"):
        return None
    wayland = os.environ.get("WAYLAND_DISPLAY")
    if wayland and _connects(socket.AF_UNIX, os.path.join(os.environ.get("XDG_RUNTIME_DIR", ""), wayland)):
        return None
    name = os.environ.get("DISPLAY", "")
    if not name:
        return (
            "there is no display (DISPLAY and WAYLAND_DISPLAY are unset); "
            "use a subcommand such as `slide-gui weights`, or run under a virtual display"
        )
    if not _answers(name):
        return f"the display {name!r} does not answer; check DISPLAY, or run under a virtual display"
    packages = missing_libraries()
    if packages:
        return f"Qt needs system libraries that are missing; install them with: apt-get install {' '.join(packages)}"
    return None


def _answers(name: str) -> bool:
    match = re.fullmatch(r"(?:unix)?([^:/]*):(\d+)(?:\.\d+)?", name)
    if match is None:
        return True  # Xlib may support addresses of other forms, so they are assumed to work.
    host, number = match[1], int(match[2])
    if not host:
        socket_path = f"/tmp/.X11-unix/X{number}"
        if any(_connects(socket.AF_UNIX, path, _X11_GREETING) for path in (socket_path, f"\0{socket_path}")):
            return True
    return _connects(socket.AF_INET, (host or "localhost", 6000 + number), _X11_GREETING)


def _connects(family: socket.AddressFamily, address: str | tuple[str, int], greeting: bytes = b"") -> bool:
    """Return True if a display server accepts a connection at this address.

    If `greeting` is not empty, it is sent to the server, and the server must reply. A refusal counts as a reply.
    """
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.settimeout(2.0)
        try:
            probe.connect(address)
            if not greeting:
                return True
            probe.sendall(greeting)
            return bool(probe.recv(1))
        except OSError:
            return False


def binding_problem(binding: str | None = None, python: tuple[int, ...] | None = None) -> str | None:
    """Return a sentence that explains why PySide6 cannot be used, or None if it can be used.

    Before version 3.12, Python counts the references to None, True and False. PySide6 6.12 releases these objects too
    often while it paints. Within seconds, a reference count reaches zero and the interpreter aborts (PYSIDE-3474).

    Parameters
    ----------
    binding : str, optional
        Version of PySide6; by default the installed one.
    python : tuple of int, optional
        Version of Python; by default the running one.
    """
    binding = installed_binding() if binding is None else binding
    python = sys.version_info[:2] if python is None else python
    if binding is None:
        return "Qt is not installed; install it with: pip install PySide6-Essentials"
    if binding.split(".")[:2] == ["6", "12"] and python < (3, 12):
        return (
            f"PySide6 {binding} crashes on Python {python[0]}.{python[1]} within seconds; "
            "install an earlier PySide6 with: pip install 'PySide6-Essentials<6.12'"
        )
    return None


def installed_binding() -> str | None:
    """Return the version of PySide6, or None if it is not installed."""
    importing = builtins.__import__
    try:
        from PySide6 import __version__
    except ImportError:
        return None
    # When PySide6 is imported, it replaces `builtins.__import__` with a slower function, which also reads the source of
    # every module imported later. The original function is restored so that the window opens sooner.
    builtins.__import__ = importing
    return __version__
