"""Text in UTF-8, UTF-16 with a byte order mark or Windows-1252 keeps every letter."""

import pytest

from slide_gui.data.open import open_data
from slide_gui.data.readers import encoding
from tests.data.writers import write

NAMES = ["Tär", "Tör", "Tür", "Tor"]
TABLE = "Länge,Höhe,class\n" + "".join(f"0.{k},0.{9 - k},{NAMES[k % 4]}\n" for k in range(8))


@pytest.mark.parametrize("coding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252", "latin-1"])
@pytest.mark.parametrize("block", [1, 5, 1 << 20])
def test_that_names_keep_their_letters_in_every_encoding(tmp_path, coding, block, monkeypatch):
    monkeypatch.setattr(encoding, "_BLOCK", block)
    mark = "\ufeff" if coding in ("utf-16-le", "utf-16-be") else ""
    data = open_data([write(tmp_path / "x.csv", (mark + TABLE).encode(coding))])
    assert [data.label_names[label] for label in data.train_labels] == NAMES * 2
    assert data.feature_names == ("Länge", "Höhe")
    guesses = [(guess.what, guess.why) for guess in data.opened.guesses if "Windows" in guess.what]
    why = "line 1 is not UTF-8; if letters are wrong, save the file as UTF-8"
    assert guesses == ([("text read as Windows-1252", why)] if coding in ("cp1252", "latin-1") else [])
    assert data.opened.sure == (not guesses)


def test_that_the_first_line_that_is_not_utf_8_is_named(tmp_path):
    data = open_data([write(tmp_path / "x.csv", b"a,b,class\n.1,.2,x\n\n.3,.4,\xe9t\xe9\n.5,.6,x\n")])
    (guess,) = (each for each in data.opened.guesses if not each.sure)
    assert guess.why.startswith("line 4 is not UTF-8")


@pytest.mark.parametrize("coding", ["utf-8-sig", "utf-16"])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.amat", "0.25 0.5 1\n0.75 1 0\n"),
        ("x.csv", "0.25,0.5,1\n0.75,1,0\n"),
        ("x.csv", "label,a,b\n1,.25,.5\n0,.75,1\n"),
    ],
)
def test_that_a_byte_order_mark_is_not_part_of_the_first_cell(tmp_path, name, text, coding):
    data = open_data([write(tmp_path / name, text.encode(coding))])
    assert data.train.tolist() == [[0.25, 0.5], [0.75, 1.0]]
    assert data.train_labels.tolist() == [1, 0]
