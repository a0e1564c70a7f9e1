"""The Classifier page, which trains an SVM and shows its test error, confusion matrix and misclassified rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QVBoxLayout, QWidget

from slide_gui.core.choices import Choice
from slide_gui.core.svm.criteria import CRITERIA, LEARNED_BY, resolved
from slide_gui.core.svm.parameters import LOSSES, SvmParameters
from slide_gui.error_rate import ClassRates
from slide_gui.experiments.files.provenance import FigureProvenance
from slide_gui.experiments.runs.result import RunResult, describe_chosen, describe_convergence, describe_widths
from slide_gui.experiments.runs.run import RunProgress
from slide_gui.experiments.runs.spec import METHODS, RunSpec, describe_spec
from slide_gui.figures.export import FigureExport
from slide_gui.figures.run_exports import RUN_FIGURES, RunFigure, run_export
from slide_gui.figures.style import Style
from slide_gui.gui.dialogs.export import ExportOption
from slide_gui.gui.pages.classifier.learning import CriterionPlot, ShareBars
from slide_gui.gui.pages.classifier.thumbnails import Thumbnail, Thumbnails
from slide_gui.gui.pages.page import Page, PageView, confusion_text
from slide_gui.gui.state.session import Session
from slide_gui.gui.widgets.confusion_matrix import ConfusionMatrix
from slide_gui.gui.widgets.controls import ElidedBox, ElidedLabel, LowScroll, add_button, add_choices, label, widest
from slide_gui.gui.widgets.layouts import flush, nested, placed
from slide_gui.progress import Progress, Stage
from slide_gui.text import THIN, count, counted, fixed, label_names, per_cent, place_name, significant, told_apart

_PLACEHOLDERS = (
    "Press Train to see the criterion while the widths are learned.",
    "The share of each layer in the kernel exponent appears after training.",
    "The confusion matrix appears after the test.",
    "Misclassified images appear after a test on the open data.",
)
_TRAIN = "Learn the widths and C, train on all training rows, then test"
_CANCEL = "Cancel the training; the button Continue resumes it where it stopped"
_VARIANCES = [
    Choice(f"{share:g}", f"{100 * share:g} % of variance", "keep components that explain this share of the variance")
    for share in (0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99)
]
_CAPTION = 7  # Length in characters of the longest class name that fits below an image.
# Smallest heights in pixels of the page with up to five classes, and of a row of the confusion matrix. If the page were
# lower, widgets would overlap. If a row were lower, the name of its class would be hidden.
_LEAST_HEIGHT, _ROW = 440, 14


class ClassifierPage(Page):
    """The page that trains an SVM with one kernel width per layer, using the stack parameters set in the panel."""

    def __init__(self, session: Session, views: Sequence[PageView], parent: QWidget) -> None:
        super().__init__("Classifier", "an RBF support vector machine with one learned width per layer", views, parent)
        workspace, controller = self._workspace, self._controller = session.workspace, session.runs
        self._shown: RunResult | None = None
        self._run = ""  # Hash of the run that a session or a picture shows.
        self._cell: tuple[int, int] | None = None  # True and predicted class of the images to show, or None for all.
        # The gallery shows images for this result, selected cell of the confusion matrix, `stale` flag and data set.
        self._gallery_of: object = None
        self._build_controls(nested(self.column, QHBoxLayout(), spacing=4))
        self._scroll = placed(self.column, LowScroll(_LEAST_HEIGHT, self), 1)
        body = flush(QHBoxLayout(self._scroll.inner), 20)
        left, right = nested(body, QVBoxLayout(), 1), nested(body, QVBoxLayout(), 1, spacing=4)
        self.criterion = placed(left, CriterionPlot(self), 3)
        self._shares = placed(left, ShareBars(self), 2)
        self.confusion, self.gallery = ConfusionMatrix(self), Thumbnails(self)
        self.gallery.image_clicked.connect(self._show_layers)
        self.confusion.cell_clicked.connect(self._narrow)
        resume = nested(right, QHBoxLayout(), spacing=12)
        self.cancelled = placed(resume, label("", self, wraps=True), 1)
        self.continue_button = add_button(self, resume, "Continue", clicked=self._continue)
        self.rate = placed(right, label("", self, "title"))
        self.details = placed(right, label("", self, wraps=True, height=30))
        right.addWidget(self.confusion, 3)
        filtered = nested(right, QHBoxLayout(), spacing=8)
        self.filter = placed(filtered, ElidedLabel("", self), 1)
        self.show_all = add_button(self, filtered, "Show all", kind="small", clicked=self._widen)
        right.addWidget(self.gallery, 3)
        for changed in (controller.training.changed, controller.result_changed, workspace.state_changed):
            changed.connect(self.refresh)
        workspace.problem.connect(self.refresh)
        for changed in (workspace.dataset_changed, controller.library.changed):
            changed.connect(self._show_known)
        self._clear()

    def _build_controls(self, row: QHBoxLayout) -> None:
        self.train_button = add_button(self, row, "Train", _TRAIN, "primary", clicked=self._toggle)
        self.train_button.setMinimumWidth(widest(self.train_button, 0, ("Train", "Cancel")))
        methods = [method for method in METHODS.values() if method.plain or method.regroups]
        tip = "Method to train: SLIDE with learned (§5 of the paper) or median widths, raw input, or a variant of SLIDE"
        self._method = self._choice(row, "Method", tip, methods)
        row.setStretchFactor(self._method, 2)
        tip = "Criterion that gradient descent minimises over the widths σ_t and C"
        self._by = self._choice(row, "Criterion", tip, LEARNED_BY.values())
        tip = "Loss of the trained SVM (hinge: the ordinary SVM); widths are always learned with the squared hinge loss"
        self._loss = self._choice(row, "Loss", tip, LOSSES.values())
        self._by.setMinimumContentsLength(6)
        self._loss.setMinimumContentsLength(9)
        self._whitening = placed(self.column, QWidget(self))
        line = flush(QHBoxLayout(self._whitening), 4)
        tip = "Fraction of the variance that the whitened components explain"
        self._variance = self._choice(line, "Variance", tip, _VARIANCES)
        line.addStretch(2)
        self._boxes = {"method": self._method, "variance": self._variance, "criterion": self._by, "loss": self._loss}
        self.choose({"variance": "0.8", "loss": self._controller.svm.loss})

    def _choice(self, row: QHBoxLayout, name: str, tip: str, choices: Iterable[Choice]) -> QComboBox:
        row.addSpacing(4 * bool(row.count()))  # Separate the caption from the combo box to its left.
        caption = placed(row, label(name, self))
        box = placed(row, ElidedBox(self, name, tip, least=7), 1)
        caption.setBuddy(box)
        add_choices(box, choices)
        box.currentIndexChanged.connect(self._choose_svm)
        return box

    @Slot()
    def _choose_svm(self) -> None:
        self._controller.svm = self.svm()  # The Error curves page uses these SVM settings, too.
        self.chosen.emit()
        self.refresh()

    def choices(self) -> dict[str, str]:
        result = self._controller.result
        run = self._run if result is None else result.spec.hash
        return super().choices() | {name: box.currentData() for name, box in self._boxes.items()} | {"run": run}

    def choose(self, choices: Mapping[str, str]) -> None:
        super().choose(choices)
        self._run = choices.get("run", "")
        for name, box in self._boxes.items():
            box.setCurrentIndex(max(box.findData(choices.get(name, box.currentData())), 0))

    def svm(self) -> SvmParameters:
        """Return the SVM parameters that are selected on this page."""
        return SvmParameters(criterion=self._by.currentData(), loss=self._loss.currentData())

    def _method_choice(self) -> tuple[str, float | None]:
        """Return the selected method and, if it projects the data, the fraction of the variance that is kept."""
        key = self._method.currentData()
        return key, float(self._variance.currentData()) if METHODS[key].projection else None

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._show_known()

    @Slot()
    def _show_known(self) -> None:
        """Update the page. If it shows no result, load a stored or shipped result for the current settings."""
        if self.isVisible():
            # The loss may be that of a restored sweep.
            self._loss.setCurrentIndex(self._loss.findData(self._controller.svm.loss))
            self._controller.show_known(self._controller.spec_of(self.svm(), *self._method_choice()), self._run)
            self.refresh()

    @Slot()
    def _toggle(self) -> None:
        if self._controller.training.running:
            self._controller.training.stop()
            return
        if self._workspace.is_opening:
            self.details.setText("The data are still being opened. Press Train when they are open.")
            return
        spec = self._controller.spec_of(self.svm(), *self._method_choice())
        if spec is not None:
            self._controller.train(spec)

    @Slot()
    def _continue(self) -> None:
        if self._controller.cancelled is not None:
            self._controller.train(self._controller.cancelled)

    @Slot(int)
    def _show_layers(self, row: int) -> None:
        self.page_requested.emit("weights", row)

    # Export -----------------------------------------------------------------------------------------------------

    def export_options(self) -> tuple[ExportOption, ...]:
        result, dataset, source = self._controller.result, self._workspace.dataset, self._workspace.source
        if result is None or dataset is None or source is None or not self._controller.shows_open_data:
            return ()

        def option(figure: RunFigure) -> ExportOption:
            def export(_progress: Progress) -> FigureExport:
                provenance = FigureProvenance.of_run(figure.name, source, result.spec)
                return run_export(replace(provenance, numerics=result.numerics), dataset, [result])

            return ExportOption(figure.name, figure.title, export, Style(width=figure.width))

        return tuple(option(figure) for figure in RUN_FIGURES.values() if figure.applies(result))

    def why_nothing_to_export(self) -> str:
        if self._controller.result is not None:
            return "The result belongs to another data set. Open that data set to export the result."
        return "There is no result yet. Press Train, or load a run."

    def numbers(self) -> str:
        result = self._controller.result
        return "" if result is None else confusion_text(self._names(result), result.confusion)

    # Display ----------------------------------------------------------------------------------------------------

    def _renew(self) -> None:
        """Show the current training run, the latest result, or the cancelled training run."""
        controller = self._controller
        self.train_button.setText("Cancel" if controller.training.running else "Train")
        cancelled = None if controller.training.running else controller.cancelled
        for part in (self.cancelled, self.continue_button):
            part.setVisible(cancelled is not None)
        if cancelled is not None:
            step = _describe_step(controller.training.latest, cancelled)
            self.cancelled.setText(f"Cancelled at {_place(cancelled)}: {step}.")
            text = f"Continue the cancelled training: {describe_spec(cancelled)}"
            self.continue_button.setToolTip(f"{text};\nthe result will be the same as without the interruption")
            self.continue_button.setAccessibleName(text)
        method, variance = self._method_choice()
        self._whitening.setVisible(variance is not None)
        self._by.setEnabled(METHODS[method].learns)
        problem = controller.why_not(method)
        self.train_button.setEnabled(not problem)
        self.train_button.setToolTip(_CANCEL if controller.training.running else problem.replace("; ", ";\n") or _TRAIN)
        if controller.training.running:
            self._show_training(controller.training.latest)
        elif controller.result is not None:
            if self._run == controller.result.spec.hash:
                self._run = ""
            self._show_result(controller.result)
        elif controller.cancelled is not None:
            # Show how far the training had progressed when it was cancelled.
            self._show_training(controller.training.latest)
            self.rate.setText("")
            self.details.setText("")
        else:
            self.rate.setText("")
            self.details.setText(problem or controller.training_time(self.svm(), *self._method_choice()))
            self._clear(_PLACEHOLDERS if self.train_button.isEnabled() else ("",) * len(_PLACEHOLDERS))

    def _clear(self, texts: Sequence[str] = _PLACEHOLDERS) -> None:
        """Remove the result from the page and show `texts` in the empty widgets."""
        self.criterion.set_placeholder(texts[0])
        self._shares.set_placeholder(texts[1])
        self.confusion.set_placeholder(texts[2])
        self.gallery.set_placeholder(self._workspace.worded(texts[3]))
        self._shown = self._gallery_of = None
        self.criterion.set_history(())
        self.criterion.set_stale(False)
        self._shares.set_shares((), (), ())
        self.confusion.set_counts([], ())
        self.gallery.set_images([])
        self.details.setToolTip("")
        self._show_filter(0, 0, "")

    def _show_training(self, seen: RunProgress) -> None:
        if self._shown is not None:  # Clear the page if it still shows the result of an earlier run.
            self._clear()
        self.criterion.set_placeholder("The criterion is drawn while the widths are learned on all training rows.")
        spec = self._controller.spec or self._controller.cancelled
        stale = spec is not None and spec.stacked and not self._workspace.has_parameters(spec.checked().stack)
        at = f"{_place(spec)} (the panel’s parameters differ)" if spec is not None and stale else ""
        if seen.history and spec is not None:
            # `resolved` replaces the criterion "auto" with the criterion that is used for this number of classes.
            self.criterion.set_name(_criterion_title(resolved(spec.svm.criterion, self._controller.n_classes)))
            self._shares.set_shares(spec.group_names, seen.history[-1].shares, seen.history[-1].widths, stale)
        else:
            self._shares.set_shares((), (), ())
        self.criterion.set_history(seen.history)
        self.criterion.set_stale(stale)
        if seen.test is not None and seen.test.done:
            self.rate.setText(str(seen.test.rate))
            done, total = count(seen.test.done), count(seen.test.total)
            whole = seen.test.done == seen.test.total
            text = f"test error so far on {done} of {total} {self._unit()}s, with 95 % confidence interval"
            text = f"test error on {total} {self._unit()}s · {_PHASES[seen.phase]}" if whole else text
            self.details.setText(" · ".join(filter(None, [text, at])))
            return
        self.rate.setText("…")
        chosen, step = seen.chosen, seen.training
        parts = [*filter(None, [at]), _describe_step(seen, spec)]
        if step is not None and step.solver.n_support and seen.phase == "learn" and seen.stage is None:
            parts.append(f"optimality gap {step.solver.gap:.3g}, {counted(step.solver.n_support, 'support vector')}")
        if chosen is not None:
            parts.append(describe_widths(chosen.name))
        self.details.setText(" · ".join(parts))
        self.details.setToolTip("" if chosen is None else describe_chosen(chosen))

    def _show_result(self, result: RunResult) -> None:
        classifier, stale = result.classifier, self._is_stale(result)
        self.criterion.set_placeholder("No widths were learned for this result.")
        self.criterion.set_history(() if classifier is None else classifier.history)
        self._shares.set_shares((), (), ())
        self.criterion.set_stale(stale)
        over_folds = self._controller.folds_rate
        self.rate.setText(str(result.rate if over_folds is None else over_folds))
        chosen = None if classifier is None else classifier.chosen
        self.details.setToolTip("" if chosen is None else describe_chosen(chosen))
        self.criterion.set_name("Criterion" if chosen is None else _criterion_title(chosen.criterion))
        at = _place(result.spec)
        if not (result.spec.stacked and METHODS[result.spec.method].plain):
            at = describe_spec(replace(result.spec, held_out=None))
        parts = [self._describe_error(result), f"{at} (the panel’s parameters differ)" if stale else at]
        if not self._controller.shows_open_data:
            parts[1] = f"{result.dataset} at {at} (another data set is open)"
        if not result.is_current:
            parts.append(f"results version {result.numerics} (this program uses another results version)")
        if any(run.hash == result.hash and run.is_shipped for run in self._controller.library.runs):
            parts.insert(0, "shipped")
        if result.hash in self._controller.library.gone:
            parts.insert(0, "deleted run")
        parts += filter(None, [ClassRates.of(result.confusion, self._names(result)).sentence.removesuffix(".")])
        parts.append(f"training error {per_cent(100 * result.train_error)}")
        parts.append(describe_chosen(chosen) if chosen is not None and chosen.guarded else result.widths)
        if classifier is not None:
            self._shares.set_shares(result.spec.group_names, classifier.shares, classifier.widths, stale)
            loss = result.spec.svm.loss
            parts.append(LOSSES[loss].text if loss != SvmParameters().loss else "")
            vectors, rows = counted(classifier.n_support, "support vector"), count(result.n_train)
            parts += [f"C = {significant(classifier.C, 3)}", f"{vectors} of {rows} rows"]
            parts.append(describe_convergence(classifier))
        parts.append(f"computed in {fixed(result.timings.total, 1)}{THIN}s")
        self.details.setText(" · ".join(filter(None, parts)))
        if result is not self._shown:
            self._shown, self._cell = result, None
            self.confusion.set_outlined(())
        self.confusion.set_counts(result.confusion, self._names(result), stale)
        more = _ROW * min(max(len(result.labels) - 5, 0), 10)
        self.confusion.setMinimumHeight(140 + more)
        self._scroll.filled.setMinimumHeight(_LEAST_HEIGHT + more)
        self._show_gallery(result, self._cell, stale)

    def _describe_error(self, result: RunResult) -> str:
        """Describe the number, kind (test or validation) and fold of the rows on which the error was measured."""
        held_out, over_folds = result.spec.held_out, self._controller.folds_rate
        if over_folds is not None:
            text = f"test error over all folds; each of the {count(over_folds.n)} {self._unit()}s is tested once"
            return text if held_out is None else f"{text} · the results below are for {held_out}: {result.rate}"
        unit = self._unit() if result.spec.evaluate == "test" else "row"
        text = f"{result.spec.evaluate} error on {count(result.n_test)} {unit}s, with 95 % confidence interval"
        split = f"split {result.spec.split}, seed {result.spec.seed}" if result.spec.training == "split" else ""
        return " · ".join(filter(None, [text, split, str(held_out or "")]))

    def _unit(self) -> str:
        """Return the noun for a row of the data, such as "image"."""
        return self._workspace.worded("image")

    def _is_stale(self, result: RunResult) -> bool:
        """True if `result` was computed on another data set, or with stack parameters other than the current ones."""
        if not self._controller.shows_open_data:
            return True
        return result.spec.stacked and not self._workspace.has_parameters(result.spec.stack)

    def _names(self, result: RunResult) -> tuple[str, ...]:
        dataset = self._workspace.dataset
        names = dataset.label_names if dataset is not None and self._controller.shows_open_data else ()
        return label_names(result.labels, names)

    @Slot(object)
    def _narrow(self, cell: tuple[int, int]) -> None:
        """Show only the misclassified images that are counted in one cell of the confusion matrix.

        If the cell is on the diagonal or already selected, show all misclassified images.
        """
        chosen = self._cell = None if cell[0] == cell[1] or cell == self._cell else cell
        self.confusion.set_outlined([chosen] if chosen else ())
        if self._controller.result is not None:
            self._show_gallery(self._controller.result, chosen, self._is_stale(self._controller.result))

    @Slot()
    def _widen(self) -> None:
        if self._cell is not None:
            self._narrow(self._cell)

    def _show_filter(self, shown: int, total: int, words: str) -> None:
        text = counted(total, f"misclassified {self._unit()}") if total else ""
        self.filter.setText(f"{count(shown)} of {text}: {words}" if words else text)
        self.show_all.setVisible(bool(words))
        self.show_all.setToolTip(f"Show all misclassified {self._unit()}s")

    def _show_gallery(self, result: RunResult, cell: tuple[int, int] | None, stale: bool) -> None:
        dataset, on_test = self._workspace.dataset, result.spec.evaluate == "test"
        # Do not fill the gallery again with the same images, because this would scroll it to the top.
        if self._gallery_of == (result, cell, stale, dataset):
            return
        self._gallery_of = result, cell, stale, dataset
        if dataset is None or dataset.test_labels is None or not self._controller.shows_open_data or not on_test:
            after = self._workspace.worded(_PLACEHOLDERS[-1])
            self.gallery.set_placeholder(after if on_test else "Only misclassified test rows are shown here.")
            self.gallery.set_images([])
            self._show_filter(0, 0, "")
            return
        names, classes = self._names(result), {label: i for i, label in enumerate(result.labels)}
        ranges = () if dataset.image_shape else (dataset.train.min(axis=0), dataset.train.max(axis=0))
        short = names if max(map(len, names)) <= _CAPTION else told_apart(names)
        images = []
        for row, predicted in zip(result.misclassified.tolist(), result.predicted.tolist(), strict=True):
            true = classes.get(int(dataset.test_labels[row]), -1)
            if cell is not None and (true, predicted) != cell:
                continue
            pixels = dataset.test[row]
            shaped = pixels.reshape(dataset.image_shape) if dataset.image_shape else _bars(pixels, *ranges)
            name = names[true] if true >= 0 else "?"
            caption = f"{name} → {names[predicted]}" if len(name + names[predicted]) <= 4 else f"→ {short[predicted]}"
            note = f"test {self._unit()} {count(row + 1)}: {name}, predicted as {names[predicted]}"
            images.append(Thumbnail(row, shaped, caption, note))
        if not len(result.misclassified):
            self.gallery.set_placeholder(f"All {counted(result.n_test, 'test row')} are classified correctly.")
        self.gallery.set_images(images, stale)
        words = "" if cell is None else f"{names[cell[0]]}, predicted as {names[cell[1]]}"
        self._show_filter(len(images), len(result.misclassified), words)


_BAR_HEIGHT = 32


def _bars(values: NDArray[np.float32], low: NDArray[np.float32], high: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return an image with one bar per feature, for data that are not images.

    The height of a bar shows where the value lies between the feature's minimum and maximum in the training set. If
    there are more than 64 features, each bar represents several adjacent features and has the largest of their heights.
    """
    share = (values - low) / np.where(high > low, high - low, 1)
    share = np.maximum.reduceat(share, np.linspace(0, len(share), min(len(share), 2 * _BAR_HEIGHT), False, dtype=int))
    # Every bar is at least one pixel high, so that even the smallest values are visible.
    height = np.linspace(1, 0, _BAR_HEIGHT, endpoint=False)[:, None]
    bars = np.asarray(height <= np.maximum(share, 1 / _BAR_HEIGHT), np.float32)
    return np.repeat(bars, max(1, _BAR_HEIGHT // len(share)), axis=1)


_PHASES = {
    "fit": "fitting the layers",
    "learn": "learning the widths",
    "train": "counting training errors",
    "validation": "counting validation errors",
    "test": "testing",
}


def _criterion_title(criterion: str) -> str:
    name = CRITERIA[criterion].short if criterion in CRITERIA else criterion
    return f"Criterion: {name} + prior"


def _place(spec: RunSpec) -> str:
    return place_name(spec.stack.noise, spec.stack.depth)


def _describe_step(seen: RunProgress, spec: RunSpec | None) -> str:
    """Describe the current step of a run, and the progress of this step if it is known."""
    solver, depth = seen.training, 0 if spec is None else spec.stack.depth
    if seen.phase == "fit":
        done = 0 if seen.stack is None else len(seen.stack.layers)
        return str(Stage(_PHASES["fit"], min(done, depth - 1), depth) if depth else Stage(_PHASES["fit"]))
    if seen.phase == "learn" and seen.stage is None and solver is not None:
        return str(Stage("training", solver.pair, solver.n_pairs if solver.n_pairs > 1 else 0))
    return str(seen.stage or _PHASES[seen.phase])
