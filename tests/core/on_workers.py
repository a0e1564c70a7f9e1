"""Functions that tests run on Dask workers; few imports, because each worker imports this module."""

import time
from pathlib import Path
from typing import Any

from distributed import secede


def slow(block: Any) -> Any:
    """Return a block after a delay."""
    time.sleep(0.05)
    return block


def wait_for_file(block: Any, file: Path) -> Any:
    """Wait until a file exists, then return the block; give up after some seconds.

    Meanwhile, the worker can compute other tasks, which the scheduler may have assigned to the same worker.
    """
    secede()
    for _ in range(600):
        if file.exists():
            return block
        time.sleep(0.05)
    raise TimeoutError


def tasks(dask_scheduler: Any = None) -> int:
    """Return the number of tasks on a scheduler."""
    return len(dask_scheduler.tasks)
