"""Measure the free memory, and refuse computations that need more memory than is free."""

import os
from pathlib import Path

_PROC, _CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")
_SMALL = 32 << 20  # bytes; smaller computations are not checked


def free_memory() -> int | None:
    """Return the number of bytes that can be allocated without swapping, or None if it is unknown.

    On Linux, this is MemAvailable, or less if the process belongs to a control group with a lower limit. Containers
    and services run in such groups.
    """
    try:
        lines = (_PROC / "meminfo").read_text().splitlines()
        free = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    except (OSError, ValueError, IndexError):
        return _free_on_windows()
    return min([*free, *_free_in_groups()], default=None)


def check_free(n_bytes: int, what: str, remedy: str) -> None:
    """Refuse a computation that needs more memory than is free.

    Parameters
    ----------
    n_bytes : int
        Estimated peak memory of the computation.
    what : str
        Name of the computation for the error message, such as "a fit of 4 layers to 784 features".
    remedy : str
        Advice at the end of the message, such as "use less data".

    Raises
    ------
    MemoryError
        If the peak memory exceeds the free memory. The message contains both sizes and the remedy.
    """
    if n_bytes < _SMALL:
        return
    free = free_memory()
    if free is not None and n_bytes > free:
        raise MemoryError(
            f"{what} needs about {n_bytes / 1e9:.3g} GB of memory, but only {free / 1e9:.2g} GB are free; {remedy}"
        )


def _free_in_groups() -> list[int]:
    """Return the free bytes in each control group of this process that has a memory limit (cgroups version 2)."""
    try:
        lines = (_PROC / "self" / "cgroup").read_text().splitlines()
    except OSError:
        return []
    left = []
    for folder in (_CGROUPS / line.removeprefix("0::/") for line in lines if line.startswith("0::/")):
        for group in (folder, *folder.parents):  # each parent group may also have a limit
            left += _free_in_group(group)
            if group == _CGROUPS:
                break
    return left


def _free_in_group(group: Path) -> list[int]:
    """Return a list with the free bytes of a control group. The list is empty if the group has no limit.

    Cached files count as free memory.
    """
    try:
        most, used = (int((group / f"memory.{name}").read_text()) for name in ("max", "current"))
        stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        return [max(most - used + int(stat.get("inactive_file", 0)), 0)]
    except (OSError, ValueError):  # without a limit, memory.max contains "max"
        return []


def _free_on_windows() -> int | None:
    if os.name != "nt":
        return None
    import ctypes

    # The structure MEMORYSTATUSEX has 64 bytes: its size and the used percentage as 32-bit integers, then seven 64-bit
    # integers. The second of these is the free memory.
    status = (ctypes.c_uint64 * 8)(64)
    kernel = getattr(ctypes, "windll").kernel32  # noqa: B009  # exists on Windows only
    return int(status[2]) if kernel.GlobalMemoryStatusEx(ctypes.byref(status)) else None
