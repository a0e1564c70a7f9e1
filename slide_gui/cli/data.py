"""`slide-gui datasets` lists, downloads and describes data sets. `slide-gui fit` fits a stack and saves it."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from slide_gui.cli import options
from slide_gui.cli.console import Entry, UsageError, add_json, print_answer, progress_bar
from slide_gui.data.catalogue import download, find
from slide_gui.data.dataset import Dataset
from slide_gui.data.entries import entries
from slide_gui.experiments.files.model_file import FittedModel, save_model
from slide_gui.experiments.inspection.rows import input_rms
from slide_gui.text import counted, dataset_title, label_names


def _datasets_options(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)

    named = {}
    for name, run, text in (
        ("list", _list, "list the benchmark data sets and the files found for them"),
        ("get", _get, "download the files of a benchmark data set (uses the network)"),
        ("info", _info, "describe a data set"),
    ):
        named[name] = actions.add_parser(name, help=text, description=text)
        named[name].set_defaults(run=run)
        add_json(named[name])
    named["get"].add_argument("key", metavar="NAME", nargs="+", help="a name from `slide-gui datasets list`")
    options.add_data(named["info"])
    options.add_seed(named["info"])


def _list(arguments: argparse.Namespace) -> int:
    names = ("key", "title", "n_train", "n_test", "licence", "citation")
    rows = [{**{name: getattr(each, name) for name in names}, "found": find(each.key) or None} for each in entries()]
    lines = (
        f"{row['key']:<18} {row['n_train']:>6} + {row['n_test']:>6} rows  "
        + (", ".join(map(str, row["found"] or ())) or "no files found; generated data are used instead")
        for row in rows
    )
    return print_answer(arguments, rows, lines)


def _get(arguments: argparse.Namespace) -> int:
    known = [entry.key for entry in entries()]
    for key in arguments.key:
        if key not in known:
            raise UsageError(f"unknown data set {key!r}; choose one of {', '.join(known)}")
    written = {}
    for key in arguments.key:
        with progress_bar(f"fetching {key}") as progress:
            written[key] = download(key, progress=progress)
    return print_answer(arguments, written, (f"{key}: {', '.join(map(str, paths))}" for key, paths in written.items()))


def _info(arguments: argparse.Namespace) -> int:
    dataset = options.read_data(options.data_source(arguments))
    document = {
        **{name: getattr(dataset, name) for name in ("name", "generated", "source")},
        "n_train": len(dataset.train),
        "n_test": len(dataset.test),
        "held_out": None if dataset.held_out is None else str(dataset.held_out),
        "n_features": dataset.n_features,
        "image_shape": dataset.image_shape,
        "feature_names": dataset.feature_names or None,
        "guessed": [f"{guess.what}: {guess.why}" for guess in dataset.checks] or None,
        "train_labels": _counts(dataset.train_labels, dataset),
        "test_labels": _counts(dataset.test_labels, dataset),
        "lowest": float(dataset.train.min()),
        "highest": float(dataset.train.max()),
        **{name: getattr(dataset, name) for name in ("licence", "citation", "fingerprint")},
    }
    lines = (f"{name.replace('_', ' '):<14} {_shown(value)}" for name, value in document.items())
    return print_answer(arguments, document, lines)


def _counts(labels: Any, dataset: Dataset) -> dict[str, int] | None:
    """Return the number of rows with each label, or None if the rows have no labels.

    Each key is the name of a label, or its value as text if the label has no name.
    """
    if labels is None:
        return None
    import numpy as np

    values, counts = np.unique(labels, return_counts=True)
    return dict(zip(label_names(values.tolist(), dataset.label_names), counts.tolist(), strict=True))


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{name}: {count}" for name, count in value.items())
    if isinstance(value, (tuple, list)):
        return (" × " if isinstance(value, tuple) and isinstance(value[0], int) else "; ").join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _fit_options(parser: argparse.ArgumentParser) -> None:
    options.add_data(parser)
    options.add_stack_options(parser)
    parser.add_argument("-o", "--output", type=Path, metavar="MODEL.npz", help="save the fitted model to this file")


def describe_model(model: FittedModel) -> dict[str, Any]:
    """Return the description of a model for the output of --json."""
    stack, names = model.stack, ("dataset", "generated", "fingerprint", "image_shape", "seconds", "version")
    return {
        **{name: getattr(model, name) for name in names},
        "n_samples": stack.n_samples,
        "n_features": stack.n_features,
        "parameters": stack.parameters.document(),
        "errors": [layer.error for layer in stack.layers],
    }


def _fit(arguments: argparse.Namespace) -> int:
    parameters, output, source = options.stack_parameters(arguments), arguments.output, options.data_source(arguments)
    options.check_outputs(arguments, [output], [source])
    options.check_model_output(output)
    model = options.fit_data(options.read_data(source), parameters)
    if output is not None:
        save_model(output, model)
    document = {**describe_model(model), "output": output}
    return print_answer(arguments, document, _model_lines(model), [] if output is None else [output])


def _model_lines(model: FittedModel) -> Iterator[str]:
    stack, p = model.stack, model.stack.parameters
    size = f"{counted(stack.n_samples, 'row')} of {counted(stack.n_features, 'feature')}"
    yield f"{dataset_title(model.dataset, model.generated)}: {size}"
    fitted = f"noise level 1−p = {p.noise:g}, keep probability p = {1 - p.noise:g}; fitted in {model.seconds:.2f} s"
    yield fitted if stack.layers else "the depth is 0, so no layer is fitted"
    for number, layer in enumerate(stack.layers, start=1):
        yield f"layer {number}: expected squared reconstruction error {layer.error:.6g} per feature and row"
    rms = input_rms(stack.layers[0]) if stack.layers else None
    if rms is not None and rms.max() > 1:
        largest = f"the root mean square of feature {int(rms.argmax())} is {rms.max():.4g}"
        yield f"some values exceed the range 0 to 1 that the threshold assumes ({largest}); scale the data to 0 … 1"


COMMANDS: dict[str, Entry] = {"datasets": (_datasets_options, None), "fit": (_fit_options, _fit)}
