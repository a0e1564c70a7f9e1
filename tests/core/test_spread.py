"""Pairs of classes trained on real workers give the same model as this process."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from slide_gui.core.svm.estimator import MultiWidthSVC
from slide_gui.core.workers import ClusterError, results_of
from slide_gui.progress import Cancelled, Listener

if TYPE_CHECKING:
    pass


@pytest.fixture(scope="module")
def client():
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def classes(n=600, k=5):
    rng = np.random.default_rng(0)
    codes = rng.integers(k, size=n)
    return rng.standard_normal((n, 8)) + 1.5 * np.eye(k, 8)[codes], np.array(list("abcdefgh"))[codes]


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_that_pairs_trained_on_workers_give_the_model_of_this_process(client, loss):
    Z, y = classes()
    svm = MultiWidthSVC(groups=2, widths=[2.0, 2.0], C=3.0, loss=loss, random_state=0)
    here, there = svm.fit(Z, y), MultiWidthSVC(**svm.get_params()).fit(Z, y, client=client)
    np.testing.assert_allclose(there.decision_function(Z), here.decision_function(Z), atol=5e-3)
    assert np.mean(there.predict(Z) == here.predict(Z)) > 0.995
    assert there.dual_coef_.shape[0] == here.dual_coef_.shape[0] == 10
    assert there.n_iter_ > 0


def test_that_an_invalid_client_is_refused_before_anything_is_learned():
    reports = []
    with pytest.raises(TypeError, match="client is 'tcp://head:8786'; it must be a"):
        MultiWidthSVC().fit(*classes(), client="tcp://head:8786", progress=Listener(lambda f, _: reports.append(f)))
    assert not reports


def test_that_training_on_workers_can_be_cancelled(client):
    Z, y = classes()
    seen = []

    def report(fraction, _payload):
        seen.append(fraction)
        if client.processing() and any(client.processing().values()):
            raise Cancelled

    with pytest.raises(Cancelled):
        MultiWidthSVC(groups=2, widths=[2.0, 2.0], C=3.0).fit(Z, y, client=client, progress=Listener(report))
    assert seen


@pytest.mark.parametrize(
    ("status", "error", "cancels"), [("running", Cancelled, True), ("closed", ClusterError, False)]
)
def test_that_remaining_tasks_are_cancelled_after_an_error_unless_the_scheduler_is_lost(status, error, cancels):
    ended, left = SimpleNamespace(done=lambda: True), SimpleNamespace(done=lambda: False)
    cancelled = []

    def report(_fraction, _payload):
        if status == "running":
            raise Cancelled

    client = SimpleNamespace(status=status, scheduler=None, cancel=cancelled.extend)
    with pytest.raises(error):
        results_of(client, [ended, left], Listener(report))
    assert cancelled == ([left] if cancels else [])
