"""Reading the largest benchmark file against unzipping it alone."""

from __future__ import annotations

import json
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np

from slide_gui.bench.measurement import Measurement, in_child, interleaved, relative
from slide_gui.data.catalogue import find

__all__ = ["amat"]

_MEMBER = "rectangles_test.amat"
_CHUNK = 1 << 20


def amat() -> list[Measurement]:
    """The 643 MB of text of the Rectangles archive."""
    archive = next((path for path in find("rectangles") or [] if path.suffix == ".zip"), None)
    with tempfile.TemporaryDirectory() as folder:
        data = "the original archive"
        if archive is None:
            archive, data = _stand_in(Path(folder)), "a stand-in of the same layout (the archive was not found)"
        run = in_child("-m", "slide_gui.bench.reading", str(archive))
    return [
        relative("amat-read", run["read"], "s", run["unzip"], 2.5, f"against unzipping alone; {data}"),
        relative(
            "amat-memory",
            run["mebibytes"],
            "MiB",
            run["arrays"],
            2.0,
            f"peak above the start, against the arrays kept; {data}",
        ),
    ]


def _stand_in(folder: Path) -> Path:
    random = np.random.default_rng(0)
    path = folder / "rectangles.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target, target.open(_MEMBER, "w") as member:
        cells = np.array([list(b"   0.0000000e+00"), list(b"   1.0000000e+00")], np.uint8)
        for _ in range(50):
            values = np.zeros((1000, 785), np.uint8)
            values[:, 200:500:7] = 1
            values[:, -1] = random.integers(0, 2, 1000)
            text = np.empty((1000, 785 * 16 + 1), np.uint8)
            text[:, :-1] = cells[values].reshape(1000, -1)
            text[:, -1] = ord("\n")
            member.write(text.tobytes())
    return path


def _measure(archive: Path) -> None:
    from slide_gui.bench.memory import PeakMemory
    from slide_gui.data.readers.amat import read_amat_zip

    def unzip() -> None:
        with zipfile.ZipFile(archive) as source:
            for info in source.infolist():
                with source.open(info) as member:
                    while member.read(_CHUNK):
                        pass

    # The first run of both touches fresh memory, which on some machines costs more than the work; the best of four.
    unzipping, reading = interleaved([unzip, lambda: read_amat_zip(archive)], rounds=4)
    with PeakMemory() as memory:
        parts = read_amat_zip(archive)
    arrays = sum(part.rows.nbytes for part in parts) / 2**20
    print(json.dumps({"unzip": unzipping, "read": reading, "mebibytes": memory.above, "arrays": arrays}))


if __name__ == "__main__":
    _measure(Path(sys.argv[1]))
