import json
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slide_gui.core.slide.parameters import StackParameters
from slide_gui.data.dataset import HeldOut
from slide_gui.data.errors import DataError
from slide_gui.data.reading import ParseOptions
from slide_gui.experiments.files import session as session_module
from slide_gui.experiments.files.session import (
    MissingData,
    Selection,
    SessionRecord,
    file_content,
    located,
    picture_text,
    read_session,
    write_session,
)
from slide_gui.experiments.files.source import DataSource
from slide_gui.figures.export import save_figure
from slide_gui.figures.style import Style

_GOLDENS = Path(__file__).parent / "golden"
_EARLIER, _GOLDEN = (_GOLDENS / f"session-{version}.slide-session" for version in (1, 2))
_RECORD = SessionRecord(
    DataSource(paths=("iris.csv",), reading=ParseOptions(label_column="5"), held_out=HeldOut(0.3, 7)),
    "0123456789abcdef",
    StackParameters(noise=0.35, depth=2, squashing="tanh"),
    Selection((3, 1), ~4, "global", "jet", True),
    "curves",
    (("weights", "view", "1"), ("runs", "filter", "noise:0.3 “ä”")),
)
_LATEST = replace(_RECORD, selection=replace(_RECORD.selection, show="contribution"))


def _figure(figure):
    figure.add_subplot().plot([1, 2])


@pytest.mark.parametrize(("path", "record"), [(_EARLIER, _RECORD), (_GOLDEN, _LATEST)])
def test_that_sessions_of_every_version_are_read(path, record):
    assert read_session(path) == record


def test_that_a_written_session_equals_the_golden_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_session(_LATEST, tmp_path / "a.slide-session")
    assert (tmp_path / "a.slide-session").read_text() == _GOLDEN.read_text().rstrip("\n")


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_that_a_picture_holds_its_session_and_without_one_has_the_same_bytes(tmp_path, suffix):
    path = tmp_path / f"figure{suffix}"
    save_figure(_figure, path, Style())
    plain = path.read_bytes()
    assert read_session(path) is None
    save_figure(_figure, path, Style(), picture_text(_RECORD))
    assert read_session(path) == _RECORD
    save_figure(_figure, path, Style())
    assert path.read_bytes() == plain


@pytest.mark.parametrize("page", ["", "a", "ab"])  # lengths that give 0, 1 and 2 characters of padding
def test_that_characters_after_a_session_in_a_picture_are_ignored(tmp_path, page):
    path, record = tmp_path / "figure.png", replace(_LATEST, page=page)
    path.write_bytes(b"\x89PNG " + picture_text(record).encode() + b"/Gab")
    assert read_session(path) == record


def test_that_a_picture_has_the_name_of_its_data_and_not_their_folder(tmp_path):
    paths = (str(tmp_path / "secret-folder" / "iris.csv"),)
    text = picture_text(replace(_RECORD, source=replace(_RECORD.source, paths=paths)))
    assert b"secret-folder" not in file_content(text)
    assert b"iris.csv" in file_content(text)


def test_that_a_picture_without_a_session_belongs_to_the_only_session_file_in_its_folder(tmp_path):
    save_figure(_figure, tmp_path / "figure.png", Style())
    (tmp_path / "figure.slide-session").write_bytes(file_content(picture_text(_RECORD)))
    assert read_session(tmp_path / "figure.png") == _RECORD
    (tmp_path / "other.slide-session").write_bytes(b"{}")
    assert read_session(tmp_path / "figure.png") is None


def test_that_data_are_found_next_to_a_moved_session_and_in_known_folders(tmp_path):
    here, there, known = tmp_path / "here", tmp_path / "there", tmp_path / "known"
    for folder in (here / "data", there / "data", known):
        folder.mkdir(parents=True)
    (here / "data" / "iris.csv").write_text("1")
    record = replace(_RECORD, source=DataSource(paths=(str(here / "data" / "iris.csv"),)))
    write_session(record, here / "a.slide-session")
    assert located(read_session(here / "a.slide-session"), here / "a.slide-session") == record
    (here / "data" / "iris.csv").rename(there / "data" / "iris.csv")
    (here / "a.slide-session").rename(there / "a.slide-session")
    moved = read_session(there / "a.slide-session")
    assert located(moved, there / "a.slide-session").source.paths == (str(there / "data" / "iris.csv"),)
    (there / "data" / "iris.csv").rename(known / "iris.csv")
    with pytest.raises(MissingData, match=r"needs the data iris\.csv; locate the file"):
        located(moved, there / "a.slide-session")
    assert located(moved, there / "a.slide-session", [known]).source.paths == (str(known / "iris.csv"),)


def _with(**changes):
    return json.dumps(json.loads(_GOLDEN.read_text()) | changes)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is damaged"),
        ("[" * 100_000, "is damaged"),
        ("[]", "is not a session of slide-gui"),
        (_with(format="other"), "is not a session of slide-gui"),
        (_with(version=0), "has an unknown version"),
        (_with(version=3), "of a later slide-gui"),
        (_with(session=None), "cannot be used: the session is None"),
        (_with(session={"page": 3}), "cannot be used: page is 3"),
        (_with(session={"surprise": 3}), "unknown entry 'surprise'"),
        (_with(session={"parameters": {"noise": 1.5}}), "cannot be used: noise is 1.5"),
    ],
)
def test_that_other_files_are_refused_in_one_sentence_with_their_name(tmp_path, content, said):
    path = tmp_path / "a.slide-session"
    path.write_text(content)
    with pytest.raises(DataError, match=said) as refused:
        read_session(path)
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)


def test_that_a_picture_with_an_incomplete_session_is_refused(tmp_path):
    path = tmp_path / "a.svg"
    path.write_text(f"<svg>{picture_text(_RECORD)[:-3]}</svg>")
    with pytest.raises(DataError, match=r"incomplete session|damaged"):
        read_session(path)


def test_that_other_files_hold_no_session(tmp_path):
    (tmp_path / "a.csv").write_text("1,2\n")
    assert read_session(tmp_path / "a.csv") is None


def _read_from(content, suffix):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"a{suffix}"
        path.write_bytes(content)
        return read_session(path)


_names = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=8)


@given(
    pins=st.lists(st.integers(0, 10**6), max_size=16),
    sample=st.integers(-(10**6), 10**6),
    noise=st.floats(0.0, 0.98),
    depth=st.integers(0, 8),
    sharing=st.sampled_from(["none", "convolution"]),
    window=st.sampled_from([3, 9]),
    choices=st.lists(st.tuples(_names, _names, _names), max_size=4),
    scaled=st.sampled_from([None, True, False]),
)
def test_that_every_session_survives_a_picture(pins, sample, noise, depth, sharing, window, choices, scaled):
    record = SessionRecord(
        DataSource(paths=("table.csv",), reading=ParseOptions(scaled=scaled)),
        "ab",
        StackParameters(float(np.round(noise, 3)), depth, sharing=sharing, window=window).checked(),
        Selection(tuple(pins), sample),
        choices=tuple(choices),
    )
    assert _read_from(file_content(picture_text(record)), ".slide-session") == record
    assert _read_from(b"before " + picture_text(record).encode() + b" after", ".pdf") == record


def test_that_a_folder_is_a_bundle_if_it_has_a_session_and_a_script_of_one_name(tmp_path):
    record = SessionRecord(DataSource(paths=("table.csv",)), page="runs")
    (tmp_path / "bundle").mkdir()
    session = tmp_path / "bundle" / "weights.slide-session"
    session.write_bytes(file_content(picture_text(record)))
    assert read_session(tmp_path / "bundle") is None
    session.with_suffix(".py").write_text("")
    assert read_session(tmp_path / "bundle") == record
    (tmp_path / "table.csv").write_text("1,2\n")
    found = located(record, tmp_path / "bundle").source.paths
    assert found == (str(tmp_path / "table.csv"),)
    (tmp_path / "bundle" / "table.csv").write_text("1,2\n")
    assert located(record, tmp_path / "bundle").source.paths == (str(tmp_path / "bundle" / "table.csv"),)


def test_that_an_endless_comment_of_a_gif_is_not_read_far(monkeypatch):
    content = b"\x20slide-gui-session:" + b"\x01" * 100_000
    assert len(session_module._comment(content)) > 20_000
    monkeypatch.setattr(session_module, "_MOST_BYTES", 1000)
    assert len(session_module._comment(content)) < 4000
