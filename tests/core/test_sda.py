"""Stacked denoising autoencoders: their parts, pre-training and fine-tuning."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import expit, softmax

from slide_gui.core.sda import model
from slide_gui.core.sda import training as sda_training
from slide_gui.core.sda.model import Masks, SdaHistory, SdaParameters
from slide_gui.core.sda.training import BackPropagation, DenoisingDescent, fine_tune, first_layer, pretrain
from slide_gui.progress import Cancelled
from tests.core.svm_data import StopAfter

SMALL = SdaParameters(
    (20, 12), pretraining_epochs=5, pretraining_rate=3e-3, batch_size=16, fine_tuning_rate=0.02, fine_tuning_epochs=30
)
VALUES = arrays(np.float64, (70, 3), elements=st.floats(-30, 30))
TARGETS = arrays(np.float64, (70, 3), elements=st.floats(0, 1))


def bars(n, seed=0, side=6):
    """Return images of one or two full rows (class 0) or columns (class 1), with a few random white pixels."""
    random = np.random.default_rng(seed)
    images = np.zeros((n, side, side), np.float32)
    codes = random.integers(2, size=n)
    for image, code in zip(images, codes, strict=True):
        lit = random.choice(side, random.integers(1, 3), replace=False)
        (image if code == 0 else image.T)[lit] = 1.0
    images[random.random(images.shape) < 0.02] = 1.0
    return images.reshape(n, -1), codes


def _assert_gradient(loss, values, slopes):
    """Compare `gradient` with a five-point formula for the derivative of `loss()` by each entry of `values`."""
    expected, step = np.empty_like(values), 1e-5
    for index in np.ndindex(values.shape):
        before, found = values[index], []
        for k in (-2, -1, 1, 2):
            values[index] = before + k * step
            found.append(loss())
        values[index] = before
        expected[index] = (found[0] - 8 * found[1] + 8 * found[2] - found[3]) / (12 * step)
    assert abs(slopes - expected).max() <= 1e-6 * abs(expected).max()


def _same(one, other):
    for a, b in zip(one.layers, other.layers, strict=True):
        for name in ("weights", "hidden_bias", "visible_bias"):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


# Parts.


@given(VALUES, TARGETS)
def test_that_the_cross_entropy_is_the_sum_of_its_terms(a, x):
    z = a.copy()
    loss = model.sigmoid_cross_entropy(z, x, np.empty_like(a))
    terms = x * np.logaddexp(0.0, -a) + (1 - x) * np.logaddexp(0.0, a)
    assert loss == pytest.approx(terms.sum(), rel=1e-12, abs=1e-9)
    np.testing.assert_allclose(z, expit(a), rtol=0, atol=1e-15)


def test_that_float32_losses_of_saturated_units_are_finite_and_right_and_exponentials_of_the_log_softmax_add_to_1():
    a = np.array([[200.0, -200.0, 40.0, -1e30]], np.float32)
    x = np.array([[1.0, 0.0, 0.5, 1.0]], np.float32)
    assert model.sigmoid_cross_entropy(a.copy(), x, np.empty_like(a)) == pytest.approx(20.0 + 1e30, rel=1e-6)
    model.sigmoid(a)
    np.testing.assert_array_equal(a, [[1.0, 0.0, 1.0, 0.0]])
    a = np.array([[1000.0, 1001.0, 999.0], [-2.0, -2.0, -2.0]])
    values = a.copy()
    model.log_softmax(values)
    np.testing.assert_allclose(np.exp(values).sum(axis=1), 1.0, rtol=1e-14)
    np.testing.assert_allclose(np.diff(values, axis=1), np.diff(a, axis=1), rtol=1e-12)


@pytest.mark.parametrize("noise", [0.0, 0.1, 0.25, 0.7])
def test_that_masks_set_the_stated_fraction_to_0_anew_each_time(noise):
    rows = np.full((200, 501), 0.5, np.float32)
    masks, drawn = Masks(noise, np.random.default_rng(1), rows.shape), [np.empty_like(rows) for _ in range(2)]
    for out in drawn:
        masks.apply(rows, out)
        assert set(np.unique(out)) <= {0.0, 0.5}
        for axis, n in enumerate(rows.shape):
            assert abs((out == 0).mean(axis=axis) - noise).max() <= 5 * np.sqrt(noise * (1 - noise) / n)
    assert ((drawn[0] == 0) & (drawn[1] == 0)).mean() == pytest.approx(noise**2, abs=0.01)
    Masks(1 - 1e-9, np.random.default_rng(0), rows.shape).apply(rows[:3], drawn[0][:3])
    np.testing.assert_array_equal(drawn[0][:3], 0.0)


def test_that_a_large_product_is_right_and_can_be_stopped_between_pieces():
    random = np.random.default_rng(0)
    a, b = random.random((40, 2000), dtype=np.float32), random.random((2000, 16000), dtype=np.float32)
    out, listener = np.empty((40, 16000), np.float32), StopAfter()
    model.multiply(a, b, out, listener)
    np.testing.assert_allclose(out, a @ b, rtol=1e-5)
    assert len(listener.fractions) == 2
    with pytest.raises(Cancelled):
        model.multiply(a, b, out, StopAfter(1))


# Pre-training.


def test_that_memory_is_estimated_for_weights_their_gradients_and_the_outputs_of_two_layers():
    assert sda_training.autoencoder_bytes(100, 5, (7, 3, 2), "float64") == 8 * (2 * (35 + 21 + 6) + 100 * (7 + 3))
    assert [sda_training.autoencoder_bytes(100, 5, units) for units in ((), (7, 3))] == [0, 4 * (2 * 56 + 100 * 7)]


def test_that_the_gradient_of_the_reconstruction_loss_agrees_with_central_differences():
    random = np.random.default_rng(0)
    layer = first_layer(7, 5, random, "float64")
    layer.hidden_bias[:], layer.visible_bias[:] = random.normal(size=5), random.normal(size=7)
    descent, x = DenoisingDescent(layer, 4), random.random((3, 7))
    noisy = x * (random.random((3, 7)) > 0.3)

    def loss():
        clean, masked = descent.rows(3)
        clean[:], masked[:] = x, noisy
        return descent.gradient(3, 2.5) * 2.5

    for name in ("weights", "hidden_bias", "visible_bias"):
        loss()
        _assert_gradient(loss, getattr(layer, name), getattr(descent.gradient_of, name).copy())


def test_that_each_layer_learns_from_the_clean_output_of_the_layer_below():
    rows, _ = bars(150)
    sda, seen = pretrain(rows, SMALL), []

    class Spy(DenoisingDescent):
        def step(self, m, rate, progress):
            seen.append((self.clean[:m].copy(), self.rows(m)[1].copy()))
            return super().step(m, rate, progress)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("slide_gui.core.sda.training.DenoisingDescent", Spy)
        _same(pretrain(rows, SMALL), sda)
    hidden, second = sda.layers[0].encode(rows), [(c, m) for c, m in seen if c.shape[1] == 20]
    for epoch in range(5):
        clean = np.vstack([c for c, _ in second[epoch * 10 : epoch * 10 + 10]])
        np.testing.assert_array_equal(np.sort(clean[:, 0]), np.sort(hidden[:, 0]))
    assert np.concatenate([m.ravel() == 0 for _, m in second]).mean() == pytest.approx(0.25, abs=0.02)
    assert not np.array_equal(second[0][1] == 0, second[1][1] == 0)


def test_that_the_same_seed_gives_the_same_bits_and_another_does_not():
    rows, codes = bars(100)
    one = pretrain(rows, SMALL)
    for dtype in ("float64", "uint8"):
        _same(one, pretrain(rows.astype(dtype), SMALL))
    assert not np.array_equal(one.layers[0].weights, pretrain(rows, replace(SMALL, seed=1)).layers[0].weights)
    short = replace(SMALL, fine_tuning_epochs=2)
    first, second = (fine_tune(one, rows, codes, 2, parameters=replace(short, seed=seed)) for seed in (0, 1))
    assert not np.array_equal(first.weights, second.weights)


def test_that_features_are_the_representations_of_all_layers_and_first_layers_those_of_pre_training_only_them():
    sda, many = pretrain(bars(100)[0], SMALL), np.random.default_rng(0).random((5000, 36), dtype=np.float32)
    joined, expected = sda.transform(many), [many]
    for layer in sda.layers:
        expected.append(expit(expected[-1] @ layer.weights.T + layer.hidden_bias))
    assert sda.sizes == (36, 20, 12)
    np.testing.assert_allclose(joined, np.hstack(expected), rtol=2e-5, atol=1e-6)
    rows, _ = bars(100)
    parameters = replace(SMALL, noise=(0.1, 0.4))
    both, one = pretrain(rows, parameters), pretrain(rows, replace(parameters, n_units=(20,), noise=(0.1,)))
    _same(both.first(1), one)
    assert (both.first(1).parameters, both.first(1).history) == (one.parameters, one.history)
    assert both.first(0).layers == ()


def test_that_each_epoch_is_reported_with_all_before_it():
    listener = StopAfter()
    sda = pretrain(bars(100)[0], SMALL, listener)
    assert [len(history.epochs) for history in listener.payloads] == list(range(1, 11))
    assert listener.payloads[-1] == sda.history
    assert [(e.layer, e.epoch) for e in sda.history.epochs] == [(k, e) for k in (1, 2) for e in range(1, 6)]
    assert listener.complete
    steps = np.add.outer(np.arange(5), np.arange(7) * 16 / 100).ravel() / 5  # of 7 mini-batches in each of 5 epochs
    assert np.unique(np.round(listener.fractions, 9)) == pytest.approx([*(0.75 * steps), *(0.75 + 0.25 * steps), 1.0])


@pytest.mark.parametrize(
    ("rows", "change"),
    [
        (bars(1)[0], {}),
        (np.ones((30, 5)), {}),
        (np.full((30, 1), 0.3), {"noise": 0.99}),
        (bars(50)[0], {"pretraining_epochs": 0}),
        (bars(50)[0], {"n_units": ()}),
    ],
)
def test_that_the_smallest_problems_end_in_finite_features(rows, change):
    sda = pretrain(rows, replace(SMALL, **change))
    features = sda.transform(rows)
    assert features.shape == (len(rows), sum(sda.sizes))
    assert np.isfinite(features).all()
    assert all(np.isfinite(epoch.loss) for epoch in sda.history.epochs)
    if change.get("pretraining_epochs") == 0 or change.get("n_units") == ():
        assert sda.history == SdaHistory()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_units": (5, 0)}, "n_units is 0; it must be an integer, 1 or more"),
        ({"noise": 1.0}, "noise is 1.0; it must be at least 0 and below 1"),
        ({"noise": (0.1,)}, "noise has 1 numbers"),
        ({"pretraining_rate": 0.0}, "pretraining_rate is 0.0; it must be a positive number"),
        ({"batch_size": 5000}, "batch_size is 5000; it must be an integer, 1 to 4096"),
    ],
)
def test_that_a_parameter_out_of_range_is_named(change, message):
    with pytest.raises(ValueError, match=message):
        replace(SMALL, **change).checked()


# Fine-tuning.


@pytest.fixture(scope="module")
def sda():
    return pretrain(bars(300)[0], replace(SMALL, pretraining_epochs=3))


def test_that_the_gradient_of_the_likelihood_agrees_with_central_differences():
    random = np.random.default_rng(0)
    weights = [random.normal(size=shape) for shape in ((5, 6), (4, 5), (3, 4))]
    biases = [random.normal(size=size) for size in (5, 4, 3)]
    trainer = BackPropagation(weights, biases, 8)
    x, codes = random.random((7, 6)), random.integers(3, size=7)

    def loss():
        trainer.rows(7)[:] = x
        return trainer.gradient(7, codes, 0.7) * 0.7

    loss()
    slopes = [gradient.copy() for gradient in (*trainer.weight_gradients, *trainer.bias_gradients)]
    for values, slope in zip((*weights, *biases), slopes, strict=True):
        _assert_gradient(loss, values, slope)


def test_that_fine_tuning_classifies_new_rows_and_leaves_the_given_stack_unchanged(sda):
    before = [layer.weights.copy() for layer in sda.layers]
    (X, y), (held, truth), listener = bars(300), bars(2500, seed=1), StopAfter()
    found = fine_tune(sda, X, y, 2, progress=listener)
    scores = found.scores(held)
    assert (scores.argmax(axis=1) != truth).mean() < 0.1
    np.testing.assert_allclose(np.exp(scores).sum(axis=1), 1.0, rtol=1e-5)
    for row in (0, 1023, 1024, 2499):
        np.testing.assert_allclose(found.scores(held[row : row + 1])[0], scores[row], rtol=1e-5)
    assert found.best_epoch == 30
    assert [e.phase for e in found.history.epochs] == ["pre-training"] * 6 + ["fine-tuning"] * 30
    assert found.history.epochs[-1].loss < 0.3 < found.history.epochs[6].loss
    assert [len(history.epochs) for history in listener.payloads] == list(range(7, 37))
    assert listener.fractions == sorted(listener.fractions)
    assert found.sda.history == sda.history
    for earlier, layer, moved in zip(before, sda.layers, found.sda.layers, strict=True):
        np.testing.assert_array_equal(layer.weights, earlier)
        assert abs(moved.weights - earlier).max() > 1e-3
        assert abs(moved.hidden_bias - layer.hidden_bias).max() > 1e-4
        np.testing.assert_array_equal(moved.visible_bias, layer.visible_bias)


def test_that_early_stopping_returns_the_parameters_of_the_best_epoch(sda):
    (X, y), (held, truth) = bars(60), bars(200, seed=1)
    truth = np.where(np.random.default_rng(0).random(200) < 0.2, 1 - truth, truth)
    parameters = replace(SMALL, fine_tuning_rate=0.06, fine_tuning_epochs=300, patience=7)
    found = fine_tune(sda, X, y, 2, (held, truth), parameters)
    epochs = [epoch for epoch in found.history.epochs if epoch.phase == "fine-tuning"]
    assert len(epochs) == found.best_epoch + 7 < 300
    best = epochs[found.best_epoch - 1]
    assert best == min(epochs, key=lambda epoch: (epoch.validation_error, epoch.validation_loss))
    assert best.validation_error < epochs[0].validation_error
    scores = found.scores(held)
    assert (scores.argmax(axis=1) != truth).mean() == best.validation_error
    assert -scores[np.arange(200), truth].mean() == pytest.approx(best.validation_loss, rel=1e-5)
    again = fine_tune(sda, X, y, 2, parameters=replace(parameters, fine_tuning_epochs=found.best_epoch))
    np.testing.assert_array_equal(again.weights, found.weights)
    np.testing.assert_array_equal(again.sda.layers[0].weights, found.sda.layers[0].weights)


@pytest.mark.parametrize("batch_size", [1, 7])
def test_that_a_step_subtracts_the_rate_times_the_gradient_summed_over_the_rows_of_a_mini_batch(batch_size):
    (X, y), units = bars(30), (9,)
    parameters = replace(SMALL, n_units=units, noise=0.0, batch_size=batch_size, dtype="float64", pretraining_epochs=2)
    parameters = replace(parameters, fine_tuning_epochs=2)
    random = np.random.default_rng((0, 1))
    W, b, c = vars(first_layer(36, 9, random, "float64")).values()
    for _ in range(2):
        order = random.permutation(30)
        for start in range(0, 30, batch_size):
            x = X[order[start : start + batch_size]].astype(float)
            h = expit(x @ W.T + b)
            outer = expit(h @ W + c) - x
            inner = outer @ W.T * h * (1 - h)
            W = W - 3e-3 * (inner.T @ x + h.T @ outer)
            b, c = b - 3e-3 * inner.sum(axis=0), c - 3e-3 * outer.sum(axis=0)
    sda = pretrain(X, parameters)
    for found, expected in zip(vars(sda.layers[0]).values(), (W, b, c), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    random, V, a = np.random.default_rng((0, 0)), np.zeros((2, 9)), np.zeros(2)
    for _ in range(2):
        order = random.permutation(30)
        for start in range(0, 30, batch_size):
            rows = order[start : start + batch_size]
            h = expit(X[rows] @ W.T + b)
            outer = softmax(h @ V.T + a, axis=1) - np.eye(2)[y[rows]]
            inner = outer @ V * h * (1 - h)
            V, a = V - 0.02 * outer.T @ h, a - 0.02 * outer.sum(axis=0)
            W, b = W - 0.02 * inner.T @ X[rows], b - 0.02 * inner.sum(axis=0)
    found = fine_tune(sda, X, y, 2)
    for values, expected in ((found.weights, V), (found.bias, a), (found.sda.layers[0].weights, W)):
        np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-12)


def test_that_progress_grows_with_mini_batches_and_with_blocks_of_scored_rows(sda):
    listener = StopAfter()
    fine_tune(sda, *bars(100), 2, parameters=replace(SMALL, fine_tuning_epochs=1, batch_size=25), progress=listener)
    assert sorted(set(listener.fractions)) == [0.0, 0.25, 0.5, 0.75, 1.0]
    wide = pretrain(bars(20)[0], replace(SMALL, n_units=(1000,), pretraining_epochs=1))
    for compute in (fine_tune(wide, *bars(20), 2).scores, wide.transform):
        listener = StopAfter()
        compute(bars(6000)[0], progress=listener)
        assert listener.fractions == [*(np.arange(1024, 6000, 1024) / 6000), 1.0]


@pytest.mark.parametrize("stop_at", [1, 3, 100, 250])
def test_that_a_cancel_stops_in_the_middle_of_an_epoch(sda, stop_at):
    for training in (
        lambda listener: pretrain(bars(100)[0], SMALL, listener),
        lambda listener: fine_tune(sda, *bars(300), 2, progress=listener),
    ):
        listener = StopAfter(stop_at)
        with pytest.raises(Cancelled):
            training(listener)
        assert len(listener.fractions) == stop_at


def test_that_the_smallest_problems_end_in_probabilities():
    X, y = bars(20)
    assert fine_tune(pretrain(X[:1], SMALL), X[:1], y[:1], 2).scores(X[:1]).argmax() == y[0]
    none = fine_tune(pretrain(X, SMALL), X, y, 3, parameters=replace(SMALL, fine_tuning_epochs=0))
    np.testing.assert_allclose(none.scores(X), np.log(1 / 3), rtol=1e-6)
    assert none.best_epoch == 0
    shallow = fine_tune(pretrain(X, replace(SMALL, n_units=())), X, y, 2)
    assert shallow.sda.layers == ()
    assert np.isfinite(shallow.scores(X)).all()
    one_class = fine_tune(pretrain(X, replace(SMALL, n_units=(1,))), X, np.zeros(20, int), 1)
    np.testing.assert_array_equal(one_class.scores(X), 0.0)


def test_that_checked_parameters_are_plain_numbers_and_a_rate_too_large_is_refused(sda):
    with pytest.raises(ValueError, match=r"pre-training of layer 1 diverged in epoch 1 because .* 1e\+38"):
        pretrain(bars(100)[0], replace(SMALL, pretraining_rate=1e38))
    with pytest.raises(ValueError, match=r"fine-tuning diverged in epoch \d because fine_tuning_rate 1e\+38 is too"):
        fine_tune(sda, *bars(20), 2, parameters=replace(SMALL, fine_tuning_rate=1e38))
    checked = SdaParameters([np.int64(3), 4.0], [np.float32(0.5), 0], dtype=np.float64).checked()
    assert checked == checked.checked() == SdaParameters((3, 4), (0.5, 0.0), dtype="float64")
    assert SMALL.noises == (0.25, 0.25)
