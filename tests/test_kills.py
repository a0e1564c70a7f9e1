"""A sample of `python -m tests.long_run kills`, and that it would notice what is lost, corrupt or left over."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.kills import Killer, Saves, Sweep, Tell, Work

pytestmark = pytest.mark.skipif(os.name == "nt", reason="processes are forked")


class Careless(Work):
    """Tells three steps before it writes, writes in place, and leaves what it wrote before."""

    name = "careless"

    def do(self, folder: Path, tell: Tell) -> None:
        for number in range(100_000):
            tell(str(number))
            time.sleep(0.001)
            if number >= 3:
                (folder / f"{number - 3}.part").write_text("x")

    def stored(self, folder: Path, told: set[str]) -> tuple[int, int]:
        return len(told - {path.stem for path in folder.glob("*.part")}), 0


class Done(Careless):
    """Is done at once, with another result than it should have."""

    name = "done"

    def do(self, folder: Path, tell: Tell) -> None:
        (folder / "all.part").write_text("x")
        tell("all")

    def different(self, folder: Path) -> int:
        return 1


def test_that_the_killer_notices_what_is_lost_and_left_over(tmp_path: Path) -> None:
    killer = Killer(Careless(), tmp_path, 1, {})
    killer._chance.random = lambda: 1.0  # type: ignore[method-assign]  # it has no fsync or rename to be killed at
    for _ in range(10):
        killer.kill()
    assert killer.counts["kills"] == 10
    assert killer.counts["acknowledged"] > 0
    assert killer.counts["lost"] > 0
    assert killer.counts["left over"] > 0
    assert killer.counts["rounds"] == 0


def test_that_work_that_is_done_is_compared_and_counts_as_no_kill(tmp_path: Path) -> None:
    killer = Killer(Done(), tmp_path, 1, {"kills": 7})
    killer._chance.random = lambda: 0.0  # type: ignore[method-assign]
    killer.kill()
    counts = killer.counts
    assert (counts["kills"], counts["rounds"], counts["different"], counts["lost"]) == (7, 1, 1, 0)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("work", [Saves, Sweep])
def test_that_killed_work_loses_and_damages_nothing_and_leaves_nothing(tmp_path: Path, work: type[Work]) -> None:
    killer = Killer(work(), tmp_path, 1, {})
    while killer.counts["kills"] < 4:
        killer.kill()
    killer.finish()
    counts = killer.counts
    assert (counts["lost"], counts["corrupt"], counts["left over"], counts["different"]) == (0, 0, 0, 0)
    assert counts["acknowledged"] > 0
    assert counts["rounds"] > 0
