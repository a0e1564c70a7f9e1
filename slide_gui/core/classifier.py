"""SLIDE and a multi-width SVM on its layers, combined into one scikit-learn classifier."""

from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from slide_gui.core.estimators import AcceptsSparse, fitted_rows, labelled_rows, store_parameters
from slide_gui.core.slide.denoiser import RIDGE
from slide_gui.core.slide.estimator import SLIDE
from slide_gui.core.svm.criteria import AUTO
from slide_gui.core.svm.estimator import MultiWidthSVC
from slide_gui.core.validation import check_flag
from slide_gui.progress import NO_PROGRESS, Progress


class SLIDEClassifier(AcceptsSparse, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The paper's SLIDE-SVM: stacked linear denoisers, followed by an SVM with one kernel width per layer.

    `depth` determines the number of kernel widths: one for each of h⁰, h¹, …, hˡ. A grid search over `depth` is
    therefore possible. In a pipeline in which `SLIDE` passes arrays to `MultiWidthSVC`, by contrast, `groups` must be
    set for each depth separately.

    Parameters
    ----------
    noise, depth, threshold, squashing, fit_on, ridge, dtype, batch_size, scale, sharing, window, image_shape
        Same as in `SLIDE`.
    widths, criterion, loss, C, tol, max_iter, subset_size, starts, retune, memory, random_state, class_weight
        Same as in `MultiWidthSVC`. If `widths` are numbers, give one for each layer that the SVM uses.
    include_input : bool, default=True
        True if the SVM uses the input h⁰ in addition to h¹, …, hˡ. If False, `depth` must be at least 1.
    retune_rows : int, default=10000
        Same as in `MultiWidthSVC`.

    Attributes
    ----------
    slide_ : SLIDE
        The fitted stack.
    svm_ : MultiWidthSVC
        The fitted SVM, with the attributes `widths_`, `shares_`, `C_`, `support_` and `history_`.
    classes_ : ndarray of shape (n_classes,)
    n_iter_ : int
        Number of SMO steps of the SVM solver.
    n_features_in_ : int
        Number of features d.
    feature_names_in_ : ndarray of str, shape (d,)
        Names of the features, if X was a data frame whose column names are all strings.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import GridSearchCV
    >>> from slide_gui import SLIDEClassifier
    >>> X = (np.random.default_rng(0).random((60, 6)) > 0.5).astype("float32")
    >>> y = X[:, 0] == X[:, 1]
    >>> search = GridSearchCV(SLIDEClassifier(widths="median", C=10.0), {"depth": [0, 1]}, cv=2).fit(X, y)
    >>> search.best_estimator_.svm_.widths_.size == search.best_params_["depth"] + 1
    True

    A feature union can append columns that form an additional group with its own kernel width, for example four
    whitened principal components:

    >>> from sklearn.decomposition import PCA
    >>> from sklearn.pipeline import make_pipeline, make_union
    >>> from slide_gui import SLIDE, MultiWidthSVC
    >>> columns = make_union(SLIDE(depth=2), PCA(4, whiten=True))
    >>> both = make_pipeline(columns, MultiWidthSVC(groups=(6, 6, 6, 4), widths="median", C=10.0)).fit(X, y)
    >>> both[-1].widths_.shape
    (4,)
    """

    def __init__(
        self,
        noise: float = 0.3,
        depth: int = 3,
        threshold: float = 0.5,
        squashing: str = "threshold",
        fit_on: str = "values",
        ridge: float = RIDGE,
        dtype: str = "float32",
        batch_size: int = 4096,
        widths: str | ArrayLike = "learn",
        criterion: str = AUTO,
        loss: str = "squared_hinge",
        C: float | None = None,
        tol: float = 1e-3,
        max_iter: int | None = None,
        subset_size: int = 2500,
        starts: int = 2,
        retune: bool = True,
        memory: int = 2 << 30,
        random_state: Any = None,
        class_weight: Any = None,
        scale: str = "none",
        sharing: str = "none",
        window: int | None = None,
        image_shape: tuple[int, ...] | None = None,
        include_input: bool = True,
        retune_rows: int = 10_000,
    ) -> None:
        store_parameters(self, locals())

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, *, progress: Progress = NO_PROGRESS
    ) -> Self:
        """Fit the stack of denoisers without labels, select the kernel widths and C, and train the SVM.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
        y : array-like of shape (n,)
            Class of each row, at least two classes.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows, 0 or more. Both the stack and the SVM use them.
        progress : Progress
            Receives progress reports; raises `Cancelled` to stop the fit.

        Raises
        ------
        ValueError
            If the rows, labels, weights or parameters are invalid.
        MemoryError
            If `memory` is too small, or if the representations need more memory than is available.
        """
        include_input = check_flag("include_input", self.include_input)
        if not include_input and self.depth == 0:
            raise ValueError("include_input is False, but depth is 0; use at least one layer")
        fitted = copy(self)  # the fit changes this copy, so that `self` keeps its earlier model if the fit fails
        rows, classes, codes = labelled_rows(fitted, X, y)
        svm = MultiWidthSVC(None)
        svm.set_params(**{name: getattr(self, name) for name in svm.get_params(deep=False) if name != "groups"})
        # Check the SVM parameters before the slow fit of the stack. Without `random_state`, the check draws no seed
        # from a RandomState.
        copy(svm).set_params(random_state=None)._parameters()
        slide = SLIDE(**{name: getattr(self, name) for name in SLIDE().get_params(deep=False)})
        # The result must be an array, even if scikit-learn is configured to return data frames.
        slide.set_output(transform="default")
        Z = slide.fit_transform(rows, sample_weight=sample_weight, progress=progress.part(0.0, 0.3))
        fitted._first = 0 if include_input else rows.shape[1]
        svm.groups = len(slide.weights_) + include_input
        svm.fit(Z[:, fitted._first :], classes[codes], sample_weight, progress=progress.part(0.3, 1.0))
        self.__dict__ = fitted.__dict__
        self.slide_ = slide
        self.svm_ = svm
        self.classes_ = svm.classes_
        self.n_iter_ = svm.n_iter_
        return self

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the decision values of each row.

        For two classes the shape is (n,), and a positive value means the second class. For more classes the shape is
        (n, n_classes). The value of a class is then the number of its one-vs-one votes plus a term that breaks ties.
        This term is the sum of the margins of the class, scaled to the range −1/3 to 1/3.

        Raises
        ------
        ValueError
            If X does not have d features, or contains NaN or infinity.
        """
        features = self._features(X)
        return self.svm_.decision_function(features)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class of each row, of shape (n,).

        Raises
        ------
        ValueError
            If X does not have d features, or contains NaN or infinity.
        """
        features = self._features(X)
        return self.svm_.predict(features)

    def _features(self, X: ArrayLike) -> NDArray[np.floating]:
        rows = fitted_rows(self, X)
        return self.slide_.transform(rows)[:, self._first :]
