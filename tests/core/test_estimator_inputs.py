"""Inputs and outputs of the estimators other than arrays: sparse rows, data frames, names, HTML, callbacks."""

import re
from importlib.util import find_spec

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from slide_gui import SLIDE, MultiWidthSVC, SLIDEClassifier
from tests.core.svm_data import layers, three_classes
from tests.core.test_stack import images

pd = pytest.importorskip("pandas")

CLASSIFIERS = [
    MultiWidthSVC(3, (4.0, 3.0, 5.0), C=2.0, probability=True),
    SLIDEClassifier(depth=1, widths=(4.0, 4.0), C=2.0),
]


def _frame(n=120, names=None):
    Z, y = layers(n)
    return pd.DataFrame(Z, columns=names or [f"pixel {i}" for i in range(12)]), y


@pytest.mark.parametrize("classifier", CLASSIFIERS)
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_that_sparse_rows_are_classified_as_the_same_rows_written_out(classifier, kind):
    Z, y = three_classes(150)
    Z[np.abs(Z) < 0.7] = 0.0
    dense = classifier.fit(Z, y).decision_function(Z)
    found = classifier.fit(kind(Z), y)
    np.testing.assert_allclose(found.decision_function(kind(Z)), dense, atol=1e-6)
    np.testing.assert_allclose(found.decision_function(Z), found.decision_function(kind(Z)), atol=1e-6)
    assert found.score(kind(Z), y) > 0.5


@pytest.mark.parametrize("estimator", [SLIDE(depth=1), *CLASSIFIERS])
def test_that_the_columns_of_a_data_frame_have_to_be_those_of_the_fit(estimator):
    frame, y = _frame()
    estimator.fit(frame, y)
    assert list(estimator.feature_names_in_) == list(frame.columns)
    ask = estimator.predict if hasattr(estimator, "predict") else estimator.transform
    with pytest.raises(ValueError, match="feature names should match"):
        ask(frame.rename(columns={"pixel 3": "another"}))
    with pytest.raises(ValueError, match="must be in the same order"):
        ask(frame[frame.columns[::-1]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        ask(frame.to_numpy())


def test_that_layers_and_features_are_named_in_what_comes_out():
    frame, y = _frame()
    slide = SLIDE(depth=2).set_output(transform="pandas")
    found = slide.fit_transform(frame)
    assert list(found.columns) == [f"h{k}_pixel {i}" for k in range(3) for i in range(12)]
    assert list(found.columns) == list(slide.get_feature_names_out())
    assert found.index.equals(frame.index)
    numbered = slide.fit(images()[:50]).get_feature_names_out()
    assert list(numbered[[0, 63, 64]]) == ["h0_x0", "h0_x63", "h1_x0"]
    named = slide.get_feature_names_out([f"{i // 8}, {i % 8}" for i in range(64)])
    assert list(named[[0, 64 + 9]]) == ["h0_0, 0", "h1_1, 1"]
    whole = make_pipeline(SLIDE(depth=2), MultiWidthSVC(widths="median", C=1.0)).set_output(transform="pandas")
    whole.fit(frame, y, multiwidthsvc__sample_weight=np.linspace(0.5, 2.0, len(y)))
    assert len(whole[-1].widths_) == 3


@pytest.mark.parametrize("estimator", [SLIDE(depth=1), *CLASSIFIERS])
def test_that_the_page_of_an_estimator_shows_it_and_what_it_was_fitted_to_and_loads_nothing(estimator):
    frame, y = _frame()
    for shown, state in ((estimator.__class__(), "Not fitted"), (estimator.fit(frame, y), "Fitted")):
        page = shown._repr_html_()
        assert type(shown).__name__ in page
        assert state in page
        assert not re.search(r"<(script|link|img|iframe)[^>]*\b(src|href)=", page)


@pytest.mark.skipif(find_spec("sklearn.callback") is None, reason="scikit-learn before 1.9 has no callbacks")
class TestCallbacks:
    class Recorder:
        """Callback that records the tasks and stops after some."""

        max_propagation_depth = None

        def __init__(self, stop_after=None):
            self.told, self.fitted, self.stop_after = [], [], stop_after

        def setup(self, estimator, context):
            self.told.append("setup")

        def teardown(self, estimator, context):
            self.told.append("teardown")

        def on_fit_task_begin(self, estimator, context):
            self.told.append(("begin", context.estimator_name, context.task_name))

        def on_fit_task_end(self, estimator, context, *, X=None, metadata=None, fitted_estimator=None):
            self.told.append(("end", context.estimator_name, context.task_name))
            self.metadata = metadata
            if fitted_estimator is not None:
                self.fitted.append((fitted_estimator, X))
            return context.task_name == "layer" and len(self.fitted) == self.stop_after

    def test_that_callbacks_are_told_of_each_layer_and_can_use_it(self):
        rows, recorder = images()[:100], self.Recorder()
        slide = SLIDE(depth=2).set_callbacks(recorder).fit(rows, sample_weight=np.linspace(0.1, 1.0, 100))
        layer = [("begin", "SLIDE", "layer"), ("end", "SLIDE", "layer")]
        assert recorder.told == [
            "setup",
            ("begin", "SLIDE", "fit"),
            *layer,
            *layer,
            ("end", "SLIDE", "fit"),
            "teardown",
        ]
        assert [len(fitted.weights_) for fitted, _ in recorder.fitted] == [1, 2, 2]
        first, X = recorder.fitted[0]
        np.testing.assert_array_equal(first.transform(X), slide.transform(rows)[:, :128])
        assert list(recorder.metadata) == ["sample_weight"]

    @pytest.mark.parametrize("how", ["fit", "fit_transform"])
    def test_that_a_callback_ends_the_stack_after_a_layer(self, how):
        rows = images()[:100]
        slide = SLIDE(depth=4).set_callbacks(self.Recorder(stop_after=2))
        found = slide.fit_transform(rows) if how == "fit_transform" else slide.fit(rows).transform(rows)
        plain = SLIDE(depth=2).fit(rows)
        np.testing.assert_array_equal(found, plain.transform(rows))
        assert len(slide.get_feature_names_out()) == 3 * 64
        assert slide.stack_.parameters.depth == 2

    def test_that_callbacks_are_told_of_the_widths_and_the_pairs(self):
        Z, y = three_classes(90)
        recorder = self.Recorder()
        svm = MultiWidthSVC(3, starts=1, probability=True).set_callbacks(recorder).fit(Z, y)
        begun = [told[2] for told in recorder.told if told[0] == "begin"]
        assert begun.count("pair") == 3
        assert begun[-1] == "probability"
        assert sum(told[0] == "end" for told in recorder.told) == len(begun)
        assert recorder.told[-1] == "teardown"
        fitted, X = recorder.fitted[-1]
        np.testing.assert_array_equal(fitted.predict(X), svm.predict(Z))

    def test_that_callbacks_of_the_whole_are_told_of_its_parts_and_torn_down_after_an_error(self):
        from sklearn.callback import ScoringMonitor

        (Z, y), recorder = layers(90), self.Recorder()
        monitor = ScoringMonitor(scoring="accuracy")
        classifier = SLIDEClassifier(depth=1, widths="median", C=1.0).set_callbacks(recorder, monitor).fit(Z, y)
        names = [told[1] for told in recorder.told if told[0] == "begin"]
        assert names == ["SLIDEClassifier", "SLIDE", "SLIDE", "MultiWidthSVC", "MultiWidthSVC"]
        assert monitor.get_logs().data[-1]["accuracy"] == pytest.approx(classifier.score(Z, y))
        search = GridSearchCV(SLIDEClassifier(widths="median", C=1.0), {"depth": [0, 1]}, cv=2)
        search.set_callbacks(self.Recorder()).fit(Z, y)
        recorder.told.clear()
        with pytest.raises(ValueError, match="noise"):
            SLIDE(noise=2.0).set_callbacks(recorder).fit(Z)
        assert recorder.told.count("setup") == recorder.told.count("teardown")
