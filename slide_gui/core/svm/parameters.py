"""Parameters of a multi-width SVM, and records of how its widths and C were selected."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.choices import Choice, check_choice, table_of
from slide_gui.core.svm.criteria import AUTO, LEARNED_BY
from slide_gui.core.validation import check_flag, check_integer, check_integers, check_number, number_or_nan


@dataclass(frozen=True)
class Loss(Choice):
    """Loss function of the SVM: the hinge loss max(0, 1 − y f(x)), or its square if `squared` is True."""

    squared: bool


LOSSES = table_of(
    Loss("squared_hinge", "squared hinge", "the loss of the L2-SVM, always used to learn widths", squared=True),
    Loss("hinge", "hinge", "the loss of the ordinary SVM (C-SVC)", squared=False),
)


# Ways to select the widths if no widths are given.
WIDTHS = table_of(
    Choice("learn", "learned", "one width per layer, learned by gradient descent on a criterion"),
    Choice("median", "median", "the median distance in each layer, multiplied by one factor for all layers"),
)


@dataclass(frozen=True)
class SvmParameters:
    """Parameters of a multi-width SVM; the estimator `MultiWidthSVC` describes them in full.

    Attributes
    ----------
    groups : int, tuple of int, or None
        Number of column blocks of equal size, or the number of columns of each block. None means a single block. A
        block contains the columns of one layer and has one kernel width.
    widths : "learn", "median" or tuple of float
        Key of `WIDTHS`, or the width σ_t of each block.
    criterion : str
        Key of `LEARNED_BY`: the criterion that is minimised to learn the widths.
    loss : str
        Loss of the final training, a key of `LOSSES`.
    C : float or None
        Penalty for errors. If it is None, C is selected on the training set.
    tol : float
        Largest allowed violation of the optimality conditions of a trained SVM.
    max_iter : int or None
        Largest number of SMO steps per two-class problem; None sets no limit.
    subset_size : int
        Largest number of rows on which widths are learned.
    starts : int
        Number of gradient descents, each from one of the best points of a grid of widths and C.
    retune : bool
        If True, all learned widths are multiplied by one common factor, and C is adjusted if `C` is None. The factor
        and C are selected on held-out rows that were not used for learning. `retune` has no effect if more than four
        fifths of the rows are used for learning.
    retune_rows : int
        Largest number of rows on which the common factor and C are adjusted. If widths are not learned and `C` is None,
        C and a common factor of median widths are first selected on at most 10 000 rows. They are then adjusted on
        more rows only if there are more than 10 000 rows and `retune_rows` is larger than 10 000.
    memory : int
        Number of bytes that training may use in addition to its input.
    seed : int
        Seed of all random choices.
    near : (widths, C) or None
        Widths and C of a similar problem. One descent starts from these, and another from the best point of the grid.
    """

    groups: int | tuple[int, ...] | None = None
    widths: str | tuple[float, ...] = "learn"
    criterion: str = AUTO
    loss: str = "squared_hinge"
    C: float | None = None
    tol: float = 1e-3
    max_iter: int | None = None
    subset_size: int = 2500
    starts: int = 2
    retune: bool = True
    retune_rows: int = 10_000
    memory: int = 2 << 30
    seed: int = 0
    near: tuple[tuple[float, ...], float] | None = None

    def document(self) -> dict[str, Any]:
        """Return the parameters as a dictionary for JSON. Omit `retune_rows` if it has its default value."""
        usual = self.retune_rows == SvmParameters.retune_rows
        return {name: value for name, value in vars(self).items() if name != "retune_rows" or not usual}

    def checked(self) -> Self:
        """Check all parameters, and return them with numbers converted to plain Python types.

        Raises
        ------
        ValueError
            If a parameter has an invalid value. The message gives the value and the allowed range.
        """
        check_choice("criterion", self.criterion, LEARNED_BY)
        check_choice("loss", self.loss, LOSSES)
        C, max_iter = self.C, self.max_iter
        if C is not None:
            # With a smaller C, 1 / C would overflow in float32.
            needed = "a number of at least 1e-30, or None to select C automatically"
            C = check_number("C", C, least=1e-30, needed=needed)
        if max_iter is not None:
            max_iter = check_integer("max_iter", max_iter, 1, otherwise=", or None for no limit")
        return replace(
            self,
            widths=_checked_widths(self.widths),
            C=C,
            tol=check_number("tol", self.tol, positive=True),
            max_iter=max_iter,
            retune=check_flag("retune", self.retune),
            **check_integers(self, subset_size=2, starts=1, retune_rows=2, memory=1, seed=0),
        )


def _checked_widths(widths: object) -> str | tuple[float, ...]:
    if isinstance(widths, str) and widths in WIDTHS:
        return widths
    numbers = tuple(map(number_or_nan, widths)) if isinstance(widths, (tuple, list)) else ()
    if not numbers or not all(1e-100 <= number <= 1e100 for number in numbers):
        raise ValueError(
            f"widths is {widths!r}; it must be {', '.join(WIDTHS)} or numbers from 1e-100 to 1e100 for the input and "
            "each layer"
        )
    return numbers


@dataclass(frozen=True)
class WidthsStep:
    """One iteration of learning the widths.

    Attributes
    ----------
    iteration : int
        Number of the iteration, from 0. The numbers continue from one descent to the next.
    start : int
        Index of the starting point of this descent, from 0.
    criterion : float
        Value of the criterion J without the prior.
    widths, shares : tuple of float
        Width σ_t of each layer, and the fraction of the kernel's exponent that the layer contributes.
    C : float
        Penalty for errors at this iteration.
    n_support : int
        Number of support vectors on the subset, summed over all pairs of classes.
    prior : float
        Penalty for the distance of the widths and C from the starting point. Learning minimises the sum of J and this
        penalty.
    """

    iteration: int
    start: int
    criterion: float
    widths: tuple[float, ...]
    shares: tuple[float, ...]
    C: float
    n_support: int
    prior: float = 0.0

    @property
    def objective(self) -> float:
        """The value that learning minimises: criterion J plus prior. It never increases within a descent."""
        return self.criterion + self.prior


# Name of the criterion in `ChosenBy.name` if median widths replaced the learned widths.
GUARD = "median widths (guard)"


@dataclass(frozen=True)
class Candidate:
    """Widths and C that were evaluated by cross-validation or on held-out rows.

    Attributes
    ----------
    kind : {"learned", "median"}
        "learned" for widths learned by gradient descent, "median" for widths from median distances.
    scale : float
        Factor by which these widths were multiplied.
    C : float
        Penalty for errors.
    wrong, total : float
        Number of misclassified rows, and number of all evaluated rows. If the rows have weights, sums of their weights.
    n_rows : int
        Number of evaluated rows.
    converged : bool
        False if the solver reached the largest allowed number of steps at least once.
    """

    kind: str
    scale: float
    C: float
    wrong: float = 0
    total: float = 0
    n_rows: int = 0
    converged: bool = True


@dataclass(frozen=True)
class ChosenBy:
    """Record of how the widths were selected.

    Attributes
    ----------
    criterion : str
        Criterion by which the widths were learned.
    guarded : bool
        True if median widths replaced the learned widths.
    learned_error, median_error : float or None
        Fraction of held-out rows that are misclassified with the learned widths, and with the median widths. C and the
        scale of the widths were selected on other rows in both cases. Both values are None if no comparison was made,
        for example because a class has too few rows.
    n_held_out : int
        Number of held-out rows; 0 in results stored by earlier versions.
    candidates : tuple of Candidate
        All evaluated candidates: first those evaluated by cross-validation, then those evaluated on the held-out rows.
    """

    criterion: str
    guarded: bool = False
    learned_error: float | None = None
    median_error: float | None = None
    n_held_out: int = 0
    candidates: tuple[Candidate, ...] = ()

    @property
    def name(self) -> str:
        """Name of the criterion, or `GUARD` if median widths replaced the learned widths."""
        return GUARD if self.guarded else self.criterion


@dataclass(frozen=True)
class GridPoint:
    """Cross-validation error at one grid point (σ, C). `converged` is True if the solver converged in every fold."""

    sigma: float
    C: float
    error: float
    converged: bool = True


@dataclass(frozen=True, eq=False)
class SelectedWidths:
    """Selected widths and C.

    Attributes
    ----------
    widths : ndarray of shape (L,)
        Width σ_t of each layer.
    C : float
        Penalty for errors.
    history : tuple of WidthsStep
        Iterations in which the widths were learned on a sample of the rows. Median widths may have replaced the learned
        widths because of fewer errors on a held-out fifth of the sample. In this case, the iterations on the other rows
        are given.
    chosen : ChosenBy or None
        Record of how the widths were selected. None if they were not learned.
    grid : tuple of GridPoint
        All evaluated points of a grid search over σ and C; empty if there was no grid search.
    """

    widths: NDArray[np.float64]
    C: float
    history: tuple[WidthsStep, ...] = ()
    chosen: ChosenBy | None = None
    grid: tuple[GridPoint, ...] = ()
