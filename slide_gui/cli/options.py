"""Command-line arguments that several subcommands share, such as those for the data, the stack and the classifier."""

import argparse
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from slide_gui.cli.console import DONE, UsageError, print_line, progress_bar, usage, warn
from slide_gui.core.baselines import ESTIMATORS, Estimator
from slide_gui.core.choices import Choice, check_choice
from slide_gui.core.sda.model import SdaParameters
from slide_gui.core.slide.parameters import FIT_ON, MOST_LAYERS, SHARING, SQUASHINGS, StackParameters
from slide_gui.core.slide.stack import threshold_problem
from slide_gui.core.svm.criteria import LEARNED_BY
from slide_gui.core.svm.parameters import LOSSES, WIDTHS, SvmParameters
from slide_gui.data import files
from slide_gui.data.dataset import Dataset, HeldOut
from slide_gui.data.errors import DataError
from slide_gui.data.reading import AS_GUESSED, QUANTILES, Guess, ParseOptions
from slide_gui.experiments.files.model_file import FittedModel, fit_model, is_model_file, save_model, trained_model
from slide_gui.experiments.files.session import SUFFIX
from slide_gui.experiments.files.source import DataSource, read_image
from slide_gui.experiments.runs.result import RunResult
from slide_gui.experiments.runs.spec import EVALUATE, FIT_ROWS, METHODS, TRAINING, RunSpec, depth_axis, noise_axis
from slide_gui.experiments.store.database import store_files
from slide_gui.experiments.sweeps.cluster import Cluster, ClusterChoice
from slide_gui.text import counted

T = TypeVar("T")


def choice_help(meaning: str, table: Mapping[str, Choice], default: str) -> str:
    """Return the help text of an option whose value is a key of `table`.

    The text states the meaning and the default value of the option, and describes each key.
    """
    tips = "; ".join(f"{key}: {choice.tip}" for key, choice in table.items())
    return f"{meaning} (default: {default}). {tips}".replace("%", "%%")


def add_fields(
    group: argparse._ActionsContainer, usual: object, **meanings: str | tuple[str, Mapping[str, Choice]]
) -> None:
    """Add one option for each field of `usual` that is named in `meanings`.

    The option has the name and the type of the field, and its help text states the value in `usual` as the default. If
    the user does not give the option, its parsed value is None. Each value in `meanings` is a help text, or a help text
    and the allowed choices.
    """
    for name, meaning in meanings.items():
        default = getattr(usual, name)
        shown = f"{default:g}" if isinstance(default, float) else str(default)
        text = f"{meaning} (default: {shown})" if isinstance(meaning, str) else choice_help(*meaning, shown)
        metavar = {int: "N", float: "R"}.get(type(default), "NAME")
        group.add_argument(f"--{name.replace('_', '-')}", type=type(default), metavar=metavar, help=text)


def given(arguments: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Return the values of the named options, except options that the subcommand lacks or the user did not give."""
    return {name: value for name in names if (value := getattr(arguments, name, None)) is not None}


def parsed(read: Callable[[str], T]) -> Callable[[str], T]:
    """Return a function that converts the value of an option with `read`, for the argument `type` of `add_argument`.

    If `read` raises a ValueError, argparse reports its message.
    """

    def parse(text: str) -> T:
        try:
            return read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return parse


def integers(text: str) -> tuple[int, ...]:
    """Return the integers in a string such as ``50,100,200``.

    Raises
    ------
    ValueError
        If the string is not a list of integers separated by commas, each with at most nine digits.
    """
    if not re.fullmatch(r"\d{1,9}(,\d{1,9})*", text):
        raise ValueError(f"expected integers separated by commas, not {text!r}")
    return tuple(map(int, text.split(",")))


def add_seed(parser: argparse.ArgumentParser, meaning: str = "seed for generated data") -> None:
    """Add the option --seed."""
    parser.add_argument("--seed", type=int, default=0, help=f"{meaning} (default: 0)")


def add_store(parser: argparse._ActionsContainer, otherwise: str = "") -> None:
    """Add the option --store, which is required unless `otherwise` is given.

    `otherwise` is the end of the option's help text. It states the default, or when the option can be omitted.
    """
    text = f"run store whose runs are reused and to which new runs are added{otherwise}"
    parser.add_argument("--store", type=Path, required=not otherwise, metavar="FILE", help=text)


def add_data(parser: argparse.ArgumentParser, *, every_fold: bool = False) -> None:
    """Add DATA, the data set of a subcommand, and the options for reading and splitting it."""
    text = "a data set by name (see: slide-gui datasets list), or the file or files of one data set"
    parser.add_argument("data", nargs="+", metavar="DATA", help=text)
    add_data_options(parser, every_fold=every_fold)


def add_data_options(parser: argparse.ArgumentParser, *, every_fold: bool = False) -> None:
    """Add the options for reading files and for holding out rows of data without a test set.

    With `every_fold`, the subcommand runs on all folds. Otherwise the option --fold selects one fold.
    """
    about = "Without these options, slide-gui guesses how to read a file."
    option = parser.add_argument_group("your own files", about).add_argument
    add_table_options(option)
    text = "size of the images, such as 28x28, or none if the rows are not images"
    option("--shape", type=parsed(_shape), metavar="ROWSxCOLUMNS", help=text)
    option("--transposed", action="store_true", help="the images are stored column by column")
    text = "scale each feature to the range 0 to 1 (not allowed for images); --no-scale: do not scale the features, "
    text += "but still divide integer pixels, for example by 255"
    option("--scale", dest="scaled", action=argparse.BooleanOptionalAction, help=text)
    text = "replace each value by its quantile (0 to 1) in the training set, so that the median of each feature is 0.5"
    option("--quantiles", dest="scaled", action="store_const", const=QUANTILES, help=f"{text} (not allowed for images)")
    text = "divide numeric labels into K ranges with about equal numbers of training rows; 0: each number is a class"
    option("--bins", type=int, metavar="K", help=text)
    text = "name of a column, such as patient, that groups the rows; "
    text += "the rows of a group stay together when rows are divided into training, validation and test sets or folds"
    option("--group", metavar="NAME", help=text)
    about = "If there is no test set, these options select the rows to hold out (default: a quarter of each class)."
    option = parser.add_argument_group("test set", about).add_argument
    option("--held-out", type=float, metavar="FRACTION", help="fraction of rows to hold out, 0 to 0.9 (default: 0.25)")
    option("--split-seed", type=int, metavar="N", help="seed for drawing held-out rows or folds (default: 0)")
    text = "divide the rows into K folds" + "; each fold is used once as the test set" * every_fold
    option("--folds", type=int, metavar="K", help=text)
    if not every_fold:
        option("--fold", type=int, metavar="J", help="fold to use as the test set, from 1 to K (default: 1)")


def add_table_options(option: Callable[..., object]) -> None:
    """Add the options for reading the columns of a table."""
    option("--label-column", metavar="NAME", help="name or number (from 1) of the label column, or none")
    text = "the first line of the table contains column names; --no-header: the first line contains values"
    option("--header", action=argparse.BooleanOptionalAction, help=text)
    text = "column of a table to ignore; repeat the option for several columns"
    option("--leave-out", dest="left_out", metavar="NAME", action="append", default=[], help=text)


def add_save_model(parser: argparse.ArgumentParser) -> None:
    """Add the option --save-model."""
    text = "save the layers and the classifier to this file, for slide-gui predict and slide-gui features"
    parser.add_argument("--save-model", type=Path, metavar="MODEL.npz", help=text)


def save_trained(arguments: argparse.Namespace, dataset: Dataset, result: RunResult) -> int:
    """Save the model of a run if --save-model is given, and return the exit code for success.

    Call this function after the result of the run has been printed, so that an error during saving cannot prevent that.
    """
    output: Path | None = arguments.save_model
    if output is not None:
        with progress_bar("saving the model") as progress:
            save_model(output, trained_model(dataset, result, progress=progress))
        if not arguments.json:
            print_line(f"saved {output}")
    return DONE


def check_model_output(output: Path | None) -> None:
    """Refuse to overwrite a file that is not a model, before a run is computed.

    Raises
    ------
    UsageError
        If the output is a folder or a device, or an existing file that is not a model.
    """
    if output is not None and output.exists() and not output.is_file():
        raise UsageError(f"{output} exists and is not a regular file; choose another output")
    if output is not None and output.is_file() and output.stat().st_size and not is_model_file(output):
        raise UsageError(f"{output} exists and is not a slide-gui model; choose another output")


def _shape(text: str) -> tuple[int, ...]:
    if text == "none":
        return ()
    sides = re.fullmatch(r"(\d{1,6})[x×](\d{1,6})", text)
    if sides is None:
        raise ValueError(f"expected rows and columns, such as 28x28, or the word none; found {text!r}")
    return int(sides[1]), int(sides[2])


def data_source(
    arguments: argparse.Namespace, texts: Sequence[str] | None = None, *, evaluate: str = "test"
) -> DataSource:
    """Return the source of a data set, with the options for reading and splitting the data.

    Parameters
    ----------
    texts : sequence of str, optional
        Name or files of the data set; default: all values of DATA.
    evaluate : {"test", "validation"}
        Rows on which the command evaluates. With "validation", a test set is held out only if the arguments request it.

    Raises
    ------
    UsageError
        If options cannot be used together, or a value is out of range.
    """
    with usage():
        reading, held_out = read_options(arguments), _held_out(arguments)
    if held_out is None and evaluate != "test":
        held_out = HeldOut(0.0)
    if arguments.seed < 0:
        raise UsageError(f"--seed is {arguments.seed}; give an integer of 0 or more")
    source = DataSource.of(arguments.data if texts is None else texts, arguments.seed)
    if source.key and reading != AS_GUESSED:
        raise UsageError(f"{source.key} is a benchmark data set; leave out the options for reading files")
    return replace(source, reading=reading, held_out=held_out)


def read_options(arguments: argparse.Namespace) -> ParseOptions:
    """Return the options for reading files, with defaults for those that the subcommand lacks or the user did not give.

    Raises
    ------
    ValueError
        If options cannot be used together, or a value is out of range.
    """
    chosen = given(arguments, *(item.name for item in fields(ParseOptions)))
    return ParseOptions(**chosen | {"left_out": tuple(arguments.left_out)}).checked()


def files_source(arguments: argparse.Namespace) -> DataSource | None:
    """Return the source of the files in DATA, or None if the user gives no option for reading or splitting the data.

    Raises
    ------
    UsageError
        If options cannot be used together, a value is out of range, or options are given for a session file, which
        stores its own options.
    """
    arguments.seed = 0
    source = data_source(arguments)
    if source.reading == AS_GUESSED and source.held_out is None:
        return None
    for name in arguments.data:
        if name.lower().endswith(SUFFIX):
            raise UsageError(f"{name!r} is a session, which stores the options for its files; leave out all options")
    return replace(source, key="", paths=tuple(arguments.data))


def _held_out(arguments: argparse.Namespace) -> HeldOut | None:
    fold, seed = getattr(arguments, "fold", None), arguments.split_seed or 0
    if arguments.folds is not None:
        if arguments.held_out is not None:
            raise ValueError("--held-out and --folds cannot be used together; give only one")
        if arguments.folds < 2:
            raise ValueError(f"--folds is {arguments.folds}; it must be 2 or more")
        if fold is not None and fold < 1:
            raise ValueError(f"--fold is {fold}; folds are numbered from 1")
        return HeldOut(0.0, seed, arguments.folds, 0 if fold is None else fold - 1).checked()
    if fold is not None:
        raise ValueError("--fold needs --folds; give both")
    if arguments.held_out is None:
        return None if arguments.split_seed is None else HeldOut(seed=seed).checked()
    if arguments.held_out == 0 and arguments.split_seed is not None:
        raise ValueError("--split-seed has no effect with --held-out 0; leave one of them out")
    return HeldOut(arguments.held_out, seed).checked()


def read_data(source: DataSource) -> Dataset:
    """Return the data of a source. Show progress on stderr, and warn if it is uncertain how to read the files.

    Missing labels cause no warning, because commands that need labels report an error.
    """
    for path in source.paths:
        if not Path(path).exists():
            raise DataError("does not exist; give a file, or a name from slide-gui datasets list", path)
    with progress_bar(f"reading {source.argument}") as progress:
        dataset = source.load(progress=progress)
    warn_of_guesses(dataset.name, (guess for guess in dataset.checks if guess.why != dataset.opened.unlabelled))
    return dataset


def warn_of_guesses(name: str, guesses: Iterable[Guess]) -> None:
    """Print on stderr each uncertain guess about how to read the files, so that the user can check the guess."""
    for guess in guesses:
        if not guess.sure:
            warn(f"{name}, please check: {guess.what} ({guess.why})")


def warn_of_threshold(dataset: Dataset, parameters: StackParameters) -> None:
    """Print a warning on stderr if hardly any feature differs between rows after the threshold is applied."""
    if problem := threshold_problem(dataset.train, parameters):
        warn(f"{dataset.name}: {problem}")


def check_outputs(
    arguments: argparse.Namespace, outputs: Iterable[Path | None], sources: Sequence[DataSource] = ()
) -> None:
    """Refuse to overwrite an input, the store ``arguments.store`` or another output, before any data are read.

    Parameters
    ----------
    outputs : iterable of Path
        Files to write. Entries that are None are skipped.
    sources : sequence of DataSource
        Data to read.

    Raises
    ------
    UsageError
        If an output is an input, a store, or one of the store's files, or if two outputs are the same file.
    """
    store = getattr(arguments, "store", None)
    inputs = [*_inputs(arguments, sources), *(() if store is None else store_files(store))]
    written = [path for path in outputs if path is not None]
    with usage():
        files.check_outputs(written, inputs)
    if len({path.resolve() for path in written}) < len(written):
        raise UsageError(f"two of the outputs {', '.join(map(str, written))} are the same file; give each its own name")


def check_suffix(output: Path, suffixes: Sequence[str], option: str = "") -> None:
    """Refuse an output file whose suffix is not allowed. The error message begins with the name of the option.

    Raises
    ------
    UsageError
        If the suffix is not one of `suffixes`.
    """
    if output.suffix.lower() not in suffixes:
        raise UsageError(f"{option} {str(output)!r} must end in {' or '.join(', '.join(suffixes).rsplit(', ', 1))}")


def refuse_existing(outputs: Iterable[Path]) -> None:
    """Refuse to overwrite outputs. This check is for default file names, which the user did not choose.

    Raises
    ------
    UsageError
        If one of the outputs exists.
    """
    for output in outputs:
        if output.exists():
            raise UsageError(f"{output} exists; give its name with -o to replace it")


def check_folder(arguments: argparse.Namespace, folder: Path | None, sources: Sequence[DataSource] = ()) -> None:
    """Refuse an output folder that contains the user's files, before any data are read.

    Raises
    ------
    UsageError
        If the path is a file, or the folder contains an input of the command or files that slide-gui did not write.
    """
    if folder is None:
        return
    check_outputs(arguments, [folder], sources)
    with usage():
        files.check_folder(folder)
        for each in _inputs(arguments, sources):
            if folder.resolve() in each.resolve().parents:
                raise DataError(f"this folder contains the input {each}; choose another folder", str(folder))


def _inputs(arguments: argparse.Namespace, sources: Sequence[DataSource]) -> list[Path]:
    """Return the files and folders that a command reads."""
    named = (getattr(arguments, name, None) for name in ("image", "provenance", "scheduler"))
    return [*(path for source in sources for path in source.files()), *(Path(each) for each in named if each)]


def add_image_options(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add a group of options that select one image, and return the group."""
    group = parser.add_argument_group("image")
    group.add_argument("--row", type=int, default=0, metavar="N", help="index of the image, starting at 0 (default: 0)")
    text = "take the image from the training set or the test set (default: train)"
    group.add_argument("--part", choices=("train", "test"), default="train", help=text)
    group.add_argument("--image", type=Path, metavar="FILE", help="read the image from this text file, not from DATA")
    return group


def chosen_image(dataset: Dataset, arguments: argparse.Namespace) -> tuple[Any, str]:
    """Return the selected image and its name."""
    if arguments.image is not None:
        if arguments.row or arguments.part != "train":
            raise UsageError("--image replaces --row and --part; leave them out")
        values, n = read_image(arguments.image), dataset.n_features
        if values.size != n:
            raise UsageError(f"{arguments.image} has {values.size} numbers; {dataset.name} needs {n}, one per feature")
        if abs(values).max() > 2 * max(1.0, abs(dataset.train).max()):
            warn(f"numbers in {arguments.image} exceed the range of {dataset.name}; scale them to 0 … 1")
        return values, arguments.image.name
    rows = getattr(dataset, arguments.part)
    words = "training" if arguments.part == "train" else "test"
    if not 0 <= arguments.row < len(rows):
        raise UsageError(f"--row is {arguments.row}; {dataset.name} has {len(rows)} {words} rows, numbered from 0")
    return rows[arguments.row], f"{words} {'image' if dataset.image_shape else 'row'} {arguments.row + 1}"


def fit_data(dataset: Dataset, parameters: StackParameters) -> FittedModel:
    """Fit a stack to the training rows and return the model. Draw a progress bar on stderr during the fit."""
    if len(dataset.train) < 2:
        raise DataError(f"has {counted(len(dataset.train), 'row')}; a fit needs at least two", dataset.name)
    warn_of_threshold(dataset, parameters)
    with progress_bar(f"fitting {dataset.name}") as progress:
        return fit_model(dataset, parameters, progress=progress)


def add_stack_options(parser: argparse.ArgumentParser, *, axes: bool = False, of_runs: bool = False) -> None:
    """Add --noise, --depth, the other parameters of a stack, and --seed.

    If the user does not give an option, its parsed value is None, except for --seed, whose default is 0. With `axes`,
    --noise and --depth each take a range or list of values, stored as `noises` and `depths`. With `of_runs`, the
    seed also applies to splits and classifiers.
    """
    usual = StackParameters()
    group = parser.add_argument_group("stack")
    noise = "noise level: the probability, from 0 to below 1, that a feature is set to 0"
    depth = f"0 to {MOST_LAYERS}"
    if axes:
        option = partial(group.add_argument, metavar="AXIS")
        noise += f"; give a range FROM:TO:STEP (both ends included) or a list A,B,… (default: {usual.noise:g})"
        option("--noise", dest="noises", type=parsed(noise_axis), help=noise)
        depth = f"numbers of layers, {depth}; a range FROM:TO (ends included) or a list A,B,… (default: {usual.depth})"
        option("--depth", dest="depths", type=parsed(depth_axis), help=depth)
    else:
        add_fields(group, usual, noise=noise, depth=f"number of layers, {depth}")
    add_fields(
        group,
        usual,
        threshold="threshold t of the function T applied between two layers",
        squashing=("function T applied between two layers", SQUASHINGS),
        fit_on=("representation to which each layer is fitted", FIT_ON),
        ridge="constant added to the diagonal of E[Q], the expected scatter matrix of the corrupted rows",
        dtype="numeric type of rows and representations: float32 or float64",
        batch_size="number of rows processed at a time",
        sharing=("sharing of weights", SHARING),
        window="side length of the convolution kernel in pixels, an odd number; needs --sharing convolution",
    )
    add_seed(parser, "seed for generated data" + ", splits and classifiers" * of_runs)


def stack_parameters(arguments: argparse.Namespace) -> StackParameters:
    """Return the stack parameters from the arguments, with the library's defaults for those not given.

    Raises
    ------
    UsageError
        If a value is out of range, or if --window or --threshold has no effect on the stack.
    """
    with usage():
        parameters = StackParameters(**given(arguments, *(item.name for item in fields(StackParameters)))).checked()
    if given(arguments, "window") and parameters.sharing == "none":
        raise UsageError("--window needs --sharing convolution; give both")
    # The default threshold is accepted, because earlier versions wrote it to the command of every exported figure.
    if not parameters.function.uses_threshold and parameters.threshold != StackParameters().threshold:
        raise UsageError(f"--threshold has no effect with --squashing {parameters.squashing}; leave one of them out")
    return parameters


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of a run: method, classifier, rows to train and evaluate on, and size of the representation."""
    usual = SvmParameters()
    group = parser.add_argument_group("classifier")
    default = "slide-svm, or custom if a scikit-learn estimator is given"
    offered = {key: method for key, method in METHODS.items() if not method.averages}
    text = choice_help("representation and classifier", offered, default)
    group.add_argument("--method", metavar="NAME", help=text)
    text = choice_help("kernel widths: numbers σ_0,σ_1,… or a name", WIDTHS, str(usual.widths))
    group.add_argument("--widths", type=_widths, metavar="NAME", help=text)
    add_fields(
        group,
        usual,
        criterion=("criterion minimised when the widths are learned", LEARNED_BY),
        loss=("penalty for rows that are misclassified or have a margin below 1", LOSSES),
        starts="number of starting points for learning the widths",
    )
    group.add_argument("-C", type=float, metavar="C", help="penalty for errors (default: selected by cross-validation)")
    text = f"largest number of rows on which the widths are learned (default: {usual.subset_size})"
    group.add_argument("--subset", dest="subset_size", type=int, metavar="N", help=text)
    text = "largest number of rows on which the selected widths and C are finally adjusted"
    add_fields(group, usual, retune_rows=text)
    group = parser.add_argument_group("rows")
    rows = group.add_mutually_exclusive_group()
    for flag, key, more in (("--whole", "whole", " (default)"), ("--on-split", "split", "")):
        text = TRAINING[key].tip.replace("%", "%%") + more
        rows.add_argument(flag, dest="training", action="store_const", const=key, default="whole", help=text)
    text = choice_help("rows to evaluate on", EVALUATE, "test")
    group.add_argument("--evaluate", metavar="PART", default="test", help=text)
    text = "with --evaluate test: evaluate on a stratified sample of N test rows (default: all)"
    group.add_argument("--test-rows", type=int, metavar="N", help=text)
    group = parser.add_argument_group("representation")
    text = "required fraction of variance (pca-svm, white-svm, slide-white-svm) or number of directions (randproj-svm)"
    group.add_argument("--kept", type=float, metavar="K", help=text)


def add_cluster_options(parser: argparse.ArgumentParser) -> None:
    """Add the options --workers and --scheduler, which select the processes that compute the runs."""
    about = "By default, one process computes all runs, one after another."
    group = parser.add_argument_group("where to compute runs", about)
    text = "compute in N processes on this computer, with one thread each"
    group.add_argument("--workers", type=int, default=0, metavar="N", help=text)
    text = "compute on the workers of the Dask scheduler with this address (tcp://… or tls://…) or .json file"
    group.add_argument("--scheduler", default="", metavar="ADDRESS", help=text)


def cluster_choice(arguments: argparse.Namespace) -> ClusterChoice:
    """Return the user's choice of where to compute runs. Refuse an invalid choice before any data are read."""
    with usage():
        return ClusterChoice(arguments.workers, arguments.scheduler).checked()


def opened_cluster(choice: ClusterChoice) -> AbstractContextManager[Cluster | None]:
    """Return a context manager that yields a connection to the workers, or None if this process computes the runs."""
    return nullcontext() if choice.is_here else Cluster(choice)


_SDA = {
    "pretraining_rate": "learning rate of pre-training, by which the summed gradient of a batch is multiplied",
    "pretraining_epochs": "pre-training epochs (passes over the rows) for each layer",
    "fine_tuning_rate": "learning rate of fine-tuning, by which the summed gradient of a batch is multiplied",
    "fine_tuning_epochs": "largest number of fine-tuning epochs",
    "patience": "number of epochs without a lower validation error after which fine-tuning stops",
}


def add_network_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `slide-gui train` and `slide-gui sweep` for autoencoders."""
    usual = SdaParameters()
    about = f"--noise is one noise level, which applies to every layer (default: {usual.noise:g})."
    group = parser.add_argument_group("autoencoders (sda-svm, sda)", about)
    text = f"hidden units of each layer (default: {','.join(map(str, usual.n_units))})"
    group.add_argument("--units", dest="n_units", type=parsed(integers), metavar="N,N,…", help=text)
    add_fields(group, usual, **_SDA)
    group.add_argument("--rows-a-step", type=int, metavar="N", help=f"mini-batch size (default: {usual.batch_size})")


def add_method_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `slide-gui train` for scikit-learn estimators and training on few labels."""
    group = parser.add_argument_group("scikit-learn")
    for name, place, example in (
        ("transformer", "SLIDE", "decomposition.PCA n_components=50"),
        ("classifier", "the SVM", "neighbors.KNeighborsClassifier n_neighbors=3"),
    ):
        choices = ", ".join(ESTIMATORS[name])
        text = f"a scikit-learn {name} to use in place of {place}, such as {example}; choices: {choices}"
        group.add_argument(f"--{name}", nargs="+", metavar=("CLASS", "NAME=VALUE"), help=text)
    group = parser.add_argument_group("labels")
    text = "train on a stratified sample of N labelled rows (default: all)"
    group.add_argument("--labels", type=int, metavar="N", help=text)
    text = choice_help("rows to which the representation is fitted, without using labels", FIT_ROWS, "training")
    group.add_argument("--fit-rows", metavar="ROWS", help=text)


_SVM = ("widths", "criterion", "loss", "C", "starts", "subset_size", "retune_rows")
_FLAGS = {"n_units": "--units", "subset_size": "--subset", "C": "-C"}


def svm_parameters(arguments: argparse.Namespace) -> SvmParameters:
    """Return the parameters of the classifier from the arguments, with defaults for those not given."""
    with usage():
        return SvmParameters(**given(arguments, *_SVM)).checked()


def run_choices(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return keyword arguments for `RunSpec`: the method, its estimators, and the rows to train and evaluate on."""
    chosen = given(arguments, "kept", "labels", "fit_rows")
    parts = {name: _estimator(name, arguments) for name in given(arguments, "transformer", "classifier")}
    places = {name: getattr(arguments, name) for name in ("training", "evaluate", "test_rows")}
    # With --choose, the selected model is tested, even if candidates are evaluated on validation rows.
    is_tested = arguments.evaluate != "validation" or getattr(arguments, "choose", False)
    if not is_tested and given(arguments, "test_rows"):
        raise UsageError("--test-rows has no effect with --evaluate validation; leave one of them out")
    key = arguments.method or ("custom" if parts else "slide-svm")
    with usage():
        method = check_choice("method", key, {name: each for name, each in METHODS.items() if not each.averages})
    if method.projection is not None:
        try:
            method.projection.checked(arguments.kept, method.key)
        except ValueError as error:
            raise UsageError(f"--{error}") from None
    sda = {"sda": _sda_parameters(arguments)} if method.network else {}
    return {"method": key, **places, **chosen, **parts, **sda}


def refuse_unused(arguments: argparse.Namespace, base: RunSpec) -> None:
    """Refuse an option that has no effect on a run, such as --widths for a method that does not use it.

    An option has no effect if `RunSpec.checked` resets its value. At depth 0, the options of a stack are accepted, so
    that a script can use the same options at every depth.

    Raises
    ------
    UsageError
        If an option has no effect.
    """
    used, on_split = _used_values(base), _used_values(replace(base, training="split"))
    names = [*_SVM, *vars(base.stack), "split", "kept", "labels", "fit_rows", "n_units", *_SDA, "rows_a_step"]
    for name, value in given(arguments, *names).items():
        if value != used.get(name):
            remedy = "add --on-split" if on_split.get(name) == value else "leave it out"
            flag = _FLAGS.get(name, f"--{name.replace('_', '-')}")
            raise UsageError(f"{flag} has no effect on this run of method {base.method}; {remedy}")


def _used_values(base: RunSpec) -> dict[str, Any]:
    """Return the values of all options of a run. Values that the run does not use are replaced by their defaults."""
    spec = base.checked()
    values = vars(spec) | vars(spec.svm) | vars(base.stack if base.stacked else spec.stack)
    if spec.sda is None:
        return values
    # Without validation rows, fine-tuning completes all epochs, so the patience has no effect. `RunSpec.checked` does
    # not reset it, because the hashes of stored runs depend on it.
    unused = {"patience": SdaParameters().patience} if spec.training == "whole" else {}
    return values | vars(spec.sda) | {"rows_a_step": spec.sda.batch_size} | unused


def _sda_parameters(arguments: argparse.Namespace) -> SdaParameters:
    """Return the parameters of the autoencoders from the arguments, with defaults for those not given."""
    values = given(arguments, "n_units", "noise", *_SDA)
    for noise in getattr(arguments, "noises", None) or ():  # `slide-gui sweep` accepts one noise level for autoencoders
        values["noise"] = noise
    if (rows := getattr(arguments, "rows_a_step", None)) is not None:
        values["batch_size"] = rows
    with usage():
        return SdaParameters(**values).checked()


def _estimator(kind: str, arguments: argparse.Namespace) -> Estimator:
    name, *words = getattr(arguments, kind)
    parameters = {}
    for word in words:
        key, mark, value = word.partition("=")
        if not mark or not key:
            raise UsageError(f"--{kind} {word!r}: expected NAME=VALUE after the class name")
        try:
            parameters[key] = json.loads(value)
        except (ValueError, RecursionError):
            parameters[key] = value
    try:
        estimator = Estimator.of(name, parameters)
        estimator.make(kind, arguments.seed)
    except ValueError as error:
        raise UsageError(f"--{kind}: {error}") from None
    return estimator


def _widths(text: str) -> str | tuple[float, ...]:
    """Return the numbers in a string such as ``1,2.5``. Return other strings unchanged; `SvmParameters` checks them."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        return text
