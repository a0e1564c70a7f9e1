"""`slide-gui fill` fills the missing cells of a table, and measures the error on known cells that it hides."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from slide_gui.cli import options
from slide_gui.cli.console import Entry, print_answer, progress_bar, usage
from slide_gui.core.imputation import LinearImputer, hidden_cell_errors
from slide_gui.core.validation import check_integer
from slide_gui.data.files import write_whole
from slide_gui.data.readers.incomplete import read_incomplete
from slide_gui.experiments.files.source import DataSource
from slide_gui.text import NONE, count, fixed


def _options(parser: argparse.ArgumentParser) -> None:
    text = "table with commas, semicolons, tabs or bars between cells; missing cells: empty, ?, NA, N/A, NaN or null"
    parser.add_argument("data", metavar="TABLE", help=text)
    text = "output file: the table with its missing cells filled and every other byte unchanged"
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help=text)
    options.add_table_options(parser.add_argument)
    options.add_seed(parser, "seed for the random choice of known cells to hide")


def _fill(arguments: argparse.Namespace) -> int:
    options.check_outputs(arguments, [arguments.output], [DataSource(paths=(arguments.data,))])
    with usage():
        check_integer("seed", arguments.seed, 0)
        reading = options.read_options(arguments)
    with progress_bar(f"filling {arguments.data}") as progress:
        table = read_incomplete(Path(arguments.data), reading, progress=progress.part(0.0, 0.2))
        imputer, rows, part = LinearImputer(), table.rows, progress.part(0.2, 0.6)
        counts, *errors = hidden_cell_errors(imputer, rows, seed=arguments.seed, progress=part)
        filled = imputer.fit(rows, progress=progress.part(0.6, 0.9)).transform(rows, progress=progress.part(0.9, 1.0))
    missing, names = np.isnan(rows), table.layout.columns
    filled[:, missing.all(axis=0)] = np.nan  # columns without a known cell stay empty
    write_whole(arguments.output, table.with_filled(filled, imputer.scale_))
    options.warn_of_guesses(arguments.data, table.layout.guesses)
    sums = missing.sum(axis=0), (missing & ~np.isnan(filled)).sum(axis=0), counts
    values = [np.append(each, each.sum()) for each in sums]
    n = counts.sum()
    values += [np.append(each, np.sqrt(np.nansum(counts * each**2) / n) if n else np.nan) for each in errors]
    shown = [*(names[k] for k in table.columns), "all columns"]
    plain = [[value.item() if np.isfinite(value) else None for value in each] for each in values]
    records = zip(shown, *plain, strict=True)
    *columns, total = [dict(zip(("name", *_NUMBERS), record, strict=True)) for record in records]
    unused = [name for k, name in enumerate(names) if k not in table.columns]
    document = {"data": arguments.data, "output": arguments.output, "rows": len(rows), "unused": unused}
    document |= {name: total[name] for name in _NUMBERS} | {"columns": columns}
    listed = [*(column for column in columns if column["missing"]), total]
    return print_answer(arguments, document, _lines(listed, unused), [arguments.output])


_NUMBERS = ("missing", "filled", "hidden", "error", "mean_error")


def _lines(records: list[dict[str, Any]], unused: list[str]) -> Iterator[str]:
    width = max(len(record["name"]) for record in records)
    yield "errors on known cells that were hidden, in standard deviations of the column:"
    yield f"{'':<{width}}{'missing':>9}{'filled':>9}{'error':>8}{'column mean':>14}"
    for record in records:
        error, mean = (NONE if record[name] is None else fixed(record[name], 2) for name in _NUMBERS[3:])
        n_missing, n_filled = (count(record[name]) for name in _NUMBERS[:2])
        yield f"{record['name']:<{width}}{n_missing:>9}{n_filled:>9}{error:>8}{mean:>14}"
    if unused:
        yield f"columns neither used nor changed: {', '.join(unused)}"


COMMANDS: dict[str, Entry] = {"fill": (_options, _fill)}
