import numpy as np
import pytest

from slide_gui.core.svm.kernel import Embedding, Vectors, varying_columns
from slide_gui.core.svm.pairs import ClassRows
from slide_gui.progress import NO_PROGRESS

_COUNTS = (40, 700, 30)  # the middle class has more than one tile


def _rows():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((sum(_COUNTS), 8)).astype(np.float32)
    members = np.split(rng.permutation(len(Z)), np.cumsum(_COUNTS)[:-1])
    embedding = Embedding.of(Z, (5, 3), [2.0, 3.0])
    return members, lambda rows, dtype, progress: embedding(Z, rows, dtype, progress)


def _shared(memory):
    members, embed = _rows()
    return ClassRows(embed, members, np.dtype(np.float32), memory)


def _slow(pair):
    members, embed = _rows()
    rows = np.concatenate([members[code] for code in pair])
    return Vectors(embed(rows, np.dtype(np.float64), NO_PROGRESS)).kernel(np.arange(len(rows)))


@pytest.mark.parametrize("memory", [0, 300_000, 10**8], ids=["nothing kept", "some rows kept", "all kept"])
def test_that_kernel_rows_of_every_pair_are_those_of_its_points_alone(memory):
    shared = _shared(memory)
    for pair in [(0, 1), (0, 2), (1, 2), (0, 1)]:
        source, slow = shared.pair(*pair), _slow(pair)
        n = len(source)
        rows = np.sort(np.random.default_rng(1).choice(n, 25, replace=False))
        np.testing.assert_allclose(source.kernel(rows), slow[rows], atol=3e-6)
        np.testing.assert_allclose(source.kernel(rows, rows), slow[np.ix_(rows, rows)], atol=3e-6)
        np.testing.assert_allclose(source.kernel(rows, rows[3:9]), slow[np.ix_(rows, rows[3:9])], atol=3e-6)
        every = np.arange(n)
        np.testing.assert_allclose(source.kernel(every, every), slow, atol=3e-6)


def test_that_the_first_points_of_each_class_are_taken_and_any_others_too():
    source, slow = _shared(10**8).pair(0, 1), _slow((0, 1))
    for points in (np.r_[0:10, 40:240], np.r_[3:10, 50:90:7]):
        part = source.take(points)
        assert len(part) == len(points)
        rows = np.array([0, 4, len(points) - 1])
        np.testing.assert_allclose(part.kernel(rows), slow[np.ix_(points[rows], points)], atol=3e-6)


def test_that_values_within_a_class_are_computed_once_for_all_its_pairs(monkeypatch):
    from slide_gui.core.svm import pairs as kernel_classes

    made = []
    tiles = kernel_classes.kernel_tiles

    def counted(own, other, *rest):
        made.append((len(own[0]), len(other[0])))
        return tiles(own, other, *rest)

    monkeypatch.setattr(kernel_classes, "kernel_tiles", counted)
    shared = _shared(10**8)
    rows = np.arange(20)
    shared.pair(0, 1).kernel(rows)
    assert (20, 40) in made
    made.clear()
    shared.pair(0, 2).kernel(rows)
    assert (20, 40) not in made
    assert (20, 30) in made


def test_that_exact_rows_are_in_double_precision():
    source = _shared(0).pair(0, 2)
    finer = Vectors(source.exact_rows(np.arange(70)))
    assert finer.dtype == np.float64
    assert source.refined_bytes == finer.data.nbytes
    np.testing.assert_allclose(finer.kernel(np.arange(70)), _slow((0, 2)), atol=1e-14)


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
