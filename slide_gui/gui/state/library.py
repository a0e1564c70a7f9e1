"""The runs that the store keeps: their table, what is changed in it, and what is read of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot

from slide_gui.experiments.comparison import Comparison, compare_rows
from slide_gui.experiments.result import RunResult, StoredRun
from slide_gui.experiments.store import RunStore
from slide_gui.gui.state.workspace import Problem, Workspace, sentence
from slide_gui.progress import Progress

__all__ = ["RunLibrary"]


class RunLibrary(QObject):
    """Reads and changes the store in the lane, and keeps the table of its runs; pages read it.

    Signals
    -------
    changed()
        `runs` is another list, or other data are open.
    """

    changed = Signal()

    def __init__(self, workspace: Workspace, store: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._workspace, self._path = workspace, store
        self.runs: tuple[StoredRun, ...] = ()
        self._deleted: list[tuple[str, ...]] = []
        self._count = 0

    @Slot()
    def refresh(self) -> None:
        """Read the table of runs again."""
        self._store_job(None)

    def delete(self, keys: Sequence[str]) -> None:
        """Take runs out of the table; `undelete` brings them back."""
        self._deleted.append(tuple(keys))
        self._store_job(lambda store: store.delete(list(keys)))

    @Slot()
    def undelete(self) -> None:
        """Bring the runs that were deleted last back."""
        if self._deleted:
            keys = self._deleted.pop()
            self._store_job(lambda store: store.delete(list(keys), undo=True))

    @property
    def can_undelete(self) -> bool:
        """Whether runs were deleted that can come back."""
        return bool(self._deleted)

    @Slot(str, str)
    def tag(self, key: str, text: str) -> None:
        """Give a run other tags, separated by commas."""
        tags = [part.strip() for part in text.split(",") if part.strip()]
        self._store_job(lambda store: store.tag(key, tags))

    def load(self, key: str, deliver: Callable[[RunResult], None]) -> None:
        """Load a stored result and hand it over."""

        def work(progress: Progress) -> RunResult:
            return self.load_results([key], progress)[0]

        self._submit("Loading a run", work, "load", deliver)

    def load_results(self, keys: Sequence[str], progress: Progress) -> list[RunResult]:
        """Return stored results; for the lane.

        Raises
        ------
        KeyError, DataError
            If one is no longer there, or cannot be trusted.
        """
        found = []
        with RunStore(self._path, read_only=True) as store:
            for number, key in enumerate(keys):
                progress.report(number / len(keys))
                found.append(store.load(key))
        return found

    def compare(self, keys: tuple[str, str], pixels: tuple[int, ...], deliver: Callable[[Comparison], None]) -> None:
        """Load two results, and fit their stacks again for the rows of W of some pixels."""
        path, dataset = self._path, self._workspace.dataset

        def work(progress: Progress) -> Comparison:
            with RunStore(path, read_only=True) as store:
                first, second = store.load(keys[0]), store.load(keys[1])
            rows, shape, why_not = None, None, ""
            own = dataset is not None and {first.spec.fingerprint, second.spec.fingerprint} == {dataset.fingerprint}
            if dataset is None or not own:
                why_not = (
                    "These runs were made with other data than those that are open; open those to see their weights."
                )
            elif not max(first.spec.stack.depth, second.spec.stack.depth):
                why_not = "Neither run has a layer."
            else:
                shape = dataset.image_shape
                rows = compare_rows(dataset, first.spec, second.spec, pixels, progress=progress)
            names = dataset.label_names if dataset is not None and own else ()
            return Comparison(first, second, rows, why_not, shape, names)

        self._submit("Comparing two runs", work, "load", deliver)

    def _store_job(self, change: Callable[[RunStore], object] | None) -> None:
        path = self._path

        def work(_progress: Progress) -> tuple[StoredRun, ...]:
            # Only what changes something needs to write, or to make a store that is not there yet.
            with RunStore(path, read_only=change is None and path.exists()) as store:
                if change is not None:
                    change(store)
                return tuple(store.runs())

        self._count += 1  # every change counts: none may supersede the one before
        self._submit("Reading the runs", work, f"store-{self._count}", self._listed)

    @Slot(object)
    def _listed(self, runs: tuple[StoredRun, ...]) -> None:
        self.runs = runs
        self.changed.emit()

    def _submit(
        self, title: str, work: Callable[[Progress], Any], channel: str, deliver: Callable[[Any], None]
    ) -> None:
        self._workspace.lane.submit(title, work, channel=channel, on_result=deliver, on_failure=self._failed)

    @Slot(object)
    def _failed(self, error: Exception) -> None:
        self._workspace.problem.emit(Problem("The runs could not be read", sentence(error)))
