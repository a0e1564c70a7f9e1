"""Names are cleaned once, when a data set gets them: they stay different, and can be shown on one line."""

from __future__ import annotations

import os
import unicodedata
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from slide_gui.data.dataset import Dataset
from slide_gui.data.errors import DataError
from slide_gui.data.open import open_data
from slide_gui.experiments.documents import unmarked
from slide_gui.experiments.store.stored_run import tags_of
from slide_gui.text import clean_name
from tests.hostile import CLASSES, COLUMNS, hostile_file, unsafe


@given(st.text(st.characters(), max_size=300))
@example("\ud800")
@example("\x1b" * 95)
@example("W" * 101)
def test_that_a_clean_name_is_short_printable_and_stays_as_it_is(name: str) -> None:
    clean = clean_name(name)
    assert len(clean) <= 100
    assert "\n" not in clean
    clean.encode()
    assert clean_name(clean) == clean
    assert not {unicodedata.category(sign) for sign in clean} & {"Cc", "Cs", "Cn", "Zl", "Zp"}
    assert clean == name or not name.isprintable() or len(name) > 100


def named(*names: str) -> Dataset:
    rows = np.zeros((2, len(names)), np.float32)
    return Dataset(names[0], rows, rows[:0], label_names=names, feature_names=names)


def test_that_names_that_differ_where_it_cannot_be_seen_stay_different() -> None:
    long = "W" * 1500
    names = ("red\x1b", r"red\x1b", "a\nb", "a b", "a  b", "a\u202eb", "a\u200bb", f"{long}V{long}", f"{long}W{long}")
    data = named(*names)
    assert len(set(data.label_names)) == len(set(data.feature_names)) == len(names)
    assert data.label_names == data.feature_names
    assert data.label_names[1] == r"red\x1b"
    assert all(part in data.label_names[0] for part in ("red", r"\x1b"))
    assert not unsafe("".join(data.label_names))
    assert replace(data, name="again").label_names == data.label_names


def test_that_a_name_that_imitates_a_cleaned_one_is_refused() -> None:
    with pytest.raises(DataError, match="two different names are both shown as"):
        named("red\x1b", clean_name("red\x1b"))


def test_that_common_names_in_every_script_stay_as_they_are() -> None:
    names = ("Tür", "東京　都", "نمی‌خواهم", "👨‍👩‍👧", "1\u202f000 €", "a & b", "<b>", "C:\\data", "it's")
    assert named(*names).label_names == names


def test_that_a_table_of_hostile_names_keeps_every_class_and_column(tmp_path: Path) -> None:
    data = open_data([hostile_file(tmp_path)])
    assert len(set(data.label_names)) == len(CLASSES)
    assert len(set(data.feature_names)) == len(COLUMNS)
    assert np.bincount(data.train_labels).tolist() == [10] * len(CLASSES)
    names = [data.name, *data.label_names, *data.feature_names, *data.opened.columns]
    assert not unsafe("".join(names))
    assert max(map(len, names)) <= 100
    assert os.path.samefile(data.source, tmp_path / os.listdir(tmp_path)[0])


def test_that_texts_of_an_array_keep_every_class(tmp_path: Path) -> None:
    texts = ["a\x1bb", "a b", "a\nb", "a\x1fb", "a  b"]
    np.savez(tmp_path / "x.npz", X=np.eye(5), y=np.array(texts))
    assert len(set(open_data([tmp_path / "x.npz"]).label_names)) == 5


def test_that_names_and_tags_of_files_from_elsewhere_are_cleaned_too() -> None:
    assert not unsafe(unmarked("data\x1b[31m (generated)", True))
    assert not unsafe("".join(tags_of("a\x1b[31m,b")))
