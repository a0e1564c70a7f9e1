"""Rows that are read block by block, once for each layer, and are never all in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from slide_gui.core.slide.scatter import Part, Scatter, ScatterSum, block_of
from slide_gui.core.validation import check_whole
from slide_gui.progress import NO_PROGRESS, Progress

_AGAIN = "give a list of blocks, or a function that returns a new iterator each time it is called"


class BlockRows(ABC):
    """Rows whose scatter is summed block by block.

    Attributes
    ----------
    shape : tuple of int
        Total number of rows n, and number of features d.
    """

    shape: tuple[int, int]

    @abstractmethod
    def total(self, part: Part, progress: Progress = NO_PROGRESS) -> tuple[Scatter, ...]:
        """Return the scatters of `part`, summed over all blocks in the fixed order of `ScatterSum`.

        Raises
        ------
        ValueError
            If a value is not finite, or if a block cannot be used. The message names the row or block.
        """


class Blocks(BlockRows):
    """Rows in consecutive blocks, which `SLIDE.fit` reads once for each layer.

    Each block is an array, a memmap or a CSR matrix. Blocks of a few thousand rows are best.

    Parameters
    ----------
    blocks : sequence of array_like of shape (n_i, d), or callable
        The blocks, or a function that returns an iterator over the same blocks at each call.
    shape : tuple of (n, d), optional
        Total number of rows, and number of features. If it is not given, the blocks are read once to count the rows.

    Raises
    ------
    TypeError
        If `blocks` is not iterable, or can be iterated only once.
    ValueError
        If there are no blocks, if a block is not a 2-D array of numbers or has another number of features than the
        first, or if the shape is not a pair of integers.

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
            raise TypeError(
                f"a {kind} can be iterated only once, but a fit reads the blocks once for each layer; {_AGAIN}"
            )
        if not callable(blocks) and not isinstance(blocks, Iterable):
            raise TypeError(f"blocks is {blocks!r}; {_AGAIN}")
        self._blocks = blocks
        self.shape = self._counted() if shape is None else _checked_shape(shape)

    def __iter__(self) -> Iterator[Any]:
        """Yield the blocks, checked."""
        d = getattr(self, "shape", (0, None))[1]
        for number, given in enumerate(self._blocks() if callable(self._blocks) else self._blocks):
            block = block_of(given, f"block {number}")
            d = block.shape[1] if d is None else d
            if block.shape[1] != d:
                raise ValueError(
                    f"block {number} has {block.shape[1]} features; it must have {d} like the other blocks"
                )
            yield block

    def total(self, part: Part, progress: Progress = NO_PROGRESS) -> tuple[Scatter, ...]:
        """Return the scatters of `part`, summed over all blocks in this thread."""
        (n, d), start = self.shape, 0
        sums = [ScatterSum(d) for _ in range(part.count)]
        for block in self:
            stop = start + block.shape[0]
            scatters = part.of(block, start, progress.part(start / max(n, 1), min(stop / max(n, 1), 1.0)))
            for one, scatter in zip(sums, scatters, strict=True):
                one.add(scatter)
            start = stop
        if start != n:
            raise ValueError(f"the blocks have {start} rows this time, but {n} are expected; {_AGAIN}")
        return tuple(one.total() for one in sums)

    def _counted(self) -> tuple[int, int]:
        n, d = 0, 0
        for block in self:
            n, d = n + block.shape[0], block.shape[1]
        return n, d


def _checked_shape(shape: object) -> tuple[int, int]:
    if not isinstance(shape, Sequence) or isinstance(shape, str) or len(shape) != 2:
        raise ValueError(f"shape is {shape!r}; it must be two integers, rows and features")
    return check_whole("the number of rows", shape[0], 0), check_whole("the number of features", shape[1], 1)
