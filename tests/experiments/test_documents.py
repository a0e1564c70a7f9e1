"""Documents: a value of another type than expected is refused by name."""

import json
from dataclasses import dataclass

import pytest

from slide_gui.data.errors import DataError
from slide_gui.experiments.documents import checked_value, from_document
from slide_gui.experiments.files.provenance import FigureProvenance
from slide_gui.experiments.files.source import DataSource
from slide_gui.experiments.runs.spec import RunSpec, SweepSpec

FINGERPRINT = "0" * 64


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
        ([], "Outer is .*, expected an object"),
        ({}, "no entry 'name'"),
        ({"name": "x", "more": 1}, "unknown entry 'more'"),
        ({"name": 1}, "name is 1, expected a text"),
        ({"name": "\ud800"}, r"name is '\\ud800', expected a text"),
        ({"name": "x", "share": True}, "share is True, expected a finite number or null|share is True"),
        ({"name": "x", "share": float("inf")}, "share is inf, expected a finite number"),
        ({"name": "x", "pair": "bc"}, "pair is 'bc', expected a list"),
        ({"name": "x", "inner": {"sizes": [1.0]}}, "sizes is 1.0, expected an integer"),
        ({"name": "x", "inner": 3}, "inner is 3, expected an object"),
    ],
)
def test_that_a_value_that_does_not_fit_is_named(document, message):
    with pytest.raises(ValueError, match=message):
        from_document(Outer, document)


def test_that_integers_fit_into_64_bits():
    for kind in (int, float):
        assert checked_value(kind, 2**63 - 1, "n") == 2**63 - 1
        for number in (2**63, -(2**63)):
            with pytest.raises(ValueError, match=r"n is -?9223372036854775808, expected a"):
                checked_value(kind, number, "n")


def test_that_a_value_of_any_of_several_types_is_accepted():
    assert checked_value(str | tuple[float, ...], [1, 2.0], "widths") == (1, 2.0)
    assert checked_value(str | tuple[float, ...], "learn", "widths") == "learn"
    with pytest.raises(ValueError, match="widths is None, expected a text or a list"):
        checked_value(str | tuple[float, ...], None, "widths")


def a_document():
    sweep = SweepSpec(RunSpec(FINGERPRINT, "tiny.npz"), (0.1, 0.2), (0, 1))
    return json.loads(FigureProvenance("curves", DataSource(paths=("tiny.npz",)), sweep.points()).text())


@pytest.mark.parametrize("content", [b"\xff", b"[" * 100_000, b"1" * 5000, b"", b"null", b'{"format": 1}'])
def test_that_other_files_are_refused(content, tmp_path):
    (tmp_path / "doc.json").write_bytes(content)
    with pytest.raises(DataError, match="is not the document of a figure"):
        FigureProvenance.read(tmp_path / "doc.json")


@pytest.mark.parametrize(
    "source", [{"key": "nothing"}, {}, {"key": "mnist", "paths": ["a.npz"]}, {"paths": ["a\0b"]}, {"paths": "a.npz"}]
)
def test_that_a_source_is_of_the_catalogue_or_files(source, tmp_path):
    (tmp_path / "doc.json").write_text(json.dumps({**a_document(), "source": source}))
    with pytest.raises(DataError, match="is not the document of a figure"):
        FigureProvenance.read(tmp_path / "doc.json")


@pytest.mark.parametrize("number", [-1, 10**9, True, "0", 0.0])
def test_that_a_point_names_a_run_of_the_document(number, tmp_path):
    document = a_document()
    document["points"][0]["run"] = number
    (tmp_path / "doc.json").write_text(json.dumps(document))
    with pytest.raises(DataError, match="is not among the earlier runs"):
        FigureProvenance.read(tmp_path / "doc.json")
