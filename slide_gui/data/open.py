"""Open the user's files, or a folder, as one data set. All supported formats are recognised."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from slide_gui.data.assemble import assemble
from slide_gui.data.dataset import Dataset
from slide_gui.data.errors import DataError
from slide_gui.data.limits import zip_members
from slide_gui.data.readers.arrays import ARRAY_NAME, NPY_MAGIC, read_npy, read_npz, real_rows
from slide_gui.data.readers.csv import read_csv
from slide_gui.data.readers.encoding import START, unpacked_start, utf8_start
from slide_gui.data.readers.idx import is_idx_start, read_idx
from slide_gui.data.readers.images import IMAGE_SUFFIXES, has_pictures, image_files, read_image_folder, read_labelled
from slide_gui.data.readers.matlab import MATLAB_73, MATLAB_MAGIC, read_mat
from slide_gui.data.readers.parts import SUBMISSION, DataPart, role_of
from slide_gui.data.readers.table_layout import DELIMITERS, SET_NAMES
from slide_gui.data.readers.tables import read_amat, read_amat_zip
from slide_gui.data.reading import AS_GUESSED, NO_GUESSES, Guess, ParseOptions, ParseReport
from slide_gui.progress import NO_PROGRESS, MonotonicProgress, Progress
from slide_gui.text import clean_name

# Suffixes of the data files that file dialogs show, and that are read from a folder.
DATA_SUFFIXES = (".amat", ".zip", ".npz", ".npy", ".csv", ".tsv", ".mat", ".gz", "-ubyte", ".idx")

_AS_CSV, _AS_NPZ = "save its table as CSV", "save its arrays as X and y with numpy.savez"
_LEFT_OUT = re.compile(rf"{SUBMISSION.pattern}|(?<![a-z])(val|valid|validation|dev)(?![a-z])", re.IGNORECASE)
_PICTURE = rb"(?s)\A(\x89PNG|\xff\xd8\xff|GIF8[79]a|BM.{4}\0{4}|II\*\0|MM\0\*|RIFF.{4}WEBP)"
_PICKLE = f"is a Python pickle or a PyTorch file, which is never read; {_AS_NPZ}"
_OFFICE = f"is an Excel, Word, LibreOffice or PDF file; {_AS_CSV}"
_STATISTICS = f"is a Stata, SPSS or SAS file; {_AS_CSV}"
_SCIENCE = f"is a FITS, NetCDF, DICOM, NIfTI or safetensors file; {_AS_NPZ}"
_MATLAB_4 = "is a MATLAB file of version 4; save it with -v7"
# Patterns of files in unsupported formats, and the error message for each format.
# A pattern matches the beginning of a file or, after PK and a line end, the names of the members of a zip archive.
_OTHER_FORMATS = {
    rb"\A(\x80[\2-\5]|\([dl]p\d|\(?c(numpy|copy_?reg)|PK\n(.*\n)*?.*/data\.pkl\n)": _PICKLE,
    rb"(?s)\A(BZh|\xfd7zX|7z\xbc|Rar!|\(\xb5/\xfd|\x93NUMPY|MATLAB |.{257}ustar)": "is compressed; extract it first",
    rb"\A(PAR1\x15|ARROW1\0|FEA1\0|Obj\x01|ORC[^\s\w,;|])": f"is a Parquet, Feather, Avro or ORC file; {_AS_CSV}",
    rb"\A(\xd0\xcf\x11\xe0|%PDF-|\{\\rtf|PK\n(.*\n)*?(xl/|word/|content\.xml\n))": _OFFICE,
    rb"\ASQLite format 3": f"is an SQLite database; {_AS_CSV}",
    rb"(?s)\A(<stata_dta>|[f-s][\1\2]\x01\0|\$FL[23]@|.{12}\xc2\xea\x81\x60|HEADER RECORD\*{7})": _STATISTICS,
    rb'(?s)\A(SIMPLE  =|CDF[\1\2\5]|.{128}DICM|.{344}n[+i]1\0|.{6}\0\0\{\s*")': _SCIENCE,
    rb"\A(RD[AX][23]\n|[ABX]\n\0\0\0[\2\3])": f"is an R data file; {_AS_CSV}",
    # The numbers are little-endian or big-endian.
    rb"(?s)\A([\0-\x34]\0{3}.{8}[\0\1]\0{3}.\0{3}|\0\0[\3\4].{9}\0{3}[\0\1]\0{3}.)[A-Za-z]\w*\0": _MATLAB_4,
    rb"\A# Created by Octave": "is a text file of Octave; save it with -v7",
    rb'\A\s*(\[\s*)?\{\s*"|\A\s*\[\s*\[|\A\s*<\?xml': f"is a JSON or XML file; {_AS_CSV}",
    rb"(?i)\A\s*<(!doctype html|html)": "is a web page instead of data; download the file again",
    rb"\Aversion https://git-lfs": "is only a Git LFS pointer; fetch the file with git lfs pull",
    rb"(?i)\A\s*(%.*\n\s*)*(@relation\b|%.*\Z)": (
        "is an ARFF file; save it as CSV, with the names of the columns in the first line"
    ),
    # Cells of a table may be times such as 12:30, so they must not all have two digits after the colon. In a table
    # with tabs, all cells but the first must have the form of LIBSVM.
    rb"(?m)^[-+]?\d+(\.\d+)?([eE][-+]?\d+)?(,\d+)*(?!([ \t]+\d+:\d\d)+[ \t]*\r?$)"
    rb"(( +(qid|\d+):[-+.\de]+){2}( |\r?$)|(\t(qid|\d+):[-+.\de]+){2,}\t?\r?$)": (
        "is a LIBSVM file; load it with scikit-learn's load_svmlight_file, and save X.toarray() and y with numpy.savez"
    ),
}


def open_data(
    paths: Sequence[Path], reading: ParseOptions = AS_GUESSED, *, progress: Progress = NO_PROGRESS
) -> Dataset:
    """Read one or several files, or a folder, as a data set.

    Parameters
    ----------
    paths : sequence of Path
        One file, several files that belong together, or a folder. Files that belong together are training and test
        files, which are recognised by name, IDX images and labels, or ``.npy`` files named like the arrays of
        `read_npz`. A folder contains such files, one subfolder of pictures per class, or pictures and a table of their
        file names and labels. If it contains only another folder, the inner folder is read. If no file in it is a test
        set, files in its subfolders are also read if they have the name of a training file with “test” instead of
        “train”.
    reading : ParseOptions
        Options for reading. Properties that they do not specify are guessed. If no options are given, the text columns
        of a table are guessed, too, and the report asks the user to check them.
    progress : Progress
        Reports the fraction of the bytes read.

    Returns
    -------
    Dataset
        If there is no test set, all rows are training rows. If the files belong to a benchmark data set, the result
        has the title, label names, licence and citation of this benchmark.

    Raises
    ------
    DataError
        If the files cannot be read as one data set.
    """
    if not paths:
        raise DataError("no file is selected; choose one")
    paths, reading, progress = [Path(path) for path in paths], reading.checked(), MonotonicProgress(progress)
    with _file_errors(paths):
        parts = read_parts(paths, reading, progress.part(0.0, 0.9))
        return assemble(parts, paths, reading, progress=progress.part(0.9, 1.0))


def read_parts(
    paths: Sequence[Path],
    reading: ParseOptions,
    progress: Progress,
    read_table: Callable[..., DataPart] = read_csv,
    level: int = 0,
    label_column: str = "",
) -> list[DataPart]:
    """Read the files of a data set, or a folder, without checking or scaling the values.

    Parameters
    ----------
    read_table : callable
        Function that reads a text table. It has the arguments of `read_csv`.
    level : int
        Largest pixel value of the training set of a model, or 0, as for `read_image_folder`.
    label_column : str
        Name of the label column of the training set of a model, or an empty string.

    Raises
    ------
    DataError
        If a file cannot be read.
    """
    with _file_errors(paths):
        if len(paths) == 1 and paths[0].is_dir():
            folder = _folder_in(paths[0])
            files = sorted(x for x in folder.glob("[!.]*") if x.name.lower().endswith(DATA_SUFFIXES) and x.is_file())
            if not files:
                return read_image_folder(folder, level=level, progress=progress)
            if not any(role_of(file.name) == "test" for file in files):  # convex.zip has its test set in a folder 50k
                names = {file.name.replace("train", "test") for file in files} - {file.name for file in files}
                files += [x for x in sorted(folder.glob("[!.]*/*")) if x.name in names and x.is_file()]
            # A .gz file is skipped if the folder also contains the unpacked file.
            paths = [file for file in files if file.suffix != ".gz" or file.with_suffix("") not in files]
            if has_pictures(folder) or image_files(folder):
                labelled = read_labelled(folder, paths, reading, level, label_column, progress)
                return labelled or _read_without_pictures(paths, reading, progress, read_table)
        return _read_files(paths, reading, progress, read_table)


def _folder_in(folder: Path) -> Path:
    """Return the only folder in a folder without other content, as in many archives, or else the folder itself.

    A folder of pictures is not returned, because its name may be their class.
    """
    inner = [path for path in folder.glob("[!.]*") if path.name != "__MACOSX"]
    return _folder_in(inner[0]) if len(inner) == 1 and inner[0].is_dir() and not image_files(inner[0]) else folder


def _read_without_pictures(
    paths: Sequence[Path], reading: ParseOptions, progress: Progress, read_table: Callable[..., DataPart]
) -> list[DataPart]:
    """Read the data files of a folder, and report that its pictures are left out."""
    remedy = f"to open the pictures instead, move {clean_name(paths[0].name)} out of the folder"
    remedy += ", and put the pictures of each class into one subfolder, or write a table of file names and labels"
    try:
        parts = _read_files(paths, reading, progress, read_table)
    except DataError as error:
        raise DataError(f"{error}; {remedy}") from error
    return _with_guess(parts, Guess("pictures left out", remedy))


def _with_guess(parts: Sequence[DataPart], guess: Guess) -> list[DataPart]:
    """Return the parts of a data set, and add a guess to the report of the first part."""
    first, *others = parts
    return [replace(first, opened=replace(first.opened, guesses=(*first.opened.guesses, guess))), *others]


def _used_files(paths: Sequence[Path], is_new: bool) -> list[Path]:
    """Leave out tables of sample predictions and validation sets. If `is_new`, validation sets are not left out.

    A file is left out only if another file belongs to the same set.
    """
    others = {path for path in paths if (SUBMISSION if is_new else _LEFT_OUT).search(path.name)}
    roles = {role_of(path.name) for path in paths if path not in others}
    return [path for path in paths if path not in others or role_of(path.name) not in roles]


@contextmanager
def _file_errors(paths: Sequence[Path]) -> Iterator[None]:
    """Convert operating-system errors and out-of-memory errors to a `DataError`."""
    try:
        yield
    except OSError as error:
        place = str(error.filename or paths[0])
        raise DataError(f"cannot be read ({error.strerror or type(error).__name__}); check the file", place) from error
    except MemoryError as error:
        raise DataError("does not fit into the free memory; close other data first", str(paths[0])) from error


def _read_files(
    paths: Sequence[Path], reading: ParseOptions, progress: Progress, read_table: Callable[..., DataPart]
) -> list[DataPart]:
    """Read each file of the training set and the test set, then join IDX images with their labels."""
    # The training set is read first, because the test set must have the same columns.
    used = sorted(_used_files(paths, read_table is not read_csv), key=lambda path: role_of(path.name) == "test")
    named = [path for path in used if ARRAY_NAME.fullmatch(path.stem)]
    are_arrays = 1 < len(named) == len({path.stem for path in named}) and {path.suffix for path in used} == {".npy"}
    parts = read_npy(*named, progress=progress) if are_arrays else []
    left_out = [clean_name(path.name) for path in paths if path not in (named if are_arrays else used)]
    paths = [] if are_arrays else used
    sizes = [path.stat().st_size for path in paths]
    arrays: list[tuple[Path, NDArray[np.generic]]] = []
    for (path, size), step in progress.each(list(zip(paths, sizes, strict=True)), sizes):
        if path.is_dir():
            raise DataError("is a folder; open it without other files", str(path))
        if size == 0:
            problem = "is empty (0 bytes)" if path.is_file() else "is not a regular file"
            raise DataError(f"{problem}; choose another file", str(path))
        with path.open("rb") as stream:
            start = stream.read(START)
        if is_idx_start(unpacked_start(start, str(path))):
            arrays.append((path, read_idx(path, progress=step)))
        else:
            like = next((part for part in parts if role_of(path.name) == "test" and part.role == "train"), None)
            before_test = role_of(path.name) == "train" and role_of(paths[-1].name) == "test"
            table = partial(read_csv, like=like, before_test=before_test) if read_table is read_csv else read_table
            parts += _read_file(path, start, partial(table, reading=reading, progress=step), step)
    parts += _join_idx(arrays)
    why = "only one training set and one test set are read; to use a file that is left out, open it without the others"
    return _with_guess(parts, Guess(f"{', '.join(left_out)} left out", why)) if left_out else parts


def _read_file(path: Path, start: bytes, read_table: Callable[[Path], DataPart], progress: Progress) -> list[DataPart]:
    """Read a file. The format is recognised by the first bytes, and for text files also by the suffix of the name."""
    if start.startswith(NPY_MAGIC):
        return read_npy(path, progress=progress)
    if start.startswith((MATLAB_MAGIC, *MATLAB_73)):
        return read_mat(path, progress=progress)
    is_zip = start.startswith((b"PK\x03\x04", b"PK\x05\x06"))
    members = "".join(f"{member.filename}\n" for member in zip_members(path)) if is_zip else ""
    start = f"PK\n{members}".encode() if is_zip else utf8_start(unpacked_start(start, str(path)))
    for pattern, problem in _OTHER_FORMATS.items():
        if re.search(pattern, start):
            raise DataError(problem, str(path))
    if is_zip:
        return (read_npz if ".npy\n" in members else read_amat_zip)(path, progress=progress)
    if path.suffix.lower() in IMAGE_SUFFIXES or re.search(_PICTURE, start):
        raise DataError("is a single picture; open a folder of pictures, with one subfolder per class", str(path))
    is_text = bool(start) and all(8 < code < 14 or 31 < code != 127 for code in start)
    if not is_text or path.suffix.lower() in (".npz", ".npy", ".zip"):
        raise DataError(f"has an unknown format; {_AS_CSV}, or {_AS_NPZ}", str(path))
    first = next((line for line in start.splitlines() if line.strip() and not line.startswith(b"#")), b"")
    if path.suffix.lower() != ".amat" or any(mark in first for mark in DELIMITERS):
        return _sets_in(read_table(path))
    return [read_amat(path, progress=progress)]


def _sets_in(part: DataPart) -> list[DataPart]:
    """Return the training set and the test set of a table whose groups are named after sets, as in FER2013."""
    if part.groups is None or not SET_NAMES.issuperset(map(str.lower, part.group_names)):
        return [part]
    is_test = np.array(["test" in name.lower() for name in part.group_names])[part.groups]
    part, y = replace(part, groups=None, group_names=()), part.labels
    sets = (("train", ~is_test), ("test", is_test))
    return [replace(part, role=role, rows=part.rows[k], labels=y if y is None else y[k]) for role, k in sets if k.any()]


def _report_labels_file(path: Path) -> ParseReport:
    """Return a report that names the file with the labels of IDX images, if it is in the same folder."""
    labels = path.with_name(path.name.replace("images", "labels").replace("idx3", "idx1"))
    if labels == path or not labels.is_file():
        return NO_GUESSES
    why = f"{labels.name} is in the same folder; open it together with the images to use its labels"
    return ParseReport(guesses=(Guess("no labels", why),), unlabelled=why, labels_file=str(labels))


def _join_idx(arrays: Sequence[tuple[Path, NDArray[np.generic]]]) -> list[DataPart]:
    """Combine the images and the labels of each set. The file names show which set an array belongs to."""
    parts: list[DataPart] = []
    labels: dict[str, tuple[Path, NDArray[np.generic]]] = {}
    for path, array in arrays:
        if array.ndim == 1:
            first, _ = labels.setdefault(role_of(path.name), (path, array))
            if first != path:
                raise DataError(f"has labels of the same set as {first.name}; open only one of them", str(path))
    for path, images in arrays:
        if images.ndim > 1:
            rows, shape = real_rows(images, str(path))
            role = role_of(path.name)
            of_role = labels.pop(role, None)
            if of_role is not None and of_role[1].size != len(rows):
                problem = f"contains {of_role[1].size} labels, but {path.name} has {len(rows)} images"
                raise DataError(f"{problem}; open matching files", str(of_role[0]))
            report = NO_GUESSES if of_role is not None else _report_labels_file(path)
            parts.append(DataPart(rows, of_role and of_role[1], shape, str(path), role, opened=report))
    for path, _ in labels.values():
        raise DataError("contains labels without images; open it together with the images", str(path))
    return parts
