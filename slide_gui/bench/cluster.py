"""Fits of more rows than are held in memory: on workers that read a Zarr array, and streamed in blocks."""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.bench.measurement import Measurement, absolute, digits, in_child, relative

__all__ = ["fit_growth", "fit_workers"]

_CHILD = ("-m", "slide_gui.bench.cluster")
_MILLION = 1_000_000
_CHUNK = 16_384  # rows of the Zarr array
_BLOCK = 65_536  # rows streamed at a time
_ROUNDS = 2


def fit_workers() -> list[Measurement]:
    """1 000 000 × 784 from Zarr on two workers, against one, and against a memmap with both threads."""
    with tempfile.TemporaryDirectory() as folder:
        data = _store(Path(folder))
        rounds = [
            (_child("workers", folder, 1), _child("workers", folder, 2), _child("memmap", folder, 0))
            for _ in range(_ROUNDS)
        ]
    one, two, memmap = (min(each["seconds"] for each in runs) for runs in zip(*rounds, strict=True))
    memory = max(max(runs[1]["mebibytes"]) for runs in rounds)
    shape = f"1 000 000 × 784, 3 layers, uint8, {data}, workers of one thread each"
    return [
        relative("fit-workers", two, "s", one, 1 / 1.8, f"two workers against one; {shape}"),
        relative("fit-workers-memmap", two, "s", memmap, 1.15, f"two against a memmap here with two threads; {shape}"),
        absolute("fit-workers-memory", memory, "MiB", 600.0, f"most memory of a worker, all counted; {shape}"),
    ]


def fit_growth() -> list[Measurement]:
    """Time a row of blocks that are generated while they are fitted, from 100 000 to 10 000 000 rows of 784."""
    _, data = digits()
    few, some, many = (_child("blocks", "", n) for n in (100_000, _MILLION, 10 * _MILLION))
    each = [1e6 * run["seconds"] / n for run, n in ((few, 1e5), (some, 1e6), (many, 1e7))]
    note = f"2 layers, blocks of {_BLOCK} rows, {data}, two solves in each; 1 000 000 rows: {each[1]:.3g} µs each"
    growth = many["mebibytes"][0] - some["mebibytes"][0]
    return [
        relative("fit-growth", each[2], "µs/row", each[0], 1.1, f"10 000 000 rows against 100 000; {note}"),
        absolute("fit-growth-memory", growth, "MiB", 50.0, f"more at 10 000 000 rows than at 1 000 000; {note}"),
    ]


def _child(what: str, folder: str, n: int) -> dict[str, Any]:
    return in_child(*_CHILD, what, folder, str(n))


def _store(folder: Path) -> str:
    """Write the same rows as a Zarr array and as a memmap; return what they are."""
    import zarr

    rows, data = digits()
    grey = np.round(rows * 255).astype(np.uint8)
    shape = (_MILLION, grey.shape[1])
    mapped = np.lib.format.open_memmap(folder / "rows.npy", "w+", np.uint8, shape)
    stored = zarr.create_array(str(folder / "rows.zarr"), shape=shape, chunks=(_CHUNK, shape[1]), dtype="uint8")
    for start in range(0, _MILLION, _CHUNK):
        block = grey[np.arange(start, min(start + _CHUNK, _MILLION)) % len(grey)]
        mapped[start : start + len(block)] = block
        stored[start : start + len(block)] = block
    mapped.flush()
    return data


def _mebibytes() -> float:
    """Return the most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def _on_workers(folder: Path, workers: int) -> tuple[float, list[float]]:
    from slide_gui.core.slide.stack import StackParameters, fit_stack
    from slide_gui.data.lazy import open_lazy
    from slide_gui.experiments.cluster import Cluster, ClusterChoice

    with Cluster(ClusterChoice(workers=workers)) as cluster, cluster.client.as_current():
        rows = open_lazy(f"zarr://{folder / 'rows.zarr'}").train
        fit_stack(rows[: 2 * _CHUNK].rechunk((_CHUNK, -1)), StackParameters(depth=1))  # whatever is imported late
        start = time.perf_counter()
        fit_stack(rows, StackParameters())
        return time.perf_counter() - start, list(cluster.client.run(_mebibytes).values())


def _from_memmap(folder: Path) -> tuple[float, list[float]]:
    from slide_gui.core.slide.stack import StackParameters, fit_stack

    rows = np.load(folder / "rows.npy", mmap_mode="r")
    fit_stack(rows[:_CHUNK], StackParameters(depth=1))
    start = time.perf_counter()
    fit_stack(rows, StackParameters())
    return time.perf_counter() - start, [_mebibytes()]


def _from_blocks(n: int) -> tuple[float, list[float]]:
    from slide_gui.core.slide.blocks import Blocks
    from slide_gui.core.slide.stack import StackParameters, fit_stack

    rows, _ = digits()

    def blocks() -> Iterator[NDArray[np.float32]]:
        for start in range(0, n, _BLOCK):
            yield rows[np.arange(7 * start, 7 * start + min(_BLOCK, n - start)) % len(rows)]

    fit_stack(Blocks([rows[:_CHUNK]]), StackParameters(depth=1))
    start = time.perf_counter()
    fit_stack(Blocks(blocks, (n, rows.shape[1])), StackParameters(depth=2))
    return time.perf_counter() - start, [_mebibytes()]


def _measure(what: str, folder: Path, n: int) -> None:
    from slide_gui.blas import set_threads

    set_threads()
    if what == "workers":
        seconds, mebibytes = _on_workers(folder, n)
    else:
        seconds, mebibytes = _from_memmap(folder) if what == "memmap" else _from_blocks(n)
    print(json.dumps({"seconds": seconds, "mebibytes": mebibytes}))


if __name__ == "__main__":
    _measure(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
