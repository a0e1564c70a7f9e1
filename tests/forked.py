"""Something done in a process of its own, which tells through a pipe."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable

__all__ = ["forked"]


def forked(task: Callable[[int], None]) -> tuple[int, int]:
    """Start a task in a copy of this process, and return its number and the end of the pipe to read from.

    The task gets the other end. The process ends with 0, or with 1 and the traceback where the task raised.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        status = 1
        try:
            task(writer)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(writer)
    return child, reader
