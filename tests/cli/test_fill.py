"""`slide-gui fill` fills missing cells and measures its error on cells that it hides."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_wine

from slide_gui import LinearImputer
from slide_gui.core.imputation import hidden_cell_errors
from tests.hostile import unsafe


def _wine(share=0.1):
    wine = load_wine()
    X = np.where(np.random.default_rng(0).random(wine.data.shape) < share, np.nan, wine.data)
    lines = [
        ",".join([*("" if np.isnan(v) else f"{v:g}" for v in x), f"w{y}"]) for x, y in zip(X, wine.target, strict=True)
    ]
    Path("wine.csv").write_text("\n".join([",".join([*wine.feature_names, "class"]), *lines]) + "\n")
    return wine.data, X


def test_that_cells_and_errors_are_those_of_the_imputer(cli):
    _, X = _wine()
    document = cli("fill wine.csv -o filled.csv --json --seed 3").json
    written = np.genfromtxt("filled.csv", delimiter=",", skip_header=1, usecols=range(13))
    filled = LinearImputer().fit_transform(X)
    np.testing.assert_allclose((written - filled) / X[~np.isnan(X).any(axis=1)].std(axis=0), 0.0, atol=1e-3)
    counts, errors, mean_errors = hidden_cell_errors(LinearImputer(), X, seed=3)
    np.testing.assert_allclose([column["error"] for column in document["columns"]], errors, rtol=1e-6)
    np.testing.assert_allclose([column["mean_error"] for column in document["columns"]], mean_errors, rtol=1e-6)
    assert [column["hidden"] for column in document["columns"]] == counts.tolist()
    assert document["missing"] == document["filled"] == np.isnan(X).sum()
    assert document["error"] < document["mean_error"]
    assert document["unused"] == ["class"]


def test_that_the_report_is_a_table_of_the_columns_with_missing_cells(cli):
    _, X = _wine()
    lines = cli("fill wine.csv -o filled.csv").out.splitlines()
    assert len(lines) == 2 + 13 + 3
    assert lines[1].split() == ["missing", "filled", "error", "column", "mean"]
    n = str(np.isnan(X).sum())
    assert lines[-3].split()[:4] == ["all", "columns", n, n]
    assert lines[-2:] == ["not used and not changed: class", "saved filled.csv"]


def test_that_an_empty_column_stays_empty_and_a_complete_table_does_not_change(cli):
    Path("t.csv").write_text("a,b,c\n1,,2\n2,,3\n?,,5\n4,,7\n")
    document = cli("fill t.csv -o filled.csv --json").json
    assert [column["filled"] for column in document["columns"]] == [1, 0, 0]
    assert document["columns"][1]["error"] is None
    assert [line.split(",")[1] for line in Path("filled.csv").read_text().split()[1:]] == [""] * 4
    assert cli("fill t.csv -o filled.csv").out.splitlines()[3].split() == ["b", "4", "0", "–", "–"]
    Path("t.csv").write_text("a,b\n1,2\n2,3\n3,5\n")
    cli("fill t.csv -o filled.csv")
    assert Path("filled.csv").read_bytes() == Path("t.csv").read_bytes()


@pytest.mark.parametrize("end", ["-o wine.csv", "-o ./linked.csv", "", "-o new.csv --leave-out ''"])
def test_that_wrong_usage_is_refused_and_the_table_is_never_overwritten(cli, end):
    _wine()
    Path("linked.csv").symlink_to("wine.csv")
    before = Path("wine.csv").read_bytes()
    cli(f"fill wine.csv {end}", code=2)
    assert "seed is -1; it must be an integer" in cli("fill wine.csv -o other.csv --seed -1", code=2).err
    assert Path("wine.csv").read_bytes() == before


def test_that_hostile_names_control_no_terminal(cli):
    names = ["\x9b31m\u202exyz", "=1+1", "a" * 3000]
    Path("t.csv").write_text("\n".join([",".join(names), "1,2,3", "2,,4", "3,4,5", "4,5,7"]) + "\n", encoding="utf-8")
    for words in ([], ["--json"]):
        output = cli("fill t.csv -o filled.csv", *words)
        assert not unsafe(output.out)
        assert not unsafe(output.err)
    assert len(json.loads(output.out)["columns"]) == 3
    assert Path("filled.csv").read_text(encoding="utf-8").split("\n")[0] == ",".join(names)
