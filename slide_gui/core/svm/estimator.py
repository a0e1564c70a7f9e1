"""`MultiWidthSVC`, the multi-width SVM as a scikit-learn classifier."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import compute_class_weight

from slide_gui.core.choices import stating
from slide_gui.core.estimators import (
    fitted_rows,
    labelled_rows,
    layer_sizes,
    listed,
    parameters_of,
    remembered_layers,
    row_weights,
    store_parameters,
    written_out,
)
from slide_gui.core.svm.criteria import AUTO, LEARNED_BY
from slide_gui.core.svm.kernel import block_sizes, refuse_large
from slide_gui.core.svm.model import one_after_the_other
from slide_gui.core.svm.parameters import LOSSES, WIDTHS, ChosenBy, SvmParameters
from slide_gui.core.svm.spread import solved_by
from slide_gui.core.svm.training import fit_svm
from slide_gui.progress import NO_PROGRESS, Progress

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["MultiWidthSVC"]

Array = NDArray[np.float64]

_DTYPES = (np.float64, np.float32)


@stating(widths=WIDTHS, criterion=LEARNED_BY, loss=LOSSES)
class MultiWidthSVC(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Support vector machine with one radial basis function width a layer (paper, section "SVM Training").

    The kernel is exp(−Σ_t ‖h_iᵗ − h_jᵗ‖² / σ_t²) over blocks of columns h⁰, h¹, …; the widths σ_t can be learned by
    gradient descent on a bound or estimate of the generalisation error.

    Parameters
    ----------
    groups : "auto", int, sequence of int, or None, default="auto"
        The blocks of columns, one a layer. "auto": by the columns' names ``h0_…``, ``h1_…``, which `SLIDE`
        gives them where it returns data frames (``set_output(transform="pandas")``); rows without such names are one
        block. A number: so many blocks of equal size. A sequence: their sizes. None: one block. What does not fit the
        columns, or contradicts their names, is refused. Arrays carry no names, so that in a pipeline of arrays this
        cannot follow SLIDE's depth: `SLIDEClassifier` does.
    widths : {…} or sequence of float, default="learn"
        The widths σ_t, one a block. "median": σ_t² = σ² · median ‖h_iᵗ − h_jᵗ‖², with σ² = number of blocks, or
        chosen with C on held-out rows where C is None.
    criterion : {…}, default="auto"
        What learning minimises: radius over margin, the smoothed leave-one-out error by the span of the support
        vectors, the smoothed error on a held-out fifth, or the leave-one-out squared error of kernel ridge
        regression. With more than two classes the first three are averaged over the one-vs-one problems, "press"
        over one-vs-rest targets. "auto" is an estimate of the error: "span" with two classes, "press" with more.
        Radius over margin is not one: on classes that are far from separable its optimum is at widths and a C so small
        that every point is a support vector.
        Whatever the criterion, the learned widths are compared with median widths times one scale on rows that neither
        was learned on: rows outside the subset, or a fifth of the rows that is held out once, or twice if it has fewer
        than 200 rows. The widths with fewer errors are used, the learned ones if they are equal; `chosen_by_` names
        them.
    loss : {…}, default="squared_hinge"
        L2-SVM or C-SVC. Widths are learned with the squared hinge in either case.
    C : float or None, default=None
        None: learned with the widths; chosen from 1, 10, 100, 1000 on a held-out fifth where widths are not learned,
        by cross-validation on the rows learned on where the loss is the hinge.
    tol : float, default=1e-3
        Largest violation of the optimality conditions.
    max_iter : int or None, default=None
        Most pair steps a two-class problem; None: no limit.
    subset_size : int, default=2500
        Widths are learned on a stratified subset of at most so many rows.
    starts : int, default=2
        How many descents, from the best points of a grid.
    retune : bool, default=True
        After learning on a subset, adjust C and one global scale on a held-out fifth of at most 10 000 rows, none of
        which was learned on; nothing is adjusted where less than a fifth of the rows are such.
    memory : int, default=2 GiB
        Bytes that training may use above its input.
    random_state : int, RandomState instance or None, default=None
        Seeds the subset, the held-out rows and the solver's first quarter.
    class_weight : dict, "balanced" or None, default=None
        At the final widths and C, the C of a row is C times the weight of its class. "balanced": n / (n_classes · rows
        of the class). "radius-margin" is not defined with weights and refused.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    widths_ : ndarray of shape (L,)
        σ_t.
    shares_ : ndarray of shape (L,)
        Each layer's share of the kernel's exponent: (median D_t / σ_t²) / Σ.
    C_ : float
    support_ : ndarray of int, shape (n_support,)
        Rows of the support vectors.
    n_support_ : ndarray of int, shape (n_classes,)
        Support vectors of each class.
    dual_coef_ : ndarray of shape (n_pairs, n_support)
        Signed dual coefficients; positive for the second class of a pair (i, j), i < j.
    intercept_ : ndarray of shape (n_pairs,)
    history_ : list of WidthsStep
        Criterion, prior, widths, shares, C and support vectors at each iteration of learning.
    chosen_by_ : str
        The criterion that the widths were learned by, "median widths (guard)" if those had fewer errors on held-out
        rows, "median widths" or "given".
    candidates_ : list of Candidate
        All widths and C that were evaluated for that comparison, with their errors; `converged` is False if the solver
        was cut off. Empty if widths were not learned.
    n_iter_ : int
        Pair steps of the solver.
    model_ : SvmModel
        All of it as a frozen value.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from slide_gui.core.svm.estimator import MultiWidthSVC
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
    ) -> None:
        store_parameters(self, locals())

    def fit(
        self,
        Z: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        progress: Progress = NO_PROGRESS,
        client: Client | None = None,
    ) -> Self:
        """Choose widths and C, and train.

        Parameters
        ----------
        Z : array-like of shape (n, d)
            Rows [h⁰, h¹, …], finite; a sparse matrix is written out.
        y : array-like of shape (n,)
            At least two classes.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows, 0 or more. At the final widths and C, the C of a row is C times its weight: if widths
            and C are given, integer weights give the model of repeated rows. If they are selected, errors count by
            weight, but the subset, the held-out rows and the median distances do not depend on weights, so that other
            widths and another C may be selected than on repeated rows. Rows of weight 0 are left out.
        progress : Progress
            Listener and cancel point.
        client : distributed.Client, optional
            Its workers solve the problems of pairs of classes, a task each, in place of this process.

        Raises
        ------
        ValueError
            For rows, labels, weights or parameters that cannot be trained on.
        TypeError
            If the client is none.
        MemoryError
            If `memory` is too small.
        ClusterError
            If the client's scheduler is lost.
        """
        rows, classes, codes = labelled_rows(self, Z, y, _DTYPES, least_classes=2, sparse=True)
        rows, parameters = written_out(rows), self._parameters()
        sizes = remembered_layers(Z)
        if parameters.groups is None and self.groups is not None and sizes:
            groups = len(sizes) if len(set(sizes)) == 1 else list(sizes)
            warnings.warn(
                f"Z is an array of {len(sizes)} layers without names, and is trained with one width for all; give "
                f"groups={groups}, or use SLIDEClassifier, whose widths follow the depth",
                UserWarning,
                stacklevel=2,
            )
        weights = self._weights(sample_weight, classes, codes)
        used = None if weights is None or weights.all() else np.flatnonzero(weights)
        if weights is not None and used is not None:
            rows, codes, weights = rows[used], codes[used], weights[used]
            if (missing := np.bincount(codes, minlength=len(classes)) == 0).any():
                name = classes[missing].tolist()[0]
                raise ValueError(f"every row of class {name!r} has a weight of 0; leave its rows out, or weigh one")
        solve = one_after_the_other if client is None else solved_by(client)
        model = fit_svm(rows, codes, parameters, weights=weights, progress=progress, solve_pairs=solve)
        if not model.converged:
            warnings.warn(
                f"the SVM has not converged: its gap is {model.gap:.1e}, above tol={self.tol:.1e}; raise max_iter if "
                "it is given, give it more memory, scale the features, or lower C",
                ConvergenceWarning,
                stacklevel=2,
            )
        n_support = np.bincount(codes[model.support], minlength=len(classes))
        if used is not None:
            model = replace(model, support=used[model.support])
        self.classes_ = classes
        self.model_ = model
        self.widths_ = np.array(model.widths)
        self.shares_ = np.array(model.shares)
        self.C_ = model.C
        self.support_ = model.support
        self.n_support_ = n_support
        self.dual_coef_ = model.coefficients
        self.intercept_ = model.biases
        self.history_ = list(model.history)
        self.chosen_by_ = _chosen_by(model.chosen, self.widths)
        self.candidates_ = [] if model.chosen is None else list(model.chosen.candidates)
        self.n_iter_ = max(1, model.steps)
        return self

    def _weights(self, sample_weight: Any, classes: NDArray[Any], codes: NDArray[np.intp]) -> Array | None:
        """Return the weights of the rows, with those of their classes; None where all are 1."""
        weights = row_weights(sample_weight, len(codes))
        if self.class_weight is None:
            return weights
        of_class = compute_class_weight(self.class_weight, classes=classes, y=classes[codes])
        if not (np.isfinite(of_class).all() and (of_class >= 0.0).all()):
            raise ValueError(f"class_weight is {self.class_weight!r}; its weights must be finite numbers, 0 or more")
        return row_weights(of_class[codes] * (1.0 if weights is None else weights), len(codes))

    def _parameters(self) -> SvmParameters:
        return parameters_of(self, SvmParameters, groups=self._groups(), widths=listed(self.widths)).checked()

    def _groups(self) -> tuple[int, ...] | int | None:
        groups, names = self.groups, getattr(self, "feature_names_in_", None)
        if isinstance(groups, str):
            if groups != "auto":
                raise ValueError(f'groups is {groups!r}; it must be "auto", a number of blocks, their sizes, or None')
            return None if names is None else layer_sizes(names)
        given = tuple(groups) if isinstance(groups, Iterable) else groups
        if given is not None and names is not None:
            named = None
            with suppress(ValueError):  # names that say nothing contradict nothing
                named = layer_sizes(names)
            if named is not None and named != block_sizes(len(names), given):
                raise ValueError(
                    f"groups is {groups!r}, but the names of the columns are those of {len(named)} layers of "
                    f'{", ".join(map(str, named))} columns; leave groups at "auto"'
                )
        return given

    def decision_function(self, Z: ArrayLike) -> NDArray[np.float64]:
        """Return (n,) margins for two classes, or (n, n_classes) votes with squeezed margins for more."""
        rows = self._rows(Z)
        return self.model_.scores(rows)

    def predict(self, Z: ArrayLike) -> NDArray[Any]:
        """Return the class of each row."""
        rows = self._rows(Z)
        return np.asarray(self.classes_[self.model_.predict(rows)])

    def _rows(self, Z: ArrayLike) -> NDArray[Any]:
        rows = written_out(fitted_rows(self, Z, _DTYPES, sparse=True))
        refuse_large(rows)
        return rows

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _chosen_by(chosen: ChosenBy | None, widths: object) -> str:
    if chosen is not None:
        return chosen.name
    return "median widths" if isinstance(widths, str) else "given"
