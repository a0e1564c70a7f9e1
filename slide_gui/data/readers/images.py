"""Read a folder of pictures with one subfolder per class, or with a table of file names and labels."""

import io
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from slide_gui.data.errors import DataError
from slide_gui.data.limits import check_memory, read_small
from slide_gui.data.readers.csv import read_csv
from slide_gui.data.readers.encoding import utf8_stream
from slide_gui.data.readers.parts import SUBMISSION, DataPart, is_missing, role_of
from slide_gui.data.readers.table_layout import SET_NAMES, UNNAMED, table_layout
from slide_gui.data.readers.tables import split_line
from slide_gui.data.reading import NO_COLUMN, Guess, ParseOptions, ParseReport, likely_labels, requested_column
from slide_gui.progress import NO_PROGRESS, Progress
from slide_gui.text import clean_name, counted, listed_names, plural, printable

# Pictures in the last four formats are refused, because users might not notice that they were left out.
IMAGE_SUFFIXES = frozenset((".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm"))
IMAGE_SUFFIXES |= {".jfif", ".pbm", ".heic", ".heif", ".avif", ".jp2"}
_FORMATS = ("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP", "PPM")
# Number of pictures that are checked for colours, and largest difference between the colour channels of a grey pixel.
_MOST_CHECKED, _GREY = 50, 16
_MOST_PIXELS = 1 << 16
_MOST_BYTES = 64 << 20
# Largest numbers of columns of a table of labels, of its rows that are searched for names, and of folders in a note.
_MOST_COLUMNS, _SAMPLED, _MOST_NAMED = 100, 1000, 10
_WITH_FRAMES = (".gif", ".tif", ".tiff", ".webp", ".png")
_PARTS = {"train": "train", "training": "train", "test": "test", "testing": "test"}
_PARTS |= {f"{name}{end}": role for name, role in _PARTS.items() for end in ("_set", "_data", "_images")}


def read_image_folder(folder: Path, *, level: int = 0, progress: Progress = NO_PROGRESS) -> list[DataPart]:
    """Read all pictures of a folder as grey images in [0, 1].

    16-bit pixels are divided by the largest value of the bit depth that they use (8, 10, 12, 14 or 16 bits).

    Each subfolder is a class. Classes are numbered in alphabetical order. If there are subfolders train and test, or
    train_set and test_set, these contain one subfolder per class. Other subfolders, such as val, are left out, and a
    note reports this. Pictures directly in the folder, or directly in the folder test, have no labels. Subfolders
    are not classes if all are named after sets, such as train and val, or trainA and testA. Hidden files and files
    without the suffix of a picture are skipped.

    Parameters
    ----------
    level : int
        If a trained model classifies the pictures: the largest pixel value of the training set of the model. 16-bit
        pixels are then divided by this value. Otherwise 0.

    Raises
    ------
    DataError
        If there are no pictures, or if a picture cannot be read, has more than 65 536 pixels or differs in size from
        the first picture. The error is also raised if the pixels do not have the scale of `level`.
    """
    below = {_PARTS[entry.name.lower()]: entry for entry in _folders(folder) if entry.name.lower() in _PARTS}
    names, classes = _class_names(list(below.values())), _class_names([folder])
    # Names such as test1, trainA and test_stg1 also denote sets.
    sets, lower = SET_NAMES | _PARTS.keys(), map(str.lower, classes)
    are_sets = all({name, name[:-1], name.partition("_stg")[0]} & sets for name in lower)
    if "train" not in below or not (names or are_sets):
        files = [(file, 0) for name in classes * are_sets for file in image_files(folder / name)]
        return _scaled_to_bit_depth([_read_part(folder, "train", classes * (not are_sets), progress, files)], level)
    # "train" comes before "test"
    parts = [_read_part(below[role], role, names, part) for role, part in progress.each(sorted(below, reverse=True))]
    parts = [replace(part, pictures=tuple(f"{Path(part.place).name}/{x}" for x in part.pictures)) for part in parts]
    others = [x for x in _folders(folder) if x not in below.values() and (image_files(x) or _class_names([x]))]
    if others:
        names_left = ", ".join(clean_name(entry.name) for entry in others)
        note = Guess(f"{plural('folder', 'folders', len(others))} {names_left} left out", "not named train or test")
        parts[0] = replace(parts[0], opened=replace(parts[0].opened, guesses=(note, *parts[0].opened.guesses)))
    return _scaled_to_bit_depth(parts, level)


def read_labelled(
    folder: Path, files: Sequence[Path], reading: ParseOptions, level: int, trained: str, progress: Progress
) -> list[DataPart]:
    """Read the pictures whose file names and labels are in a table in the same folder, as grey images in [0, 1].

    The pictures are in the folder or in two levels of subfolders. If subfolders have “test” in their names, only a
    table with “test” in its name labels the pictures in them. File names may lack the suffix, and may include the
    subfolders, separated by slashes or backslashes. Upper and lower case are not distinguished, unless the names of two
    pictures differ only in case. Pictures without a label and rows without a picture are left out, and notes report
    them.

    The labels are in the column of the option `label_column`, in the only column named label, labels, class, y or
    target, or in the only other column. Empty columns and row numbers in the first column do not count. If the label
    column of the training set is known, a column with this name is preferred. In a test set, only this column or a
    column with a name for labels may then have the labels. Tables of sample predictions are left out.

    Parameters
    ----------
    files : sequence of Path
        The data files of the folder. A note reports those that are not used. The result is empty if no column of them
        names a picture in at least half of the rows. If they have only sample predictions, `read_image_folder` is used.
    reading : ParseOptions
        Options for reading the tables.
    trained : str
        Name of the label column of the training set of a model, or an empty string.
    level, progress
        Same as for `read_image_folder`.

    Raises
    ------
    DataError
        If it is uncertain which label belongs to a picture, or if a picture cannot be read.
    """
    places = [folder, *_folders(folder), *(deeper for place in _folders(folder) for deeper in _folders(place))]
    pictures = [file for place in places for file in image_files(place)]
    by_name: dict[str, dict[str, list[Path]]] = {"train": {}, "test": {}}
    names = {name for file in pictures for name in (file.stem, str(file))}
    fold = len({name.casefold() for name in names}) == len(names)
    for file in pictures:
        path = file.relative_to(folder)
        for name in {path.name, path.stem, path.as_posix(), path.with_suffix("").as_posix()}:
            by_name[role_of(str(path.parent))].setdefault(_name_key(name, fold), []).append(file)
    tables = [path for path in files if not SUBMISSION.search(path.name)]
    parts = [] if tables else read_image_folder(folder, level=level, progress=progress)
    labelled, unused = set[Path](), [clean_name(path.name) for path in files]
    for path, step in progress.each(sorted(tables, key=lambda path: role_of(path.name) == "test")):
        known = by_name[role_of(path.name)] or by_name["train"]
        table = _table_of_labels(path, known, reading, trained, fold) if path.stat().st_size < _MOST_BYTES else None
        if table is None or table.groups is None:
            continue
        if reading.group is not None:
            raise DataError("labels pictures, which cannot have groups; open it without this option", table.place)
        named = [known.get(_name_key(name, fold), []) for name in table.group_names]
        for name, same, n_rows in zip(table.group_names, named, np.bincount(table.groups), strict=True):
            if len(same) > 1 or n_rows > 1 or not labelled.isdisjoint(same):
                problem = f"has several pictures or rows for {name!r}, or another row or table also labels this picture"
                raise DataError(f"{problem}; leave rows out, or write the folders before the names", table.place)
            labelled.update(same)
        listed = [(file, 0) for same in named for file in same]
        part = _read_part(folder, table.role, (), step, listed)
        others = Counter(file.parent.name for file in sorted({*pictures}.difference(file for file, _ in listed)))
        shown = others if len(others) < _MOST_NAMED else {f"{len(others)} folders": others.total()}
        left_out = [f"{counted(n, 'picture')} in {clean_name(place)}" for place, n in shown.items()]
        left_out += [f"{counted(len(named) - len(listed), 'row')} without a picture"] * (len(named) > len(listed))
        what, why = f"labels of the pictures from {clean_name(path.name)}", f"left out: {', '.join(left_out) or 'none'}"
        is_sure = not left_out and len({file.parent for file, _ in listed}) == 1  # several folders may be classes
        guesses = (Guess(what, why, sure=is_sure), *table.opened.guesses, *part.opened.guesses)
        labels = None if table.labels is None else table.labels[[bool(same) for same in named]]
        place, opened = f"{folder}, labelled by {path.name}", replace(table.opened, guesses=guesses)
        parts.append(replace(part, labels=labels, label_names=table.label_names, place=place, opened=opened))
        unused.remove(clean_name(path.name))
        trained = "" if opened.label_column is None else opened.columns[opened.label_column]
        reading = replace(reading, label_column=None if trained else NO_COLUMN)
    if parts and unused:
        note = Guess(f"{listed_names(unused)} left out", "next to pictures, only tables with their file names are read")
        parts[0] = replace(parts[0], opened=replace(parts[0].opened, guesses=(*parts[0].opened.guesses, note)))
    return _scaled_to_bit_depth(parts, level) if labelled else parts


def _name_key(name: str, fold: bool) -> str:
    """Return the name of a picture with slashes between folders, in lower case if `fold` is True."""
    name = normalize("NFC", name).strip().replace("\\", "/").removeprefix("./")
    return name.casefold() if fold else name


def _table_of_labels(
    path: Path, by_name: Mapping[str, object], reading: ParseOptions, trained: str, fold: bool
) -> DataPart | None:
    """Return a table of labels with the names of pictures as its groups, or None if no column names pictures."""
    place, all_columns = str(path), tuple(f"#{k}" for k in range(1, _MOST_COLUMNS + 1))
    try:
        with path.open("rb") as file:
            stream, _, _ = utf8_stream(file, path.stat().st_size, place)
            # No column is a feature. The argument `before_test` permits the numbers of columns that do not exist.
            options = ParseOptions(NO_COLUMN, reading.header, left_out=all_columns)
            layout = table_layout(stream, options, place, before_test=True)
            stream.seek(layout.start)
            lines = stream.read(_MOST_BYTES).splitlines()
        step, columns = 1 + len(lines) // _SAMPLED, layout.columns
        rows = [row for line in lines[::step] if len(row := split_line(line, layout.delimiter, place)) == len(columns)]
    except DataError:
        return None
    cells = [[_name_key(cell, fold) for cell in column] for column in zip(*rows, strict=True)]
    likely = [columns.index(trained)] if trained in columns else likely_labels(columns)
    naming = [k for k in range(len(cells)) if k not in likely and 2 * len(by_name.keys() & {*cells[k]}) >= len(rows)]
    if not naming or len(columns) > _MOST_COLUMNS:
        return None
    if reading.header is None and layout.named and any(_name_key(columns[k], fold) in by_name for k in naming):
        # The first line is a row.
        return _table_of_labels(path, by_name, replace(reading, header=False), trained, fold)
    numbered = any(cells[0] == [str(first + step * k) for k in range(len(rows))] for first in (0, 1))
    naming = [k for k in naming if k or not numbered or len(naming) == 1]
    others = [k for k in range(len(cells)) if k not in naming and not (trained and role_of(path.name) == "test")]
    possible = [k for k in likely or others if not all(map(is_missing, cells[k]))]
    if numbered and (possible[1:] or columns[0] in UNNAMED):
        possible = [k for k in possible if k]
    if (label := reading.label_column) is not None:
        possible = [] if label.lower() == NO_COLUMN else [requested_column(label, columns, place)]
        naming = [k for k in naming if k not in possible]
    lacks = not possible and label is None and not trained and role_of(path.name) != "test"
    if len(naming) != 1 or len(possible) > 1 or lacks:
        names, labels = (listed_names([columns[k] for k in some]) or "none" for some in (naming, possible))
        problem = f"may have file names of pictures in columns {names}, and labels in columns {labels}"
        raise DataError(f"{problem}; choose the labels (--label-column), or keep one column of each", place)
    rest = [k for k in range(len(columns)) if k not in (naming[0], *possible)]
    label = f"#{possible[0] + 1}" if possible else NO_COLUMN
    options = ParseOptions(label, reading.header, left_out=tuple(f"#{k + 1}" for k in rest), group=f"#{naming[0] + 1}")
    table = read_csv(path, options, allow_no_features=True, progress=NO_PROGRESS)
    left_out = Guess(f"columns {listed_names([columns[k] for k in rest])} left out", "only pixels are features")
    guesses = (*[left_out] * bool(rest), *table.opened.guesses)
    unlabelled = "" if possible else "the pictures have no labels; choose or add a label column, or move the table away"
    return replace(table, opened=replace(table.opened, guesses=guesses, unlabelled=unlabelled))


def has_pictures(folder: Path) -> bool:
    """Return True if the subfolders of a folder, or their own subfolders, contain pictures."""
    return bool(_class_names([folder, *_folders(folder)]))


def image_files(folder: Path) -> list[Path]:
    """Return the pictures directly in a folder, sorted by name."""
    with os.scandir(folder) as entries:
        names = [e.name for e in entries if not e.name.startswith(".") and e.is_file()]
    return [folder / name for name in sorted(names) if Path(name).suffix.lower() in IMAGE_SUFFIXES]


def read_image(path: Path) -> NDArray[np.float32]:
    """Read a picture upright, as grey values in [0, 1].

    Transparent pixels become white. If all other pixels are white, transparent pixels become black.

    Parameters
    ----------
    path : Path
        A PNG, JPEG, BMP, GIF, TIFF, WebP, PGM or PPM file; only the first frame is read. More than 65 536 pixels are
        refused before they are decoded.

    Returns
    -------
    ndarray of shape (rows, columns), float32

    Raises
    ------
    DataError
        If the picture cannot be read or is too large.
    """
    from PIL import Image, ImageOps

    # Read from memory, because Pillow allocates the length that a damaged file declares.
    content = io.BytesIO(read_small(path, _MOST_BYTES, "a picture"))
    try:
        with Image.open(content, formats=_FORMATS) as picture:
            if picture.width * picture.height > _MOST_PIXELS:
                problem = f"has {picture.width} × {picture.height} pixels, expected at most {_MOST_PIXELS}"
                raise DataError(f"{problem}; make it smaller", str(path))
            upright: Image.Image = ImageOps.exif_transpose(picture)
            if upright.mode[0] in "FI":  # 16 bits per pixel
                wide: NDArray[np.float32] = np.asarray(upright, np.float32) / np.float32(65535)
                if upright.mode == "F" or not 0 <= wide.min() <= wide.max() <= 1:
                    problem = "has pixels of more than 16 bits or with floating-point values"
                    raise DataError(f"{problem}; save it with 8 or 16 bits per pixel", str(path))
                return wide
            if upright.has_transparency_data:  # a drawing may consist of black pixels on a transparent background
                drawn = upright.convert("RGBA")
                upright = Image.alpha_composite(Image.new("RGBA", drawn.size, "white"), drawn)
                if upright.convert("L").getextrema() == (255, 255) and drawn.getchannel("A").getbbox():
                    upright = Image.alpha_composite(Image.new("RGBA", drawn.size, "black"), drawn)  # a white drawing
            return np.asarray(upright.convert("L"), np.float32) / np.float32(255)
    except DataError:
        raise
    except Exception as error:  # Pillow raises many types of errors, and its warnings of decompression bombs
        problem = "is a damaged picture, or has an unsupported format; remove it, or save it as PNG"
        raise DataError(problem, str(path)) from error


def _folders(folder: Path) -> list[Path]:
    with os.scandir(folder) as entries:
        return sorted(Path(e.path) for e in entries if e.is_dir() and not e.name.startswith("."))


def _class_names(folders: Sequence[Path]) -> tuple[str, ...]:
    return tuple(sorted({entry.name for folder in folders for entry in _folders(folder) if image_files(entry)}))


_LEVELS = (255, 1023, 4095, 16383, 65535)


def _scaled_to_bit_depth(parts: list[DataPart], level: int) -> list[DataPart]:
    """Divide 16-bit pixels by `level` or, if it is 0, by the largest value of the bit depth that they use."""
    rows = [row for part in parts for row in part.rows]
    high = round(65535 * max(float(row.max()) for row in rows))
    # When 8-bit pixels are converted to 16 bits, they become multiples of 257.
    deep = any((np.rint(65535 * row) % 257).any() for row in rows)
    used = next(each for each in _LEVELS if high <= each) if deep else 255
    # Pictures of 8 bits fit a model of 16-bit pictures, and the reverse: white, 255 or 65535, is scaled to 1 in both.
    if level in _LEVELS and (used, level) != ((65535, 255) if deep else (255, 65535)):
        if high > level if deep else level != 255:
            pixels = f"has pixels {f'up to {high}' if deep else 'of 8 bits'}"
            problem = f"{pixels}, but the training pixels range from 0 to {level}"
            raise DataError(f"{problem}; save the pictures like those of the training set", parts[0].place)
        used = level
    if deep and used < 65535:
        for row in rows:
            row[:] = np.rint(65535 * row) / np.float32(used)
    return [replace(part, level=used) for part in parts]


def _read_part(
    folder: Path, role: str, names: tuple[str, ...], progress: Progress, files: Sequence[tuple[Path, int]] = ()
) -> DataPart:
    classes = [folder / name for name in names] or [folder]
    files = files or [(file, k) for k, place in enumerate(classes) if place.is_dir() for file in image_files(place)]
    if not files and role == "test":
        names, files = (), [(file, 0) for file in image_files(folder)]
    if not files:
        remedy = "open a folder with one subfolder of pictures for each class, or open data files themselves"
        if any(folder.glob("data_batch*")):
            remedy = "batches of CIFAR are not read, so save grey images X and labels y with numpy.savez"
        raise DataError(f"contains no pictures of classes; {remedy}", str(folder))
    rows, shape = np.empty((0, 0), np.float32), (0, 0)
    others: list[tuple[Path, tuple[int, ...]]] = []
    for index, (file, _) in enumerate(files):
        pixels = read_image(file)
        if not index:
            check_memory(4 * len(files) * pixels.size, str(folder))
            rows, shape = np.empty((len(files), pixels.size), np.float32), (pixels.shape[0], pixels.shape[1])
        if pixels.shape == shape:
            rows[index] = pixels.ravel()
        else:
            others.append((file, pixels.shape))
        progress.report((index + 1) / len(files))
    if others:
        (file, (height, width)), first, (h, w) = others[0], files[0][0], shape
        more = f", and {counted(len(others) - 1, 'more picture')} of {len(files)} differ from it" if others[1:] else ""
        # The command is complete, so that it can be copied to a terminal.
        folders = "*/" * len(file.relative_to(folder).parts[1:])
        command = f"mogrify -auto-orient -resize '{w}x{h}!' {folders}*{file.suffix}"
        problem = f"has {width} × {height} pixels, but {clean_name(first.name)} has {w} × {h}{more}"
        remedy = f"make all pictures the same size, with ImageMagick in a copy of {clean_name(folder.name)}: {command}"
        raise DataError(f"{problem}; {remedy}", str(file))
    labels = np.array([label for _, label in files], np.int64) if names else None
    unlabelled = "" if names else "the pictures are not in subfolders; move those of each class to a subfolder"
    n_stacks = sum(_has_frames(file) for file, _ in files if file.suffix.lower() in _WITH_FRAMES)
    first_frames = f"only the first frame of {counted(n_stacks, 'picture')} is read"
    in_colour = any(map(_has_colours, [file for file, _ in files[:: 1 + len(files) // _MOST_CHECKED]]))
    doubts = (
        (names and any(map(has_pictures, _folders(folder))), "pictures in deeper folders left out", "move them up"),
        (names and image_files(folder), "pictures next to the folders of classes left out", "move them into a folder"),
        (n_stacks, first_frames, "the other frames are left out; save each frame as a picture to use it"),
        (in_colour, "pictures in colour read as grey images", "each pixel is one feature"),
        (0.0 < rows.max() < 2 / 255, "all pictures are almost black", "save values of 0 to 255 instead of 0 and 1"),
    )
    opened = ParseReport(guesses=tuple(Guess(what, why) for holds, what, why in doubts if holds), unlabelled=unlabelled)
    pictures = tuple(printable(file.relative_to(folder).as_posix()) for file, _ in files)
    return DataPart(rows, labels, shape, str(folder), role, names, opened=opened, pictures=pictures)


def _has_colours(path: Path) -> bool:
    """Return True if a picture has coloured pixels. Small differences of channels, as in grey JPEGs, are ignored."""
    from PIL import Image

    with suppress(Exception), Image.open(path, formats=_FORMATS) as picture:
        return bool(np.ptp(np.asarray(picture.convert("RGB")), axis=2).max() > _GREY)
    return False


def _has_frames(path: Path) -> bool:
    """Return True if a picture has a second frame."""
    from PIL import Image

    with suppress(Exception), Image.open(path, formats=_FORMATS) as picture:
        return getattr(picture, "n_frames", 1) > 1
    return False
