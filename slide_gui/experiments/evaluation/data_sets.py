"""The data sets of the evaluation: those in the catalogue, and variants of them that the protocol defines."""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from slide_gui.data.catalogue import find_files
from slide_gui.data.dataset import Dataset
from slide_gui.data.entries import Entry, entries, entry
from slide_gui.experiments.files.source import DataSource
from slide_gui.experiments.runs.splits import with_test_part
from slide_gui.progress import NO_PROGRESS, Progress
from slide_gui.resources import toml_resource


@lru_cache(maxsize=64)
def data_entry(key: str) -> Entry:
    """Return the description of a data set in the catalogue, or of a variant that the protocol defines.

    Raises
    ------
    KeyError
        If neither the catalogue nor the protocol contains this key.
    """
    derived = toml_resource("protocol.toml")["derived"].get(key)
    if derived is None:
        return entry(key)
    changed = {name: value for name, value in derived.items() if name not in ("of", "seed", "files")}
    return replace(entry(derived["of"]), key=key, sets=(), files=(), **changed)


def data_key(name: str) -> str:
    """Return the key of the data set with this name, or an empty string if there is none."""
    derived = toml_resource("protocol.toml")["derived"]
    keys = {each.title: each.key for each in (*entries(), *map(data_entry, derived))}
    return keys.get(name, "")


def load_data(key: str, progress: Progress = NO_PROGRESS, *, generated: bool = False) -> Dataset:
    """Read or generate a data set of the protocol.

    Parameters
    ----------
    generated : bool
        True to generate the data even if the files with the real data are available.

    Raises
    ------
    DataError
        If the files of the data set are damaged.
    """
    derived = toml_resource("protocol.toml")["derived"].get(key)
    if derived is None:
        return DataSource(key=key, generated=generated).load(progress=progress)
    seed = derived.get("seed")
    source = DataSource(key=derived["of"], seed=seed or 0, generated=generated or seed is not None)
    files = [] if source.generated else find_files(derived.get("files", ()))
    if files:
        source = DataSource(paths=tuple(map(str, files)))
    dataset = source.load(progress=progress)
    # A variant that has neither a seed nor files uses only the training rows of a data set in the catalogue. Some of
    # these rows are held out as the test set of the variant.
    if seed is None and not files:
        dataset = with_test_part(replace(dataset, test=dataset.test[:0], test_labels=np.empty(0, np.int64)))
    return replace(dataset, name=derived["title"], key="")
