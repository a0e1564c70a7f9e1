"""Files are written completely or not at all, with the usual permissions; refusals name the requested file."""

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

import pytest

from slide_gui.data import files
from slide_gui.data.errors import DataError
from slide_gui.data.files import check_folder, check_outputs, folder_files, unused, write_whole
from slide_gui.experiments.store.store import RunStore
from tests.faults import faults

POSIX = pytest.mark.skipif(os.name == "nt", reason="permissions, links and locks of POSIX")


def names(folder):
    return set(os.listdir(folder))


def write(path):
    write_whole(path, lambda file: file.write(b"new"))


@POSIX
@pytest.mark.parametrize(("umask", "expected"), [(0o022, 0o644), (0o077, 0o600), (0o027, 0o640)])
def test_that_a_new_file_has_the_permissions_of_the_process(umask, expected, tmp_path):
    before = os.umask(umask)
    try:
        write(tmp_path / "new" / "out")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new" / "out").stat().st_mode) == expected


def test_that_a_refusal_names_the_target_and_leaves_no_other_file_and_an_unused_name_has_a_number(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    before = sorted(tmp_path.rglob("*"))
    for target, named in (("folder", "folder"), ("file/out", "file")):
        with pytest.raises(OSError, match=r"exists|[Nn]ot a directory") as refusal:
            write(tmp_path / target)
        assert refusal.value.filename in (str(tmp_path / target), str(tmp_path / named))
    assert sorted(tmp_path.rglob("*")) == before
    (tmp_path / "file 2").touch()
    assert [unused(tmp_path / name).name for name in ("file", "folder", "new.csv")] == ["file 3", "folder 2", "new.csv"]


def test_that_a_file_is_written_completely_or_not_at_all_without_locks(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_LOCKABLE", False)  # as on Windows
    path = tmp_path / ("x" * 255)  # the longest name
    path.write_bytes(b"old")
    with faults("fsync", 1, errno.ENOSPC), pytest.raises(OSError, match="No space"):
        write(path)
    assert (names(tmp_path), path.read_bytes()) == ({path.name}, b"old")
    write(path)
    assert (names(tmp_path), path.read_bytes()) == ({path.name}, b"new")


@pytest.mark.parametrize("save", [write, RunStore])
def test_that_a_read_only_folder_is_named(save, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda folder, _mode: folder != tmp_path)  # root may write anywhere
    phrase = f"the folder {tmp_path} is read-only"
    with faults("open", 1, errno.EACCES), pytest.raises(OSError, match=phrase) as refusal:
        save(tmp_path / "out")
    assert refusal.value.filename == str(tmp_path / "out")
    with pytest.raises(DataError, match="is read-only; choose another path"):
        check_outputs([tmp_path / "new" / "out"], [])
    (tmp_path / "writable").mkdir()
    check_outputs([tmp_path / "writable"], [])


@POSIX
@pytest.mark.parametrize("mode", [None, 0o600, 0o640, 0o644])
def test_that_a_replaced_file_keeps_its_permissions_and_a_symbolic_link_to_it_remains(tmp_path, mode):
    target, link = tmp_path / "elsewhere" / "target", tmp_path / "link"
    target.parent.mkdir()
    if mode is not None:
        target.write_bytes(b"old")
        target.chmod(mode)
    link.symlink_to("elsewhere/target")
    for path, content in ((link, b"new"), (target, b"newer")):
        write_whole(path, lambda file, content=content: file.write(content))
        assert target.read_bytes() == content
        assert mode is None or stat.S_IMODE(target.stat().st_mode) == mode
    assert os.readlink(link) == "elsewhere/target"
    assert names(target.parent) == {"target"}


@POSIX
def test_that_an_interrupted_folder_is_filled_again_but_a_link_in_it_is_not_followed(tmp_path):
    folder = tmp_path / "new"
    with suppress(KeyError), folder_files(folder, ["a", "b"]):
        (folder / "a").write_bytes(b"half")
        raise KeyError
    assert check_folder(folder) == {"a": "0" * 64, "b": "0" * 64}  # as in earlier versions
    (folder / PARTS[0]).write_bytes(b"half")
    with folder_files(folder, ["a", "b"]):
        (folder / "a").write_bytes(b"complete")
        (folder / "b").write_bytes(b"complete")
    (tmp_path / "mine").write_bytes(b"complete")
    (folder / "b").unlink()
    for name, problem in (("b", "was changed since"), ("c", "was not written by")):
        (folder / name).symlink_to(tmp_path / "mine")
        with pytest.raises(DataError, match=problem), folder_files(folder, ["a", name]):
            pass


def test_that_a_folder_with_only_temporary_files_counts_as_empty(tmp_path):
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
def test_that_temporary_files_of_killed_processes_are_removed_but_not_those_in_use(tmp_path):
    def write_slowly(file):
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
def test_that_a_temporary_file_removed_before_it_was_locked_is_created_again(tmp_path, monkeypatch):
    import fcntl

    lock, removed = fcntl.flock, list[Path]()

    def remove_first(handle, how):
        if not removed:
            removed.extend(tmp_path.glob(".*.part"))
            removed[0].unlink()
        lock(handle, how)

    monkeypatch.setattr(fcntl, "flock", remove_first)
    write(tmp_path / "out")
    assert (names(tmp_path), len(removed)) == ({"out"}, 1)


def test_that_an_error_of_another_file_keeps_its_name(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        write_whole(tmp_path / "out", lambda _: (tmp_path / "absent").read_bytes())
    assert caught.value.filename == str(tmp_path / "absent")
