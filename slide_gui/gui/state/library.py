"""The run library, which lists, tags and deletes the runs in the run store, and loads their results."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot

from slide_gui.data.errors import DataError
from slide_gui.experiments.evaluation.shipped import shipped_results
from slide_gui.experiments.inspection.comparison import RunComparison, compare_rows
from slide_gui.experiments.runs.result import RunResult
from slide_gui.experiments.store.store import RunStore
from slide_gui.experiments.store.stored_run import StoredRun, tags_of
from slide_gui.gui.state.jobs import JobQueue, UserMessage, sentence
from slide_gui.gui.state.workspace import Workspace
from slide_gui.progress import Progress
from slide_gui.text import counted

_FAILURE = "The runs could not be read"


@dataclass(frozen=True)
class RunSelection:
    """Runs to be selected in the table of runs: their hashes, and a search text that matches them."""

    keys: tuple[str, ...]
    words: str


class RunLibrary(QObject):
    """Reads and changes the run store in a separate job queue, and loads results in the window's job queue.

    Parameters
    ----------
    path : Path
        File of the run store.

    Attributes
    ----------
    listed : bool
        True if the list `runs` has been read at least once. Otherwise, it contains at most the shipped runs.
    gone : frozenset of str
        Hashes of the runs that were in the list `runs` and have since been deleted by this window or another program.

    Signals
    -------
    changed()
        One of the attributes `runs` and `reading` changed.
    """

    changed = Signal()

    def __init__(self, workspace: Workspace, path: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._workspace, self.path = workspace, path
        self.runs: tuple[StoredRun, ...] = ()
        self.gone = frozenset[str]()
        self.listed = False
        # The library has its own queue, so that its short jobs need not wait for computations in the window's queue.
        self._queue = JobQueue(self)
        self._queue.problem.connect(workspace.problem)
        # Each key contains the hashes of all runs that the user wanted to delete in one step. The value contains only
        # the hashes of runs that this window has deleted, because undo must not restore runs that another process had
        # deleted before.
        self.deleted: dict[tuple[str, ...], list[str]] = {}
        self._jobs = 0
        self._unread = ""  # The error of the last reading, or "" if it succeeded.

    @property
    def stored_runs(self) -> tuple[StoredRun, ...]:
        """Return the runs in the run store, without the runs shipped with the program."""
        return tuple(run for run in self.runs if not run.is_shipped)

    @property
    def reading(self) -> bool:
        """True while a job reads or changes the run store. The list `runs` may change when the job ends."""
        return self._queue.busy

    def close(self) -> None:
        """Finish all requested changes to the run store, and end the worker thread."""
        self._queue.close(finish=True)

    @Slot()
    def refresh(self) -> None:
        """Read the list of runs from the run store again."""
        self._change_and_read(None)

    def add(self, runs: Sequence[StoredRun]) -> None:
        """Add runs that a job of this window has just stored to the list `runs` without reading the run store."""
        if self.reading or not self.listed:
            self.refresh()  # A list that is currently being read may lack the new runs.
            return
        self._list(tuple(({run.hash: run for run in self.runs} | {run.hash: run for run in runs}).values()))

    @Slot(object)
    def delete(self, keys: Sequence[str]) -> None:
        """Delete the runs with these hashes from the run store, except shipped runs. The user can undo the deletion."""
        shipped = {run.hash for run in self.runs if run.is_shipped}
        keys = [key for key in keys if key not in shipped]
        if not keys:
            return
        self._change(f"deletion of {counted(len(keys), 'run')}", self._hide, (tuple(keys), False), (tuple(keys), True))

    def _hide(self, change: tuple[tuple[str, ...], bool]) -> None:
        keys, deleted = change
        if deleted:
            hidden = self.deleted[keys] = []
            self._change_and_read(lambda store: hidden.extend(store.delete(keys)))
        else:
            # Undo the deletion. The queue runs one job at a time, so the runs have been deleted before this job starts.
            hidden = self.deleted.pop(keys, [])
            self._change_and_read(lambda store: store.delete(hidden, undo=True))

    @Slot(str, str)
    def tag(self, key: str, text: str) -> None:
        """Replace the tags of a run by those in `text`, which are separated by commas."""
        before = next((run.tags for run in self.runs if run.hash == key), ())
        tags = tags_of(text)
        self._change("change of tags", self._set_tags, (key, tags, before), (key, before, tags))

    def _set_tags(self, change: tuple[str, tuple[str, ...], tuple[str, ...]]) -> None:
        key, seen, tags = change
        self._change_and_read(lambda store: store.tag(key, tags, seen))

    def _change(self, text: str, apply: Callable[[Any], None], before: object, after: object) -> None:
        apply(after)
        self._workspace.history.record(text, apply, before, after)

    def without_result(self, key: str) -> StoredRun | None:
        """Return the shipped run with this hash if the program contains the run without its result, else None."""
        return next((run for run in self.runs if run.hash == key != self.opening_key and run.is_shipped), None)

    @property
    def opening_key(self) -> str:
        """Return the hash of the run whose classifier is shipped with the program, or "" if there is none.

        If the run store contains a run with this hash, it is used instead of the shipped run.
        """
        classifier = shipped_results().classifier
        return "" if classifier is None else classifier.hash

    def load(self, key: str, deliver: Callable[[RunResult], None]) -> None:
        """Load the stored result of the run with this hash, and pass it to `deliver`."""
        self._workspace.queue.submit(
            "Loading a run",
            lambda progress: self.load_results([key], progress)[0],
            channel="load",
            on_result=deliver,
            failure=_FAILURE,
        )

    def load_results(self, keys: Sequence[str], progress: Progress) -> list[RunResult]:
        """Return the stored results of the runs with these hashes.

        If the run with the hash `opening_key` is not stored, its shipped result is returned. This method is called in
        the worker thread.

        Raises
        ------
        KeyError, DataError
            If a result is not stored (KeyError) or is damaged (DataError).
        """
        results, shipped = [], shipped_results().classifier
        listed = any(run.is_shipped and [run.hash] == list(keys) for run in self.runs)
        if listed and shipped is not None and shipped.hash == keys[0]:
            return [shipped]  # The run store is not needed, and may be unreadable.
        with opened_store(self.path) as store:
            for number, key in enumerate(keys):
                progress.report(number / len(keys))
                use_shipped = shipped is not None and shipped.hash == key and key not in store
                results.append(shipped if shipped is not None and use_shipped else store.load(key))
        return results

    def compare(
        self, keys: tuple[str, str], pixels: tuple[int, ...], deliver: Callable[[RunComparison | None], None]
    ) -> None:
        """Load the results of two runs, fit their layers, and pass a comparison of results and rows of W to `deliver`.

        If the comparison fails or is stopped, pass None to `deliver`.
        """
        dataset, shipped = self._workspace.dataset, [self.without_result(key) for key in keys]

        def work(progress: Progress) -> RunComparison:
            first, second = (
                run or self.load_results([key], progress.part(0.0, 0.1))[0]
                for run, key in zip(shipped, keys, strict=True)
            )
            if dataset is None or {first.spec.fingerprint, second.spec.fingerprint} != {dataset.fingerprint}:
                why_not = "Weights are shown only if both runs used the open data."
                labels = (label for each in (first, second) if isinstance(each, RunResult) for label in each.labels)
                classes = tuple(f"class {label}" for label in range(1 + max(labels, default=-1)))
                return RunComparison(first, second, None, why_not, None, classes)
            if not max(first.spec.stack.depth, second.spec.stack.depth):
                return RunComparison(first, second, None, "Neither run has a layer.", None, dataset.label_names)
            rows = compare_rows(dataset, first.spec, second.spec, pixels, progress=progress.part(0.1, 1.0))
            names = dataset.label_names, dataset.feature_names
            return RunComparison(first, second, rows, "", dataset.image_shape, *names)

        self._workspace.queue.submit(
            "Comparing two runs",
            work,
            channel="compare",
            on_result=deliver,
            on_failure=lambda _error: deliver(None),
            on_stop=lambda: deliver(None),
            failure=_FAILURE,
        )

    def _change_and_read(self, change: Callable[[RunStore], object] | None) -> None:
        def work(_progress: Progress) -> tuple[StoredRun, ...]:
            with RunStore(self.path) if change is not None else opened_store(self.path) as store:
                if change is not None:
                    change(store)
                listed = store.runs()
            stored = {run.hash for run in listed}
            return (*(run for run in shipped_results().runs if run.hash not in stored), *listed)

        # Each job has a separate channel, because a job replaces all earlier jobs on the same channel.
        self._jobs += 1
        self._queue.submit(
            "Reading the runs",
            work,
            channel=f"store-{self._jobs}",
            on_result=self._list,
            on_failure=self._report_unread if change is None else lambda _error: self.changed.emit(),
            failure="" if change is None else "The runs could not be changed",
        )
        self.changed.emit()

    def _report_unread(self, error: Exception) -> None:
        """Report that the run store cannot be read, and list the shipped runs if no runs are listed.

        Pages often read the list again. The same error is reported once, so that it does not replace newer messages.
        """
        before, self._unread = self._unread, sentence(error)
        self.runs = self.runs or shipped_results().runs
        self.changed.emit()
        if self._unread != before:
            self._workspace.problem.emit(UserMessage(_FAILURE, self._unread))

    def _list(self, runs: tuple[StoredRun, ...]) -> None:
        self.gone = self.gone.union(run.hash for run in self.runs).difference(run.hash for run in runs)
        self.runs, self.listed, self._unread = runs, True, ""
        self.changed.emit()


def opened_store(path: Path) -> RunStore:
    """Open a run store for reading, and create it if it is missing or incomplete."""
    try:
        return RunStore(path, read_only=True)
    except DataError:
        return RunStore(path)  # If another process is creating the store, RunStore waits.
