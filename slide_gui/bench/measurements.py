"""Every measurement by its name on the command line."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

from slide_gui.bench import (
    answers,
    autoencoding,
    cancelling,
    classifying,
    cluster,
    fitting,
    killing,
    memory,
    reading,
    spreading,
    window,
)
from slide_gui.bench.measurement import Measurement

__all__ = ["MEASUREMENTS", "listing"]

MEASUREMENTS: dict[str, Callable[[], list[Measurement]]] = {
    "fit": fitting.fit_and_transform,
    "fit-then": fitting.fit_then_layers,
    "noise-path": fitting.noise_path,
    "memory": memory.fit_memory,
    "fit-workers": cluster.fit_workers,
    "fit-growth": cluster.fit_growth,
    "amat": reading.amat,
    "cancel": cancelling.cancel,
    "cancel-runs": cancelling.cancel_runs,
    "hover": window.hover,
    "drag": window.drag,
    "strokes": window.strokes,
    "start": window.start,
    "benchmark-page": window.evaluation_page,
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
    "sweep-workers": spreading.sweep_by_workers,
    "run-overhead": spreading.overhead,
    "kills": killing.kills,
    "reproduce": answers.reproduce_quick,
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
