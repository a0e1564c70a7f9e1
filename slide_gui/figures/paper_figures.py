"""The paper's figures and tables one by one: on which data, from which runs, and what the paper shows beside them."""

from __future__ import annotations

from slide_gui.core.parameters import StackParameters
from slide_gui.experiments.benchmark import run_benchmark
from slide_gui.experiments.closeness import closeness
from slide_gui.experiments.curves import error_curves
from slide_gui.experiments.flow import flow_result
from slide_gui.experiments.subset import subset
from slide_gui.experiments.sweep import run_sweep
from slide_gui.experiments.sweep_spec import SweepSpec
from slide_gui.experiments.timing import extrapolated_seconds, time_rows
from slide_gui.experiments.weights import default_pixels, weight_rows
from slide_gui.figures.benchmark_sheet import errors_sheet, times_sheet
from slide_gui.figures.benchmark_text import error_table, seconds_text, time_table
from slide_gui.figures.closeness import closeness_csv, draw_closeness
from slide_gui.figures.curves import curves_csv, draw_curves
from slide_gui.figures.export import weights_csv
from slide_gui.figures.flow import draw_flow, flow_csv
from slide_gui.figures.made import Made, Workshop
from slide_gui.figures.samples import draw_samples, sample_images, samples_csv
from slide_gui.figures.sheet import sheet_of
from slide_gui.figures.weights import draw_weights
from slide_gui.progress import Progress

__all__ = ["DATA", "PARTS"]

DATA = ("rectangles", "rectangles-images", "convex", "mnist")
"""The paper's data sets, in the order of its weight figure."""

_WEIGHTS = StackParameters(noise=0.3, depth=3)
_CLOSENESS = StackParameters(noise=0.5, depth=3)


def _samples(title: str, workshop: Workshop, progress: Progress) -> Made:
    samples = [sample_images(workshop.dataset(key, progress.part(0.0, 0.0))) for key in DATA]
    return workshop.made(
        title,
        [sheet_of("samples", samples, draw_samples, samples_csv)],
        DATA,
        how="Ten training images of each data set, drawn with seed 0.",
        paper="The paper describes the four data sets in words; pictures of them stand in figures that it comments "
        "out.",
    )


def _weights(title: str, workshop: Workshop, progress: Progress) -> Made:
    weights = []
    for key in DATA:
        quiet = progress.part(0.0, 0.0)
        model = workshop.model(key, _WEIGHTS, quiet)
        mean = workshop.dataset(key, quiet).train.mean(axis=0)
        weights.append(weight_rows(model, default_pixels(model.image_shape, mean)))
    return workshop.made(
        title,
        [sheet_of("weights", weights, draw_weights, weights_csv)],
        DATA,
        how=f"Rows of W for four pixels of each data set, {_words(_WEIGHTS)}, fitted on the whole training part.",
        paper="Reconstruction weights of four example pixels at different layers: crosses on both Rectangles sets, "
        "round patches on Convex and MNIST, fuzzier with depth.",
    )


def _flow(title: str, workshop: Workshop, progress: Progress) -> Made:
    quiet = progress.part(0.0, 0.0)
    model = workshop.model("mnist", _WEIGHTS, quiet)
    result = flow_result(model, workshop.dataset("mnist", quiet).train[0], "training image 1", 0)
    return workshop.made(
        title,
        [sheet_of("flow", result, draw_flow, flow_csv)],
        ("mnist",),
        how=f"The first training image, corrupted once (seed 0) and sent through the stack, {_words(_WEIGHTS)}.",
        paper="A schematic description of SLIDE: the input, T(h⁰), h¹, T(h¹), …; its corruption is virtual.",
    )


def _closeness(title: str, workshop: Workshop, progress: Progress) -> Made:
    quiet = progress.part(0.0, 0.0)
    model = workshop.model("rectangles", _CLOSENESS, quiet)
    result = closeness(workshop.dataset("rectangles", quiet), model, progress=progress)
    return workshop.made(
        title,
        [sheet_of("closeness", result, draw_closeness, closeness_csv)],
        ("rectangles",),
        how=f"{result.n_rows} test images, {_words(_CLOSENESS)}; distance sqrt(2 − 2k) under k = exp(−D/σ²), σ² the "
        "median squared distance of the layer, over the mean distance to other classes. The pair is the one, of "
        "those with the fewest lit pixels in common, that comes closest; the bands show all pairs.",
        paper="A figure that is commented out: two images of one class, with only 2 pixels in common, get much closer "
        "in RBF kernel space after denoising.",
    )


def _curves(title: str, workshop: Workshop, progress: Progress) -> Made:
    e = workshop.extent
    dataset = subset(workshop.dataset("rectangles", progress.part(0.0, 0.0)), e.train_rows, e.test_rows)
    warm = e.method == "slide-svm"
    sweep = SweepSpec(dataset.fingerprint, "rectangles", e.noises, e.depths, method=e.method, svm=e.svm, warm=warm)
    state = run_sweep(dataset, sweep, workshop.store, progress=progress, pause=workshop.pause)
    curves = error_curves(dataset, state.done)
    runs = sum({answer.point.spec.hash: answer.seconds for answer in state.done}.values())
    by = ", ".join(sorted({answer.chosen_by for answer in state.done if answer.chosen_by}))
    learned = f"widths learned at every point, by {by}" if warm else "one global width by cross-validation"
    return workshop.made(
        title,
        [sheet_of("curves", curves, draw_curves, curves_csv)],
        ("rectangles",),
        how=f"{len(e.noises)} noises × {len(e.depths)} depths, {len(dataset.train)} training and {len(dataset.test)} "
        f"test rows, {learned}, {e.svm.loss.replace('_', ' ')} loss; bands are 95 % intervals. {_took(runs)}",
        paper="The error on Rectangles against the noise 1 − p, depths 0 to 4: deep layers, l > 1, improve over one "
        "layer, up to l = 2. The values of its curves are not published.",
        width="one-and-a-half",
    )


def _tables(title: str, workshop: Workshop, progress: Progress) -> Made:
    cells, pulse = workshop.extent.cells, progress.part(0.95, 0.95)
    state = run_benchmark(
        cells, workshop.dataset, workshop.store, progress=progress.part(0.0, 0.95), pause=workshop.pause
    )
    cut = {cell.data: subset(workshop.dataset(cell.data, pulse), cell.train_rows, cell.test_rows) for cell in cells}
    tutorial = {key: extrapolated_seconds(dataset, progress=pulse) for key, dataset in cut.items()}
    times = time_rows(state, tutorial)
    return workshop.made(
        title,
        [errors_sheet(state), times_sheet(times)],
        [info.key for info in state.data],
        how="For each split of the training part, 80 / 20, the candidates of resources/protocol.toml are judged on the "
        f"20 %; the best is trained again and judged once on the test rows. {_took(state.run_seconds or 0.0)}",
        paper="Table 1, error rates of seven methods, and Table 2, running times of feature generation: beside ours in "
        "the tables.",
        tables=(error_table(state), time_table(times)),
    )


PARTS = (
    ("Samples of the data sets", 0.06, _samples),
    ("Reconstruction weights", 0.12, _weights),
    ("Schematic with a real image", 0.14, _flow),
    ("Closer in kernel space", 0.17, _closeness),
    ("Error against noise and depth", 0.35, _curves),
    ("Tables 1 and 2", 1.0, _tables),
)
"""Title of each, the fraction of the whole at which it ends, and what makes it of title, workshop and progress."""


def _words(parameters: StackParameters) -> str:
    return f"noise 1 − p = {parameters.noise:g}, {parameters.depth} layers"


def _took(seconds: float) -> str:
    return f"Its runs took {seconds_text(seconds)} in all when they were made."
