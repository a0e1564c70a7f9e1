"""`slide-gui benchmark` computes each result once and writes tables."""

import lzma
import shutil
from pathlib import Path

import numpy as np

from slide_gui.experiments.evaluation.shipped import shipped_results
from slide_gui.resources import resource
from tests.experiments.test_shipped import shipping, table_of
from tests.experiments.tiny import rectangles


def test_that_cells_are_filled_once_and_written_in_every_form(cli):
    line = "benchmark rectangles --quick --methods raw-svm randproj-svm --store r.sqlite"
    names = [f"{kind}.{suffix}" for kind in ("errors", "times") for suffix in ("csv", "md", "tex")] + ["errors.svg"]
    first = cli(f"{line} --generated --json --tables", *names).json
    assert {cell["method"]: len(cell["splits"]) for cell in first["cells"]} == {"raw-svm": 1, "randproj-svm": 1}
    assert first["cells"][0]["splits"][0]["n_test"] == 2000
    assert first["data"][0]["generated"]
    assert first["runs"] == first["runs_done"] == 2
    assert all(Path(name).stat().st_size > 100 for name in names)
    assert cli(f"{line} --generated --json").json["cells"] == first["cells"]  # stored, as the times are equal
    assert "Rand Proj-SVM" in cli(f"{line} --stored").out


def test_that_an_empty_store_takes_the_runs_of_a_folder_and_the_folder_alone_shows_the_tables(cli):
    line = "benchmark rectangles --quick --methods raw-svm pca-svm --generated --json --results runs"
    first = cli(f"{line} --store r.sqlite").json
    assert cli(f"{line} --store other.sqlite --workers 2").json["cells"] == first["cells"]
    assert cli("runs list other.sqlite --json").json == []
    assert "no run of the requested tables is stored" in cli("benchmark --quick --stored --store other.sqlite").err
    with Path("runs/rectangles.jsonl").open("ab") as file:
        file.write(b'{"hash"')
    shown = cli("benchmark rectangles --quick --methods raw-svm pca-svm --stored --results runs --json")
    assert shown.json["cells"] == first["cells"]
    assert shown.err.endswith("skipped 1 unreadable line of runs\n")
    assert "elsewhere: this is not a folder" in cli("benchmark --stored --results elsewhere", code=1).err


def test_that_shipped_tables_are_printed_with_their_origin_and_without_a_store(cli):
    shipped = cli("benchmark rectangles mnist --shipped --quick --methods slide-svm raw-svm --json").json
    assert [info["key"] for info in shipped["data"]] == ["rectangles", "mnist"]
    assert all(info["generated"] for info in shipped["data"])
    assert [len(cell["splits"]) for cell in shipped["cells"]] == [1, 1, 1, 1]
    assert "shipped with the program" in shipped["origin"]
    line = "benchmark mnist=d.npz --shipped --store r.sqlite --results r --stored --splits 3 --workers 2 --generated"
    names = "--store, --results, --stored, --splits, --workers, --generated, KEY=FILE"
    assert f"computes nothing; leave out {names}\n" in cli(line, code=2).err


def test_that_the_full_table_is_shown_first_if_it_is_shipped(cli, tmp_path):
    full = table_of((0.2, 0.25))
    with shipping(full, tmp_path / "shipped"):
        printed, quick = cli("benchmark convex --shipped").out, cli("benchmark convex --shipped --quick").out
    assert printed.startswith("Full protocol, shipped with the program")
    assert full.cells[0].rate.value in printed
    assert quick.startswith("Quick protocol, shipped with the program")


def test_that_damaged_shipped_results_are_refused_with_the_remedy(cli, monkeypatch):
    names = [file.name for file in resource("shipped").iterdir()]
    for name in names:
        damages = (b"{", b"", lzma.compress(b"[]"), None)
        for damage in damages[:-1] if name.endswith(".json.xz") else damages:  # without one table, the other is shown
            shutil.copytree(resource("shipped"), "damaged", dirs_exist_ok=True)
            Path("damaged", name).unlink()
            if damage is not None:
                Path("damaged", name).write_bytes(damage)
            with monkeypatch.context() as patch:
                patch.setattr("slide_gui.experiments.evaluation.shipped.resource", lambda _name: Path("damaged"))
                shipped_results.cache_clear()
                assert "missing or damaged; install slide-gui again" in cli("benchmark --shipped", code=1).err
    shipped_results.cache_clear()


def test_that_a_file_takes_the_place_of_a_data_set_and_gives_a_quarter_of_its_rows_for_tests(cli):
    data = rectangles(1000, 0)
    np.savez("mine.npz", x=data.train, y=data.train_labels)
    line = "benchmark rectangles=mine.npz --quick --methods raw-svm --store r.sqlite --json"
    first = cli(line).json
    assert first["data"][0]["source"].startswith("mine.npz (600 of 750 ")
    assert (first["data"][0]["n_train"], first["cells"][0]["splits"][0]["n_test"]) == (600, 250)
    assert cli(f"{line} --stored").json["cells"] == first["cells"]
