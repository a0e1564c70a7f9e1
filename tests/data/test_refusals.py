"""Files that are damaged, hostile or of another kind end in one sentence that names them."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import struct
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from PIL import Image

from slide_gui.data import catalogue, limits
from slide_gui.data.dataset import Dataset
from slide_gui.data.entries import RemoteFile
from slide_gui.data.errors import DataError
from slide_gui.data.generators import rectangles_images
from slide_gui.data.generators.rectangles import _draw_pairs
from slide_gui.data.open import open_data
from slide_gui.data.readers import archives, images, tables
from slide_gui.data.readers.amat import read_amat, read_amat_zip
from slide_gui.data.readers.archives import zip_members
from slide_gui.data.readers.arrays import read_array, read_npy, read_npz
from slide_gui.data.readers.csv import read_csv
from slide_gui.data.readers.idx import read_idx
from slide_gui.data.readers.images import read_image, read_image_folder
from slide_gui.data.readers.matlab import read_mat
from tests.data.writers import amat_text, write_amat, write_idx, write_zip


def test_that_an_archive_without_amat_files_or_with_too_many_members_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_zip(tmp_path / "x.zip", {"a.txt": "1", "b.txt": "2"})
    with pytest.raises(DataError, match=r"contains no \.amat file"):
        read_amat_zip(path)
    monkeypatch.setattr(archives, "_MOST_MEMBERS", 2)
    assert len(zip_members(path)) == 2
    write_zip(path, {"a.txt": "1", "b.txt": "2", ".hidden": "3"})
    with pytest.raises(DataError, match="has 3 members, expected at most 2"):
        zip_members(path)


def test_that_hidden_members_and_folders_are_passed_over(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "x.zip", {"a/": "", "__MACOSX/_a.amat": "1", "a/.b.amat": "1", "a/c.amat": "1"})
    assert [member.filename for member in zip_members(path)] == ["a/c.amat"]


def _edited(path: Path, at: int, value: int) -> Path:
    """Change a 16-bit entry of the only member, in its own header and in the directory."""
    content = bytearray(path.read_bytes())
    content[at : at + 2] = struct.pack("<H", value)
    directory = content.rindex(b"PK\x01\x02")
    content[directory + at + 2 : directory + at + 4] = struct.pack("<H", value)
    path.write_bytes(content)
    return path


def test_that_encrypted_and_oddly_packed_members_are_refused(tmp_path: Path) -> None:
    text = amat_text(np.eye(16), np.arange(16))
    with pytest.raises(DataError, match=r"x_train\.amat: is encrypted; extract it first"):
        read_amat_zip(_edited(write_zip(tmp_path / "a.zip", {"x_train.amat": text}), 6, 1))
    with zipfile.ZipFile(tmp_path / "b.zip", "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("x_train.amat", text)
    with pytest.raises(DataError, match="unsupported compression"):
        read_amat_zip(tmp_path / "b.zip")


def test_that_a_zip_behind_something_else_is_refused(tmp_path: Path) -> None:
    whole = write_zip(tmp_path / "x.zip", {"a.amat": amat_text(np.eye(16), np.arange(16))})
    whole.write_bytes(b"something" + whole.read_bytes())
    with pytest.raises(DataError, match="a zip file with other content before the archive"):
        open_data([whole])


def test_that_a_folder_beside_files_is_refused(tmp_path: Path) -> None:
    path = write_amat(tmp_path / "a.amat", np.eye(16), np.arange(16))
    (tmp_path / "more").mkdir()
    with pytest.raises(DataError, match="is a folder; open it without other files"):
        open_data([path, tmp_path / "more"])


def test_that_idx_files_of_the_same_part_or_with_more_axes_are_refused(tmp_path: Path) -> None:
    pictures, labels = np.zeros((2, 8, 8), np.uint8), np.zeros(2, np.uint8)
    first, second = write_idx(tmp_path / "train-a", pictures), write_idx(tmp_path / "train-b", pictures)
    own, other = write_idx(tmp_path / "train-c", labels), write_idx(tmp_path / "train-d", labels)
    with pytest.raises(DataError, match="train-b: is a second training set besides train-a"):
        open_data([first, second, own])
    with pytest.raises(DataError, match="train-d: is a second training set besides train-c"):
        open_data([first, own, other])
    colours = write_idx(tmp_path / "train-e", np.zeros((2, 8, 8, 3), np.uint8))
    with pytest.raises(DataError, match="has 4 axes, expected grey images of shape n × rows × columns"):
        open_data([colours])
    one = write_idx(tmp_path / "train-f", np.arange(128, dtype=np.uint8).reshape(2, 8, 8, 1))
    assert open_data([one]).image_shape == (8, 8)


def test_that_a_member_shorter_or_longer_than_its_header_says_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(12.0).reshape(3, 4))
    content = (tmp_path / "x.npy").read_bytes()
    for wrong, said in (
        (content[:-8], "but 88 follow; it is truncated"),
        (content + b"more", "but more follow; it is damaged"),
    ):
        (tmp_path / "y.npy").write_bytes(wrong)
        with (tmp_path / "y.npy").open("rb") as stream, pytest.raises(DataError, match=said):
            read_array(stream, len(content), "y")
    with pytest.raises(DataError, match="but 88 follow; it is truncated or damaged"):
        read_npz(write_zip(tmp_path / "z.npz", {"X.npy": content[:-8]}))


def test_that_a_line_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_LONGEST_LINE", 1000)
    monkeypatch.setattr(tables, "_BLOCK", 400)
    good = " ".join(["0.5"] * 240) + " 1"  # 962 characters
    (tmp_path / "a.amat").write_text(f"# a line before\n{good}\n{good}\n")
    assert read_amat(tmp_path / "a.amat").rows.shape == (2, 240)
    (tmp_path / "a.amat").write_text("# a line before\n" + "1 " * 2000)
    with pytest.raises(DataError, match="line 2 is longer than"):
        read_amat(tmp_path / "a.amat")


def _mat(tmp_path: Path, packed: bool = False) -> tuple[Path, bytes]:
    path = tmp_path / "x.mat"
    scipy.io.savemat(path, {"X": np.arange(45.0).reshape(5, 9)}, do_compression=packed)
    return path, path.read_bytes()


def _refused(path: Path, content: bytes, said: str) -> None:
    path.write_bytes(content)
    with pytest.raises(DataError, match=said):
        read_mat(path)


def test_that_matlab_files_damaged_at_any_level_are_refused(tmp_path: Path) -> None:
    path, content = _mat(tmp_path)
    (kind, n_bytes), body = struct.unpack_from("<II", content, 128), content[136:]
    assert kind == 14
    _refused(path, content + b"\0\0\0\0", "ends within an element")
    _refused(path, content[:128] + struct.pack("<II", 3, n_bytes) + body, "element of unknown type 3")
    _refused(path, content[:-1], "claims .* bytes, but the file holds only")
    _refused(path, content + struct.pack("<II", 14, 0), "damaged")
    shape = content.index(struct.pack("<ii", 5, 9))
    _refused(path, content[:shape] + struct.pack("<ii", -5, 9) + content[shape + 8 :], "damaged")
    _refused(path, content[:shape] + struct.pack("<ii", 5, 8) + content[shape + 8 :], "does not hold the 40 numbers")


def test_that_packed_matlab_arrays_damaged_inside_are_refused(tmp_path: Path) -> None:
    path, content = _mat(tmp_path, packed=True)
    inner = zlib.decompress(content[136:])

    def repacked(inside: bytes, cut: int | None = None) -> bytes:
        body = zlib.compress(inside)[:cut]
        return content[:128] + struct.pack("<II", 15, len(body)) + body

    path.write_bytes(repacked(inner))
    assert read_mat(path)[0].rows.shape == (5, 9)
    _refused(path, repacked(inner[:6]), "a truncated compressed array")
    _refused(path, repacked(struct.pack("<I", 9) + inner[4:]), "damaged")
    _refused(path, content[:140] + b"\xff\xff" + content[142:], "damaged compressed array")
    _refused(path, repacked(inner[:48]), "damaged|ends before its numbers")
    _refused(path, repacked(inner[:-40]), "does not hold the 45 numbers")


def test_that_matlab_files_of_the_other_byte_order_are_read(tmp_path: Path) -> None:
    def element(kind: int, content: bytes) -> bytes:
        return struct.pack(">II", kind, len(content)) + content + b"\0" * (-len(content) % 8)

    numbers = np.arange(45.0).reshape(5, 9)
    inner = element(6, struct.pack(">II", 6, 0)) + element(5, struct.pack(">ii", 5, 9)) + element(1, b"X")
    inner += element(9, numbers.astype(">f8").tobytes(order="F"))
    header = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x01\x00MI"
    (tmp_path / "x.mat").write_bytes(header + element(14, inner))
    np.testing.assert_array_equal(read_mat(tmp_path / "x.mat")[0].rows, numbers)


def _pictures(folder: Path, names: dict[str, tuple[int, ...]]) -> Path:
    for name, shape in names.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.zeros(shape, np.uint8)).save(folder / name)
    return folder


def test_that_a_folder_named_train_alone_holds_the_classes(tmp_path: Path) -> None:
    (part,) = read_image_folder(_pictures(tmp_path, {"training/a/0.png": (4, 4), "training/b/0.png": (4, 4)}))
    assert part.label_names == ("a", "b")
    assert part.labels is not None
    assert part.labels.tolist() == [0, 1]


def test_that_pictures_of_another_size_or_too_large_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _pictures(tmp_path, {"a/0.png": (4, 6), "a/1.png": (4, 5)})
    with pytest.raises(DataError, match=r"1\.png: has 5 × 4 pixels, expected 6 × 4 like the others"):
        read_image_folder(tmp_path)
    assert read_image(tmp_path / "a/0.png", 24).shape == (4, 6)
    with pytest.raises(DataError, match="has 6 × 4 pixels, expected at most 23; make it smaller"):
        read_image(tmp_path / "a/0.png", 23)
    asked: list[int] = []
    monkeypatch.setattr(images, "check_memory", lambda n_bytes, _place: asked.append(n_bytes))
    read_image_folder(_pictures(tmp_path / "more", {"a/0.png": (4, 6), "a/1.png": (4, 6), "b/0.png": (4, 6)}))
    assert asked == [4 * 3 * 24]


def test_that_grey_levels_of_16_bits_go_to_one(tmp_path: Path) -> None:
    Image.fromarray(np.array([[0, 65535], [32768, 13107]], np.uint16)).save(tmp_path / "a.png")
    np.testing.assert_allclose(read_image(tmp_path / "a.png"), [[0, 1], [32768 / 65535, 0.2]], rtol=1e-6)


def test_that_plain_photographs_are_refused_and_small_ones_left_out(tmp_path: Path) -> None:
    _pictures(tmp_path, {"plain.png": (40, 40)})
    with pytest.raises(DataError, match="hardly any patches with contrast"):
        rectangles_images(3, 3, photographs=tmp_path)
    _pictures(tmp_path / "small", {"a.png": (27, 200)})
    with pytest.raises(DataError, match="no pictures of at least 28 × 28"):
        rectangles_images(3, 3, photographs=tmp_path / "small")


def test_that_patches_come_from_every_place_flipped_both_ways() -> None:
    down, across = np.mgrid[:29, :30].astype(np.float32)
    layer = down / 40 + across / 4000  # rises downwards, and a little to the right
    patches = _draw_pairs(200, [layer], np.random.default_rng(0)).reshape(400, 28, 28)
    downwards, rightwards = patches[:, 1, 0] > patches[:, 0, 0], patches[:, 0, 1] > patches[:, 0, 0]
    kinds = {(bool(a), bool(b)) for a, b in zip(downwards, rightwards, strict=True)}
    assert kinds == {(a, b) for a in (False, True) for b in (False, True)}
    upright = patches[downwards & rightwards]
    corners = {(round(float(p[0, 0]) * 40), round((float(p[0, 0]) * 40) % 1 * 100)) for p in upright}
    assert corners == {(y, x) for y in (0, 1) for x in (0, 1, 2)}  # all 2 × 3 places of a patch


def test_that_a_file_whose_content_grows_without_end_is_none_of_the_catalogue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = b"0" * 5000
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(content))
    file = RemoteFile("x.gz", ("md5:0",), f"sha1:{hashlib.sha1(content).hexdigest()}")
    assert catalogue.matches(path, file)
    monkeypatch.setattr(catalogue, "_LARGEST", 4999)
    assert not catalogue.matches(path, file)
    path.write_bytes(b"no gzip")
    assert not catalogue.matches(path, file)
    assert catalogue.matches(path, RemoteFile("x.gz", (f"md5:{hashlib.md5(b'no gzip').hexdigest()}",)))


def test_that_fingerprints_tell_shapes_of_the_same_bytes_apart() -> None:
    def fingerprint(rows: int, columns: int) -> str:
        return Dataset("a", np.ones((rows, columns), np.float32), np.ones((0, columns), np.float32)).fingerprint

    assert len({fingerprint(2, 6), fingerprint(3, 4), fingerprint(4, 3)}) == 3


def test_that_every_reader_asks_for_memory_before_it_takes_any(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.eye(40)
    np.save(tmp_path / "a.npy", rows)
    np.savez(tmp_path / "a.npz", X=rows, y=np.arange(40))
    np.savez_compressed(tmp_path / "b.npz", X=rows)
    scipy.io.savemat(tmp_path / "a.mat", {"X": rows})
    write_idx(tmp_path / "a.idx", rows)
    write_amat(tmp_path / "a.amat", rows, np.arange(40))
    write_zip(tmp_path / "a.zip", {"a.amat": amat_text(rows, np.arange(40))})
    (tmp_path / "a.csv").write_text("\n".join(",".join(map(str, row)) for row in rows) + "\n")
    readers: dict[str, Callable[[Path], object]] = {
        "a.npy": read_npy, "a.npz": read_npz, "b.npz": read_npz, "a.mat": read_mat,
        "a.idx": read_idx, "a.amat": read_amat, "a.zip": read_amat_zip, "a.csv": read_csv,
    }  # fmt: skip
    for name, read in readers.items():
        read(tmp_path / name)
    monkeypatch.setattr(limits, "memory_limit", lambda: 5000)
    for name, read in readers.items():
        with pytest.raises(DataError, match="this machine can spare"):
            read(tmp_path / name)


def test_that_no_reader_takes_much_more_than_the_numbers_need(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).integers(0, 2, (2000, 99)).astype(float)
    path = write_amat(tmp_path / "a.amat", rows, np.arange(2000))  # 3.2 MB of text, 0.8 MB of numbers
    tracemalloc.start()
    read_amat(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3e6


@pytest.mark.parametrize(
    "shape", ["(0x" + "f" * 6000 + ", 3)", "(-0x" + "f" * 6000 + ",)", "(9223372036854775808,)", "(5, True, 2)"]
)
def test_that_a_shape_too_long_to_be_said_or_not_of_numbers_is_refused(tmp_path: Path, shape: str) -> None:
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    (tmp_path / "x.npy").write_bytes(b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header + bytes(80))
    with pytest.raises(DataError, match="no readable NumPy header"):
        open_data([tmp_path / "x.npy"])


def peak(read: Callable[[Path], object], path: Path) -> int:
    """Return the most memory that refusing a file took."""
    tracemalloc.start()
    with pytest.raises(DataError):
        read(path)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


def test_that_a_numpy_header_that_claims_gigabytes_is_given_none(tmp_path: Path) -> None:
    (tmp_path / "x.npy").write_bytes(b"\x93NUMPY\x02\0" + struct.pack("<I", 3 << 30) + bytes(200))
    assert peak(read_npy, tmp_path / "x.npy") < 1 << 20


def test_that_a_picture_whose_chunk_claims_gigabytes_is_given_none(tmp_path: Path) -> None:
    path = tmp_path / "x.png"
    Image.new("L", (4, 4)).save(path)
    read_image(path)  # what is imported late is there
    content = path.read_bytes()
    at = content.index(b"IDAT") - 4
    path.write_bytes(content[:at] + struct.pack(">I", (1 << 31) - 1) + content[at + 4 :])
    tracemalloc.start()
    with contextlib.suppress(DataError):  # its pixels are whole
        read_image(path)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 4 << 20


def test_that_what_a_file_says_at_length_is_quoted_shortly(tmp_path: Path) -> None:
    said = str(DataError(f"holds {'x' * 10**6}; leave it out", str(tmp_path)))
    assert said.startswith(f"{tmp_path}: holds xxx")
    assert said.endswith("xxx; leave it out")
    assert len(said) < 2000
