"""The main job without a display: the weight figure of the generated Rectangles, and a picture of the window."""

from __future__ import annotations

import os
from pathlib import Path

from slide_gui.progress import NO_PROGRESS, Progress

__all__ = ["headless"]


def headless(out: Path, *, progress: Progress = NO_PROGRESS) -> list[Path]:
    """Fit a stack on generated Rectangles; write its weight figure, its numbers and a picture of the window.

    Parameters
    ----------
    out : Path
        Folder for weights.pdf, .svg, .png and .csv, and window.png; made if it is missing.

    Returns
    -------
    list of Path
        What was written.
    """
    from slide_gui.core.slide.stack import StackParameters
    from slide_gui.data.catalogue import generate
    from slide_gui.experiments.inspection.rows import default_pixels, weight_rows
    from slide_gui.experiments.model_file import fit_model
    from slide_gui.figures.export import FORMATS, save_figure, weights_csv
    from slide_gui.figures.style import Style
    from slide_gui.figures.weights import draw_weights

    dataset = generate("rectangles", progress=progress.part(0.0, 0.3))
    model = fit_model(dataset, StackParameters(depth=4), progress=progress.part(0.3, 0.6))
    weights = [weight_rows(model, default_pixels(dataset.image_shape, dataset.train.mean(axis=0, dtype="float64")))]
    style = Style()
    paths = [out / f"weights{suffix}" for suffix in FORMATS]
    for number, path in enumerate(paths, start=1):
        save_figure(lambda figure: draw_weights(figure, weights, style), path, style)
        progress.report(0.6 + 0.3 * number / len(paths))
    weights_csv(out / "weights.csv", weights)
    os.environ["QT_QPA_PLATFORM"] = os.environ.get("QT_QPA_PLATFORM") or "offscreen"  # empty counts as unset
    from slide_gui.gui.app import take_screenshot

    take_screenshot(out / "window.png")
    progress.report(1.0)
    return [*paths, out / "weights.csv", out / "window.png"]
