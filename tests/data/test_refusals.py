"""Damaged or hostile files are refused in one sentence, their sizes checked to the byte, their names cleaned."""

import bz2
import gzip
import os
import struct
import tracemalloc
import unicodedata
import zipfile
import zlib

import numpy as np
import pytest
import scipy.sparse
from hypothesis import example, given
from hypothesis import strategies as st

from slide_gui.data import limits
from slide_gui.data.dataset import Dataset
from slide_gui.data.errors import DataError
from slide_gui.data.limits import DEFLATE_RATIO, GIB, check_claim, read_small, zip_members
from slide_gui.data.open import open_data
from slide_gui.data.readers import encoding, tables
from slide_gui.data.readers.incomplete import read_incomplete
from slide_gui.data.reading import AS_GUESSED, ParseOptions
from slide_gui.experiments.store.stored_run import tags_of
from slide_gui.text import clean_name, unmarked
from tests.core.svm_data import StopAfter
from tests.data.writers import (
    amat_text,
    idx_bytes,
    mat_bytes,
    npy,
    npy_bytes,
    npz_bytes,
    write,
    write_amat,
    write_idx,
    write_zip,
    zip_bytes,
)
from tests.hostile import CLASSES, COLUMNS, hostile_file, unsafe

PEOPLE = "name,town,a,b\n" + "".join(f"n{k},{town},{k},{k / 2}\n" for k, town in enumerate(["Ulm", "Bonn", "Ulm"]))
EYE = np.eye(16)
AMAT = amat_text(np.full((30, 16), 0.5), np.ones(30))

TEXTS = [
    ("x.csv", "a,b,c,d,label\n", "has no rows of numbers"),
    ("x.csv", "# a comment\n", "has no rows of numbers; write one sample per line"),
    ("x.json", '[{"a": 1, "label": 0}]', "is a JSON or XML file; save its table as CSV"),
    ("x.xml", '<?xml version="1.0"?>\n<data></data>\n', "is a JSON or XML file; save its table as CSV"),
    ("x.npz", "1,2,0\n3,4,1\n", "has an unknown format; save its table as CSV, or save its arrays as X and y with"),
    ("x.csv", "# x\n" * 1024 + "5\n6\n", "line 1025 has one column; separate the numbers .*, or add the labels"),
    ("x.csv", "1,2,0\n3,4,1\n5,0\n", "line 3 has 2 cells, expected 3; correct the line, or leave it out"),
    ("x.csv", "1,2,0\n1,2 3,1\n", "line 2, column 2: found '2 3', expected a finite number; correct it, write NA if"),
    ("x.csv", "1,2,0\n1,1_0,1\n", "line 2, column 2: found '1_0', .*, or leave the row or the column out"),
    ("x.csv", "1,2,0\n1,inf,inf\n", "line 2, column 2: found 'inf', expected a finite number; correct it"),
    ("x.csv", "1,2,0\n1,1.2345678901234567e+299,1\n", "found '1.2345678901234567e…', expected a finite number up to 3"),
    ("x.csv", 'a,b,k\n1,"2,p\n1,2,r\n', "line 2 has an unpaired quotation mark; write each row on one line"),
    ("x.csv", "Sums,,\n,,\na,b,k\n" + ".1,.2,0\n.3,.4,1\n" * 5, "line 1 has a title and empty cells; remove the title"),
    ("x.csv", "a,b,c\n.1,.2,.3,1\n.4,.5,.6,2\n", "line 2 has 4 cells, expected 3"),
    ("x.csv", "Fish, 1936\n\na,b,y\n" + ".1,.2,1\n" * 3, "line 1 has 2 cells, but 4 of the next .*remove a title"),
    ("x.csv", "a,b,label\n" + "1,2,0\n1,2,1\n" * 150 + "1,2,dog\n", "line 302, column 3: found 'dog'"),
    ("x.csv", "a,label\n1,0\n2,2147483648\n", "label of row 2 is 2147483648, expected an integer within ±2147483648"),
    ("x.csv", "a,label\n" + "".join(f"{k},c{k}\n" for k in range(10_001)), "more than 10000 .* choose other labels"),
    ("x.csv", "a,b,label\n.1,.2,0\n# late\n.3,.4,1\n", "line 3 begins with #, but comments are allowed only before"),
    ("x.csv", "a,label\n.1,p\n#DIV/0!,q\n", "line 3, column 1: found '#DIV/0!', expected a finite number"),
    ("x.csv", "a;b;label\n0,5;1.5;0\n0,25;2.5;1\n", "column “a” has cells like '0,5'; write numbers"),
    ("x.csv", "a;b\n1,234.5;1\n2,345.5;2\n", "column “a” has cells like '1,234.5'; write numbers"),
    ("x.csv", "a;b;label\n" + "0,5;1;0\n1,5;2;1\n" * 150 + "2.5;1;0\n", "line 302, column 1: found '2.5' in a"),
    ("x.csv", b"a,b,class\n.1,.2,x\x81\n", "line 2 is neither UTF-8 nor Windows-1252; save the file as UTF-8"),
    ("x.csv", b"\xff\xfe" + "a,b\n.1,.2\n".encode("utf-16-le") + b"\0", "begins like UTF-16, but is not UTF-16"),
    ("x.arff", "% by me\n@RELATION r\n@DATA\n1,2,a\n", "is an ARFF file; save it as CSV, with the names"),
    ("x.arff", "% by me\n\n" * 900, "is an ARFF file"),
    ("x.txt", "# by me\n0 \n-1 qid:2 7:1e-3 \n", "is a LIBSVM file; load it with scikit-learn's"),
    ("x.txt", "3,8\t1:.5\t2:1\n", "is a LIBSVM file"),
    ("x.txt", "1 12:30 5\n2 12:45\n", "line 2 has 2 numbers, expected 3"),  # times, not LIBSVM features
    ("x.txt", "1\t12:30\t13:45\n2\t12:45\n", "line 2 has 2 cells, expected 3"),
    ("x.mat", "# Created by Octave 6.4.0\n# name: X\n1 2\n", "is a text file of Octave; save it with -v7"),
    ("x.csv", "\n<!doctype HTML>\n<html></html>\n", "is a web page instead of data; download the file again"),
    ("x.npz", "version https://git-lfs.github.com/spec/v1\noid 1\n", "is only a Git LFS pointer; fetch the file"),
    ("x.amat", "\n \n", "has no rows of numbers"),
    ("x.amat", "1\n" * 5, "its rows have one column, expected features and a label"),
    ("x.amat", AMAT[:-17] + " NaN\n", "line 30, column 17: the label is missing"),
    ("x.amat", AMAT.replace("5.0", "5_0", 1), "line 1, column 1: found '5_0000000e-01'"),
    ("x.amat", AMAT + "1 2 3\n", "line 31 has 3 numbers, expected 17"),
    ("x.amat", amat_text(np.zeros((3, 16)), np.array([0, 0.5, 1])), r"the label of row 2 is 0\.5, expected an integer"),
    ("x.amat", "0.1 0.2 1\n# c\n0.3 0.4 0\n", "line 2 begins with #, but comments are allowed only"),
]  # fmt: skip

OPTIONS = [
    ("a,b,c,d,f,g,k\n1,2,3,4,5,6,0\n" * 2, ParseOptions("e"), r"no column 'e'; .* \(a, b, c, d, f, g, …\)"),
    ("1,2,0\n3,4,1\n", ParseOptions("4"), r"has no column '4'; it has 3 columns \(1, 2, 3\): give"),
    (PEOPLE, ParseOptions("town", left_out=("street",)), "has no column 'street'"),
    (PEOPLE, ParseOptions("town", left_out=("2",)), "column “town” is the label column; choose another to leave out"),
    (PEOPLE, ParseOptions("town", group="TOWN"), "column “town” is the label column; choose another to leave out or"),
    (PEOPLE, ParseOptions("town", left_out=("a", "b")), "has only labels and left-out columns"),
    (PEOPLE.replace("n1", ""), ParseOptions(group="name"), r"line 3, column 1: the group is missing \(found ''\)"),
    (PEOPLE.replace("1,0.5", "1,x"), ParseOptions("town", left_out=("name",)), "line 3, column 4: found 'x'"),
    (PEOPLE, ParseOptions("town", bins=3), "has no numeric labels to cut into ranges"),
]

ARRAYS = [
    ({"X": np.ones((5, 9)), "y": np.arange(4)}, "X has 5 rows but y has 4 labels; save one label per sample, and"),
    ({"X": np.ones((2, 9)), "y": np.array([np.nan, 1])}, r"label of row 1 is missing \(nan\); fill it in, or leave"),
    ({"X": np.ones((2, 9)), "x": np.zeros((2, 9))}, "contains both 'X' and 'x'; remove one of them"),
    ({"X": np.ones(9), "y": np.ones(9)}, "X: has shape 9, expected features n × d or grey images n × h × w; save"),
    ({"X": np.ones((2, 4, 4, 3)), "y": np.ones(2)}, "has shape 2 × 4 × 4 × 3, expected .*; make colour images grey"),
    ({"X": np.float64(1.0)}, r"has shape \(\), expected features"),
    ({"X": np.ones((0, 9)), "y": np.ones(0)}, "has shape 0 × 9"),
    ({"X": np.ones((2, 9)), "y": np.ones((2, 2))}, "has shape 2 × 2, expected a vector of labels; save one class per"),
    ({"data": np.ones((9, 1, 1)), "shape": [3, 3], "format": b"bsr"}, "is a sparse matrix of SciPy; save its toarray"),
    ({"a": np.ones((2, 9)), "b": np.ones(2)}, "contains a, b; name the arrays X and y"),
    ({"X": np.array([["a", "b"]]), "y": np.array(["c"])}, "expected real numbers"),
    ({"X": np.array([{}, []], dtype=object)}, "Python objects, which are never read"),
    ({"X": np.eye(3), "y": np.array(["a", " ", "b"])}, r"label of row 2 is missing \(found ''\); fill it in, or leave"),
    ({"X": np.eye(3), "y": np.array([b"a", b"\xff", b"b"])}, "labels that are not UTF-8 text; save them as str"),
    ({"X": np.eye(3), "y": np.array(["a", "b", None], dtype=object)}, "never read; save real numbers or str"),
    ({"X": [[0, 1, 2], [3, np.inf, 4]]}, "row 2, feature 2 is inf, expected a finite number; correct it, or leave"),
    ({"X": [[0, 1, 2], [3, 4, 1e39]]}, r"row 2, feature 3 is 1e\+39"),
]  # fmt: skip

NPY = npy_bytes((3, 4), bytes(96))
IDX = idx_bytes(np.random.default_rng(0).integers(0, 256, (10, 28, 28), np.uint8))
HUGE_IDX = bytes((0, 0, 8, 3)) + struct.pack(">3I", 12_755_103, 28, 28) + bytes(1000)
MAT, PACKED_MAT = (mat_bytes(packed, X=np.arange(45.0).reshape(5, 9)) for packed in (False, True))
NAMED = mat_bytes(X_train=np.zeros((5, 64), np.uint8))
SHAPE = MAT.index(struct.pack("<ii", 5, 9))
INNER = zlib.decompress(PACKED_MAT[136:])
AMAT_ZIP = zip_bytes({"x_train.amat": AMAT})


def repacked(inner):
    """Return a MATLAB file with a compressed array."""
    body = zlib.compress(inner)
    return MAT[:128] + struct.pack("<II", 15, len(body)) + body


def edited(archive, at, value, n_bytes=4):
    """Change a field in the directory entry of the only member; change a field of two bytes in its header, too."""
    content, field = bytearray(archive), value.to_bytes(n_bytes, "little")
    directory = content.rindex(b"PK\x01\x02")
    content[directory + at : directory + at + n_bytes] = field
    if n_bytes == 2:
        content[at - 2 : at] = field
    return bytes(content)


_PICKLE, _STATA = "Python pickle or a PyTorch file", "Stata, SPSS or SAS file"
_SCIENCE = "FITS, NetCDF, DICOM, NIfTI or safetensors file"
FORMATS = {b"SQLite format 3": "SQLite database", b"r\2\1\0": _STATA, b"$FL2@(#) SPSS": _STATA}
FORMATS |= dict.fromkeys((b"FEA1", b"Obj\1\4", b"ORC\x10"), "Parquet, Feather, Avro or ORC file")
FORMATS |= {b"RDX3\nX\n": "R data file", gzip.compress(b"X\n\0\0\0\3"): "R data file", bytes(128) + b"DICM": _SCIENCE}
FORMATS |= {b'8\0\0\0\0\0\0\0{"x":': _SCIENCE, bytes(12) + b"\xc2\xea\x81\x60": _STATA}
OFFICE = [b"%PDF-1.7\n", b"\xd0\xcf\x11\xe0", *(zip_bytes({"a": "", x: "1"}) for x in ("xl/a.xml", "content.xml"))]
FORMATS |= dict.fromkeys(OFFICE, "Excel, Word, LibreOffice or PDF file")
FORMATS |= dict.fromkeys((b"(dp0\n.", b"\x80\x02}q\x01", zip_bytes({"a/data.pkl": "1"})), _PICKLE)
BINARIES = [
    ("x.amat", b"", r"is empty \(0 bytes\); choose another file"),
    ("x.png", b"\x89PN", "is a single picture; open a folder"),
    ("x.pgm", b"P5\n300 300\n255\n" + bytes(90_000), "is a single picture; open a folder"),
    ("x.dat", b"BM" + struct.pack("<IHHI", 90, 0, 0, 54), "is a single picture"),
    *(("x", start + bytes(90), f"is an? {name}(,|; save its (table|arrays) as )") for start, name in FORMATS.items()),
    ("x.mat", struct.pack("<5i", 0, 2, 3, 0, 2) + b"X\0" + bytes(48), "is a MATLAB file of version 4; save it with"),
    ("x.mat", struct.pack(">5i", 1000, 2, 3, 0, 5) + b"rows\0" + bytes(48), "is a MATLAB file of version 4; save it"),
    ("x.bin", struct.pack("<5i", 0, 2, 3, 0, 2) + bytes(50), "has an unknown format"),
    ("x.csv.bz2", bz2.compress(b"1,2"), "is compressed; extract it"),
    ("x.npy.gz", gzip.compress(NPY), "is compressed; extract it first"),
    ("x.csv.gz", gzip.compress(b"1,2,0\n" * 9999)[:-9], "is a damaged or truncated gzip file; download it again"),
    ("x.csv.gz", gzip.compress(b""), "is an empty or truncated gzip file; download it again"),
    ("x.gz", gzip.compress(b"\0\0\x08\0" + bytes(30)), "has an unknown format"),
    ("x.npy", NPY[:-8], r"its header declares 96 bytes \(3 × 4 float64\), but 88 follow; it is truncated or damaged"),
    ("x.npy", b"\x93NUMPY\x02\0" + struct.pack("<I", 3 << 30) + bytes(200), "has no readable NumPy header"),
    ("x.npy", npy_bytes((1_250_000, 1000), bytes(800)), "declares 10000000000 bytes"),
    ("x.npy", npy_bytes("(0x" + "f" * 6000 + ", 3)", bytes(80)), "has no readable NumPy header; save it again"),
    ("x.npy", npy_bytes("(9223372036854775808,)", bytes(80)), "has no readable NumPy header"),
    ("x.npy", npy_bytes("(5, True, 2)", bytes(80)), "has no readable NumPy header"),
    ("x.npy", npy_bytes("(-5, 2)", bytes(80)), "expected real numbers"),
    ("x.npz", zip_bytes({"X.npy": NPY[:-8]}), "X.npy: .* but 88 follow; it is truncated or damaged"),
    ("x.zip", b"PK\x03\x04nonsense", r"is a damaged \.zip or \.npz file \(.*; save it again"),
    ("x.zip", zip_bytes({"a.txt": "1"}), r"has no \.amat and no \.npy file; extract it, and open the folder"),
    ("x.zip", edited(AMAT_ZIP, 8, 1, 2), r"x_train\.amat: is encrypted; extract it first"),
    ("x.zip", zip_bytes({"x_train.amat": AMAT}, zipfile.ZIP_LZMA), "uses an unsupported compression"),
    ("x.zip", edited(AMAT_ZIP, 24, 0xFFFF_0000), "its header claims 4294901760 bytes, but the file has only"),
    ("x.zip", edited(AMAT_ZIP, 24, len(AMAT) - 100), r"x\.zip, x_train\.amat"),
    ("x.zip", edited(AMAT_ZIP, 24, len(AMAT) + 5000), r"x\.zip, x_train\.amat"),
    ("x-ubyte", IDX[:-5], "claims 7840 bytes, but the file has only 7835 bytes"),
    ("x.gz", gzip.compress(IDX[:-5]), r"declares 7840 bytes \(10 × 28 × 28 uint8\), but 7835 follow; it is truncated"),
    ("x.gz", gzip.compress(IDX)[:-50], "is a damaged or truncated gzip file; download it again"),
    ("x.gz", gzip.compress(IDX + b"\0"), "declares 7840 bytes .* but more follow; it is damaged"),
    ("x.gz", gzip.compress(HUGE_IDX), "claims 10000000752 bytes"),
    ("x-ubyte", b"\0\0\x08\x03\0\0\0\1", "ends within its header, expected 3 sizes"),
    ("x-ubyte", b"\0\0\x08\x01\0\0\0\0", "its header declares an empty array"),
    ("x-ubyte", b"\0\0\x08\x05" + bytes(30), "has an unknown format"),
    ("labels-ubyte", idx_bytes(np.arange(3, dtype=np.uint8)), "contains labels without images"),
    ("x-ubyte", idx_bytes(np.zeros((2, 8, 8, 3), np.uint8)), "has shape 2 × 8 × 8 × 3, expected .* grey images"),
    ("x.mat", b"MATLAB 5.0 MAT-file", "has no MATLAB version 5 header"),
    ("x.mat", b"MATLAB 7.3 MAT-file, Platform: x".ljust(512), "is an HDF5 file .* supported; save it"),
    ("x.mat", MAT[:126] + b"MI" + MAT[128:], "has no MATLAB version 5 header for little-endian numbers"),
    ("x.mat", MAT + b"\0\0\0\0", "has an element of unknown type 0; it is damaged"),
    ("x.mat", MAT[:-1], "claims .* bytes, but the file has only"),
    ("x.mat", MAT + struct.pack("<II", 14, 0), "is a damaged MATLAB file"),
    ("x.mat", MAT[:SHAPE] + struct.pack("<ii", -5, 9) + MAT[SHAPE + 8 :], "is a damaged MATLAB file"),
    ("x.mat", MAT[:SHAPE] + struct.pack("<ii", 5, 8) + MAT[SHAPE + 8 :], r"does not have the 40 numbers of its shape"),
    ("x.mat", MAT[:SHAPE] + struct.pack("<ii", 1250000, 1000) + MAT[SHAPE + 8 :], "X: its header claims 1250000000"),
    ("x.mat", NAMED.replace(struct.pack("<II", 1, 7), struct.pack("<II", 1, 1000)), "is a damaged MATLAB file"),
    ("x.mat", repacked(INNER[:6]), "is a damaged MATLAB file"),
    ("x.mat", PACKED_MAT[:140] + b"\xff\xff" + PACKED_MAT[142:], "has a damaged compressed array; save it again"),
    ("x.mat", repacked(INNER[:-40]), "does not have the 45 numbers"),
    ("x.mat", mat_bytes(X=np.eye(2), y=np.array(["a", "b"], dtype=object)), "y: is text, sparse or complex; save a"),
    ("x.mat", mat_bytes(True, dataset={"train": np.eye(2)}), "contains dataset; name the arrays X and y"),
    ("x.mat", mat_bytes(X=scipy.sparse.csc_matrix(np.eye(2)), y=np.eye(2)), "X: is text, sparse or complex"),
    ("x.mat", mat_bytes(X=np.ones((2, *[1] * 7))), "X: has shape 2 × 1 × 1 × 1 × 1 × 1 × 1 × 1, expected features"),
    ("x.mat", mat_bytes(X=np.ones((2, *[1] * 8))), "is a damaged MATLAB file"),
    ("x.mat", mat_bytes(X=1j * np.eye(2), y=np.eye(2)), "X: is text, sparse or complex; save a full array of real"),
]  # fmt: skip

CASES = [
    *((name, content, AS_GUESSED, sentence) for name, content, sentence in TEXTS),
    *(("x.csv", content, options, sentence) for content, options, sentence in OPTIONS),
    *(("x.npz", npz_bytes(**arrays), AS_GUESSED, sentence) for arrays, sentence in ARRAYS),
    *((name, content, AS_GUESSED, sentence) for name, content, sentence in BINARIES),
]


@pytest.mark.parametrize(("name", "content", "options", "sentence"), CASES, ids=[f"{k}" for k in range(len(CASES))])
def test_that_a_file_is_refused_in_one_sentence_before_much_memory_is_taken(tmp_path, name, content, options, sentence):
    path = write(tmp_path / name, content)
    tracemalloc.start()
    with pytest.raises(DataError, match=sentence) as refusal:
        open_data([path], options)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert str(refusal.value).startswith(str(path))
    assert "\n" not in str(refusal.value)
    assert peak < 16e6


@pytest.mark.skipif(os.name == "nt", reason="makes a named pipe")
def test_that_a_pipe_is_not_called_empty(tmp_path):
    os.mkfifo(tmp_path / "x.csv")
    with pytest.raises(DataError, match="is not a regular file; choose another file"):
        open_data([tmp_path / "x.csv"])


@pytest.mark.parametrize("mark", ["NA", "?", "n/a", "NaN", "-nan", "null", "", '""', " na "])
def test_that_a_missing_class_or_label_is_refused_with_its_line(tmp_path, mark):
    for classes, kind in (("xy", "class"), ("01", "label")):
        text = f"a,b,class\n.1,.2,{classes[0]}\n.3,.4,{mark}\n.5,.6,{classes[1]}\n"
        sentence = rf"line 3, column 3: the {kind} is missing \(found .*\); fill it in, (or )?leave"
        with pytest.raises(DataError, match=sentence):
            open_data([write(tmp_path / "x.csv", text)])


@pytest.mark.parametrize(
    ("reading", "sentence"),
    [
        (ParseOptions(shape=(8,)), "give the rows and columns of an image"),
        (ParseOptions(shape=(0, 8)), "give the rows and columns of an image, each at least 1"),
        (ParseOptions(shape=(), transposed=True), "features that are not pixels cannot be transposed"),
        (ParseOptions(shape=(2, 3), scaled=True), "pixels cannot be scaled one by one"),
        (ParseOptions(label_column=" "), "the name of the label column is empty"),
        (ParseOptions(left_out=("a", "")), "the name of a column to leave out is empty"),
        (ParseOptions("a", left_out=("b", "a")), "column a cannot be both label column and left out"),
        (ParseOptions("a", group="a"), "column 'a' cannot contain the groups"),
        (ParseOptions(bins=1), "bins is 1; give 2 to 30 ranges, or 0 for none"),
    ],
)
def test_that_options_that_contradict_each_other_are_refused_before_a_file_is_read(tmp_path, reading, sentence):
    with pytest.raises(ValueError, match=sentence):
        open_data([tmp_path / "missing.csv"], reading)


@pytest.mark.parametrize(
    ("reading", "sentence"),
    [
        (ParseOptions(label_column="y"), "is not a table with .*, so it has no label column; open it without"),
        (ParseOptions(header=True), "so it has no header line"),
        (ParseOptions(group="id"), "so it has no group column"),
        (ParseOptions(shape=(5, 9)), "has 64 features, not 5 × 9 pixels; give another shape"),
        (ParseOptions(scaled=True), "contains images, whose pixels share one scale; open them without scaling"),
    ],
)
def test_that_options_that_do_not_apply_to_arrays_are_refused(tmp_path, reading, sentence):
    with pytest.raises(DataError, match=sentence):
        open_data([write(tmp_path / "x.npz", npz_bytes(X=np.ones((3, 64))))], reading)


def test_that_files_that_do_not_belong_together_are_refused(tmp_path):
    pictures, labels = np.zeros((2, 8, 8), np.uint8), np.zeros(2, np.uint8)
    first, second = (write_idx(tmp_path / f"train-{name}", pictures) for name in "ab")
    third, fourth = (write_idx(tmp_path / f"train-{name}", labels) for name in "cd")
    amat = write_amat(tmp_path / "a.amat", EYE, np.arange(16))
    more, few = (write_amat(tmp_path / f"{d}.amat", EYE[:, :d], np.arange(16)) for d in (16, 2))
    both = write_zip(tmp_path / "x.zip", {"a.amat": AMAT, "b.amat": AMAT})
    three = write_idx(tmp_path / "train-e", np.zeros(3, np.uint8))
    (tmp_path / "folder").mkdir()
    for paths, sentence in (
        ([first, second, third], "train-a and .*train-b are both training sets; open only one of them"),
        ([amat, few], "both training sets; .*, or add the labels as a column to the table of features"),
        ([first, third, fourth], "train-d: has labels of the same set as train-c; open only one of them"),
        ([first, three], "train-e: contains 3 labels, but train-a has 2 images; open matching files"),
        ([amat, more], "both training sets; .*, or write “test” as a separate word into .* as x_test.csv$"),
        ([both], "both training sets; open only one of them, extracted from the archive"),
        ([amat, tmp_path / "folder"], "is a folder; open it without other files"),
        ([tmp_path / "missing.amat"], r"cannot be read \(No such file or directory\); check the file"),
        ([], "no file is selected; choose one"),
    ):
        with pytest.raises(DataError, match=sentence):
            open_data(paths)


def test_that_too_many_members_are_refused_and_hidden_ones_skipped(tmp_path, monkeypatch):
    path = write_zip(tmp_path / "x.zip", {"a/": "", "__MACOSX/_a.amat": "1", "a/.b.amat": "1", "a/c.amat": "1"})
    monkeypatch.setattr(limits, "_MOST_MEMBERS", 4)
    assert [member.filename for member in zip_members(path)] == ["a/c.amat"]
    monkeypatch.setattr(limits, "_MOST_MEMBERS", 3)
    with pytest.raises(DataError, match="has 4 members, expected at most 3; split the archive"):
        zip_members(path)


def test_that_a_very_long_line_is_refused_and_long_quotations_are_shortened(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "LONGEST_LINE", 776)  # twice what the first block has of line 2
    monkeypatch.setattr(tables, "_BLOCK", 400)
    good = " ".join(["0.5"] * 240) + " 1"  # 962 characters
    assert open_data([write(tmp_path / "a.amat", f"# a comment\n{good}\n{good}\n")]).train.shape == (2, 240)
    with pytest.raises(DataError, match="line 2 is longer than 16 MiB; expected one row of numbers per line"):
        open_data([write(tmp_path / "a.amat", "# a comment\n" + "1 " * 2000)])
    message = str(DataError(f"holds {'x' * 10**6}; leave it out", str(tmp_path)))
    assert message.startswith(f"{tmp_path}: holds xxx")
    assert message.endswith("xxx; leave it out")
    assert len(message) < 2000


def test_that_every_reader_checks_the_memory_of_each_step_and_reports_its_progress(tmp_path, monkeypatch):
    rows, asked, end = np.arange(1600).reshape(40, 40) / 1600, [], [0.9, 0.9, 1]
    table = "".join(",".join(f"{cell:.4f}" for cell in row) + "\n" for row in rows).encode()
    numbers, arrays = amat_text(rows, np.arange(40)), npz_bytes(X=rows, y=np.arange(40))
    members = {"x_train.amat": numbers, "50k/x_test.amat": numbers, "readme.txt": "no"}
    stored = mat_bytes(X=np.ones((40, 40), np.uint8)).replace(b"\x09\0\0\0", b"\x06\0\0\0", 1)  # packed doubles
    packed, of_amat = repacked(stored[128:]), [4 * 41 * 41, 8 * 41 * 41, 8 * 40 * 41]
    of_table = [4 * 41 * 40, 8 * 41 * 40, 8 * 40 * 40, 6400]
    monkeypatch.setattr(limits, "check_free", lambda n_bytes, *_: asked.append(n_bytes))
    monkeypatch.setattr(encoding, "_BLOCK", 8192)
    for name, content, n_bytes, fractions in (
        ("a.npy", npy(rows), [12_928, 6400], [0.9, 1]),
        ("a.npz", arrays, [12_928 + 448, 12_928, 448, 6400], [0.45, 0.9, 1]),
        ("a.mat", stored, [1648, 1648, 1600, 12_800, 6400], [0.9, 1]),
        ("b.mat", packed, [len(packed) - 136, 1648, 1648, 1600, 12_800, 6400], [0.9, 1]),
        ("a.idx", idx_bytes(rows), [12_800, 6400], [0.9, 1]),
        ("a.amat", numbers, [*of_amat, 6400], end),
        ("a.zip", zip_bytes(members), [26_280, *of_amat] * 2 + [12_800], [0.45, 0.45, *end[:2], 0.95, 1]),
        ("a.csv", table, of_table, [0, 0, *end]),
        ("a.csv.gz", gzip.compress(table), [8192, 11_200, *of_table], [0, 0, 0, 0, *end]),
        ("b.csv", table.decode().encode("utf-16"), [6 * 22_402, *of_table], [0, 0, *end]),
        ("c.csv", b"# \xe9\n" + table, [6 * 11_204, *of_table], [0.9 * 11_200 / 11_205] * 2 + [1]),
        ("d.csv", table + b'"",\n,' * 9, [11_245, *of_table], [0, 0, *end]),
        ("e.csv", table.replace(b"\n", b"\r"), [3 * 11_200, *of_table], [0, 0, *end]),
    ):
        listener = StopAfter()
        open_data([write(tmp_path / name, content)], progress=listener)
        assert (name, asked, listener.fractions) == (name, n_bytes, pytest.approx(fractions))
        asked.clear()
    read_incomplete(tmp_path / "a.csv")
    assert asked == [10 * 11_200, *of_table[:3]]
    monkeypatch.setattr(limits, "memory_limit", lambda: 12_928)
    open_data([tmp_path / "a.npy"])
    monkeypatch.setattr(limits, "memory_limit", lambda: 12_927)
    with pytest.raises(
        DataError, match=r"a\.npy: has 0\.0 GiB of data, more than the limit of 0\.0 GiB on this computer;"
    ):
        open_data([tmp_path / "a.npy"])


@pytest.mark.parametrize(
    ("pages", "limit"), [(1 << 20, 2 * GIB), (1 << 22, 8 * GIB), (1 << 24, 8 * GIB), (-1, 4 * GIB), (None, 4 * GIB)]
)
def test_that_half_the_memory_is_the_limit_and_at_most_8_gib(monkeypatch, pages, limit):
    def sysconf(name):
        if pages is None:
            raise ValueError("unrecognized configuration name")
        return {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": pages}[name]

    monkeypatch.setattr(os, "sysconf", sysconf)
    assert limits.memory_limit.__wrapped__() == limit  # without the cache


def test_that_the_densest_deflate_stream_is_not_refused_and_a_small_file_is_read_up_to_its_limit(tmp_path):
    n_bytes = 1 << 24
    packed = len(zlib.compress(bytes(n_bytes), level=9, wbits=-15))
    assert 1025 * packed < n_bytes <= DEFLATE_RATIO * packed
    for ratio, most in ((DEFLATE_RATIO, 1032 * packed + 64), (1, packed)):
        check_claim(most, packed, "a", ratio=ratio)
        with pytest.raises(DataError, match=f"a: its header claims {most + 1} bytes, but the file has only {packed} "):
            check_claim(most + 1, packed, "a", ratio=ratio)
    content = bytes(range(256)) * 8192
    assert read_small(write(tmp_path / "x", content), 2 << 20, "a picture") == content
    with pytest.raises(DataError, match="x: is larger than 2 MiB, expected a picture"):
        read_small(write(tmp_path / "x", content + b"0"), 2 << 20, "a picture")
    with pytest.raises(DataError, match=r"cannot be read \(No such file"):
        read_small(tmp_path / "absent", 2 << 20, "a picture")


@given(st.text(st.characters(), max_size=300))
@example("\ud800")
@example("\x1b" * 95)
@example("W" * 101)
@example("\ufb2a" * 100)  # the normal form of each has two characters
def test_that_a_clean_name_is_short_printable_and_unchanged_by_cleaning(name):
    clean, normal = clean_name(name), unicodedata.normalize("NFC", name)
    assert len(clean) <= 100
    clean.encode()
    assert clean_name(clean) == clean
    assert not {unicodedata.category(sign) for sign in clean} & {"Cc", "Cs", "Cn", "Zl", "Zp"}
    assert clean == normal or not name.isprintable() or len(normal) > 100


def named(*names):
    rows = np.zeros((2, len(names)), np.float32)
    return Dataset(names[0], rows, rows[:0], label_names=names, feature_names=names)


def test_that_names_with_invisible_differences_remain_different_and_common_names_in_every_script_unchanged():
    long = "W" * 1500
    names = ("red\x1b", r"red\x1b", "a\nb", "a b", "a  b", "a\u202eb", "a\u200bb", f"{long}V{long}", f"{long}W{long}")
    data = named(*names)
    assert len(set(data.label_names)) == len(set(data.feature_names)) == len(names)
    assert data.label_names[1] == r"red\x1b"
    assert r"red\x1b" in data.label_names[0]
    assert not unsafe("".join(data.label_names))
    with pytest.raises(DataError, match="two different names are both shown as"):
        named("red\x1b", clean_name("red\x1b"))
    names = ("Tür", "東京　都", "نمی‌خواهم", "👨‍👩‍👧", "1\u202f000 €", "a & b", "<b>", "C:\\data", "it's")
    assert named(*names).label_names == names


def test_that_a_table_of_hostile_names_keeps_every_class_and_column_and_names_of_arrays_and_tags_are_cleaned(tmp_path):
    data = open_data([hostile_file(tmp_path)])
    assert len(set(data.label_names)) == len(CLASSES)
    assert len(set(data.feature_names)) == len(COLUMNS)
    assert np.bincount(data.train_labels).tolist() == [10] * len(CLASSES)
    names = [data.name, *data.label_names, *data.feature_names, *data.opened.columns]
    assert not unsafe("".join(names))
    assert max(map(len, names)) <= 100
    assert os.path.samefile(data.source, tmp_path / os.listdir(tmp_path)[0])
    texts = ["a\x1bb", "a b", "a\nb", "a\x1fb", "a  b"]
    assert len(set(open_data([write(tmp_path / "x.npz", npz_bytes(X=np.eye(5), y=texts))]).label_names)) == 5
    assert not unsafe(unmarked("data\x1b[31m (generated)", True))
    assert not unsafe("".join(tags_of("a\x1b[31m,b")))
