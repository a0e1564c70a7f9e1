"""Build the rows and cells of the two tables on the Benchmark page from stored results and running jobs."""

import re
from collections.abc import Sequence

from slide_gui.experiments.evaluation.data_sets import data_entry
from slide_gui.experiments.evaluation.protocol import REFERENCE, is_extra, published, published_seconds
from slide_gui.experiments.evaluation.shipped import shipped_results
from slide_gui.experiments.evaluation.table import Cell, Comparison, DataInfo, EvaluationState, SplitProgress, TimeRow
from slide_gui.experiments.runs.run import RunProgress
from slide_gui.figures.evaluation import COLUMNS, comparison_result, starred
from slide_gui.gui.pages.benchmark.table import EvaluationCell, EvaluationRow
from slide_gui.gui.state.evaluation import EvaluationChoice
from slide_gui.text import THIN, count, counted, dataset_title, duration, fixed, p_value_text, per_cent

_ORDER = {"better": 0, "reference": 1, "equal": 1, "": 1, "worse": 2}
_SHOWS_RUNS = "\nClick or press Enter to show this cell’s runs on the Runs page"
_PHASES = {"fit": "fitting", "learn": "learning", "train": "training", "validation": "validating", "test": "testing"}


def heads_of(state: EvaluationState, choice: EvaluationChoice) -> tuple[tuple[str, str], ...]:
    """Return the two lines of each column heading: the name of a data set and a note, such as its number of rows."""
    infos = {info.key: info for info in state.data}
    heads = []
    for key in dict.fromkeys(cell.data for cell in choice.table):
        title, note = data_entry(key).title, "no runs yet"
        if info := infos.get(key):
            kind = "generated" if info.generated else "real"
            title, note = info.title, f"{kind}, {count(info.n_train)} / {count(info.n_test)}"
        heads.append((title, note))
    return tuple(heads)


def error_rows(
    state: EvaluationState, choice: EvaluationChoice, running: bool, paused: bool = False
) -> tuple[EvaluationRow, ...]:
    """Return a row for each method in the paper's order, followed by published results of other methods.

    Parameters
    ----------
    state : EvaluationState
        Stored results and progress of the evaluation.
    choice : EvaluationChoice
        Data sets, methods and protocol that the user selected.
    running, paused : bool
        True if the evaluation is running or paused, respectively.
    """
    keys = tuple(dict.fromkeys(cell.data for cell in choice.table))
    infos = {info.key: info for info in state.data}
    shipped_runs = {run.hash for run in shipped_results().runs}

    def described(cell: Cell | None) -> EvaluationCell:
        if cell is None:
            return EvaluationCell(note="not in the protocol")
        active = [each for each in state.active if (each.data, each.method) == (cell.data, cell.method)]
        fraction, is_shipped = None, cell.shipped_rate is not None and cell.answers[0].row_errors is None
        if running and active:
            note, fraction = _active_text(state, active, cell.n_splits, paused)
            fraction = (len(cell.answers) + fraction) / max(cell.n_splits, 1)
        elif cell.complete:
            note = "shipped" if is_shipped else counted(cell.n_splits, "split")
        else:
            is_selected = cell.data in choice.data and cell.method in choice.methods
            why = "not selected" if not is_selected else "waiting" if running else ""
            # The paper's error, to the right of the note, leaves no space for both the noun and the reason.
            noun = "" if cell.paper is not None and why else " shipped" if is_shipped else " splits"
            done = f"{len(cell.answers)} of {cell.n_splits}{noun}"
            note = ", ".join(filter(None, (done, why))) if cell.answers else why or "not run yet"
        aside = "" if cell.paper is None else _paper(fixed(100 * cell.paper.error, 2))
        other, result = state.comparison(cell), comparison_result(state, cell)
        # Leave out runs that are not shipped with their results, because the Runs page cannot show them.
        run_keys = tuple(a.spec_hash for a in cell.answers if a.row_errors is not None or a.spec_hash in shipped_runs)
        tip = _tip(cell, other, infos.get(cell.data), note) + _SHOWS_RUNS * bool(run_keys)
        if cell.rate is None:
            return EvaluationCell("", aside, note, fraction=fraction, tip=tip)
        rank = float(_ORDER[result]), cell.rate.error
        return EvaluationCell(cell.rate.cell, aside, note, result, fraction, tip, rank, run_keys)

    rows = []
    for method in COLUMNS:
        planned = [state.cell(key, method) for key in keys]
        name = next((cell.title for cell in planned if cell is not None), "")
        if name:
            title, _, note = name.partition(", ")
            shown, group = tuple(map(described, planned)), "own" if is_extra(method) else "paper"
            rows.append(EvaluationRow(method, starred(method, title), shown, note, method == REFERENCE, group))
    ours = {row.title for row in rows}
    others: dict[tuple[str, str], dict[str, EvaluationCell]] = {}
    for key in keys:
        for each in published(key):
            if each.method not in ours:
                tip = f"{each.method}: {per_cent(100 * each.error)}, published by {each.place}"
                cell = EvaluationCell(aside=fixed(100 * each.error, 2), tip=tip)
                others.setdefault((each.method, each.place), {})[key] = cell
    for (name, place), cells in others.items():
        rows.append(EvaluationRow("", name, tuple(cells.get(key, EvaluationCell()) for key in keys), place))
    return tuple(rows)


def _active_text(
    state: EvaluationState, active: Sequence[SplitProgress], n_splits: int, paused: bool
) -> tuple[str, float]:
    """Describe the current step of the first split in `active`, and return the total progress of all splits in it.

    A finished split contributes 1 to the total progress.
    """
    (text, _), *_ = steps = [_step(state.live, split, paused) for split in active]
    where = f"split {active[0].split + 1} of {n_splits}" if n_splits > 1 else ""
    return ": ".join(filter(None, (where, text))), sum(fraction for _, fraction in steps)


def _step(live: RunProgress | None, split: SplitProgress, paused: bool) -> tuple[str, float]:
    done, of = split.answered, split.candidates
    if paused:
        return "paused", 0.0
    if of > 1:
        return f"selecting {done} / {of}", done / (of + 1)
    if live is None:
        return "running", 0.0
    if live.epochs is not None and live.epochs.epochs and live.test is None:
        last = live.epochs.epochs[-1]
        step = f"pre-training layer {last.layer}" if last.layer else "fine-tuning"
        return f"{step}, epoch {last.epoch}", 0.0
    within = live.test.done / live.test.total if live.test is not None and live.test.total else 0.0
    share = f" {per_cent(100 * within, 0)}" if within and live.phase == "test" else ""
    return f"{_PHASES.get(live.phase, live.phase)}{share}", 0.9 * within


def _tip(cell: Cell, other: Comparison | None, info: DataInfo | None, note: str) -> str:
    title = dataset_title(data_entry(cell.data).title, info is not None and info.generated)
    lines = [f"{cell.title} on {title}"]
    rate = cell.rate
    if rate is None:
        lines.append(f"No result: {note}")
    elif rate.n_splits > 1:
        over = f"95 % confidence interval over {rate.covers}"
        lines.append(f"{rate}; mean over {rate.n_splits} splits with n = {count(rate.n)} test rows each; {over}")
    else:
        lines.append(f"{rate}; one split, n = {count(rate.n)} test rows")
    if cell.chosen:
        lines.append(f"Selected on validation rows: {cell.chosen}")
    if other is not None:
        texts = [p_value_text(other.p), f"{p_value_text(other.adjusted)} after Holm’s correction"]
        if other.rows is not None:
            here, there = count(other.rows.only_first), count(other.rows.only_second)
            texts.append(f"{here} rows misclassified only by this method, {there} only by SLIDE-SVM")
        if other.low is not None and other.high is not None:
            ends = f"{100 * other.low:.2f} to {100 * other.high:.2f}"
            texts.insert(0, f"difference {100 * other.difference:.2f} ({ends}) percentage points")
        lines += [f"Compared with SLIDE-SVM ({other.test}): {texts[0]}", *texts[1:]]
    if cell.paper is not None:
        lines.append(f"Paper: {per_cent(100 * cell.paper.error)}")
    return "\n".join(lines)


def all_times(rows: Sequence[TimeRow], choice: EvaluationChoice) -> tuple[TimeRow, ...]:
    """Return one `TimeRow` for each data set in the table of running times.

    If no times have been measured on a data set, its row contains only the times from the paper.
    """
    known = {row.data.key: row for row in rows}
    keys = dict.fromkeys(cell.data for cell in choice.table)
    empty = {key: DataInfo(key, data_entry(key).title, False, "", 0, 0) for key in keys}
    return tuple(known.get(key) or TimeRow(empty[key], None, None, "", *published_seconds(key)) for key in keys)


def time_rows_of(rows: Sequence[TimeRow]) -> tuple[EvaluationRow, ...]:
    """Return the rows of the table of running times. A cell shows the measured value, then the value in the paper."""
    slide = [_time_cell(_seconds(r.slide), _seconds(r.paper_slide)) for r in rows]
    sda = [_time_cell(_seconds(r.sda), _seconds(r.paper_sda), _short(r.sda_chosen), r.sda_chosen) for r in rows]
    speedup = [_time_cell(_ratio(r.speedup), _ratio(r.paper_speedup)) for r in rows]
    return (
        EvaluationRow("", "SLIDE", tuple(slide), strong=True),
        EvaluationRow("", "SdA as selected", tuple(sda), "the paper used a GPU"),
        EvaluationRow("", "Speed-up", tuple(speedup), "SdA time / SLIDE time"),
    )


def _time_cell(main: str, paper: str = "", note: str = "", details: str = "") -> EvaluationCell:
    aside, note = _paper(paper), note if main else "not measured"
    return EvaluationCell(main, aside, note, tip="\n".join(filter(None, (main, details or note, aside))))


def _seconds(seconds: float | None) -> str:
    return "" if seconds is None else duration(seconds)


def _ratio(ratio: float | None) -> str:
    return "" if ratio is None else f"×{THIN}{ratio:.0f}" if ratio >= 10 else f"×{THIN}{ratio:.1f}"


def _paper(text: str) -> str:
    return f"paper {text}" if text else ""


def _short(chosen: str) -> str:
    """Shorten the description of an autoencoder to its layer sizes and noise level, so that it fits into a cell."""
    units, *rest = chosen.split(", ")[:2]
    sizes = re.findall(r"\d+", units)
    if len(set(sizes)) == 1:
        units = f"{len(sizes)} × {sizes[0]} units"
    return ", ".join((units, *rest))
