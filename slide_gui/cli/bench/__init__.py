"""Speed and memory, measured here: each figure beside a floor or reference of the same run."""

from __future__ import annotations

import sys
import textwrap
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict

from slide_gui.cli.bench import (
    answers,
    autoencoding,
    cancelling,
    classifying,
    fitting,
    killing,
    memory,
    reading,
    reproducing,
    window,
)
from slide_gui.cli.bench.figure import Figure
from slide_gui.cli.console import DONE, FAILED, UsageError, print_json

__all__ = ["MEASUREMENTS", "Figure", "bench", "listing"]

MEASUREMENTS: dict[str, Callable[[], list[Figure]]] = {
    "fit": fitting.fit_and_transform,
    "fit-then": fitting.fit_then_layers,
    "noise-path": fitting.noise_path,
    "memory": memory.fit_memory,
    "amat": reading.amat,
    "cancel": cancelling.cancel,
    "cancel-runs": cancelling.cancel_runs,
    "hover": window.hover,
    "drag": window.drag,
    "start": window.start,
    "benchmark-page": window.benchmark_page,
    "lateness": window.lateness,
    "lateness-runs": window.lateness_runs,
    "svm": classifying.svm,
    "svm-ten": classifying.svm_ten,
    "svm-hard": classifying.svm_hard,
    "svm-mnist": classifying.svm_mnist,
    "widths": classifying.widths,
    "sda": autoencoding.sda,
    "live": answers.live,
    "sweep": answers.sweep,
    "kills": killing.kills,
    "reproduce": reproducing.reproduce_quick,
}
"""Name on the command line → function that measures one or several figures."""


def listing() -> str:
    """Return one line a measurement, as the help shows them."""
    lines = []
    for name, measure in MEASUREMENTS.items():
        says = (measure.__doc__ or "").strip().splitlines()[0].rstrip(".")
        lines += textwrap.wrap(says, 110, initial_indent=f"  {name:<15}", subsequent_indent=17 * " ")
    return "\n".join(
        [
            "figures:",
            *lines,
            "",
            "Each line printed says whether its bound is met; the exit code is 0 if all are.",
            "Real data are used where they are found (slide-gui datasets).",
        ]
    )


def bench(names: Sequence[str], as_json: bool) -> int:
    """Measure and print; the exit code says whether every bound was met.

    Parameters
    ----------
    names : sequence of str
        Keys of `MEASUREMENTS`; empty for all.
    as_json : bool
        Print one JSON list on stdout instead of a table.
    """
    unknown = [name for name in names if name not in MEASUREMENTS]
    if unknown:
        raise UsageError(f"there is no measurement {unknown[0]!r}; choose from {', '.join(MEASUREMENTS)}")
    figures: list[Figure] = []
    start = time.perf_counter()
    for name in names or MEASUREMENTS:
        if sys.stderr.isatty():
            print(f"measuring {name} …", file=sys.stderr)
        for figure in MEASUREMENTS[name]():
            figures.append(figure)
            if not as_json:
                print(figure.line(), flush=True)
    if as_json:
        print_json([asdict(figure) for figure in figures])
    else:
        met, minutes = sum(figure.met for figure in figures), (time.perf_counter() - start) / 60
        print(f"{met} of {len(figures)} bounds met, in {minutes:.1f} min")
    return DONE if all(figure.met for figure in figures) else FAILED
