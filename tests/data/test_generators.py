from __future__ import annotations

import os
import subprocess
import sys
from math import gcd
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from slide_gui.data import generators
from slide_gui.data.errors import DataError
from slide_gui.data.generators.convexity import intersections, is_convex, pixels
from slide_gui.data.generators.rectangles_images import _layers, _patches
from slide_gui.data.open import open_data
from slide_gui.progress import Cancelled
from tests.data.writers import CancelAfter

REAL_ZIP = Path(os.environ.get("SLIDE_GUI_DATA", ".")) / "rectangles" / "rectangles.zip"


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
    assert "generated" in data.name
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
    getattr(generators, name)(3000, 5000, progress=listener)
    assert listener.fractions == sorted(listener.fractions)
    assert listener.fractions[-1] == pytest.approx(1.0)
    with pytest.raises(Cancelled):
        getattr(generators, name)(3000, 5000, progress=CancelAfter(2))


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


def test_that_generated_convex_images_are_what_their_labels_say() -> None:
    data = generators.convex(400, 0, seed=2)
    assert data.train_labels is not None
    assert data.train_labels.sum() == 200
    assert set(np.unique(data.train)) == {0.0, 1.0}
    images = data.train.reshape(-1, 28, 28) > 0
    areas = images.sum((1, 2))
    assert areas[data.train_labels == 1].min() >= 19
    assert areas[data.train_labels == 0].min() >= 11
    for image, label in zip(images, data.train_labels, strict=True):
        if image.sum() < 130:
            assert brute_convex(image) == label


def test_that_convex_areas_are_balanced_and_near_those_of_the_real_images() -> None:
    data = generators.convex(12_000, 0, seed=0)
    areas = data.train.sum(1)
    white, other = areas[data.train_labels == 1], areas[data.train_labels == 0]
    error = 4 * np.sqrt((white.var() + other.var()) / 6000)  # four standard errors of the difference
    assert abs(white.mean() - other.mean()) < error
    assert abs(white.mean() - 301.4) < error  # the real test images of label 1
    found = np.quantile(white, [0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99])
    assert np.allclose(found, [20, 23, 74, 245, 504, 733, 775], rtol=0.25)


def test_that_rectangles_are_cut_from_one_patch_and_laid_on_another() -> None:
    data = generators.rectangles_images(300, 0, seed=1)
    assert data.train_labels is not None
    assert 0 <= data.train.min() < data.train.max() <= 1
    assert 0.3 < data.train_labels.mean() < 0.7
    assert "CC BY 2.0" in data.licence
    layers, _ = _layers(None)
    assert len(layers) == 6
    patches = _patches(500, layers, np.random.default_rng(0))
    assert patches.std(axis=(1, 2)).min() >= 0.05
    again = generators.rectangles_images(300, 0, seed=1)
    assert again.fingerprint == data.fingerprint


def test_that_rectangles_on_images_have_the_stated_sides(tmp_path: Path) -> None:
    """On photographs whose left half is dark and right half light, made of two shades apart, sides can be seen."""
    random = np.random.default_rng(0)
    for index, low in enumerate((0, 128)):  # every patch is wholly below or wholly above one half
        Image.fromarray(random.integers(low, low + 127, (64, 64), np.uint8)).save(tmp_path / f"{index}.png")
    data = generators.rectangles_images(4000, 0, seed=0, photographs=tmp_path)
    light = data.train.reshape(-1, 28, 28) > 0.5
    seen = light.any((1, 2)) & ~light.all((1, 2))
    light, labels = light[seen], data.train_labels[seen]  # type: ignore[index]
    assert len(light) > 1000
    inside = np.where(light.mean((1, 2))[:, None, None] < 0.5, light, ~light)
    framed = ~inside[:, [0, 0, -1, -1], [0, -1, 0, -1]].any(1)
    inside, labels = inside[framed], labels[framed]
    height, width = inside.any(2).sum(1), inside.any(1).sum(1)
    box = inside.sum((1, 2)) == height * width  # the smaller shade is the rectangle
    height, width, labels = height[box], width[box], labels[box]
    assert len(height) > 300
    assert min(height.min(), width.min()) == 10
    assert np.abs(height - width).min() == 5
    assert (height * width).min() >= 196
    assert (height * width).max() <= 588
    assert np.array_equal(labels, height > width)
    with pytest.raises(DataError, match="no pictures"):
        generators.rectangles_images(3, 3, photographs=tmp_path / "..")


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
