"""Damaged files of every kind that is read: only DataError comes out, whatever was changed in them."""

from __future__ import annotations

import gzip
import io
import random
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from PIL import Image

from slide_gui.core.slide.parameters import StackParameters
from slide_gui.data.errors import DataError
from slide_gui.data.open import open_data
from slide_gui.data.readers.amat import read_amat
from slide_gui.data.readers.csv import read_csv
from slide_gui.data.readers.images import read_image
from slide_gui.experiments.model_file import fit_model, is_model_file, load_model, save_model
from slide_gui.experiments.result import ARRAYS, pack_arrays, unpack_arrays
from tests.data.writers import amat_text, idx_bytes
from tests.experiments.tiny import rectangles
from tests.mutants import how_many, mutant

RANDOM = np.random.default_rng(0)
ROWS, LABELS = RANDOM.random((9, 16)), RANDOM.integers(3, size=9)
BYTES = (255 * ROWS).astype(np.uint8).reshape(9, 4, 4)


def npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def npz(packed: bool) -> bytes:
    buffer = io.BytesIO()
    (np.savez_compressed if packed else np.savez)(buffer, X=ROWS.astype(np.float32), y=LABELS)
    return buffer.getvalue()


def zipped(members: dict[str, bytes], how: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", how) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def mat(packed: bool) -> bytes:
    buffer = io.BytesIO()
    scipy.io.savemat(buffer, {"X": ROWS, "y": LABELS.reshape(-1, 1)}, do_compression=packed)
    return buffer.getvalue()


def csv() -> bytes:
    lines = ["label," + ",".join(f"p{i}" for i in range(16))]
    lines += [
        ",".join(map(str, [label, *row.round(4)])) for row, label in zip(ROWS.tolist() and ROWS, LABELS, strict=True)
    ]
    return ("\ufeff" + "\r\n".join(lines) + "\r\n").encode()


def picture(kind: str) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(np.kron(BYTES[0], np.ones((4, 4), np.uint8))).save(buffer, kind)
    return buffer.getvalue()


def model(folder: Path) -> bytes:
    save_model(folder / "m.npz", fit_model(rectangles(), StackParameters(depth=2)))
    return (folder / "m.npz").read_bytes()


def arrays() -> bytes:
    return pack_arrays({name: np.zeros((2,) * ndim, dtype) for name, (dtype, ndim) in ARRAYS.items()})


def opened(path: Path) -> None:
    open_data([path])


def loaded(path: Path) -> None:
    is_model_file(path)
    load_model(path)


def unpacked(path: Path) -> None:
    unpack_arrays(path.read_bytes(), str(path))


def inside(name: str, content: bytes, others: dict[str, bytes]) -> Callable[[random.Random], bytes]:
    """Return a maker of archives that are whole, but for what one member holds."""
    return lambda chance: zipped({name: mutant(content, chance), **others})


AMAT = amat_text(ROWS, LABELS).encode()
KINDS: dict[str, tuple[str, bytes | Callable[[random.Random], bytes], Callable[[Path], object]]] = {
    "npy": ("x.npy", npy(ROWS), opened),
    "npy of whole numbers": ("x.npy", npy(BYTES), opened),
    "npz": ("x.npz", npz(False), opened),
    "packed npz": ("x.npz", npz(True), opened),
    "npy in npz": ("x.npz", inside("X.npy", npy(ROWS), {"y.npy": npy(LABELS)}), opened),
    "labels in npz": ("x.npz", inside("y.npy", npy(LABELS), {"X.npy": npy(ROWS)}), opened),
    "amat": ("x.amat", AMAT, opened),
    "amat, whatever it begins with": ("x.amat", AMAT, read_amat),
    "zip": ("x.zip", zipped({"train.amat": AMAT, "test.amat": AMAT}), opened),
    "amat in zip": ("x.zip", inside("x_train.amat", AMAT, {"x_test.amat": AMAT}), opened),
    "csv": ("x.csv", csv(), opened),
    "csv, whatever it begins with": ("x.csv", csv(), read_csv),
    "idx": ("train-images-idx3-ubyte", idx_bytes(BYTES), opened),
    "idx of doubles": ("x.idx", idx_bytes(ROWS), opened),
    "gz": ("train-images-idx3-ubyte.gz", gzip.compress(idx_bytes(BYTES), mtime=0), opened),
    "idx in gz": ("x.gz", lambda chance: gzip.compress(mutant(idx_bytes(BYTES), chance), mtime=0), opened),
    "mat": ("x.mat", mat(False), opened),
    "packed mat": ("x.mat", mat(True), opened),
    **{
        kind: (f"x.{kind.lower()}", picture(kind), read_image)
        for kind in ("PNG", "JPEG", "BMP", "GIF", "TIFF", "PPM", "WEBP")
    },
    "arrays of a run": ("x.npz", arrays(), unpacked),
    "model": ("m.npz", b"", loaded),
    "member of a model": ("m.npz", b"", loaded),
}


def content_of(kind: str, folder: Path) -> bytes | Callable[[random.Random], bytes]:
    content = KINDS[kind][1]
    if kind == "model":
        return model(folder)
    if kind == "member of a model":
        with zipfile.ZipFile(io.BytesIO(model(folder))) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}

        def changed(chance: random.Random) -> bytes:
            name = chance.choice([*members, "manifest.npy"])
            return zipped({**members, name: mutant(members[name], chance)}, zipfile.ZIP_STORED)

        return changed
    return content


@pytest.mark.parametrize("kind", KINDS)
def test_that_a_damaged_file_ends_in_one_sentence(kind: str, tmp_path: Path) -> None:
    name, _, read = KINDS[kind]
    content, chance = content_of(kind, tmp_path), random.Random(kind)
    path, refused, tried = tmp_path / name, list[str](), -(-how_many(700) // len(KINDS))
    if isinstance(content, bytes):
        path.write_bytes(content)
        read(path)  # whole, it is read
    for _ in range(tried):
        path.write_bytes(mutant(content, chance) if isinstance(content, bytes) else content(chance))
        try:
            read(path)
        except DataError as error:
            refused.append(str(error))
    assert len(refused) > tried // 20
    assert all(sentence.startswith(str(tmp_path)) and sentence.isprintable() for sentence in refused)
