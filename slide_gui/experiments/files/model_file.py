"""Fit models to a data set, and save them as .npz files, which contain plain arrays and a JSON manifest."""

import json
import os
import re
import time
import zipfile
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from slide_gui import __version__
from slide_gui.core.linear_algebra import tiles
from slide_gui.core.slide.parameters import MOST_LAYERS, StackParameters
from slide_gui.core.slide.stack import Layer, Stack, fit_stack
from slide_gui.core.svm.kernel import Embedding
from slide_gui.core.svm.model import SvmModel, TrainedSvm, pairs_of, predicted_codes
from slide_gui.data.dataset import Dataset
from slide_gui.data.errors import DataError
from slide_gui.data.files import write_whole
from slide_gui.data.limits import BROKEN
from slide_gui.data.readers.arrays import read_array
from slide_gui.data.scaling import is_scaling, scaled, unscaled
from slide_gui.experiments.documents import checked_value, from_document
from slide_gui.experiments.runs.spec import METHODS
from slide_gui.progress import NO_PROGRESS, Progress
from slide_gui.text import clean_name, label_names, unmarked

if TYPE_CHECKING:
    from slide_gui.experiments.runs.result import RunResult

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A fitted stack and an optional classifier, with a description of their data set and the version of the program.

    Attributes
    ----------
    stack : Stack
        The layers and their parameters.
    dataset : str
        Name of the data set.
    fingerprint : str
        SHA-256 (hex) of the data, as in `Dataset.fingerprint`.
    image_shape : tuple of (rows, columns), or None
        Shape of the images. None for features that are not pixels.
    generated : bool
        True if the data were made by a seeded generator, False if they were read from files.
    seconds : float
        Duration of the fit in seconds.
    version : str
        Version of slide-gui with which the model was fitted.
    feature_names : tuple of str
        Names of the features. Empty if the features have no names.
    label_column : str
        Name of the label column in the data table, or its number, counted from 1. Empty if there was no label column.
    scaling : ndarray of shape (k, d), or None
        Offset and divisor, or quantiles, of each feature, as in `Dataset.scaling`.
    class_names : tuple of str
        Names of the classes that the classifier distinguishes. Empty if the model has no classifier.
    svm : SvmModel or None
        The classifier, whose input is the representation that the stack computes. None if there is no classifier.
    """

    stack: Stack
    dataset: str
    fingerprint: str
    image_shape: tuple[int, int] | None
    generated: bool
    seconds: float
    version: str
    feature_names: tuple[str, ...] = ()
    label_column: str = ""
    scaling: NDArray[np.float64] | None = None
    class_names: tuple[str, ...] = ()
    svm: SvmModel | None = None

    @classmethod
    def of(cls, dataset: Dataset, stack: Stack, seconds: float = 0.0) -> "FittedModel":
        """Create a model from a stack and the data set to which the stack was fitted."""
        described, opened = (dataset.name, dataset.fingerprint, dataset.image_shape, dataset.generated), dataset.opened
        label = "" if opened.label_column is None or not opened.columns else opened.columns[opened.label_column]
        scaling, names = dataset.scaling, dataset.feature_names
        unit = dataset.generated if dataset.image_shape else 0 <= dataset.train.min() <= dataset.train.max() <= 1
        if scaling is None and unit:
            scaling = np.repeat([[0.0], [1.0]], dataset.n_features, axis=1)
        # Images have no feature names, unless they were read from a table with column names.
        if not names and opened.header:
            others = {opened.label_column, *opened.left_out}
            names = tuple(name for k, name in enumerate(opened.columns) if k not in others)
        return cls(stack, *described, seconds, __version__, names, label, scaling)

    def rescaled(self, row: NDArray[np.float32], dataset: Dataset) -> NDArray[np.float32]:
        """Convert a row from the scaling of `dataset` to the scaling of the model. Images are returned unchanged."""
        if self.image_shape is not None or (self.scaling is None and dataset.scaling is None):
            return row
        values = row[None] if dataset.scaling is None else unscaled(row[None], dataset.scaling)
        values = values if self.scaling is None else scaled(values, self.scaling)
        return np.asarray(values[0], np.float32)

    def predict(
        self, rows: NDArray[np.float32], progress: Progress = NO_PROGRESS
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return, for each row, the code of the predicted class and its smallest margin over any other class.

        The predicted class is the one that wins the most comparisons of two classes. If this class loses one of its
        comparisons, its smallest margin is negative.
        """
        assert self.svm is not None
        codes, least = np.empty(len(rows), np.intp), np.empty(len(rows))
        pairs = pairs_of(len(self.class_names))
        for some in tiles(len(rows), _BLOCK, progress, fraction=True):
            margins = self.svm.margins(self.stack.transform(rows[some]))
            codes[some] = predicted_codes(margins, len(self.class_names))
            signs = np.array([codes[some] == j for _, j in pairs]) * 1 - np.array([codes[some] == i for i, _ in pairs])
            least[some] = np.where(signs.T != 0, signs.T * margins, np.inf).min(axis=1)
        return codes, least


def fit_model(dataset: Dataset, parameters: StackParameters, *, progress: Progress = NO_PROGRESS) -> FittedModel:
    """Fit a stack on the training rows of a data set. Labels are not used.

    Parameters
    ----------
    dataset : Dataset
        The data set. The stack is fitted to the whole training set, because the method is unsupervised.
    parameters : StackParameters
        Noise level, depth and the other parameters of the stack.
    progress : Progress
        Receives, after each layer, a `Stack` of all layers fitted so far.

    Raises
    ------
    ValueError
        If a parameter is out of range, or no stack can be fitted to the rows.
    """
    start = time.perf_counter()
    stack = fit_stack(dataset.train, parameters, image_shape=dataset.image_shape or (), progress=progress)
    return FittedModel.of(dataset, stack, time.perf_counter() - start)


def trained_model(dataset: Dataset, result: "RunResult", *, progress: Progress = NO_PROGRESS) -> FittedModel:
    """Return the stack and the classifier of a result as a model that can be saved.

    Parameters
    ----------
    dataset : Dataset
        Data set of the result, or the same data with other rows held out.
    result : RunResult
        Result of a run with an SVM.

    Raises
    ------
    DataError, ValueError
        If the data are not those of the result, or the method is not an SVM on all layers of a stack.
    """
    from slide_gui.experiments.runs.run import restore  # This import is slow, and other functions do not need it.
    from slide_gui.experiments.runs.splits import divided_as

    method = METHODS[result.spec.method]
    if not method.plain:
        raise ValueError(f"a model file cannot store the method {method.text}; use slide-svm, median or raw-svm")
    dataset = divided_as(dataset, result.spec.fingerprint, result.spec.held_out)
    restored = restore(dataset, result, progress=progress)
    stack = restored.representation
    assert isinstance(stack, Stack)
    names = label_names(restored.labels, dataset.label_names)[: restored.model.trained.n_classes]
    return replace(FittedModel.of(dataset, stack), class_names=names, svm=restored.model)


FORMAT = "slide-gui model"
# Largest format version of model files. Files with quantiles have version 3. Other files with a scaling or a classifier
# have version 2, and all other files have version 1.
FORMAT_VERSION = 3

_BLOCK = 4096  # Number of rows whose classes are predicted at a time.
_OF_SVM = ("widths", "centre", "vectors", "coefficients", "biases")
_MANIFEST = "manifest"
_MANIFEST_BYTES = 1 << 24  # Largest size of a manifest in bytes, enough for the names of 100 000 features.
_LONGEST_NAME = 1000
_REMEDY = "save the model again with slide-gui fit, train or try"


def save_model(path: str | os.PathLike[str], model: FittedModel) -> None:
    """Write a model to an .npz file. A temporary file is written first, so that the .npz file is never incomplete.

    Parameters
    ----------
    path : path-like
        Path of the file. It usually ends in ``.npz``.
    model : FittedModel
        The model. The scatter matrices of its layers are not saved.

    Raises
    ------
    OSError
        If the file cannot be written. An existing file stays unchanged.
    """
    manifest = json.dumps(_document(model), ensure_ascii=False, allow_nan=False).encode()
    arrays: dict[str, NDArray[Any]] = {_MANIFEST: np.frombuffer(manifest, dtype=np.uint8)}
    for k, layer in enumerate(model.stack.layers, start=1):
        arrays[f"weights_{k}"] = np.ascontiguousarray(layer.weights, dtype="<f8")
    if model.scaling is not None:
        arrays["scaling"] = np.ascontiguousarray(model.scaling, dtype="<f8")
    if model.svm is not None:
        svm, embedding = model.svm.trained, model.svm.embedding
        values = np.array(embedding.widths), embedding.centre, model.svm.vectors, svm.coefficients, svm.biases
        arrays |= dict(zip(_OF_SVM, values, strict=True))
    write_whole(Path(path), lambda file: np.savez(file, allow_pickle=False, **arrays))


def _document(model: FittedModel) -> dict[str, Any]:
    """Return the manifest of a model file as JSON-compatible values.

    The manifest omits the feature names, the class names and the label column if they are empty.
    """
    stack = model.stack
    scaling = model.scaling
    version = 1 if scaling is None and model.svm is None else 2 if scaling is None or len(scaling) == 2 else 3
    document: dict[str, Any] = {"format": FORMAT, "format_version": version}
    empty = {name for name in ("feature_names", "label_column", "class_names") if not getattr(model, name)}
    document |= {name: value for name, value in vars(model).items() if name not in {"stack", "scaling", "svm", *empty}}
    document |= {"n_features": stack.n_features, "n_samples": stack.n_samples}
    return {**document, "parameters": stack.parameters.document(), "errors": [layer.error for layer in stack.layers]}


def is_model_file(path: str | os.PathLike[str]) -> bool:
    """Return True if a file contains a manifest, which distinguishes model files from .npz files of data.

    The arrays in the file are not read.
    """
    with suppress(*BROKEN), zipfile.ZipFile(path) as archive:
        return f"{_MANIFEST}.npy" in archive.namelist()
    return False


def load_model(path: str | os.PathLike[str]) -> FittedModel:
    """Read a model that `save_model` wrote.

    Sizes, names, shapes and types of the arrays are checked before memory is allocated. No pickled objects are read.

    Raises
    ------
    DataError
        If the file is missing or damaged, or is not a model file that this program can read. The error names the file.
    """
    place = str(path)
    try:
        with zipfile.ZipFile(path) as archive:
            return _read(archive, os.path.getsize(path), place)
    except DataError:
        raise
    except FileNotFoundError:
        raise DataError("this file does not exist; check the name", place) from None
    except OSError as error:
        raise DataError(f"this file cannot be read ({error.strerror or error})", place) from None
    except BROKEN as error:
        raise DataError(f"this file is damaged, or is not a model in .npz format ({error}); {_REMEDY}", place) from None


def _from_manifest(text: bytes) -> tuple[FittedModel, tuple[float, ...]]:
    """Return the model that the JSON text of a manifest describes, and the reconstruction error of each layer.

    The returned model has no layers yet. Unknown entries, which later versions of the program may add, are ignored.

    Raises
    ------
    ValueError
        If an entry is missing, has a wrong type or is out of range. The message contains the name of the entry.
    """
    document = json.loads(text)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f"the format of the file is not {FORMAT!r}")
    version = document.get("format_version")
    if type(version) is not int or not 1 <= version <= FORMAT_VERSION:
        problem = f"the format version is {str(version)[:20]}, but this program reads versions up to {FORMAT_VERSION}"
        raise ValueError(f"{problem}; update slide-gui if a newer version wrote the file")

    def read(kind: type[T], **given: Any) -> T:
        names = {each.name for each in fields(kind)} - set(given)  # type: ignore[arg-type]
        return from_document(kind, {key: document[key] for key in document if key in names}, "the manifest", given)

    stack = read(Stack, layers=())
    stack = replace(stack, parameters=stack.parameters.checked())
    model = read(FittedModel, stack=stack, scaling=None, svm=None)
    errors = checked_value(tuple[float, ...], document.get("errors"), "errors")
    d, shape, most = stack.n_features, model.image_shape, min(stack.parameters.depth, MOST_LAYERS)
    expected = {
        "n_features": (d >= 1, "1 or more"),
        "n_samples": (stack.n_samples >= 1, "1 or more"),
        "seconds": (model.seconds >= 0, "0 or more"),
        "fingerprint": (re.fullmatch("[0-9a-f]{64}", model.fingerprint), "64 hexadecimal digits"),
        "image_shape": (shape is None or (min(shape) > 0 and shape[0] * shape[1] == d), f"{d} pixels, or null"),
        "errors": (len(errors) <= most and all(each >= 0 for each in errors), f"at most {most} non-negative numbers"),
        "feature_names": (len(model.feature_names) in (0, d), f"{d} strings"),
        "class_names": (len(model.class_names) != 1 and len(set(model.class_names)) == len(model.class_names), "names"),
        "label_column": (len(model.label_column) <= _LONGEST_NAME, "a shorter name"),
        "dataset": (len(model.dataset) <= _LONGEST_NAME, "a shorter name"),
    }
    for name, (fits, what) in expected.items():
        if not fits:
            raise ValueError(f"{name} is {str(document[name])[:60]}, expected {what}")
    names = tuple(map(clean_name, model.feature_names))
    classes, title = tuple(map(clean_name, model.class_names)), unmarked(model.dataset, model.generated)
    return replace(model, dataset=title, feature_names=names, class_names=classes), errors


def _read(archive: zipfile.ZipFile, file_size: int, place: str) -> FittedModel:
    infos = [info for info in archive.infolist() if info.filename.endswith(".npy")]
    members = {info.filename.removesuffix(".npy"): info for info in infos}
    if _MANIFEST not in members:
        raise DataError(f"this .npz file has no manifest, so it is not a slide-gui model; {_REMEDY}", place)
    _check_sizes(archive.infolist(), file_size, place)
    if members[_MANIFEST].file_size > _MANIFEST_BYTES:
        raise DataError(f"the manifest is larger than {_MANIFEST_BYTES} bytes; {_REMEDY}", place)
    try:
        model, errors = _from_manifest(_member(archive, _MANIFEST, (None,), place, "u1").tobytes())
    except (ValueError, RecursionError) as error:
        raise DataError(f"the manifest cannot be used: {error}; {_REMEDY}", place) from None
    d, depth, k = model.stack.n_features, len(errors), len(model.class_names)
    width, n_pairs = d * (depth + 1), k * (k - 1) // 2
    shapes: dict[str, tuple[int | None, ...]] = {f"weights_{layer}": (d, d + 1) for layer in range(1, depth + 1)}
    if "scaling" in members:
        shapes["scaling"] = None, d
    if k:
        shapes |= zip(_OF_SVM, ((None,), (width,), (None, width), (n_pairs, None), (n_pairs,)), strict=True)
    if sorted(info.filename for info in archive.infolist()) != sorted(f"{name}.npy" for name in (_MANIFEST, *shapes)):
        raise DataError(f"this file does not contain exactly the arrays that its manifest describes; {_REMEDY}", place)
    arrays = {name: _member(archive, name, shape, place) for name, shape in shapes.items()}
    layers = tuple(Layer(arrays[f"weights_{layer}"], float(error)) for layer, error in enumerate(errors, start=1))
    scaling = arrays.get("scaling")
    if scaling is not None and not is_scaling(scaling):
        raise DataError(f"the scaling divides a feature by a number ≤ 0, or has unsorted quantiles; {_REMEDY}", place)
    model = replace(model, stack=replace(model.stack, layers=layers), scaling=scaling)
    return replace(model, svm=_svm_of(arrays, width, depth, place)) if k else model


def _svm_of(arrays: dict[str, NDArray[Any]], width: int, depth: int, place: str) -> SvmModel:
    """Return the classifier of a model from its arrays. The training history, which is not saved, is empty."""
    widths, centre, vectors, coefficients, biases = (arrays[name] for name in _OF_SVM)
    if len(widths) not in (1, depth + 1) or not (widths > 0).all():
        raise DataError(f"the widths are {widths.tolist()}, expected one positive number per layer; {_REMEDY}", place)
    if coefficients.shape[1] != len(vectors):
        raise DataError(
            f"there are {len(vectors)} support vectors, but coefficients for {coefficients.shape[1]}; {_REMEDY}", place
        )
    numbers, dtype = tuple(widths.tolist()), vectors.dtype.name
    trained = TrainedSvm(
        widths=numbers, shares=(), medians=(), C=1.0, history=(), grid=(), gap=0.0, converged=True, dtype=dtype,
        support=np.arange(len(vectors)), coefficients=coefficients, biases=biases,
    )  # fmt: skip
    return SvmModel(trained, Embedding((width // len(widths),) * len(widths), numbers, centre), vectors)


def _check_sizes(infos: list[zipfile.ZipInfo], file_size: int, place: str) -> None:
    most = MOST_LAYERS + 2 + len(_OF_SVM)
    if len(infos) > most:
        raise DataError(f"the file contains {len(infos)} arrays, expected at most {most}; {_REMEDY}", place)
    for info in infos:
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1:
            raise DataError(f"{info.filename} must be neither compressed nor encrypted; {_REMEDY}", place)
    claimed = sum(info.file_size for info in infos)
    if claimed > file_size:
        raise DataError(f"the arrays need {claimed} bytes, but the file has only {file_size}; copy it again", place)


def _member(
    archive: zipfile.ZipFile, name: str, shape: tuple[int | None, ...], place: str, dtype: str = "<f8"
) -> NDArray[Any]:
    """Read the array `name` of a model file. Check its shape and dtype, and refuse values that are not finite.

    A dimension for which `shape` contains None may have any size. The array "vectors" may also have the dtype float32.
    """
    member = archive.getinfo(f"{name}.npy")
    with archive.open(member) as file:
        array = read_array(file, member.file_size, f"{place}, {name}")
    fits = array.ndim == len(shape) and all(want in (None, n) for want, n in zip(shape, array.shape, strict=True))
    if not fits or array.dtype not in (np.dtype(dtype), np.dtype("<f4" if name == "vectors" else dtype)):
        sizes = f"({', '.join('n' if size is None else str(size) for size in shape)}{',' * (len(shape) == 1)})"
        raise DataError(
            f"{name} is {array.dtype} of shape {array.shape}, expected {np.dtype(dtype)} of shape {sizes}; {_REMEDY}",
            place,
        )
    # Weights beyond the range of float32 are refused, because the window converts weights to float32 to draw them.
    drawn = name.startswith("weights")
    if not (np.abs(array) <= np.finfo(np.float32 if drawn else np.float64).max).all():
        numbers = "NaN, infinity or numbers that are too large for float32" if drawn else "NaN or infinity"
        raise DataError(f"{name} contains {numbers}; {_REMEDY}", place)
    return np.ascontiguousarray(array)
