"""`slide-gui predict` classifies new rows with a saved model, and `slide-gui features` writes their representations."""

import argparse
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.cli import options
from slide_gui.cli.console import Entry, UsageError, print_answer, progress_bar, warn
from slide_gui.cli.store import describe_rate
from slide_gui.data.entries import entries
from slide_gui.data.files import write_whole
from slide_gui.data.new_rows import read_new_rows
from slide_gui.data.readers.parts import label_texts
from slide_gui.data.readers.tables import is_number
from slide_gui.error_rate import ClassRates, ErrorRate
from slide_gui.experiments.files.model_file import FittedModel, load_model
from slide_gui.experiments.files.source import DataSource
from slide_gui.figures.tables import save_table
from slide_gui.progress import Progress
from slide_gui.text import counted, dataset_title, listed_names


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, metavar="MODEL", help="a model saved by slide-gui (.npz)")
    text = "the new rows; columns are matched by name to the model's columns, and scaled as in training"
    parser.add_argument("data", nargs="+", metavar="DATA", help=text)
    options.add_table_options(parser.add_argument)
    parser.add_argument("--transposed", action="store_true", help="the images are stored column by column")


def _predict_options(parser: argparse.ArgumentParser) -> None:
    _options(parser)
    text = "write a CSV file with the number, predicted class and margin of each row, and its picture and label, if any"
    parser.add_argument("-o", "--output", type=Path, metavar="FILE.csv", help=text)


def _features_options(parser: argparse.ArgumentParser) -> None:
    _options(parser)
    text = "write [h⁰ | … | hˡ] as array X, and any labels and names of pictures as arrays y and pictures"
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE.npz", help=text)


def _read(
    arguments: argparse.Namespace, progress: Progress, *, classify: bool = False
) -> tuple[FittedModel, NDArray[np.float32], Any, tuple[str, ...]]:
    """Return the model, the new rows, their labels as text (None if they have none), and the names of their pictures.

    If `classify` is True, a model without a classifier is refused before the rows are read.
    """
    options.check_outputs(arguments, [arguments.output], [DataSource(paths=(str(arguments.model), *arguments.data))])
    reading = options.read_options(arguments)
    model = load_model(arguments.model)
    if classify and model.svm is None:
        raise UsageError(f"{arguments.model} has no classifier; use a model saved by slide-gui train --save-model")
    rows, labels, pictures, warning = read_new_rows(
        [Path(name) for name in arguments.data],
        model.stack.n_features,
        names=model.feature_names,
        label_column=model.label_column,
        image_shape=model.image_shape,
        scaling=model.scaling,
        reading=reading,
        progress=progress,
    )
    if warning:
        warn(warning)
    return model, rows, labels, pictures


def _predict(arguments: argparse.Namespace) -> int:
    with progress_bar("predicting") as progress:
        model, rows, labels, pictures = _read(arguments, progress.part(0.0, 0.3), classify=True)
        codes, margins = model.predict(rows, progress.part(0.3, 1.0))
    names = [model.class_names[code] for code in codes.tolist()]
    output, counts = arguments.output, Counter(names)
    document: dict[str, Any] = {"model": arguments.model, "dataset": model.dataset, "rows": len(rows)}
    document |= {"predicted": {name: counts[name] for name in model.class_names}, "output": output}
    document |= {"classes": names} | ({"pictures": pictures} if pictures else {}) if output is None else {}
    listed = ", ".join(f"{name}: {counts[name]}" for name in model.class_names if counts[name])
    lines = [f"{counted(len(rows), 'row')} classified by the model of {_title(model)}: {listed}"]
    labels = labels and _class_names(labels, model)
    if labels is not None and not set(labels) & set(model.class_names):
        warn("none of the labels in these rows is a class of the model, so no error is reported")
    elif labels is not None:
        known = list(dict.fromkeys((*model.class_names, *labels)))
        if other := known[len(model.class_names) :]:
            warn(f"rows of the classes {listed_names(other)} count as errors, because the model lacks these classes")
        place, confusion = {name: k for k, name in enumerate(known)}, np.zeros((len(known),) * 2, np.int64)
        np.add.at(confusion, ([place[each] for each in labels], [place[each] for each in names]), 1)
        n_wrong, rates = len(rows) - int(np.trace(confusion)), ClassRates.of(confusion, known)
        rate = ErrorRate.of_run(n_wrong / len(rows), len(rows))
        document |= describe_rate(rate) | rates.document
        lines += filter(None, [f"error {rate}, {n_wrong} of {len(rows)} misclassified", rates.sentence])
    if output is not None:
        all_columns = {"row": range(1, len(rows) + 1), "picture": pictures, "predicted": names}
        all_columns |= {"margin": margins.tolist(), "label": labels}
        columns = {head: cells for head, cells in all_columns.items() if cells}
        save_table(output, list(columns), zip(*columns.values(), strict=True))
    return print_answer(arguments, document, lines, [] if output is None else [output])


def _class_names(labels: list[str], model: FittedModel) -> list[str]:
    """Return the name of the model's class that each label matches, or the label itself if it matches none.

    Labels that are numbers are compared by value, so the label 1 matches the class "01". It also matches class 1 of a
    benchmark data set, and a class that is a range of numbers if the range contains 1. The label TRUE matches the
    class True.
    """
    first, last = model.class_names[0], model.class_names[-1]
    if first.startswith("up to ") and last.startswith("above ") and all(map(is_number, labels)):
        limits = [float(name.split()[-1]) for name in model.class_names[:-1]]
        return [model.class_names[k] for k in np.searchsorted(limits, np.array(labels, float))]
    known = {f"{float(name):.10g}": name for name in model.class_names if is_number(name)}
    for entry in entries():
        if entry.title == model.dataset and set(model.class_names) <= set(entry.label_names):
            known |= {str(code): name for code, name in enumerate(entry.label_names)}
    known |= {name.lower(): name for name in model.class_names if name.lower() in ("true", "false")}
    plain = {label: f"{float(label):.10g}" for label in labels if is_number(label)}
    return [x if x in model.class_names else known.get(plain.get(x, x.lower()), x) for x in labels]


def _features(arguments: argparse.Namespace) -> int:
    output = arguments.output
    options.check_suffix(output, (".npz",), "-o")
    with progress_bar("computing features") as progress:
        model, rows, labels, pictures = _read(arguments, progress.part(0.0, 0.3))
        arrays: dict[str, Any] = {"X": model.stack.transform(rows, progress=progress.part(0.3, 1.0))}
    if labels is not None:
        numbers = np.array([float(each) if is_number(each) else np.nan for each in labels])
        numbers = numbers if (numbers % 1).any() else numbers.astype(np.int64)
        # If a class name such as 01 would be lost by writing it as a number, all labels are written as text.
        arrays["y"] = numbers if label_texts(numbers) == labels else np.array(labels)
    arrays |= {"pictures": np.array(pictures)} if pictures else {}
    write_whole(output, lambda file: np.savez(file, allow_pickle=False, **arrays))
    n, d = arrays["X"].shape
    document = {"model": arguments.model, "rows": n, "features": d, "depth": len(model.stack.layers), "output": output}
    line = f"{counted(n, 'row')} with {counted(d, 'feature')}, computed by the model of {_title(model)}"
    return print_answer(arguments, document, [line], [output])


def _title(model: FittedModel) -> str:
    return dataset_title(model.dataset, model.generated)


COMMANDS: dict[str, Entry] = {"predict": (_predict_options, _predict), "features": (_features_options, _features)}
