"""Runs: `slide-gui train` computes one, `slide-gui sweep` many, `slide-gui runs` manages a store of runs."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slide_gui.cli.console import (
    DONE,
    FAILED,
    Command,
    UsageError,
    add_json,
    announce,
    print_answer,
    progress_bar,
    usage,
)
from slide_gui.cli.options import (
    add_cluster_options,
    add_data,
    add_method_options,
    add_run_options,
    add_stack_options,
    check_outputs,
    cluster_choice,
    data_source,
    opened_cluster,
    picture_session,
    read_data,
    refuse_existing,
    run_choices,
    stack_parameters,
    svm_parameters,
    warn_of_threshold,
)
from slide_gui.text import dataset_title, label_names, printable

if TYPE_CHECKING:
    from slide_gui.data.dataset import Dataset
    from slide_gui.error_rate import ErrorRate
    from slide_gui.experiments.runs.result import RunResult
    from slide_gui.experiments.runs.spec import RunSpec
    from slide_gui.experiments.store.store import RunStore, StoreReport
    from slide_gui.experiments.store.stored_run import StoredRun
    from slide_gui.experiments.sweeps.curves import LabelCurves
    from slide_gui.experiments.sweeps.selection import PointResult
    from slide_gui.experiments.sweeps.sweep import SweepState
    from slide_gui.figures.run_exports import RunFigure

_FIGURES = (".pdf", ".svg", ".png", ".csv")
_MOST = 1000  # splits


def _train_options(parser: argparse.ArgumentParser) -> None:
    add_data(parser, every_fold=True)
    add_stack_options(parser)
    add_run_options(parser)
    add_method_options(parser)
    parser.add_argument("--split", type=int, default=0, metavar="N", help="number of the 80/20 split, from 0 (0)")
    parser.add_argument("-o", "--output", type=Path, metavar="STORE", help="reuse the run in this store, or add it")
    drawn = "draw confusion.* or widths.* (.pdf, .svg, .png or .csv); the beginning of the name selects the figure"
    parser.add_argument("--figure", type=Path, nargs="+", default=[], metavar="FILE", help=drawn)


def _describe_result(result: RunResult) -> dict[str, Any]:
    """Return the description of a run for --json."""
    document = result.document()
    return {
        "hash": result.hash,
        "current": result.is_current,
        "error": result.rate.error,
        "low": result.rate.low,
        "high": result.rate.high,
        "chosen_by": result.chosen_by,
        "n_test": result.n_test,
        "n_support": None if result.classifier is None else result.classifier.n_support,
        "confusion": result.confusion.tolist(),
        "misclassified": result.misclassified.tolist(),
        **document,
    }


def _train(arguments: argparse.Namespace) -> int:
    svm = svm_parameters(arguments)
    stack = stack_parameters(arguments)
    for path in arguments.figure:
        _run_figure(path)
    if arguments.figure and arguments.folds is not None:
        raise UsageError("--figure draws one run, but --folds makes several; leave out one of them")
    from slide_gui.experiments.runs.spec import RunSpec, on_every_fold

    source = data_source(arguments, judges=arguments.evaluate)
    check_outputs(arguments, arguments.figure, [source], store=arguments.output)
    place = {"stack": stack, "svm": svm, "split": arguments.split, "seed": arguments.seed, **run_choices(arguments)}
    with usage():  # before the data are read
        RunSpec("", source.argument, **place).checked()
    dataset = read_data(source)
    spec = RunSpec(dataset.fingerprint, source.argument, held_out=dataset.held_out, **place).checked()
    warn_of_threshold(dataset, spec.stack)
    if dataset.held_out is not None and dataset.held_out.folds:
        results = [_answer(dataset, each, arguments.output) for each in on_every_fold(spec, dataset)]
        return _answer_folds(dataset, results, arguments)
    result = _answer(dataset, spec, arguments.output)
    written = [str(path) for path in arguments.figure]
    session = picture_session(source, dataset.fingerprint, spec.stack, "classifier")
    _write_figures(result, dataset.label_names, arguments.figure, session)
    output = None if arguments.output is None else str(arguments.output)
    names = list(label_names(result.labels, dataset.label_names))
    document = {**_describe_result(result), "label_names": names, "output": output, "figures": written}
    return print_answer(arguments, document, [*_result_lines(result), *(f"saved {path}" for path in written)])


def _answer_folds(dataset: Dataset, results: Sequence[RunResult], arguments: argparse.Namespace) -> int:
    """Print the result of each fold and of all together, and return the exit code."""
    from slide_gui.error_rate import ErrorRate

    rate = ErrorRate.of_folds([result.rate for result in results])
    wrong = sum(len(result.misclassified) for result in results)
    errors = f"test error {rate}, {wrong} of {rate.n} rows misclassified"
    together = f"{dataset.title}: {len(results)} folds, {errors}, each row tested once"
    lines = [line for result in results for line in (*_result_lines(result), "")]
    document = {
        "error": rate.error,
        "low": rate.low,
        "high": rate.high,
        "n_test": rate.n,
        "output": None if arguments.output is None else str(arguments.output),
        "folds": [_describe_result(result) for result in results],
    }
    return print_answer(arguments, document, [*lines, together])


def _answer(dataset: Dataset, spec: RunSpec, output: Path | None) -> RunResult:
    """Return the result from the store, or compute and store it."""
    from slide_gui.experiments.runs.cost import RunShape, typical_seconds
    from slide_gui.experiments.store.store import RunStore
    from slide_gui.experiments.sweeps.executor import get_or_run

    with nullcontext() if output is None else RunStore(output) as store, progress_bar("training") as progress:
        if store is None or not store.hashes(spec.hash):
            announce(typical_seconds(spec, RunShape.of(dataset)))
        return get_or_run(dataset, spec, store, progress=progress)


def _result_lines(result: RunResult) -> Iterator[str]:
    """Yield the lines that describe a run."""
    from slide_gui.experiments.files.source import describe_chosen, describe_convergence, describe_spec

    spec, classifier, times = result.spec, result.classifier, result.timings
    yield f"{dataset_title(result.dataset, result.generated)}: {describe_spec(spec)}"
    count = f"{len(result.misclassified)} of {result.n_test} misclassified"
    yield f"{spec.evaluate} error {result.rate}, {count}"
    validation = "" if result.validation_error is None else f", validation error {100 * result.validation_error:.2f} %"
    yield f"training error {100 * result.train_error:.2f} %{validation}, trained on {result.n_train} rows"
    if classifier is not None:
        shares = ", ".join(f"{share:.2f}" for share in classifier.shares)
        yield f"widths {', '.join(f'{width:.4g}' for width in classifier.widths)}; shares {shares}"
        if classifier.chosen is not None:
            yield describe_chosen(classifier.chosen)
        vectors = f"{classifier.n_support} support vectors"
        yield ", ".join(filter(None, [f"C = {classifier.C:.4g}", vectors, describe_convergence(classifier)]))
    parts = {"fit": times.fit, "features": times.transform, "widths": times.widths, "train": times.train}
    if classifier is None:
        del parts["widths"]
    yield ", ".join(f"{name} {seconds:.2f} s" for name, seconds in {**parts, "test": times.test}.items())
    if not result.is_current:
        yield "computed by another results version: kept, but not reused for new requests"
    names = {"numerics": "results version"}
    yield f"computed with {', '.join(f'{names.get(name, name)} {version}' for name, version in result.versions)}"


def _run_figure(path: Path) -> RunFigure:
    """Return the figure of a run selected by the beginning of a file name."""
    from slide_gui.figures.run_exports import RUN_FIGURES

    for name, figure in RUN_FIGURES.items():
        if path.name.startswith(name) and path.suffix.lower() in _FIGURES:
            return figure
    raise UsageError(f"--figure {str(path)!r}: expected {' or '.join(RUN_FIGURES)}, with .pdf, .svg, .png or .csv")


def _write_figures(result: RunResult, names: tuple[str, ...], paths: list[Path], session: str) -> None:
    """Write the figures or tables whose names were checked."""
    from slide_gui.figures.export import save_export
    from slide_gui.figures.style import Style

    for path in paths:
        save_export(path, _run_figure(path).export(result, names), Style(), session)


def _sweep_options(parser: argparse.ArgumentParser) -> None:
    add_data(parser, every_fold=True)
    add_stack_options(parser, axes=True)
    add_run_options(parser)
    add_cluster_options(parser)
    group = parser.add_argument_group("sweep")
    group.add_argument("--splits", type=int, default=1, metavar="N", help="number of 80/20 splits (1)")
    group.add_argument("--seeds", type=int, nargs="+", metavar="SEED", help="seeds of splits and classifiers (--seed)")
    group.add_argument("--cold", action="store_true", help="learn each point's widths without starting from the last")
    group.add_argument(
        "--choose",
        action="store_true",
        help="select noise and depth by validation error, train them again on the whole training set, and test them",
    )
    group.add_argument(
        "--labels",
        metavar="N,N,…",
        help="with several noise levels or depths: train each run on N labelled rows; with one of each: error against "
        "the number of labelled rows, for SLIDE fitted on all training rows, SLIDE fitted on the labelled rows only, "
        "and Raw-SVM; each of --seeds draws new labels",
    )
    group.add_argument("--dry-run", action="store_true", help="only print the number of runs and their estimated time")
    group.add_argument(
        "--pooled",
        action="store_true",
        help="with --choose: select once for all splits and seeds, by the mean validation error, instead of once for "
        "each",
    )
    parser.add_argument(
        "--store", type=Path, required=True, metavar="FILE", help="reuse the runs in this file and add new ones"
    )
    parser.add_argument("--figure", type=Path, metavar="FILE", help="draw the curves (.pdf, .svg, .png or .csv)")


def _axis(read: Callable[[str], tuple[Any, ...]], text: str) -> tuple[Any, ...]:
    with usage():
        try:
            return read(text)
        except ValueError as error:
            raise ValueError(f"--{error}") from None


def _sweep(arguments: argparse.Namespace) -> int:
    from slide_gui.experiments.runs.spec import SweepSpec, depth_axis, noise_axis

    noises = _axis(noise_axis, arguments.noise or "0.3")
    depths = _axis(depth_axis, arguments.depth or "3")
    if arguments.figure is not None and arguments.figure.suffix.lower() not in _FIGURES:
        raise UsageError(f"{str(arguments.figure)!r} must end in {', '.join(_FIGURES)}")
    if not 1 <= arguments.splits <= _MOST:
        raise UsageError(f"--splits is {arguments.splits}; it must be 1 to {_MOST}")
    if arguments.choose and arguments.training != "split":
        raise UsageError("--choose needs validation rows; add --on-split")
    if arguments.pooled and not arguments.choose:
        raise UsageError("--pooled needs --choose; give both")
    where = cluster_choice(arguments)
    arguments.noise = arguments.depth = None
    counts, arguments.labels = arguments.labels, None
    choices = run_choices(arguments)
    arguments.method = choices["method"]
    grid = len(noises) > 1 or len(depths) > 1
    if counts is not None and not (grid and len(_parse_counts(counts)) == 1):
        return _sweep_labels(arguments, counts, (noises, depths), choices)
    if counts is not None:
        choices["labels"] = _parse_counts(counts)[0]
    axes = {
        "noises": noises,
        "depths": depths,
        "splits": tuple(range(arguments.splits)),
        "seeds": tuple(arguments.seeds or [arguments.seed]),
        "stack": stack_parameters(arguments),
        "svm": svm_parameters(arguments),
        "warm": not arguments.cold,
        "choose": ("pooled" if arguments.pooled else "each") if arguments.choose else "none",
        **choices,
    }
    from slide_gui.experiments.runs.splits import Classes
    from slide_gui.experiments.store.store import RunStore
    from slide_gui.experiments.sweeps.sweep import plan_sweep, run_sweep

    source = data_source(arguments, judges="test" if arguments.choose else arguments.evaluate)
    check_outputs(arguments, [path for path in [arguments.figure] if path is not None], [source])
    with usage():
        SweepSpec("", source.argument, **axes).points()  # before the data are read
    dataset = read_data(source)
    Classes.of(dataset)  # refuses data without usable labels before a store is created
    sweep = SweepSpec(dataset.fingerprint, source.argument, held_out=dataset.held_out, **axes)
    warn_of_threshold(dataset, max((point.spec.stack for point in sweep.points()), key=lambda stack: stack.depth))
    makes_none = arguments.dry_run and not arguments.store.exists()
    with nullcontext() if makes_none else RunStore(arguments.store) as store:
        plan = plan_sweep(sweep, dataset, () if store is None else store.runs())
        if store is None or arguments.dry_run:
            return print_answer(arguments, {"plan": asdict(plan)}, [f"{dataset.title}: {plan}"])
        print(plan, file=sys.stderr)
        with opened_cluster(where) as cluster, progress_bar("sweep") as progress:
            state = run_sweep(dataset, sweep, store, progress=progress, cluster=cluster)
    if arguments.figure is not None:
        from slide_gui.figures.export import save_export
        from slide_gui.figures.run_exports import curves_export
        from slide_gui.figures.style import Style

        session = picture_session(source, dataset.fingerprint, state.done[0].point.spec.stack, "curves")
        save_export(arguments.figure, curves_export(dataset, state.done), Style(), session)
    document = _sweep_document(dataset, state, arguments) | {"plan": asdict(plan)}
    return print_answer(arguments, document, _sweep_lines(dataset, state, arguments))


def _describe_point(answer: PointResult) -> dict[str, Any]:
    point = answer.point
    return {
        "noise": point.noise,
        "depth": point.depth,
        "split": point.split,
        "seed": point.seed,
        **({} if point.fold is None else {"fold": point.fold + 1}),
        "hash": point.spec.hash,
        "error": answer.rate.error,
        "low": answer.rate.low,
        "high": answer.rate.high,
        "n_test": answer.rate.n,
        "validation_error": answer.validation_error,
        "chosen_by": answer.chosen_by,
        "seconds": answer.seconds,
    }


def _mean(state: SweepState) -> ErrorRate:
    from slide_gui.experiments.sweeps.selection import mean_rate

    return mean_rate(state.final)


def _sweep_document(dataset: Dataset, state: SweepState, arguments: argparse.Namespace) -> dict[str, Any]:
    from slide_gui.experiments.sweeps.selection import chosen_places

    best = chosen_places(state.done)
    return {
        "dataset": dataset.name,
        "generated": dataset.generated,
        "fingerprint": dataset.fingerprint,
        "held_out": None if dataset.held_out is None else asdict(dataset.held_out),
        "method": arguments.method,
        "training": arguments.training,
        "evaluate": arguments.evaluate,
        "store": str(arguments.store),
        "best_on_validation": [{"noise": noise, "depth": depth} for noise, depth in best],
        "points": [
            {**_describe_point(answer), "best_on_validation": (answer.point.noise, answer.point.depth) in best}
            for answer in state.done
        ],
        "chosen": [_describe_point(answer) for answer in state.final] or None,
        "chosen_mean": asdict(_mean(state)) if state.final else None,
        "faults": list(state.faults),
        "figure": None if arguments.figure is None else str(arguments.figure),
    }


def _sweep_lines(dataset: Dataset, state: SweepState, arguments: argparse.Namespace) -> Iterator[str]:
    from slide_gui.experiments.sweeps.selection import best_words

    yield f"{dataset.title}: {arguments.method}, {arguments.evaluate} error in %"
    for fault in state.faults:
        yield f"run repeated: {fault}"
    dealt = dataset.held_out is not None and dataset.held_out.folds > 0
    yield f"{'fold  ' if dealt else ''}noise  depth  split  seed   error  validation  95 %         widths by"
    for run in state.done:
        point = run.point
        validation = "" if run.validation_error is None else f"{100 * run.validation_error:.2f}"
        line = "" if point.fold is None else f"{point.fold + 1:4d}  "
        line += f"{point.noise:5.2f}  {point.depth:5d}  {point.split:5d}  {point.seed:4d}  {run.rate.value:>6}  "
        yield (line + f"{validation:>10}  {run.rate.interval:11}  {run.chosen_by}").rstrip()
    yield best_words(state.done)
    if state.final:
        for run in state.final:
            point = run.point
            fold = "" if point.fold is None else f"fold {point.fold + 1}, "
            yield (
                f"{fold}split {point.split}, seed {point.seed}: selected noise {point.noise:g}, depth {point.depth}; "
                f"test error {run.rate}"
            )
        mean = _mean(state)
        spread = "" if dealt and mean.n_splits == 1 else f", spread between splits {100 * mean.spread:.2f}"
        yield f"mean test error {mean}, 95 % confidence interval over {mean.covers}{spread}"
    if arguments.figure is not None:
        yield f"saved {arguments.figure}"


def _parse_counts(text: str) -> tuple[int, ...]:
    """Return the numbers of ``50,100,200``. Refuse any other text."""
    if not re.fullmatch(r"\d{1,9}(,\d{1,9})*", text):
        raise UsageError(f"--labels {text!r}: expected integers with commas between")
    return tuple(int(part) for part in text.split(","))


def _sweep_labels(
    arguments: argparse.Namespace,
    counts: str,
    axes: tuple[tuple[float, ...], tuple[int, ...]],
    choices: dict[str, Any],
) -> int:
    """Run the sweep over numbers of labels."""
    noises, depths = axes
    if len(noises) > 1 or len(depths) > 1:
        raise UsageError("--labels with several numbers needs one noise level and one depth; give one of each")
    if arguments.choose:
        raise UsageError("--choose excludes --labels with several numbers; leave out one of them")
    from slide_gui.experiments.runs.spec import RunSpec, on_every_fold
    from slide_gui.experiments.store.store import RunStore
    from slide_gui.experiments.sweeps.curves import label_curves, label_points
    from slide_gui.experiments.sweeps.sweep import run_points

    source = data_source(arguments, judges=arguments.evaluate)
    check_outputs(arguments, [path for path in [arguments.figure] if path is not None], [source])
    stack = replace(stack_parameters(arguments), noise=noises[0], depth=depths[0])
    base = RunSpec("", source.argument, stack=stack, svm=svm_parameters(arguments), **choices)
    numbers, seeds = _parse_counts(counts), arguments.seeds or [arguments.seed]
    with usage():
        label_points(base, numbers, seeds)  # before the data are read
    dataset = read_data(source)
    base = replace(base, fingerprint=dataset.fingerprint, held_out=dataset.held_out)
    points = tuple(point for each in on_every_fold(base, dataset) for point in label_points(each, numbers, seeds))
    where = cluster_choice(arguments)
    with RunStore(arguments.store) as store, opened_cluster(where) as cluster, progress_bar("labels") as progress:
        state = run_points(dataset, points, store, progress=progress, cluster=cluster)
    curves = label_curves(dataset, state.done)
    if arguments.figure is not None:
        from slide_gui.figures.curves import draw_labels, labels_csv
        from slide_gui.figures.export import export_of, save_export
        from slide_gui.figures.style import Style

        session = picture_session(source, dataset.fingerprint, stack, "curves")
        save_export(arguments.figure, export_of("labels", curves, draw_labels, labels_csv), Style(), session)
    document = asdict(curves) | {"store": str(arguments.store), "faults": list(state.faults)}
    return print_answer(arguments, document, _label_lines(curves, arguments))


def _label_lines(curves: LabelCurves, arguments: argparse.Namespace) -> Iterator[str]:
    title = dataset_title(curves.dataset, curves.generated)
    yield f"{title}: {curves.evaluate} error in %, noise 1−p = {curves.noise:g}, depth {curves.depth}"
    yield "labels   error           95 %  runs  method"
    for line in curves.lines:
        for point in line.points:
            rate = point.rate
            yield f"{point.labels:6d}  {rate.value:>6}  {rate.interval:>13}  {rate.n_splits:4d}  {line.name}"
    if arguments.figure is not None:
        yield f"saved {arguments.figure}"


def _runs_options(parser: argparse.ArgumentParser) -> None:
    inner = parser.add_subparsers(title="subcommands", metavar="COMMAND", required=True)
    for name, task, text in (
        ("list", _list, "print the table of runs"),
        ("show", _show, "print one run"),
        ("check", _check, "check every run against its recorded checksum"),
        ("delete", _delete, "hide runs from the table"),
        ("restore", _restore, "restore deleted runs"),
        ("export", _export, "write the table as CSV"),
    ):
        command = inner.add_parser(name, help=text, description=text)
        command.add_argument("store", type=Path, metavar="STORE")
        if task in (_show, _delete, _restore):
            many = "+" if task is not _show else None
            command.add_argument("hash", nargs=many, metavar="HASH", help="hash of the run, or its first digits")
        if task is _check:
            command.add_argument(
                "--save-whole", type=Path, metavar="NEW", help="save the undamaged runs to this new store"
            )
        if task is _export:
            command.add_argument("-o", "--output", type=Path, metavar="FILE", help="the table (runs.csv)")
        add_json(command)
        command.set_defaults(run=_with_store, task=task, read_only=task not in (_delete, _restore))


_WRITTEN = ("output", "save_whole")


def _with_store(arguments: argparse.Namespace) -> int:
    from slide_gui.experiments.store.store import RunStore

    if not arguments.store.is_file():
        raise UsageError(f"{str(arguments.store)!r}: this run store does not exist")
    if arguments.task is _export and arguments.output is None:
        arguments.output = Path("runs.csv")
        refuse_existing([arguments.output])
    check_outputs(arguments, [path for name in _WRITTEN if (path := getattr(arguments, name, None)) is not None])
    with RunStore(arguments.store, read_only=arguments.read_only) as store:
        code: int = arguments.task(store, arguments)
        return code


def _full_hash(store: RunStore, beginning: str) -> str:
    hashes = store.hashes(beginning)
    if len(hashes) != 1:
        raise UsageError(f"{len(hashes) or 'no'} runs begin with {beginning!r}; give the hash of one (see: runs list)")
    return hashes[0]


def _list(store: RunStore, arguments: argparse.Namespace) -> int:
    runs = store.runs()
    extra = ({"low": run.rate.low, "high": run.rate.high, "current": run.is_current} for run in runs)
    document = [run.document() | more for run, more in zip(runs, extra, strict=True)]
    return print_answer(arguments, document, _run_lines(runs))


def _run_lines(runs: Sequence[StoredRun]) -> Iterator[str]:
    from slide_gui.experiments.store.stored_run import SHOWN

    rows = [["hash", *(column.title for column in SHOWN)]]
    rows += [[run.hash[:12], *(printable(column.text(run)) for column in SHOWN)] for run in runs]
    wide = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    at_right = [False, *(column.is_number for column in SHOWN)]
    marks = ["", *("" if run.is_current else "*" for run in runs)]
    for cells, mark in zip(rows, marks, strict=True):
        padded = (
            f"{cell:>{w}}" if right else f"{cell:{w}}" for cell, w, right in zip(cells, wide, at_right, strict=True)
        )
        yield "  ".join([*padded, mark]).rstrip()
    if not all(run.is_current for run in runs):
        yield "* computed by another results version: kept, but not reused for new requests"


def _show(store: RunStore, arguments: argparse.Namespace) -> int:
    spec_hash = _full_hash(store, arguments.hash)
    result = store.load(spec_hash)
    return print_answer(arguments, _describe_result(result) | {"hash": spec_hash}, _result_lines(result))


def _check(store: RunStore, arguments: argparse.Namespace) -> int:
    report = store.check()
    saved = None if arguments.save_whole is None else store.save_whole(arguments.save_whole)
    document = {
        "runs": report.n_runs,
        "faults": report.faults,
        "damage": list(report.damage),
        "whole": len(report.whole),
        "saved": saved,
    }
    print_answer(arguments, document, _report_lines(report, saved, arguments))
    return FAILED if report.faults or report.damage else DONE


def _report_lines(report: StoreReport, saved: int | None, arguments: argparse.Namespace) -> Iterator[str]:
    for name, fault in report.faults.items():
        yield f"{name[:12]}  {fault}"
    for damaged in report.damage:
        yield f"{arguments.store}: {damaged}"
    yield f"{report.n_runs} runs, {len(report.faults)} damaged, {len(report.whole)} with undamaged results"
    if (report.faults or report.damage) and arguments.save_whole is None:
        yield f"save those with: slide-gui runs check {shlex.quote(str(arguments.store))} --save-whole NEW"
    if saved is not None:
        yield f"saved {saved} runs to {arguments.save_whole}"


def _delete(store: RunStore, arguments: argparse.Namespace, undo: bool = False) -> int:
    hashes = [_full_hash(store, beginning) for beginning in arguments.hash]
    store.delete(hashes, undo=undo)
    said = "restored" if undo else "deleted; slide-gui runs restore restores them"
    return print_answer(arguments, {"restored" if undo else "deleted": hashes}, [f"{len(hashes)} {said}"])


def _restore(store: RunStore, arguments: argparse.Namespace) -> int:
    return _delete(store, arguments, undo=True)


def _export(store: RunStore, arguments: argparse.Namespace) -> int:
    from slide_gui.figures.tables import runs_csv

    runs = store.runs()
    runs_csv(arguments.output, runs)
    return print_answer(arguments, {"output": str(arguments.output), "runs": len(runs)}, [f"saved {arguments.output}"])


COMMANDS = (
    Command(
        "train", "train the multi-width SVM and evaluate it", "compute one run, from the data to the test error.",
        _train_options, _train,
    ),
    Command(
        "sweep", "compute the error over noise, depth and splits",
        "compute runs over noise, depth and splits. An interrupted sweep resumes where it stopped.",
        _sweep_options, _sweep,
    ),
    Command(
        "runs", "list, show, check, delete and export stored runs", "manage the runs of a store.", _runs_options,
        computes=False,
    ),
)  # fmt: skip
