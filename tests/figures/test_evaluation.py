"""The tables of the evaluation have the same numbers in every format, the best bold and differences marked."""

import csv
import re
from dataclasses import replace

from slide_gui.experiments.evaluation.data_sets import data_entry
from slide_gui.experiments.evaluation.protocol import plan
from slide_gui.experiments.evaluation.table import Cell, DataInfo, EvaluationState, time_rows
from slide_gui.figures import evaluation
from slide_gui.figures.style import Style
from tests.figures.drawings import DRAWINGS, answers, drawn, state, texts


def test_that_the_table_of_errors_has_those_of_the_paper():
    table = evaluation.error_table(state())
    assert table.head == ("Error in %", "Raw-SVM", "SdA", "SdA-SVM", "SLIDE-SVM", "PCA-SVM", "White-SVM")
    ours, paper = table.rows
    assert ours[0] == "Rectangles (generated)"
    assert ours[1] == "9.05 (7.24–10.99) (+)"
    assert ours[2] == "–"
    assert ours[4] == "5.10 (3.58–6.64)"
    assert ours[5] == "2.05 (1.12–3.13) (−)"
    assert ours[6] == "5.20 (3.99–6.76) [1/2]"
    assert paper[1:] == ("2.45", "2.43", "1.10", "1.38", "1.54", "0.96")
    assert table.bold == {(0, 5)}
    assert any("SdA-3 (Vincent et al. 2010): Rectangles 1.99" in note for note in table.notes)


def numbers(path):
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def test_that_results_published_on_mnist_are_not_attributed_to_its_stand_in(tmp_path):
    info = DataInfo("mnist", "Digits enlarged", True, "ab" * 32, 600, 500)
    own = EvaluationState((info,), (Cell("mnist", "slide-svm", 1, answers((0.05,), 2.0)),))
    table = evaluation.error_table(own)
    assert table.rows[1] == ("  paper, MNIST", "1.36")
    assert any(note.startswith("Digits enlarged: SLIDE-SVM uses median widths here") for note in table.notes)
    assert not any("no widths" in note for note in evaluation.error_table(state()).notes)
    assert any("SdA-3 (Vincent et al. 2010): MNIST 1.28" in note for note in table.notes)
    evaluation.errors_csv(tmp_path / "errors.csv", own)
    assert {row["dataset"] for row in numbers(tmp_path / "errors.csv") if row["published by"]} == {"MNIST"}


def test_that_every_format_explains_the_marks_below_the_table_and_markdown_and_latex_have_every_cell(tmp_path):
    table = evaluation.error_table(state())
    evaluation.errors_csv(tmp_path / "errors.csv", state())
    notes = " ".join(reversed(texts(drawn(DRAWINGS["errors"], style=Style(width="double")))))
    said = ("Holm", "mean difference over test rows", "McNemar", "Student", "Wilson", "conditional on the training set")
    for text in (evaluation.markdown(table), evaluation.latex(table), (tmp_path / "errors.csv").read_text(), notes):
        assert [words for words in said if words not in text] == []
    text = re.sub(r"\\(\W)", r"\1", evaluation.markdown(table))
    assert "| **2.05 (1.12–3.13) (−)** |" in text
    assert all(cell.strip() in text for row in table.rows for cell in row)
    tex = evaluation.latex(table)
    assert r"\textbf{2.05 (1.12--3.13) ($-$)}" in tex
    assert [line.count("&") for line in tex.splitlines() if line.endswith(r"\\")] == [3] * 6
    assert r"Error in \%" in tex
    assert all(ord(letter) < 128 for letter in tex)


def test_that_tables_of_numbers_read_back(tmp_path):
    evaluation.errors_csv(tmp_path / "errors.csv", state())
    by_method = {row["method"]: row for row in numbers(tmp_path / "errors.csv")}
    assert None not in by_method  # there are no lines of notes
    raw = by_method["Raw-SVM"]
    rate, comparison = state().cells[1].rate, state().comparisons["rectangles", "raw-svm"]
    head = "error", "low end of 95 % interval", "high end", "rows evaluated (smallest run)"
    assert [float(raw[name]) for name in head] == [rate.error, rate.low, rate.high, rate.n]
    assert (float(raw["p against SLIDE-SVM"]), float(raw["p by Holm"])) == (comparison.p, comparison.adjusted)
    assert (raw["interval covers"], by_method["White-SVM"]["interval covers"]) == ("rows and splits", "rows")
    ends = "difference from SLIDE-SVM", "low end of its 95 % interval", "high end of its 95 % interval"
    assert [float(raw[name]) for name in ends] == [comparison.difference, comparison.low, comparison.high]
    assert [by_method["White-SVM"][name] for name in ends[1:]] == ["", ""]
    assert raw["test"] == "t-test over test rows and 2 splits"
    assert by_method["White-SVM"]["test"] == "McNemar"
    assert by_method["SdA"]["error"] == ""
    assert by_method["SdA-3"]["published by"] == "Vincent et al. 2010"
    rows = time_rows(state())
    assert (rows[0].slide, rows[0].sda, rows[0].speedup) == (2.0, 300.0, 150.0)
    assert "| paper: × speed-up | 1080 |" in evaluation.markdown(evaluation.time_table(rows))
    evaluation.times_csv(tmp_path / "times.csv", rows)
    assert "Rectangles,True,2.0,300.0," in (tmp_path / "times.csv").read_text()


def test_that_the_figure_has_the_papers_order_and_tells_methods_apart():
    assert {cell.method: evaluation.comparison_result(state(), cell) for cell in state().cells} == {
        "slide-svm": "reference", "raw-svm": "worse", "pca-svm": "better", "white-svm": "equal", "sda-svm": "equal",
        "sda": "",
    }  # fmt: skip
    figure = drawn(DRAWINGS["errors"])
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert names == ["Raw-SVM", "SdA-SVM", "SLIDE-SVM", "PCA-SVM", "White-SVM"]
    assert "5.20 (3.99–6.76)  1/2" in texts(figure)
    assert "× 150" in set(texts(drawn(DRAWINGS["times"])))


def test_that_a_block_has_the_papers_row_only_below_the_row_of_its_data():
    infos = tuple(DataInfo(key, key.title(), False, "ab" * 32, 100, 50) for key in ("convex", "rectangles"))
    cells = [Cell(info.key, method, 1, ()) for method in ("raw-svm", "pca-svm") for info in infos]
    cells[1] = replace(cells[1], answers=answers((0.1,), 2.0))
    for block in evaluation.error_table(EvaluationState(infos, tuple(cells))).blocks(str, "{}"):
        assert [row[0] for row in block[1:]] == ["Convex", "  paper", "Rectangles", "  paper"]


def test_that_the_full_table_fits_a4_and_marks_this_projects_methods():
    infos, cells = [], []
    for plan_cell in plan():
        known = data_entry(plan_cell.data)
        if not infos or infos[-1].key != known.key:
            infos.append(DataInfo(known.key, known.title, False, "ab" * 32, known.n_train, known.n_test))
        cells.append(Cell(known.key, plan_cell.method, 2, answers((0.105, 0.106), 2.0)))
    full = EvaluationState(tuple(infos), tuple(cells))
    for width in ("single", "double"):
        figure = drawn(evaluation.draw_errors, full, style=Style(width=width))
        assert figure.get_figheight() * 25.4 <= 247
        assert len(figure.axes) == 11
        assert figure.get_tightbbox().x1 <= figure.get_figwidth() + 0.01
    table = evaluation.error_table(full)
    assert evaluation.latex(table).isascii()
    assert [name.endswith(" *") for name in table.head[1:]] == [False] * 7 + [True] * 6
    blocks = table.blocks(str, "{}")
    assert [len(block[0]) - 1 for block in blocks] == [3, 4, 3, 3]
    assert [sum(row[0].startswith("  paper") for row in block) for block in blocks] == [4, 4, 0, 0]
    assert max(len(line) for line in evaluation.markdown(table).splitlines() if line.startswith("|")) < 150
