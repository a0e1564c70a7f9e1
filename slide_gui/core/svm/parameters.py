"""What a multi-width SVM is trained with, and what chose its widths."""

from __future__ import annotations

from dataclasses import dataclass, replace

from slide_gui.core.choices import Choice, check_choice, table_of
from slide_gui.core.svm.criteria import AUTO, LEARNED_BY
from slide_gui.core.validation import check_flag, check_number, check_whole

__all__ = ["GUARD", "LOSSES", "WIDTHS", "Candidate", "ChosenBy", "Loss", "SvmParameters"]


@dataclass(frozen=True)
class Loss(Choice):
    """What a point inside the margin costs: the distance to it, or that squared."""

    squared: bool


LOSSES = table_of(
    Loss("squared_hinge", "squared hinge", "L2-SVM, the one whose widths are learned", squared=True),
    Loss(
        "hinge",
        "hinge",
        "C-SVC, the ordinary SVM, whose widths are learned with the squared hinge",
        squared=False,
    ),
)


WIDTHS = table_of(
    Choice("learn", "learned", "one width a layer by gradient descent on a criterion"),
    Choice("median", "median", "the median distance in each layer, all times one scale"),
)
"""How the widths are found where they are not given."""


@dataclass(frozen=True)
class SvmParameters:
    """What a multi-width SVM is trained with; the estimator `MultiWidthSVC` describes each in full.

    Attributes
    ----------
    groups : int, tuple of int, or None
        Blocks of columns, one width each.
    widths : "learn", "median" or tuple of float
    criterion : str
        A key of `LEARNED_BY`.
    loss : str
        A key of `LOSSES`.
    max_iter : int or None
        Most pair steps a two-class problem.
    subset_size : int
        Most points the widths are learned on.
    starts : int
        Descents, from the best points of a grid.
    retune : bool
        Whether what was learned on a subset, or with another loss, is adjusted on held-out rows not learned on.
    memory : int
        Bytes the training may use above its input.
    near : (widths, C) or None
        Learn from here too (a neighbouring problem’s answer), beside the best point of the grid.
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
    memory: int = 2 << 30
    seed: int = 0
    near: tuple[tuple[float, ...], float] | None = None

    def checked(self) -> SvmParameters:
        """Return these parameters, normalised.

        Raises
        ------
        ValueError
            If one is out of its range; says which and what it may be.
        """
        check_choice("criterion", self.criterion, LEARNED_BY)
        check_choice("loss", self.loss, LOSSES)
        C, max_iter = self.C, self.max_iter
        if C is not None:
            C = check_number("C", C, positive=True, needed="a positive number, or None to choose it")
        if max_iter is not None:
            max_iter = check_whole("max_iter", max_iter, 1, otherwise=", or None for no limit")
        return replace(
            self,
            widths=_checked_widths(self.widths),
            C=C,
            tol=check_number("tol", self.tol, positive=True),
            max_iter=max_iter,
            subset_size=check_whole("subset_size", self.subset_size, 2),
            starts=check_whole("starts", self.starts, 1),
            retune=check_flag("retune", self.retune),
            memory=check_whole("memory", self.memory, 1),
            seed=check_whole("seed", self.seed, 0),
        )


def _checked_widths(widths: object) -> str | tuple[float, ...]:
    if isinstance(widths, str):
        return check_choice("widths", widths, WIDTHS).key
    refusal = f"widths is {widths!r}; it must be {', '.join(WIDTHS)} or one positive number a layer"
    if not isinstance(widths, (tuple, list)) or not widths:
        raise ValueError(refusal)
    try:
        return tuple(check_number("widths", width, positive=True) for width in widths)
    except ValueError:
        raise ValueError(refusal) from None


GUARD = "median widths (guard)"
"""What chose the widths where learned ones were overruled."""


@dataclass(frozen=True)
class Candidate:
    """Widths and a C that were evaluated on rows not trained on.

    Attributes
    ----------
    kind : {"learned", "median"}
        The widths, multiplied by `scale`.
    wrong, total : float
        Misclassified rows and all rows: their number, or the sum of their weights.
    n_rows : int
        Number of rows evaluated.
    converged : bool
        False if the solver was cut off in one of the trainings.
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
    """How the widths were chosen.

    Attributes
    ----------
    criterion : str
        The criterion that they were learned by.
    guarded : bool
        True if median widths replaced the learned ones.
    learned_error, median_error : float or None
        Share of the held-out rows that are misclassified with the learned widths and with the median widths at their
        best scale, each at its best C; neither was learned or selected on these rows. None if a class has too few rows.
    n_held_out : int
        Number of these rows; 0 in results that earlier versions stored.
    candidates : tuple of Candidate
        All that were evaluated, those on the held-out rows last.
    """

    criterion: str
    guarded: bool = False
    learned_error: float | None = None
    median_error: float | None = None
    n_held_out: int = 0
    candidates: tuple[Candidate, ...] = ()

    @property
    def name(self) -> str:
        """The criterion, or that the guard decided."""
        return GUARD if self.guarded else self.criterion
