import numpy as np
import pytest

from slide_gui.core.svm import kernel as distances_module
from slide_gui.core.svm.kernel import (
    Embedding,
    Gram,
    Vectors,
    block_sizes,
    layer_distances,
    median_distances,
    shares_of,
    widths_from,
)
from tests.core.svm_data import StopAfter


def test_that_groups_that_divide_the_columns_give_equal_blocks():
    assert block_sizes(3920, 5) == (784,) * 5
    assert block_sizes(7, 7) == (1,) * 7
    assert block_sizes(7, None) == (7,)
    assert block_sizes(7, (3, 4)) == (3, 4)


@pytest.mark.parametrize("groups", [0, 2, 8, (3, 3), (4, -1, 4), (0, 7), ()])
def test_that_groups_that_cannot_be_are_refused(groups):
    with pytest.raises(ValueError, match="groups"):
        block_sizes(7, groups)


@pytest.mark.parametrize(("dtype", "accuracy"), [(np.float32, 3e-6), (np.float64, 1e-13)])
def test_that_tiles_equal_the_formula_of_the_kernel(dtype, accuracy):
    rng = np.random.default_rng(0)
    Z, widths = 3.0 + rng.standard_normal((700, 9)), np.array([2.0, 3.0, 1.5])
    exponent = sum(
        np.square(Z[:, None, 3 * t : 3 * t + 3] - Z[None, :, 3 * t : 3 * t + 3]).sum(-1) / widths[t] ** 2
        for t in range(3)
    )
    source = Vectors(Embedding.of(Z, (3, 3, 3), widths)(Z, dtype=dtype))
    rows, columns = np.array([5, 600, 1]), np.array([2, 5, 699, 300])
    np.testing.assert_allclose(source.kernel(np.arange(700)), np.exp(-exponent), atol=accuracy)
    np.testing.assert_allclose(source.kernel(rows, columns), np.exp(-exponent)[np.ix_(rows, columns)], atol=accuracy)
    np.testing.assert_allclose(source.distances(), exponent, atol=50 * accuracy)
    shared = Gram(source.distances(), np.arange(700)[::2], 0.5)
    np.testing.assert_allclose(
        shared.kernel(rows[2:], np.array([3, 7])), np.exp(-0.5 * exponent[np.ix_([2], [6, 14])]), atol=10 * accuracy
    )


@pytest.mark.parametrize("rows_a_tile", [128, 17])
def test_that_layer_distances_equal_the_direct_sums_with_a_zero_diagonal_and_medians_follow(monkeypatch, rows_a_tile):
    monkeypatch.setattr(distances_module, "_DISTANCE_ROWS", rows_a_tile)
    Z = np.random.default_rng(1).standard_normal((40, 6))
    distances = layer_distances(Z, (2, 4))
    direct = np.square(Z[:, None, 2:] - Z[None, :, 2:]).sum(-1)
    np.testing.assert_allclose(distances[1], direct, atol=1e-12)
    assert not distances[:, np.arange(40), np.arange(40)].any()
    np.testing.assert_allclose(distances, distances.transpose(0, 2, 1), atol=1e-12)
    np.testing.assert_allclose(median_distances(Z, (2, 4))[1], np.median(direct[np.triu_indices(40, 1)]))


def test_that_a_constant_layer_has_width_one_and_share_zero():
    Z = np.random.default_rng(1).standard_normal((40, 6))
    Z[:, :2] = 7.0
    medians = median_distances(Z, (2, 4))
    widths = widths_from(medians, 2.0)
    assert widths[0] == 1.0
    assert shares_of(widths, medians).tolist() == [0.0, 1.0]


def test_that_shares_are_parts_of_the_exponent_and_add_up_to_one():
    np.testing.assert_allclose(shares_of([1.0, 2.0], [3.0, 4.0]), [0.75, 0.25])


def test_that_every_tile_is_a_cancel_point():
    source = Vectors(np.zeros((1200, 4), dtype=np.float32))
    listener = StopAfter()
    source.kernel(np.arange(1200), progress=listener)
    assert len(listener.fractions) == 1 + 3  # the rows are copied in one piece


def test_that_a_memory_map_is_embedded_like_an_array(tmp_path):
    Z = np.random.default_rng(2).random((50, 6)).astype(np.float32)
    Z.tofile(tmp_path / "rows")
    mapped = np.memmap(tmp_path / "rows", dtype=np.float32, shape=(50, 6), mode="r")
    np.testing.assert_array_equal(Embedding.of(mapped, (6,), [2.0])(mapped), Embedding.of(Z, (6,), [2.0])(Z))


def test_that_one_row_has_no_median_distance_and_many_equal_rows_have_the_mean():
    assert median_distances(np.ones((1, 6)), (2, 4)).tolist() == [0.0, 0.0]
    Z = np.zeros((10, 2))
    Z[0] = 3.0
    assert median_distances(Z, (1, 1)).tolist() == [9.0 * 9 / 45] * 2


def test_that_medians_are_those_of_a_seeded_thousand_rows():
    Z = np.random.default_rng(0).standard_normal((1200, 3)) * np.linspace(0.0, 2.0, 1200)[:, None]
    rows = np.sort(np.random.default_rng(7).choice(1200, 1000, replace=False))
    np.testing.assert_array_equal(median_distances(Z, (3,), seed=7), median_distances(Z[rows], (3,)))
    assert median_distances(Z, (3,), seed=7) != median_distances(Z, (3,), seed=8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_that_rows_that_differ_by_rounding_only_are_equal(dtype):
    Z = np.full((10, 2), 5.73, dtype)
    Z[:, 1] += dtype(np.finfo(dtype).eps) * np.arange(-5, 5, dtype=dtype)
    assert median_distances(Z, (1, 1)).tolist() == [0.0, 0.0]
    Z[0] += 3
    expected = 9.0 * 9 / 45
    np.testing.assert_allclose(median_distances(Z, (1, 1)), [expected] * 2, rtol=1e-5)
