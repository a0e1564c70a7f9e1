"""What every figure and table of the paper is made with: data sets and models made once, and the files of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from slide_gui.core.parameters import StackParameters
from slide_gui.data.dataset import Dataset
from slide_gui.experiments.fit import FittedModel, fit_model
from slide_gui.experiments.store import RunStore
from slide_gui.experiments.sweep import Pause
from slide_gui.figures.benchmark_text import TextTable
from slide_gui.figures.extent import Extent
from slide_gui.figures.sheet import Sheet, save_sheet
from slide_gui.figures.style import Style
from slide_gui.progress import Progress

__all__ = ["Load", "Made", "Workshop"]

Load = Callable[[str, Progress], Dataset]


@dataclass(frozen=True, eq=False)
class Made:
    """One figure or table.

    Attributes
    ----------
    name : str
        Of its files.
    title : str
    files : tuple of str
        Relative to the folder.
    data : str
        Which data, generated or real.
    how : str
        How it was made.
    paper : str
        What the paper shows.
    seconds : float
        That it took now; stored runs take none.
    tables : tuple of TextTable
        To be shown as such.
    """

    name: str
    title: str
    files: tuple[str, ...]
    data: str
    how: str
    paper: str
    seconds: float
    tables: tuple[TextTable, ...] = ()


class Workshop:
    """Where the figures and tables are made.

    Parameters
    ----------
    folder : Path
        Gets the files.
    extent : Extent
    load : callable
        From the key of a data set and a progress to the data set.
    store : RunStore
    pause : Pause or None
        Of the runs.
    """

    def __init__(self, folder: Path, extent: Extent, load: Load, store: RunStore, pause: Pause | None) -> None:
        self.folder, self.extent, self.store, self.pause = folder, extent, store, pause
        self._load = load
        self._data: dict[str, Dataset] = {}
        self._models: dict[tuple[str, StackParameters], FittedModel] = {}

    def dataset(self, key: str, progress: Progress) -> Dataset:
        """Return a data set, loaded the first time."""
        if key not in self._data:
            self._data[key] = self._load(key, progress)
        return self._data[key]

    def model(self, key: str, parameters: StackParameters, progress: Progress) -> FittedModel:
        """Return the stack of a data set, fitted the first time."""
        if (key, parameters) not in self._models:
            self._models[key, parameters] = fit_model(self.dataset(key, progress), parameters, progress=progress)
        return self._models[key, parameters]

    def made(
        self,
        title: str,
        sheets: Sequence[Sheet],
        keys: Sequence[str],
        *,
        how: str,
        paper: str,
        width: str = "double",
        tables: tuple[TextTable, ...] = (),
    ) -> Made:
        """Write sheets in all forms, and return them as one figure or table, named after the first.

        Parameters
        ----------
        title : str
        sheets : sequence of Sheet
        keys : sequence of str
            Of data sets loaded before.
        how, paper, tables
            As of `Made`.
        width : str
            Of a `Style`.
        """
        files = tuple(name for sheet in sheets for name in self._save(sheet, Style(width=width)))
        return Made(sheets[0].name, title, files, self._said(keys), how, paper, 0.0, tables)

    def _save(self, sheet: Sheet, style: Style) -> list[str]:
        names = [f"{sheet.name}{suffix}" for suffix in (*self.extent.formats, ".csv", *sheet.texts)]
        for name in names:
            save_sheet(self.folder / name, sheet, style)
        return names

    def _said(self, keys: Sequence[str]) -> str:
        """Return which data these are."""
        datasets = [self._data[key] for key in keys]
        real = [dataset.name for dataset in datasets if not dataset.generated]
        made = [dataset.name.removesuffix(" (generated)") for dataset in datasets if dataset.generated]
        parts = [f"real: {', '.join(real)}"] * bool(real) + [f"generated: {', '.join(made)}"] * bool(made)
        return "; ".join(parts)
