"""Data that do not fit in memory, as `Blocks` or Dask arrays. Rows are read block by block, once for each layer.

On a cluster, one task per chunk of a Dask array reads the chunk and computes its scatter matrix. Further tasks each sum
up to 16 matrices, until one matrix remains. Each matrix of d² numbers is sent to the worker that sums it with others.
In each pass over the rows, the client sends the weights once and receives one matrix. Dask reads only a few chunks at a
time, and sums one group of 16 matrices before it starts the next group. Each worker therefore holds only a few chunks
and matrices in memory. Dask is imported only for Dask arrays.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from slide_gui.blas import PRODUCTS, limit_threads
from slide_gui.core.slide.activations import block_of
from slide_gui.core.slide.scatter import GROUP, Scatter, ScatterPass, ScatterSum
from slide_gui.core.validation import check_integer
from slide_gui.core.workers import LARGE_TASKS, ClusterError, check_alive, results_of, unchanged
from slide_gui.progress import NO_PROGRESS, Listener, Progress

Apply = Callable[[Any, int], NDArray[np.floating]]

_AGAIN = "give a list of blocks, or a function that returns a new iterator each time it is called"


class Blocks:
    """Rows in consecutive blocks. `SLIDE.fit` reads all blocks at most once per layer.

    Each block is an array, a memmap or a CSR matrix. Blocks of a few thousand rows are fastest.

    Parameters
    ----------
    blocks : sequence of array_like of shape (n_i, d), or callable
        The blocks, or a function that returns an iterator over the same blocks at each call.
    shape : tuple of (n, d), optional
        Total number of rows, and number of features. If `shape` is not given, all blocks are read once to count them.

    Raises
    ------
    TypeError
        If `blocks` is not iterable, or can be iterated only once.
    ValueError
        If a block is not a 2-D array of numbers or has masked cells, or if the blocks differ in their number of
        features. The error is also raised if `shape` is not a pair of integers.

    Examples
    --------
    >>> import numpy as np
    >>> from slide_gui import SLIDE, Blocks
    >>> def blocks():
    ...     for seed in range(5):
    ...         yield np.random.default_rng(seed).random((200, 6))
    >>> SLIDE(depth=2).fit(Blocks(blocks)).stack_.n_samples
    1000
    """

    def __init__(
        self, blocks: Iterable[Any] | Callable[[], Iterable[Any]], shape: tuple[int, int] | None = None
    ) -> None:
        if isinstance(blocks, Iterator):
            kind = type(blocks).__name__
            raise TypeError(f"a {kind} can be iterated only once, but a fit reads the blocks once per layer; {_AGAIN}")
        if not callable(blocks) and not isinstance(blocks, Iterable):
            raise TypeError(f"blocks is {blocks!r}; {_AGAIN}")
        self._blocks = blocks
        if shape is not None and (not isinstance(shape, Sequence) or isinstance(shape, str) or len(shape) != 2):
            raise ValueError(f"shape is {shape!r}; it must be two integers, the numbers of rows and features")
        names = "the number of rows", "the number of features"
        self.shape = self._counted() if shape is None else tuple(map(check_integer, names, shape, (0, 1)))

    def __iter__(self) -> Iterator[Any]:
        """Check the shape and data type of each block, and yield the block."""
        d = getattr(self, "shape", (0, None))[1]
        for number, given in enumerate(self._blocks() if callable(self._blocks) else self._blocks):
            block = block_of(given, f"block {number}")
            d = block.shape[1] if d is None else d
            if block.shape[1] != d:
                raise ValueError(f"block {number} has {block.shape[1]} features; expected {d}, as in block 0 or shape")
            yield block

    def total(self, scatter_pass: ScatterPass, progress: Progress = NO_PROGRESS) -> tuple[Scatter, ...]:
        """Return the scatter matrices that `scatter_pass` computes, each summed over all blocks by `ScatterSum`.

        Raises
        ------
        ValueError
            If a value is NaN or infinite, or if a block is invalid. The message gives the row or the block.
        """
        (n, d), start = self.shape, 0
        sums = [ScatterSum(d) for _ in range(scatter_pass.count)]
        for block in self:
            stop = start + block.shape[0]
            scatters = scatter_pass.of(block, start, progress.part(start / max(n, 1), min(stop / max(n, 1), 1.0)))
            for total, scatter in zip(sums, scatters, strict=True):
                total.add(scatter)
            start = stop
        if start != n:
            raise ValueError(f"a pass over the blocks returned {start} rows, but {n} were expected; {_AGAIN}")
        return tuple(total.total() for total in sums)

    def _counted(self) -> tuple[int, int]:
        n, d = 0, 0
        for block in self:
            n, d = n + block.shape[0], block.shape[1]
        return n, d


def is_dask(rows: Any) -> bool:
    """Return True if the rows are a Dask array or another Dask collection."""
    return type(rows).__module__.partition(".")[0] == "dask"


def dask_rows(X: Any) -> "BlockRows":
    """Return the rows of a Dask array as blocks. Each chunk of rows is one block.

    The scatter matrices of the blocks are computed on the workers of the active `distributed` client. The calling
    thread computes the matrices if there is no such client, or if its workers are threads of this process.

    Raises
    ------
    TypeError
        If X is a Dask collection other than an array.
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
    """Return a lazy Dask array, which calls `apply` for a chunk of rows when the result for this chunk is needed.

    Parameters
    ----------
    X : dask.array.Array of shape (n, d)
    apply : callable
        Function of a chunk and the index of the first row of the chunk. It returns an array with one row for each row
        of the chunk. In each process, only one call of the function runs at a time.
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
        If X is not a 2-D Dask array of numbers, or if the sizes of its chunks are unknown.
    """
    import dask

    X = _checked(X)
    shared = dask.delayed(unchanged, pure=False)((apply, _starts(X)))
    chunks, meta = (X.chunks[0], (width,)), np.empty((0, width), dtype)
    return X.map_blocks(_apply_to_block, shared, dtype=meta.dtype, chunks=chunks, meta=meta)


def _checked(X: Any) -> Any:
    """Check that X is a 2-D Dask array of numbers with known chunk sizes. Return it with all columns in one chunk."""
    if not hasattr(X, "map_blocks"):
        raise TypeError(f"X is a Dask {type(X).__name__}, not an array; convert it with to_dask_array(lengths=True)")
    if X.ndim != 2 or X.dtype.kind not in "fbiu":
        raise ValueError(f"X is a {X.ndim}-D Dask array of {X.dtype}; it must be a 2-D array of numbers")
    if any(np.isnan(size) for sizes in X.chunks for size in sizes):
        raise ValueError("X has chunks of unknown sizes; call X.compute_chunk_sizes() first")
    return X if X.numblocks[1] <= 1 else X.rechunk({1: -1})


def _client() -> Any:
    """Return the active `distributed` client, or None if it is closed, is asynchronous or has no worker processes."""
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


class _ClusterRows:
    """The rows of a Dask array, whose scatter matrices are computed and summed by the workers of a Dask cluster."""

    def __init__(self, X: Any, client: Any) -> None:
        self.shape = X.shape
        self._X, self._client = X, client

    def total(self, scatter_pass: ScatterPass, progress: Progress = NO_PROGRESS) -> tuple[Scatter, ...]:
        """Return the scatter matrices that `scatter_pass` computes, summed over all chunks by the workers.

        Raises
        ------
        ClusterError
            If the connection to the scheduler is lost, if workers die repeatedly, or if the cluster cancels the task.
        """
        import dask

        blocks, topic = self._X.numblocks[0], f"slide-gui-{uuid4().hex}"
        shared = dask.delayed(unchanged, pure=False)((scatter_pass, _starts(self._X), topic))
        chunks, meta = ((1,) * blocks, (1,)), np.empty((0, 0), object)
        summed = self._X.map_blocks(_sum_block, shared, dtype=object, chunks=chunks, meta=meta)
        add = dask.delayed(_sum_group, pure=False)
        level = list(summed.to_delayed().ravel())
        while len(level) > 1:
            level = [add(level[start : start + GROUP]) for start in range(0, len(level), GROUP)]
        return self._computed(level[0], blocks, topic, progress)

    def _computed(self, top: Any, blocks: int, topic: str, progress: Progress) -> tuple[Scatter, ...]:
        """Compute the task `top` on the cluster. Workers report each finished block by an event named `topic`."""
        import dask
        from distributed import KilledWorker
        from distributed.client import FutureCancelledError

        client, done = self._client, set[int]()
        check_alive(client)
        client.subscribe_topic(topic, lambda event: done.add(event[1]))
        try:
            with dask.config.set(LARGE_TASKS):
                future = client.compute(top)
            summed: list[tuple[Scatter, ...]] = results_of(
                client, [future], Listener(lambda *_: progress.report(len(done) / blocks))
            )
        except KilledWorker as error:
            raise ClusterError(
                f"{error.allowed_failures + 1} workers died while they processed the same block of rows, most "
                "likely because they ran out of memory; give them more memory, or use smaller chunks of rows"
            ) from None
        except FutureCancelledError:
            check_alive(client)
            raise ClusterError("the fit was cancelled on the cluster; start it again") from None
        finally:
            if client.status == "running":
                client.unsubscribe_topic(topic)
        progress.report(1.0)
        return summed[0]


# Rows that this process or a cluster reads in blocks. The `total` method sums their scatter matrices.
BlockRows = Blocks | _ClusterRows


def _starts(X: Any) -> tuple[int, ...]:
    """Return the index of the first row of each chunk of a Dask array."""
    return tuple(accumulate(X.chunks[0][:-1], initial=0))


def _sum_block(
    block: Any, shared: tuple[ScatterPass, Sequence[int], str], block_id: tuple[int, int]
) -> tuple[Scatter, ...]:
    """Return the scatter matrices of one chunk of rows. This function runs on the workers."""
    from distributed import get_worker

    scatter_pass, starts, topic = shared
    with PRODUCTS:
        limit_threads(1)
        scatters = scatter_pass.of(block_of(block), starts[block_id[0]])
    get_worker().log_event(topic, block_id[0])
    return scatters


def _sum_group(group: Sequence[tuple[Scatter, ...]]) -> tuple[Scatter, ...]:
    """Return the sum of the scatter matrices of up to 16 blocks. If each block has two matrices, return two sums."""
    sums = [ScatterSum(len(scatter.sums)) for scatter in group[0]]
    for scatters in group:
        for total, scatter in zip(sums, scatters, strict=True):
            total.add(scatter)
    return tuple(total.total() for total in sums)


def _apply_to_block(block: Any, shared: tuple[Apply, Sequence[int]], block_id: tuple[int, int]) -> NDArray[np.floating]:
    """Apply a function to one chunk of rows. Any Dask scheduler can run this task."""
    apply, starts = shared
    with PRODUCTS:
        return apply(block_of(block), starts[block_id[0]])
