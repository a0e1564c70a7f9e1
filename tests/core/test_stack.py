from itertools import pairwise

import numpy as np
import pytest

from slide_gui import memory
from slide_gui.core.slide import scatter as scatter_module
from slide_gui.core.slide import stack as stack_module
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.slide.scatter import input_scatter
from slide_gui.core.slide.squashing import SQUASHINGS, squash
from slide_gui.core.slide.stack import fit_stack
from slide_gui.progress import Cancelled, Progress
from tests.core.listings import slide
from tests.core.test_denoiser import blobs


def images(n=400, seed=0):
    random = np.random.default_rng(seed)
    rows = np.zeros((n, 8, 8))
    for image in rows:
        top, left = random.integers(0, 4, 2)
        height, width = random.integers(3, 5, 2)
        image[top : top + height, left : left + width] = 1
    return rows.reshape(n, 64)


@pytest.mark.parametrize("noise", [0.1, 0.3, 0.5, 0.8])
def test_that_the_stack_equals_the_papers_listing_in_float64(noise):
    rows = images()
    expected, representations = slide(rows.T, 1 - noise, 0.5, 4)
    stack = fit_stack(rows, StackParameters(noise=noise, depth=4, dtype="float64"))
    for layer, weights in zip(stack.layers, expected, strict=True):
        np.testing.assert_allclose(layer.weights, weights, atol=1e-10, rtol=0)
    for h, reference in zip(stack.representations(rows), representations, strict=True):
        np.testing.assert_allclose(h, reference.T, atol=1e-10, rtol=0)


def test_that_float32_rows_give_the_same_weights_on_binary_images():
    rows = images(n=5000)
    single = fit_stack(rows.astype("float32"), StackParameters(depth=3))
    double = fit_stack(rows, StackParameters(depth=3, dtype="float64"))
    for a, b in zip(single.layers, double.layers, strict=True):
        np.testing.assert_allclose(a.weights, b.weights, atol=1e-9)


@pytest.mark.parametrize("squashing", ["threshold", "sigmoid", "tanh", "identity"])
@pytest.mark.parametrize("fit_on", ["values", "thresholded"])
def test_that_streamed_scatters_equal_the_slow_way(squashing, fit_on):
    from slide_gui.core.slide.denoiser import denoiser_weights, reconstruction_error
    from tests.core.test_denoiser import scatter_of

    rows = blobs(n=2500)
    parameters = StackParameters(
        noise=0.4, depth=4, threshold=0.3, squashing=squashing, fit_on=fit_on, dtype="float64", batch_size=300
    )
    stack = fit_stack(rows, parameters)
    h = rows
    for layer in stack.layers:
        t = squash(squashing, h, 0.3)
        scatter = scatter_of(h if fit_on == "values" else t)
        weights = denoiser_weights(scatter, 0.4)
        np.testing.assert_allclose(layer.weights, weights, atol=1e-6)
        assert layer.error == pytest.approx(reconstruction_error(scatter, weights, 0.4), abs=1e-9)
        h = t @ layer.weights[:, :-1].T + layer.weights[:, -1]
    np.testing.assert_allclose(stack.representations(rows)[-1], h, atol=1e-9)


@pytest.mark.parametrize("squashing", SQUASHINGS)
@pytest.mark.parametrize("fit_on", ["values", "thresholded"])
@pytest.mark.parametrize("packed", [0, 1 << 20])
def test_that_blocks_of_any_height_give_the_same_stack_and_representations(monkeypatch, squashing, fit_on, packed):
    rows = np.random.default_rng(3).random((203, 12))
    parameters = StackParameters(depth=4, squashing=squashing, fit_on=fit_on, threshold=0.4, dtype="float64")
    whole = fit_stack(rows, parameters)
    monkeypatch.setattr(scatter_module, "_PACKED_LIMIT", packed)
    for module in (scatter_module, stack_module):
        monkeypatch.setattr(module, "rows_per_block", lambda d: 16)  # scatters of 64 rows each, and of 11 in the end
    kept = np.empty((203, 60))
    for stack in (fit_stack(rows, parameters), fit_stack(rows, parameters, out=kept)):
        for layer, expected in zip(stack.layers, whole.layers, strict=True):
            np.testing.assert_allclose(layer.weights, expected.weights, atol=1e-9)
        np.testing.assert_allclose(stack.transform(rows), kept, atol=1e-9)
    h = rows
    for k, layer in enumerate(whole.layers):
        h = squash(squashing, h, 0.4) @ layer.weights[:, :-1].T + layer.weights[:, -1]
        np.testing.assert_allclose(kept[:, (k + 1) * 12 : (k + 2) * 12], h, atol=1e-9)


def test_that_activations_too_many_to_keep_are_recomputed_with_the_same_result(monkeypatch):
    rows = images(n=3000)
    kept = fit_stack(rows, StackParameters(depth=5))
    monkeypatch.setattr("slide_gui.core.slide.scatter._PACKED_LIMIT", 0)
    recomputed = fit_stack(rows, StackParameters(depth=5))
    for a, b in zip(kept.layers, recomputed.layers, strict=True):
        np.testing.assert_array_equal(a.weights, b.weights)


def test_that_a_kept_input_scatter_gives_the_same_stack_at_another_noise():
    rows = images().astype("float32")
    scatter = input_scatter(rows, StackParameters())
    again = fit_stack(rows, StackParameters(noise=0.6), scatter=scatter)
    fresh = fit_stack(rows, StackParameters(noise=0.6))
    for a, b in zip(again.layers, fresh.layers, strict=True):
        np.testing.assert_array_equal(a.weights, b.weights)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("threshold", [0.0, 0.5])
def test_that_a_value_equal_to_the_threshold_is_squashed_to_0(threshold, dtype):
    rows = images().astype(dtype) + np.array(threshold, dtype)  # pixels of value 0 equal the threshold
    stack = fit_stack(rows, StackParameters(depth=2, threshold=threshold, dtype=dtype))
    lit = images().astype(dtype)
    weights = stack.layers[0].weights
    np.testing.assert_allclose(stack.representations(rows)[1], lit @ weights[:, :-1].T + weights[:, -1], atol=1e-5)
    scatter = input_scatter(rows, StackParameters(threshold=threshold, dtype=dtype)).squashed
    np.testing.assert_array_equal(np.diag(scatter)[:-1], lit.sum(axis=0))


def test_that_a_kept_scatter_of_another_threshold_is_not_used():
    rows = blobs(n=300).astype("float32")
    scatter = input_scatter(rows, StackParameters(threshold=0.9))
    other = fit_stack(rows, StackParameters(threshold=0.2), scatter=scatter)
    fresh = fit_stack(rows, StackParameters(threshold=0.2))
    for a, b in zip(other.layers, fresh.layers, strict=True):
        np.testing.assert_array_equal(a.weights, b.weights)


def test_that_the_noise_path_of_every_layer_equals_its_weights():
    stack = fit_stack(images(), StackParameters(depth=3, noise=0.4, dtype="float64"))
    for k, layer in enumerate(stack.layers, start=1):
        np.testing.assert_allclose(stack.noise_path(k).weights(0.4), layer.weights, atol=1e-8)
    with pytest.raises(ValueError, match="layers 1 to 3"):
        stack.noise_path(4)


def test_that_depth_zero_passes_the_rows_through():
    rows = images().astype("float32")
    stack = fit_stack(rows, StackParameters(depth=0))
    assert stack.layers == ()
    np.testing.assert_array_equal(stack.transform(rows), rows)


def test_that_low_survival_dilates_shapes_by_the_stated_amount():
    rows = images().astype("float64")
    stack = fit_stack(rows, StackParameters(noise=0.7, depth=1, dtype="float64"))
    weights = stack.layers[0].weights
    mean = rows.mean(axis=0)
    expected = mean + 0.7 * weights[:, :-1] @ mean
    np.testing.assert_allclose(stack.representations(rows)[1].mean(axis=0), expected, atol=1e-6)


class Recorder(Progress):
    def __init__(self, stop_at=None):
        self.fractions, self.stacks, self.stop_at = [], [], stop_at

    def report(self, fraction, payload=None):
        self.fractions.append(fraction)
        if payload is not None:
            self.stacks.append(payload)
        if self.stop_at is not None and fraction >= self.stop_at:
            raise Cancelled


@pytest.mark.parametrize("depth", [0, 1, 2, 4])
@pytest.mark.parametrize("fit_on", ["values", "thresholded"])
def test_that_progress_never_falls_ends_at_one_and_delivers_every_layer(depth, fit_on):
    recorder = Recorder()
    fit_stack(images(n=2500), StackParameters(depth=depth, fit_on=fit_on), progress=recorder)
    assert recorder.fractions == sorted(recorder.fractions)
    assert recorder.fractions[-1] == pytest.approx(1.0)
    assert [len(stack.layers) for stack in recorder.stacks] == list(range(1, depth + 1))


@pytest.mark.parametrize("stop_at", [0.1, 0.5, 0.9])
def test_that_a_cancel_stops_the_fit(stop_at):
    with pytest.raises(Cancelled):
        fit_stack(images(n=5000), StackParameters(depth=4), progress=Recorder(stop_at))


def test_that_a_fit_can_be_cancelled_after_every_block_of_rows_that_is_passed_on_to_a_further_layer(monkeypatch):
    events, dense_rows = [], scatter_module.dense_rows

    def noted(*args):
        events.append("block")
        return dense_rows(*args)

    class Listening(Progress):
        def report(self, fraction, payload=None):
            events.append("report")

    monkeypatch.setattr(scatter_module, "rows_per_block", lambda d: 16)
    monkeypatch.setattr(scatter_module, "dense_rows", noted)
    fit_stack(images(n=200), StackParameters(depth=3), progress=Listening())
    assert events.count("block") == 13
    assert all("report" in pair for pair in pairwise(events))


def test_that_a_memmap_is_read_in_blocks(tmp_path):
    rows = images(n=3000).astype("float32")
    rows.tofile(tmp_path / "rows.bin")
    mapped = np.memmap(tmp_path / "rows.bin", dtype="float32", mode="r", shape=rows.shape)
    a, b = fit_stack(mapped, StackParameters()), fit_stack(rows, StackParameters())
    for one, other in zip(a.layers, b.layers, strict=True):
        np.testing.assert_array_equal(one.weights, other.weights)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"noise": 1.0}, "noise is"),
        ({"noise": -0.1}, "noise is"),
        ({"noise": float("nan")}, "noise is"),
        ({"depth": -1}, "depth is"),
        ({"depth": 1.5}, "depth is"),
        ({"depth": 10**8}, "depth is 100000000; it must be an integer, 0 to 8"),
        ({"depth": 10**400}, "depth is 10{400}; it must be an integer, 0 to 8"),
        ({"noise": 10**400}, "noise is"),
        ({"threshold": float("inf")}, "threshold is"),
        ({"squashing": "relu"}, "squashing is"),
        ({"fit_on": "both"}, "fit_on is"),
        ({"ridge": -1.0}, "ridge is"),
        ({"dtype": "int8"}, "dtype is"),
        ({"batch_size": 0}, "batch_size is"),
    ],
)
def test_that_a_parameter_out_of_range_is_named(change, message):
    with pytest.raises(ValueError, match=message):
        fit_stack(images(n=10), StackParameters(**change))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_that_a_value_that_is_not_finite_is_named_with_its_place(bad):
    rows = images(n=3000)
    rows[2017, 5] = bad
    with pytest.raises(ValueError, match=r"row 2017, feature 5 is (nan|inf|-inf)"):
        fit_stack(rows, StackParameters())


@pytest.mark.parametrize("shape", [(1, 5), (0, 5), (5, 0)])
def test_that_too_few_rows_or_features_are_refused(shape):
    with pytest.raises(ValueError, match="at least 2 samples and 1 feature"):
        fit_stack(np.zeros(shape), StackParameters())


def test_that_transform_refuses_rows_of_another_width():
    stack = fit_stack(images(n=10), StackParameters(depth=1))
    with pytest.raises(ValueError, match="X has 63 features, but this stack was fitted on 64"):
        stack.transform(np.zeros((3, 63)))


def test_that_the_matrices_of_a_stack_are_made_once_and_are_its_weights():
    rows = images(n=50).astype("float32")
    stack = fit_stack(rows, StackParameters(depth=2))
    first = stack.matrices
    stack.transform(rows)
    assert stack.matrices is first
    for matrix, layer in zip(first, stack.layers, strict=True):
        assert matrix.dtype == np.float32
        np.testing.assert_array_equal(matrix, layer.weights.T.astype("float32"))


def test_that_transform_fills_a_given_array_or_refuses_it():
    rows = images(n=50).astype("float32")
    stack = fit_stack(rows, StackParameters(depth=2))
    out = np.empty((50, 192), np.float32)
    assert stack.transform(rows, out=out) is out
    np.testing.assert_array_equal(out, stack.transform(rows))
    with pytest.raises(ValueError, match=r"it must be float32 \(50, 192\)"):
        stack.transform(rows, out=np.empty((50, 192)))


@pytest.mark.parametrize("squashing", ["threshold", "tanh"])
@pytest.mark.parametrize("fit_on", ["values", "thresholded"])
@pytest.mark.parametrize("depth", [0, 1, 2, 4])
def test_that_a_fit_that_keeps_the_representations_equals_fit_then_transform(squashing, fit_on, depth):
    rows = blobs(n=2500).astype("float32")
    parameters = StackParameters(depth=depth, squashing=squashing, fit_on=fit_on)
    out = np.full((2500, (depth + 1) * 36), np.nan, np.float32)
    together, apart = fit_stack(rows, parameters, out=out), fit_stack(rows, parameters)
    for a, b in zip(together.layers, apart.layers, strict=True):
        np.testing.assert_allclose(a.weights, b.weights, atol=1e-7)
    np.testing.assert_allclose(out, apart.transform(rows), atol=1e-5)


def test_that_a_fit_or_transform_beyond_all_memory_is_refused_before_it_starts():
    class Never(Progress):
        def report(self, fraction, payload=None):
            raise AssertionError

    with pytest.raises(MemoryError, match=r"a fit of 3 layers to 3000000 features needs .* GB of memory, and .* free"):
        fit_stack(np.zeros((2, 3_000_000), "float32"), StackParameters(), progress=Never())
    stack = fit_stack(images(n=10), StackParameters(depth=1))
    many = np.broadcast_to(np.float32(0.0), (10**14, 64))
    with pytest.raises(MemoryError, match="the features of 100000000000000 rows, 1 layers on 64 features, needs"):
        stack.transform(many, progress=Never())
    with pytest.raises(MemoryError, match="transform fewer rows at a time"):
        stack.transform(np.broadcast_to(np.float32(0.0), (3 * 10**16, 64)), progress=Never())


@pytest.mark.parametrize(("n", "size"), [(10**14, r"5\.12e\+07"), (3 * 10**16, r"1\.54e\+10")])
def test_that_features_beyond_all_memory_are_refused_with_their_size_where_nobody_says_what_is_free(
    monkeypatch, n, size
):
    monkeypatch.setattr(memory, "free_memory", lambda: None)
    stack = fit_stack(images(n=10), StackParameters(depth=1))
    with pytest.raises(MemoryError, match=f"needs {size} GB of memory, more than is available; transform fewer rows"):
        stack.transform(np.broadcast_to(np.float32(0.0), (n, 64)))
