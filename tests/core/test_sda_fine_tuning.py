from dataclasses import replace

import numpy as np
import pytest

from slide_gui.core.sda.model import SdaParameters
from slide_gui.core.sda.training import BackPropagation, fine_tune, pretrain
from slide_gui.progress import Cancelled
from tests.core.sda_data import bars, central_difference
from tests.core.svm_data import StopAfter

SMALL = SdaParameters(
    n_units=(20, 12), pretraining_epochs=3, pretraining_rate=0.05, fine_tuning_rate=0.3, fine_tuning_epochs=30
)


@pytest.fixture(scope="module")
def sda():
    return pretrain(bars(300)[0], SMALL)


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
    found = [g.copy() for g in (*trainer.weight_gradients, *trainer.bias_gradients)]
    for slope, values in zip(found, (*weights, *biases), strict=True):
        expected = central_difference(loss, values)
        assert abs(slope - expected).max() <= 1e-6 * abs(expected).max()


def test_that_fine_tuning_beats_chance_on_rows_it_has_not_seen(sda):
    (X, y), (held, truth) = bars(300), bars(300, seed=1)
    found = fine_tune(sda, X, y, 2)
    assert (found.predict(held) != truth).mean() < 0.1
    np.testing.assert_allclose(np.exp(found.scores(held)).sum(axis=1), 1.0, rtol=1e-5)
    assert found.best_epoch == 30
    assert [e.phase for e in found.history.epochs] == ["pre-training"] * 6 + ["fine-tuning"] * 30
    assert found.history.epochs[-1].loss < 0.3 < found.history.epochs[6].loss
    assert found.sda.history == sda.history


def test_that_the_stack_is_left_as_it_was_and_the_new_one_moved_in_every_layer(sda):
    before = [layer.weights.copy() for layer in sda.layers]
    X, y = bars(300)
    found = fine_tune(sda, X, y, 2)
    for kept, layer, moved in zip(before, sda.layers, found.sda.layers, strict=True):
        np.testing.assert_array_equal(layer.weights, kept)
        assert abs(moved.weights - kept).max() > 1e-3
        assert abs(moved.hidden_bias - layer.hidden_bias).max() > 1e-4
        np.testing.assert_array_equal(moved.visible_bias, layer.visible_bias)


def test_that_early_stopping_returns_the_parameters_of_the_best_epoch(sda):
    X, y = bars(60)
    held, truth = bars(200, seed=1)
    truth = np.where(np.random.default_rng(0).random(200) < 0.2, 1 - truth, truth)
    parameters = replace(SMALL, fine_tuning_rate=1.0, fine_tuning_epochs=300, patience=7)
    found = fine_tune(sda, X, y, 2, held, truth, parameters)
    tuned = found.history.of("fine-tuning")
    assert len(tuned) < 300
    assert len(tuned) == found.best_epoch + 7
    judged = [(e.validation_error, e.validation_loss) for e in tuned]
    assert min(judged) == judged[found.best_epoch - 1]
    best = tuned[found.best_epoch - 1]
    scores = found.scores(held)
    assert (scores.argmax(axis=1) != truth).mean() == best.validation_error
    assert -scores[np.arange(200), truth].mean() == pytest.approx(best.validation_loss, rel=1e-5)
    assert best.validation_error < tuned[0].validation_error
    again = fine_tune(sda, X, y, 2, parameters=replace(parameters, fine_tuning_epochs=found.best_epoch))
    np.testing.assert_array_equal(again.weights, found.weights)
    np.testing.assert_array_equal(again.sda.layers[0].weights, found.sda.layers[0].weights)


def test_that_the_same_seed_gives_the_same_bits(sda):
    X, y = bars(100)
    short = replace(SMALL, fine_tuning_epochs=2)
    one, other, third = (fine_tune(sda, X, y, 2, parameters=replace(short, seed=seed)) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one.scores(X), other.scores(X))
    assert not np.array_equal(one.scores(X), third.scores(X))


def test_that_every_epoch_is_reported_after_those_of_pretraining(sda):
    X, y = bars(100)
    listener = StopAfter()
    found = fine_tune(sda, X, y, 2, X, y, replace(SMALL, fine_tuning_epochs=4), listener)
    assert [len(history.epochs) for history in listener.payloads] == [7, 8, 9, 10]
    assert listener.payloads[-1] == found.history
    assert listener.fractions == sorted(listener.fractions)


def test_that_the_share_of_an_epoch_that_is_done_grows_with_its_mini_batches(sda):
    listener = StopAfter()
    one = replace(SMALL, fine_tuning_epochs=1, batch_size=25)
    fine_tune(sda, *bars(100), 2, parameters=one, progress=listener)
    assert sorted(set(listener.fractions)) == [0.0, 0.25, 0.5, 0.75, 1.0]


@pytest.mark.parametrize("stop_at", [1, 5, 200])
def test_that_a_cancel_stops_in_the_middle_of_an_epoch(sda, stop_at):
    listener = StopAfter(stop_at)
    with pytest.raises(Cancelled):
        fine_tune(sda, *bars(300), 2, progress=listener)
    assert len(listener.fractions) == stop_at


def test_that_scores_block_by_block_are_those_of_single_rows(sda):
    X, y = bars(100)
    found = fine_tune(sda, X, y, 2, parameters=replace(SMALL, fine_tuning_epochs=2))
    many = bars(2500, seed=2)[0]
    scores = found.scores(many)
    for row in (0, 1023, 1024, 2499):
        np.testing.assert_allclose(found.scores(many[row : row + 1])[0], scores[row], rtol=1e-5)
    with pytest.raises(ValueError, match="trained on 36 features"):
        found.scores(many[:, 1:])


def test_that_the_share_of_the_rows_scored_grows_with_each_block():
    wide = pretrain(bars(20)[0], replace(SMALL, n_units=(1000,), pretraining_epochs=1))
    network, rows, listener = fine_tune(wide, *bars(20), 2), bars(6000)[0], StopAfter()
    network.scores(rows, progress=listener)
    assert len(listener.fractions) > 1
    assert np.all(np.diff(listener.fractions) > 0.0)
    assert listener.fractions[-1] == 1.0


def test_that_the_smallest_problems_end_in_probabilities():
    X, y = bars(20)
    one_row = fine_tune(pretrain(X[:1], SMALL), X[:1], y[:1], 2)
    assert one_row.predict(X[:1]) == y[:1]
    none = fine_tune(pretrain(X, SMALL), X, y, 3, parameters=replace(SMALL, fine_tuning_epochs=0))
    np.testing.assert_allclose(none.scores(X), np.log(1 / 3), rtol=1e-6)
    assert none.best_epoch == 0
    shallow = fine_tune(pretrain(X, replace(SMALL, n_units=())), X, y, 2)
    assert shallow.sda.layers == ()
    assert np.isfinite(shallow.scores(X)).all()
    one_class = fine_tune(pretrain(X, replace(SMALL, n_units=(1,))), X, np.zeros(20, int), 1)
    np.testing.assert_array_equal(one_class.scores(X), 0.0)


def test_that_codes_that_do_not_fit_are_refused(sda):
    X, y = bars(20)
    with pytest.raises(ValueError, match="codes range from 0 to 1; they must be from 0 to 0"):
        fine_tune(sda, X, y, 1)
    with pytest.raises(ValueError, match=r"codes are int64 \(19,\)"):
        fine_tune(sda, X, y[1:], 2)
    with pytest.raises(ValueError, match="codes are float64"):
        fine_tune(sda, X, y.astype(float), 2)
    with pytest.raises(ValueError, match="give both X_valid and codes_valid"):
        fine_tune(sda, X, y, 2, X)
    with pytest.raises(ValueError, match="X has 35 features"):
        fine_tune(sda, X[:, 1:], y, 2)
    with pytest.raises(ValueError, match=r"value 3\.0 in row 0"):
        fine_tune(sda, X + 3 - X, y, 2)
