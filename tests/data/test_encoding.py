"""Text in UTF-8, UTF-16 with a byte order mark or Windows-1252 is read letter by letter, or refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from slide_gui.data.errors import DataError
from slide_gui.data.open import open_data
from slide_gui.data.readers import encoding

NAMES = ["Tär", "Tör", "Tür", "Tor"]
TABLE = "Länge,Höhe,class\n" + "".join(f"0.{k},0.{9 - k},{NAMES[k % 4]}\n" for k in range(8))


@pytest.mark.parametrize("coding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252", "latin-1"])
@pytest.mark.parametrize("block", [1, 5, 1 << 20])
def test_that_names_keep_their_letters_in_every_encoding(
    tmp_path: Path, coding: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoding, "_BLOCK", block)
    mark = "\ufeff" if coding in ("utf-16-le", "utf-16-be") else ""
    (tmp_path / "x.csv").write_bytes((mark + TABLE).encode(coding))
    data = open_data([tmp_path / "x.csv"])
    assert data.label_names == tuple(sorted(NAMES))
    assert [data.label_names[label] for label in data.train_labels] == NAMES * 2
    assert data.feature_names == ("Länge", "Höhe")
    guesses = [(guess.what, guess.why) for guess in data.opened.guesses if "Windows" in guess.what]
    why = "line 1 is not UTF-8; if letters are wrong, save the file as UTF-8"
    assert guesses == ([("text read as Windows-1252", why)] if coding in ("cp1252", "latin-1") else [])
    assert data.opened.sure == (not guesses)


def test_that_the_first_line_that_is_not_utf_8_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(b"a,b,class\n.1,.2,x\n\n.3,.4,\xe9t\xe9\n.5,.6,x\n")
    (guess,) = (each for each in open_data([tmp_path / "x.csv"]).opened.guesses if not each.sure)
    assert guess.why.startswith("line 4 is not UTF-8")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a,b,class\n.1,.2,x\x81\n.3,.4,y\n", "line 2 is neither UTF-8 nor Windows-1252; save the file as UTF-8"),
        (b"\xff\xfe" + "a,b,class\n.1,.2,x\n.3,.4,y\n".encode("utf-16-le") + b"\0", "is marked as UTF-16 but is not"),
        (b"\xff\xfe" + "a,b,class\n.1,.2,x\n".encode("utf-16-le") + b"\x00\xd8", "is marked as UTF-16 but is not"),
    ],
)
def test_that_text_in_no_known_encoding_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "x.csv").write_bytes(content)
    with pytest.raises(DataError, match=said):
        open_data([tmp_path / "x.csv"])


@pytest.mark.parametrize("coding", ["utf-8-sig", "utf-16"])
def test_that_a_byte_order_mark_is_no_part_of_the_first_number_of_an_amat_file(tmp_path: Path, coding: str) -> None:
    (tmp_path / "x.amat").write_bytes("0.25 0.5 1\n0.75 1 0\n".encode(coding))
    data = open_data([tmp_path / "x.amat"])
    assert data.train.tolist() == [[0.25, 0.5], [0.75, 1.0]]
