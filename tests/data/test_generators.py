from __future__ import annotations

import os
import subprocess
import sys
from math import gcd
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage

from slide_gui.data import generators
from slide_gui.data.dataset import Dataset
from slide_gui.data.errors import DataError
from slide_gui.data.generators.convex import intersections, is_convex, pixels
from slide_gui.data.generators.digits import _stratified
from slide_gui.data.generators.rectangles import _draw_pairs, _grey_layers
from slide_gui.data.open import open_data
from slide_gui.progress import Cancelled
from tests.data.writers import CancelAfter

REAL_ZIP = Path(os.environ.get("SLIDE_GUI_DATA", ".")) / "rectangles" / "rectangles.zip"
REAL_CONVEX_ZIP = Path(os.environ.get("SLIDE_GUI_DATA", ".")) / "convex-train" / "convex_train_only.zip"


def sides(rows: np.ndarray) -> tuple[np.ndarray, ...]:
    """Height, width, top and left of the lit area, from the pixels alone."""
    lit = rows.reshape(-1, 28, 28) > 0
    in_rows, in_columns = lit.any(2), lit.any(1)
    return in_rows.sum(1), in_columns.sum(1), in_rows.argmax(1), in_columns.argmax(1)


def check_outlines(rows: np.ndarray, labels: np.ndarray) -> None:
    height, width, top, left = sides(rows)
    assert set(np.unique(rows)) == {0.0, 1.0}
    assert np.array_equal(labels, height > width)
    assert np.abs(height - width).min() == 3
    assert (min(height.min(), width.min()), max(height.max(), width.max())) == (4, 28)
    assert np.array_equal(rows.sum(1), 2 * height + 2 * width - 4)  # nothing inside
    images = rows.reshape(-1, 28, 28)
    which = np.arange(len(rows))
    for row in (top, top + height - 1):
        assert np.array_equal(images[which, row].sum(1), width)
    for column in (left, left + width - 1):
        assert np.array_equal(images[which, :, column].sum(1), height)


def chi_square(counts: np.ndarray, expected: np.ndarray) -> float:
    """Normal score of the statistic: beyond ±4 the counts do not follow what is expected."""
    expected = expected * counts.sum() / expected.sum()
    degrees = len(counts) - 1
    return float((((counts - expected) ** 2 / expected).sum() - degrees) / np.sqrt(2 * degrees))


def admissible() -> np.ndarray:
    """The 25 × 25 pairs of sides that are allowed."""
    grid = np.arange(4, 29)
    return (np.abs(grid[:, None] - grid) >= 3).astype(float)


def check_distribution(rows: np.ndarray) -> None:
    height, width, top, left = sides(rows)
    pairs = np.zeros((25, 25))
    np.add.at(pairs, (height - 4, width - 4), 1)
    allowed = admissible() > 0
    assert pairs[~allowed].sum() == 0
    assert abs(chi_square(pairs[allowed], np.ones(int(allowed.sum())))) < 4
    for side, corner in ((height, top), (width, left)):
        assert abs(chi_square(np.bincount(corner[side == 8], minlength=21), np.ones(21))) < 4
        assert (corner + side <= 28).all()


def test_that_generated_rectangles_have_the_stated_shape_and_distribution() -> None:
    data = generators.rectangles(seed=3)
    assert (data.train.shape, data.test.shape) == ((1200, 784), (50_000, 784))
    assert data.generated
    assert data.title == "Rectangles (generated)"
    assert data.train_labels is not None
    assert data.test_labels is not None
    check_outlines(data.train, data.train_labels)
    check_outlines(data.test, data.test_labels)
    check_distribution(data.test)
    assert abs(data.test_labels.mean() - 0.5) < 0.01


@pytest.mark.skipif(not REAL_ZIP.exists(), reason="SLIDE_GUI_DATA names no folder with rectangles/rectangles.zip")
def test_that_the_real_rectangles_have_what_the_generator_claims() -> None:
    real = open_data([REAL_ZIP])
    assert real.test_labels is not None
    check_outlines(real.test, real.test_labels)
    check_distribution(real.test)
    made = generators.rectangles(seed=1)
    assert abs(made.test.mean(dtype=np.float64) - real.test.mean(dtype=np.float64)) < 5e-4
    assert np.abs(made.test.mean(0) - real.test.mean(0)).max() < 0.01


@pytest.mark.parametrize("name", ["rectangles", "rectangles_images", "convex"])
def test_that_the_seed_alone_sets_the_bytes_and_the_test_size_leaves_the_training_part(name: str) -> None:
    make = getattr(generators, name)
    first, again, longer, other = make(60, 10, 5), make(60, 10, 5), make(60, 90, 5), make(60, 10, 6)
    assert first.fingerprint == again.fingerprint
    assert np.array_equal(first.train, longer.train)
    assert np.array_equal(first.train_labels, longer.train_labels)
    assert not np.array_equal(first.train, other.train)
    assert not np.array_equal(first.train[:10], first.test)


@pytest.mark.parametrize("name", ["rectangles", "rectangles_images", "convex"])
def test_that_generators_report_rising_progress_and_can_be_cancelled(name: str) -> None:
    listener = CancelAfter()
    getattr(generators, name)(600, 1500, progress=listener)
    assert listener.fractions == sorted(listener.fractions)
    assert listener.fractions[-1] == pytest.approx(1.0)
    with pytest.raises(Cancelled):
        getattr(generators, name)(600, 1500, progress=CancelAfter(2))


def test_that_rectangles_need_numpy_alone() -> None:
    code = (
        "import sys; from slide_gui.data.generators import rectangles; rectangles(10, 10);"
        "print([m for m in ('sklearn', 'scipy', 'PIL', 'pooch', 'requests', 'matplotlib') if m in sys.modules])"
    )
    root = Path(generators.__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def brute_convex(image: np.ndarray) -> bool:
    """All pairs, one by one: every pixel centre on the segment between them is white."""
    points = np.argwhere(image)
    for index, a in enumerate(points):
        for b in points[index + 1 :]:
            steps = gcd(int(b[0] - a[0]), int(b[1] - a[1]))
            for k in range(1, steps):
                r, c = a + (b - a) // steps * k
                if not image[r, c]:
                    return False
    return True


def test_that_the_fast_test_of_convexity_agrees_with_all_pairs_one_by_one() -> None:
    random = np.random.default_rng(0)
    sets = intersections(random.geometric(0.1, 700), 3, random)
    area = np.bitwise_count(sets).sum(1, dtype=int)
    small = sets[area < 130][:40]
    unions = small[:-1] | small[1:]
    holes = small.copy()
    for row in holes:  # one pixel taken out of each
        at = random.permutation(np.argwhere(pixels(row[None])[0]))[0]
        row[at[0]] &= ~(np.uint32(1) << np.uint32(at[1]))
    single = np.zeros((2, 28), np.uint32)
    single[0, 3], single[1, [0, 27]] = 4, (1, 1 << 27)  # one pixel; two far corners
    for group in (small, unions, holes, single):
        expected = [brute_convex(image) for image in pixels(group)]
        assert is_convex(group).tolist() == expected
    assert is_convex(small).all()
    assert 0 < np.mean([brute_convex(image) for image in pixels(holes)]) < 1


@pytest.fixture(scope="module")
def convex() -> Dataset:
    return generators.convex(12_000, 0, seed=0)


def test_that_generated_convex_images_are_what_their_labels_say(convex: Dataset) -> None:
    data = convex
    assert data.train_labels is not None
    assert data.train_labels.sum() == 6000
    assert set(np.unique(data.train)) == {0.0, 1.0}
    images = data.train.reshape(-1, 28, 28) > 0
    areas = images.sum((1, 2))
    assert areas[data.train_labels == 1].min() >= 19
    assert areas[data.train_labels == 0].min() >= 11
    for image, label in zip(images[:400], data.train_labels[:400], strict=True):
        if image.sum() < 130:
            assert brute_convex(image) == label


REAL_CONVEX = {
    1: {
        "mean": 299.2, "areas": [20, 23, 75, 249, 496, 728, 772], "edges": [9, 17, 28, 39, 52, 74, 85],
        "pieces": [1.0],
    },
    0: {
        "mean": 303.8, "areas": [23, 30, 90, 251, 495, 721, 767], "edges": [12, 27, 45, 63, 80, 104, 121],
        "pieces": [0.434, 0.394, 0.145, 0.026],
    },
}  # fmt: skip
"""Of the 8 000 real training images, by label: mean area, quantiles of area and boundary, shares of 1, 2, … pieces."""


def shapes(rows: np.ndarray) -> dict[str, object]:
    """The same of some images; a boundary is the number of pixel sides between white and black."""
    images = rows.reshape(-1, 28, 28) > 0
    areas = images.sum((1, 2))
    signed = images.astype(int)
    edges = sum(np.abs(np.diff(signed, axis=axis)).sum((1, 2)) for axis in (1, 2))
    pieces = [ndimage.label(image, np.ones((3, 3)))[1] for image in images[:2000]]
    levels = [0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99]
    return {
        "mean": areas.mean(),
        "areas": np.quantile(areas, levels),
        "edges": np.quantile(edges, levels),
        "pieces": np.bincount(pieces, minlength=5)[1:] / len(pieces),
    }


def check_shapes(rows: np.ndarray, labels: np.ndarray, slack: float) -> None:
    for kind, real in REAL_CONVEX.items():
        found = shapes(rows[labels == kind])
        assert found["mean"] == pytest.approx(real["mean"], abs=10)  # type: ignore[arg-type]
        np.testing.assert_allclose(found["areas"], real["areas"], rtol=slack, atol=2)  # type: ignore[arg-type]
        np.testing.assert_allclose(found["edges"], real["edges"], rtol=slack, atol=2)  # type: ignore[arg-type]
        shares = found["pieces"][: len(real["pieces"])]  # type: ignore[index, arg-type]
        np.testing.assert_allclose(shares, real["pieces"], atol=0.03)


def test_that_generated_convex_images_have_the_areas_boundaries_and_pieces_of_the_real_ones(convex: Dataset) -> None:
    assert convex.train_labels is not None
    check_shapes(convex.train, convex.train_labels, 0.1)


@pytest.mark.skipif(not REAL_CONVEX_ZIP.exists(), reason="SLIDE_GUI_DATA names no folder with the real Convex images")
def test_that_the_real_convex_images_have_what_the_generator_is_held_to() -> None:
    real = open_data([REAL_CONVEX_ZIP])
    assert real.train_labels is not None
    check_shapes(real.train, real.train_labels, 0.01)


def test_that_cuts_stop_before_a_set_is_too_small_and_one_cut_leaves_two_convex_parts() -> None:
    random = np.random.default_rng(0)
    many = intersections(np.full(300, 40), 25, random)
    areas = np.bitwise_count(many).sum(1, dtype=int)
    assert areas.min() == 25
    assert is_convex(many).all()
    one = intersections(np.ones(300, np.int64), 25, random)
    assert is_convex(~one & np.uint32((1 << 28) - 1)).all()
    assert (intersections(np.zeros(3, np.int64), 25, random) == np.uint32((1 << 28) - 1)).all()


def test_that_rectangles_are_cut_from_one_patch_and_laid_on_another() -> None:
    data = generators.rectangles_images(300, 0, seed=1)
    assert data.train_labels is not None
    assert 0 <= data.train.min() < data.train.max() <= 1
    assert 0.3 < data.train_labels.mean() < 0.7
    assert "CC BY 2.0" in data.licence
    layers, _ = _grey_layers(None)
    assert len(layers) == 6
    pairs = _draw_pairs(500, layers, np.random.default_rng(0))
    assert pairs.std(axis=(2, 3)).min() >= 0.05


def test_that_the_two_patches_of_an_image_are_near_each_other() -> None:
    """In a picture that counts its pixels, the least value of a patch tells its corner."""
    layer = np.arange(600 * 500, dtype=np.float32).reshape(600, 500)
    row, column = np.divmod(_draw_pairs(4000, [layer], np.random.default_rng(0)).min(axis=(2, 3)), 500)
    for corner, places in ((row, 573), (column, 473)):
        away = corner[1] - corner[0]
        assert (away.min(), away.max()) == (-140, 140)
        inner = (corner[0] >= 140) & (corner[0] < places - 140)
        counts = np.histogram(away[inner], bins=[*range(-140, 122, 20), 141])[0]
        assert abs(chi_square(counts, np.array([20] * 13 + [21]))) < 4


def test_that_rectangles_on_images_have_the_stated_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules["slide_gui.data.generators.rectangles"]
    shades = np.array([1.0, 0.0], np.float32)[:, None, None, None]
    monkeypatch.setattr(module, "_draw_pairs", lambda n, *_: np.broadcast_to(shades, (2, n, 28, 28)))
    data = generators.rectangles_images(4000, 0, seed=0)
    height, width, *_ = sides(data.train)
    assert np.array_equal(data.train.sum(1), height * width)
    assert min(height.min(), width.min()) == 10
    assert np.abs(height - width).min() == 5
    assert (height * width).min() >= 196
    assert (height * width).max() <= 588
    assert np.array_equal(data.train_labels, height > width)


def test_that_a_folder_without_pictures_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no pictures"):
        generators.rectangles_images(3, 3, photographs=tmp_path)


def test_that_plain_photographs_are_refused(tmp_path: Path) -> None:
    Image.new("L", (64, 64), 90).save(tmp_path / "plain.png")
    with pytest.raises(DataError, match="hardly any patches with contrast"):
        generators.rectangles_images(3, 3, photographs=tmp_path)


def test_that_a_photograph_of_28_by_28_pixels_is_large_enough(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (28, 28), np.uint8)
    Image.fromarray(pixels).save(tmp_path / "small.png")
    data = generators.rectangles_images(3, 2, photographs=tmp_path)
    assert (data.train.shape, data.test.shape) == ((3, 784), (2, 784))
    assert set(np.unique(data.train)) <= set(np.unique(pixels.astype(np.float32) / np.float32(255)))
    Image.fromarray(pixels[:, 1:]).save(tmp_path / "small.png")
    with pytest.raises(DataError, match="no pictures of at least 28 × 28"):
        generators.rectangles_images(3, 2, photographs=tmp_path)


def test_that_digits_are_enlarged_stratified_and_named_a_stand_in() -> None:
    data = generators.digits()
    assert (data.train.shape, data.test.shape) == ((1297, 784), (500, 784))
    assert "stand-in" in data.name
    assert data.generated
    assert data.train_labels is not None
    assert data.test_labels is not None
    counts = np.bincount(data.test_labels)
    whole = counts + np.bincount(data.train_labels)
    assert np.abs(counts - whole * 500 / 1797).max() <= 1
    assert 0 <= data.train.min() < data.train.max() <= 1
    assert data.fingerprint == generators.digits().fingerprint
    from sklearn.datasets import load_digits

    small = load_digits().images.reshape(1797, -1).mean(1) / 16
    both = np.concatenate([data.train, data.test]).mean(1)
    assert np.allclose(np.sort(both), np.sort(small), atol=0.06)
    distinct = {row.tobytes() for row in np.concatenate([data.train, data.test])}
    assert len(distinct) == len({image.tobytes() for image in load_digits().images})


def test_that_classes_of_unlike_sizes_give_their_shares_to_the_test_part_to_within_one() -> None:
    sizes = np.array([900, 90, 10])
    labels = np.repeat(np.arange(3), sizes)
    for n_test in (0, 1, 100, 500, 999):
        train, test = _stratified(labels, n_test, np.random.default_rng(0))
        assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(1000))
        assert np.abs(np.bincount(labels[test], minlength=3) - sizes * n_test / 1000).max() <= 1
