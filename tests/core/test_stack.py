"""SLIDE stacks and their layers: W against its definition, its accuracy, its approximations, and its noise path."""

import itertools
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from slide_gui import memory
from slide_gui.blas import loaded_blas
from slide_gui.core import linear_algebra
from slide_gui.core.slide import activations, approximation
from slide_gui.core.slide import stack as stack_module
from slide_gui.core.slide.approximation import Approximation, Interpolation
from slide_gui.core.slide.denoiser import (
    LEAST_NOISE,
    CorruptedCopies,
    approximate_weights,
    denoiser_weights,
    expected_q,
    reconstruction_error,
)
from slide_gui.core.slide.noise_path import NoisePath
from slide_gui.core.slide.parameters import SQUASHINGS, StackParameters
from slide_gui.core.slide.scatter import input_scatter
from slide_gui.core.slide.stack import fit_stack
from slide_gui.progress import NO_PROGRESS, Cancelled, Listener
from tests.core.listings import slide, solution_error
from tests.core.slide_data import blobs, images, same_layers, scatter_of
from tests.core.svm_data import StopAfter


@pytest.mark.parametrize("noise", [0.0, 0.05, 0.3, 0.5, 0.8, 0.99])
def test_that_the_stack_equals_the_papers_listing_in_float64(noise):
    rows = images()
    expected, representations = slide(rows.T, 1 - noise, 0.5, 4)
    stack = fit_stack(rows, StackParameters(noise=noise, depth=4, dtype="float64"))
    for layer, weights in zip(stack.layers, expected, strict=True):
        np.testing.assert_allclose(layer.weights, weights, atol=1e-10, rtol=0)
    for h, reference in zip(stack.representations(rows), representations, strict=True):
        np.testing.assert_allclose(h, reference.T, atol=1e-10, rtol=0)


@pytest.mark.parametrize("squashing", SQUASHINGS)
@pytest.mark.parametrize("fit_on", ["values", "thresholded"])
@pytest.mark.parametrize(("depth", "packed"), [(0, 0), (1, 0), (2, 0), (4, 0), (4, 1 << 20)])
def test_that_the_stack_of_any_blocks_equals_a_slow_computation(monkeypatch, squashing, fit_on, depth, packed):
    rows = blobs(n=2500)
    parameters = StackParameters(
        noise=0.4, depth=depth, threshold=0.3, squashing=squashing, fit_on=fit_on, dtype="float64", batch_size=300
    )
    filled, h, slow = np.empty((2500, 36 * (depth + 1))), rows, [rows]
    for layer in fit_stack(rows, parameters, out=filled).layers:
        t = parameters.squash(h)
        scatter = scatter_of(h if fit_on == "values" else t)
        weights = denoiser_weights(scatter, 0.4)
        np.testing.assert_allclose(layer.weights, weights, atol=1e-6)
        assert layer.error == pytest.approx(reconstruction_error(scatter, weights, 0.4), abs=1e-9)
        h = t @ layer.weights[:, :-1].T + layer.weights[:, -1]
        slow.append(h)
    np.testing.assert_allclose(filled, np.hstack(slow), atol=1e-9)
    monkeypatch.setattr(activations, "PACKED_LIMIT", packed)
    for module in (activations, stack_module):
        monkeypatch.setattr(module, "rows_per_block", lambda d: 16)  # scatters of 64 rows each, and a last one of 4
    np.testing.assert_allclose(np.hstack(fit_stack(rows, parameters).representations(rows)), filled, atol=1e-6)


@pytest.mark.parametrize("change", [{"noise": 0.6}, {"noise": 0.6, "depth": 1}, {"noise": 0.05}, {"threshold": 0.2}])
def test_that_a_known_input_scatter_gives_the_same_stack(change):
    rows, other, listener = blobs(n=300).astype("float32"), StackParameters(**change), StopAfter()
    scatter = input_scatter(rows, StackParameters())
    assert scatter.fits(other) == (other.noise == 0.6)  # at noise levels below 0.1, sums need float64
    same_layers(fit_stack(rows, other, scatter=scatter, progress=listener), fit_stack(rows, other))
    assert listener.complete


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("threshold", [0.0, 0.5])
def test_that_a_value_equal_to_the_threshold_is_squashed_to_0(threshold, dtype):
    lit = images().astype(dtype)
    rows, parameters = lit + np.array(threshold, dtype), StackParameters(depth=2, threshold=threshold, dtype=dtype)
    stack = fit_stack(rows, parameters)  # pixels of value 0 equal the threshold
    weights = stack.layers[0].weights
    np.testing.assert_allclose(stack.representations(rows)[1], lit @ weights[:, :-1].T + weights[:, -1], atol=1e-5)
    np.testing.assert_array_equal(np.diag(input_scatter(rows, parameters).squashed)[:-1], lit.sum(axis=0))


def test_that_the_noise_path_of_every_layer_equals_its_weights_and_leaves_out_a_dead_pixel_without_a_ridge():
    stack = fit_stack(images(), StackParameters(depth=3, noise=0.4, dtype="float64"))
    for k, layer in enumerate(stack.layers, start=1):
        np.testing.assert_allclose(stack.noise_path(k).weights(0.4), layer.weights, atol=1e-8)
    for outside in (0, 4, 1.5, "1"):
        with pytest.raises(ValueError, match=f"layer is {outside!r}; this stack has 3 layers, numbered from 1"):
            stack.noise_path(outside)
    rows = np.random.default_rng(0).random((200, 6))
    expected = np.insert(denoiser_weights(scatter_of(rows), 0.3, ridge=0.0), 2, 0.0, axis=0)
    found = NoisePath(scatter_of(np.insert(rows, 2, 0.0, axis=1)), ridge=0.0).weights(0.3)
    np.testing.assert_allclose(found, np.insert(expected, 2, 0.0, axis=1), atol=1e-9)


@pytest.mark.parametrize("depth", [0, 1, 2, 4])
@pytest.mark.parametrize("fit_on", ["values", "thresholded"])
def test_that_progress_never_falls_ends_at_one_and_delivers_every_layer(depth, fit_on):
    listener, passes = StopAfter(), max(depth - (2 if fit_on == "values" else 1), 0)
    fit_stack(images(n=2048), StackParameters(depth=depth, fit_on=fit_on, batch_size=1024), progress=listener)
    steps = np.cumsum([0.0, 0.5, 0.5, *[1.7 / 2] * (2 * passes)])  # both blocks of the first pass, then of all others
    assert sorted({0.0, *np.round(listener.fractions, 9)}) == pytest.approx(steps / steps[-1])
    assert listener.complete
    assert [len(stack.layers) for stack in listener.payloads] == list(range(1, depth + 1))


def test_that_a_fit_can_be_cancelled_after_every_block_of_rows(monkeypatch):
    events, dense_rows = [], activations.dense_rows
    monkeypatch.setattr(activations, "rows_per_block", lambda d: 16)
    monkeypatch.setattr(activations, "dense_rows", lambda *args: events.append("block") or dense_rows(*args))
    fit_stack(images(n=200), StackParameters(depth=3), progress=Listener(lambda *_: events.append("report")))
    assert events.count("block") == 13
    assert all("report" in pair for pair in pairwise(events))


@pytest.mark.parametrize("shape", [(1, 5), (0, 5), (5, 0)])
def test_that_too_few_rows_or_features_are_refused(shape):
    with pytest.raises(ValueError, match="at least 2 samples and 1 feature"):
        fit_stack(np.zeros(shape), StackParameters())


def test_that_a_fit_or_transform_beyond_all_memory_is_refused_before_it_starts(monkeypatch):
    assert stack_module.fit_bytes(10, 16, StackParameters(0.09)) == 11 * 8 * 17**2 + 10 * 3 + 4 * 160
    assert stack_module.fit_bytes(10, 16, StackParameters(0.1, 2, dtype="float64")) == 8 * 8 * 17**2 + 8 * 160
    stack = fit_stack(images(n=10), StackParameters(depth=1))
    monkeypatch.setattr(memory, "free_memory", lambda: None)  # as if it were unknown
    for n, size in ((10**14, r"5\.12e\+07"), (3 * 10**16, r"1\.54e\+10")):
        with pytest.raises(MemoryError, match=f"needs {size} GB of memory, more than is available; transform fewer"):
            stack.transform(np.broadcast_to(np.float32(0.0), (n, 64)), progress=StopAfter(1))
    with pytest.raises(MemoryError, match=r"3 layers to 3000000 features needs 7\.2e\+05 GB of memory"):
        fit_stack(np.zeros((2, 3_000_000), "float32"), StackParameters(), progress=StopAfter(1))  # 10 matrices


NOISES = (0.0, 1e-4, 0.01, 0.1, 0.3, 0.9)


def grey(kind, n, d):
    random = np.random.default_rng(0)
    if kind == "rank-deficient":
        return random.random((n, 20)) @ random.random((20, d)) / 20
    if kind == "smooth":  # a sum of waves whose amplitude grows with the wavelength
        waves = np.arange(1, 31)[:, None]
        rows = random.standard_normal((n, 30)) @ (np.cos(np.pi * waves * np.linspace(0, 1, d)) / waves)
        return (rows - rows.min()) / np.ptp(rows)
    rows = random.random((n, d))
    for _ in range(4):  # make each pixel similar to its neighbours
        rows[:, 1:] = 0.5 * rows[:, 1:] + 0.5 * rows[:, :-1]
    return rows


@pytest.mark.parametrize(
    ("n", "d", "kind", "noises"),
    [
        (200, 300, "correlated", NOISES),
        (200, 300, "rank-deficient", NOISES),
        (500, 900, "smooth", (0.0,)),
        (500, 900, "correlated", (0.0, 0.01, 0.9)),
        (500, 900, "rank-deficient", (0.0, 1e-4, 0.3)),
        (300, 1500, "correlated", (0.0, 0.1)),
        (300, 3000, "rank-deficient", (1e-4,)),
    ],
)
def test_that_weights_are_exact_to_1e_8_for_any_noise_and_number_of_features(n, d, kind, noises):
    scatter = scatter_of(grey(kind, n, d))
    some = np.linspace(0, d - 1, 5).astype(int)
    path = NoisePath(scatter) if d < 1500 else None
    deviations = []
    for noise in noises:
        found = [denoiser_weights(scatter, noise, features=some)]
        if d < 1500:
            found += [denoiser_weights(scatter, noise)[some], path.rows(some, noise)]
        weights = np.vstack(found)
        error = solution_error(weights, np.tile(some, len(found)), scatter, 1 - noise)
        relative = np.linalg.norm(error, axis=1) / np.linalg.norm(weights + error, axis=1)
        deviations.append(relative.max())
    assert max(deviations) <= 1e-8


@pytest.mark.parametrize("kind", ["correlated", "rank-deficient"])
def test_that_float32_rows_give_the_listings_weights_in_float64_within_the_stated_bounds(kind):
    rows = grey(kind, 6000, 300).astype("float32")
    exact, some = scatter_of(rows), np.arange(0, 300, 10)
    for noise in (0.0, 0.05, 0.09, 0.1, 0.3, 0.5, 0.9):
        weights = fit_stack(rows, StackParameters(noise=noise, depth=1)).layers[0].weights[some]
        error = solution_error(weights, some, exact, 1 - noise)
        deviation = (np.linalg.norm(error, axis=1) / np.linalg.norm(weights + error, axis=1)).max()
        assert deviation < (4e-5 / noise if noise >= 0.1 else 1e-9 if noise else 1e-5)


def test_that_float32_sums_are_settled_into_float64_after_4096_rows_and_rounding_of_equal_features_is_not_refused():
    rows = np.ones((12_288, 3), "float32")
    rows[:4096] = 4096.0  # the sum of their squares is so large that float32 would lose all other rows
    np.testing.assert_array_equal(input_scatter(rows, StackParameters()).values[:3, :3], 2.0**36 + 8192)
    rows = np.random.default_rng(0).random((3000, 40))
    stack = fit_stack(rows, StackParameters(depth=8, squashing="sigmoid", fit_on="thresholded"))
    assert all(0.0 <= layer.error < 0.1 for layer in stack.layers)


@pytest.mark.parametrize("ridge", [1e-5, 0.5])
@pytest.mark.parametrize("noise", [0.0, 0.02, 0.3, 0.9])
def test_that_expected_q_and_the_error_are_means_over_every_corruption_and_no_map_has_a_smaller_error(noise, ridge):
    rows = np.add(np.random.default_rng(0).random((9, 5)), [0.0, 0.0, 0.0, 0.2, 3.0])
    scatter = scatter_of(rows)
    weights = denoiser_weights(scatter, noise, ridge)

    def expected(weights):
        mean, q = 0.0, np.zeros((6, 6))
        for survives in itertools.product([False, True], repeat=5):
            corrupted = np.column_stack([rows * survives, np.ones(9)])
            probability = np.prod(np.where(survives, 1 - noise, noise))
            mean += probability * np.mean((rows - corrupted @ weights.T) ** 2)
            q += probability * corrupted.T @ corrupted
        np.testing.assert_allclose(q, expected_q(scatter, noise, ridge=0.0), rtol=1e-10)
        return mean

    def penalised(weights):
        return expected(weights) + ridge * np.sum(weights**2) / 45

    assert reconstruction_error(scatter, weights, noise, ridge) == pytest.approx(expected(weights), rel=1e-8, abs=1e-22)
    for step in 1e-3 * np.eye(30).reshape(30, 5, 6):
        assert penalised(weights) < min(penalised(weights + step), penalised(weights - step))


def test_that_little_noise_gives_a_small_nonzero_error():
    scatter = scatter_of(np.random.default_rng(0).random((300, 200)) @ np.eye(200, 400))
    errors = [reconstruction_error(scatter, denoiser_weights(scatter, noise), noise) for noise in (0, 1e-9, 1e-6, 1e-3)]
    assert errors == sorted(errors)
    assert 0.0 < errors[0] < errors[1]
    assert errors[3] / errors[2] == pytest.approx(1000, rel=0.1)


def test_that_the_error_is_accurate_if_the_ridge_is_much_larger_than_the_scatter():
    scatter = scatter_of(1e-6 * np.random.default_rng(0).random((100, 64)))
    squares, sums, bias = np.diag(scatter)[:-1], scatter[-1, :-1], scatter[-1, :-1] / (100 + 10)
    found = reconstruction_error(scatter, denoiser_weights(scatter, 0.999999, 10.0), 0.999999, 10.0)
    assert found == pytest.approx(np.mean(squares - 2 * bias * sums + 100 * bias**2) / 100, rel=1e-9, abs=0.0)


def test_that_bad_parameters_are_refused_by_name_and_a_clearly_negative_error_is_refused():
    dead_feature = r"E\[Q\] is singular because feature \d+ is 0 in every row .* use a ridge above 0"
    not_fitted = r"error is negative \(-0\.078\): the weights were not fitted to .* noise level 0\.3 and ridge 1e-05"
    scatter, rows = scatter_of(blobs(side=3)), np.random.default_rng(0).random((50, 3))
    related = scatter_of(np.column_stack([rows, 2.0 * rows[:, 0]]))
    dead = CorruptedCopies(np.zeros((3, 2)), 0.5, ridge=0.0)
    dead.add()
    for make, words in (
        (lambda: denoiser_weights(scatter, 1.0), r"noise is 1\.0; it must be at least 0 and below 1"),
        (lambda: denoiser_weights(scatter, 0.5, ridge=float("nan")), "ridge is nan"),
        (lambda: denoiser_weights(scatter, 0.5, ridge=0.0), dead_feature),
        (lambda: denoiser_weights(related, 0.0, ridge=0.0), "linear combinations of others: use a larger ridge"),
        (lambda: CorruptedCopies(np.ones((3, 2)), 0.5).weights(), "call add"),
        (dead.weights, dead_feature),
        (lambda: reconstruction_error(related, -denoiser_weights(related, 0.3), 0.3), not_fitted),
    ):
        with pytest.raises(ValueError, match=words):
            make()


def rows_with_rare_pixels(n=300, side=8):
    rows = blobs(n=n, side=side)
    rows[:, 10:14] *= np.random.default_rng(2).random((n, 4)) < 0.02
    rows[:, 15] = 0.0
    rows[7, 15] = 1 / 255
    rows[:, 20] = 0.0
    return rows.astype(np.float32)


def approximate_layers(rows, parameters):
    return Approximation(rows, input_scatter(rows, parameters), None, NO_PROGRESS).layers(parameters)


def errors(layers, stack, scales=(1.0,) * 4):
    """Return the error of each row, scaled by column, relative to its length, for each layer."""
    found = []
    for approximate, exact, scale in zip(layers, stack.layers, scales, strict=True):
        difference, size = ((weights * scale) for weights in (approximate.weights - exact.weights, exact.weights))
        found.append(np.linalg.norm(difference, axis=1) / np.maximum(np.linalg.norm(size, axis=1), 1e-300))
    return found


def _approximate(scatter, *settings, **options):
    weights = np.empty((len(scatter) - 1, len(scatter)), np.float32)
    list(approximate_weights(weights, scatter, *settings, **options))
    return weights


@pytest.mark.parametrize("noise", [LEAST_NOISE, 0.1, 0.3, 0.9, 0.99])
def test_that_a_row_in_float32_has_an_error_of_at_most_1e_3_even_for_rarely_lit_pixels(noise):
    scatter = scatter_of(rows_with_rare_pixels())
    exact = denoiser_weights(scatter, noise)
    found = _approximate(scatter, noise)
    assert (np.linalg.norm(found - exact, axis=1) <= 1e-3 * np.linalg.norm(exact, axis=1)).all()


def test_that_no_matrix_of_float32_is_inverted_in_float64_and_one_that_is_singular_in_float32_is_refused(monkeypatch):
    used, product = set(), linear_algebra.product
    monkeypatch.setattr(linear_algebra, "product", lambda a, b, *c: used.add((a.dtype, b.dtype)) or product(a, b, *c))
    _approximate(scatter_of(np.random.default_rng(0).random((400, 200))), 0.3)
    assert used == {(np.dtype(np.float32),) * 2}
    rows = rows_with_rare_pixels()
    for wrong in (rows, np.column_stack([rows[:, :5], rows[:, :5]])):
        with pytest.raises(np.linalg.LinAlgError):
            _approximate(scatter_of(wrong), 0.0 if wrong is not rows else 0.3, ridge=0.0)


@pytest.mark.parametrize("noise", [LEAST_NOISE, 0.3, 0.9, 0.99])
@pytest.mark.parametrize("changes", [{}, {"squashing": "tanh"}, {"fit_on": "thresholded"}, {"dtype": "float64"}])
def test_that_layers_from_all_rows_have_an_error_of_at_most_1e_2(noise, changes):
    rows, parameters = rows_with_rare_pixels(), StackParameters(depth=4, noise=noise, **changes)
    layers, stack = approximate_layers(rows, parameters), fit_stack(rows, parameters)
    assert max(error.max() for error in errors(layers, stack)) < 1e-2


@pytest.mark.parametrize("changes", [{}, {"fit_on": "thresholded"}, {"squashing": "tanh"}])
def test_that_sampled_rows_give_contributions_to_a_fifth_and_binary_ones_better_than_uniform_rows(monkeypatch, changes):
    rows, parameters = rows_with_rare_pixels(n=8000), StackParameters(depth=4, noise=0.3, **changes)
    stack = fit_stack(rows, parameters)
    rms = [np.sqrt(np.diag(layer.scatter) / len(rows)) for layer in stack.layers]
    monkeypatch.setattr(approximation, "MOST_ROWS", 1000)
    layers = approximate_layers(rows, parameters)
    assert errors(layers, stack)[0].max() < 1e-3
    if parameters.fit_on == "values":
        assert errors(layers, stack)[1].max() < 1e-2  # its scatter is computed from that of all rows
    found = errors(layers, stack, rms)
    assert max(np.median(error) for error in found) < 0.2

    def uniform(rows, scatter, progress):
        return np.random.default_rng(0).choice(len(rows), 1000, replace=False), np.full(1000, len(rows) / 1000)

    monkeypatch.setattr(approximation, "_by_leverage", uniform)
    worse = errors(approximate_layers(rows, parameters), stack, rms)
    assert not parameters.function.binary or np.linalg.norm(found[-1]) < np.linalg.norm(worse[-1])


@pytest.mark.parametrize("changes", [{}, {"squashing": "tanh"}])
def test_that_layers_can_be_interpolated_at_every_noise_level_and_smaller_depth(changes):
    rows, parameters, some = rows_with_rare_pixels(), StackParameters(depth=4, **changes), np.array([3, 9])
    approximation = Approximation(rows, input_scatter(rows, parameters), None, NO_PROGRESS)
    interpolation, started = Interpolation(approximation, parameters), []

    def interrupt(fraction, _):
        started.append(fraction)
        if fraction == 0.5 and started.count(0.5) == 1:
            raise Cancelled

    with pytest.raises(Cancelled):
        interpolation.compute(Listener(interrupt))
    assert not interpolation.is_complete
    assert interpolation.layers(parameters) == ()
    interpolation.compute(Listener(interrupt))
    assert started == sorted(started)  # the layers before the interruption are not computed again
    assert len(started) == 1 + 16 * (4 * 4 + 3 * 2)  # per noise level, 4 for weights, and 2 for each further scatter
    for noise in (LEAST_NOISE, 0.03, 0.35, 0.62, 0.99):
        wanted = replace(parameters, noise=noise, depth=3)
        layers = interpolation.layers(wanted)
        differences = errors(layers, fit_stack(rows, wanted), (1.0,) * 3)
        assert differences[0].max() < 1e-2
        assert np.median(differences[1]) < 2e-2
        found, squares = interpolation.rows(wanted, some)
        assert found == pytest.approx(np.array([layer.weights[some] for layer in layers]), rel=1e-6, abs=1e-5)
        assert squares == pytest.approx(np.array([layer.squares for layer in layers]))
    for changes in ({"noise": 0.0}, {"noise": 0.995}, {"threshold": 0.4}, {"depth": 5}):
        assert interpolation.layers(replace(parameters, **changes)) == ()
        assert interpolation.rows(replace(parameters, **changes), some) is None


@pytest.mark.parametrize(("n", "scale"), [(300, 1.0), (300, 1e-3), (8, 30.0)])
@pytest.mark.parametrize("noise", [0.0, 1e-6, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99])
def test_that_a_row_at_a_new_noise_equals_a_refit_even_for_rarely_lit_pixels(noise, n, scale):
    rows = scale * blobs(n, side=8)
    rows[:, 10:20] *= np.random.default_rng(2).random((n, 10)) < 0.01
    rows[:, 15] = 0.0
    rows[7, 15] = scale / 255
    scatter = scatter_of(rows)
    path = NoisePath(scatter)
    exact = denoiser_weights(scatter, noise)
    errors = np.linalg.norm(path.rows(np.arange(64), noise) - exact, axis=1)
    assert np.all(errors <= 1e-6 * np.linalg.norm(exact, axis=1))
    assert np.linalg.norm(path.weights(noise) - exact) < 1e-7 * np.linalg.norm(exact)


def test_that_the_eigendecomposition_uses_one_thread_and_eliminates_only_rarely_lit_pixels_without_a_refit(monkeypatch):
    decompose, used = np.linalg.eigh, []
    monkeypatch.setattr(np.linalg, "eigh", lambda m: used.append({b.threads for b in loaded_blas()}) or decompose(m))
    with threadpool_limits(2, user_api="blas"):
        before = loaded_blas()
        NoisePath(scatter_of(blobs(n=50, side=4)))
        assert loaded_blas() == before
    assert used == [{1}]
    sizes = []
    monkeypatch.setattr(np.linalg, "eigh", lambda matrix: sizes.append(len(matrix)) or decompose(matrix))
    monkeypatch.setattr("slide_gui.core.slide.noise_path.denoiser_weights", None)
    assert NoisePath(np.diag([0.9, 1.1, 2.0, 300.0])).weights(0.01).shape == (3, 4)
    assert sizes == [2]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (None, "the scatter is a NoneType; it must be a square matrix of d \\+ 1 rows"),
        (np.ones(3), r"the scatter is of shape \(3,\)"),
        (np.ones((3, 4)), r"the scatter is of shape \(3, 4\)"),
        (np.ones((1, 1)), r"the scatter is of shape \(1, 1\)"),
        ([["a"]], "the scatter is a list"),
        (np.full((3, 3), np.nan), "the scatter contains NaN or infinity"),
    ],
)
def test_that_an_invalid_scatter_is_refused(wrong, words):
    with pytest.raises(ValueError, match=words):
        NoisePath(wrong)


def test_that_features_and_noise_out_of_range_are_refused():
    path = NoisePath(scatter_of(blobs()))
    for wrong in ([0.5], "a", None):
        with pytest.raises(ValueError, match="it must contain integers from 0 to 35"):
            path.rows(wrong, 0.3)
    assert path.rows([], 0.3).shape == (0, 37)
    for outside in (36, -1):
        with pytest.raises(IndexError, match="0 to 35"):
            path.rows([outside], 0.3)
    with pytest.raises(ValueError, match="noise is 1"):
        path.rows([0], 1.0)
