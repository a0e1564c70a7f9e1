"""How much memory is free for this process, and the refusal of what would need more."""

from __future__ import annotations

import os
from pathlib import Path

_PROC, _CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")
_SMALL = 32 << 20  # bytes that nothing is looked up for


def free_memory() -> int | None:
    """Return the bytes that may be taken without swapping; None where the system does not say.

    On Linux it is what the kernel calls available, or less where a control group (a container, a service) allows less.
    """
    try:
        lines = (_PROC / "meminfo").read_text().splitlines()
        free = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    except (OSError, ValueError, IndexError):
        return _of_windows()
    return min([*free, *_of_groups()], default=None)


def check_free(n_bytes: int, what: str, remedy: str) -> None:
    """Refuse what would need more memory than is free, before it starts.

    Parameters
    ----------
    n_bytes : int
        Its peak, as estimated.
    what : str
        Such as "a fit of 4 layers to 784 features".

    Raises
    ------
    MemoryError
        In one sentence, with both numbers and the remedy.
    """
    if n_bytes < _SMALL:
        return
    free = free_memory()
    if free is not None and n_bytes > free:
        raise MemoryError(
            f"{what} needs about {n_bytes / 1e9:.3g} GB of memory, and {free / 1e9:.2g} GB are free; {remedy}"
        )


def _of_groups() -> list[int]:
    """Return what is left of the limits of this process's control groups, of either version."""
    left = []
    try:
        places = [line.split(":", 2) for line in (_PROC / "self" / "cgroup").read_text().splitlines()]
    except OSError:
        return []
    for place in places:
        if len(place) != 3 or (place[1] and "memory" not in place[1].split(",")):
            continue
        root, names = _CGROUPS, ("memory.max", "memory.current", "inactive_file")
        if place[1]:
            root, names = _CGROUPS / "memory", ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        folder = root / place[2].lstrip("/")
        for group in (folder, *folder.parents):  # each may have a limit
            left += _left(group, *names)
            if group == root:
                break
    return left


def _left(group: Path, limit: str, usage: str, reclaimable: str) -> list[int]:
    """Return what is left of one group's limit; none where it has none. Pages of files are given back when needed."""
    try:
        most, used = int((group / limit).read_text()), int((group / usage).read_text())
        stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        return [max(most - used + int(stat.get(reclaimable, 0)), 0)]
    except (OSError, ValueError):  # "max" is no number
        return []


def _of_windows() -> int | None:
    """Return the physical memory that Windows has left."""
    if os.name != "nt":
        return None
    import ctypes

    class Status(ctypes.Structure):
        _fields_ = [
            ("length", ctypes.c_uint32),
            ("load", ctypes.c_uint32),
            *((f"n{i}", ctypes.c_uint64) for i in range(7)),
        ]

    status = Status(length=ctypes.sizeof(Status))
    kernel = getattr(ctypes, "windll").kernel32  # noqa: B009  # there alone
    return int(status.n1) if kernel.GlobalMemoryStatusEx(ctypes.byref(status)) else None
