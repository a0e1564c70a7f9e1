"""Simulate intervals and tests of the evaluation, in a few seconds: `.venv/bin/python packaging/make_reliability.py`.

The errors of k splits on the same n rows are sums of three random effects: of the row, of the split, and of their
interaction. The script computes how often intervals miss the expected error, and how often tests find a difference
between equal methods. It draws these fractions to resources/help/reliability.png, and prints them as the table of
resources/help/measurements.md.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from slide_gui.error_rate import LEVEL, ErrorRate  # noqa: E402
from slide_gui.experiments.statistics import crossed_mean, mcnemar  # noqa: E402
from slide_gui.figures.canvas import INK, MUTED, Plot, line_color, marked_line  # noqa: E402
from slide_gui.figures.export import export_of, save_export  # noqa: E402
from slide_gui.figures.style import Style  # noqa: E402
from tests.experiments.test_statistics import matrices  # noqa: E402

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

SPLITS = (1, 2, 3, 5, 10, 20)
EFFECTS = (0.0, 0.05, 0.1, 0.3)
"""Standard deviations of the effect of the split. The effect of the row has 1, and the interaction has 0.5."""
ROWS, COUNT, ERROR = 200, 2000, 0.1
PANELS = (
    "Gaussian: intervals that miss", "binary: intervals that miss", "Gaussian: false positives",
    "binary: false positives",
)  # fmt: skip
Shares = dict[tuple[int, float], tuple[float, ...]]


def simulated(splits: int, effect: float) -> tuple[float, ...]:
    """Return the fractions that `PANELS` names. For one split, the fractions for Gaussian errors are NaN."""
    effects, common = (1.0, effect, 0.5), (0.8, 0.0, 0.0)
    total = math.sqrt(sum(each**2 for each in effects))
    errors = matrices(splits, ROWS, effects, COUNT, seed=1)
    limit = float(np.quantile(np.random.default_rng(0).standard_normal(1_000_000), 1.0 - ERROR))
    shared = matrices(splits, ROWS, common, COUNT, seed=2)
    first, second = (shared + matrices(splits, ROWS, (0.6, effect, 0.5), COUNT, seed=seed) for seed in (3, 4))
    wrong = [each > limit * total for each in (errors, first, second)]
    binary = missed(wrong[0]), rejected(wrong[1], wrong[2])
    if splits == 1:
        return math.nan, binary[0], math.nan, binary[1]
    means = [crossed_mean(matrix) for matrix in errors]
    differences = [crossed_mean(matrix).p < LEVEL for matrix in first - second]
    return share([abs(each.mean) > each.half for each in means]), binary[0], share(differences), binary[1]


def missed(wrong: NDArray[np.bool_]) -> float:
    """Return the fraction of intervals that miss the expected error. They are computed as in the evaluation."""
    rates = []
    for matrix in wrong:
        error = float(matrix.mean())
        if len(matrix) > 1:
            half = crossed_mean(matrix).half
            rates.append(ErrorRate.of_mean(error, half, ROWS, len(matrix), 0.0, "rows and splits"))
        else:
            rates.append(ErrorRate.of_run(error, ROWS))
    return share([not rate.low <= ERROR <= rate.high for rate in rates])


def rejected(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> float:
    """Return the fraction of tests that find a difference between equal methods. They are those of the evaluation."""
    pairs = zip(first, second, strict=True)
    if first.shape[1] == 1:
        return share([mcnemar(one[0], other[0]).exact < LEVEL for one, other in pairs])
    return share([crossed_mean(one.astype(int) - other).p < LEVEL for one, other in pairs])


def share(outcomes: list[bool]) -> float:
    return sum(outcomes) / len(outcomes)


def draw(figure: Figure, shares: Shares, style: Style) -> None:
    plot = Plot(figure, style, 96.0)
    second = f"{COUNT} simulations of {ROWS} rows for each point; 95 % intervals, tests at p < 0.05 (grey lines)"
    plot.title("Reliability of intervals and tests", second)
    width, height = plot.width / 2, 39.0
    for number, title in enumerate(PANELS):
        row, column = divmod(number, 2)
        x, y = column * width, 11.0 + row * (height + 1.0)
        plot.text(x + 9.0, y + 2.0, f"{title} (%)", 5.5, weight="bold")
        axes = plot.axes((x + 9.0, y + 4.0, width - 12.0, height - 13.0), title)
        axes.axhline(100 * LEVEL, color=MUTED, linewidth=0.8)
        for place, effect in enumerate(EFFECTS):
            values = [100 * shares[splits, effect][number] for splits in SPLITS]
            marked_line(axes, range(len(SPLITS)), values, line_color(place), 1.0)
        axes.set_xticks(range(len(SPLITS)), [str(splits) for splits in SPLITS])
        axes.set_ylim(0.0, 100.0 if "binary" in title else 10.0)
        if "binary" in title:
            axes.set_yscale("symlog", linthresh=10.0)
            axes.set_yticks([0, 5, 10, 50], ["0", "5", "10", "50"])
        axes.set_xlabel("splits", fontsize=5, color=INK, labelpad=1)
    for place, effect in enumerate(EFFECTS):
        plot.key(9.0 + 27.0 * place, plot.height - 3.0, f"effect of splits {effect:g}", line_color(place))


def main() -> None:
    shares = {(splits, effect): simulated(splits, effect) for splits in SPLITS for effect in EFFECTS}
    export = export_of("reliability", shares, draw, lambda path, _: path.touch())
    save_export(ROOT / "resources" / "help" / "reliability.png", export, Style(width="one-and-a-half", dpi=120))
    print("| effect of splits | " + " | ".join(f"k = {splits}" for splits in SPLITS) + " |")
    print("|---|" + "---|" * len(SPLITS))
    for effect in EFFECTS:
        cells = (" ".join(f"{100 * each:.1f}" for each in shares[splits, effect]) for splits in SPLITS)
        print(f"| {effect:g} | " + " | ".join(cell.replace("nan", "–") for cell in cells) + " |")


if __name__ == "__main__":
    main()
