"""The tables of the evaluation: the same numbers in every form, the best bold, what differs marked."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from slide_gui.core.sda.model import TUTORIAL
from slide_gui.experiments.evaluation.table import Cell, DataInfo, EvaluationState, Extrapolated, SplitAnswer, time_rows
from slide_gui.experiments.statistics import row_errors
from slide_gui.figures.evaluation import (
    draw_errors,
    draw_times,
    error_table,
    errors_csv,
    latex,
    markdown,
    standing,
    time_table,
    times_csv,
)
from slide_gui.figures.style import Style
from slide_gui.text import duration


def answers(errors: tuple[float, ...], features: float) -> tuple[SplitAnswer, ...]:
    return tuple(
        SplitAnswer(
            k,
            "ab",
            "80.0% of variance",
            error,
            10_000,
            1000,
            row_errors("", np.arange(1000), np.arange(round(error * 1000))),
            0.1,
            features,
            3.0,
        )
        for k, error in enumerate(errors)
    )


ERRORS = {"raw-svm": (0.090, 0.091), "pca-svm": (0.020, 0.021), "white-svm": (0.052,)}


def state() -> EvaluationState:
    cells = [Cell("rectangles", "slide-svm", 2, answers((0.050, 0.052), 2.0))]
    cells += [Cell("rectangles", method, 2, answers(errors, 1.0)) for method, errors in ERRORS.items()]
    cells.append(Cell("rectangles", "sda-svm", 2, answers((0.0515,), 300.0)))
    cells.append(Cell("rectangles", "sda", 2))
    info = DataInfo("rectangles", "Rectangles", True, "ab" * 32, 1200, 1000)
    return EvaluationState((info,), tuple(cell.method for cell in cells), tuple(cells))


def drawn_texts(figure: Figure) -> str:
    texts = [text for axes in figure.axes for text in (*axes.get_yticklabels(), *axes.texts)]
    return "\n".join(text.get_text() for text in (*texts, *figure.texts))


def test_that_the_table_of_errors_stands_beside_the_papers() -> None:
    table = error_table(state())
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


def test_that_what_was_published_on_mnist_is_not_said_of_its_stand_in(tmp_path: Path) -> None:
    info = DataInfo("mnist", "Digits enlarged", True, "ab" * 32, 600, 500)
    own = EvaluationState((info,), ("slide-svm",), (Cell("mnist", "slide-svm", 1, answers((0.05,), 2.0)),))
    table = error_table(own)
    assert table.rows[1] == ("  paper, MNIST", "1.36")
    assert any(note.startswith("Digits enlarged: SLIDE-SVM uses median widths here") for note in table.notes)
    assert not any("no widths" in note for note in error_table(state()).notes)
    assert any("SdA-3 (Vincent et al. 2010): MNIST 1.28" in note for note in table.notes)
    errors_csv(tmp_path / "errors.csv", own)
    with (tmp_path / "errors.csv").open(newline="", encoding="utf-8") as file:
        others = [row for row in csv.DictReader(file) if row["published by"]]
    assert {row["dataset"] for row in others} == {"MNIST"}


def test_that_every_form_says_under_the_table_what_its_marks_mean(tmp_path: Path) -> None:
    table = error_table(state())
    errors_csv(tmp_path / "errors.csv", state())
    figure = Figure()
    draw_errors(figure, state(), Style(width="double"))
    drawn = " ".join(text.get_text() for text in reversed(figure.texts))
    for text in (markdown(table), latex(table), (tmp_path / "errors.csv").read_text(), drawn):
        for words in (
            "Holm",
            "mean difference over test rows",
            "McNemar",
            "Student",
            "Wilson",
            "conditional on the training set",
        ):
            assert words in text


def test_that_markdown_and_latex_hold_every_cell() -> None:
    table = error_table(state())
    text = re.sub(r"\\(\W)", r"\1", markdown(table))
    assert "| **2.05 (1.12–3.13) (−)** |" in text
    assert all(cell.strip() in text for row in table.rows for cell in row)
    tex = latex(table)
    assert r"\textbf{2.05 (1.12--3.13) ($-$)}" in tex
    assert tex.count(r"\\") == 3
    assert r"Error in \%" in tex
    assert all(ord(letter) < 128 for letter in tex)


def test_that_times_say_what_was_extrapolated() -> None:
    tutorial = {"rectangles": Extrapolated(600.0, 2.0, 400, TUTORIAL)}
    rows = time_rows(state(), tutorial)
    assert (rows[0].slide, rows[0].sda, rows[0].speedup, rows[0].tutorial_speedup) == (2.0, 300.0, 150.0, 300.0)
    text = markdown(time_table(rows))
    assert "EXTRAPOLATED from one epoch of 400 rows" in text
    assert "| SLIDE | 2.0 s |" in text
    assert "| paper: × speed-up | 1080 |" in text
    assert "EXTRAPOLATED" not in markdown(time_table(time_rows(state())))
    assert [duration(t) for t in (None, 0.123, 5.04, 42.0, 125.0, 5400.0)] == [
        "–", "0.12 s", "5.0 s", "42 s", "2 min 5 s", "1 h 30 min",
    ]  # fmt: skip


def test_that_tables_of_numbers_read_back(tmp_path: Path) -> None:
    errors_csv(tmp_path / "errors.csv", state())
    with open(tmp_path / "errors.csv", newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    by_method = {row["method"]: row for row in rows}
    raw = by_method["Raw-SVM"]
    rate, comparison = state().cells[1].rate, state().comparisons["rectangles", "raw-svm"]
    assert rate is not None
    assert [float(raw[name]) for name in ("error", "low end of 95 % interval", "high end")] == [
        rate.error, rate.low, rate.high,
    ]  # fmt: skip
    assert (float(raw["p against SLIDE-SVM"]), float(raw["p by Holm"])) == (comparison.p, comparison.adjusted)
    assert (raw["interval covers"], by_method["White-SVM"]["interval covers"]) == ("rows and splits", "rows")
    ends = "difference from SLIDE-SVM", "low end of its 95 % interval", "high end of it"
    assert [float(raw[name]) for name in ends] == [comparison.difference, comparison.low, comparison.high]
    assert [by_method["White-SVM"][name] for name in ends[1:]] == ["", ""]
    assert raw["test"] == "t-test over test rows and 2 splits"
    assert by_method["White-SVM"]["test"] == "McNemar"
    assert by_method["SdA"]["error"] == ""
    assert by_method["SdA-3"]["published by"] == "Vincent et al. 2010"
    times_csv(tmp_path / "times.csv", time_rows(state()))
    assert "Rectangles,True,2.0,300.0," in (tmp_path / "times.csv").read_text()


def test_that_the_figure_orders_methods_by_error_and_tells_them_apart() -> None:
    found = {cell.method: standing(state(), cell) for cell in state().cells}
    assert found == {
        "slide-svm": "reference", "raw-svm": "worse", "pca-svm": "better", "white-svm": "equal", "sda-svm": "equal",
        "sda": "equal",
    }  # fmt: skip
    for width in ("single", "double", "slide"):
        figure = Figure()
        draw_errors(figure, state(), Style(width=width))
        names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
        assert names == ["PCA-SVM", "SLIDE-SVM", "SdA-SVM", "White-SVM", "Raw-SVM"]
        assert "5.20 (3.99–6.76)  1/2" in drawn_texts(figure)


def test_that_the_figure_of_times_shows_both_speed_ups() -> None:
    figure = Figure()
    draw_times(
        figure, time_rows(state(), {"rectangles": Extrapolated(600.0, 2.0, 400, TUTORIAL)}), Style(width="double")
    )
    assert "× 150 over SdA" in drawn_texts(figure)
    assert "× 300 over tutorial" in drawn_texts(figure)


def test_that_nothing_is_not_drawn() -> None:
    with pytest.raises(ValueError, match="nothing to draw"):
        draw_errors(Figure(), EvaluationState((), (), ()), Style())
    with pytest.raises(ValueError, match="nothing to draw"):
        draw_times(Figure(), (), Style())
