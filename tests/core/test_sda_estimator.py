import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from slide_gui import SDA, MultiWidthSVC, SDAClassifier
from tests.core.sda_data import bars
from tests.core.svm_data import StopAfter


@parametrize_with_checks(
    [
        SDA(n_units=(8, 5), pretraining_epochs=2),
        SDA(n_units=(6,), pretraining_epochs=1, noise=(0.1,), dtype="float64"),
        SDAClassifier(n_units=(20,), pretraining_epochs=2, fine_tuning_rate=0.5),
        SDAClassifier(n_units=(20,), fine_tuning_rate=0.5, fine_tuning_epochs=40, early_stopping=False),
    ]
)
def test_that_they_keep_the_estimator_contract(estimator, check):
    check(estimator)


def test_that_features_layers_and_names_go_together():
    rows, _ = bars(80)
    sda = SDA(n_units=(10, 4), pretraining_epochs=2).fit(rows)
    joined = sda.transform(rows)
    assert joined.shape == (80, 50)
    assert joined.dtype == np.float32
    np.testing.assert_array_equal(np.hstack(sda.layers(rows)), joined)
    np.testing.assert_array_equal(sda.layers(rows)[0], rows)
    assert list(sda.get_feature_names_out()[[0, 35, 36, 49]]) == ["h0_x0", "h0_x35", "h1_0", "h2_3"]
    assert [w.shape for w in sda.weights_] == [(10, 36), (4, 10)]
    assert len(sda.losses_) == 4


def test_that_it_feeds_any_classifier_and_the_multi_width_svm():
    (X, y), (held, truth) = bars(200), bars(100, seed=1)
    sda = SDA(n_units=(30, 20), pretraining_rate=0.1)
    assert make_pipeline(clone(sda), LogisticRegression()).fit(X, y).score(held, truth) > 0.85
    svm = MultiWidthSVC(groups=(36, 30, 20), widths="median", C=10.0)
    assert make_pipeline(clone(sda), svm).fit(X, y).score(held, truth) > 0.85


def test_that_features_outside_zero_to_one_are_rescaled_only_if_wanted():
    rows, _ = bars(50)
    grey = 255 * rows - 3
    plain, scaled = SDA(n_units=(5,)).fit(rows), SDA(n_units=(5,)).fit(grey)
    assert plain.range_ == (0.0, 1.0)
    assert scaled.range_ == (-3.0, 252.0)
    np.testing.assert_array_equal(plain.transform(rows), scaled.transform(grey))
    half = SDA(n_units=(5,)).fit(rows / 2)
    np.testing.assert_array_equal(half.transform(rows / 2)[:, :36], rows / 2)
    with pytest.raises(ValueError, match="values from 0 to 1"):
        SDA(n_units=(5,), rescale=False).fit(grey)


def test_that_the_classifier_stops_early_and_reports():
    (X, y), (held, truth) = bars(300), bars(100, seed=1)
    listener = StopAfter()
    network = SDAClassifier(n_units=(30,), fine_tuning_rate=0.5, patience=5).fit(X, y, progress=listener)
    assert network.score(held, truth) > 0.85
    assert network.model_.best_epoch <= network.n_iter_ <= network.model_.best_epoch + 5
    assert listener.payloads[-1] == network.model_.history
    assert listener.fractions == sorted(listener.fractions)
    np.testing.assert_allclose(network.predict_proba(held).sum(axis=1), 1.0, rtol=1e-5)
