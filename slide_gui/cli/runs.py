"""`slide-gui train`, `sweep` and `try` compute runs. `slide-gui decide` explains one prediction of a run."""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from slide_gui.cli import options
from slide_gui.cli.console import Entry, UsageError, announce, print_answer, print_line, progress_bar, usage
from slide_gui.cli.store import describe_rate, describe_result, full_hash, open_store, result_lines
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.data.dataset import Dataset
from slide_gui.data.files import check_folder, folder_files
from slide_gui.error_rate import ClassRates, ErrorRate
from slide_gui.experiments.files.session import SessionRecord, picture_text
from slide_gui.experiments.files.source import DataSource
from slide_gui.experiments.inspection.decision import Decider, Decision, Flip
from slide_gui.experiments.runs.cost import RunShape, typical_seconds
from slide_gui.experiments.runs.result import RunResult
from slide_gui.experiments.runs.run import restore
from slide_gui.experiments.runs.spec import METHODS, RunSpec, SweepPoint, SweepSpec, on_every_fold
from slide_gui.experiments.runs.splits import Classes, divided_as
from slide_gui.experiments.store.store import RunStore, get_or_run
from slide_gui.experiments.sweeps.selection import PointResult, best_words, chosen_places, mean_rate
from slide_gui.experiments.sweeps.sweep import SweepState, plan_sweep, run_sweep
from slide_gui.experiments.sweeps.trial import BUDGET, checked_budget, plan_trial, trial_seconds, try_data
from slide_gui.figures.export import save_bundle, save_export
from slide_gui.figures.run_exports import RUN_FIGURES, RunFigure, curves_export, trial_export
from slide_gui.figures.style import Style
from slide_gui.text import label_names, pixel_name, place_name, significant

_FIGURES = (".pdf", ".svg", ".png", ".csv")
_MOST = 1000  # largest number of splits in a sweep


def _train_options(parser: argparse.ArgumentParser) -> None:
    options.add_data(parser, every_fold=True)
    options.add_stack_options(parser, of_runs=True)
    options.add_run_options(parser)
    options.add_network_options(parser)
    options.add_method_options(parser)
    text = "index of the split (default: 0); splits 0 to 4 are the folds of one cross-validation"
    parser.add_argument("--split", type=int, default=0, metavar="N", help=text)
    text = "load the run from this run store, or compute it and add it to the store"
    parser.add_argument("-o", "--output", dest="store", type=Path, metavar="STORE", help=text)
    text = "save a figure; formats: .pdf, .svg, .png, and .csv for the numbers; "
    text += "the file name must begin with 'confusion' (confusion matrix) or 'widths' (progress of width learning)"
    parser.add_argument("--figure", type=Path, nargs="+", default=[], metavar="FILE", help=text)
    options.add_save_model(parser)


def _train(arguments: argparse.Namespace) -> int:
    figures = {path: _run_figure(path) for path in arguments.figure}
    for option, outputs in (("--save-model", arguments.save_model), ("--figure", figures)):
        if outputs and arguments.folds is not None:
            raise UsageError(f"{option} is for one run, but --folds trains several runs; leave out one of them")
    source, output = options.data_source(arguments, evaluate=arguments.evaluate), arguments.store
    options.check_outputs(arguments, [*arguments.figure, arguments.save_model], [source])
    options.check_model_output(arguments.save_model)
    choices = options.run_choices(arguments) | {"split": arguments.split, "seed": arguments.seed}
    method = METHODS[choices["method"]]
    if arguments.save_model is not None and not method.plain:
        raise UsageError(f"--save-model cannot save {method.text}; use --method slide-svm, median or raw-svm")

    def check(base: RunSpec) -> None:
        learns = base.checked().svm.widths == "learn" and METHODS[base.method].learns
        if not learns and RUN_FIGURES["widths"] in figures.values():
            raise ValueError("--figure widths is not available, because this run learns no widths; leave it out")

    dataset, base = _checked_and_read(arguments, source, choices, check)
    spec = base.checked()
    # The labels are checked now, so that unusable labels raise an error before a run store is created.
    Classes.of(dataset, tested=spec.evaluate == "test")
    options.warn_of_threshold(dataset, spec.stack)
    results = [_stored_or_new(dataset, each, output) for each in on_every_fold(spec, dataset)]
    if dataset.held_out is not None and dataset.held_out.folds:
        return _print_folds(dataset, results, arguments)
    (result,) = results
    session = picture_text(SessionRecord(source, dataset.fingerprint, spec.stack, page="classifier"))
    for path, figure in figures.items():
        save_export(path, figure.export(result, dataset.label_names), Style(), session)
    names = label_names(result.labels, dataset.label_names)
    document = {**describe_result(result), "label_names": names, "output": output, "figures": arguments.figure}
    lines, rates = list(result_lines(result)), ClassRates.of(result.confusion, names)
    lines[2:2] = filter(None, [rates.sentence])
    print_answer(arguments, document | rates.document, lines, arguments.figure)
    return options.save_trained(arguments, dataset, result)


def _checked_and_read(
    arguments: argparse.Namespace, source: DataSource, choices: Mapping[str, Any], check: Callable[[RunSpec], object]
) -> tuple[Dataset, RunSpec]:
    """Check the arguments that specify a run, and read the data. Return the data set and the `RunSpec`.

    `check` raises a ValueError for an invalid specification, before the data are read.
    """
    stack, svm = options.stack_parameters(arguments), options.svm_parameters(arguments)
    with usage():
        base = RunSpec("", source.argument, **{"stack": stack, "svm": svm, **choices})
        check(base)
    options.refuse_unused(arguments, base)
    dataset = options.read_data(source)
    return dataset, replace(base, fingerprint=dataset.fingerprint, held_out=dataset.held_out)


def _print_folds(dataset: Dataset, results: Sequence[RunResult], arguments: argparse.Namespace) -> int:
    """Print the result of each fold and the error over all folds, and return the exit code."""
    rates, part = [result.rate for result in results], results[0].spec.evaluate
    # Each row is in exactly one test set, so the folds are combined into one sample. Validation rows may be in several
    # folds, so the errors of the folds are averaged.
    rate = ErrorRate.of_folds(rates) if part == "test" else ErrorRate.of_splits(rates)
    wrong, n = sum(len(result.misclassified) for result in results), sum(each.n for each in rates)
    together = f"{dataset.title}: {len(results)} folds, {part} error {rate}, {wrong} of {n} rows misclassified"
    together += "; each row is in the test set once" * (part == "test")
    lines = [line for result in results for line in (*result_lines(result), "")]
    labels = np.unique(np.concatenate([result.labels for result in results]))
    confusion, names = np.zeros((len(labels), len(labels)), np.int64), label_names(labels, dataset.label_names)
    for result in results:
        # A class that is missing from the training set of a fold is the last one in the matrix of this fold.
        places = np.searchsorted(labels, result.labels)
        confusion[np.ix_(places, places)] += result.confusion
    classes = ClassRates.of(confusion, names)
    folds = [describe_result(result) for result in results]
    document = {**describe_rate(rate), "label_names": names, "output": arguments.store, "folds": folds}
    document |= classes.document if part == "test" else {}
    return print_answer(arguments, document, [*lines, together, *filter(None, [classes.sentence] * (part == "test"))])


def _stored_or_new(dataset: Dataset, spec: RunSpec, output: Path | None) -> RunResult:
    """Return the result of a run.

    The result is loaded from the store `output` if the store contains it. Otherwise the run is computed, and stored if
    `output` is given.
    """
    with nullcontext() if output is None else RunStore(output) as store, progress_bar("training") as progress:
        if store is None or not store.hashes(spec.hash):
            announce(typical_seconds(spec, RunShape.of(dataset)))
        return get_or_run(dataset, spec, store, progress=progress)


def _run_figure(path: Path) -> RunFigure:
    """Return the figure whose name begins the file name, such as the confusion matrix for ``confusion.pdf``."""
    for name, figure in RUN_FIGURES.items():
        if path.name.startswith(name) and path.suffix.lower() in _FIGURES:
            return figure
    names = " or ".join(RUN_FIGURES)
    raise UsageError(f"--figure {str(path)!r}: the name must begin with {names} and end in .pdf, .svg, .png or .csv")


def _sweep_options(parser: argparse.ArgumentParser) -> None:
    options.add_data(parser, every_fold=True)
    options.add_stack_options(parser, axes=True, of_runs=True)
    options.add_run_options(parser)
    options.add_network_options(parser)
    options.add_cluster_options(parser)
    option = parser.add_argument_group("sweep").add_argument
    option("--splits", type=int, default=1, metavar="N", help="number of splits, 5 for cross-validation (default: 1)")
    option("--seeds", type=int, nargs="+", metavar="SEED", help="seeds for splits and classifiers (default: --seed)")
    option("--cold", action="store_true", help="do not start from the widths learned at the previous noise level")
    text = "select noise and depth by validation error, train with these values on the whole training set, and test; "
    text += "without --cold, the lower noise levels that provide the initial widths are tested too"
    option("--choose", action="store_true", help=text)
    text = "train on N labelled rows (default: all); with --choose, the tested model is trained on all rows"
    option("--labels", type=int, metavar="N", help=text)
    option("--dry-run", action="store_true", help="only print the number of runs and their estimated time")
    text = "with --choose: select one noise level and depth for all splits and seeds, by the mean validation error"
    option("--pooled", action="store_true", help=text)
    options.add_store(parser)
    text = "draw the curves (.pdf, .svg, .png or .csv); repeat the option for several files"
    parser.add_argument("--figure", type=Path, action="append", default=[], metavar="FILE", help=text)


def _sweep(arguments: argparse.Namespace) -> int:
    for path in arguments.figure:
        options.check_suffix(path, _FIGURES, "--figure")
    if not 1 <= arguments.splits <= _MOST:
        raise UsageError(f"--splits is {arguments.splits}; it must be from 1 to {_MOST}")
    if arguments.splits > 1 and arguments.training != "split":
        raise UsageError("--splits has no effect if all training rows are used; add --on-split")
    if arguments.choose and arguments.training != "split":
        raise UsageError("--choose needs validation rows; add --on-split")
    if arguments.pooled and not arguments.choose:
        raise UsageError("--pooled needs --choose; give both")
    for name in ("figure", "workers", "scheduler"):
        if arguments.dry_run and getattr(arguments, name):
            raise UsageError(f"--{name} has no effect with --dry-run; leave one of them out")
    usual, seeds = StackParameters(), arguments.seeds or [arguments.seed]
    noises, depths = arguments.noises or (usual.noise,), arguments.depths or (usual.depth,)
    where = options.cluster_choice(arguments)
    choices = options.run_choices(arguments)
    method = METHODS[choices["method"]]
    if not method.stacked and (arguments.depths or len(arguments.noises or ()) > method.network):
        remedy = "give one --noise, and leave out --depth" if method.network else "leave out --noise and --depth"
        raise UsageError(f"{method.key} has no SLIDE layers to compare; {remedy}")
    source = options.data_source(arguments, evaluate="test" if arguments.choose else arguments.evaluate)
    options.check_outputs(arguments, arguments.figure, [source])
    if arguments.seeds and arguments.seed and source.paths:
        raise UsageError("--seed has no effect on files if --seeds is given; leave one of them out")

    def sweep_of(base: RunSpec) -> SweepSpec:
        choose = ("pooled" if arguments.pooled else "each") if arguments.choose else "none"
        sweep = SweepSpec(base, noises, depths, tuple(range(arguments.splits)), tuple(seeds), choose=choose)
        if not arguments.cold:
            return sweep
        if all(point.spec.neighbour is None for point in sweep.points()):
            problem = "--cold has no effect on this sweep, because no run starts from the widths of another run"
            raise ValueError(f"{problem}; leave it out")
        return replace(sweep, warm=False)

    dataset, base = _checked_and_read(arguments, source, choices, lambda base: sweep_of(base).points())
    # The labels are checked now, so that unusable labels raise an error before a run store is created.
    Classes.of(dataset, tested=arguments.choose or base.evaluate == "test")
    sweep = sweep_of(base)
    options.warn_of_threshold(dataset, max(sweep.points(), key=lambda point: point.depth).spec.stack)
    opens_no_store = arguments.dry_run and not arguments.store.exists()
    with nullcontext() if opens_no_store else RunStore(arguments.store, read_only=arguments.dry_run) as store:
        plan = plan_sweep(sweep, dataset, () if store is None else store.runs())
        if store is None or arguments.dry_run:
            return print_answer(arguments, {"plan": asdict(plan)}, [f"{dataset.title}: {plan}"])
        print_line(str(plan), sys.stderr)
        with options.opened_cluster(where) as cluster, progress_bar("sweep") as progress:
            state = run_sweep(dataset, sweep, store, progress=progress, cluster=cluster)
    document = _sweep_document(dataset, sweep, state)
    session = picture_text(SessionRecord(source, dataset.fingerprint, state.done[0].point.spec.stack, page="curves"))
    for path in arguments.figure:
        save_export(path, curves_export(dataset, state.done), Style(), session)
    document |= {"store": arguments.store, "figures": arguments.figure, "plan": asdict(plan)}
    return print_answer(arguments, document, _sweep_lines(dataset, base, state), arguments.figure)


def _describe_point(answer: PointResult) -> dict[str, Any]:
    point = answer.point
    return {
        **{name: getattr(point, name) for name in ("noise", "depth", "split", "seed")},
        **({} if point.fold is None else {"fold": point.fold + 1}),
        "hash": point.spec.hash,
        **describe_rate(answer.rate),
        **{name: getattr(answer, name) for name in ("validation_error", "chosen_by", "seconds")},
    }


def _sweep_document(dataset: Dataset, sweep: SweepSpec, state: SweepState) -> dict[str, Any]:
    best = chosen_places(state.done)

    def place(point: SweepPoint) -> tuple[object, ...]:
        drawn = {"none": (), "pooled": (point.fold,), "each": (point.fold, point.split, point.seed)}[sweep.choose]
        return point.noise, point.depth, *drawn

    marked = {place(each.point) for each in state.chosen} if sweep.choose != "none" else set(best)
    return {
        "dataset": dataset.name,
        "generated": dataset.generated,
        "fingerprint": dataset.fingerprint,
        "held_out": None if dataset.held_out is None else asdict(dataset.held_out),
        **{name: getattr(sweep.base, name) for name in ("method", "training", "evaluate")},
        "best_on_validation": [{"noise": noise, "depth": depth} for noise, depth in best],
        "points": [
            {**_describe_point(answer), "best_on_validation": place(answer.point) in marked} for answer in state.done
        ],
        "chosen": [_describe_point(answer) for answer in state.final] or None,
        "chosen_mean": asdict(mean_rate(state.final, every_split=True)) if state.final else None,
        "faults": state.faults,
    }


def _sweep_lines(dataset: Dataset, base: RunSpec, state: SweepState) -> Iterator[str]:
    yield f"{dataset.title}: {base.method}, {base.evaluate} error in %"
    for fault in state.faults:
        yield f"run repeated: {fault}"
    has_folds = dataset.held_out is not None and dataset.held_out.folds > 0
    yield f"{'fold  ' if has_folds else ''}noise  depth  split  seed   error  validation  95 % CI      width criterion"
    for run in state.done:
        point = run.point
        validation = "" if run.validation_error is None else f"{100 * run.validation_error:.2f}"
        line = "" if point.fold is None else f"{point.fold + 1:4d}  "
        line += f"{point.noise:5g}  {point.depth:5d}  {point.split:5d}  {point.seed:4d}  {run.rate.value:>6}  "
        yield (line + f"{validation:>10}  {run.rate.interval:11}  {run.chosen_by}").rstrip()
    if METHODS[base.method].stacked:
        yield best_words(state.done)
    for run in state.final:
        point = run.point
        fold = "" if point.fold is None else f"fold {point.fold + 1}, "
        selected = f"selected {place_name(point.noise, point.depth)}; " * METHODS[base.method].stacked
        yield f"{fold}split {point.split}, seed {point.seed}: {selected}test error {run.rate}"
    if state.final:
        mean = mean_rate(state.final, every_split=True)
        spread = "" if mean.n_splits == 1 else f", standard deviation over splits {100 * mean.spread:.2f} %"
        yield f"mean test error {mean}, 95 % confidence interval over {mean.covers}{spread}"


def _try_options(parser: argparse.ArgumentParser) -> None:
    options.add_data(parser)
    options.add_cluster_options(parser)
    options.add_seed(parser)
    options.add_store(parser, " (default: not stored)")
    text = f"time limit in seconds (default: {BUDGET:g}); fast settings are tried first, then the best one is tested"
    parser.add_argument("--budget", type=options.parsed(checked_budget), default=BUDGET, metavar="SECONDS", help=text)
    text = "folder for the figure, its numbers, and a script that reproduces the figure"
    parser.add_argument("--out", type=Path, metavar="DIR", help=text)
    options.add_save_model(parser)


def _try(arguments: argparse.Namespace) -> int:
    where, source, folder = options.cluster_choice(arguments), options.data_source(arguments), arguments.out
    options.check_folder(arguments, folder, [source])
    options.check_outputs(arguments, [arguments.save_model], [source])
    options.check_model_output(arguments.save_model)
    dataset = options.read_data(source)
    # The trial is planned now, so that unusable data raise an error before a run store is created.
    plan = plan_trial(dataset, budget=arguments.budget)
    announce(min(trial_seconds(plan, dataset), arguments.budget))
    if folder is not None:
        # The run store may be created in this folder. The folder is marked as an output folder first, because a folder
        # that contains a file but has no mark is refused.
        with folder_files(folder, [name for name in check_folder(folder) if (folder / name).exists()]):
            pass
    stored = nullcontext() if arguments.store is None else RunStore(arguments.store)
    with stored as store, options.opened_cluster(where) as cluster, progress_bar("trying") as progress:
        given = {"budget": arguments.budget, "started": arguments.started}
        trial = try_data(dataset, source, store=store, progress=progress, cluster=cluster, **given)
    written = []
    if folder is not None:
        session = picture_text(SessionRecord(source, dataset.fingerprint, trial.result.spec.stack, page="curves"))
        written = save_bundle(folder, trial_export(trial, dataset, source), Style(), session)
    outputs = [*written, *filter(None, [arguments.save_model])]
    document = {"dataset": dataset.name, "fingerprint": dataset.fingerprint, **trial.document(), "outputs": outputs}
    print_answer(arguments, document, [f"{dataset.title}: {trial.sentence}", trial.details], written)
    return options.save_trained(arguments, dataset, trial.result)


def _decide_options(parser: argparse.ArgumentParser) -> None:
    options.add_data(parser)
    group = parser.add_argument_group("classifier")
    group.add_argument("--store", type=Path, required=True, metavar="FILE", help="run store that contains the run")
    group.add_argument("--run", dest="hash", required=True, metavar="HASH", help="hash of the run, or its first digits")
    options.add_image_options(parser)
    options.add_seed(parser)
    text = "do not search for the smallest set of features that changes the predicted class"
    parser.add_argument("--no-flip", action="store_true", help=text)


def _decide(arguments: argparse.Namespace) -> int:
    with open_store(arguments.store) as store:
        spec_hash = full_hash(store, arguments.hash)
        result = store.load(spec_hash)
    source = options.data_source(arguments)
    dataset = options.read_data(source)
    chosen = dataset.held_out
    # `train --folds` stores one run per fold. Without --fold, the stored run of any fold is therefore used.
    possible = [chosen] if chosen is None or arguments.fold is not None else chosen.each
    if source.held_out is not None and result.spec.held_out not in possible:
        raise UsageError("the run was not tested on this test set; leave out the options for the test set")
    dataset = divided_as(dataset, result.spec.fingerprint, result.spec.held_out)
    image, name = options.chosen_image(dataset, arguments)
    with progress_bar("deciding") as progress:
        decider = Decider(restore(dataset, result, progress=progress.part(0.0, 0.5)), dataset)
        image = image.astype(dataset.train.dtype)
        decision = decider.decide(decider.representation.transform(image[None])[0])
        flip = None if arguments.no_flip else decider.flip(image, progress.part(0.5, 1.0))
    names = label_names(decider.labels, dataset.label_names)
    document = {"image": name, "run": spec_hash, **_decision_document(decision, flip, names)}
    return print_answer(arguments, document, _decision_lines(document, dataset))


def _decision_document(decision: Decision, flip: Flip | None, names: Sequence[str]) -> dict[str, Any]:
    nearest = [
        {"row": each.row, "class": names[each.code], "kernel": each.kernel, "pull": each.pull, "shares": each.shares}
        for each in decision.nearest
    ]
    return {
        "class": names[decision.first],
        "second": names[decision.second],
        "margin": decision.margin,
        "votes": dict(zip(names, decision.votes, strict=True)),
        "margins": dict(zip(names, decision.margins, strict=True)),
        "shares": decision.shares,
        "nearest": nearest,
        "flip": flip and {"features": flip.features, "class": names[flip.code], "fewest": flip.fewest},
    }


def _decision_lines(document: dict[str, Any], dataset: Dataset) -> Iterator[str]:
    shape = dataset.image_shape
    margin = f"margin {document['margin']:.4g} over {document['second']}"
    yield f"{document['image']}: predicted as {document['class']}, {margin}"
    if len(document["votes"]) > 2:
        votes = sorted(document["votes"].items(), key=lambda vote: -vote[1])
        yield "votes: " + ", ".join(f"{name} {count}" for name, count in votes)
    for each in document["nearest"]:
        row, kernel, pull = each["row"] + 1, significant(each["kernel"], 3, unlike=1.0), each["pull"]
        yield f"support vector {row} ({each['class']}): kernel value {kernel}, adds {pull:+.3g} to the margin"
    flip = document["flip"]
    if flip is not None and flip["features"]:
        smaller = "no smaller set changes the predicted class" if flip["fewest"] else "a smaller set may suffice"
        extremes = "its minimum or maximum" if shape is None else "the minimum or maximum of all pixels"
        value = f"{extremes}, whichever is farther from the current value ({smaller})"
        features = "; ".join(pixel_name(k, shape, dataset.feature_names) for k in flip["features"])
        inputs = "features" if shape is None else "pixels (row, column)"
        yield f"the class becomes {flip['class']} if each of these {inputs} is set to {value}: {features}"
    elif flip is not None:
        yield "the search found no small set of features that changes the predicted class, but it did not try all sets"


COMMANDS: dict[str, Entry] = {
    "train": (_train_options, _train),
    "sweep": (_sweep_options, _sweep),
    "try": (_try_options, _try),
    "decide": (_decide_options, _decide),
}
