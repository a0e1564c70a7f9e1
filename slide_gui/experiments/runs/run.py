"""Compute one run: fit the representation, learn the kernel widths, and train and evaluate the classifier.

The result depends only on the data and on the specification of the run.
"""

import platform
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui import __version__
from slide_gui.blas import loaded_blas, one_thread_if_busy
from slide_gui.core.baselines import predicted_by
from slide_gui.core.sda.model import SdaHistory
from slide_gui.core.slide.stack import Stack
from slide_gui.core.svm.kernel import Embedding, block_sizes
from slide_gui.core.svm.model import SvmModel, TrainedSvm
from slide_gui.core.svm.parameters import ChosenBy, GridPoint, WidthsStep
from slide_gui.core.svm.training import TrainingSet, TrainingStep, rows_of
from slide_gui.data.dataset import Dataset
from slide_gui.error_rate import ErrorRate
from slide_gui.experiments.runs.cost import RunShape, run_parts
from slide_gui.experiments.runs.fitting import Fitted, Representation, Reuse, SdaFeatures, Tuned, represent, train_svm
from slide_gui.experiments.runs.result import NetworkRecord, RunResult, Timings
from slide_gui.experiments.runs.spec import METHODS, RunSpec
from slide_gui.experiments.runs.splits import RunData, stratified_sample
from slide_gui.progress import NO_PROGRESS, REFRESH, Listener, MonotonicProgress, Progress, Stage, computing_time
from slide_gui.results_version import RESULTS_VERSION
from slide_gui.text import counted

Indices = NDArray[np.intp]

# Rows are predicted in blocks. These are the numbers of rows in the first block and in the largest block. Each block is
# twice as large as the block before it, until the largest size is reached.
_FIRST, _LARGEST = 500, 4000


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions for rows of the training or the test set, sorted by row.

    Attributes
    ----------
    rows : ndarray of int, shape (n,)
        Indices of the rows in the training or the test set.
    truth, predicted : ndarray of int, shape (n,)
        True and predicted classes.
    decisions : ndarray of shape (n, 1) for two classes, else (n, k) for k classes
        Decision values of each row.
    """

    rows: NDArray[np.int64]
    truth: Indices
    predicted: Indices
    decisions: NDArray[np.float64]

    @property
    def wrong(self) -> Indices:
        """Indices, into the array `rows`, of the misclassified rows."""
        return np.flatnonzero(self.truth != self.predicted)

    @property
    def error(self) -> float:
        """Fraction of misclassified rows."""
        return len(self.wrong) / len(self.rows)

    @property
    def hinge_loss(self) -> float | None:
        """Mean hinge loss of the rows whose class occurs in the training rows. None if there are no such rows.

        With more than two classes, the margin is the score of the true class minus the highest other score.
        """
        n_scores = self.decisions.shape[1]
        # If whole groups are held out, a class can lack training rows. Rows of such a class have no score.
        has_score = self.truth < max(n_scores, 2)
        truth, decisions = self.truth[has_score], self.decisions[has_score]
        if n_scores == 1:
            margins = np.where(truth == 1, 1.0, -1.0) * decisions[:, 0]
        else:
            is_true = np.arange(n_scores) == truth[:, None]
            margins = decisions[is_true] - np.where(is_true, -np.inf, decisions).max(axis=1)
        return float(np.maximum(0.0, 1.0 - margins).mean()) if len(truth) else None

    def confusion(self, k: int) -> NDArray[np.int64]:
        """Return the confusion matrix of k classes: rows are true classes, columns are predicted classes."""
        return np.bincount(self.truth * k + self.predicted, minlength=k * k).reshape(k, k)


# Function that returns the predicted class and the decision values of each row, and reports its progress.
# The decision values have the shape (n, 1) for two classes, otherwise (n, n_classes).
Predictor = Callable[[NDArray[Any], Progress], tuple[Indices, NDArray[np.float64]]]


def predictor_of(representation: Representation, classifier: Any) -> Predictor:
    """Return a function that computes the representation of rows and predicts their classes with a classifier.

    The classifier is an `SvmModel` or a fitted classifier of scikit-learn. For an SVM with two classes, the decision
    value of a row is its margin. With more classes, each row has one score per class.
    """

    def predict(rows: NDArray[Any], progress: Progress) -> tuple[Indices, NDArray[np.float64]]:
        Z = representation.transform(rows, progress=progress)
        if not isinstance(classifier, SvmModel):
            return predicted_by(classifier, Z)
        return _decided(classifier.scores(Z, progress=progress).reshape(len(rows), -1))

    return predict


def _decided(scores: NDArray[np.float64]) -> tuple[Indices, NDArray[np.float64]]:
    codes = (scores[:, 0] > 0.0).astype(np.intp) if scores.shape[1] == 1 else np.argmax(scores, axis=1)
    return codes, scores


def predict_in_blocks(
    predict: Predictor, part: NDArray[Any], codes: Indices, order: Indices, *, progress: Progress = NO_PROGRESS
) -> Predictions:
    """Predict rows in the given order, in blocks of increasing size.

    Parameters
    ----------
    part : ndarray of shape (n, d)
        Training or test rows.
    codes : ndarray of int, shape (n,)
        True class of each row of `part`.
    order : ndarray of int
        Indices of the rows to predict.
    progress : Progress
        Receives an `Estimate` of the error after each block.
    """
    steady = MonotonicProgress(progress)
    order = order.copy()  # The array is copied, because the loop below sorts each block in place.
    decisions: list[NDArray[np.float64]] = []
    predicted = np.empty(len(order), np.intp)
    wrong, start, size = 0, 0, _FIRST
    while start < len(order):
        block = np.sort(order[start : start + size])
        here = slice(start, start + len(block))
        order[here] = block
        predicted[here], decision = predict(part[block], steady.pulse)
        decisions.append(decision)
        wrong += int(np.count_nonzero(predicted[here] != codes[block]))
        start += len(block)
        steady.report(start / len(order), Estimate(wrong, start, len(order)))
        size = min(2 * size, _LARGEST)
    by_row = np.argsort(order)
    rows = order[by_row].astype(np.int64)
    return Predictions(rows, codes[rows], predicted[by_row], np.concatenate(decisions)[by_row])


@dataclass(frozen=True)
class Estimate:
    """The error on the rows evaluated so far, which are a growing stratified subsample of all rows to evaluate.

    Attributes
    ----------
    wrong, done, total : int
        Numbers of rows misclassified so far and evaluated so far, and the total number of rows to evaluate.
    """

    wrong: int
    done: int
    total: int

    @property
    def error(self) -> float:
        """Fraction of the rows evaluated so far that were misclassified."""
        return self.wrong / self.done

    @property
    def rate(self) -> ErrorRate:
        """The error so far with its 95 % confidence interval."""
        return ErrorRate.of_run(self.error, self.done)


@dataclass(frozen=True, eq=False)
class RunProgress:
    """The state of a run during its computation. Each state includes the information of all earlier states.

    Attributes
    ----------
    phase : {"fit", "learn", "test", "validation", "train"}
        The current phase. In the phase "fit", the representation is fitted. In the phase "learn", kernel widths are
        learned and the classifier is trained. In the other phases, test, validation and training rows are predicted.
    stack : Stack or None
        The layers fitted so far.
    history : tuple of WidthsStep
        Completed steps of learning the widths.
    chosen : ChosenBy or None
        Description of how the widths were selected. None before the selection.
    training : TrainingStep or None
        Latest step of the SVM solver.
    stage : Stage or None
        Current stage within the phase. None if the phase is not divided into named stages.
    epochs : SdaHistory or None
        Completed epochs of training the autoencoders.
    train, validation, test : Estimate or None
        Errors on the training, validation and test rows that have been evaluated so far.
    seconds_before : float
        Seconds that a cancelled computation of this run spent on the steps that are now reused.
    seconds_left : float or None
        Expected seconds until the run is complete, estimated from the speed of the current phase and the typical
        durations of the later phases.
    """

    phase: str = "fit"
    stack: Stack | None = None
    history: tuple[WidthsStep, ...] = ()
    chosen: ChosenBy | None = None
    training: TrainingStep | None = None
    stage: Stage | None = None
    epochs: SdaHistory | None = None
    train: Estimate | None = None
    validation: Estimate | None = None
    test: Estimate | None = None
    seconds_before: float = 0.0
    seconds_left: float | None = None


# Maps the type of the object in a progress report to the field of `RunProgress` that this object updates.
_FIELDS: dict[type, str] = {
    Stack: "stack",
    WidthsStep: "history",
    ChosenBy: "chosen",
    Stage: "stage",
    SdaHistory: "epochs",
    TrainingStep: "training",
}


# The remaining time of a phase is estimated from its speed so far and from its expected duration. Both have equal
# weights when this fraction of the phase is complete.
_TRUST = 0.2


def _pace(spent: float, typical: float) -> float:
    """Return the expected ratio of the actual to the typical duration of the later phases of a run.

    `spent` and `typical` are the actual and the typical seconds of the earlier phases. The expected ratio is a weighted
    geometric mean of 1 and ``spent / typical``. The ratio is 1 if the earlier phases took almost no time, for example
    because another run had already fitted the representation.
    """
    return min(max(spent / typical, 0.25), 4.0) ** 0.25 if typical and spent > 0.05 else 1.0


class ProgressCollector:
    """Combines the progress reports of all phases of a run into one `RunProgress`.

    `total` is the expected duration of the run in seconds.
    """

    def __init__(self, progress: Progress, seconds_before: float, total: float) -> None:
        self._progress, self._total, self._left = progress, total, total
        self._state = RunProgress(seconds_before=seconds_before)
        self.started = computing_time()
        self.learned = self._sent = self.started
        """`learned` is the time of the latest progress report from width learning or from a grid search. `_sent` is the
        time at which the state of the run was last reported."""

    def phase(self, name: str, typical: float) -> Progress:
        """Begin the next phase of the run, which typically takes `typical` seconds. Return its progress receiver."""
        before, self._left = self._left, max(self._left - typical, 0.0)
        part = self._progress.part(1.0 - before / self._total, 1.0 - self._left / self._total)
        now, done, later = computing_time(), self._total - before, self._left
        before_phase = now - self.started
        expected = _pace(before_phase, done) * typical
        started = now - (self._state.seconds_before if name == "learn" else 0.0)

        def report(fraction: float, payload: object) -> None:
            spent = computing_time() - started
            left = (spent + _TRUST * expected) / (fraction + _TRUST) * (1.0 - fraction)
            left += _pace(before_phase + spent + left, done + typical) * later
            part.report(fraction, self._update(name, payload, left))

        return Listener(report)

    def _update(self, phase: str, payload: object, seconds_left: float) -> RunProgress | None:
        """Update the state of the run with the payload of a progress report.

        Return the state if it has changed, or if `REFRESH` seconds have passed since it was last returned. Otherwise,
        return None.
        """
        change: dict[str, object] = {}
        name = phase if isinstance(payload, Estimate) else _FIELDS.get(type(payload))
        if name is not None:
            before = getattr(self._state, name)
            change[name] = (*before, payload) if isinstance(before, tuple) else payload
        now = computing_time()
        if isinstance(payload, (WidthsStep, GridPoint, ChosenBy)):
            self.learned = now
        if change or phase != self._state.phase:
            change = {"phase": phase, "stage": None, **change}
        elif now < self._sent + REFRESH:
            return None
        self._sent = now
        self._state = replace(self._state, seconds_left=seconds_left, **change)  # type: ignore[arg-type]
        return self._state


_TRAIN_ROWS = 5_000  # Largest number of training rows on which the training error is computed.


@one_thread_if_busy()
def run(dataset: Dataset, spec: RunSpec, *, progress: Progress = NO_PROGRESS, reuse: Reuse | None = None) -> RunResult:
    """Compute the run that a spec describes, and return its result.

    Parameters
    ----------
    dataset : Dataset
        The labelled data set whose fingerprint the spec contains, or the same data with other rows held out.
    progress : Progress
        Receives a `RunProgress` whenever the state of the run changes.
    reuse : Reuse, optional
        Intermediate results of runs on the same data, which save time. With the same number of BLAS threads, the result
        is bit for bit the same with and without them. If the run starts from the widths of another run
        (`RunSpec.neighbour`), that run is computed first, unless `reuse` contains its result.

    Raises
    ------
    DataError
        If the data are not those that the spec names, or lack labels or rows that the run needs.
    ValueError
        If a value of the spec is out of range, or the classifier cannot be trained on these rows.
    MemoryError
        If an array needs more memory than is free, or the classifier needs more memory than the spec allows.
    """
    spec, reuse = spec.checked(), Reuse() if reuse is None else reuse
    data = RunData.of(dataset, spec)
    near = spec.neighbour
    if near is not None and near.hash not in reuse.results:
        reuse.results[near.hash] = run(dataset, near, progress=progress.part(0.0, 0.5), reuse=reuse)
        progress = progress.part(0.5, 1.0)
    if spec.members:
        return _mean_of_members(data, progress, reuse)
    for name, estimator in (("transformer", spec.transformer), ("classifier", spec.classifier)):
        if estimator is not None:
            estimator.make(name, spec.seed)  # An unusable estimator raises an error here, before the computation.
    logged_seconds = reuse.log_of(spec.hash).rewind()
    fitting, learning_time, evaluating = typical = run_parts(spec, RunShape.of(data.dataset))
    collector = ProgressCollector(progress, logged_seconds, sum(typical))
    fitted = represent(data, reuse, collector.phase("fit", fitting))
    done = computing_time()
    learning = collector.phase("learn", learning_time)
    learning.report(0.0, Stage(f"features of {counted(len(data.rows), 'row')}"))
    Z = fitted.representation.transform(data.take(data.rows), progress=learning.part(0.0, 0.04))
    transformed = computing_time()
    predict, classifier, fine_tuning = _trained(data, fitted, Z, reuse, learning.part(0.04, 1.0))
    trained = computing_time()
    del Z
    searched = classifier is not None and (classifier.history or classifier.grid)
    learned = min(max(collector.learned, transformed), trained) if searched else transformed
    features = None if fitted.seconds is None else fitted.seconds + transformed - done
    widths, training = learned - transformed, trained - learned if fine_tuning is None else fine_tuning.seconds
    if searched:
        widths += logged_seconds
    else:
        training += logged_seconds
    predictions = _predictions(data, predict, collector, evaluating)
    testing = computing_time() - trained
    del reuse.logs[spec.hash]
    timings = Timings(done - collector.started, widths, training, testing, transformed - done, features)
    return _result_of(data, classifier, predictions, timings, _record(fitted.representation, fine_tuning))


def _trained(
    data: RunData, fitted: Fitted, Z: NDArray[np.floating], reuse: Reuse, progress: Progress
) -> tuple[Predictor, TrainedSvm | None, Tuned | None]:
    """Train the classifier on the features Z of the training rows.

    Returns
    -------
    predict : Predictor
        Function that predicts the classes of rows.
    svm : TrainedSvm or None
        The trained SVM. None if the classifier is not an SVM.
    network : Tuned or None
        The fine-tuned network. None if the classifier is not a network.
    """
    spec, codes, representation = data.spec, data.classes.train, fitted.representation
    if isinstance(representation, SdaFeatures) and METHODS[spec.method].fine_tunes:
        network = reuse.networks.fine_tuned(representation, data, progress)
        return network.predict, None, network
    if spec.classifier is not None:
        other = spec.classifier.fit("classifier", spec.seed, Z, codes[data.rows], progress=progress)
        return predictor_of(representation, other), None, None
    neighbour = None if spec.neighbour is None else reuse.results[spec.neighbour.hash]
    sizes, groups = block_sizes(Z.shape[1], fitted.groups), rows_of(data.classes.groups, data.rows)
    training = TrainingSet(Z, codes[data.rows], sizes, None, groups, reuse.logs[spec.hash])
    model = train_svm(training, spec, neighbour, progress)
    return predictor_of(representation, model), model.trained, None


def _result_of(
    data: RunData,
    classifier: TrainedSvm | None,
    predictions: dict[str, Predictions],
    timings: Timings,
    network: NetworkRecord | None = None,
) -> RunResult:
    spec, labels = data.spec, data.classes.labels
    evaluated, validation = predictions[spec.evaluate], predictions.get("validation")
    has_margins = classifier is not None or bool(spec.members)
    return RunResult(
        spec=spec,
        dataset=data.dataset.name,
        generated=data.dataset.generated,
        labels=labels,
        classifier=classifier,
        n_train=len(data.rows),
        confusion=evaluated.confusion(len(labels)),
        judged=evaluated.rows,
        misclassified=evaluated.rows[evaluated.wrong],
        predicted=evaluated.predicted[evaluated.wrong].astype(np.int64),
        decisions=evaluated.decisions[evaluated.wrong],
        train_error=predictions["train"].error,
        validation_error=None if validation is None else validation.error,
        timings=timings,
        versions=_versions(spec),
        network=network,
        validation_loss=validation.hinge_loss if validation is not None and has_margins else None,
    )


# Fraction of the reported progress that is reserved for training the averaged runs. The rest is reserved for evaluating
# the mean of their decision values.
_TRAINING = 0.9


def _mean_of_members(data: RunData, progress: Progress, reuse: Reuse) -> RunResult:
    """Compute the result of a run that averages the decision values of several other runs (`RunSpec.members`).

    Runs whose results are in `reuse` are not trained again.
    """
    members, dataset = data.spec.members, data.dataset
    predictors, timings = [], []
    for member, part in progress.part(0.0, _TRAINING).each(members):
        if member.hash not in reuse.results:
            reuse.results[member.hash] = run(dataset, member, progress=part.part(0.0, 0.8), reuse=reuse)
        result, restoring = reuse.results[member.hash], MonotonicProgress(part)
        restoring.report(0.8)
        again = restore(dataset, result, progress=restoring.pulse, reuse=reuse)
        predictors.append(predictor_of(again.representation, again.model))
        timings.append(result.timings)

    def predict(some: NDArray[Any], progress: Progress) -> tuple[Indices, NDArray[np.float64]]:
        return _decided(np.mean([each(some, progress)[1] for each in predictors], axis=0))

    seconds = run_parts(data.spec, RunShape.of(dataset))[2]
    collector = ProgressCollector(progress.part(_TRAINING, 1.0), 0.0, seconds)
    predictions = _predictions(data, predict, collector, seconds)
    summed = {name: sum(getattr(each, name) for each in timings) for name in ("fit", "widths", "train", "transform")}
    return _result_of(data, None, predictions, Timings(**summed, test=computing_time() - collector.started))


def _predictions(
    data: RunData, predict: Predictor, collector: ProgressCollector, seconds: float
) -> dict[str, Predictions]:
    """Predict the test rows if the spec requests them, then all validation rows and a sample of the training rows."""
    spec, classes, (train, test) = data.spec, data.classes, (data.dataset.train, data.dataset.test)
    wanted = {}
    if spec.evaluate == "test":
        wanted["test"] = test, classes.test, stratified_sample(classes.test, spec.test_rows, spec.seed)
    if len(data.validation):
        wanted["validation"] = train, classes.train, data.validation
    some = stratified_sample(classes.train[data.rows], _TRAIN_ROWS, spec.seed)
    wanted["train"] = train, classes.train, data.rows[np.sort(some)]
    total, predictions = sum(len(order) for _, _, order in wanted.values()), {}
    for kind, (part, codes, order) in wanted.items():
        progress = collector.phase(kind, seconds * len(order) / total)
        predictions[kind] = predict_in_blocks(predict, part, codes, order, progress=progress)
    return predictions


def _record(representation: Representation, fine_tuning: Tuned | None) -> NetworkRecord | None:
    if fine_tuning is not None:
        return NetworkRecord(fine_tuning.network.history.epochs, fine_tuning.network.best_epoch)
    return NetworkRecord(representation.sda.history.epochs) if isinstance(representation, SdaFeatures) else None


def live_spec(spec: RunSpec, near: RunResult | None = None) -> RunSpec:
    """Return the spec of a fast run, which uses the widths and C of a similar run, or median widths and C = 10.

    With this spec, the function `run` trains only one SVM. While it predicts the test rows, it reports the test error
    on a growing stratified subsample.

    Parameters
    ----------
    spec : RunSpec
        Spec with the requested representation.
    near : RunResult, optional
        Result of the most similar stored run. Its widths and C are used if that run and `spec` have the same groups of
        columns.
    """
    widths: str | tuple[float, ...] = "median"
    C = 10.0
    if near is not None and near.classifier is not None and near.spec.group_names == spec.group_names:
        widths, C = near.classifier.widths, near.classifier.C
    return replace(spec, svm=replace(spec.svm, widths=widths, C=C, near=None), neighbour=None).checked()


@dataclass(frozen=True, eq=False)
class Restored:
    """The fitted representation and the SVM of a result, with the training rows of the SVM.

    Attributes
    ----------
    rows : ndarray of int
        Indices, in the training set, of the rows that the SVM was trained on. The support vectors of the SVM are the
        rows ``rows[model.trained.support]``.
    codes : ndarray of int
        Class of every row of the training set.
    labels : tuple of int
        Label of each class.
    """

    representation: Representation
    model: SvmModel
    rows: Indices
    codes: Indices
    labels: tuple[int, ...]


def restore(
    dataset: Dataset, result: RunResult, *, progress: Progress = NO_PROGRESS, reuse: Reuse | None = None
) -> Restored:
    """Return the SVM of a result with its representation, which is fitted again or taken from `reuse`.

    Raises
    ------
    DataError
        If the data are not those from which the result was computed.
    ValueError
        If the classifier is not an SVM. Other classifiers are not stored with the result.
    """
    spec, classifier = result.spec.checked(), result.classifier
    if classifier is None:
        raise ValueError(
            f"the classifier of this run, {spec.classifier or METHODS[spec.method].text}, is not stored, because it is "
            "not a single SVM; choose a run with an SVM"
        )
    data, reuse = RunData.of(dataset, spec), Reuse() if reuse is None else reuse
    fitted = represent(data, reuse, progress.part(0.0, 0.7))
    Z = fitted.representation.transform(data.take(data.rows), progress=progress.part(0.7, 1.0))
    embedding = Embedding.of(Z, block_sizes(Z.shape[1], fitted.groups), classifier.widths)
    model = SvmModel(classifier, embedding, embedding(Z, classifier.support, classifier.dtype))
    return Restored(fitted.representation, model, data.rows, data.classes.train, data.classes.labels)


def _versions(spec: RunSpec) -> tuple[tuple[str, str], ...]:
    versions = {"slide-gui": __version__, "numerics": str(RESULTS_VERSION), "python": platform.python_version()}
    versions |= {name: _installed(name) for name in ("numpy", "scipy")}
    libraries = loaded_blas()
    versions |= {"BLAS": "; ".join(map(str, libraries)), "threads": str(libraries[0].threads or "not known")}
    each = spec.members or (spec,)
    if any(METHODS[one.method].projection or one.transformer or one.classifier for one in each):
        versions["scikit-learn"] = _installed("scikit-learn")
    return tuple(versions.items())


_installed = cache(version)  # The version of a library is cached, because reading it opens files.
