"""`slide-gui datasets`: which data sets there are, what they hold, and fetching their files."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from slide_gui.cli.console import DONE, UsageError, print_json, progress_bar
from slide_gui.cli.options import Subparsers, add_json

if TYPE_CHECKING:
    from slide_gui.data.dataset import Dataset

__all__ = ["NAME", "register"]

NAME = "datasets"


def register(commands: Subparsers) -> None:
    """Add the subcommand and its own."""
    parser = commands.add_parser(NAME, help="list, download and describe data sets", description=__doc__)
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)

    action = actions.add_parser("list", help="name the benchmark data sets and say which files are here")
    add_json(action)
    action.set_defaults(run=_list)

    action = actions.add_parser("get", help="download the files of a benchmark data set (uses the network)")
    action.add_argument("key", metavar="NAME", nargs="+", help="as `slide-gui datasets list` names it")
    add_json(action)
    action.set_defaults(run=_get)

    action = actions.add_parser("info", help="describe a data set")
    action.add_argument("data", metavar="DATA", nargs="+", help="a name, or the file or files of one data set")
    action.add_argument("--seed", type=int, default=0, help="of the generator, where data are generated (0)")
    add_json(action)
    action.set_defaults(run=_info)


def _list(arguments: argparse.Namespace) -> int:
    from slide_gui.data.catalogue import entries, find

    rows: list[dict[str, Any]] = []
    for entry in entries():
        paths = find(entry.key)
        rows.append(
            {
                "key": entry.key,
                "title": entry.title,
                "n_train": entry.n_train,
                "n_test": entry.n_test,
                "found": [str(path) for path in paths] if paths else None,
                "licence": entry.licence,
                "citation": entry.citation,
            }
        )
    if arguments.json:
        print_json(rows)
        return DONE
    for row in rows:
        where = ", ".join(row["found"]) if row["found"] else "not here, generated instead"
        print(f"{row['key']:<18} {row['n_train']:>6} + {row['n_test']:>6} rows  {where}")
    return DONE


def _get(arguments: argparse.Namespace) -> int:
    from slide_gui.data.catalogue import download, entries

    known = [entry.key for entry in entries()]
    for key in arguments.key:
        if key not in known:
            raise UsageError(f"there is no data set {key!r}; choose one of {', '.join(known)}")
    written = {}
    for key in arguments.key:
        with progress_bar(f"fetching {key}") as progress:
            written[key] = [str(path) for path in download(key, progress=progress)]
    if arguments.json:
        print_json(written)
    else:
        for key, paths in written.items():
            print(f"{key}: {', '.join(paths)}")
    return DONE


def _info(arguments: argparse.Namespace) -> int:
    from slide_gui.experiments.source import DataSource

    with progress_bar("reading") as progress:
        dataset = DataSource.of(arguments.data, arguments.seed).load(progress=progress)
    document = _describe(dataset)
    if arguments.json:
        print_json(document)
        return DONE
    for name, value in document.items():
        print(f"{name.replace('_', ' '):<14} {_shown(value)}")
    return DONE


def _describe(dataset: Dataset) -> dict[str, Any]:
    return {
        "name": dataset.name,
        "generated": dataset.generated,
        "source": dataset.source,
        "n_train": int(dataset.train.shape[0]),
        "n_test": int(dataset.test.shape[0]),
        "n_features": dataset.n_features,
        "image_shape": dataset.image_shape,
        "train_labels": _counts(dataset.train_labels, dataset),
        "test_labels": _counts(dataset.test_labels, dataset),
        "lowest": float(dataset.train.min()),
        "highest": float(dataset.train.max()),
        "licence": dataset.licence,
        "citation": dataset.citation,
        "fingerprint": dataset.fingerprint,
    }


def _counts(labels: Any, dataset: Dataset) -> dict[str, int] | None:
    """Return how many rows each label has, by its name where it has one."""
    if labels is None:
        return None
    import numpy as np

    names = dataset.label_names
    values, counts = np.unique(labels, return_counts=True)
    return {
        names[value] if 0 <= value < len(names) else str(value): int(count)
        for value, count in zip(values.tolist(), counts, strict=True)
    }


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{name}: {count}" for name, count in value.items())
    if isinstance(value, tuple):
        return " × ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
