"""Names from files are cleaned once: they remain different, and can be shown on one line."""

import os
import unicodedata

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from slide_gui.data.dataset import Dataset
from slide_gui.data.errors import DataError
from slide_gui.data.open import open_data
from slide_gui.experiments.store.stored_run import tags_of
from slide_gui.text import clean_name, unmarked
from tests.data.writers import npz_bytes, write
from tests.hostile import CLASSES, COLUMNS, hostile_file, unsafe


@given(st.text(st.characters(), max_size=300))
@example("\ud800")
@example("\x1b" * 95)
@example("W" * 101)
def test_that_a_clean_name_is_short_printable_and_unchanged_by_cleaning(name):
    clean = clean_name(name)
    assert len(clean) <= 100
    clean.encode()
    assert clean_name(clean) == clean
    assert not {unicodedata.category(sign) for sign in clean} & {"Cc", "Cs", "Cn", "Zl", "Zp"}
    assert clean == name or not name.isprintable() or len(name) > 100


def named(*names):
    rows = np.zeros((2, len(names)), np.float32)
    return Dataset(names[0], rows, rows[:0], label_names=names, feature_names=names)


def test_that_names_with_invisible_differences_remain_different():
    long = "W" * 1500
    names = ("red\x1b", r"red\x1b", "a\nb", "a b", "a  b", "a\u202eb", "a\u200bb", f"{long}V{long}", f"{long}W{long}")
    data = named(*names)
    assert len(set(data.label_names)) == len(set(data.feature_names)) == len(names)
    assert data.label_names[1] == r"red\x1b"
    assert r"red\x1b" in data.label_names[0]
    assert not unsafe("".join(data.label_names))
    with pytest.raises(DataError, match="two different names are both shown as"):
        named("red\x1b", clean_name("red\x1b"))


def test_that_common_names_in_every_script_are_unchanged():
    names = ("Tür", "東京　都", "نمی‌خواهم", "👨‍👩‍👧", "1\u202f000 €", "a & b", "<b>", "C:\\data", "it's")
    assert named(*names).label_names == names


def test_that_a_table_of_hostile_names_keeps_every_class_and_column(tmp_path):
    data = open_data([hostile_file(tmp_path)])
    assert len(set(data.label_names)) == len(CLASSES)
    assert len(set(data.feature_names)) == len(COLUMNS)
    assert np.bincount(data.train_labels).tolist() == [10] * len(CLASSES)
    names = [data.name, *data.label_names, *data.feature_names, *data.opened.columns]
    assert not unsafe("".join(names))
    assert max(map(len, names)) <= 100
    assert os.path.samefile(data.source, tmp_path / os.listdir(tmp_path)[0])


def test_that_names_of_arrays_documents_and_tags_are_cleaned(tmp_path):
    texts = ["a\x1bb", "a b", "a\nb", "a\x1fb", "a  b"]
    assert len(set(open_data([write(tmp_path / "x.npz", npz_bytes(X=np.eye(5), y=texts))]).label_names)) == 5
    assert not unsafe(unmarked("data\x1b[31m (generated)", True))
    assert not unsafe("".join(tags_of("a\x1b[31m,b")))
