"""Recent files are stored across program starts, with the latest first; invalid settings are ignored."""

import json

import pytest
from PySide6.QtCore import QSettings

from slide_gui.gui.state.files import MOST_RECENT, RecentFiles


@pytest.fixture
def settings(tmp_path):
    return QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat)


def test_that_the_last_files_are_stored_once_each_with_the_latest_first(app, settings, tmp_path):
    recent = RecentFiles(settings)
    for number in range(MOST_RECENT + 3):
        recent.add([tmp_path / f"{number}.csv"])
    recent.add([tmp_path / "5.csv"])
    recent.add([tmp_path / "train.csv", tmp_path / "test.csv"])
    recent.add([])
    again = RecentFiles(QSettings(settings.fileName(), QSettings.Format.IniFormat))
    names = [opening.name for opening in again.openings]
    assert names[:3] == ["train.csv and 1 more", "5.csv", "12.csv"]
    assert len(names) == len(set(names)) == MOST_RECENT
    assert again.folders == [tmp_path]


def test_that_missing_files_and_folders_are_named(app, settings, tmp_path):
    recent = RecentFiles(settings)
    (tmp_path / "train.csv").touch()
    recent.add([tmp_path / "train.csv"])
    recent.add([tmp_path / "train.csv", tmp_path / "test.csv"])
    recent.add([tmp_path / "one.csv"])
    recent.add([tmp_path / "away" / "one.csv"])
    said = [opening.why_not for opening in recent.openings]
    assert said == [f"no folder {tmp_path / 'away'}", "file is missing", "test.csv is missing", ""]


@pytest.mark.parametrize(
    "kept", ["{", "7", '{"a": 1}', '[7, [], [""], [1], "x"]', "[[null]]", '[["a\\u0000b"]]', "[" * 100_000]
)
def test_that_invalid_settings_are_ignored(app, settings, kept, tmp_path):
    settings.setValue("recent/files", kept)
    recent = RecentFiles(settings)
    assert recent.openings == ()
    recent.add([tmp_path / "a.csv"])
    assert json.loads(settings.value("recent/files")) == [[str(tmp_path / "a.csv")]]
