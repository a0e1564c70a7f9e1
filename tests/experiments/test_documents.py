"""Documents and results: parts that do not fit are refused by name, and unknown classes are never imported."""

import io
import json
import sys
import zipfile
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest

from slide_gui.cli import main
from slide_gui.core.baselines import Estimator
from slide_gui.data.errors import DataError
from slide_gui.experiments.documents import checked_value, from_document
from slide_gui.experiments.files.provenance import FigureProvenance
from slide_gui.experiments.files.source import DataSource
from slide_gui.experiments.runs.result import ARRAYS, RunResult, pack_arrays, unpack_arrays
from slide_gui.experiments.runs.run import restore, run
from slide_gui.experiments.runs.spec import RunSpec, SweepSpec
from slide_gui.experiments.store.store import RunStore
from tests.data.writers import zip_bytes
from tests.experiments.tiny import rectangles, spec


@dataclass(frozen=True)
class Inner:
    sizes: tuple[int, ...]


@dataclass(frozen=True)
class Outer:
    name: str
    share: float | None = None
    pair: tuple[str, float] = ("a", 1.0)
    inner: Inner | None = None


def test_that_a_document_gives_the_value_that_it_was_made_from():
    document = {"name": "x", "share": 1, "pair": ["b", 2.5], "inner": {"sizes": [1, 2]}}
    assert from_document(Outer, document) == Outer("x", 1, ("b", 2.5), Inner((1, 2)))
    assert from_document(Outer, {"name": "x"}) == Outer("x")
    assert from_document(Outer, {"name": "x"}, given={"share": 3.0}).share == 3.0


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "Outer is .*, expected a JSON object"),
        ({}, "no entry 'name'"),
        ({"name": "x", "more": 1}, "unknown entry 'more'"),
        ({"name": 1}, "name is 1, expected a string"),
        ({"name": "\ud800"}, r"name is '\\ud800', expected a string"),
        ({"name": "x", "share": True}, "share is True, expected a finite number or null|share is True"),
        ({"name": "x", "share": float("inf")}, "share is inf, expected a finite number"),
        ({"name": "x", "pair": "bc"}, "pair is 'bc', expected a list"),
        ({"name": "x", "inner": {"sizes": [1.0]}}, "sizes is 1.0, expected an integer"),
        ({"name": "x", "inner": 3}, "inner is 3, expected a JSON object"),
    ],
)
def test_that_a_value_that_does_not_fit_is_named(document, message):
    with pytest.raises(ValueError, match=message):
        from_document(Outer, document)


def test_that_integers_fit_into_64_bits_and_a_value_of_any_of_several_types_is_accepted():
    for kind in (int, float):
        assert checked_value(kind, 2**63 - 1, "n") == 2**63 - 1
        for number in (2**63, -(2**63)):
            with pytest.raises(ValueError, match=r"n is -?9223372036854775808, expected a"):
                checked_value(kind, number, "n")
    assert checked_value(str | tuple[float, ...], [1, 2.0], "widths") == (1, 2.0)
    assert checked_value(str | tuple[float, ...], "learn", "widths") == "learn"
    with pytest.raises(ValueError, match="widths is None, expected a string or a list"):
        checked_value(str | tuple[float, ...], None, "widths")


def a_document():
    sweep = SweepSpec(RunSpec("0" * 64, "tiny.npz"), (0.1, 0.2), (0, 1))
    return json.loads(FigureProvenance("curves", DataSource(paths=("tiny.npz",)), sweep.points()).text())


SOURCES = [{"key": "nothing"}, {}, {"key": "mnist", "paths": ["a.npz"]}, {"paths": ["a\0b"]}, {"paths": "a.npz"}]
RUNS = [{"noise": 0.1, "depth": 0, "split": 0, "seed": 0, "run": run} for run in (-1, 10**9, True, "0", 0.0)]


@pytest.mark.parametrize(
    "content",
    [
        *(b"\xff", b"[" * 100_000, b"1" * 5000, b"", b"null", b'{"format": 1}'),
        *(json.dumps(a_document() | {"source": source}).encode() for source in SOURCES),
        *(json.dumps(a_document() | {"points": [point]}).encode() for point in RUNS),
    ],
)
def test_that_other_files_sources_and_numbers_of_runs_are_refused(content, tmp_path):
    (tmp_path / "doc.json").write_bytes(content)
    with pytest.raises(DataError, match="is not a figure’s JSON file"):
        FigureProvenance.read(tmp_path / "doc.json")


DATA = rectangles(60, 60, n_classes=3)
RESULT = run(DATA, spec(DATA, widths="median", C=1.0))


def parts():
    return json.loads(json.dumps(RESULT.document())), RESULT.arrays()


def changed(array, place, value):
    copy = array.copy()
    copy[place] = value
    return copy


A, CLASSIFIER = RESULT.arrays(), parts()[0]["classifier"]


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
    ],
)
def test_that_arrays_that_do_not_fit_are_refused(name, array):
    document, arrays = parts()
    with pytest.raises(ValueError, match=r"confusion|judged|misclassified|predicted|decisions|coefficients"):
        RunResult.from_parts(document, {**arrays, name: np.ascontiguousarray(array)})


@pytest.mark.parametrize(
    ("entry", "value", "message"),
    [
        ("labels", [0, 1], "confusion contradicts the other values"),
        ("labels", ["a"], "labels is 'a', expected an integer"),
        ("versions", [], "program and library versions"),
        ("versions", {"numpy": 2}, "versions is 2, expected a string"),
        ("timings", {}, "timings has no entry 'fit'"),
        ("classifier", [], "classifier is .*, expected a JSON object"),
        ("train_error", None, "train_error is None"),
        ("judged", [1], "unknown entry 'judged'"),
        *(
            ("classifier", CLASSIFIER | {name: CLASSIFIER[name][1:]}, "widths contradicts the other values")
            for name in ("widths", "shares", "medians")
        ),
    ],
)
def test_that_documents_that_do_not_fit_are_refused(entry, value, message):
    document, arrays = parts()
    with pytest.raises(ValueError, match=message):
        RunResult.from_parts({**document, entry: value}, arrays)


def test_that_only_the_plain_archive_of_a_run_is_read():
    with zipfile.ZipFile(io.BytesIO(pack_arrays(RESULT.arrays()))) as source:
        members = {name: source.read(name) for name in source.namelist()}
    archive = partial(zip_bytes, compression=zipfile.ZIP_STORED)
    assert set(unpack_arrays(archive(members), "place")) == set(ARRAYS)
    few = {name: content for name, content in members.items() if name != "judged.npy"}
    for content, message in (
        (zip_bytes(members), "confusion is compressed"),
        (archive(few), "does not contain exactly the arrays of a run"),
        (archive({**members, "more.npy": members["judged.npy"]}), "does not contain exactly the arrays of a run"),
        (archive({**members, "judged.npy": b"no array"}), "judged: has no readable NumPy header"),
        (b"no archive", "is not a readable .npz"),
    ):
        with pytest.raises(DataError, match=f"^place.*{message}"):
            unpack_arrays(content, "place")


RECTANGLES = rectangles(40, 30)
PCA = Estimator.of("decomposition.PCA", {"n_components": 9})
OTHER = ("cluster.FeatureAgglomeration", {"memory": "cache", "n_clusters": 9})


def test_that_a_stored_run_with_another_class_is_shown_and_not_computed_again(tmp_path, capsys, monkeypatch):
    monkeypatch.delitem(sys.modules, "sklearn.cluster", raising=False)
    asked = spec(RECTANGLES, method="custom", transformer=PCA, widths="median", C=1.0)
    other = spec(RECTANGLES, method="custom", transformer=Estimator.of(*OTHER), widths="median", C=1.0).checked()
    path = tmp_path / "runs.sqlite"
    with RunStore(path) as store:
        store.save(replace(run(RECTANGLES, asked), spec=other))
    with RunStore(path) as store:
        (line,) = store.runs()
        result = store.load(line.hash)
        assert result.spec.transformer == other.transformer
    assert main(["runs", "show", str(path), other.hash]) == 0
    assert "FeatureAgglomeration(memory='cache', n_clusters=9)" in capsys.readouterr().out
    for again in (lambda: restore(RECTANGLES, result), lambda: run(RECTANGLES, other)):
        with pytest.raises((ValueError, DataError), match="is not an allowed transformer"):
            again()
    assert "sklearn.cluster" not in sys.modules
