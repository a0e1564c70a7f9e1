"""Inputs and outputs of the estimators other than arrays: sparse rows, data frames, names, HTML."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline

from slide_gui import SLIDE, MultiWidthSVC, SLIDEClassifier
from slide_gui.core.estimators import layer_sizes, seed_of
from tests.core.slide_data import images
from tests.core.svm_data import layers, three_classes

CLASSIFIERS = [
    MultiWidthSVC(3, (4.0, 3.0, 5.0), C=2.0),
    SLIDEClassifier(depth=1, widths=(4.0, 4.0), C=2.0),
]


def _frame(n=120, names=None):
    Z, y = layers(n)
    return pd.DataFrame(Z, columns=names or [f"pixel {i}" for i in range(12)]), y


@pytest.mark.parametrize("classifier", CLASSIFIERS)
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_that_sparse_rows_are_classified_as_the_same_dense_rows(classifier, kind):
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


def test_that_layers_and_features_are_named_in_the_output():
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


def test_that_groups_follow_the_names_that_slide_gives_to_its_features():
    X, y = _frame(60)
    Z = SLIDE(depth=2).set_output(transform="pandas").fit_transform(X)
    for groups, rows, sizes in (
        ("auto", Z, (12, 12, 12)),
        (3, Z, (12, 12, 12)),
        (None, Z, (36,)),
        ("auto", Z.to_numpy(), (36,)),
    ):
        assert MultiWidthSVC(groups, "median", C=1.0).fit(rows, y).model_.embedding.sizes == sizes
    for wrong in (4, (12, 24)):
        with pytest.raises(ValueError, match="belong to 3 layers of 12, 12, 12 columns; leave groups at"):
            MultiWidthSVC(wrong, "median", C=1.0).fit(Z, y)


@pytest.mark.parametrize(
    ("names", "sizes"),
    [
        (["h0_a", "h0_b", "h1_a", "h1_b"], (2, 2)),
        (["slide__h0_x0", "slide__h0_x1", "slide__h0_x2", "slide__h2_x1"], (3, 1)),
        (["height", "h", "x0", "2h0_"], None),
    ],
)
def test_that_layers_are_counted_by_the_names_of_their_columns(names, sizes):
    assert layer_sizes(names) == sizes


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["h0_a", "h1_a", "h0_b", "h1_b"], "are not ordered by layer"),
        (["h0_a", "h0_b", "age", "h1_b"], "column 'age' belongs to no layer"),
    ],
)
def test_that_columns_of_unknown_layers_are_refused_unless_groups_are_given(names, words):
    Z, y = layers(30)
    rows = pd.DataFrame(Z[:, :4], columns=names)
    with pytest.raises(ValueError, match=words):
        MultiWidthSVC(widths="median", C=1.0).fit(rows, y)
    assert MultiWidthSVC(2, "median", C=1.0).fit(rows, y).model_.embedding.sizes == (2, 2)


def test_that_seeds_are_integers_or_drawn_from_a_generator():
    assert [seed_of(seed) for seed in (None, 0, 7, np.int64(7))] == [0, 0, 7, 7]
    assert type(seed_of(np.int64(7))) is int
    state, expected = np.random.RandomState(3), np.random.RandomState(3)
    assert [seed_of(state) for _ in range(2)] == [expected.randint(2**31 - 1) for _ in range(2)]
