"""Generated data have the stated shapes and distributions, and those of the benchmark."""

import sys
from math import gcd
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage
from sklearn.datasets import load_digits, load_sample_images

from slide_gui.data import generators
from slide_gui.data.generators.convex import _random_pixels, intersections, is_convex, pixels
from slide_gui.data.generators.rectangles import _draw_pairs, _grey_layers
from slide_gui.progress import Cancelled
from tests.core.svm_data import StopAfter

SEEDED = pytest.mark.parametrize("name", ["rectangles", "rectangles_images", "convex"])
FULL = np.uint32((1 << 28) - 1)


def sides(rows):
    """Return height, width, top and left of the white area, from the pixels alone."""
    white = rows.reshape(-1, 28, 28) > 0
    in_rows, in_columns = white.any(2), white.any(1)
    return in_rows.sum(1), in_columns.sum(1), in_rows.argmax(1), in_columns.argmax(1)


def chi_square(counts, expected):
    """Return the chi-square statistic as a normal score; beyond ±4 the counts do not follow the expectation."""
    expected = expected * counts.sum() / expected.sum()
    degrees = len(counts) - 1
    return float((((counts - expected) ** 2 / expected).sum() - degrees) / np.sqrt(2 * degrees))


def test_that_generated_rectangles_have_the_stated_shape_and_distribution():
    data = generators.rectangles(seed=3)
    assert (data.train.shape, data.test.shape) == ((1200, 784), (50_000, 784))
    assert (data.title, data.opened.scaled) == ("Rectangles (generated)", False)
    assert np.array_equal(data.train_labels, sides(data.train)[0] > sides(data.train)[1])
    rows, labels = data.test, data.test_labels
    assert abs(labels.mean() - 0.5) < 0.01
    height, width, top, left = sides(rows)
    assert np.isin(rows, (0.0, 1.0)).all()
    assert np.array_equal(labels, height > width)
    assert (min(height.min(), width.min()), max(height.max(), width.max())) == (4, 28)
    assert np.array_equal(rows.sum(1), 2 * height + 2 * width - 4)  # the inside is black
    images, which = rows.reshape(-1, 28, 28), np.arange(len(rows))
    for row in (top, top + height - 1):
        assert np.array_equal(images[which, row].sum(1), width)
    for column in (left, left + width - 1):
        assert np.array_equal(images[which, :, column].sum(1), height)
    pairs, grid = np.zeros((25, 25)), np.arange(25)
    np.add.at(pairs, (height - 4, width - 4), 1)
    allowed = np.abs(grid[:, None] - grid) >= 3
    assert pairs[~allowed].sum() == 0
    assert abs(chi_square(pairs[allowed], np.ones(int(allowed.sum())))) < 4
    for side, corner in ((height, top), (width, left)):
        assert abs(chi_square(np.bincount(corner[side == 8], minlength=21), np.ones(21))) < 4


@SEEDED
def test_that_equal_seeds_give_equal_bytes_whatever_the_size_of_the_test_set(name, monkeypatch):
    monkeypatch.setattr(sys.modules["slide_gui.data.generators.convex"], "_BLOCK", 64)
    make = getattr(generators, name)
    first, again, longer, other = make(60, 10, 5), make(60, 10, 5), make(60, 90, 5), make(60, 10, 6)
    assert first.fingerprint == again.fingerprint
    assert np.array_equal(first.train, longer.train)
    assert np.array_equal(first.train_labels, longer.train_labels)
    assert not np.array_equal(first.train, other.train)
    assert not np.array_equal(first.train[:10], first.test)


def test_that_the_test_images_of_rectangles_are_drawn_once_at_their_first_use():
    data = generators.rectangles(60, 20)
    assert (data.n_test, callable(vars(data)["test"])) == (20, True)
    assert data.test is data.test
    assert not data.test.flags.writeable


@SEEDED
def test_that_generators_report_rising_progress_and_can_be_cancelled(name):
    listener = StopAfter()
    getattr(generators, name)(600, 1500, progress=listener)
    assert listener.complete
    with pytest.raises(Cancelled):
        getattr(generators, name)(600, 1500, progress=StopAfter(2))


def is_convex_by_pairs(image):
    """Return True if all pixel centres on the segment between any two white pixels are white."""
    points = np.argwhere(image)
    for index, a in enumerate(points):
        for b in points[index + 1 :]:
            steps = gcd(int(b[0] - a[0]), int(b[1] - a[1]))
            if not all(image[tuple(a + (b - a) // steps * k)] for k in range(1, steps)):
                return False
    return True


def test_that_the_fast_test_of_convexity_agrees_with_all_pairs():
    random = np.random.default_rng(0)
    sets = intersections(random.geometric(0.1, 700), 3, random)
    small = sets[np.bitwise_count(sets).sum(1, dtype=int) < 130][:40]
    holes = small.copy()
    for row in holes:  # remove one pixel of each
        at = random.permutation(np.argwhere(pixels(row[None])[0]))[0]
        row[at[0]] &= ~(np.uint32(1) << np.uint32(at[1]))
    single = np.zeros((5, 28), np.uint32)  # one pixel; two far corners; two of the longest steps
    single[0, 3], single[1, [0, 27]], single[2, [0, 26]] = 4, (1, 1 << 27), (4, 1)
    single[3:, [0, 2]] = (1, 1 << 26), (1 << 26, 1)
    for group in (small, small[:-1] | small[1:], holes, single):
        assert is_convex(group).tolist() == [is_convex_by_pairs(image) for image in pixels(group)]
    assert is_convex(small).all()
    assert 0 < is_convex(holes).mean() < 1


@pytest.fixture(scope="module")
def convex():
    return generators.convex(12_000, 0, seed=0)


def test_that_convex_images_agree_with_their_labels(convex):
    assert convex.train_labels.sum() == 6000
    assert np.isin(convex.train, (0.0, 1.0)).all()
    images = convex.train.reshape(-1, 28, 28) > 0
    areas = images.sum((1, 2))
    assert areas[convex.train_labels == 1].min() >= 19
    assert areas[convex.train_labels == 0].min() >= 11
    for image, label in zip(images[:400], convex.train_labels[:400], strict=True):
        assert image.sum() >= 130 or is_convex_by_pairs(image) == label


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
"""The 8 000 real training images, by label: mean area, quantiles of area and boundary, fractions in 1, 2, … pieces."""


def test_that_convex_images_have_the_areas_boundaries_and_pieces_of_the_real_ones(convex):
    """A boundary is measured in pixel sides between white and black."""
    for kind, real in REAL_CONVEX.items():
        images = convex.train[convex.train_labels == kind].reshape(-1, 28, 28) > 0
        areas, levels = images.sum((1, 2)), [0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99]
        edges = sum(np.abs(np.diff(images.astype(int), axis=axis)).sum((1, 2)) for axis in (1, 2))
        pieces = [ndimage.label(image, np.ones((3, 3)))[1] for image in images[:2000]]
        assert areas.mean() == pytest.approx(real["mean"], abs=10)
        np.testing.assert_allclose(np.quantile(areas, levels), real["areas"], rtol=0.1, atol=2)
        np.testing.assert_allclose(np.quantile(edges, levels), real["edges"], rtol=0.1, atol=2)
        fractions = np.bincount(pieces, minlength=5)[1 : len(real["pieces"]) + 1] / len(pieces)
        np.testing.assert_allclose(fractions, real["pieces"], atol=0.03)


def test_that_cuts_stop_before_a_set_is_too_small_and_one_cut_leaves_two_convex_parts():
    random = np.random.default_rng(0)
    many = intersections(np.full(300, 40), 25, random)
    assert np.bitwise_count(many).sum(1, dtype=int).min() == 25
    assert is_convex(many).all()
    assert is_convex(~intersections(np.ones(300, np.int64), 25, random) & FULL).all()
    assert (intersections(np.zeros(3, np.int64), 25, random) == FULL).all()


def test_that_evenly_spaced_random_numbers_draw_each_pixel_of_a_set_once():
    low, high = np.full((2, 4, 28), 5.0)
    high -= 1
    low[:, 3], high[:, 20] = 3, 6
    evenly = SimpleNamespace(random=lambda n: (np.arange(n) + 0.5) / n)
    assert _random_pixels(low, high, evenly).tolist() == [[3, 3], [4, 3], [5, 20], [6, 20]]


def test_that_patches_of_photographs_have_contrast():
    data = generators.rectangles_images(300, 0, seed=1)
    assert 0 <= data.train.min() < data.train.max() <= 1
    assert 0.3 < data.train_labels.mean() < 0.7
    assert "CC BY 2.0" in data.licence
    layers = _grey_layers()
    assert len(layers) == 6
    grey = np.asarray(Image.fromarray(load_sample_images().images[0]).convert("L"))
    np.testing.assert_allclose(layers[0] * 255, grey, atol=1)
    assert _draw_pairs(500, layers, np.random.default_rng(0)).std(axis=(2, 3)).min() >= 0.05


def test_that_the_two_patches_of_an_image_are_near_each_other():
    """If each pixel has its index as value, the smallest value of a patch is the index of its corner."""
    layer = np.arange(600 * 500, dtype=np.float32).reshape(600, 500)
    row, column = np.divmod(_draw_pairs(4000, [layer], np.random.default_rng(0)).min(axis=(2, 3)), 500)
    for corner, places in ((row, 573), (column, 473)):
        distance = corner[1] - corner[0]
        assert (distance.min(), distance.max()) == (-140, 140)
        inner = (corner[0] >= 140) & (corner[0] < places - 140)
        counts = np.histogram(distance[inner], bins=[*range(-140, 122, 20), 141])[0]
        assert abs(chi_square(counts, np.array([20] * 13 + [21]))) < 4


def test_that_patches_are_drawn_everywhere_and_flipped_both_ways():
    down, across = np.mgrid[:29, :30].astype(np.float32)
    layer = down / 40 + across / 4000  # increases downwards, and a little to the right
    patches = _draw_pairs(200, [layer], np.random.default_rng(0)).reshape(400, 28, 28)
    downwards, rightwards = patches[:, 1, 0] > patches[:, 0, 0], patches[:, 0, 1] > patches[:, 0, 0]
    assert len(set(zip(downwards.tolist(), rightwards.tolist(), strict=True))) == 4
    firsts = patches[downwards & rightwards][:, 0, 0].astype(float) * 40
    corners = {(round(value), round(value % 1 * 100)) for value in firsts}
    assert corners == {(y, x) for y in (0, 1) for x in (0, 1, 2)}  # all 2 × 3 positions of a patch


def test_that_rectangles_on_images_have_the_stated_sides(monkeypatch):
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


def test_that_digits_are_enlarged_stratified_and_named_a_stand_in():
    data = generators.digits()
    assert (data.train.shape, data.test.shape) == ((1297, 784), (500, 784))
    assert (data.title, data.generated) == ("Digits 8 × 8 enlarged (stand-in for MNIST) (generated)", True)
    assert data.label_names == tuple("0123456789")
    counts = np.bincount(data.test_labels)
    assert np.abs(counts - (counts + np.bincount(data.train_labels)) * 500 / 1797).max() <= 1
    assert data.fingerprint == generators.digits().fingerprint
    small, large = load_digits().images / 16, np.concatenate([data.train, data.test])
    at = np.mgrid[:28, :28] * 2 / 7 - 5 / 14
    linear = [ndimage.map_coordinates(image, at, order=1, mode="nearest").mean() for image in small]
    np.testing.assert_allclose(np.sort(large.mean(1)), np.sort(linear), atol=1e-6)
    assert len(np.unique(large, axis=0)) == len(np.unique(small, axis=0))
