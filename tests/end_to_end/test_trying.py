"""A person's own table in one minute: opened, tried by its keys, answered, and kept."""

import numpy as np
import pytest

from tests.end_to_end.program import until
from tests.end_to_end.run_pages import stored

pytestmark = pytest.mark.display


def test_that_a_table_of_names_is_tried_by_its_keys_and_judged_on_the_rows_held_out(start, tmp_path):
    random, lines = np.random.default_rng(0), ["a,b,c,d,kind"]
    for number in range(24):
        row = random.normal(size=4) + 2.0 * np.eye(4)[number % 2]
        lines.append(",".join([*(f"{value:.3f}" for value in row), ("low", "high")[number % 2]]))
    (tmp_path / "plants.csv").write_text("\n".join(lines) + "\n")
    program = start(tmp_path / "plants.csv")
    until(lambda: program.title.startswith("plants"), "the data")
    program.still()
    program.key("ctrl+shift+t")

    def judged() -> list[tuple[str, int]]:
        return [(training, n) for training, n, part in stored(program, "training, n_test, evaluate") if part == "test"]

    assert set(until(lambda: judged() or None, "what was chosen, judged", 120)) == {("whole", 6)}
    program.still()
    program.quit()
