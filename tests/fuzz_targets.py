"""The targets of `tests.fuzz`: all readers of data, sessions, models, settings files, pictures, documents and stores.

A target writes one damaged input to its folder and reads it as the program does. All seed files are tiny.
"""

import base64
import io
import json
import random
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, PngImagePlugin

from slide_gui.core.imputation import LinearImputer
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.workers import ClusterError
from slide_gui.data.dataset import HeldOut
from slide_gui.data.errors import DataError
from slide_gui.data.open import open_data
from slide_gui.data.readers.csv import read_csv
from slide_gui.data.readers.images import read_image
from slide_gui.data.readers.incomplete import read_incomplete
from slide_gui.data.readers.tables import read_amat
from slide_gui.data.reading import ParseOptions
from slide_gui.experiments.files.model_file import fit_model, is_model_file, load_model, save_model
from slide_gui.experiments.files.provenance import FigureProvenance
from slide_gui.experiments.files.session import SUFFIX, SessionRecord, located, picture_text, read_session
from slide_gui.experiments.files.source import DataSource
from slide_gui.experiments.files.source import read_image as read_image_text
from slide_gui.experiments.runs.result import ARRAYS, pack_arrays, unpack_arrays
from slide_gui.experiments.runs.splits import with_filled
from slide_gui.experiments.store.stored_run import Setting
from slide_gui.experiments.sweeps.cluster import _address_in
from slide_gui.progress import NO_PROGRESS
from tests.damage import changed_json, changed_text, gzipped, mutant, npy_mutant, png_mutant, zip_mutant
from tests.data.writers import amat_text, idx_bytes, mat_bytes, npy, npz_bytes, write, zip_bytes
from tests.experiments.tiny import rectangles, spec

Chance = random.Random
Bytes = Callable[[bytes, Chance], bytes]


@dataclass(frozen=True)
class Target:
    """A reader, and functions that write inputs for it.

    Attributes
    ----------
    damage : callable
        Writes one damaged input to a folder, which is empty or holds the previous one, and returns its path.
    read : callable
        Reads the input at a path as the program does.
    whole : callable
        Writes the undamaged input, which `read` must accept.
    allowed : tuple of type
        Exceptions that refuse an input in one sentence for the user.
    share : float
        Number of inputs for each input of an ordinary target; slow targets get fewer.
    """

    name: str
    damage: Callable[[Path, Chance], Path]
    read: Callable[[Path], object]
    whole: Callable[[Path], Path]
    allowed: tuple[type[Exception], ...] = (DataError,)
    share: float = 1.0


def file(
    name: str,
    file_name: str,
    seeds: bytes | tuple[bytes, ...],
    read: Callable[[Path], object],
    change: Bytes | None = None,
    **further: Any,
) -> Target:
    """Return a target of one file: a seed that `change` damages, or with changed bytes and parts of other seeds."""
    several = seeds if isinstance(seeds, tuple) else (seeds,)

    def damage(folder: Path, chance: Chance) -> Path:
        seed = chance.choice(several)
        content = mutant(seed, chance, several[1:]) if change is None else change(seed, chance)
        return write(folder / file_name, content)

    return Target(name, damage, read, lambda folder: write(folder / file_name, several[0]), **further)


# Data ----------------------------------------------------------------------------------------------------------------

RANDOM = np.random.default_rng(0)
ROWS, LABELS = RANDOM.random((9, 16)), RANDOM.integers(3, size=9)
PIXELS = (255 * ROWS).astype(np.uint8).reshape(9, 4, 4)
NAMES = np.array(["ant", "bee", "cat"])[LABELS]


def opened(path: Path) -> None:
    with_filled(open_data([path]))


def filled(path: Path) -> None:
    table, imputer = read_incomplete(path), LinearImputer()
    table.with_filled(imputer.fit_transform(table.rows), imputer.scale_)


def mat(packed: bool) -> bytes:
    return mat_bytes(packed, X=ROWS, y=LABELS.reshape(-1, 1))


def changed_inside_mat(content: bytes, chance: Chance) -> bytes:
    """Change the content of a compressed array of a MATLAB file, sometimes to a very large one."""
    elements, at = [], 128
    while at < len(content):
        length = int.from_bytes(content[at + 4 : at + 8], "little")
        elements.append(zlib.decompress(content[at + 8 : at + 8 + length]))
        at += 8 + length
    number = chance.randrange(len(elements))
    elements[number] = mutant(elements[number], chance)
    if chance.random() < 0.05:
        elements[number] += bytes(1 << 22)
    packed = [zlib.compress(element) for element in elements]
    return content[:128] + b"".join(b"\x0f\0\0\0" + len(each).to_bytes(4, "little") + each for each in packed)


def csv(names: bool, texts: bool, mark: str = ",") -> bytes:
    lines = [mark.join(["label", *(f"p{i}" for i in range(16))])] if names else []
    labels = NAMES if texts else LABELS
    lines += [mark.join(map(str, [label, *row])) for row, label in zip(ROWS.round(4).tolist(), labels, strict=True)]
    return ("\ufeff" + "\r\n".join(lines) + "\r\n").encode()


def table_read(path: Path) -> None:
    read_csv(path, ParseOptions(), progress=NO_PROGRESS)


def read_csv_otherwise(path: Path) -> None:
    """Read a table with unusual options."""
    for reading in (
        ParseOptions(label_column="1", header=False, left_out=("3",)),
        ParseOptions(label_column="label", header=True, shape=(4, 4), transposed=True),
        ParseOptions(label_column="none", shape=(), scaled=True),
    ):
        with suppress(DataError):
            open_data([path], reading)


def picture(kind: str, **further: Any) -> bytes:
    buffer = io.BytesIO()
    image = Image.fromarray(np.kron(PIXELS[0], np.ones((4, 4), np.uint8)))
    if kind == "GIF":
        image = image.convert("P")
    image.save(buffer, kind, **further)
    return buffer.getvalue()


CSVS = (
    csv(True, False),
    csv(False, True, ";"),
    csv(True, True, "\t"),
    csv(True, True, ";").replace(b".", b","),
    csv(True, True).decode().encode("utf-16"),
    b"# comment\n" + csv(True, True).decode().replace("\ufeff", "").replace(NAMES[0], "été").encode("cp1252"),
)
GAPS = csv(True, False).replace(b"0.637,", b"NA,").replace(b",0.2997,", b",,")
AMAT = amat_text(ROWS[:4], LABELS[:4]).encode()
ARRAYS_OF_NPZ = {"X.npy": npy(ROWS.astype(np.float32)), "y.npy": npy(LABELS)}
NPZ = npz_bytes(X=ROWS.astype(np.float32), y=LABELS)
TEXTS_OF_NPZ = {"X_train.npy": npy(PIXELS), "y_train.npy": npy(NAMES), "X_test.npy": npy(PIXELS[:3])}
IDX = idx_bytes(PIXELS)


def in_zip(members: dict[str, bytes], change: Bytes, how: int = zipfile.ZIP_DEFLATED) -> Bytes:
    return lambda _seed, chance: zip_mutant(members, chance, change, how)


def images_by_class(folder: Path) -> Path:
    root = folder / "pictures"
    shutil.rmtree(root, ignore_errors=True)
    for number in range(4):
        (root / "ab"[number % 2]).mkdir(parents=True, exist_ok=True)
        write(root / "ab"[number % 2] / f"{number}.png", PNG)
    return root


def damaged_folder(folder: Path, chance: Chance) -> Path:
    root = images_by_class(folder)
    victim = chance.choice(sorted(root.rglob("*.png")))
    kind = chance.randrange(7)
    if kind == 0:
        victim.unlink()
        victim.mkdir()
    elif kind == 1:
        victim.unlink()
        victim.symlink_to(chance.choice((victim, Path("nowhere"), root)))
    elif kind == 2:
        victim.rename(victim.parent / chance.choice(("\x1b[2J.png", "é.amat", ".x", "x.csv", "x" * 250 + ".png")))
    elif kind == 3:
        victim.parent.rename(root / chance.choice(("train", "test", "Training", ".a", "é")))
    elif kind == 4:
        write(root / "labels.csv", changed_text(b"file,label\n0,x\na/2.png,y\n1,x\n3,y\n", chance))
    else:
        write(victim, chance.choice((mutant, png_mutant))(PNG, chance))
    return root


PNG = picture("PNG")

DATA = [
    file("npy", "x.npy", (npy(ROWS), npy(PIXELS), npy(np.asfortranarray(ROWS))), opened),
    file("npy header", "x.npy", (npy(ROWS), npy(PIXELS)), opened, npy_mutant),
    file("npz", "x.npz", (NPZ, zip_bytes(ARRAYS_OF_NPZ)), opened),
    file("npz inside", "x.npz", NPZ, opened, in_zip(ARRAYS_OF_NPZ, npy_mutant)),
    file("npz of texts inside", "x.npz", zip_bytes(TEXTS_OF_NPZ), opened, in_zip(TEXTS_OF_NPZ, npy_mutant)),
    file("amat", "x.amat", AMAT, opened, changed_text),
    file("amat, whatever it begins with", "x.amat", AMAT, read_amat, changed_text),
    file("amat in zip", "x.zip", zip_bytes({"a_train.amat": AMAT, "a_test.amat": AMAT}), opened),
    file("amat in zip inside", "x.zip", zip_bytes({"a.amat": AMAT}), opened, in_zip({"a.amat": AMAT}, changed_text)),
    file("csv", "x.csv", CSVS, opened, changed_text),
    file("csv, whatever it begins with", "x.csv", (csv(True, True), csv(False, False)), table_read, changed_text),
    file("csv in gzip", "x.csv.gz", tuple(map(gzipped, CSVS)), opened),
    file("csv to fill", "x.csv", (GAPS, *CSVS), filled, changed_text),
    file("csv read otherwise", "x.csv", csv(True, True), read_csv_otherwise, changed_text),
    file("idx", "train-images-idx3-ubyte", (IDX, idx_bytes(ROWS)), opened),
    file("idx in gzip", "x.gz", gzipped(IDX), opened),
    file("idx in gzip inside", "x.gz", gzipped(IDX), opened, lambda _, chance: gzipped(mutant(IDX, chance))),
    file("mat", "x.mat", (mat(False), mat(True)), opened),
    file("mat inside", "x.mat", mat(True), opened, changed_inside_mat),
    file("PNG", "x.png", (PNG, picture("PNG", bits=1)), read_image),
    file("PNG inside", "x.png", PNG, read_image, png_mutant),
    *(file(k, f"x.{k.lower()}", picture(k), read_image) for k in ("JPEG", "BMP", "GIF", "TIFF", "PPM", "WEBP")),
    Target("folder of pictures", damaged_folder, opened, images_by_class, share=0.3),
]

# Models, sessions and other exported files ---------------------------------------------------------------------------

TINY = rectangles(40, 10)


with tempfile.TemporaryDirectory() as _folder:
    save_model(Path(_folder, "m.npz"), fit_model(TINY, StackParameters(depth=1)))
    with zipfile.ZipFile(Path(_folder, "m.npz")) as _archive:
        MEMBERS = {name: _archive.read(name) for name in _archive.namelist()}
MODEL = zip_bytes(MEMBERS, zipfile.ZIP_STORED)


def loaded(path: Path) -> None:
    is_model_file(path)
    load_model(path)


def changed_manifest(_: bytes, chance: Chance) -> bytes:
    manifest = np.load(io.BytesIO(MEMBERS["manifest.npy"])).tobytes()
    changed = np.frombuffer(changed_json(manifest, chance), np.uint8)
    return zip_bytes({**MEMBERS, "manifest.npy": npy(changed)}, zipfile.ZIP_STORED)


RUN = pack_arrays({name: np.zeros((2,) * ndim, dtype) for name, (dtype, ndim) in ARRAYS.items()})
RECORD = SessionRecord(
    DataSource(
        paths=("a.csv", "b.csv"), reading=ParseOptions(label_column="y", shape=(4, 4)), held_out=HeldOut(0.2, 3)
    ),
    "0" * 64,
    choices=(("weights", "view", "wall"), ("curves", "x", "1")),
)
SESSION = json.dumps(RECORD.document(), indent=1).encode()
LETTERS = picture_text(RECORD).encode()


def session_read(path: Path) -> None:
    """Read a session and look for its data, as the window does."""
    from slide_gui.gui.shell.session_keeper import _check

    record = read_session(path)
    if record is None:
        return
    _check(record.selection, path)
    with suppress(DataError):
        located(record, path)
    SessionRecord.document(record)


def text_of_png(text: bytes) -> bytes:
    info = PngImagePlugin.PngInfo()
    info.add_text("Comment", text.decode())
    return picture("PNG", pnginfo=info)


WRAPPED: dict[str, Callable[[bytes], bytes]] = {
    "PNG": text_of_png,
    "SVG": lambda text: b'<svg xmlns="http://www.w3.org/2000/svg"><metadata>' + text + b"</metadata></svg>",
    "PDF": lambda text: b"%PDF-1.4\n1 0 obj\n<< /Type /Info /Keywords (" + text + b") >>\nendobj\ntrailer\n%%EOF\n",
    "GIF": lambda text: picture("GIF", comment=text),
    "MP4": lambda text: b"\0\0\0\x20ftyp" + text,
}
"""Format → a function that writes a session's text to a picture or film."""


def holding(wrap: Callable[[bytes], bytes]) -> Bytes:
    """Damage the session in a picture, or the picture itself."""

    def change(_: bytes, chance: Chance) -> bytes:
        if chance.random() < 0.5:
            return mutant(wrap(LETTERS), chance)
        if chance.random() < 0.2:
            return wrap(mutant(LETTERS, chance).decode("ascii", "replace").encode("ascii", "replace"))
        return wrap(b"slide-gui-session:" + base64.b64encode(changed_json(SESSION, chance)) + b";")

    return change


def bundle(folder: Path, session: bytes = SESSION) -> Path:
    root = folder / "bundle"
    root.mkdir(exist_ok=True)
    write(root / "weights.py", b"")
    write(root / f"weights{SUFFIX}", session)
    return root


SPEC = spec(TINY, widths="median", C=1.0)
PROVENANCE = FigureProvenance.of_run("run", DataSource(key="rectangles", generated=True), SPEC).text().encode()
SETTING = Setting.of(SPEC).text.encode()
IMAGE = b"0.0,1.0,0.25\n0.5 1e-3 0\n"
SCHEDULER = json.dumps({"type": "Scheduler", "id": "x", "address": "tcp://127.0.0.1:1", "workers": {}}).encode()

DOCUMENTS = [
    file("model", "m.npz", MODEL, loaded),
    file("model inside", "m.npz", MODEL, loaded, in_zip(MEMBERS, npy_mutant, zipfile.ZIP_STORED)),
    file("manifest of a model", "m.npz", MODEL, loaded, changed_manifest),
    file("arrays of a run", "x.npz", RUN, lambda path: unpack_arrays(path.read_bytes(), str(path)), mutant),
    file("session", f"x{SUFFIX}", SESSION, session_read, changed_json),
    *(
        file(f"session in {kind}", f"x.{kind.lower()}", wrap(LETTERS), session_read, holding(wrap))
        for kind, wrap in WRAPPED.items()
    ),
    Target("bundle", lambda folder, chance: bundle(folder, changed_json(SESSION, chance)), session_read, bundle),
    file("document of a figure", "x.json", PROVENANCE, FigureProvenance.read, changed_json),
    file(
        "setting of a curve",
        "x.txt",
        SETTING,
        lambda path: Setting.from_text(path.read_text(errors="surrogateescape")),
        changed_json,
        allowed=(),
    ),
    file("image as text", "x.txt", IMAGE, read_image_text, changed_text),
    file("scheduler", "x.json", SCHEDULER, lambda path: _address_in(str(path)), changed_json, allowed=(ClusterError,)),
]

# Settings ------------------------------------------------------------------------------------------------------------

CHOICE = json.dumps({"reading": {"label_column": "1", "header": None, "shape": [4, 4]}, "held_out": {"share": 0.2}})
RECENT = json.dumps([["/tmp/a.csv"], ["/tmp/b.csv", "c"]])


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def ini(choice: str = CHOICE, recent: str = RECENT) -> bytes:
    text = f"""[General]
theme=dark
panel_folded=true
place=@ByteArray(abc)
[recent]
files={quoted(recent)}
[files]
1-{EMPTY}={quoted(choice)}
[cluster]
workers=2
scheduler=""
[folder]
open=/tmp
export=/tmp
[export]
width=double
format=pdf
"""
    return text.encode(errors="replace")


EMPTY = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"  # the SHA-256 of x
VARIANTS = (
    "@Invalid()", "@Variant(\\0\\0\\0\\x7f\\0)", "@ByteArray()", "@Point(1 2)", "@Size(9 9)", "1, 2, 3", "@Rect(a)",
    "@String(x)", "@@x", "", "\\x0", "maybe", '"', "@Variant(\\0\\0\\0\\x9\\xff\\xff\\xff\\xff)", "9" * 5000, "-1",
    "@ByteArray(\\x1\\xd9\\xd0\\xcb\\0\\x3\\0\\0\\xff\\xff\\xff\\xff\\x7f\\xff\\xff\\xff)",
)  # fmt: skip


def changed_settings(seed: bytes, chance: Chance) -> bytes:
    kind = chance.randrange(4)
    if kind == 0:
        return mutant(seed, chance)
    if kind == 1:
        return ini(choice=changed_json(CHOICE.encode(), chance).decode(errors="replace"))
    if kind == 2:
        return ini(recent=changed_json(RECENT.encode(), chance).decode(errors="replace"))
    odd = chance.choice(VARIANTS)
    lines = seed.decode().splitlines()
    at = chance.choice([number for number, line in enumerate(lines) if "=" in line])
    lines[at] = f"{lines[at].partition('=')[0]}={odd}"
    return "\n".join(lines).encode()


def settings_read(path: Path) -> None:
    """Read every setting as the window does when it starts."""
    from PySide6.QtCore import QSettings

    from slide_gui.gui.state.cluster import _stored
    from slide_gui.gui.state.files import FileChoices, RecentFiles
    from slide_gui.gui.theme import stored_theme

    settings = QSettings(str(path), QSettings.Format.IniFormat)
    assert stored_theme(settings) in ("light", "dark", "system")
    settings.value("panel_folded", False, bool)
    _stored(settings)
    recent = RecentFiles(settings)
    assert len(recent.folders) <= 10
    for opening in recent.openings:
        assert len(opening.name) < 10_000
        assert "\0" not in opening.why_not
    (path.parent / "one").write_bytes(b"x")
    FileChoices(settings).recall(DataSource(paths=(str(path.parent / "one"),)))


def settings_target() -> Target:
    number = count()  # new file names, because Qt caches settings by the name of their file

    def place(folder: Path) -> Path:
        return folder / f"{next(number)}.ini"

    return Target(
        "settings",
        lambda folder, chance: write(place(folder), changed_settings(ini(), chance)),
        settings_read,
        lambda folder: write(place(folder), ini()),
        (),
        share=0.5,
    )


# Stores, and rows that are read on demand ----------------------------------------------------------------------------


@lru_cache(maxsize=8)
def stores(folder: Path) -> Path:
    from tests.experiments.damaged_stores import make_stores

    shutil.rmtree(folder / "whole", ignore_errors=True)
    return make_stores(folder / "whole")


def store_used(path: Path) -> None:
    """Read a store as the window and the commands do, then write to it; no undamaged run may be lost."""
    from slide_gui.experiments.store.store import RunStore
    from tests.experiments.damaged_stores import FIRST, RESULTS, reading, whole_runs

    refusals: list[DataError] = []

    def attempt(action: Callable[[], object], *ignored: type[Exception]) -> None:
        try:
            action()
        except DataError as error:
            refusals.append(error)
        except ignored:
            pass

    def save_intact() -> None:
        with RunStore(path, read_only=True) as store:
            store.save_intact(saved)
        assert before <= whole_runs(saved), "an undamaged run is not saved"

    def change(how: Callable[[RunStore], object]) -> None:
        with RunStore(path) as store:
            how(store)

    attempt(lambda: [attempt(read, KeyError) for read in reading(path)])
    before, saved = whole_runs(path), path.parent / "saved.sqlite"
    attempt(save_intact)
    attempt(lambda: change(lambda store: store.save(RESULTS[5])))
    attempt(lambda: change(lambda store: store.tag(FIRST.spec.hash, ["x"])))
    attempt(lambda: change(lambda store: store.delete([FIRST.spec.hash])))
    assert before <= whole_runs(path), "an undamaged run is lost"
    if refusals:
        raise refusals[-1]


def store_target(kind: str) -> Target:
    def damage(folder: Path, chance: Chance | None = None) -> Path:
        from tests.experiments.damaged_stores import KINDS, copied

        name, change = KINDS[kind] if chance else ("closed", None)
        path = copied(stores(folder), name, folder / "store")
        if change is not None:
            change(path, chance)
        return path

    return Target(f"store: {kind}", damage, store_used, damage, share=0.05)


STORE_KINDS = ("bytes", "bytes under a log", "page", "log", "value", "document", "arrays", "schema")
TARGETS = (*DATA, *DOCUMENTS, settings_target(), *map(store_target, STORE_KINDS))


def target(name: str) -> Target:
    """Return the target with this name."""
    return next(each for each in TARGETS if each.name == name)
