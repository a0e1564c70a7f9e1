"""Files that are written: whole or not at all, of the usual permissions, and refusals name what was asked for."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

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
    "any": lambda path: write_whole(path, lambda file: file.write(b"new")),
    "model": lambda path: save_model(path, MODEL),
    "pdf": lambda path: save_figure(lambda figure: figure.text(0, 0, "x"), path.with_suffix(".pdf"), Style()),
    "svg": lambda path: save_figure(lambda figure: figure.text(0, 0, "x"), path.with_suffix(".svg"), Style()),
    "png": lambda path: save_figure(lambda figure: figure.text(0, 0, "x"), path.with_suffix(".png"), Style()),
    "csv": lambda path: save_table(path, ["a"], [[1]]),
    "text": lambda path: save_text(path, "text"),
    "export": lambda path: save_export(path.with_suffix(".csv"), SHEET, Style()),
    "bundle": lambda path: save_bundle(path.parent, SHEET, Style()),
}


@pytest.fixture
def mask() -> Iterator[Callable[[int], None]]:
    before = os.umask(0o22)
    yield lambda wanted: os.umask(wanted) and None
    os.umask(before)


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
@pytest.mark.parametrize(("umask", "expected"), [(0o022, 0o644), (0o077, 0o600), (0o027, 0o640)])
@pytest.mark.parametrize("writer", WRITERS)
def test_that_what_is_exported_gets_the_permissions_of_any_new_file(
    writer: str, umask: int, expected: int, tmp_path: Path, mask: Callable[[int], None]
) -> None:
    mask(umask)
    WRITERS[writer](tmp_path / "new" / "out")
    written = list((tmp_path / "new").iterdir())
    assert written
    assert {stat.S_IMODE(path.stat().st_mode) for path in written} == {expected}


@pytest.mark.parametrize("writer", [name for name in WRITERS if name != "bundle"])
@pytest.mark.parametrize("what", ["full disk", "folder", "file above"])
def test_that_a_refusal_names_the_target_and_leaves_nothing_else(
    writer: str, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    suffixes = ("", ".pdf", ".svg", ".png", ".csv")
    names = {str(tmp_path / f"out{suffix}") for suffix in suffixes}
    target = tmp_path / "out"
    if what == "full disk":
        monkeypatch.setattr(os, "fsync", full)
    elif what == "folder":
        for name in names:
            os.mkdir(name)
    else:
        (tmp_path / "above").write_text("")
        target, names = tmp_path / "above" / "out", {str(tmp_path / "above")}
        names |= {str(target.with_suffix(suffix)) for suffix in suffixes}
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(OSError, match=r"No space|is there already|exists|[Nn]ot a directory") as caught:
        WRITERS[writer](target)
    assert str(caught.value.filename) in names
    assert ".part" not in str(caught.value)
    assert sorted(tmp_path.rglob("*")) == before


def test_that_a_failed_write_leaves_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "out").write_bytes(b"old")

    def fail(file: object) -> None:
        file.write(b"ne")  # type: ignore[attr-defined]
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        write_whole(tmp_path / "out", fail)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out").read_bytes() == b"old"


def test_that_all_of_it_is_on_the_disk_before_it_gets_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[int, list[str]]] = []
    monkeypatch.setattr(
        os,
        "fsync",
        lambda handle: told.append((os.fstat(handle).st_size, [each.suffix for each in tmp_path.iterdir()])),
    )
    write_whole(tmp_path / "out.txt", lambda file: file.write(b"new"))
    assert told == [(3, [".part"])]


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_that_a_file_that_is_replaced_keeps_its_permissions(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old")
    path.chmod(mode)
    write_whole(path, lambda file: file.write(b"new"))
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"new", mode)


@pytest.mark.skipif(os.name == "nt", reason="symbolic links of POSIX")
@pytest.mark.parametrize("there", [False, True])
def test_that_a_symbolic_link_stays_and_its_file_is_written(tmp_path: Path, there: bool) -> None:
    target, link = tmp_path / "elsewhere" / "target", tmp_path / "link"
    target.parent.mkdir()
    if there:
        target.write_bytes(b"old")
        target.chmod(0o600)
    link.symlink_to("elsewhere/target")
    write_whole(link, lambda file: file.write(b"new"))
    assert os.readlink(link) == "elsewhere/target"
    assert target.read_bytes() == b"new"
    if there:
        assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert [path.name for path in target.parent.iterdir()] == ["target"]


@pytest.mark.skipif(os.name == "nt", reason="symbolic links of POSIX")
def test_that_a_folder_broken_off_while_it_was_filled_is_filled_again_but_a_link_in_it_is_not_followed(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "new"
    with suppress(KeyError), folder_files(folder, ["a", "b"]):
        (folder / "a").write_bytes(b"half")
        raise KeyError
    (folder / ".0123456789abcdef.part").write_bytes(b"half")
    with folder_files(folder, ["a", "b"]):
        (folder / "a").write_bytes(b"whole")
        (folder / "b").write_bytes(b"whole")
    (tmp_path / "mine").write_bytes(b"whole")
    (folder / "b").unlink()
    (folder / "b").symlink_to(tmp_path / "mine")
    with pytest.raises(DataError, match="was changed since"), folder_files(folder, ["a", "b"]):
        pass


def test_that_a_folder_with_nothing_but_a_broken_start_counts_as_empty(tmp_path: Path) -> None:
    (tmp_path / ".0123456789abcdef.part").write_bytes(b"half")
    assert check_folder(tmp_path) == {}
    (tmp_path / "mine").write_bytes(b"x")
    with pytest.raises(DataError, match="contains files that slide-gui did not write"):
        check_folder(tmp_path)
    with pytest.raises(DataError, match="is a file"):
        check_folder(tmp_path / "mine")


PARTS = [f".{number:016x}.part" for number in range(3)]


def leave_behind(folder: Path) -> None:
    """Write what processes leave that are killed while they write, and what only looks so."""
    for name in PARTS:
        (folder / name).write_bytes(b"half")
    for name in ("a.part", ".1.part", ".0123456789abcdef.PART"):
        (folder / name).write_bytes(b"a person's")


@pytest.mark.skipif(os.name == "nt", reason="whose a file is cannot be told")
def test_that_what_a_killed_process_left_goes_with_the_next_file(tmp_path: Path) -> None:
    leave_behind(tmp_path)
    write_whole(tmp_path / "out", lambda file: file.write(b"new"))
    assert {path.name for path in tmp_path.iterdir()} == {"out", "a.part", ".1.part", ".0123456789abcdef.PART"}


@pytest.mark.skipif(os.name == "nt", reason="whose a file is cannot be told")
def test_that_a_file_being_written_is_not_swept(tmp_path: Path) -> None:
    def slowly(file: object) -> None:
        leave_behind(tmp_path)
        file.write(b"fir")  # type: ignore[attr-defined]
        write_whole(tmp_path / "second", lambda other: other.write(b"second"))
        file.write(b"st")  # type: ignore[attr-defined]
        assert not {path.name for path in tmp_path.iterdir()} & set(PARTS)

    write_whole(tmp_path / "first", slowly)
    assert (tmp_path / "first").read_bytes() == b"first"
    assert (tmp_path / "second").read_bytes() == b"second"


@pytest.mark.skipif(os.name == "nt", reason="whose a file is cannot be told")
def test_that_a_file_swept_before_it_was_locked_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    lock, swept = fcntl.flock, list[Path]()

    def sweep_first(handle: int, how: int) -> None:
        if not swept:
            swept.extend(tmp_path.glob(".*.part"))
            swept[0].unlink()
        lock(handle, how)

    monkeypatch.setattr(fcntl, "flock", sweep_first)
    write_whole(tmp_path / "out", lambda file: file.write(b"new"))
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert len(swept) == 1


def test_that_the_longest_name_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 255)
    write_whole(path, lambda file: file.write(b"new"))
    assert path.read_bytes() == b"new"


def test_that_an_error_of_another_file_keeps_its_name(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        write_whole(tmp_path / "out", lambda _: (tmp_path / "absent").read_bytes())
    assert caught.value.filename == str(tmp_path / "absent")


@pytest.mark.parametrize(
    "words",
    [
        ["fit", "tiny.npz", "--depth", "1", "-o", "there"],
        ["weights", "tiny.npz", "--depth", "1", "-o", "there.pdf"],
        ["train", "tiny.npz", "--depth", "1", "-C", "1", "--widths", "median", "--figure", "confusion.csv"],
        ["train", "tiny.npz", "--depth", "1", "-C", "1", "--widths", "median", "-o", "there"],
    ],
)
def test_that_a_command_names_the_file_that_it_cannot_write(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    tiny = rectangles(40, 30)
    images = {"X_train": tiny.train.reshape(-1, 8, 8), "X_test": tiny.test.reshape(-1, 8, 8)}
    np.savez("tiny.npz", y_train=tiny.train_labels, y_test=tiny.test_labels, **images)
    os.mkdir(words[-1])
    assert main(words) == 1
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith(f"slide-gui: {words[-1]}: ")
    assert ".part" not in said


def test_that_a_store_that_cannot_grow_names_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    tiny = rectangles(40, 30)
    np.savez("tiny.npz", X_train=tiny.train.reshape(-1, 8, 8), y_train=tiny.train_labels,
             X_test=tiny.test.reshape(-1, 8, 8), y_test=tiny.test_labels)  # fmt: skip

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    words = ["train", "tiny.npz", "--depth", "1", "-C", "1", "--widths", "median", "-o", "runs.sqlite"]
    assert main(words) == 1
    said = capsys.readouterr().err.splitlines()[-1]
    assert said == "slide-gui: runs.sqlite: the run cannot be saved (No space left on device)"
    assert os.listdir("runs.sqlite.arrays") == []
