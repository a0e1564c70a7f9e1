"""Represent the results of runs, and convert them to and from a JSON document with arrays."""

import io
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.sda.model import SdaEpoch
from slide_gui.core.svm.criteria import CRITERIA
from slide_gui.core.svm.model import TrainedSvm
from slide_gui.core.svm.parameters import GUARD, ChosenBy
from slide_gui.data.errors import DataError
from slide_gui.data.limits import damage_as
from slide_gui.data.readers.arrays import read_array
from slide_gui.error_rate import ErrorRate, row_errors
from slide_gui.experiments.documents import checked_value, from_document
from slide_gui.experiments.runs.spec import RunSpec, document_hash
from slide_gui.results_version import RESULTS_VERSION, is_current, version_in_hashes
from slide_gui.text import counted, percentage, unmarked


def pack_arrays(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return the bytes of an uncompressed .npz file that contains the arrays. Equal arrays give equal bytes."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **dict(arrays))
    return buffer.getvalue()


def unpack_arrays(content: bytes, place: str) -> dict[str, NDArray[Any]]:
    """Read the arrays of a run from the bytes of its .npz file. No pickled objects are read.

    Raises
    ------
    DataError
        If the bytes are not an .npz file with the arrays of a run.
    """
    with damage_as("the file is not a readable .npz file ({})", place), zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {member.filename: member for member in archive.infolist()}
        if sorted(members) != sorted(f"{name}.npy" for name in ARRAYS):
            raise DataError("the file does not contain exactly the arrays of a run", place)
        arrays = {}
        for name in ARRAYS:
            member = members[f"{name}.npy"]
            if member.compress_type != zipfile.ZIP_STORED or member.file_size > len(content):
                raise DataError(f"the array {name} is compressed, or larger than the file", place)
            arrays[name] = read_array(io.BytesIO(archive.read(member)), member.file_size, f"{place}, {name}")
        return arrays


Integers = NDArray[np.int64]
Array = NDArray[np.float64]

# Maps the name of each array in a result to the array's data type and number of dimensions.
ARRAYS = {
    "confusion": ("<i8", 2),
    "judged": ("<i8", 1),
    "misclassified": ("<i8", 1),
    "predicted": ("<i8", 1),
    "decisions": ("<f8", 2),
    "support": ("<i8", 1),
    "coefficients": ("<f8", 2),
    "biases": ("<f8", 1),
}

_OF_CLASSIFIER = ("support", "coefficients", "biases")
_SAME = ("dataset", "generated", "labels", "n_train", "train_error", "validation_error")


@dataclass(frozen=True)
class Timings:
    """Duration of each step of a run, in wall-clock seconds.

    Attributes
    ----------
    fit : float
        Time for fitting the representation, without the time that other runs spent on reused intermediate results.
    widths : float
        Time for learning the widths and comparing them with the median widths, or for the grid search for one width
        and C.
    train : float
        Time for training, including the final adjustment of C and of a common scale of all widths. If several runs
        share a fine-tuned network, the time of each run includes the fine-tuning.
    test : float
        Time for predicting test, validation and training rows.
    transform : float
        Time for computing the features of the training rows. 0 if `widths` includes this time.
    features : float or None
        Duration of feature generation: fitting the representation and computing the features of the training rows. None
        if it is unknown, because the fit shared intermediate results with other runs.
    """

    fit: float
    widths: float
    train: float
    test: float
    transform: float = 0.0
    features: float | None = None

    @property
    def total(self) -> float:
        """Total duration of the run in seconds. `features` is not added, because other fields include this time."""
        return self.fit + self.transform + self.widths + self.train + self.test


def describe_widths(chosen_by: str) -> str:
    """Describe how the widths were selected, given a value of `RunResult.chosen_by`.

    Return an empty string if the value is empty.
    """
    name = width_criterion(chosen_by)
    return name if chosen_by in ("", GUARD) else f"learned widths ({name})"


def width_criterion(chosen_by: str) -> str:
    """Return the display name of a criterion for learning widths, given its key.

    Unknown keys and `GUARD` are returned unchanged. `GUARD` means that median widths replaced the learned widths.
    """
    return CRITERIA[chosen_by].short if chosen_by in CRITERIA else chosen_by


def describe_chosen(chosen: ChosenBy) -> str:
    """Describe how the widths were selected, and give the errors on the rows that were held out for this purpose."""
    if chosen.learned_error is None or chosen.median_error is None or not chosen.n_held_out:
        return describe_widths(chosen.name)
    learned, median = (f"{percentage(100 * error, 1)} %" for error in (chosen.learned_error, chosen.median_error))
    rows, by = counted(chosen.n_held_out, "held-out row"), width_criterion(chosen.criterion)
    if chosen.guarded:
        return f"median widths (guard): {median} of {rows} misclassified; {learned} with learned widths ({by})"
    return f"learned widths ({by}): {learned} of {rows} misclassified; {median} with median widths"


def describe_convergence(classifier: TrainedSvm) -> str:
    """Report a final SVM fit that did not converge, and how many fits for selecting widths and C did not converge.

    Return an empty string if all fits converged.
    """
    parts = [] if classifier.converged else [f"not converged (gap {classifier.gap:.1e})"]
    converged = [point.converged for point in classifier.grid]
    if classifier.chosen is not None:
        converged += [candidate.converged for candidate in classifier.chosen.candidates]
    if not all(converged):
        parts.append(f"{converged.count(False)} of {len(converged)} fits for selecting widths and C did not converge")
    return ", ".join(parts)


@dataclass(frozen=True)
class NetworkRecord:
    """The training history of autoencoders.

    Attributes
    ----------
    epochs : tuple of SdaEpoch
        Epochs of pre-training, followed by the epochs of fine-tuning if the network was fine-tuned.
    best_epoch : int or None
        Number of the fine-tuning epoch whose weights the network uses. None without fine-tuning.
    """

    epochs: tuple[SdaEpoch, ...]
    best_epoch: int | None = None


@dataclass(frozen=True, eq=False)
class RunResult:
    """The result of a run.

    Attributes
    ----------
    spec : RunSpec
        Spec of the run, as `RunSpec.checked` returns it.
    dataset : str
        Name of the data set.
    generated : bool
        True if the data were made by a seeded generator, False if they were read from files.
    labels : tuple of int
        Labels of the classes, in the order of the rows and columns of the confusion matrix.
    classifier : TrainedSvm or None
        The SVM. None if the run used another classifier or a fine-tuned network instead.
    n_train : int
        Number of training rows.
    confusion : ndarray of int, shape (k, k)
        ``confusion[i, j]`` is the number of rows of class i that were predicted as class j.
    judged : ndarray of int, shape (n,)
        Sorted indices of the evaluated rows in the test set or, if validation rows were evaluated, in the training set.
    misclassified : ndarray of int, shape (m,)
        Sorted indices of the misclassified rows, in the same set as `judged`.
    predicted : ndarray of int, shape (m,)
        Predicted class of each misclassified row, as an index into `labels`.
    decisions : ndarray of shape (m, 1) or (m, c)
        Decision values of each misclassified row. For two classes, the decision value is the margin. Otherwise, there
        is one score for each of the c classes that occur in the training rows, where c ≤ k.
    train_error : float
        Error on the training rows, or on a stratified sample of 5 000 of them if there are more.
    validation_error : float or None
        Error on the validation rows of the split. None if the classifier was trained on the whole training set.
    timings : Timings
        Duration of each step of the run.
    versions : tuple of (name, version)
        Versions of the program and of all libraries that affect the result. The entry "numerics" contains the
        `RESULTS_VERSION` of the program.
    network : NetworkRecord or None
        Training history of the autoencoders. None if the run has no autoencoders.
    validation_loss : float or None
        Mean hinge loss of an SVM on the validation rows whose class occurs in the training rows. With more than two
        classes, the margin is the score of the true class minus the highest other score. None if the classifier is not
        an SVM, if there are no such rows, or if the loss was not recorded.
    """

    spec: RunSpec
    dataset: str
    generated: bool
    labels: tuple[int, ...]
    classifier: TrainedSvm | None
    n_train: int
    confusion: Integers
    judged: Integers
    misclassified: Integers
    predicted: Integers
    decisions: Array
    train_error: float
    validation_error: float | None
    timings: Timings
    versions: tuple[tuple[str, str], ...]
    network: NetworkRecord | None = None
    validation_loss: float | None = None

    @property
    def best_epoch(self) -> int | None:
        """Number of the fine-tuning epoch whose weights the network uses. None without fine-tuning."""
        return None if self.network is None else self.network.best_epoch

    @property
    def numerics(self) -> str:
        """The `RESULTS_VERSION` of the program that computed the result, or of this program if none is recorded."""
        return dict(self.versions).get("numerics", str(RESULTS_VERSION))

    @property
    def is_current(self) -> bool:
        """True if the result was computed with the results version of this program."""
        return is_current(self.numerics)

    @property
    def hash(self) -> str:
        """Hash of the spec and the results version, which is the key of the result in a store."""
        if self.is_current:
            return self.spec.hash
        return document_hash(self.spec.document(), version_in_hashes(self.numerics))

    @property
    def seconds(self) -> float:
        """Duration of the run in seconds."""
        return self.timings.total

    @property
    def n_test(self) -> int:
        """Number of evaluated rows."""
        return len(self.judged)

    @property
    def error(self) -> float:
        """Fraction of the evaluated rows that were misclassified."""
        return len(self.misclassified) / len(self.judged)

    @property
    def rate(self) -> ErrorRate:
        """The error with its 95 % confidence interval."""
        return ErrorRate.of_run(self.error, self.n_test)

    @property
    def row_errors(self) -> bytes:
        """Bytes that record which evaluated rows are misclassified, so that runs can be compared row by row.

        `error_rate.row_errors` defines the format of the bytes.
        """
        return row_errors(f"{self.spec.fingerprint} {self.spec.evaluate}", self.judged, self.misclassified)

    @property
    def chosen_by(self) -> str:
        """Key of the criterion that selected the widths, or `GUARD` if median widths replaced the learned widths.

        Empty if no widths were learned, or if the criterion is unknown.
        """
        chosen = None if self.classifier is None else self.classifier.chosen
        return "" if chosen is None else chosen.name

    @property
    def widths(self) -> str:
        """Description of how the widths were selected. Empty if there is no SVM, or if the criterion is unknown."""
        if self.classifier is None or self.chosen_by or self.spec.svm.widths != "median":
            return describe_widths(self.chosen_by)
        return f"median widths{' times a factor selected by cross-validation' * bool(self.classifier.grid)}"

    def document(self) -> dict[str, Any]:
        """Return all fields except the arrays as JSON-compatible values."""
        return {
            "spec": self.spec.document(),
            **{name: getattr(self, name) for name in _SAME},
            "timings": asdict(self.timings),
            "versions": dict(self.versions),
            "classifier": None if self.classifier is None else _plain(self.classifier),
            **({} if self.network is None else {"network": asdict(self.network)}),
            **({} if self.validation_loss is None else {"validation_loss": self.validation_loss}),
        }

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all arrays of the result and its classifier. Their keys are the names in `ARRAYS`."""
        checked = {}
        for name, (dtype, ndim) in ARRAYS.items():
            home = self.classifier if name in _OF_CLASSIFIER else self
            array = np.empty((0,) * ndim) if home is None else getattr(home, name)
            checked[name] = np.ascontiguousarray(array, dtype)
        return checked

    @classmethod
    def from_parts(cls, document: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Create a result from the values in the JSON object `document` and from the arrays in `arrays`.

        Raises
        ------
        ValueError
            If a value or an array is invalid, or if values and arrays are inconsistent with each other.
        """
        for name, (dtype, ndim) in ARRAYS.items():
            if arrays[name].dtype != np.dtype(dtype) or arrays[name].ndim != ndim:
                raise ValueError(f"{name} is {arrays[name].ndim}-D {arrays[name].dtype}, expected {ndim}-D {dtype}")
        if not isinstance(document, dict) or not isinstance(document.get("versions"), dict):
            raise ValueError("a result must be a JSON object with the program and library versions of its run")
        inner = {key: value for key, value in document.items() if key not in ("classifier", "versions")}
        versions = checked_value(tuple[tuple[str, str], ...], list(document["versions"].items()), "versions")
        classifier = document.get("classifier")
        if classifier is not None:
            of_classifier = {name: arrays[name] for name in _OF_CLASSIFIER}
            classifier = from_document(TrainedSvm, classifier, "classifier", of_classifier)
        given = {name: arrays[name] for name in ARRAYS if name not in _OF_CLASSIFIER}
        result = from_document(cls, inner, "a result", {**given, "versions": versions, "classifier": classifier})
        result._check_shapes()
        return replace(result, dataset=unmarked(result.dataset, result.generated))

    def _check_shapes(self) -> None:
        """Raise ValueError if an array or the classifier contradicts the other fields."""
        k, n, m = len(self.labels), len(self.judged), len(self.misclassified)
        fits = {
            "confusion": self.confusion.shape == (k, k) and self.confusion.sum() == n,
            "judged": n > 0 and self.judged.min() >= 0 and _rises(self.judged),
            "misclassified": _rises(self.misclassified) and bool(np.isin(self.misclassified, self.judged).all()),
            "predicted": len(self.predicted) == m and bool(((self.predicted >= 0) & (self.predicted < k)).all()),
            # For two classes, the decision values have one column. Otherwise, they have one column for each class in
            # the training rows. There can be fewer such classes than k, because k includes classes that occur only in
            # the test set.
            "decisions": self.decisions.shape in {(m, columns) for columns in (1, *range(3, k), k)},
        }
        classifier = self.classifier
        if classifier is not None:
            fits["widths"] = len(classifier.widths) == len(classifier.shares) == len(classifier.medians) > 0
            fits["coefficients"] = classifier.coefficients.shape == (len(classifier.biases), classifier.n_support)
        for name, fit in fits.items():
            if not fit:
                raise ValueError(f"the value of {name} contradicts the other values of the result")


def _rises(rows: Integers) -> bool:
    return bool((np.diff(rows) > 0).all())


def _plain(classifier: TrainedSvm) -> dict[str, Any]:
    """Return the fields of a classifier, except its arrays, as JSON-compatible values."""
    without_arrays: Any = dict.fromkeys(_OF_CLASSIFIER)
    document = asdict(replace(classifier, **without_arrays))
    return {name: value for name, value in document.items() if name not in _OF_CLASSIFIER}
