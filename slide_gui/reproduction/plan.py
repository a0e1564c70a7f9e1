"""The extent of a reproduction: the whole paper, or a small version."""

from __future__ import annotations

from dataclasses import dataclass

from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.experiments.evaluation.protocol import CellPlan, plan
from slide_gui.figures.export import FORMATS


@dataclass(frozen=True)
class ReproductionScale:
    """The extent of a reproduction.

    Attributes
    ----------
    cells : tuple of CellPlan
        Cells of the tables.
    noises, depths : tuple
        Noise levels and depths of the error curves.
    train_rows, test_rows : int or None
        Numbers of rows of the error curves. None means all.
    left_out : tuple of str
        Sentences on differences from the paper.
    formats : tuple of str
        Suffixes of the figures.
    """

    cells: tuple[CellPlan, ...]
    noises: tuple[float, ...]
    depths: tuple[int, ...]
    svm: SvmParameters
    method: str = "slide-svm"
    train_rows: int | None = None
    test_rows: int | None = None
    left_out: tuple[str, ...] = ()
    formats: tuple[str, ...] = FORMATS


def reproduction_scale(quick: bool, splits: int | None = None) -> ReproductionScale:
    """Return the extent of the whole evaluation, or of a small version."""
    if quick:
        return ReproductionScale(
            plan("quick", splits=splits),
            (0.1, 0.3, 0.5, 0.7, 0.9),
            (0, 1, 2, 3),
            SvmParameters(loss="hinge", C=10.0),
            "median",
            600,
            2000,
            (
                "This is the small version (--quick): it demonstrates the procedure, not the paper’s numbers.",
                "The tables: 600 training and 2 000 test rows of each data set, one split, few candidates or one, "
                "C = 10, median widths with one global width by cross-validation (not learned), autoencoders of one "
                "small layer and few epochs.",
                "The error curves: the same rows, five noises, up to three layers, widths and C as above.",
                "The figures of weights and flow are complete: they use all training rows.",
            ),
        )
    noises = tuple(round(0.1 * k, 12) for k in range(10))
    return ReproductionScale(
        plan("full", splits=splits),
        noises,
        (0, 1, 2, 3, 4),
        SvmParameters(),
        left_out=(
            "10 splits on Rectangles and 3 on Rectangles-Images and Convex, where the paper averages over 50 and 10; "
            "the grids and their reasons are in the program’s resources/protocol.toml.",
            "The error curves use one run at each point, trained on the whole training set, with squared hinge loss.",
        ),
    )
