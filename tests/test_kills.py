"""A sample of `python -m tests.long_run kills`, and a test that it finds lost results and temporary files."""

import sys

import pytest

from tests.kills import Killer, Runs, Saves, Work
from tests.savings import serving

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked")


class Careless(Work):
    """Acknowledges each result three results before it is written, and leaves temporary files."""

    name = "careless"

    def do(self, folder, acknowledge):
        for number in range(100_000):
            acknowledge(str(number))
            if number >= 3:
                (folder / f"{number - 3}.part").write_text("x")

    def check(self, folder, acknowledged):
        return len(acknowledged - {path.stem for path in folder.glob("*.part")}), 0

    def different(self, folder):
        return 0


def test_that_lost_results_and_temporary_files_are_found(tmp_path):
    counts = {}
    killer = Killer(Careless(), tmp_path, 1, counts)
    killer._random.random = lambda: 1.0  # no kills before calls, because this work calls neither fsync nor rename
    for _ in range(5):
        killer.kill()
    assert (counts["kills"], counts["rounds"]) == (5, 0)
    assert min(counts["acknowledged"], counts["lost"], counts["left over"]) > 0


@pytest.mark.parametrize("work", [Saves, Runs])
def test_that_killed_work_neither_loses_nor_damages_results_and_leaves_no_temporary_file(tmp_path, work):
    counts = {}
    killer = Killer(work(), tmp_path, 1, counts)
    with serving():
        while counts["kills"] < 4:
            killer.kill()
        killer.finish()
    assert {name: counts[name] for name in ("lost", "corrupt", "left over", "different", "failed")} == {
        "lost": 0, "corrupt": 0, "left over": 0, "different": 0, "failed": 0,
    }  # fmt: skip
    assert min(counts["acknowledged"], counts["rounds"]) > 0
