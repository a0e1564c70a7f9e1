"""Files opened by a person: good ones are seen, bad ones are refused with a sentence."""

import os
import struct
from pathlib import Path

import numpy as np
import pytest

from slide_gui.gui.theme import LIGHT
from tests.data.writers import write_amat, write_zip
from tests.end_to_end.program import open_by_dialog, until

pytestmark = pytest.mark.display


def rows(n=120, shape=(12, 10), seed=0):
    """Return images of one lit row and one lit column each."""
    random = np.random.default_rng(seed)
    images = np.zeros((n, *shape), np.float32)
    images[np.arange(n), random.integers(shape[0], size=n)] = 1
    images[np.arange(n), :, random.integers(shape[1], size=n)] = 1
    return images


def amat(path, n=60, columns=17):
    random = np.random.default_rng(1)
    return write_amat(path, random.random((n, columns - 1)).round(3), random.integers(2, size=n))


def truncated_amat(path):
    text = amat(path).read_text()
    path.write_text(text[: len(text) - 40])


def amat_with_nan(path):
    lines = amat(path).read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:8], "             nan" + lines[8][16:], *lines[9:]]))


def amat_with_a_row_of_three_columns(path):
    lines = amat(path).read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:8], lines[8][:48] + "\n", *lines[9:]]))


def npz_that_claims_10_gb(path):
    text = repr({"descr": "<f4", "fortran_order": False, "shape": (3_400_000, 784)})
    header = text.encode() + b" " * (117 - len(text)) + b"\n"
    write_zip(path, {"X.npy": b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(64)})


def idx_that_claims_10_gb(path):
    path.write_bytes(bytes((0, 0, 8, 3)) + struct.pack(">3I", 13_000_000, 28, 28) + bytes(784))


BAD = {
    "empty.amat": lambda path: path.write_bytes(b""),
    "truncated.amat": truncated_amat,
    "nan.amat": amat_with_nan,
    "three.amat": amat_with_a_row_of_three_columns,
    "large.npz": npz_that_claims_10_gb,
    "large-images-idx3-ubyte": idx_that_claims_10_gb,
}


@pytest.fixture(scope="module")
def program(start, tmp_path_factory):
    path = tmp_path_factory.mktemp("own") / "crosses.npz"
    np.savez(path, X=rows())
    return start(path)


def test_that_a_file_given_as_argument_is_opened_and_fitted(program):
    page = program.settled()
    assert program.title == "crosses – slide-gui"
    assert page.image.width / page.image.height == 10 / 12
    values = page.rows[1][0].values(page.picture, (12, 10))
    row, column = np.unravel_index(np.argmax(values), values.shape)
    cross = np.zeros(values.shape, bool)
    cross[row] = cross[:, column] = True
    assert values[cross].mean() > values[~cross].mean() + 20


def test_that_a_path_typed_into_the_dialog_is_opened(program, tmp_path):
    np.savez(tmp_path / "typed.npz", X=rows(seed=1, shape=(9, 9)))
    open_by_dialog(program, tmp_path / "typed.npz")
    until(lambda: program.title == "typed – slide-gui", "the new title")
    page = program.settled()
    assert page.image.width == page.image.height == 288


@pytest.mark.parametrize("name", BAD)
def test_that_a_bad_file_gives_a_notice_and_leaves_what_was_open(program, tmp_path, name):
    title, before = program.title, program.settled()
    assert program.notice(LIGHT.danger_wash) is None
    BAD[name](tmp_path / name)
    open_by_dialog(program, tmp_path / name)
    notice = until(lambda: program.notice(LIGHT.danger_wash), "the notice")
    program.settled()
    assert program.title == title
    program.click((notice.left + notice.width - 20, notice.top + 20))
    until(lambda: program.notice(LIGHT.danger_wash) is None, "the notice dismissed")
    after = program.settled()
    for row in range(len(before.rows)):
        for layer in (1, 2, 3, 4):
            np.testing.assert_array_equal(after.tile(row, layer), before.tile(row, layer))


def real(*names):
    folder = os.environ.get("SLIDE_GUI_DATA")
    if not folder:
        pytest.skip("SLIDE_GUI_DATA is not set")
    paths = [Path(folder) / name for name in names]
    missing = [str(path) for path in paths if not path.is_file()]
    if missing:
        pytest.skip(f"not there: {', '.join(missing)}")
    return paths


def near_and_far(page, layer, near):
    """Return the mean weight of each pinned row near its own pixel, by `near`, and elsewhere."""
    down, across = np.indices((28, 28))
    means = []
    for number, row in enumerate(page.rows[1:]):
        values = row[layer - 1].values(page.picture)
        pin = page.pinned(number)
        inside = near(np.abs(down - pin[0]), np.abs(across - pin[1]))
        marker = np.maximum(np.abs(down - pin[0]), np.abs(across - pin[1])) <= 2  # hides these
        means.append((values[inside & ~marker].mean(), values[~inside & ~marker].mean()))
    return means


def test_that_the_rectangles_archive_shows_crosses(start):
    (archive,) = real("rectangles/rectangles.zip")
    program = start(archive)
    until(lambda: program.title == "Rectangles – slide-gui", "the title", 60)
    page = program.settled()
    for layer in (1, 2, 3, 4):
        for along, elsewhere in near_and_far(page, layer, lambda down, across: (down == 0) | (across == 0)):
            assert along > 10
            assert along > 3 * abs(elsewhere)


def test_that_the_four_mnist_files_show_round_patches(start):
    files = real(
        "mnist/train-images-idx3-ubyte.gz",
        "mnist/train-labels-idx1-ubyte.gz",
        "mnist/t10k-images-idx3-ubyte.gz",
        "mnist/t10k-labels-idx1-ubyte.gz",
    )
    program = start(*files)
    until(lambda: program.title == "MNIST – slide-gui", "the title", 60)
    page = program.settled(seconds=60)
    sizes = np.array([[patch(page, number, layer) for number in range(4)] for layer in (1, 2, 3, 4)])
    straight, oblique, rim = np.moveaxis(sizes, -1, 0)
    assert (straight + oblique > 1.15 * 2 * rim).all()
    assert (oblique.mean(axis=1) > rim.mean(axis=1)).all()  # no cross
    assert (np.diff(rim.mean(axis=1)) > 0).all()  # fuzzier with depth
    assert rim[3].mean() > 2 * rim[0].mean()


def patch(page, number, layer):
    """Return the mean size of a pinned row's weights beside its pixel, obliquely beside it, and further out."""
    values = page.rows[number + 1][layer - 1].values(page.picture)
    pin = page.pinned(number)
    assert values[pin] > 200  # dark red
    down, across = np.indices((28, 28))[0] - pin[0], np.indices((28, 28))[1] - pin[1]
    distance = np.hypot(down, across)
    near, rim = (distance > 1.9) & (distance < 3.7), (distance >= 3.7) & (distance < 7)
    oblique = (abs(down) > 1) & (abs(across) > 1)
    return [np.abs(values)[where].mean() for where in (near & ~oblique, near & oblique, rim)]
