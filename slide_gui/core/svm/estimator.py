"""`MultiWidthSVC`, the multi-width SVM as a scikit-learn classifier."""

import warnings
from collections.abc import Sequence
from contextlib import suppress
from copy import copy
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import compute_class_weight

from slide_gui.core import estimators
from slide_gui.core.estimators import AcceptsSparse
from slide_gui.core.linear_algebra import Array, Indices
from slide_gui.core.svm.criteria import AUTO
from slide_gui.core.svm.kernel import block_sizes, refuse_large
from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.core.svm.selection import fit_svm
from slide_gui.progress import NO_PROGRESS, Progress

if TYPE_CHECKING:
    from distributed import Client


class MultiWidthSVC(AcceptsSparse, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Support vector machine whose radial basis function kernel has one width per layer (paper, §5, eq. 12).

    The kernel is exp(−Σ_t ‖h_iᵗ − h_jᵗ‖² / σ_t²) over blocks of columns h⁰, h¹, …. The widths σ_t can be learned by
    gradient descent on a bound or an estimate of the generalisation error.

    Parameters
    ----------
    groups : "auto", int, sequence of int, or None, default="auto"
        Blocks of columns, one per layer. "auto" reads them from column names ``h0_…``, ``h1_…``. `SLIDE` uses these
        names if it returns data frames (``set_output(transform="pandas")``). Columns without such names form one block,
        as with None. An integer is the number of blocks of equal size; a sequence gives the size of each block. An
        error is raised if the blocks do not fit the columns or contradict the column names. Arrays have no column
        names. In a pipeline of arrays, use `SLIDEClassifier`, which forms one block per layer of SLIDE.
    widths : {"learn", "median"} or sequence of float, default="learn"
        Widths σ_t, one per block. "learn" minimises `criterion`. "median" sets σ_t² = σ² · median ‖h_iᵗ − h_jᵗ‖². If C
        is given, σ² is the number of blocks. Otherwise σ² and C are selected together on held-out rows.
    criterion : {"auto", "radius-margin", "span", "hold-out", "press"}, default="auto"
        Criterion that is minimised to learn the widths. "radius-margin" is the bound R²‖w‖²/n on the error. "span" is
        the smoothed leave-one-out error, estimated from the spans of the support vectors. "hold-out" is the smoothed
        error on a held-out fifth of the rows. "press" is the squared leave-one-out error of kernel ridge regression.
        "auto" is "span" for two classes and "press" for more. With more than two classes, "press" is averaged over
        one-vs-rest targets, and the other criteria are averaged over one-vs-one problems. "radius-margin" does not
        estimate the error. If the classes overlap strongly, this criterion is smallest for such small widths and C that
        every point is a support vector. With every criterion, the learned widths are compared with scaled median
        widths, unless a class has too few rows. The comparison uses rows to which neither of them was fitted. They are
        rows outside the subset (see `subset_size`), or a held-out fifth of the rows. If a fifth has fewer than 200
        rows, two fifths are held out, one at a time. The widths with fewer errors are used or, in a tie, the learned
        widths. `chosen_by_` states which were used.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        Squared hinge loss (L2-SVM) or hinge loss (C-SVC). Widths are always learned with the squared hinge loss.
    C : float or None, default=None
        Penalty for errors. If it is None, C is selected. If the widths are learned, C is learned together with them and
        then multiplied by 1, 3 or 10. Cross-validation on the same rows selects this factor. With the hinge loss, or if
        the comparison selects median widths, cross-validation selects C from 1, 10, 100 and 1000. If widths are not
        learned, C is selected from 1, 10, 100 and 1000 on a held-out fifth of the rows.
    tol : float, default=1e-3
        Largest allowed violation of the optimality conditions.
    max_iter : int or None, default=None
        Largest number of SMO steps per two-class problem. None sets no limit.
    subset_size : int, default=2500
        Largest number of rows in the stratified subset on which widths are learned.
    starts : int, default=2
        Number of gradient descents, each from one of the best points of a grid of widths and C.
    retune : bool, default=True
        If True, all widths that were learned on a subset are multiplied by one common factor. C is also adjusted,
        unless it is given. The factor and C are selected on a held-out fifth of at most `retune_rows` rows; the
        held-out rows are outside the subset. Nothing is adjusted if fewer than a fifth of all rows are outside the
        subset.
    memory : int, default=2 GiB
        Number of bytes that training may use in addition to its input.
    random_state : int, RandomState instance or None, default=None
        Seed of the subset, the held-out rows and the rows that the solver starts with. None means the seed 0, so
        repeated fits give the same model.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes. In the final training, C is multiplied for each row by the weight of its class.
        "balanced" uses the weights n / (n_classes · rows of the class). The criterion "radius-margin" is not defined
        with weights and raises an error.
    retune_rows : int, default=10000
        Largest number of rows on which C and a common factor of the widths are adjusted (see `retune`). If widths are
        not learned and C is None, C and the factor are first selected on at most 10 000 rows. They are then adjusted on
        more rows only if there are more than 10 000 rows and `retune_rows` is larger than 10 000.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels in sorted order.
    widths_ : ndarray of shape (L,)
        Kernel widths σ_t.
    shares_ : ndarray of shape (L,)
        Fraction of the kernel's exponent that each layer contributes: median ‖h_iᵗ − h_jᵗ‖² / σ_t², divided by the sum
        of these values over all layers.
    C_ : float
        The value of C that was used.
    support_ : ndarray of int, shape (n_support,)
        Indices of the support vectors among the training rows.
    n_support_ : ndarray of int, shape (n_classes,)
        Number of support vectors of each class.
    dual_coef_ : ndarray of shape (n_pairs, n_support)
        Signed dual coefficients, positive for the second class of a pair (i, j), i < j.
    intercept_ : ndarray of shape (n_pairs,)
        Bias of each pair of classes.
    history_ : list of WidthsStep
        Record of each iteration of learning: criterion, prior (the penalty for the distance from the starting point),
        widths, `shares_`, C and number of support vectors.
    chosen_by_ : str
        Origin of the widths: the name of the criterion by which they were learned; "median widths (guard)" if median
        widths had fewer errors on held-out rows; "median widths" or "given" if no widths were learned.
    candidates_ : list of Candidate
        All widths and C that were evaluated to compare learned and median widths, and their errors. `converged` of a
        candidate is False if the solver reached the largest allowed number of steps. The list is empty without such a
        comparison.
    n_iter_ : int
        Number of SMO steps in the final training, summed over all pairs of classes.
    model_ : SvmModel
        The trained model as an immutable object; stored runs contain only `model_.trained`.
    n_features_in_ : int
        Number of columns of the training rows.
    feature_names_in_ : ndarray of str, shape (n_columns,)
        Names of the columns, if Z was a data frame whose column names are all strings.

    Examples
    --------
    >>> import numpy as np
    >>> from slide_gui import MultiWidthSVC
    >>> Z = np.random.default_rng(0).standard_normal((80, 6))
    >>> y = np.where(Z[:, 0] * Z[:, 3] > 0, "like", "unlike")
    >>> svm = MultiWidthSVC(groups=2, widths=[1.5, 1.5], C=10.0).fit(Z, y)
    >>> bool(svm.score(Z, y) > 0.9)
    True
    """

    def __init__(
        self,
        groups: str | int | Sequence[int] | None = "auto",
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
        retune_rows: int = 10_000,
    ) -> None:
        estimators.store_parameters(self, locals())

    def fit(
        self,
        Z: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        progress: Progress = NO_PROGRESS,
        client: "Client | None" = None,
    ) -> Self:
        """Select widths and C, and train on all rows.

        Parameters
        ----------
        Z : array-like of shape (n, d)
            Rows [h⁰, h¹, …] of finite values. A sparse matrix is converted to an array.
        y : array-like of shape (n,)
            Labels of at least two classes.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows, 0 or more. In the final training, the C of each row is multiplied by the row's weight.
            If widths and C are given, integer weights give the same model as repeated rows, up to `tol`. Errors are
            weighted if widths or C are selected. If C is selected, the weights are first divided by the mean of the
            positive weights, so that only their ratios matter; `C_` refers to the divided weights. The subset, the
            held-out rows and the median distances ignore weights. Repeating rows may therefore lead to different widths
            and a different C than weighting them. Rows of weight 0 are left out, but they count towards "balanced"
            class weights. Positive weights below 1e-15 times the largest weight are raised to this bound.
        progress : Progress
            Receives progress reports; raises `Cancelled` to stop the training.
        client : distributed.Client, optional
            Client of a Dask cluster whose workers train the pairs of classes, one task per pair. By default, the
            current process trains all pairs.

        Raises
        ------
        ValueError
            If the rows, labels, weights or parameters are invalid.
        TypeError
            If the client is not a `distributed.Client`.
        MemoryError
            If `memory` is too small.
        ClusterError
            If the connection to the client's scheduler is lost.
        """
        fitted = copy(self)  # the fit changes this copy, so that `self` keeps its earlier model if the fit fails
        rows, classes, codes = estimators.labelled_rows(fitted, Z, y)
        rows, parameters = estimators.written_out(rows), fitted._parameters()
        sizes = estimators.remembered_layers(Z)
        if parameters.groups is None and self.groups is not None and sizes:
            groups = len(sizes) if len(set(sizes)) == 1 else list(sizes)
            warnings.warn(
                f"Z contains {len(sizes)} layers but no column names to separate them, so all share one width; give "
                f"groups={groups}, or use SLIDEClassifier, which uses one width per layer",
                UserWarning,
                stacklevel=2,
            )
        weights = self._weights(sample_weight, classes, codes)
        used = None if weights is None or weights.all() else np.flatnonzero(weights)
        if weights is not None and used is not None:
            rows, codes, weights = rows[used], codes[used], estimators.row_weights(weights[used], len(used))
            if (missing := np.bincount(codes, minlength=len(classes)) == 0).any():
                name = classes[missing].tolist()[0]
                raise ValueError(
                    f"every row of class {name!r} has weight 0; leave the class out, or give a row a positive weight"
                )
        if weights is not None:  # weights w near 0 would make the solver inaccurate, or 1 / (C w) would overflow
            weights = np.maximum(weights, 1e-15 * weights.max())
        if client is not None and not callable(getattr(client, "submit", None)):
            raise TypeError(f"client is {client!r}; it must be a distributed.Client, or None")
        n, n_classes = len(codes), len(classes)
        if n_classes > 100 and n < 4 * n_classes and classes.dtype.kind in "iuf":
            warnings.warn(
                f"y has {n_classes} classes with {n / n_classes:.2g} rows each on average; it looks like a quantity, "
                "but this is a classifier; use a regressor, or divide y into a few classes with np.digitize",
                UserWarning,
                stacklevel=2,
            )
        model = fit_svm(rows, codes, parameters, weights=weights, progress=progress, client=client)
        svm = model.trained
        if not svm.converged:
            warnings.warn(
                f"the SVM has not converged: its optimality gap is {svm.gap:.1e}, above tol={self.tol:.1e}; raise "
                "max_iter if you set it, raise memory, scale the features, or lower C",
                ConvergenceWarning,
                stacklevel=2,
            )
        n_support = np.bincount(codes[svm.support], minlength=len(classes))
        if used is not None:
            svm = replace(svm, support=used[svm.support])
        self.__dict__ = fitted.__dict__
        self.classes_ = classes
        self.model_ = replace(model, trained=svm)
        self.widths_ = np.array(svm.widths)
        self.shares_ = np.array(svm.shares)
        self.C_ = svm.C
        self.support_ = svm.support
        self.n_support_ = n_support
        self.dual_coef_ = svm.coefficients
        self.intercept_ = svm.biases
        self.history_ = list(svm.history)
        given = "median widths" if isinstance(self.widths, str) else "given"
        self.chosen_by_ = given if svm.chosen is None else svm.chosen.name
        self.candidates_ = [] if svm.chosen is None else list(svm.chosen.candidates)
        self.n_iter_ = max(1, model.steps)
        return self

    def _weights(self, sample_weight: Any, classes: NDArray[Any], codes: Indices) -> Array | None:
        """Return the weight of each row times the weight of its class, or None if all these products are 1."""
        weights = estimators.row_weights(sample_weight, len(codes))
        if weights is not None and self.C is None:  # the values of C to choose from assume weights near 1
            weights = estimators.row_weights(weights / weights[weights > 0.0].mean(), len(codes))
        if self.class_weight is None:
            return weights
        of_class = compute_class_weight(self.class_weight, classes=classes, y=classes[codes])
        if not (np.isfinite(of_class).all() and (of_class >= 0.0).all()):
            raise ValueError(f"class_weight is {self.class_weight!r}; its weights must be finite numbers, 0 or more")
        return estimators.row_weights(of_class[codes] * (1.0 if weights is None else weights), len(codes))

    def _parameters(self) -> SvmParameters:
        # A subclass may set parameters that are not arguments of its `__init__`, so `get_params` is not used.
        known = {field.name: getattr(self, field.name) for field in fields(SvmParameters) if hasattr(self, field.name)}
        seed = estimators.seed_of(self.random_state)
        normal = {"groups": self._groups(), "widths": estimators.listed(self.widths), "seed": seed}
        return SvmParameters(**known | normal).checked()

    def _groups(self) -> tuple[int, ...] | int | None:
        groups, names = self.groups, getattr(self, "feature_names_in_", None)
        if isinstance(groups, str):
            if groups != "auto":
                raise ValueError(f'groups is {groups!r}; it must be "auto", a number of blocks, block sizes, or None')
            return None if names is None else estimators.layer_sizes(names)
        given: tuple[int, ...] | int | None = estimators.listed(groups)
        if given is not None and names is not None:
            named = None
            # If only some of the column names give a layer, they do not define blocks to compare with `groups`.
            with suppress(ValueError):
                named = estimators.layer_sizes(names)
            if named is not None and named != block_sizes(len(names), given):
                raise ValueError(
                    f"groups is {groups!r}, but the column names define {len(named)} layers of "
                    f'{", ".join(map(str, named))} columns; leave groups at "auto"'
                )
        return given

    def decision_function(self, Z: ArrayLike) -> NDArray[np.float64]:
        """Return a decision value for each row, positive for the second of two classes.

        The shape is (n,) for two classes. For more classes it is (n, n_classes). The value of a class is then the
        number of its one-vs-one votes plus a term that breaks ties. This term is the sum of the margins of the class,
        scaled to the range −1/3 to 1/3.

        Raises
        ------
        ValueError
            If Z does not have the columns of the training rows, or contains NaN or infinity.
        """
        rows = self._rows(Z)
        return self.model_.scores(rows)

    def predict(self, Z: ArrayLike) -> NDArray[Any]:
        """Return the predicted class label of each row, of shape (n,).

        Raises
        ------
        ValueError
            If Z does not have the columns of the training rows, or contains NaN or infinity.
        """
        rows = self._rows(Z)
        return np.asarray(self.classes_[self.model_.predict(rows)])

    def _rows(self, Z: ArrayLike) -> NDArray[Any]:
        rows = estimators.written_out(estimators.fitted_rows(self, Z))
        refuse_large(rows)
        return rows
