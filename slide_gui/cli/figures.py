"""`slide-gui weights`, `flow` and `copies` draw a figure of a fitted stack.

`slide-gui draw` redraws an exported figure of runs. `slide-gui demo` writes example figures and a screenshot.
"""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from slide_gui.cli import options
from slide_gui.cli.console import Entry, UsageError, print_answer, progress_bar, usage, warn
from slide_gui.cli.data import describe_model
from slide_gui.data.errors import DataError
from slide_gui.data.files import folder_files
from slide_gui.experiments.files.model_file import FittedModel
from slide_gui.experiments.files.provenance import FigureProvenance
from slide_gui.experiments.files.session import Selection, SessionRecord, picture_text
from slide_gui.experiments.files.source import DataSource
from slide_gui.experiments.inspection.closed_form import MOST_ROWS, CopiesResult, CopiesStudy
from slide_gui.experiments.inspection.flow import FlowResult, flow_result
from slide_gui.experiments.inspection.rows import WeightRows, default_pixels, weight_rows
from slide_gui.figures.color_scale import MAPS
from slide_gui.figures.copies import copies_export
from slide_gui.figures.export import FigureExport, save_bundle, save_export
from slide_gui.figures.flow import flow_export
from slide_gui.figures.run_exports import FIGURE_NAMES, HEAT_MAP, RUN_FIGURES, run_export
from slide_gui.figures.style import ANIMATION_DPI, LEVELS, SHOWN, WIDTHS, Style
from slide_gui.figures.weights import as_shown, noise_animation, tile_limits, weights_export
from slide_gui.text import counted

_FORMATS = ("pdf", "svg", "png", "csv")


def _add_figure_options(parser: argparse.ArgumentParser, name: str, *, of_weights: bool = False) -> None:
    """Add the options for the style and the output of a figure. With `of_weights`, also add --show and --bias.

    The output is one or more files, or a bundle: a folder with the figure, its numbers and a script that reproduces it.
    """
    usual = Style()
    group = parser.add_argument_group("figure")
    options.add_fields(group, usual, levels=("colour limits", LEVELS), colors=f"colour map: {', '.join(MAPS)}")
    _add_size(group)
    group.add_argument("--transpose", action="store_true", help="show images with rows and columns exchanged")
    if of_weights:
        options.add_fields(group, usual, show=("quantity shown in the tiles", SHOWN))
        group.add_argument("--bias", action="store_true", help="write the bias below each tile")
    _add_outputs(parser, f"{name}.pdf")
    text = "write a folder with the figure, its numbers, and the command line and Python script that reproduce it"
    parser.add_argument("--bundle", type=Path, metavar="FOLDER", help=text)


def _add_size(parser: argparse._ActionsContainer) -> None:
    options.add_fields(parser, Style(), width=f"figure width: {', '.join(WIDTHS)}", dpi="dots per inch of PNG files")


def _add_outputs(parser: argparse.ArgumentParser, usual: str) -> None:
    text = f"output file; its suffix selects a figure format or CSV (default: {usual})"
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help=text)
    text = "write the output in each of these formats; the suffix of FILE, if any, must be one of them"
    parser.add_argument("--format", nargs="+", metavar="NAME", help=text)
    text = "write pictures without the session, from which the window restores the view (a bundle always contains it)"
    parser.add_argument("--no-session", action="store_true", help=text)


def _style(arguments: argparse.Namespace) -> Style:
    """Return the figure style that the arguments specify, or raise an error if a value is invalid."""
    names = ("levels", "colors", "width", "dpi", "show", "bias")
    with usage():
        return Style(**options.given(arguments, *names), transposed=getattr(arguments, "transpose", False))


def _outputs(
    arguments: argparse.Namespace, name: str, sources: Sequence[DataSource], formats: Sequence[str] = _FORMATS
) -> list[Path]:
    """Return the requested output files. The default is one file called `name` in the first of the formats.

    Refuse formats other than `formats`, and outputs that would replace an input or another of the user's files.
    """
    bundle = getattr(arguments, "bundle", None)
    suffixes = [f".{each}" for each in dict.fromkeys(arguments.format or formats)]
    output: Path = arguments.output or Path(f"{name}{suffixes[0]}")
    for wanted in arguments.format or ():
        if wanted not in formats:
            raise UsageError(f"--format is {wanted!r}; it must be one of {', '.join(formats)}")
    if bundle is not None and (arguments.output or arguments.format or arguments.no_session):
        raise UsageError("--bundle sets the files and formats; leave out --output, --format and --no-session")
    if output.suffix or not arguments.format:
        options.check_suffix(output, suffixes, "-o")
    outputs = [output]
    if arguments.format:
        outputs = [output if output.suffix.lower() == each else output.with_suffix(each) for each in suffixes]
    if arguments.output is None and bundle is None:
        options.refuse_existing(outputs)
    if bundle is None:
        options.check_outputs(arguments, outputs, sources)
    options.check_folder(arguments, bundle, sources)
    return outputs


def _write(
    export: FigureExport,
    style: Style,
    outputs: list[Path],
    arguments: argparse.Namespace,
    document: dict[str, Any],
    lines: Sequence[str] = (),
    session: str = "",
) -> int:
    """Write a figure as pictures or as a bundle, and print the figure's result and the file names as JSON or text.

    Each picture contains the session unless --no-session is given. A bundle contains the session as a separate file.
    The function returns the exit code.
    """
    if getattr(arguments, "bundle", None) is not None:
        outputs = save_bundle(arguments.bundle, export, style, session)
    else:
        with progress_bar("drawing") as progress:
            for path, part in progress.each(outputs):
                save_export(path, export, style, "" if arguments.no_session else session, part)
    return print_answer(arguments, {"outputs": outputs, **document}, lines, outputs)


def _session(
    source: DataSource, model: FittedModel, style: Style, view: str, test_row: int | None = None, **selection: Any
) -> str:
    """Return the session to store in a picture of `view`, a view of the Weights page."""
    # Do not store the grey colour map in the session, because the window does not offer it.
    colors = "auto" if style.colors == "grey" else style.colors
    chosen = Selection(levels=style.levels, colors=colors, transposed=style.transposed, show=style.show, **selection)
    test_image = () if test_row is None else (("weights", "test", str(test_row)),)
    choices = (("weights", "view", view), *test_image)
    return picture_text(SessionRecord(source, model.fingerprint, model.stack.parameters, chosen, "weights", choices))


def _weights_options(parser: argparse.ArgumentParser) -> None:
    text = "one or more data sets; each is a name (see: slide-gui datasets list), a file, or several joined files; "
    text += "join the files of a data set by the system's path separator (: or ;)"
    parser.add_argument("data", nargs="+", metavar="DATA", help=text)
    options.add_data_options(parser)
    text = "pixels to show, numbered from 0; if the data are not images, indices or names of the features to show; "
    text += "use --pixels once for all data sets, or once per data set, in the same order (default: four bright pixels)"
    parser.add_argument("--pixels", nargs="+", action="append", metavar="ROW,COLUMN", help=text)
    options.add_stack_options(parser)
    text = "write a GIF animation of the weights at noise levels from 0 to 0.95"
    parser.add_argument("--animate", choices=("noise",), help=text)
    _add_figure_options(parser, "weights", of_weights=True)


def _weights(arguments: argparse.Namespace) -> int:
    animation = arguments.animate
    if animation and arguments.bundle is not None:
        raise UsageError("--animate and --bundle cannot be used together; give only one")
    if animation and arguments.dpi is None:
        arguments.dpi = ANIMATION_DPI
    style = _style(arguments)
    parameters = options.stack_parameters(arguments)
    if parameters.depth == 0:
        raise UsageError("depth is 0; a weight figure needs at least one layer, so use --depth 1 or more")
    sources = [options.data_source(arguments, [text]) for text in arguments.data]
    outputs = _outputs(arguments, "weights", sources, ("gif",) if animation else _FORMATS)
    given, n = arguments.pixels or [[]], len(sources)
    wanted = given * n if len(given) == 1 else given
    if len(wanted) != n:
        raise UsageError(f"--pixels is given {len(given)} times for {n} data sets; give it once, or once per data set")
    datasets, models, weights = [], [], []
    for source, texts in zip(sources, wanted, strict=True):
        dataset = options.read_data(source)
        model = options.fit_data(dataset, parameters)
        pixels = tuple(_pixel_named(text, model) for text in texts)
        pixels = pixels or default_pixels(dataset.image_shape, dataset.train.mean(axis=0, dtype="float64"))
        datasets.append(dataset)
        models.append(model)
        weights.append(weight_rows(model, pixels))
    shown, contributions = as_shown(weights, style.show)
    export = noise_animation(datasets, weights) if animation else weights_export(weights, sources)
    alone = len(models) == 1
    session = _session(sources[0], models[0], style, "weights", pins=weights[0].pixels) if alone else ""
    # The JSON document of an animation contains neither the colour limits nor the choice of weights or contributions.
    # Both depend on all pictures of the animation, which are computed only when the animation is written.
    show = style.show if animation else "contribution" if contributions else "weights"
    data = _weights_documents(models, shown, style)
    for pixel in (pixel for each in (data if animation else ()) for pixel in each["pixels"]):
        del pixel["limits"]
    document = {"show": show, "data": data}
    values = SHOWN[show].tip if show == "auto" else SHOWN[show].text
    remark = "; a CSV file always contains the weights" if contributions and not animation else ""
    return _write(export, style, outputs, arguments, document, [f"the tiles show {values}{remark}"], session)


def _pixel_named(text: str, model: FittedModel) -> int:
    """Return the index of the feature given by ROW,COLUMN, by its index or by its name. Refuse an unknown feature."""
    shape = model.image_shape
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if text in model.feature_names:
        return model.feature_names.index(text)
    if shape is None:
        if len(numbers) != 1 or not 0 <= numbers[0] < model.stack.n_features:
            last = model.stack.n_features - 1
            raise UsageError(f"pixel {text!r}: expected a feature of {model.dataset}, numbered 0 to {last}")
        return numbers[0]
    if len(numbers) != 2 or not (0 <= numbers[0] < shape[0] and 0 <= numbers[1] < shape[1]):
        raise UsageError(
            f"pixel {text!r}: expected ROW,COLUMN; the rows of {model.dataset} are numbered 0 to {shape[0] - 1}, "
            f"and the columns 0 to {shape[1] - 1}"
        )
    return numbers[0] * shape[1] + numbers[1]


def _weights_documents(models: list[FittedModel], weights: list[WeightRows], style: Style) -> list[dict[str, Any]]:
    documents = []
    for model, rows, limits in zip(models, weights, tile_limits(weights, style.levels), strict=True):
        pixels = []
        for i, pixel in enumerate(rows.pixels):
            place = [pixel] if rows.image_shape is None else list(divmod(pixel, rows.image_shape[1]))
            named = {"feature": rows.feature_names[pixel]} if rows.feature_names else {}
            pixels.append({"pixel": place, **named, "biases": rows.biases[i].tolist(), "limits": limits[i].tolist()})
        documents.append({**describe_model(model), "pixels": pixels})
    return documents


def _flow_options(parser: argparse.ArgumentParser) -> None:
    options.add_data(parser)
    group = options.add_image_options(parser)
    group.add_argument("--name", help="name of the image in the figure")
    group.add_argument("--corruption", type=int, default=0, metavar="SEED", help="seed for the corruption (default: 0)")
    group.add_argument("--clean", action="store_true", help="do not corrupt the image")
    options.add_stack_options(parser)
    _add_figure_options(parser, "flow")


def _flow(arguments: argparse.Namespace) -> int:
    style, parameters = _style(arguments), options.stack_parameters(arguments)
    if parameters.depth == 0:
        raise UsageError("depth is 0; this figure needs at least one layer, so use --depth 1 or more")
    if arguments.corruption < 0:
        raise UsageError(f"--corruption is {arguments.corruption}; expected a seed of 0 or more")
    if arguments.clean and arguments.corruption:
        raise UsageError("--corruption has no effect with --clean; leave one of them out")
    source = options.data_source(arguments)
    outputs = _outputs(arguments, "flow", [source])
    dataset = options.read_data(source)
    image, name = options.chosen_image(dataset, arguments)
    model = options.fit_data(dataset, parameters)
    result = flow_result(model, image, arguments.name or name, None if arguments.clean else arguments.corruption)
    lines = [
        f"layer {k}: mean squared difference {h.target_error:.6g} from the layer below, {h.input_error:.6g} from x"
        for k, h in enumerate(result.flow.layers, start=1)
    ]
    export = flow_export(result, source)
    row = arguments.row if arguments.image is None else 0
    of_test = arguments.image is None and arguments.part == "test"
    session = _session(source, model, style, "flow", row if of_test else None, sample=0 if of_test else row)
    return _write(export, style, outputs, arguments, _flow_document(result), lines, session)


def _flow_document(result: FlowResult) -> dict[str, Any]:
    flow = result.flow
    return {
        **describe_model(result.model),
        "image": result.image,
        "corruption": result.seed,
        "blanked": int((~flow.survivors).sum()),
        "corruption_error": flow.corruption_error,
        "layers": [{"error_from_below": each.target_error, "error_from_x": each.input_error} for each in flow.layers],
    }


def _copies_options(parser: argparse.ArgumentParser) -> None:
    options.add_data(parser)
    group = parser.add_argument_group("corrupted copies")
    group.add_argument("--layer", type=int, default=1, metavar="K", help="layer, from 1 to the depth (default: 1)")
    group.add_argument("--most", type=int, default=256, metavar="M", help="largest number m of copies (default: 256)")
    group.add_argument("--shown", type=int, metavar="M", help="draw the weights for m = M (default: largest m)")
    group.add_argument("--seeds", type=int, default=3, metavar="N", help="average over N seeds for each m (default: 3)")
    group.add_argument("--rows", type=int, metavar="N", help="use at most N training rows (default: 1200)")
    group.add_argument("--pixel", metavar="ROW,COLUMN", help="pixel whose weights are drawn (default: central pixel)")
    options.add_stack_options(parser)
    _add_figure_options(parser, "copies")


def _copies(arguments: argparse.Namespace) -> int:
    style, parameters = _style(arguments), options.stack_parameters(arguments)
    layer, depth, most, seeds = arguments.layer, parameters.depth, arguments.most, arguments.seeds
    if not 1 <= layer <= depth:
        allowed = f"choose a layer from 1 to the depth, {depth}" if depth else "depth 0 has no layers; use --depth 1"
        raise UsageError(f"--layer is {layer}; {allowed}")
    if not parameters.noise:
        raise UsageError("--noise is 0, so every copy equals the data and Wₘ equals W; give a noise level above 0")
    if most < 1 or seeds < 1 or (arguments.rows is not None and arguments.rows < 2):
        raise UsageError("--most and --seeds must be at least 1, and --rows at least 2")

    counts = [2**k for k in range(most.bit_length())]
    shown = counts[-1] if arguments.shown is None else arguments.shown
    if shown not in counts:
        raise UsageError(f"--shown is {shown}; it must be one of {', '.join(map(str, counts))}")
    source = options.data_source(arguments)
    outputs = _outputs(arguments, "copies", [source])
    dataset = options.read_data(source)
    model = options.fit_data(dataset, parameters)
    feature = dataset.central_feature if arguments.pixel is None else _pixel_named(arguments.pixel, model)
    rows = arguments.rows or MOST_ROWS
    study = CopiesStudy(model.stack, dataset.train, layer, seeds=seeds, most=most, most_rows=rows)
    with progress_bar("corrupting copies") as progress:
        copies = study.run(progress)
    result = CopiesResult(model, copies, feature, shown)
    head = f"relative error: geometric mean over {counted(seeds, 'seed')} (smallest to largest)"
    lines = [head, *(f"m = {m}: {mean:.6g} ({low:.6g} to {high:.6g})" for m, mean, low, high in copies.curve())]
    slope = copies.slope()
    if slope is not None:
        lines.append(f"for m ≥ 8, the error is approximately proportional to m to the power {slope:.3f}")
    export = copies_export(result, source)
    session = _session(source, model, style, "copies", pins=(feature,))
    return _write(export, style, outputs, arguments, _copies_document(result), lines, session)


def _copies_document(result: CopiesResult) -> dict[str, Any]:
    copies, feature = result.copies, result.feature
    return {
        **describe_model(result.model),
        "layer": copies.layer,
        "rows": copies.n_rows,
        "seeds": copies.seeds,
        "slope": copies.slope(),
        "feature": feature,
        "points": [
            {
                "copies": point.copies,
                "errors": point.errors.tolist(),
                "row_errors": [None if error != error else error for error in point.row_errors[:, feature].tolist()],
            }
            for point in copies.points
        ],
    }


def _draw_options(parser: argparse.ArgumentParser) -> None:
    text = "JSON file of a figure that was exported as a bundle, such as curves.json"
    parser.add_argument("provenance", type=Path, metavar="FILE", help=text)
    _add_size(parser)
    _add_outputs(parser, "FIGURE.pdf")


def _draw(arguments: argparse.Namespace) -> int:
    style = _style(arguments)
    provenance = FigureProvenance.read(arguments.provenance)
    if provenance.figure not in FIGURE_NAMES:
        known = ", ".join(FIGURE_NAMES)
        raise DataError(f"unknown figure {provenance.figure!r}; choose one of {known}", str(arguments.provenance))
    outputs = _outputs(arguments, provenance.figure, [provenance.source])
    if provenance.difference:
        warn(f"{arguments.provenance}: {provenance.difference}")
    dataset = options.read_data(provenance.source)
    with progress_bar("training") as progress:
        results = provenance.answers(dataset, progress=progress)
    export = run_export(provenance, dataset, results)
    page = "classifier" if provenance.figure in RUN_FIGURES else "curves"
    choices = (("curves", "view", str(int(provenance.figure == HEAT_MAP))),) if page == "curves" else ()
    stack = provenance.points[0].spec.stack
    record = SessionRecord(provenance.source, dataset.fingerprint, stack, page=page, choices=choices)
    document = {"figure": provenance.figure, "errors": [result.error for result in results]}
    return _write(export, style, outputs, arguments, document, session=picture_text(record))


def _demo_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, default=Path("out"), metavar="FOLDER", help="output folder (default: out)")


def _demo(arguments: argparse.Namespace) -> int:
    from slide_gui.cli.parser import output_of

    out: Path = arguments.out
    options.check_folder(arguments, out)
    figures = [out / f"weights.{each}" for each in _FORMATS]
    screenshot = out / "window.png"
    saved = [*figures, screenshot]
    with folder_files(out, [path.name for path in saved]):
        output_of(["weights", "generated:rectangles", "--depth", "4", "-o", str(figures[0]), "--format", *_FORMATS])
        # Qt treats an empty QT_QPA_PLATFORM like an unset variable, so Qt would need a display.
        os.environ["QT_QPA_PLATFORM"] = os.environ.get("QT_QPA_PLATFORM") or "offscreen"
        from slide_gui.gui.app import take_screenshot

        take_screenshot(screenshot)
    return print_answer(arguments, {"outputs": saved}, [], saved)


COMMANDS: dict[str, Entry] = {
    "weights": (_weights_options, _weights),
    "flow": (_flow_options, _flow),
    "copies": (_copies_options, _copies),
    "draw": (_draw_options, _draw),
    "demo": (_demo_options, _demo),
}
