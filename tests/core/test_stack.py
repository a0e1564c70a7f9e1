import tracemalloc
from itertools import pairwise

import numpy as np
import pytest

from slide_gui import memory
from slide_gui.core.slide import activations
from slide_gui.core.slide import stack as stack_module
from slide_gui.core.slide.denoiser import denoiser_weights, reconstruction_error
from slide_gui.core.slide.parameters import SQUASHINGS, StackParameters
from slide_gui.core.slide.scatter import input_scatter
from slide_gui.core.slide.stack import fit_stack
from slide_gui.progress import Listener
from tests.core.listings import slide
from tests.core.slide_data import blobs, images, same_layers, scatter_of
from tests.core.svm_data import StopAfter


@pytest.mark.parametrize("noise", [0.1, 0.3, 0.5, 0.8])
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
@pytest.mark.parametrize("packed", [0, 1 << 20])
def test_that_the_stack_of_any_blocks_equals_a_slow_computation(monkeypatch, squashing, fit_on, packed):
    rows = blobs(n=2500)
    parameters = StackParameters(
        noise=0.4, depth=4, threshold=0.3, squashing=squashing, fit_on=fit_on, dtype="float64", batch_size=300
    )
    filled, h, slow = np.empty((2500, 180)), rows, [rows]
    for layer in fit_stack(rows, parameters, out=filled).layers:
        t = parameters.squash(h)
        scatter = scatter_of(h if fit_on == "values" else t)
        weights = denoiser_weights(scatter, 0.4)
        np.testing.assert_allclose(layer.weights, weights, atol=1e-6)
        assert layer.error == pytest.approx(reconstruction_error(scatter, weights, 0.4), abs=1e-9)
        h = t @ layer.weights[:, :-1].T + layer.weights[:, -1]
        slow.append(h)
    np.testing.assert_allclose(filled, np.hstack(slow), atol=1e-9)
    monkeypatch.setattr(activations, "_PACKED_LIMIT", packed)
    for module in (activations, stack_module):
        monkeypatch.setattr(module, "rows_per_block", lambda d: 16)  # scatters of 64 rows each, and a last one of 4
    stack = fit_stack(rows, parameters)
    np.testing.assert_allclose(np.hstack(stack.representations(rows)), filled, atol=1e-6)


@pytest.mark.parametrize("change", [{"noise": 0.6}, {"threshold": 0.2}])  # the second cannot use the scatter
def test_that_a_known_input_scatter_gives_the_same_stack(change):
    rows, other = blobs(n=300).astype("float32"), StackParameters(**change)
    scatter = input_scatter(rows, StackParameters())
    assert scatter.fits(other) == ("noise" in change)
    same_layers(fit_stack(rows, other, scatter=scatter), fit_stack(rows, other))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("threshold", [0.0, 0.5])
def test_that_a_value_equal_to_the_threshold_is_squashed_to_0(threshold, dtype):
    lit = images().astype(dtype)
    rows, parameters = lit + np.array(threshold, dtype), StackParameters(depth=2, threshold=threshold, dtype=dtype)
    stack = fit_stack(rows, parameters)  # pixels of value 0 equal the threshold
    weights = stack.layers[0].weights
    np.testing.assert_allclose(stack.representations(rows)[1], lit @ weights[:, :-1].T + weights[:, -1], atol=1e-5)
    np.testing.assert_array_equal(np.diag(input_scatter(rows, parameters).squashed)[:-1], lit.sum(axis=0))


def test_that_the_noise_path_of_every_layer_equals_its_weights():
    stack = fit_stack(images(), StackParameters(depth=3, noise=0.4, dtype="float64"))
    for k, layer in enumerate(stack.layers, start=1):
        np.testing.assert_allclose(stack.noise_path(k).weights(0.4), layer.weights, atol=1e-8)
    with pytest.raises(ValueError, match="layers 1 to 3"):
        stack.noise_path(4)


def test_that_float32_rounding_of_hardly_varying_features_is_not_refused():
    rows = np.random.default_rng(0).random((3000, 40))
    stack = fit_stack(rows, StackParameters(depth=8, squashing="sigmoid", fit_on="thresholded"))
    assert all(0.0 <= layer.error < 0.1 for layer in stack.layers)


@pytest.mark.parametrize("depth", [0, 1, 2, 4])
@pytest.mark.parametrize("fit_on", ["values", "thresholded"])
def test_that_progress_never_falls_ends_at_one_and_delivers_every_layer(depth, fit_on):
    listener = StopAfter()
    fit_stack(images(n=2500), StackParameters(depth=depth, fit_on=fit_on), progress=listener)
    assert listener.fractions == sorted(listener.fractions)
    assert listener.fractions[-1] == pytest.approx(1.0)
    assert [len(stack.layers) for stack in listener.payloads] == list(range(1, depth + 1))


def test_that_a_fit_can_be_cancelled_after_every_block_of_rows(monkeypatch):
    events, dense_rows = [], activations.dense_rows
    monkeypatch.setattr(activations, "rows_per_block", lambda d: 16)
    monkeypatch.setattr(activations, "dense_rows", lambda *args: events.append("block") or dense_rows(*args))
    fit_stack(images(n=200), StackParameters(depth=3), progress=Listener(lambda *_: events.append("report")))
    assert events.count("block") == 13
    assert all("report" in pair for pair in pairwise(events))


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


def test_that_transform_fills_a_given_array_and_refuses_others():
    rows = images(n=50).astype("float32")
    stack = fit_stack(rows, StackParameters(depth=2))
    out = np.empty((50, 192), np.float32)
    assert stack.transform(rows, out=out) is out
    np.testing.assert_array_equal(out, stack.transform(rows))
    with pytest.raises(ValueError, match=r"it must be float32 \(50, 192\)"):
        stack.transform(rows, out=np.empty((50, 192)))
    with pytest.raises(ValueError, match="X has 63 features, but this stack was fitted on 64"):
        stack.transform(np.zeros((3, 63)))


@pytest.mark.parametrize("squashing", ["threshold", "tanh"])
@pytest.mark.parametrize("fit_on", ["values", "thresholded"])
@pytest.mark.parametrize("depth", [0, 1, 2, 4])
def test_that_a_fit_that_stores_the_representations_equals_fit_then_transform(squashing, fit_on, depth):
    rows = blobs(n=2500).astype("float32")
    parameters = StackParameters(depth=depth, squashing=squashing, fit_on=fit_on)
    out = np.full((2500, (depth + 1) * 36), np.nan, np.float32)
    together, apart = fit_stack(rows, parameters, out=out), fit_stack(rows, parameters)
    for a, b in zip(together.layers, apart.layers, strict=True):
        np.testing.assert_allclose(a.weights, b.weights, atol=1e-7)
    np.testing.assert_allclose(out, apart.transform(rows), atol=1e-5)
    np.testing.assert_array_equal(out[:, :36], rows)


def test_that_a_fit_needs_at_most_six_matrices_beyond_its_layers():
    rows = (np.random.default_rng(0).random((8192, 500)) > 0.5).astype(np.float32)
    parameters = StackParameters(depth=4)
    tracemalloc.start()
    stack = fit_stack(rows, parameters)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    matrices = sum(layer.weights.nbytes + layer.scatter.nbytes for layer in stack.layers)
    assert peak < matrices + 6 * 8 * 501**2


def test_that_a_fit_or_transform_beyond_all_memory_is_refused_before_it_starts(monkeypatch):
    with pytest.raises(MemoryError, match=r"a fit of 3 layers to 3000000 features needs .* GB of memory, and .* free"):
        fit_stack(np.zeros((2, 3_000_000), "float32"), StackParameters(), progress=StopAfter(1))
    stack = fit_stack(images(n=10), StackParameters(depth=1))

    def transform(n):
        stack.transform(np.broadcast_to(np.float32(0.0), (n, 64)), progress=StopAfter(1))

    with pytest.raises(MemoryError, match="the features of 100000000000000 rows, 1 layers on 64 features, needs"):
        transform(10**14)
    monkeypatch.setattr(memory, "free_memory", lambda: None)  # as if it were unknown
    for n, size in ((10**14, r"5\.12e\+07"), (3 * 10**16, r"1\.54e\+10")):
        with pytest.raises(MemoryError, match=f"needs {size} GB of memory, more than is available; transform fewer"):
            transform(n)
