"""Results from documents and arrays: parts that do not fit are refused by name, other archives before they are read."""

import io
import json
import zipfile
from functools import partial

import numpy as np
import pytest

from slide_gui.data.errors import DataError
from slide_gui.experiments.runs.result import ARRAYS, RunResult, pack_arrays, unpack_arrays
from slide_gui.experiments.runs.run import run
from tests.data.writers import zip_bytes
from tests.experiments.tiny import rectangles, spec

DATA = rectangles(60, 60, n_classes=3)
RESULT = run(DATA, spec(DATA, widths="median", C=1.0))


def parts():
    return json.loads(json.dumps(RESULT.document())), RESULT.arrays()


def changed(array, place, value):
    copy = array.copy()
    copy[place] = value
    return copy


A = RESULT.arrays()


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("confusion", A["confusion"][:2]),
        ("confusion", changed(A["confusion"], (0, 0), A["confusion"][0, 0] + 1)),
        ("confusion", A["confusion"].astype("<i4")),
        ("confusion", A["confusion"].ravel()),
        ("judged", changed(A["judged"], 0, -1)),
        ("misclassified", changed(A["misclassified"], 0, 10**6)),
        ("predicted", A["predicted"][1:]),
        ("predicted", changed(A["predicted"], 0, 3)),
        ("judged", A["judged"][::-1]),
        ("misclassified", A["misclassified"][::-1]),
        ("misclassified", np.repeat(A["misclassified"][:1], len(A["misclassified"]))),
        ("decisions", A["decisions"][:, :2]),
        ("coefficients", A["coefficients"][1:]),
        ("support", A["support"][1:]),
    ],
)
def test_that_arrays_that_do_not_fit_are_refused(name, array):
    document, arrays = parts()
    with pytest.raises(ValueError, match=r"confusion|judged|misclassified|predicted|decisions|coefficients"):
        RunResult.from_parts(document, {**arrays, name: np.ascontiguousarray(array)})


@pytest.mark.parametrize(
    ("entry", "value", "message"),
    [
        ("labels", [0, 1], "confusion does not fit"),
        ("labels", ["a"], "labels is 'a', expected an integer"),
        ("versions", [], "the versions that computed it"),
        ("versions", {"numpy": 2}, "versions is 2, expected a text"),
        ("timings", {}, "timings has no entry 'fit'"),
        ("classifier", [], "classifier is .*, expected an object"),
        ("train_error", None, "train_error is None"),
        ("judged", [1], "unknown entry 'judged'"),
    ],
)
def test_that_documents_that_do_not_fit_are_refused(entry, value, message):
    document, arrays = parts()
    with pytest.raises(ValueError, match=message):
        RunResult.from_parts({**document, entry: value}, arrays)


@pytest.mark.parametrize("name", ["widths", "shares", "medians"])
def test_that_a_classifier_has_one_width_per_layer(name):
    document, arrays = parts()
    document["classifier"][name] = document["classifier"][name][1:]
    with pytest.raises(ValueError, match="widths does not fit"):
        RunResult.from_parts(document, arrays)


def test_that_only_the_plain_archive_of_a_run_is_read():
    with zipfile.ZipFile(io.BytesIO(pack_arrays(RESULT.arrays()))) as source:
        members = {name: source.read(name) for name in source.namelist()}
    archive = partial(zip_bytes, compression=zipfile.ZIP_STORED)
    assert set(unpack_arrays(archive(members), "place")) == set(ARRAYS)
    few = {name: content for name, content in members.items() if name != "judged.npy"}
    for content, message in (
        (zip_bytes(members), "confusion is packed"),
        (archive(few), "its members are not those of a run"),
        (archive({**members, "more.npy": members["judged.npy"]}), "its members are not those of a run"),
        (archive({**members, "judged.npy": b"no array"}), "judged: has no readable NumPy header"),
        (b"no archive", "is not a readable .npz"),
    ):
        with pytest.raises(DataError, match=f"^place.*{message}"):
            unpack_arrays(content, "place")
