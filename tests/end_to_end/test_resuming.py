"""A sweep whose process is killed goes on where it was."""

import os
import signal

import pytest

from tests.end_to_end.program import until
from tests.end_to_end.run_pages import begin_sweep, store_of, stored

pytestmark = pytest.mark.display


def test_that_a_killed_sweep_goes_on_where_it_was(start, outlines, tmp_path):
    program = start(outlines, home=tmp_path / "home")
    begin_sweep(program)
    before = until(lambda: len(runs := stored(program)) >= 3 and runs, "three points", 60)
    os.kill(program.process.pid, signal.SIGKILL)
    program.process.wait(10)
    before = stored(program)  # a point may have been finished meanwhile
    files = {name: (store_of(program).with_name("runs.sqlite.arrays") / name).stat() for *_, name, _, _ in before}
    orphan = store_of(program).with_name("runs.sqlite.arrays") / f"{'0' * 16}-{'1' * 16}.npz.part"
    orphan.write_bytes(b"as a kill in mid-write leaves it")

    again = start(outlines, home=tmp_path / "home")
    begin_sweep(again)
    after = until(lambda: len(runs := stored(again)) >= len(before) + 2 and runs, "two points more", 60)
    assert after[: len(before)] == before  # hash, date and file of each: none was run again
    assert len({key for key, *_ in after}) == len(after)
    for name, stat in files.items():
        now = (store_of(again).with_name("runs.sqlite.arrays") / name).stat()
        assert (now.st_ino, now.st_mtime_ns) == (stat.st_ino, stat.st_mtime_ns)
    again.key("ctrl+q")
    assert again.wait_end() == (0, "", "")
    folder = store_of(again).with_name("runs.sqlite.arrays")
    assert sorted(os.listdir(folder)) == sorted(name for _, _, name, _, _ in stored(again))
