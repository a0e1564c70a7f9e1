"""Whether the Qt binding installed is one that this Python can rely on."""

from __future__ import annotations

import sys

__all__ = ["binding_problem", "installed_binding"]


def binding_problem(binding: str | None = None, python: tuple[int, ...] | None = None) -> str | None:
    """Return one sentence that says why the Qt binding must not be used, or None if it may.

    PySide6 6.12 on Python before 3.12, where None, True and False are counted as all objects are, releases them too
    often while it paints; within seconds their count reaches zero and the interpreter aborts (PYSIDE-3474).

    Parameters
    ----------
    binding : str, optional
        Version of PySide6; default the one installed. It is read without importing any part of it that runs.
    python : tuple of int, optional
        Version of Python; default the running one.
    """
    binding = installed_binding() if binding is None else binding
    python = sys.version_info[:2] if python is None else python
    if binding is None:
        return "Qt is not installed; install it with: pip install PySide6-Essentials"
    if binding.split(".")[:2] == ["6", "12"] and python < (3, 12):
        return (
            f"PySide6 {binding} aborts on Python {python[0]}.{python[1]} within seconds of painting; "
            "install an earlier one with: pip install 'PySide6-Essentials<6.12'"
        )
    return None


def installed_binding() -> str | None:
    """Return the version of PySide6, None where there is none."""
    try:
        from PySide6 import __version__
    except ImportError:
        return None
    return __version__
