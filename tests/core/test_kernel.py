import numpy as np
import pytest

from slide_gui.core.svm import kernel as svm_kernel
from slide_gui.core.svm.kernel import (
    ClassVectors,
    DistanceRows,
    Embedding,
    VectorRows,
    block_sizes,
    layer_distances,
    median_distances,
    shares_of,
    varying_columns,
    vector_distances,
    widths_from,
)
from slide_gui.progress import NO_PROGRESS
from tests.core.svm_data import StopAfter

COUNTS = (40, 700, 30)  # the middle class has more than one tile


@pytest.mark.parametrize(("groups", "sizes"), [(5, (7,) * 5), (35, (1,) * 35), (None, (35,)), ((30, 5), (30, 5))])
def test_that_groups_divide_the_columns_into_blocks(groups, sizes):
    assert block_sizes(35, groups) == sizes


@pytest.mark.parametrize("groups", [0, 2, 8, (3, 3), (4, -1, 4), (0, 7), ()])
def test_that_groups_that_do_not_fit_the_columns_are_refused(groups):
    with pytest.raises(ValueError, match="groups"):
        block_sizes(7, groups)


@pytest.mark.parametrize(("dtype", "accuracy"), [(np.float32, 3e-6), (np.float64, 1e-13)])
def test_that_kernel_values_and_distances_equal_their_formulas(dtype, accuracy):
    rng = np.random.default_rng(0)
    Z, widths = 3.0 + rng.standard_normal((700, 9)), np.array([2.0, 3.0, 1.5])
    scaled = Z / widths.repeat(3)
    exponent = np.square(scaled[:, None] - scaled[None]).sum(-1)
    vectors = Embedding.of(Z, (3, 3, 3), widths)(Z, dtype=dtype)
    np.testing.assert_allclose(VectorRows.of(vectors).kernel(np.arange(700)), np.exp(-exponent), atol=accuracy)
    distances, rows, columns = vector_distances(vectors, dtype), np.array([1, 5]), np.array([3, 7])
    np.testing.assert_allclose(distances, exponent, atol=50 * accuracy)
    part = DistanceRows(distances, np.arange(700), 0.5).take(np.arange(0, 700, 2))
    expected = np.exp(-0.5 * exponent[np.ix_(2 * rows, 2 * columns)])
    np.testing.assert_allclose(part.kernel(rows, columns), expected, atol=10 * accuracy)


def _embedded():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((sum(COUNTS), 8)).astype(np.float32)
    members, embedding = np.split(rng.permutation(len(Z)), np.cumsum(COUNTS)[:-1]), Embedding.of(Z, (5, 3), [2.0, 3.0])
    return members, lambda rows, dtype: embedding(Z, rows, dtype)


def _classes(memory):
    members, embed = _embedded()

    def vectors(rows):
        exact = lambda points, _progress: embed(rows[points], np.float64)  # noqa: E731
        return ClassVectors(embed(rows, np.float32), memory // 3, exact)

    return [vectors(rows) for rows in members]


def _slow(pair):
    members, embed = _embedded()
    rows = embed(np.concatenate([members[code] for code in pair]), np.float64)
    return np.exp(-np.square(rows[:, None] - rows[None]).sum(-1))


@pytest.mark.parametrize("memory", [0, 300_000, 10**8], ids=["no rows cached", "some rows cached", "all rows cached"])
def test_that_pairs_that_share_classes_have_the_kernel_of_their_points_alone(memory):
    classes = _classes(memory)
    for pair in [(0, 1), (0, 2), (1, 2), (0, 1)]:
        source, slow = VectorRows([classes[code] for code in pair]), _slow(pair)
        n = len(source)
        rows, every = np.sort(np.random.default_rng(1).choice(n, 25, replace=False)), np.arange(n)
        for arguments in ((rows,), (rows, rows), (rows, rows[3:9]), (every, every)):
            expected = slow[np.ix_(arguments[0], arguments[-1] if len(arguments) > 1 else every)]
            np.testing.assert_allclose(source.kernel(*arguments), expected, atol=3e-6)
    for points in (np.r_[0:10, 40:240], np.r_[3:10, 50:90:7]):  # the first points of each class, then others
        part, rows = source.take(points), np.array([0, 4, len(points) - 1])
        np.testing.assert_allclose(part.kernel(rows), slow[np.ix_(points[rows], points)], atol=3e-6)


def test_that_values_within_a_class_are_computed_once_for_all_its_pairs(monkeypatch):
    computed = []
    tiles = svm_kernel.kernel_tiles

    def counted(these, other, *rest):
        computed.append((len(these[0]), len(other[0])))
        return tiles(these, other, *rest)

    monkeypatch.setattr(svm_kernel, "kernel_tiles", counted)
    first, second, third = _classes(10**8)
    VectorRows([first, second]).kernel(np.arange(20))
    assert (40, 40) in computed  # the entire class, because few rows at a time are slower
    computed.clear()
    VectorRows([first, third]).kernel(np.arange(20))
    assert sorted(computed) == [(0, 40), (20, 30)]
    monkeypatch.setattr(svm_kernel, "_AT_ONCE", 29)
    for points, new in ((np.array([40, 45]), 2), (np.array([45, 46]), 1)):
        computed.clear()
        VectorRows([first, third]).kernel(points)
        assert sorted(computed) == [(0, 30), (new, 30), (2, 40)]


def test_that_exact_rows_are_in_double_precision():
    classes = _classes(0)
    source = VectorRows([classes[0], classes[2]])
    exact = source.exact_rows(np.arange(70), NO_PROGRESS)
    assert (exact.dtype, exact.nbytes) == (np.float64, source.refined_bytes)
    np.testing.assert_allclose(VectorRows.of(exact).kernel(np.arange(70)), _slow((0, 2)), atol=1e-14)


def test_that_every_tile_is_a_cancel_point():
    listener = StopAfter()
    VectorRows.of(np.zeros((1200, 4), dtype=np.float32)).kernel(np.arange(1200), progress=listener)
    assert len(listener.fractions) >= 3


def test_that_columns_in_which_all_rows_are_equal_are_left_out_of_the_products():
    Z = np.random.default_rng(0).random((5000, 6)).astype(np.float32)
    Z[:, 1] = 0.3
    Z[:, 4] = 0.0
    Z[4999, 4] = 1.0  # column 4 varies only in the last block
    assert varying_columns(Z).tolist() == [0, 2, 3, 4, 5]
    embedded = Embedding.of(Z, (6,), [0.7])(Z)
    assert not embedded[:, 1].any()
    chosen = Embedding.of(Z, (6,), [0.7])(Z, np.arange(10), columns=np.array([0, 2]))
    np.testing.assert_array_equal(chosen, embedded[:10, [0, 2]])


@pytest.mark.parametrize("rows_per_tile", [128, 17])
def test_that_layer_distances_equal_the_direct_sums_and_medians_follow(monkeypatch, rows_per_tile):
    monkeypatch.setattr(svm_kernel, "_DISTANCE_ROWS", rows_per_tile)
    Z = np.random.default_rng(1).standard_normal((40, 6))
    distances = layer_distances(Z, (2, 4))
    direct = np.square(Z[:, None, 2:] - Z[None, :, 2:]).sum(-1)
    np.testing.assert_allclose(distances[1], direct, atol=1e-12)
    assert not distances[:, np.arange(40), np.arange(40)].any()
    np.testing.assert_allclose(distances, distances.transpose(0, 2, 1), atol=1e-12)
    np.testing.assert_allclose(median_distances(Z, (2, 4))[1], np.median(direct[np.triu_indices(40, 1)]))


@pytest.mark.parametrize("n_rows", [40, 41])
def test_that_embeddings_are_centred_on_the_median_of_each_column(n_rows):
    Z = np.random.default_rng(0).standard_normal((n_rows, 6)).astype(np.float32)
    np.testing.assert_array_equal(Embedding.of(Z, (6,), [1.0]).centre, np.median(Z.astype(np.float64), axis=0))


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
def test_that_rows_that_differ_only_by_rounding_are_equal(dtype):
    Z = np.full((10, 2), 5.73, dtype)
    Z[:, 1] += dtype(np.finfo(dtype).eps) * np.arange(-5, 5, dtype=dtype)
    assert median_distances(Z, (1, 1)).tolist() == [0.0, 0.0]
    Z[0] += 3
    np.testing.assert_allclose(median_distances(Z, (1, 1)), [9.0 * 9 / 45] * 2, rtol=1e-5)


def test_that_shares_are_fractions_of_the_exponent_and_a_constant_layer_has_width_one_and_share_zero():
    np.testing.assert_allclose(shares_of([1.0, 2.0], [3.0, 4.0]), [0.75, 0.25])
    widths = widths_from([0.0, 2.0], 2.0)
    assert widths.tolist() == [1.0, 2.0]
    assert shares_of(widths, [0.0, 2.0]).tolist() == [0.0, 1.0]
