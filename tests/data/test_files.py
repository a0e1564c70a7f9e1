"""Files are written completely or not at all, with the usual permissions; refusals name the requested file."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pytest

from slide_gui.cli import main
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.data.errors import DataError
from slide_gui.data.files import check_folder, folder_files, write_whole
from slide_gui.experiments.files.model_file import fit_model, save_model
from slide_gui.figures.evaluation import save_text
from slide_gui.figures.export import FigureExport, save_bundle, save_export, save_figure
from slide_gui.figures.style import Style
from slide_gui.figures.tables import save_table
from tests.experiments.tiny import rectangles

MODEL = fit_model(rectangles(), StackParameters(depth=1))
SHEET = FigureExport(
    "table", None, lambda path: save_table(path, ["a"], [[1]]), lambda _: "words", ("", ""), {"x.json": "{}"}
)
WRITERS: dict[str, Callable[[Path], object]] = {
    "out": lambda path: write_whole(path, lambda file: file.write(b"new")),
    "out.npz": lambda path: save_model(path, MODEL),
    "out.pdf": lambda path: save_figure(lambda figure: figure.text(0, 0, "x"), path, Style()),
    "out.svg": lambda path: save_figure(lambda figure: figure.text(0, 0, "x"), path, Style()),
    "out.png": lambda path: save_figure(lambda figure: figure.text(0, 0, "x"), path, Style()),
    "out.tsv": lambda path: save_table(path, ["a"], [[1]]),
    "out.txt": lambda path: save_text(path, "text"),
    "out.csv": lambda path: save_export(path, SHEET, Style()),
    "bundle": lambda path: save_bundle(path, SHEET, Style()),
}
"""File name → a function that writes it."""

POSIX = pytest.mark.skipif(os.name == "nt", reason="permissions, links and locks of POSIX")


def names(folder: Path) -> set[str]:
    return set(os.listdir(folder))


@POSIX
@pytest.mark.parametrize(("umask", "expected"), [(0o022, 0o644), (0o077, 0o600), (0o027, 0o640)])
@pytest.mark.parametrize("name", WRITERS)
def test_that_files_have_the_permissions_of_any_new_file(name: str, umask: int, expected: int, tmp_path: Path) -> None:
    before = os.umask(umask)
    try:
        WRITERS[name](tmp_path / "new" / name)
    finally:
        os.umask(before)
    written = [path for path in (tmp_path / "new").rglob("*") if path.is_file()]
    assert written
    assert {stat.S_IMODE(path.stat().st_mode) for path in written} == {expected}


@pytest.mark.parametrize("name", [name for name in WRITERS if name != "bundle"])
@pytest.mark.parametrize("obstacle", ["folder", "file above"])
def test_that_a_refusal_names_the_target_and_leaves_no_other_file(name: str, obstacle: str, tmp_path: Path) -> None:
    target = tmp_path / name if obstacle == "folder" else tmp_path / "above" / name
    if obstacle == "folder":
        target.mkdir()
    else:
        target.parent.write_text("")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(OSError, match=r"exists|[Nn]ot a directory") as refusal:
        WRITERS[name](target)
    assert Path(refusal.value.filename) in (target, tmp_path / "above")
    assert ".part" not in str(refusal.value)
    assert sorted(tmp_path.rglob("*")) == before


def test_that_a_file_is_synchronised_before_it_is_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synchronised: list[tuple[int, list[str]]] = []

    def fsync(handle: int) -> None:
        synchronised.append((os.fstat(handle).st_size, [each.suffix for each in tmp_path.iterdir()]))

    monkeypatch.setattr(os, "fsync", fsync)
    write_whole(tmp_path / "out.txt", lambda file: file.write(b"new"))
    assert synchronised == [(3, [".part"])]


@POSIX
@pytest.mark.parametrize("mode", [None, 0o600, 0o640, 0o644])
def test_that_a_replaced_file_keeps_its_permissions_and_a_symbolic_link_to_it_remains(
    tmp_path: Path, mode: int | None
) -> None:
    target, link = tmp_path / "elsewhere" / "target", tmp_path / "link"
    target.parent.mkdir()
    if mode is not None:
        target.write_bytes(b"old")
        target.chmod(mode)
    link.symlink_to("elsewhere/target")
    for path, content in ((link, b"new"), (target, b"newer")):
        write_whole(path, lambda file, content=content: file.write(content))  # type: ignore[misc]
        assert target.read_bytes() == content
        assert mode is None or stat.S_IMODE(target.stat().st_mode) == mode
    assert os.readlink(link) == "elsewhere/target"
    assert names(target.parent) == {"target"}


@POSIX
def test_that_an_interrupted_folder_is_filled_again_but_a_link_in_it_is_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    with suppress(KeyError), folder_files(folder, ["a", "b"]):
        (folder / "a").write_bytes(b"half")
        raise KeyError
    (folder / PARTS[0]).write_bytes(b"half")
    with folder_files(folder, ["a", "b"]):
        (folder / "a").write_bytes(b"complete")
        (folder / "b").write_bytes(b"complete")
    (tmp_path / "mine").write_bytes(b"complete")
    (folder / "b").unlink()
    (folder / "b").symlink_to(tmp_path / "mine")
    with pytest.raises(DataError, match="was changed since"), folder_files(folder, ["a", "b"]):
        pass


def test_that_a_folder_with_only_temporary_files_counts_as_empty(tmp_path: Path) -> None:
    (tmp_path / PARTS[0]).write_bytes(b"half")
    assert check_folder(tmp_path) == {}
    (tmp_path / "mine").write_bytes(b"x")
    with pytest.raises(DataError, match="contains files that slide-gui did not write"):
        check_folder(tmp_path)
    with pytest.raises(DataError, match="is a file"):
        check_folder(tmp_path / "mine")


PARTS = [f".{number:016x}.part" for number in range(3)]
SIMILAR = {"a.part", ".1.part", ".0123456789abcdef.PART"}


@POSIX
def test_that_temporary_files_of_killed_processes_are_removed_but_not_those_in_use(tmp_path: Path) -> None:
    def write_slowly(file: BinaryIO) -> None:
        for name in (*PARTS, *SIMILAR):
            (tmp_path / name).write_bytes(b"half")
        file.write(b"fir")
        write_whole(tmp_path / "second", lambda other: other.write(b"second"))
        file.write(b"st")
        assert not names(tmp_path) & set(PARTS)

    write_whole(tmp_path / "first", write_slowly)
    assert names(tmp_path) == {"first", "second", *SIMILAR}
    assert (tmp_path / "first").read_bytes() == b"first"


@POSIX
def test_that_a_temporary_file_removed_before_it_was_locked_is_created_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    lock, removed = fcntl.flock, list[Path]()

    def remove_first(handle: int, how: int) -> None:
        if not removed:
            removed.extend(tmp_path.glob(".*.part"))
            removed[0].unlink()
        lock(handle, how)

    monkeypatch.setattr(fcntl, "flock", remove_first)
    write_whole(tmp_path / "out", lambda file: file.write(b"new"))
    assert names(tmp_path) == {"out"}
    assert len(removed) == 1


def test_that_the_longest_name_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 255)
    write_whole(path, lambda file: file.write(b"new"))
    assert path.read_bytes() == b"new"


def test_that_an_error_of_another_file_keeps_its_name(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        write_whole(tmp_path / "out", lambda _: (tmp_path / "absent").read_bytes())
    assert caught.value.filename == str(tmp_path / "absent")


TRAINING = ["train", "tiny.npz", "--depth", "1", "-C", "1", "--widths", "median"]


@pytest.mark.parametrize(
    "words",
    [
        ["fit", "tiny.npz", "--depth", "1", "-o", "out"],
        ["weights", "tiny.npz", "--depth", "1", "-o", "out.pdf"],
        [*TRAINING, "--figure", "confusion.csv"],
        [*TRAINING, "-o", "out"],
    ],
)
def test_that_a_command_names_the_file_that_it_cannot_write(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    data = rectangles(40, 30)
    images = {"X_train": data.train.reshape(-1, 8, 8), "X_test": data.test.reshape(-1, 8, 8)}
    np.savez("tiny.npz", y_train=data.train_labels, y_test=data.test_labels, **images)
    os.mkdir(words[-1])
    assert main(words) == 1
    message = capsys.readouterr().err.splitlines()[-1]
    assert message.startswith(f"slide-gui: {words[-1]}: ")
    assert ".part" not in message
