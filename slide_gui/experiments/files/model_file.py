"""Fitted models: fit them on a data set, and save them as an .npz of plain arrays with a JSON manifest."""

from __future__ import annotations

import json
import math
import os
import time
import zipfile
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, NoReturn, TypeGuard

import numpy as np
from numpy.typing import NDArray

from slide_gui import __version__
from slide_gui.core.slide.parameters import MOST_LAYERS, StackParameters
from slide_gui.core.slide.stack import Layer, Stack, fit_stack
from slide_gui.data.dataset import Dataset
from slide_gui.data.errors import DataError
from slide_gui.data.files import write_whole
from slide_gui.data.lazy import LazyRows
from slide_gui.data.readers.archives import BROKEN
from slide_gui.data.readers.arrays import read_array
from slide_gui.experiments.documents import unmarked
from slide_gui.progress import NO_PROGRESS, Progress
from slide_gui.text import clean_name


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A fitted stack with the data set and version that it comes from.

    Attributes
    ----------
    stack : Stack
        The layers and their parameters.
    dataset : str
        Name of the data set.
    fingerprint : str
        SHA-256 (hex) of the data, as `Dataset.fingerprint`, or `LazyRows.fingerprint` for rows that stay in files.
    image_shape : tuple of (rows, columns), or None
        None for features that are not pixels.
    generated : bool
        True if the data are generated.
    seconds : float
        Wall-clock time of the fit.
    version : str
        Version of slide-gui that fitted it.
    feature_names : tuple of str
        Names of the features, empty if they have none.
    """

    stack: Stack
    dataset: str
    fingerprint: str
    image_shape: tuple[int, int] | None
    generated: bool
    seconds: float
    version: str = __version__
    feature_names: tuple[str, ...] = ()


def fit_model(
    dataset: Dataset | LazyRows, parameters: StackParameters, *, progress: Progress = NO_PROGRESS
) -> FittedModel:
    """Fit a stack on the training rows of a data set, without labels.

    Parameters
    ----------
    dataset : Dataset or LazyRows
        Its whole training set is used, because the method is unsupervised. Rows that stay in their files are read chunk
        by chunk, on the workers of the active Dask client if there is one.
    parameters : StackParameters
        Noise, depth and the other parameters.
    progress : Progress
        Receives the `Stack` so far as payload after each layer.

    Raises
    ------
    ValueError
        If a parameter is out of range or the rows cannot be fitted.
    """
    start = time.perf_counter()
    stack = fit_stack(dataset.train, parameters, progress=progress)
    seconds = time.perf_counter() - start
    return FittedModel(
        stack, dataset.name, dataset.fingerprint, dataset.image_shape, dataset.generated, seconds,
        feature_names=dataset.feature_names,
    )  # fmt: skip


FORMAT = "slide-gui model"
FORMAT_VERSION = 1

_MANIFEST = "manifest"
_MANIFEST_BYTES = 1 << 16
_REMEDY = "save the model again with slide-gui fit"


def save_model(path: str | os.PathLike[str], model: FittedModel) -> None:
    """Write a model to one .npz file, atomically by way of a temporary file.

    Parameters
    ----------
    path : path-like
        Any name, usually with ``.npz``.
    model : FittedModel
        The model. The scatters of its layers are not saved.

    Raises
    ------
    OSError
        If the file cannot be written. An existing file stays unchanged.
    """
    manifest = json.dumps(_manifest(model), ensure_ascii=False, allow_nan=False).encode()
    arrays: dict[str, NDArray[Any]] = {_MANIFEST: np.frombuffer(manifest, dtype=np.uint8)}
    for k, layer in enumerate(model.stack.layers, start=1):
        arrays[f"weights_{k}"] = np.ascontiguousarray(layer.weights, dtype="<f8")
    write_whole(Path(path), lambda file: np.savez(file, allow_pickle=False, **arrays))


def is_model_file(path: str | os.PathLike[str]) -> bool:
    """Return True if a file looks like a model rather than an .npz of data, without reading its arrays."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except BROKEN:
        return False
    return f"{_MANIFEST}.npy" in names


def load_model(path: str | os.PathLike[str]) -> FittedModel:
    """Read a model that `save_model` wrote.

    Sizes, names, shapes and types are checked before memory is allocated. Nothing is unpickled.

    Raises
    ------
    DataError
        If the file is missing, damaged, or not a model of this format. The error names the file.
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
        raise DataError(f"cannot be read ({error.strerror or error})", place) from None
    except BROKEN as error:
        raise DataError(f"is damaged or not an .npz model ({error}); {_REMEDY}", place) from None


def _manifest(model: FittedModel) -> dict[str, Any]:
    stack = model.stack
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "version": model.version,
        "dataset": model.dataset,
        "fingerprint": model.fingerprint,
        "image_shape": list(model.image_shape) if model.image_shape else None,
        "generated": model.generated,
        "seconds": model.seconds,
        "n_features": stack.n_features,
        "n_samples": stack.n_samples,
        "parameters": asdict(stack.parameters),
        "errors": [layer.error for layer in stack.layers],
        **({"feature_names": list(model.feature_names)} if model.feature_names else {}),
    }


def _read(archive: zipfile.ZipFile, file_size: int, place: str) -> FittedModel:
    members = {info.filename: info for info in archive.infolist()}
    if f"{_MANIFEST}.npy" not in members:
        raise DataError(f"is an archive without a manifest, not a slide-gui model; {_REMEDY}", place)
    _check_sizes(archive.infolist(), file_size, place)
    if members[f"{_MANIFEST}.npy"].file_size > _MANIFEST_BYTES:
        raise DataError(
            f"the manifest is larger than {_MANIFEST_BYTES} bytes; {_REMEDY}",
            place,
        )
    raw = _member(archive, _MANIFEST, np.dtype("u1"), None, place)
    try:
        document = json.loads(raw.tobytes(), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise DataError(f"the manifest is not JSON; {_REMEDY}", place) from None
    manifest = _Manifest(document, place)
    d, depth = manifest.n_features, len(manifest.errors)
    expected = {f"{_MANIFEST}.npy"} | {f"weights_{k}.npy" for k in range(1, depth + 1)}
    if set(members) != expected or len(archive.infolist()) != len(expected):
        raise DataError(
            f"the members are not the manifest and weights of {depth} layers; {_REMEDY}",
            place,
        )
    layers = []
    for k, error in enumerate(manifest.errors, start=1):
        weights = _member(archive, f"weights_{k}", np.dtype("<f8"), (d, d + 1), place)
        if not (np.abs(weights) <= np.finfo(np.float32).max).all():  # they are drawn as float32
            raise DataError(
                "{name} contains NaN, infinity or numbers beyond float32; {remedy}".format(
                    name=f"weights_{k}", remedy=_REMEDY
                ),
                place,
            )
        layers.append(Layer(weights, error))
    stack = Stack(manifest.parameters, tuple(layers), d, manifest.n_samples)
    return manifest.model(stack)


def _check_sizes(infos: list[zipfile.ZipInfo], file_size: int, place: str) -> None:
    if len(infos) > MOST_LAYERS + 1:
        raise DataError(
            f"{len(infos)} members, expected at most {MOST_LAYERS + 1}; {_REMEDY}",
            place,
        )
    for info in infos:
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1:
            raise DataError(
                f"{info.filename} is compressed or encrypted, a model's members are not; {_REMEDY}",
                place,
            )
    claimed = sum(info.file_size for info in infos)
    if claimed > file_size:
        raise DataError(
            f"the members claim {claimed} bytes, the file has only {file_size}; fetch it again",
            place,
        )


def _member(
    archive: zipfile.ZipFile, name: str, dtype: np.dtype[Any], shape: tuple[int, ...] | None, place: str
) -> NDArray[Any]:
    """Return one array. `shape` None accepts any one-dimensional array."""
    member = archive.getinfo(f"{name}.npy")
    with archive.open(member) as file:
        array = read_array(file, member.file_size, f"{place}, {name}")
    if array.dtype != dtype or (array.ndim != 1 if shape is None else array.shape != shape):
        raise DataError(
            f"{name} is {array.dtype} of shape {array.shape}, expected {dtype} of shape {shape or '(n,)'}; {_REMEDY}",
            place,
        )
    return np.ascontiguousarray(array)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


class _Manifest:
    """The manifest, with the type and range of every entry checked."""

    def __init__(self, document: object, place: str) -> None:
        self._place = place
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise DataError(f"the manifest's format is not {FORMAT!r}; {_REMEDY}", place)
        self._document = document
        version = document.get("format_version")
        if type(version) is not int or version != FORMAT_VERSION:
            raise DataError(
                f"format version {str(version)[:20]}, this slide-gui reads {FORMAT_VERSION}; open it with the "
                "version that wrote it",
                place,
            )
        self.n_features = self._whole("n_features", 1)
        self.n_samples = self._whole("n_samples", 1)
        self.errors = self._errors()
        self.parameters = self._parameters()
        if len(self.errors) > min(self.parameters.depth, MOST_LAYERS):
            self._refuse("errors", f"at most {min(self.parameters.depth, MOST_LAYERS)} numbers, one per layer")

    def model(self, stack: Stack) -> FittedModel:
        """Return the model of this manifest with the given stack."""
        generated = self._document.get("generated")
        if not isinstance(generated, bool):
            self._refuse("generated", "true or false")
        seconds = self._document.get("seconds")
        if not _is_number(seconds) or seconds < 0:
            self._refuse("seconds", "a number, 0 or more")
        fingerprint = self._text("fingerprint")
        if len(fingerprint) != 64 or set(fingerprint) - set("0123456789abcdef"):
            self._refuse("fingerprint", "64 hexadecimal digits")
        return FittedModel(
            stack,
            unmarked(self._text("dataset"), generated),
            fingerprint,
            self._image_shape(),
            generated,
            float(seconds),
            self._text("version"),
            self._feature_names(),
        )

    def _refuse(self, key: str, expected: str) -> NoReturn:
        value = repr(self._document.get(key))[:60]
        raise DataError(
            f"the manifest's {key} is {value}, expected {expected}; {_REMEDY}",
            self._place,
        )

    def _text(self, key: str) -> str:
        value = self._document.get(key)
        if not isinstance(value, str) or len(value) > 1000:
            self._refuse(key, "a short text")
        return value

    def _whole(self, key: str, least: int) -> int:
        value = self._document.get(key)
        if type(value) is not int or not least <= value < 1 << 53:
            self._refuse(key, f"an integer of at least {least}")
        return value

    def _image_shape(self) -> tuple[int, int] | None:
        value = self._document.get("image_shape")
        if value is None:
            return None
        whole = isinstance(value, list) and len(value) == 2 and all(type(n) is int and n > 0 for n in value)
        if not whole or value[0] * value[1] != self.n_features:
            self._refuse("image_shape", f"null or rows and columns of {self.n_features} pixels")
        return value[0], value[1]

    def _feature_names(self) -> tuple[str, ...]:
        value = self._document.get("feature_names", [])
        if not isinstance(value, list) or len(value) not in (0, self.n_features):
            self._refuse("feature_names", f"{self.n_features} texts")
        if not all(isinstance(name, str) and len(name) <= 1000 for name in value):
            self._refuse("feature_names", "short texts")
        return tuple(map(clean_name, value))

    def _errors(self) -> list[float]:
        value = self._document.get("errors")
        if not isinstance(value, list) or not all(_is_number(e) and e >= 0 for e in value):
            self._refuse("errors", "a list of numbers, 0 or more")
        return [float(e) for e in value]

    def _parameters(self) -> StackParameters:
        value = self._document.get("parameters")
        kinds = {field.name: type(field.default) for field in fields(StackParameters)}
        if not isinstance(value, dict) or set(value) != set(kinds):
            self._refuse("parameters", f"an object with {', '.join(kinds)}")
        for key, kind in kinds.items():
            right = _is_number(value[key]) if kind is float else type(value[key]) is kind
            if not right:
                self._refuse("parameters", f"{key} as {kind.__name__}")
        try:
            return StackParameters(**value).checked()
        except (ValueError, TypeError, OverflowError) as error:
            raise DataError(f"the manifest's parameters: {error}; {_REMEDY}", self._place) from None


def _is_number(value: object) -> TypeGuard[float]:
    try:
        return type(value) in (int, float) and math.isfinite(value)  # type: ignore[arg-type]
    except OverflowError:
        return False
