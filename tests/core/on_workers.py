"""What tests of Dask let workers do; it imports next to nothing, for each worker imports it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

__all__ = ["once_there", "slow", "tasks"]


def slow(block: Any) -> Any:
    """Return a block after a while."""
    time.sleep(0.05)
    return block


def once_there(block: Any, file: Path) -> Any:
    """Return a block once a file exists; give up after some seconds."""
    for _ in range(600):
        if file.exists():
            return block
        time.sleep(0.05)
    raise TimeoutError


def tasks(dask_scheduler: Any = None) -> int:
    """Return how many tasks a scheduler knows."""
    return len(dask_scheduler.tasks)
