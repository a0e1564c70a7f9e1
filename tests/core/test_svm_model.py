"""A trained model: its kernel, how widths and C are selected, in which order it is trained, resumes and predicts."""

from dataclasses import replace
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.svm import SVC

from slide_gui.core.sampling import held_out_mask, stratified_subset
from slide_gui.core.svm import kernel as svm_kernel
from slide_gui.core.svm import model as svm_model
from slide_gui.core.svm import selection, training
from slide_gui.core.svm.kernel import ClassVectors, DistanceRows, Embedding, VectorRows
from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.core.svm.selection import C_GRID, choose_widths, fit_svm, median_width_search, tune
from slide_gui.core.svm.training import StepLog, TrainingSet, TrainingStep
from slide_gui.progress import NO_PROGRESS, Cancelled
from tests.core.svm_data import SIZES, WIDTHS, StopAfter, layers, sample, three_classes

Z, CODES = layers(120, noise=1.0)
DATA = TrainingSet(Z, CODES, SIZES)
MEDIAN_WIDTHS = svm_kernel.widths_from(svm_kernel.median_distances(Z, SIZES), 3.0)
SCALES = (0.2, 1.0, 3.0)
TUNING = SvmParameters(SIZES, loss="hinge", tol=1e-5, seed=3)


def _given(**changes):
    return SvmParameters(SIZES, WIDTHS, **{"C": 3.0, **changes})


@pytest.mark.parametrize("data", [layers, three_classes])
def test_that_margins_equal_the_formula_in_blocks_of_any_size_and_scores_follow(data, monkeypatch):
    rows, codes = data(300)
    model = fit_svm(rows[:150], codes[:150], _given())
    scales = np.repeat(WIDTHS, SIZES)
    support = model.vectors.astype(np.float64) + model.embedding.centre / scales
    kernel = np.exp(-np.square((rows / scales)[:, None] - support[None]).sum(-1))
    expected = kernel @ model.trained.coefficients.T + model.trained.biases
    np.testing.assert_allclose(model.margins(rows), expected, atol=1e-4)
    if data is layers:
        np.testing.assert_array_equal(model.predict(rows), model.scores(rows) > 0.0)
    else:
        np.testing.assert_array_equal(model.predict(rows), model.scores(rows).argmax(axis=1))
    monkeypatch.setattr(svm_model, "_BLOCK_VALUES", 1)  # blocks of 64 rows
    listener = StopAfter()
    np.testing.assert_allclose(model.margins(rows, progress=listener), expected, atol=1e-4)
    assert listener.complete
    assert len(set(listener.fractions)) >= 5
    with pytest.raises(Cancelled):
        model.margins(rows, progress=StopAfter(3))


def test_that_the_model_stores_its_support_vectors_in_the_precision_that_they_need(monkeypatch):
    rows, codes = layers(1100, noise=1.5)  # up to 1 024 rows are trained in float64
    wide = SvmParameters(SIZES, (40.0, 30.0, 50.0), loss="hinge", C=1e4)
    small, large = fit_svm(rows, codes, _given(loss="hinge", C=1.0)), fit_svm(rows, codes, wide)
    assert np.linalg.norm(small.trained.coefficients) < 1000.0 < np.linalg.norm(large.trained.coefficients)
    assert (small.vectors.dtype, large.vectors.dtype) == (np.float32, np.float64)
    for model in (small, large):
        np.testing.assert_array_equal(model.vectors, model.embedding(rows, model.trained.support, model.vectors.dtype))
        assert np.all(np.diff(model.trained.support) > 0)
        assert np.all(model.trained.coefficients.any(axis=0))
    fine = fit_svm(rows[:150], codes[:150], _given())
    monkeypatch.setattr(training, "_SMALL", 150)
    again = fit_svm(rows[:150], codes[:150], _given())
    assert again.vectors.dtype == np.float64
    np.testing.assert_array_equal(again.trained.coefficients, fine.trained.coefficients)


def test_that_all_pairs_share_the_progress():
    rows, codes = three_classes(90)
    listener = StopAfter()
    found = fit_svm(rows, codes, _given(C=10.0), progress=listener)
    assert found.trained.gap < 1e-3
    assert found.trained.converged
    assert not fit_svm(rows, codes, _given(max_iter=3)).trained.converged
    steps = [step for step in listener.payloads if isinstance(step, TrainingStep)]
    assert {(step.pair, step.n_pairs) for step in steps} == {(0, 3), (1, 3), (2, 3)}


def test_that_a_model_of_the_same_rows_starts_the_next_training_and_one_of_other_rows_does_not():
    parameters = _given(C=10.0, loss="hinge")
    cold = fit_svm(Z, CODES, parameters)
    warm = fit_svm(Z, CODES, parameters, start=cold.trained)
    assert warm.steps < cold.steps / 10
    np.testing.assert_allclose(warm.margins(Z), cold.margins(Z), atol=2e-3)
    few, (rows, codes) = fit_svm(Z[:60], CODES[:60], parameters), three_classes(60)
    later = few.trained.support + 60 - few.trained.support[-1]  # the last one is the row after all 60 rows
    for other in (replace(few.trained, support=later), fit_svm(rows, codes, parameters).trained):
        found = fit_svm(Z[:60], CODES[:60], parameters, start=other)
        assert found.steps == few.steps
        np.testing.assert_array_equal(found.trained.coefficients, few.trained.coefficients)


def test_that_one_class_a_class_of_one_row_a_subset_of_one_row_and_too_little_memory_are_refused():
    with pytest.raises(ValueError, match="all rows belong to one class"):
        fit_svm(Z, np.zeros(120, dtype=int), SvmParameters(SIZES))
    with pytest.raises(ValueError, match=r"a class has only 1 of the 5 training rows.*; use another split"):
        median_width_search(TrainingSet(Z[:5], np.array([0, 0, 1, 0, 0]), SIZES), SvmParameters(SIZES))
    with pytest.raises(ValueError, match="subset_size is 1"):
        fit_svm(Z, CODES, SvmParameters(SIZES, subset_size=1))
    fit_svm(Z[:4], np.array([0, 1, 0, 1]), SvmParameters(SIZES, subset_size=2, starts=1))
    with pytest.raises(MemoryError, match=r"needs at least 0\.0002496 GB in addition .* limit of 0\.000249599 GB"):
        fit_svm(Z[:100], CODES[:100], _given(memory=249_599))
    fit_svm(Z[:100], CODES[:100], _given(memory=249_600))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize(
    ("widths", "expected", "scales"),
    [(WIDTHS, WIDTHS, (1.0,)), ("median", MEDIAN_WIDTHS, (1.0, 0.3**0.5, 0.1**0.5, 3.0**0.5))],
)
def test_that_C_is_tuned_unless_it_is_given_with_one_scale_for_median_widths(loss, widths, expected, scales):
    parameters = SvmParameters(SIZES, widths, loss=loss, seed=2)
    scale, C = tune(DATA, np.array(expected), scales, C_GRID, parameters)
    found = fit_svm(Z, CODES, parameters)
    assert found.trained.widths == pytest.approx(np.array(expected) * scale)
    assert (found.trained.C, found.trained.history, found.trained.chosen) == (C, (), None)
    given = fit_svm(Z, CODES, SvmParameters(SIZES, widths, loss=loss, C=7.0))
    assert given.trained.widths == pytest.approx(expected)
    assert given.trained.C == 7.0


@pytest.mark.parametrize(("loss", "given"), [("hinge", None), ("squared_hinge", None), ("hinge", 7.0)])
@pytest.mark.parametrize(("subset_size", "retune"), [(60, True), (60, False), (2500, True)])
def test_that_learned_widths_are_tuned_on_enough_rows_outside_the_sample_if_wanted(loss, given, subset_size, retune):
    parameters = SvmParameters(SIZES, criterion="span", loss=loss, C=given, subset_size=subset_size, starts=1, seed=2)
    parameters = replace(parameters, retune=retune)
    chosen = choose_widths(DATA, sample(Z, CODES, **vars(parameters)), parameters)
    scale, C = 1.0, chosen.C
    if subset_size == 60 and retune:
        Cs = (given,) if given else tuple(chosen.C * factor for factor in (1.0, 0.3, 3.0))
        seen = stratified_subset(CODES, 60, 2)
        scale, C = tune(DATA, chosen.widths, (1.0, 0.5**0.5, 2.0**0.5), Cs, parameters, learned_on=seen)
    found = fit_svm(Z, CODES, parameters)
    assert found.trained.widths == pytest.approx(chosen.widths * scale, rel=1e-9)
    assert pytest.approx(C, rel=1e-9) == found.trained.C
    assert (found.trained.history, found.trained.chosen) == (chosen.history, chosen.chosen)


def _errors(rows, codes, fitted, evaluated):
    """Return the errors of libsvm at each point of the grid, in order."""
    counts = {}
    for scale in SCALES:
        scaled = rows / np.repeat(np.array(WIDTHS) * scale, SIZES)
        for C in C_GRID:
            svc = SVC(gamma=1.0, C=C, tol=1e-6).fit(scaled[fitted], codes[fitted])
            counts[scale, C] = int(np.sum(svc.predict(scaled[evaluated]) != codes[evaluated]))
    return counts


@pytest.mark.parametrize(("data", "n", "more"), [(layers, 300, {"noise": 1.5}), (three_classes, 200, {"seed": 8})])
@pytest.mark.parametrize("some_seen", [False, True])
def test_that_the_point_with_fewest_errors_on_unseen_rows_is_selected_and_the_first_in_a_tie(data, n, more, some_seen):
    rows, codes = data(n, **more)
    seen = np.arange(0, n, 2) if some_seen else None
    held_out = held_out_mask(codes, TUNING.seed, None if seen is None else ~np.isin(np.arange(n), seen))
    counts = _errors(rows, codes, ~held_out, held_out)
    best = min(counts, key=counts.__getitem__)  # the first one in a tie
    found = tune(TrainingSet(rows, codes, SIZES), np.array(WIDTHS), SCALES, C_GRID, TUNING, learned_on=seen)
    assert found == best


def test_that_a_single_point_or_too_few_rows_need_no_training():
    listener = StopAfter()
    assert tune(DATA, np.array(WIDTHS), (2.0,), (5.0,), TUNING, listener) == (2.0, 5.0)
    two = TrainingSet(Z[:2], np.array([0, 1]), SIZES)
    assert tune(two, np.array(WIDTHS), SCALES, C_GRID, TUNING, listener) == (0.2, 1.0)
    assert not listener.fractions


@pytest.mark.parametrize(
    ("changes", "n_bytes", "learning", "tuning"),
    [
        ({"widths": WIDTHS, "C": 2.0}, 840_800, 0, 0),
        ({"widths": "median", "C": 2.0, "memory": 430_000}, 1_858_576, 0, 0),
        ({"widths": "median"}, 1_066_112, 0, 16 * 0.8 * 100**2),
        ({"widths": WIDTHS, "retune_rows": 80}, 857_188, 0, 4 * 0.8 * 80**2),
        ({"subset_size": 80, "retune_rows": 80}, 857_188, 20 * 2 * 80**2, 9 * 0.8 * 80**2),
        ({"subset_size": 80, "retune_rows": 50, "C": 2.0}, 840_800, 20 * 2 * 80**2, 3 * 0.8 * 50**2),
        ({"subset_size": 81}, 840_800, 20 * 2 * 81**2, 0),
        ({"subset_size": 80, "retune": False}, 840_800, 20 * 2 * 80**2, 0),
    ],
)
def test_that_estimates_count_the_rows_on_which_C_and_a_scale_are_selected(changes, n_bytes, learning, tuning):
    parameters = SvmParameters(**changes)
    assert selection.training_bytes([30, 50, 20], 1000, parameters) == n_bytes
    fixed = [replace(parameters, C=2.0, retune=False, memory=memory) for memory in (100, 10**9)]
    assert [selection.training_bytes([30, 50], 1000, each) for each in fixed] == [1_688_576, 665_600]
    assert selection.training_bytes([2] * 300, 1, fixed[0]) == 2 * 4 * 600 + 8 * 600 * (300 * 299 // 2)
    shares = learning / max(learning + tuning, 1), (learning + tuning) / (learning + tuning + 0.4 * 100**2)
    assert selection._shares(100, 8, parameters) == pytest.approx(shares)


@pytest.mark.parametrize(("groups", "sizes"), [(5, (7,) * 5), (35, (1,) * 35), (None, (35,)), ((34, 1), (34, 1))])
def test_that_groups_divide_the_columns_into_blocks(groups, sizes):
    assert svm_kernel.block_sizes(35, groups) == sizes


@pytest.mark.parametrize("groups", [0, 2, 8, (3, 3), (4, -1, 4), (0, 7), ()])
def test_that_groups_that_do_not_fit_the_columns_are_refused(groups):
    with pytest.raises(ValueError, match="groups"):
        svm_kernel.block_sizes(7, groups)


@pytest.mark.parametrize(("dtype", "accuracy"), [(np.float32, 3e-6), (np.float64, 1e-13)])
def test_that_kernel_values_and_distances_equal_their_formulas(dtype, accuracy):
    Z, widths = 3.0 + np.random.default_rng(0).standard_normal((700, 9)), np.array([2.0, 3.0, 1.5])
    scaled = Z / widths.repeat(3)
    exponent = np.square(scaled[:, None] - scaled[None]).sum(-1)
    vectors = Embedding.of(Z, (3, 3, 3), widths)(Z, dtype=dtype)
    np.testing.assert_allclose(VectorRows.of(vectors).kernel(np.arange(700)), np.exp(-exponent), atol=accuracy)
    distances, rows, columns = svm_kernel.vector_distances(vectors, dtype), np.array([1, 5]), np.array([3, 7])
    np.testing.assert_allclose(distances, exponent, atol=50 * accuracy)
    assert not distances.diagonal().any()
    part = DistanceRows(distances, np.arange(700), 0.5).take(np.arange(0, 700, 2))
    expected = np.exp(-0.5 * exponent[np.ix_(2 * rows, 2 * columns)])
    np.testing.assert_allclose(part.kernel(rows, columns), expected, atol=10 * accuracy)


def _embedded():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((770, 8)).astype(np.float32)
    members = np.split(rng.permutation(770), [40, 740])  # the middle class has more than one tile
    embedding = Embedding.of(Z, (5, 3), [2.0, 3.0])
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
    tiles, computed = svm_kernel.kernel_tiles, []
    monkeypatch.setattr(
        svm_kernel, "kernel_tiles", lambda a, b, *rest: computed.append((len(a[0]), len(b[0]))) or tiles(a, b, *rest)
    )
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


def test_that_exact_rows_are_in_double_precision_and_every_tile_is_a_cancel_point():
    classes = _classes(0)
    source = VectorRows([classes[0], classes[2]])
    exact = source.exact_rows(np.arange(70), NO_PROGRESS)
    assert (exact.dtype, exact.nbytes) == (np.float64, source.refined_bytes)
    np.testing.assert_allclose(VectorRows.of(exact).kernel(np.arange(70)), _slow((0, 2)), atol=1e-14)
    listener, every = StopAfter(), np.arange(1200)
    VectorRows.of(np.zeros((1200, 4), dtype=np.float32)).kernel(every, every, progress=listener)
    svm_kernel.layer_distances(np.zeros((200, 4)), (1, 3), listener)
    assert listener.fractions == [0.0] * (6 + 2 * (1 + 2))


def test_that_columns_in_which_all_rows_are_equal_are_left_out_of_the_products():
    Z = np.random.default_rng(0).random((5000, 6)).astype(np.float32)
    Z[:, 1] = 0.3
    Z[:, 4] = 0.0
    Z[4999, 4] = 1.0  # column 4 varies only in the last block
    assert svm_kernel.varying_columns(Z).tolist() == [0, 2, 3, 4, 5]
    embedded = Embedding.of(Z, (6,), [0.7])(Z)
    assert not embedded[:, 1].any()
    chosen = Embedding.of(Z, (6,), [0.7])(Z, np.arange(10), columns=np.array([0, 2]))
    np.testing.assert_array_equal(chosen, embedded[:10, [0, 2]])


@pytest.mark.parametrize("rows_per_tile", [128, 17])
def test_that_layer_distances_equal_the_direct_sums_and_medians_follow(monkeypatch, rows_per_tile):
    monkeypatch.setattr(svm_kernel, "_DISTANCE_ROWS", rows_per_tile)
    Z = np.tile(np.random.default_rng(1).standard_normal((20, 6)), (2, 1))
    distances = svm_kernel.layer_distances(Z, (2, 4))
    direct = np.square(Z[:, None, 2:] - Z[None, :, 2:]).sum(-1)
    np.testing.assert_allclose(distances[1], direct, atol=1e-12)
    assert not distances[:, np.arange(40), np.arange(40)].any()
    assert distances.min() == 0.0
    np.testing.assert_allclose(svm_kernel.median_distances(Z, (2, 4))[1], np.median(direct[np.triu_indices(40, 1)]))


@pytest.mark.parametrize("n_rows", [40, 41])
def test_that_embeddings_are_centred_on_the_median_of_each_column(n_rows):
    Z = np.random.default_rng(0).standard_normal((n_rows, 6)).astype(np.float32)
    np.testing.assert_array_equal(Embedding.of(Z, (6,), [1.0]).centre, np.median(Z.astype(np.float64), axis=0))


def test_that_medians_are_those_of_a_seeded_thousand_rows():
    Z = np.random.default_rng(0).standard_normal((1200, 3)) * np.linspace(0.0, 2.0, 1200)[:, None]
    rows = np.sort(np.random.default_rng(7).choice(1200, 1000, replace=False))
    drawn = svm_kernel.median_distances(Z, (3,), seed=7)
    np.testing.assert_array_equal(drawn, svm_kernel.median_distances(Z[rows], (3,)))
    assert drawn != svm_kernel.median_distances(Z, (3,), seed=8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_that_rows_that_differ_only_by_rounding_are_equal_and_of_many_equal_rows_the_mean_counts(dtype):
    Z = np.full((10, 2), 5.73, dtype)
    Z[:, 1] += dtype(np.finfo(dtype).eps) * np.arange(-5, 5, dtype=dtype)
    assert svm_kernel.median_distances(Z, (1, 1)).tolist() == [0.0, 0.0]
    Z[0] += 3
    np.testing.assert_allclose(svm_kernel.median_distances(Z, (1, 1)), [9.0 * 9 / 45] * 2, rtol=1e-5)
    assert svm_kernel.median_distances(Z[:1], (1, 1)).tolist() == [0.0, 0.0]


def test_that_rows_near_an_outlier_have_the_margins_of_the_formula_and_norms_that_overflow_the_rounding_bound_1():
    rows = Z.astype(np.float64)
    rows[:, 3] = np.where(np.arange(120) == 7, 1.23e9, 0.0)
    model = fit_svm(rows, CODES, _given())
    rows[:, 3] = 1.23e9
    squares = np.square((rows[:, None] - rows[model.trained.support]) / np.repeat(WIDTHS, SIZES)).sum(-1)
    kernel = np.where(model.trained.support == 7, np.exp(-squares), 0.0)
    expected = kernel @ model.trained.coefficients.T + model.trained.biases
    np.testing.assert_allclose(model.margins(rows), expected, atol=1e-9)
    for squares, bound in (([4, 0, 1, 1e12], 8 / np.e), ([0.4, 0.1], 1), ([1e9, 1e9], 2**23), ([0, np.inf], 2**23)):
        assert svm_kernel.kernel_rounding(np.array(squares, np.float32)) == pytest.approx(bound * 2.0**-23, rel=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_that_an_outlier_and_many_equal_rows_do_not_make_the_distances_between_other_rows_inaccurate(dtype):
    Z = np.random.default_rng(0).standard_normal((200, 50)).astype(dtype)
    alone, median = svm_kernel.layer_distances(Z[1:], (50,)), svm_kernel.median_distances(Z[1:], (50,))
    for outlier in (1e8, 1e13):
        Z[0, 3] = outlier
        np.testing.assert_allclose(svm_kernel.layer_distances(Z, (50,))[:, 1:, 1:], alone, rtol=1e-6)
        np.testing.assert_allclose(svm_kernel.median_distances(Z, (50,)), median, rtol=0.01)
    Z[:170] = Z[170]
    mean = svm_kernel.layer_distances(Z, (50,)).sum() / (200 * 199)
    np.testing.assert_allclose(svm_kernel.median_distances(Z, (50,)), mean, rtol=1e-6)


def test_that_shares_are_fractions_of_the_exponent_at_the_medians_and_a_constant_layer_has_width_one_and_share_zero():
    np.testing.assert_allclose(svm_kernel.shares_of([1.0, 2.0], [3.0, 4.0]), [0.75, 0.25])
    widths = svm_kernel.widths_from([0.0, 2.0], 2.0)
    assert widths.tolist() == [1.0, 2.0]
    assert svm_kernel.shares_of(widths, [0.0, 2.0]).tolist() == [0.0, 1.0]
    parts = svm_kernel.median_distances(Z, SIZES) / np.square(WIDTHS)
    assert fit_svm(Z, CODES, _given()).trained.shares == pytest.approx(parts / parts.sum())


def test_that_a_rewound_log_returns_its_results_and_times_and_computes_the_next_step(monkeypatch):
    monkeypatch.setattr(training, "time", SimpleNamespace(perf_counter=count().__next__))
    log, state = StepLog(), {"start": 0}

    def double():
        state["start"] = 2 * state["start"] + 1
        return state["start"]

    assert [log.step(double, state) for _ in range(3)] == [1, 3, 7]
    assert log.rewind() == 3
    state["start"] = 0  # a new training begins with the state of the first one
    assert [log.step(double, state) for _ in range(3)] == [1, 3, 7]
    assert state == {"start": 7}
    with pytest.raises(ZeroDivisionError):
        log.step(lambda: 1 / 0)
    assert log.step(double, state) == 15, "a step that fails is not logged"
    assert len(log.results) == 4


def rows(n, n_classes):
    """Return two blocks of three columns, with overlapping classes."""
    codes = np.arange(n) % n_classes
    return (np.random.default_rng(3).normal(size=(n, 6)) + 0.8 * codes[:, None]).astype(np.float32), codes


KINDS = {
    "learned, compared on folds": (90, 3, {}),
    "learned on a subset, compared on other rows and tuned": (150, 2, {"subset_size": 60}),
    "median": (90, 3, {"widths": "median"}),
    "hinge loss": (90, 2, {"loss": "hinge"}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_that_a_training_cancelled_twice_gives_the_same_bits_as_an_uninterrupted_one(kind):
    n, n_classes, changes = KINDS[kind]
    Z, codes = rows(n, n_classes)
    parameters, counter, log = SvmParameters(groups=2, starts=1, **changes), StopAfter(), StepLog()
    whole = fit_svm(Z, codes, parameters, progress=counter).trained
    steps = np.diff([0.0, *counter.fractions, 1.0])
    assert 0.0 <= steps.min() <= steps.max() < 0.1
    for share in (0.3, 0.5):
        before = len(log.results)
        log.rewind()
        with pytest.raises(Cancelled):
            fit_svm(Z, codes, parameters, progress=StopAfter(int(share * len(counter.fractions))), log=log)
        assert len(log.results) > before
    log.rewind()
    again = StopAfter()
    continued = fit_svm(Z, codes, parameters, progress=again, log=log).trained
    assert len(again.fractions) < 0.8 * len(counter.fractions)
    np.testing.assert_equal(vars(continued), vars(whole))
