from dataclasses import replace

import numpy as np
import pytest

from slide_gui.core.sda.model import TUTORIAL, SdaHistory, SdaParameters
from slide_gui.core.sda.training import DenoisingDescent, first_layer, pretrain
from slide_gui.progress import Cancelled
from tests.core.sda_data import bars, central_difference
from tests.core.svm_data import StopAfter

SMALL = SdaParameters(n_units=(20, 12), pretraining_epochs=5, pretraining_rate=0.05, batch_size=16)


def same(one, other):
    assert len(one.layers) == len(other.layers)
    for a, b in zip(one.layers, other.layers, strict=True):
        for name in ("weights", "hidden_bias", "visible_bias"):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


def test_that_the_gradient_of_the_reconstruction_loss_agrees_with_central_differences():
    random = np.random.default_rng(0)
    layer = first_layer(7, 5, random, "float64")
    layer.hidden_bias[:], layer.visible_bias[:] = random.normal(size=5), random.normal(size=7)
    descent = DenoisingDescent(layer, 4)
    x = random.random((3, 7))
    noisy = x * (random.random((3, 7)) > 0.3)

    def loss():
        clean, masked = descent.rows(3)
        clean[:], masked[:] = x, noisy
        return descent.gradient(3, 2.5) * 2.5

    for name in ("weights", "hidden_bias", "visible_bias"):
        loss()
        found = getattr(descent.gradient_of, name).copy()
        expected = central_difference(loss, getattr(layer, name))
        assert abs(found - expected).max() <= 1e-6 * abs(expected).max()


def test_that_a_step_is_the_rate_times_the_mean_gradient_and_one_matrix_serves_both_ways():
    random = np.random.default_rng(0)
    layer = first_layer(7, 5, random, "float64")
    before = layer.weights.copy()
    x = random.random((4, 7))
    h = 1 / (1 + np.exp(-x @ before.T))
    z = 1 / (1 + np.exp(-h @ before))
    np.testing.assert_allclose(layer.encode(x), h)
    np.testing.assert_allclose(layer.decode(h), z)
    below = ((z - x) @ before.T) * h * (1 - h)
    descent = DenoisingDescent(layer, 4)
    for rows in descent.rows(4):
        rows[:] = x
    descent.step(4, 0.3)
    np.testing.assert_allclose(layer.weights, before - 0.3 * (below.T @ x + h.T @ (z - x)) / 4)
    np.testing.assert_allclose(layer.hidden_bias, -0.3 * below.mean(axis=0))
    np.testing.assert_allclose(layer.visible_bias, -0.3 * (z - x).mean(axis=0))


def test_that_held_out_rows_are_rebuilt_from_masked_ones_better_than_by_the_mean_image():
    (train, _), (held, _) = bars(600), bars(200, seed=1)
    sda = pretrain(train, replace(SMALL, n_units=(40,), pretraining_epochs=40, pretraining_rate=0.1))
    masked = held * (np.random.default_rng(2).random(held.shape) > 0.25)
    rebuilt = sda.layers[0].decode(sda.layers[0].encode(masked.astype("float32")))
    mean = train.mean(axis=0)

    def cross_entropy(z):
        return -(held * np.log(z) + (1 - held) * np.log(1 - z)).sum(axis=1).mean()

    assert cross_entropy(rebuilt) < 0.75 * cross_entropy(mean)
    losses = [epoch.loss for epoch in sda.history.epochs]
    assert losses[-1] == pytest.approx(cross_entropy(rebuilt), rel=0.15)
    assert losses[-1] < losses[0]


def test_that_each_layer_learns_from_the_clean_output_of_the_layer_below():
    rows, _ = bars(150)
    sda = pretrain(rows, SMALL)
    hidden = sda.layers[0].encode(rows)
    seen = []

    class Spy(DenoisingDescent):
        def step(self, m, rate, progress):
            seen.append((self.clean[:m].copy(), self.rows(m)[1].copy()))
            return super().step(m, rate, progress)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("slide_gui.core.sda.training.DenoisingDescent", Spy)
        same(pretrain(rows, SMALL), sda)
    second = [(c, m) for c, m in seen if c.shape[1] == 20]
    for epoch in range(5):
        clean = np.vstack([c for c, _ in second[epoch * 10 : epoch * 10 + 10]])
        np.testing.assert_array_equal(np.sort(clean[:, 0]), np.sort(hidden[:, 0]))
    masked = np.concatenate([m.ravel() == 0 for _, m in second])
    assert masked.mean() == pytest.approx(0.25, abs=0.02)
    assert not np.array_equal(second[0][1] == 0, second[1][1] == 0)


def test_that_the_same_seed_gives_the_same_bits_and_another_does_not():
    rows, _ = bars(100)
    one = pretrain(rows, SMALL)
    same(one, pretrain(rows.astype("float64"), SMALL))
    same(one, pretrain(rows.astype("uint8"), SMALL))
    assert not np.array_equal(one.layers[0].weights, pretrain(rows, replace(SMALL, seed=1)).layers[0].weights)


def test_that_the_first_layers_are_what_pretraining_only_them_gives():
    rows, _ = bars(100)
    parameters = replace(SMALL, noise=(0.1, 0.4))
    both, one = pretrain(rows, parameters), pretrain(rows, replace(parameters, n_units=(20,), noise=(0.1,)))
    same(both.first(1), one)
    assert both.first(1).parameters == one.parameters
    assert both.first(1).history == one.history
    assert both.first(0).layers == ()
    with pytest.raises(ValueError, match="have 2 layers"):
        both.first(3)


def test_that_features_are_the_layers_side_by_side_block_by_block(tmp_path):
    rows, _ = bars(100)
    sda = pretrain(rows, SMALL)
    many = np.random.default_rng(0).random((5000, 36), dtype=np.float32)
    joined = sda.transform(many)
    assert joined.shape == (5000, sum(sda.sizes))
    assert sda.sizes == (36, 20, 12)
    first = 1 / (1 + np.exp(-(many @ sda.layers[0].weights.T + sda.layers[0].hidden_bias)))
    second = 1 / (1 + np.exp(-(first @ sda.layers[1].weights.T + sda.layers[1].hidden_bias)))
    np.testing.assert_allclose(joined, np.hstack([many, first, second]), rtol=2e-5, atol=1e-6)
    for part, columns in zip(sda.representations(many), (many, first, second), strict=True):
        assert part.shape == columns.shape
    many.tofile(tmp_path / "rows.bin")
    mapped = np.memmap(tmp_path / "rows.bin", dtype="float32", mode="r", shape=many.shape)
    out = np.empty_like(joined)
    assert sda.transform(mapped, out=out) is out
    np.testing.assert_array_equal(out, joined)
    with pytest.raises(ValueError, match=r"out is float64 \(2, 2\)"):
        sda.transform(many, out=np.empty((2, 2)))
    with pytest.raises(ValueError, match="35 features"):
        sda.transform(many[:, :35])


def test_that_each_epoch_is_reported_with_all_before_it():
    rows, _ = bars(100)
    listener = StopAfter()
    sda = pretrain(rows, SMALL, listener)
    assert [len(history.epochs) for history in listener.payloads] == list(range(1, 11))
    assert listener.payloads[-1] == sda.history
    assert [(e.layer, e.epoch) for e in sda.history.epochs] == [(k, e) for k in (1, 2) for e in range(1, 6)]
    assert len(sda.history.of("pre-training", 2)) == 5
    assert listener.fractions == sorted(listener.fractions)
    assert listener.fractions[-1] == 1.0
    assert len(listener.fractions) > 10 * 7 * 4


@pytest.mark.parametrize("stop_at", [1, 3, 100, 250])
def test_that_a_cancel_stops_in_the_middle_of_an_epoch(stop_at):
    listener = StopAfter(stop_at)
    with pytest.raises(Cancelled):
        pretrain(bars(100)[0], SMALL, listener)
    assert len(listener.fractions) == stop_at


@pytest.mark.parametrize(
    ("rows", "change"),
    [
        (bars(1)[0], {}),
        (bars(50)[0], {"n_units": (1, 1)}),
        (np.zeros((30, 5)), {}),
        (np.ones((30, 5)), {}),
        (np.full((30, 1), 0.3), {"noise": 0.99}),
        (bars(50)[0], {"pretraining_epochs": 0}),
        (bars(50)[0], {"n_units": ()}),
        (bars(50)[0], {"batch_size": 4096}),
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


@pytest.mark.parametrize("bad", [255.0, -0.01, np.nan, np.inf])
def test_that_a_value_outside_zero_to_one_is_refused_with_its_place(bad):
    rows = bars(5000)[0]
    rows[4500, 7] = bad
    with pytest.raises(ValueError, match="in row 4500, feature 7; cross-entropy needs values from 0 to 1"):
        pretrain(rows, SMALL)


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (4,)])
def test_that_no_rows_and_no_features_are_refused(shape):
    with pytest.raises(ValueError, match="at least 1 sample and 1 feature"):
        pretrain(np.zeros(shape), SMALL)


def test_that_a_rate_that_blows_up_is_named():
    with pytest.raises(
        ValueError, match="pre-training of layer 1 diverged in epoch 1 because pretraining_rate 1e\\+38"
    ):
        pretrain(bars(100)[0], replace(SMALL, pretraining_rate=1e38))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_units": (5, 0)}, "n_units is 0; it must be an integer, 1 or more"),
        ({"noise": 1.0}, "noise is 1.0; it must be at least 0 and below 1"),
        ({"noise": (0.1,)}, "noise has 1 numbers"),
        ({"pretraining_rate": 0.0}, "pretraining_rate is 0.0; it must be a positive number"),
        ({"fine_tuning_rate": np.nan}, "fine_tuning_rate is nan"),
        ({"pretraining_epochs": -1}, "pretraining_epochs is -1"),
        ({"fine_tuning_epochs": 1.5}, "fine_tuning_epochs is 1.5"),
        ({"batch_size": 0}, "batch_size is 0"),
        ({"batch_size": 5000}, "batch_size is 5000; it must be an integer, 1 to 4096"),
        ({"patience": 0}, "patience is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"dtype": "int32"}, "dtype is 'int32'; it must be one of float32, float64"),
    ],
)
def test_that_a_parameter_out_of_range_is_named(change, message):
    with pytest.raises(ValueError, match=message):
        replace(SMALL, **change).checked()


def test_that_checked_parameters_are_plain_numbers():
    odd = SdaParameters(n_units=[np.int64(3), 4.0], noise=[np.float32(0.5), 0], dtype=np.float64)
    checked = odd.checked()
    assert checked == SdaParameters(n_units=(3, 4), noise=(0.5, 0.0), dtype="float64")
    assert checked.checked() == checked
    assert TUTORIAL.checked() == TUTORIAL
    assert SMALL.noises == (0.25, 0.25)
