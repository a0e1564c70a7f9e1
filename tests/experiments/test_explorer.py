import numpy as np
import pytest

from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.slide.stack import fit_stack
from slide_gui.experiments.inspection import rows as inspection
from slide_gui.experiments.inspection.rows import Explorer, Preview
from slide_gui.progress import Cancelled, Progress
from tests.core.test_stack import images


class Recorder(Progress):
    def __init__(self):
        self.payloads, self.unwanted = [], False

    def report(self, fraction, payload=None):
        if self.unwanted:
            raise Cancelled
        if payload is not None:
            self.payloads.append(payload)


def same(stack, other):
    for a, b in zip(stack.layers, other.layers, strict=True):
        np.testing.assert_array_equal(a.weights, b.weights)


@pytest.mark.parametrize(
    "changes",
    [
        {"noise": 0.6},
        {"threshold": 0.2},
        {"fit_on": "thresholded"},
        {"depth": 0},
    ],
)
def test_that_an_update_equals_a_fresh_fit_after_any_change(changes):
    rows = images().astype("float32")
    used = Explorer(rows)
    used.update(StackParameters(depth=3))
    parameters = StackParameters(**{"depth": 3, **changes})
    same(used.update(parameters, (3, 9)), fit_stack(rows, parameters))


@pytest.mark.parametrize("changes", [{"noise": 0.6}, {"noise": 0.6, "fit_on": "thresholded"}])
def test_that_the_preview_comes_first_and_equals_the_fit(changes):
    rows = images().astype("float32")
    used = Explorer(rows)
    used.update(StackParameters(depth=2, **{k: v for k, v in changes.items() if k != "noise"}))
    recorder = Recorder()
    stack = used.update(StackParameters(depth=2, **changes), (3, 9), progress=recorder)
    preview = recorder.payloads[0]
    assert isinstance(preview, Preview)
    for feature in (3, 9):
        np.testing.assert_allclose(preview.rows[feature], stack.layers[0].weights[feature], atol=1e-8)


def test_that_there_is_no_preview_without_scatter_layer_or_feature_or_with_too_many_features(monkeypatch):
    used, recorder = Explorer(images().astype("float32")), Recorder()
    used.update(StackParameters(depth=1), (3,), progress=recorder)
    used.update(StackParameters(depth=0), (3,), progress=recorder)
    used.update(StackParameters(depth=1), (), progress=recorder)
    monkeypatch.setattr(inspection, "WHOLE", 10)
    used.update(StackParameters(depth=1, noise=0.6), (3,), progress=recorder)
    assert not any(isinstance(payload, Preview) for payload in recorder.payloads)


def test_that_a_request_may_be_superseded_while_it_settles():
    used = Explorer(images().astype("float32"))
    used.update(StackParameters(depth=1))
    recorder = Recorder()
    recorder.unwanted = True
    with pytest.raises(Cancelled):
        used.update(StackParameters(depth=1, noise=0.9), settle=1000.0, progress=recorder)


@pytest.mark.parametrize("squashing", ["threshold", "tanh"])
def test_that_grey_rows_are_summed_in_the_precision_that_the_noise_needs(squashing):
    rows = np.random.default_rng(0).random((500, 60)).astype("float32")
    used, recorder = Explorer(rows), Recorder()
    for noise in (0.3, 0.02, 0.3, 0.02):
        parameters = StackParameters(noise=noise, depth=2, squashing=squashing)
        same(stack := used.update(parameters, (7,), progress=recorder), fit_stack(rows, parameters))
    previews = [payload for payload in recorder.payloads if isinstance(payload, Preview) and not payload.layers]
    assert [preview.parameters.noise for preview in previews] == [0.3, 0.02]
    np.testing.assert_allclose(previews[1].rows[7], stack.layers[0].weights[7], atol=1e-8)


class Interrupting(Recorder):
    """Progress that cancels at its k-th report, as a newer position of the slider does."""

    def __init__(self, k):
        super().__init__()
        self.left = k

    def report(self, fraction, payload=None):
        super().report(fraction, payload)
        self.left -= 1
        self.unwanted = self.left <= 0


def noises_of_layers(recorder):
    previews = [payload for payload in recorder.payloads if isinstance(payload, Preview) and payload.layers]
    return [{layer.parameters.noise for layer in preview.layers} for preview in previews]


def test_that_all_layers_are_approximated_before_the_fit_except_near_noise_0():
    rows = images().astype("float32")
    used = Explorer(rows)
    used.update(StackParameters(depth=3))
    recorder = Recorder()
    stack = used.update(StackParameters(depth=3, noise=0.6), (3,), progress=recorder)
    rows_only, complete, *fitted = recorder.payloads
    assert not rows_only.layers
    assert [len(stack.layers) for stack in fitted] == [1, 2, 3]
    for approximate, exact in zip(complete.layers, stack.layers, strict=True):
        difference = np.linalg.norm(approximate.weights - exact.weights, axis=1)
        assert (difference <= 1e-2 * np.linalg.norm(exact.weights, axis=1)).all()
    used.update(StackParameters(depth=3, noise=0.0))
    used.update(StackParameters(depth=3, noise=0.0), (3,), progress=(near := Recorder()))
    assert not noises_of_layers(near)


@pytest.mark.parametrize(("rest", "expected"), [(1000.0, [{0.6}, {0.63}]), (0.0, [{0.63}])])
def test_that_a_moving_slider_completes_approximations_and_one_at_rest_only_the_latest(monkeypatch, rest, expected):
    used = Explorer(images().astype("float32"))
    used.update(StackParameters(depth=3))
    monkeypatch.setattr(inspection, "_REST_SECONDS", rest)
    for noise in (0.6, 0.61, 0.62):
        with pytest.raises(Cancelled):
            used.update(StackParameters(depth=3, noise=noise), (3,), progress=Interrupting(1))
    recorder = Recorder()
    monkeypatch.setattr(inspection, "_FOLLOW_SECONDS", 0.0)
    used.update(StackParameters(depth=3, noise=0.63), (3,), progress=recorder)
    assert noises_of_layers(recorder) == expected


def test_that_an_approximation_that_is_complete_when_the_slider_moves_is_delivered_by_the_next_update(monkeypatch):
    used = Explorer(images().astype("float32"))
    used.update(StackParameters(depth=3))
    monkeypatch.setattr(inspection, "_REST_SECONDS", 1000.0)
    monkeypatch.setattr(inspection, "_FOLLOW_SECONDS", 0.0)

    def supersede(fraction, payload=None):
        if getattr(payload, "layers", ()):
            raise Cancelled

    superseded, recorder = Recorder(), Recorder()
    superseded.report = supersede
    with pytest.raises(Cancelled):
        used.update(StackParameters(depth=3, noise=0.6), (3,), progress=superseded)
    used.update(StackParameters(depth=3, noise=0.8), (3,), progress=recorder)
    assert noises_of_layers(recorder) == [{0.6}, {0.8}]


def test_that_passes_and_the_noise_path_are_computed_once_for_all_noise_levels(monkeypatch):
    made = []
    for name in ("input_scatter", "NoisePath"):
        real = getattr(inspection, name)
        monkeypatch.setattr(inspection, name, lambda *a, name=name, real=real, **k: made.append(name) or real(*a, **k))
    used = Explorer(images().astype("float32"))
    used.noise_path(StackParameters(depth=1))
    assert made == []  # there is no scatter yet
    for noise in (0.3, 0.5, 0.7):
        used.update(StackParameters(depth=1, noise=noise), (3,))
    assert made == ["input_scatter", "NoisePath"]
    used.update(StackParameters(depth=1, noise=0.7, threshold=0.2), (3,))
    assert made == ["input_scatter", "NoisePath", "input_scatter"]  # the first layer ignores the threshold
    used.update(StackParameters(depth=1, noise=0.6, threshold=0.2, ridge=1.0), (3,))
    assert made[3:] == ["NoisePath"]
    used.noise_path(StackParameters(depth=1, noise=0.1, threshold=0.2, ridge=2.0))
    assert made[4:] == ["NoisePath"]


def test_that_changing_noise_back_and_forth_computes_the_noise_path_once_per_precision(monkeypatch):
    made = []
    real = inspection.NoisePath
    monkeypatch.setattr(inspection, "NoisePath", lambda *a: made.append(a) or real(*a))
    used = Explorer(images().astype("float32"))
    for noise in (0.3, 0.05, 0.3, 0.05, 0.4, 0.02):
        used.update(StackParameters(depth=1, noise=noise), (3,))
    assert len(made) == 2


@pytest.mark.parametrize("fit_on", ["values", "thresholded"])
def test_that_a_preview_follows_the_threshold_it_is_fitted_on(fit_on):
    rows = images().astype("float32") * np.float32(0.8)
    used = Explorer(rows)
    for threshold in (0.5, 0.9):
        parameters = StackParameters(depth=1, noise=0.4, threshold=threshold, fit_on=fit_on)
        used.update(parameters)
        recorder = Recorder()
        stack = used.update(parameters, (27,), progress=recorder)
        np.testing.assert_allclose(recorder.payloads[0].rows[27], stack.layers[0].weights[27], atol=1e-8)


def test_that_an_earlier_fit_is_returned_also_for_fewer_layers():
    used = Explorer(images().astype("float32"))
    first = used.update(StackParameters(depth=3))
    used.update(StackParameters(depth=3, noise=0.6))
    assert used.stored_fit(StackParameters(depth=3)).stack is first
    assert used.stored_fit(StackParameters(depth=2)).stack is first
    assert used.stored_fit(StackParameters(depth=4)) is None
    assert used.stored_fit(StackParameters(depth=3, noise=0.7)) is None


def cached_bytes(used):
    return sum(map(inspection._bytes_of, used._fits))


def test_that_fits_are_kept_within_a_bound_and_the_newest_in_any_case(monkeypatch):
    used = Explorer(images().astype("float32"))
    one = StackParameters(depth=2)
    used.update(one)
    monkeypatch.setattr(inspection, "_MOST_BYTES", 3 * cached_bytes(used))
    others = [StackParameters(depth=2, noise=noise) for noise in (0.4, 0.5, 0.6)]
    for parameters in others:
        used.update(parameters)
    assert cached_bytes(used) == inspection._MOST_BYTES
    assert used.stored_fit(one) is None
    assert all(used.stored_fit(parameters) is not None for parameters in others)
    monkeypatch.setattr(inspection, "_MOST_BYTES", 1)
    used.update(StackParameters(depth=3))
    assert used.stored_fit(others[-1]) is None
    assert used.stored_fit(StackParameters(depth=3)) is not None
    monkeypatch.undo()
    for number in range(inspection._MOST_FITS + 1):
        used.update(StackParameters(depth=1, noise=0.01 * number))
    assert used.stored_fit(StackParameters(depth=1, noise=0.0)) is None
    assert len(used._fits) == inspection._MOST_FITS
