"""Compare LinearImputer with three imputers of scikit-learn on held-out rows of tables and images."""

import time
import warnings
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer

from slide_gui import LinearImputer
from slide_gui.data.catalogue import find, generate, load
from tests.bench.data import convex
from tests.bench.measurement import Figure, scaled

Rows = NDArray[np.float64]

_TABLES = ("iris", "wine", "breast_cancer", "diabetes", "digits")
_N_IMAGES = scaled(600, 60)
_SIDE = scaled(14, 7)
_ITERATIVE_ROUNDS = 3  # on images, where ten rounds take minutes and change the errors by less than one per cent


def impute() -> Iterator[Figure]:
    """Compare root mean square errors in units of the standard deviation of a column, or of all pixels of images."""
    for name, X, side in _data():
        drawn = np.random.default_rng(1).random(X.shape)
        holes = {f"{share} %": drawn < share / 100 for share in scaled((10, 20, 50), (20,))}
        if side:
            holes["squares"] = _squares(len(X), side)
        for kind, missing in holes.items():
            yield _compare(name, X, missing, kind, pooled=side > 0)


def _compare(name: str, X: Rows, missing: NDArray[np.bool_], kind: str, *, pooled: bool) -> Figure:
    rows = np.random.default_rng(0).permutation(len(X))
    X, missing = X[rows], missing[rows]
    n = len(X) * 2 // 3
    if not pooled:  # distances between neighbours need columns of one scale
        X = X / np.nanstd(np.where(missing, np.nan, X)[:n], axis=0)
    known = np.where(missing, np.nan, X)
    spread = X[:n].std(axis=0)
    used = missing[n:] & (spread > 0)
    scale = np.sqrt(np.mean(spread**2)) if pooled else np.where(spread > 0, spread, 1.0)
    others = {
        "means": SimpleImputer(keep_empty_features=True),
        "KNN": KNNImputer(keep_empty_features=True),
        "Iterative": IterativeImputer(
            max_iter=_ITERATIVE_ROUNDS if pooled else 10, random_state=0, keep_empty_features=True
        ),
    }
    results = {}
    for program, imputer in {"LinearImputer": LinearImputer(), **others}.items():
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # scikit-learn warns if the rounds do not converge
            filled = imputer.fit(known[:n]).transform(known[n:])
        seconds = time.perf_counter() - start
        results[program] = float(np.sqrt(np.mean((((filled - X[n:]) / scale) ** 2)[used]))), seconds
    ours, seconds = results.pop("LinearImputer")
    shown = ", ".join(f"{program} {error:.3f} in {spent:.2g} s" for program, (error, spent) in results.items())
    note = f"{len(X)} × {X.shape[1]}, {seconds:.2g} s; {shown}"
    best = min(error for error, _ in results.values())
    return Figure(f"impute {name}, {kind}", ours, "sd", best, note, most_ratio=1.5)


def _data() -> Iterator[tuple[str, Rows, int]]:
    """Yield name, rows and the side of the images, or 0 for tables."""
    for name in scaled(_TABLES, _TABLES[:1]):
        yield name.replace("_", " "), getattr(datasets, f"load_{name}")().data, 8 if name == "digits" else 0
    for key in scaled(("mnist", "rectangles", "rectangles-images"), ()):
        data = load(key)
        yield f"{'' if find(key) else 'generated '}{data.name}", _reduced(data.train), _SIDE
    rows, _, name = convex(depth=0)
    yield name, _reduced(rows), _SIDE
    if name != "generated Convex":
        yield "generated Convex", _reduced(generate("convex").train), _SIDE


def _reduced(images: NDArray[np.float32]) -> Rows:
    """Return some images of 28 × 28 pixels, reduced by averages over squares."""
    some = images[np.random.default_rng(0).choice(len(images), _N_IMAGES, replace=False)]
    squares = some.reshape(_N_IMAGES, _SIDE, 28 // _SIDE, _SIDE, 28 // _SIDE)
    return squares.mean(axis=(2, 4)).reshape(_N_IMAGES, -1).astype(np.float64)


def _squares(n: int, side: int) -> NDArray[np.bool_]:
    """Return one square hole in each image, two fifths as wide as the image."""
    width = round(0.4 * side)
    corners = np.random.default_rng(1).integers(0, side - width + 1, (n, 2))
    inside = [np.abs(np.arange(side) - corner[:, None] - (width - 1) / 2) < width / 2 for corner in corners.T]
    return (inside[0][:, :, None] & inside[1][:, None, :]).reshape(n, -1)


BENCHMARKS = {"impute": impute}
