"""`slide-gui datasets`, and the reports on reading files."""

from pathlib import Path

import numpy as np

from slide_gui.data.entries import entries
from slide_gui.progress import NO_PROGRESS


def test_that_list_names_every_benchmark_and_its_files(cli, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "convex.zip").touch()
    rows = {row["key"]: row for row in cli("datasets list --json").json}
    assert list(rows) == [entry.key for entry in entries()]
    assert rows["convex"]["found"] == [str(tmp_path / "data" / "convex.zip")]
    assert rows["rectangles"]["found"] is None
    assert (rows["mnist"]["n_train"], rows["mnist"]["n_test"]) == (60_000, 10_000)
    lines = {line.split()[0]: line for line in cli("datasets list").out.splitlines()}
    assert lines.keys() == rows.keys()
    assert lines["convex"].endswith("convex.zip")
    assert lines["mnist"].endswith("60000 +  10000 rows  no files, generated instead")


def test_that_info_describes_generated_data_and_their_seed(cli):
    first, same, other = (cli(f"datasets info rectangles --seed {seed} --json").json for seed in (0, 0, 1))
    assert first == same
    assert first["fingerprint"] != other["fingerprint"]
    assert first["generated"] is True
    assert (first["n_train"], first["n_test"], first["image_shape"]) == (1200, 50_000, [28, 28])
    assert sum(first["train_labels"].values()) == 1200
    assert set(first["train_labels"]) == {"wider", "taller"}


def test_that_info_describes_files(cli):
    np.savez("own.npz", X=np.full((5, 3), 0.5), y=np.array([0, 1, 1, 1, 0]))
    text = cli("datasets info own.npz").out
    assert "0: 2, 1: 2" in text
    assert "25 % held out, seed 0" in text
    assert "0: 2, 1: 3" in cli("datasets info own.npz --held-out 0").out


def test_that_get_downloads_the_named_data_sets(cli, monkeypatch):
    def download(key, *, progress=NO_PROGRESS):
        return [Path(key) / "file"]

    monkeypatch.setattr("slide_gui.cli.data.download", download)
    document = cli("datasets get convex mnist --json").json
    assert document == {"convex": ["convex/file"], "mnist": ["mnist/file"]}


def test_that_an_uncertain_guess_is_one_line_on_stderr_and_the_description_has_all_guesses(cli):
    Path("x.csv").write_bytes("# made today\na,b,class\n.1,.2,Tür\n.3,.4,Tor\n.5,.6,Tür\n".encode("cp1252"))
    assert cli("fit x.csv --depth 1").err == (
        "slide-gui: x, please check: text read as Windows-1252 "
        "(line 3 is not UTF-8; if letters are wrong, save the file as UTF-8)\n"
    )
    guesses = cli("datasets info x.csv --json").json["guessed"]
    assert [guess.partition(":")[0] for guess in guesses] == ["text read as Windows-1252", "1 comment line skipped"]
