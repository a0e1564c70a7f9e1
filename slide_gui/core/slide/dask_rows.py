"""Sum the scatters of Dask arrays, on the workers of a cluster if there is one.

On a cluster, one task reads a chunk of rows and sums its scatter, and further tasks add the scatters in a fixed tree.
Each chunk sends d² numbers to another worker. The client sends the weights once per pass and receives one scatter.
Dask starts few reading tasks at a time and completes one group of sums first, so that a worker holds few chunks and
sums. Dask is imported only for Dask arrays.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from slide_gui.blas import PRODUCTS, limit_threads
from slide_gui.core.slide.blocks import BlockRows, Blocks
from slide_gui.core.slide.scatter import GROUP, Part, Scatter, ScatterSum
from slide_gui.core.workers import ClusterError, check_alive
from slide_gui.progress import NO_PROGRESS, Progress

Apply = Callable[[Any, int], NDArray[np.floating]]

_WATCH = 0.05  # seconds between two checks of a running pass


def is_dask(rows: Any) -> bool:
    """Return True if the rows are a Dask array or another Dask collection."""
    return type(rows).__module__.partition(".")[0] == "dask"


def dask_rows(X: Any) -> BlockRows:
    """Return the rows of a Dask array as blocks, one per chunk of rows.

    They are summed on the workers of the active `distributed` client. If there is none, or if its workers are threads
    of this process, they are summed in this thread.

    Raises
    ------
    TypeError
        If X is not an array.
    ValueError
        If X is not a 2-D array of numbers, or if the sizes of its chunks are unknown.
    """
    X = _checked(X)
    client = _client()
    if client is not None:
        return _ClusterRows(X, client)

    def blocks() -> Iterator[Any]:
        for number in range(X.numblocks[0]):
            yield X.blocks[number].compute(scheduler="synchronous")

    return Blocks(blocks, X.shape)


def lazily(X: Any, apply: Apply, width: int, dtype: str) -> Any:
    """Apply a function lazily to each chunk of rows of a Dask array.

    Parameters
    ----------
    X : dask.array.Array of shape (n, d)
    apply : callable
        Function of a chunk and the number of its first row. It returns an array with as many rows as the chunk. In one
        process it never runs twice at the same time.
    width : int
        Number of columns of the result.
    dtype : str
        Data type of the result.

    Returns
    -------
    dask.array.Array of shape (n, width)

    Raises
    ------
    TypeError, ValueError
        Same as `dask_rows`.
    """
    import dask

    X = _checked(X)
    shared = dask.delayed(_same, pure=False)((apply, _starts(X)))
    chunks, meta = (X.chunks[0], (width,)), np.empty((0, width), dtype)
    return X.map_blocks(_apply_to_block, shared, dtype=meta.dtype, chunks=chunks, meta=meta)


def _checked(X: Any) -> Any:
    """Return a checked Dask array with all its columns in one chunk."""
    if not hasattr(X, "map_blocks"):
        raise TypeError(f"X is a Dask {type(X).__name__}, not an array; call its to_dask_array(lengths=True)")
    if X.ndim != 2 or X.dtype.kind not in "fbiu":
        raise ValueError(f"X is a {X.ndim}-D Dask array of {X.dtype}; it must be a 2-D array of numbers")
    if any(np.isnan(size) for sizes in X.chunks for size in sizes):
        raise ValueError("X has chunks of unknown sizes; call X.compute_chunk_sizes() first")
    return X if X.numblocks[1] <= 1 else X.rechunk({1: -1})


def _client() -> Any:
    """Return the active client if its workers are other processes, or None."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        client = distributed.Client.current()
    except ValueError:
        return None
    if client.asynchronous or client.status == "closed" or client.scheduler.address.startswith("inproc://"):
        return None
    return client


class _ClusterRows(BlockRows):
    """The rows of a Dask array, whose scatters the workers of a client sum."""

    def __init__(self, X: Any, client: Any) -> None:
        self.shape = X.shape
        self._X, self._client = X, client

    def total(self, part: Part, progress: Progress = NO_PROGRESS) -> tuple[Scatter, ...]:
        """Return the scatters of `part`, summed over all chunks on the workers.

        Raises
        ------
        ClusterError
            If the connection to the scheduler is lost, or if workers die repeatedly.
        """
        import dask

        blocks, topic = self._X.numblocks[0], f"slide-gui-{uuid4().hex}"
        shared = dask.delayed(_same, pure=False)((part, _starts(self._X), topic))
        chunks, meta = ((1,) * blocks, (1,)), np.empty((0, 0), object)
        summed = self._X.map_blocks(_sum_block, shared, dtype=object, chunks=chunks, meta=meta)
        add = dask.delayed(_sum_group, pure=False)
        level = list(summed.to_delayed().ravel())
        while len(level) > 1:
            level = [add(level[start : start + GROUP]) for start in range(0, len(level), GROUP)]
        return self._computed(level[0], blocks, topic, progress)

    def _computed(self, top: Any, blocks: int, topic: str, progress: Progress) -> tuple[Scatter, ...]:
        """Return the result of a task and report the progress by completed blocks."""
        import dask

        client, done = self._client, set[int]()
        check_alive(client)
        client.subscribe_topic(topic, lambda event: done.add(event[1]))
        with dask.config.set(
            {"distributed.admin.large-graph-warning-threshold": "1 TiB"}
        ):  # the weights are sent only once
            future = client.compute(top)
        try:
            while future.status in ("pending", "lost"):  # "lost": its worker died, and Dask repeats it
                progress.report(len(done) / blocks)
                time.sleep(_WATCH)
            result: tuple[Scatter, ...] = _outcome(future, client)
        finally:
            if client.status == "running":
                client.unsubscribe_topic(topic)
                client.cancel([future], force=True)
        progress.report(1.0)
        return result


def _outcome(future: Any, client: Any) -> Any:
    from distributed import KilledWorker
    from distributed.client import FutureCancelledError

    try:
        return future.result()
    except KilledWorker as error:
        raise ClusterError(
            f"{error.allowed_failures + 1} workers died one after the other at the same block of rows, most "
            "likely because they ran out of memory; give them more memory, or the array smaller chunks of rows"
        ) from None
    except FutureCancelledError:
        check_alive(client)
        raise ClusterError("the fit was cancelled on the cluster; start it again") from None


def _starts(X: Any) -> tuple[int, ...]:
    """Return the number of the first row of each chunk."""
    return tuple(accumulate(X.chunks[0][:-1], initial=0))


def _same(value: Any) -> Any:
    """Return a value unchanged; as a task, workers can share the value, and Dask can compute it again."""
    return value


def _sum_block(block: Any, shared: tuple[Part, Sequence[int], str], block_id: tuple[int, int]) -> tuple[Scatter, ...]:
    """Return the scatters of one chunk; runs on a worker."""
    from distributed import get_worker

    part, starts, topic = shared
    with PRODUCTS:
        limit_threads(1)
        scatters = part.of(block, starts[block_id[0]])
    get_worker().log_event(topic, block_id[0])
    return scatters


def _sum_group(group: Sequence[tuple[Scatter, ...]]) -> tuple[Scatter, ...]:
    """Return the sums of up to 16 scatters each."""
    sums = [ScatterSum(len(scatter.sums)) for scatter in group[0]]
    for scatters in group:
        for one, scatter in zip(sums, scatters, strict=True):
            one.add(scatter)
    return tuple(one.total() for one in sums)


def _apply_to_block(block: Any, shared: tuple[Apply, Sequence[int]], block_id: tuple[int, int]) -> NDArray[np.floating]:
    """Apply a function to one chunk; runs in any Dask scheduler."""
    apply, starts = shared
    with PRODUCTS:
        return apply(block, starts[block_id[0]])
