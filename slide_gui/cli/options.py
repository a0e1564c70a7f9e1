"""Arguments shared by several subcommands: the data, the stack, the classifier, the rows."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slide_gui.cli.console import UsageError, progress_bar, usage, warn
from slide_gui.text import counted

if TYPE_CHECKING:
    from slide_gui.core.baselines import Estimator
    from slide_gui.core.choices import Choice
    from slide_gui.core.slide.parameters import StackParameters
    from slide_gui.core.svm.parameters import SvmParameters
    from slide_gui.data.dataset import Dataset, HeldOut
    from slide_gui.data.lazy import LazyRows
    from slide_gui.data.reading import ParseOptions
    from slide_gui.experiments.files.model_file import FittedModel
    from slide_gui.experiments.files.session import Selection
    from slide_gui.experiments.files.source import DataSource
    from slide_gui.experiments.runs.spec import Method
    from slide_gui.experiments.sweeps.cluster import Cluster, ClusterChoice


def choice_help(meaning: str, table: Mapping[str, Choice], default: str) -> str:
    """Return the help of an option that takes a key of a table: its meaning, all keys, and the tip of each."""
    said = "; ".join(f"{key}: {choice.tip}" for key, choice in table.items())
    return f"{meaning} ({default}). {said}".replace("%", "%%")


def add_data(parser: argparse.ArgumentParser, *, every_fold: bool = False) -> None:
    """Add DATA, the data set of a subcommand, and the options for reading and dividing it."""
    parser.add_argument(
        "data",
        nargs="+",
        metavar="DATA",
        help="a data set by name (see: slide-gui datasets list), or the file or files of one data set",
    )
    add_data_options(parser, every_fold=every_fold)


def add_data_options(parser: argparse.ArgumentParser, *, every_fold: bool = False) -> None:
    """Add the options for reading files and for holding out rows of data without a test set.

    With `every_fold` the subcommand runs on all folds. Otherwise --fold selects one.
    """
    group = parser.add_argument_group("files of your own", "These options replace the guesses about a file.")
    group.add_argument(
        "--label-column", metavar="NAME", help="label column of a table: a name, a number from 1, or none"
    )
    names = group.add_mutually_exclusive_group()
    names.add_argument(
        "--header", action="store_true", default=None, help="the first line of a table names its columns"
    )
    names.add_argument("--no-header", dest="header", action="store_false", help="the first line of a table is a row")
    group.add_argument(
        "--shape", metavar="ROWSxCOLUMNS", help="size of the images, such as 28x28; none: rows are not images"
    )
    group.add_argument("--transposed", action="store_true", help="the images are stored column by column")
    group.add_argument(
        "--leave-out", metavar="NAME", action="append", help="column of a table to ignore; repeat for several columns"
    )
    scales = group.add_mutually_exclusive_group()
    scales.add_argument(
        "--scale",
        dest="scaled",
        action="store_true",
        default=None,
        help="scale each feature to 0 … 1 if the rows are not images",
    )
    scales.add_argument("--no-scale", dest="scaled", action="store_false", help="keep the values as they are")
    group.add_argument(
        "--bins",
        type=int,
        metavar="K",
        help="divide numeric labels into K ranges with about equal numbers of training rows; 0: each number is a class",
    )
    group.add_argument(
        "--group",
        metavar="NAME",
        help="a column of a table, such as the patient: rows with the same value stay on the same side of every split: "
        "training, validation and test rows, and the folds that select C and widths",
    )
    group = parser.add_argument_group(
        "test set", "Without a test set, a quarter of each class is held out. These options change that."
    )
    group.add_argument("--held-out", type=float, metavar="FRACTION", help="fraction to hold out, 0 to 0.9 (0.25)")
    group.add_argument("--split-seed", type=int, metavar="N", help="seed of the draw (0)")
    many = "divide the rows into K folds, each the test set once" if every_fold else "divide the rows into K folds"
    group.add_argument("--folds", type=int, metavar="K", help=many)
    if not every_fold:
        group.add_argument("--fold", type=int, metavar="J", help="fold that is the test set, from 1 (1)")


def data_source(arguments: argparse.Namespace, *, judges: str = "test") -> DataSource:
    """Return the data set that the arguments name, with the options for reading and dividing it.

    Parameters
    ----------
    judges : {"test", "validation"}
        Rows on which the command evaluates. With "validation" rows are held out only if the arguments request it.

    Raises
    ------
    UsageError
        If options exclude each other or are out of range.
    """
    return data_sources(arguments, [arguments.data], judges=judges)[0]


def read_options(arguments: argparse.Namespace) -> tuple[ParseOptions, HeldOut | None]:
    """Return the options for reading files and for holding out rows.

    Raises
    ------
    UsageError
        If options exclude each other or are out of range.
    """
    from slide_gui.data.reading import ParseOptions

    with usage():
        shape = None if arguments.shape is None else _shape(arguments.shape)
        left_out = tuple(arguments.leave_out or ())
        given = arguments.label_column, arguments.header, shape, arguments.transposed, left_out, arguments.scaled
        return ParseOptions(*given, bins=arguments.bins, group=arguments.group).checked(), _held_out(arguments)


def data_sources(
    arguments: argparse.Namespace, texts: Sequence[Sequence[str]], *, judges: str = "test"
) -> list[DataSource]:
    """Return several data sets, as `data_source` does."""
    from slide_gui.data.dataset import HeldOut
    from slide_gui.experiments.files.source import DataSource

    reading, held_out = read_options(arguments)
    if held_out is None and judges != "test":
        held_out = HeldOut(0.0)
    sources = [DataSource.of(each, arguments.seed) for each in texts]
    return [replace(source, reading=reading, held_out=held_out) for source in sources]


def picture_session(
    source: DataSource,
    fingerprint: str,
    parameters: StackParameters,
    page: str,
    selection: Selection | None = None,
    choices: tuple[tuple[str, str, str], ...] = (),
) -> str:
    """Return the session that a picture stores so that the window can show the same view."""
    from slide_gui.experiments.files.session import Selection, SessionRecord, picture_text

    return picture_text(SessionRecord(source, fingerprint, parameters, selection or Selection(), page, choices))


def files_source(arguments: argparse.Namespace) -> DataSource | None:
    """Return the source of the files in `data`, or None if no option about reading or dividing is given.

    Raises
    ------
    UsageError
        As `data_source`, and if a file is a session, which contains these options itself.
    """
    from slide_gui.data.reading import AS_GUESSED
    from slide_gui.experiments.files.session import SUFFIX

    arguments.seed = 0
    source = data_source(arguments)
    if source.reading == AS_GUESSED and source.held_out is None:
        return None
    for name in arguments.data:
        if name.lower().endswith(SUFFIX):
            raise UsageError(f"{name!r} is a session, which stores how its data are read; leave out the options")
    return replace(source, key="", paths=tuple(arguments.data))


def _shape(text: str) -> tuple[int, ...]:
    if text == "none":
        return ()
    sides = re.fullmatch(r"(\d{1,6})[x×](\d{1,6})", text)
    if sides is None:
        raise ValueError(f"--shape {text!r}: expected rows and columns, such as 28x28, or none")
    return int(sides[1]), int(sides[2])


def _held_out(arguments: argparse.Namespace) -> HeldOut | None:
    from slide_gui.data.dataset import HeldOut

    fold, seed = getattr(arguments, "fold", None), arguments.split_seed or 0
    if arguments.folds is not None:
        if arguments.held_out is not None:
            raise ValueError("--held-out and --folds exclude each other; give one of them")
        if arguments.folds < 2:
            raise ValueError(f"--folds is {arguments.folds}; it must be 2 or more")
        return HeldOut(0.0, seed, arguments.folds, 0 if fold is None else fold - 1).checked()
    if fold is not None:
        raise ValueError("--fold needs --folds; give both")
    if arguments.held_out is None:
        return None if arguments.split_seed is None else HeldOut(seed=seed).checked()
    return HeldOut(arguments.held_out, seed).checked()


def read_data(source: DataSource, label: str = "reading") -> Dataset:
    """Return the data set. Draw a progress bar on stderr while it is read, then print guesses to check."""
    with progress_bar(label) as progress:
        dataset = source.load(progress=progress)
    warn_of_guesses(dataset)
    return dataset


def warn_of_guesses(dataset: Dataset) -> None:
    """Print on stderr each uncertain guess about the files, for the user to check."""
    for guess in dataset.checks:
        if not guess.sure and guess.why != dataset.opened.unlabelled:  # the refusal of missing labels reports that one
            warn(f"{dataset.name}, please check: {guess.what} ({guess.why})")


def warn_of_threshold(dataset: Dataset, parameters: StackParameters) -> None:
    """Print a warning on stderr if hardly any feature differs between rows after the threshold."""
    from slide_gui.core.slide.stack import threshold_problem

    if problem := threshold_problem(dataset.train, parameters):
        warn(f"{dataset.name}: {problem}")


def check_outputs(
    arguments: argparse.Namespace,
    outputs: Sequence[Path],
    sources: Sequence[DataSource] = (),
    *,
    store: Path | None = None,
) -> None:
    """Refuse to overwrite an input or a store, before any data are read.

    Parameters
    ----------
    outputs : sequence of Path
        Files to write.
    sources : sequence of DataSource
        Data to read.
    store : Path, optional
        A store that the arguments do not name as ``store``.

    Raises
    ------
    UsageError
        If an output is an input, a store, or one of the store's files.
    """
    from slide_gui.data.files import check_outputs
    from slide_gui.experiments.store.database import store_files

    stores = [each for each in (store, getattr(arguments, "store", None)) if each is not None]
    with usage():
        check_outputs(outputs, [*_inputs(arguments, sources), *(path for each in stores for path in store_files(each))])


def refuse_existing(outputs: Iterable[Path]) -> None:
    """Refuse to replace default outputs, which the user did not name.

    Raises
    ------
    UsageError
        If one of them exists.
    """
    for output in outputs:
        if output.exists():
            raise UsageError(f"{output} exists; name it with -o to replace it")


def check_folder(arguments: argparse.Namespace, folder: Path | None, sources: Sequence[DataSource] = ()) -> None:
    """Refuse an output folder that contains the user's files, before any data are read.

    Raises
    ------
    UsageError
        If slide-gui did not write the folder's contents, or an input is in it.
    """
    from slide_gui.data.errors import DataError
    from slide_gui.data.files import check_folder

    if folder is None:
        return
    check_outputs(arguments, [folder], sources)
    with usage():
        check_folder(folder)
        for each in _inputs(arguments, sources):
            if folder.resolve() in each.resolve().parents:
                raise DataError(f"contains the input {each}; name another folder", str(folder))


def _inputs(arguments: argparse.Namespace, sources: Sequence[DataSource]) -> list[Path]:
    """Return the files and folders that a command reads."""
    named = (getattr(arguments, name, None) for name in ("image", "provenance", "scheduler"))
    return [*(path for source in sources for path in source.files()), *(Path(each) for each in named if each)]


def add_image_options(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add the options that select one image, and return their group."""
    group = parser.add_argument_group("image")
    group.add_argument("--row", type=int, default=0, metavar="N", help="index of the image, from 0 (0)")
    group.add_argument("--part", choices=("train", "test"), default="train", help="set that contains the image (train)")
    group.add_argument("--image", type=Path, metavar="FILE", help="read the image from this text file instead")
    return group


def chosen_image(dataset: Dataset, arguments: argparse.Namespace) -> tuple[Any, str]:
    """Return the selected image and its name."""
    if arguments.image is not None:
        from slide_gui.experiments.files.source import read_image

        values = read_image(arguments.image)
        if values.size != dataset.n_features:
            raise UsageError(
                f"{arguments.image} holds {values.size} numbers; {dataset.name} has {dataset.n_features} features"
            )
        return values, arguments.image.name
    rows = getattr(dataset, arguments.part)
    words = "training" if arguments.part == "train" else "test"
    if not 0 <= arguments.row < len(rows):
        raise UsageError(f"--row is {arguments.row}; the {words} set of {dataset.name} has {len(rows)} rows, from 0")
    return rows[arguments.row], f"{words} image {arguments.row + 1}"


def fit_data(dataset: Dataset | LazyRows, parameters: StackParameters, label: str = "fitting") -> FittedModel:
    """Return the fitted stack. Draw a progress bar on stderr while it is fitted."""
    from slide_gui.data.errors import DataError
    from slide_gui.data.lazy import LazyRows
    from slide_gui.experiments.files.model_file import fit_model

    if len(dataset.train) < 2:
        raise DataError(f"has {counted(len(dataset.train), 'row')}; at least two are needed to fit", dataset.name)
    if not isinstance(dataset, LazyRows):
        warn_of_threshold(dataset, parameters)
    with progress_bar(label) as progress:
        return fit_model(dataset, parameters, progress=progress)


def add_stack_options(parser: argparse.ArgumentParser, *, axes: bool = False) -> None:
    """Add --noise, --depth, the other parameters of a stack, and --seed. Options that are not given stay None.

    With `axes`, --noise and --depth each take a range or list of values.
    """
    from slide_gui.core.slide.parameters import FIT_ON, MOST_LAYERS, SQUASHINGS, StackParameters

    usual = StackParameters()
    group = parser.add_argument_group("stack")
    noise = "noise level, the probability that a feature is set to 0; 0 to below 1"
    if axes:
        group.add_argument(
            "--noise", metavar="AXIS", help=f"{noise}: FROM:TO:STEP with both ends, or A,B,… ({usual.noise:g})"
        )
        depths = f"numbers of layers, 0 to {MOST_LAYERS}: FROM:TO with both ends, or A,B,… ({usual.depth})"
        group.add_argument("--depth", metavar="AXIS", help=depths)
    else:
        group.add_argument("--noise", type=float, metavar="1−p", help=f"{noise} ({usual.noise:g})")
        group.add_argument(
            "--depth", type=int, metavar="L", help=f"number of layers, 0 to {MOST_LAYERS} ({usual.depth})"
        )
    group.add_argument("--threshold", type=float, metavar="T", help=f"threshold between layers ({usual.threshold:g})")
    squashings = choice_help("the function T between two layers", SQUASHINGS, usual.squashing)
    group.add_argument("--squashing", metavar="NAME", help=f"{squashings}; or that of an installed package")
    fit_on = choice_help("representation that a layer is fitted on", FIT_ON, usual.fit_on)
    group.add_argument("--fit-on", metavar="NAME", help=fit_on)
    group.add_argument("--ridge", type=float, metavar="R", help=f"added to the diagonal of E[Q] ({usual.ridge:g})")
    group.add_argument(
        "--dtype", metavar="NAME", help=f"type of rows and representations: float32 or float64 ({usual.dtype})"
    )
    group.add_argument("--batch-size", type=int, metavar="N", help=f"rows per block ({usual.batch_size})")
    parser.add_argument("--seed", type=int, default=0, help="seed of generated data, splits and classifiers (0)")


def stack_parameters(arguments: argparse.Namespace) -> StackParameters:
    """Return the stack parameters given, with the library's defaults for the others.

    Raises
    ------
    UsageError
        If a value is out of range.
    """
    from slide_gui.core.slide.parameters import StackParameters

    given = {item.name: getattr(arguments, item.name) for item in fields(StackParameters)}
    with usage():
        return StackParameters(**{name: value for name, value in given.items() if value is not None}).checked()


_SDA = (
    ("pretraining_rate", float, "learning rate of pre-training"),
    ("pretraining_epochs", int, "passes over the rows for each layer"),
    ("fine_tuning_rate", float, "learning rate of fine-tuning"),
    ("fine_tuning_epochs", int, "largest number of passes of fine-tuning"),
    ("patience", int, "epochs without a lower validation error after which fine-tuning stops"),
)


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the classifier and of the protocol."""
    from slide_gui.core.svm.criteria import LEARNED_BY
    from slide_gui.core.svm.parameters import LOSSES, WIDTHS, SvmParameters
    from slide_gui.experiments.runs.spec import EVALUATE, METHODS, TRAINING

    usual = SvmParameters()
    group = parser.add_argument_group("classifier")
    for name, meaning, table, default in (
        ("method", "representation and classifier", METHODS, "slide-svm, or custom if one of its parts is given"),
        ("widths", "kernel widths: σ_0,σ_1,… or one of these", WIDTHS, str(usual.widths)),
        ("criterion", "criterion that learning the widths minimises", LEARNED_BY, usual.criterion),
        ("loss", "cost of a point inside the margin", LOSSES, usual.loss),
    ):
        group.add_argument(f"--{name}", metavar="NAME", help=choice_help(meaning, table, default))
    group.add_argument("-C", type=float, metavar="C", help="trade-off (selected by cross-validation)")
    group.add_argument("--starts", type=int, metavar="N", help=f"starting points of learning ({usual.starts})")
    group.add_argument(
        "--subset", type=int, metavar="N", help=f"largest number of rows to learn the widths on ({usual.subset_size})"
    )
    group = parser.add_argument_group("rows")
    rows = group.add_mutually_exclusive_group()
    rows.add_argument(
        "--whole",
        dest="training",
        action="store_const",
        const="whole",
        default="whole",
        help=f"{TRAINING['whole'].tip} (default)",
    )
    rows.add_argument(
        "--on-split",
        dest="training",
        action="store_const",
        const="split",
        help=TRAINING["split"].tip.replace("%", "%%"),
    )
    judged = choice_help("rows to evaluate on", EVALUATE, "test")
    group.add_argument("--evaluate", metavar="PART", default="test", help=judged)
    group.add_argument("--test-rows", type=int, metavar="N", help="evaluate on a stratified subsample of N rows (all)")


def add_cluster_options(
    parser: argparse.ArgumentParser,
    title: str = "where to compute runs",
    about: str = "Default: one run after the other, in this process.",
) -> None:
    """Add the options --workers and --scheduler, which say where to compute."""
    group = parser.add_argument_group(title, about)
    group.add_argument(
        "--workers", type=int, default=0, metavar="N", help="N processes on this computer, with one thread each"
    )
    group.add_argument(
        "--scheduler",
        default="",
        metavar="ADDRESS",
        help="the workers of a Dask scheduler: tcp://HOST:PORT, tls://HOST:PORT, or the .json file that it writes",
    )


def cluster_choice(arguments: argparse.Namespace) -> ClusterChoice:
    """Return where to compute runs. Refuse an invalid choice before any data are read."""
    from slide_gui.experiments.sweeps.cluster import ClusterChoice

    with usage():
        return ClusterChoice(arguments.workers, arguments.scheduler).checked()


@contextmanager
def opened_cluster(choice: ClusterChoice) -> Iterator[Cluster | None]:
    """Connect to the workers that compute runs in place of this process. Yield None if there are none."""
    from slide_gui.experiments.sweeps.cluster import Cluster

    if choice.is_here:
        yield None
        return
    with Cluster(choice) as cluster:
        yield cluster


def add_method_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of one run that replace SLIDE or the SVM, and the number of labels."""
    from slide_gui.core.baselines import ESTIMATORS
    from slide_gui.core.sda.model import SdaParameters
    from slide_gui.experiments.runs.spec import FIT_ROWS

    usual = SdaParameters()
    group = parser.add_argument_group("representation")
    group.add_argument(
        "--kept",
        type=float,
        metavar="K",
        help="fraction of the variance (pca-svm, white-svm) or number of random directions (randproj-svm)",
    )
    group = parser.add_argument_group("autoencoders (sda-svm, sda)", "--noise is the masking noise of every layer.")
    units = ",".join(map(str, usual.n_units))
    group.add_argument("--units", metavar="N,N,…", help=f"hidden units of each layer ({units})")
    for name, kind, meaning in _SDA:
        said = f"{meaning} ({getattr(usual, name):g})"
        group.add_argument(f"--{name.replace('_', '-')}", type=kind, metavar="N" if kind is int else "R", help=said)
    group.add_argument("--rows-a-step", type=int, metavar="N", help=f"rows per mini-batch ({usual.batch_size})")
    group = parser.add_argument_group("scikit-learn")
    for name, place, example in (
        ("transformer", "SLIDE", "decomposition.PCA n_components=50"),
        ("classifier", "the SVM", "neighbors.KNeighborsClassifier n_neighbors=3"),
    ):
        classes = ", ".join(ESTIMATORS[name])
        group.add_argument(
            f"--{name}",
            nargs="+",
            metavar=("CLASS", "NAME=VALUE"),
            help=f"a {name} of scikit-learn in place of {place}, such as {example}; choices: {classes}",
        )
    group = parser.add_argument_group("labels")
    group.add_argument("--labels", type=int, metavar="N", help="train on N labelled rows, a stratified sample (all)")
    rows = choice_help("rows to fit the representation on, which uses no labels", FIT_ROWS, "training")
    group.add_argument("--fit-rows", metavar="ROWS", help=rows)


def svm_parameters(arguments: argparse.Namespace) -> SvmParameters:
    """Return the classifier's parameters given, with the library's defaults for the others."""
    from slide_gui.core.svm.parameters import SvmParameters

    given: dict[str, Any] = {
        "widths": None if arguments.widths is None else _widths(arguments.widths),
        "criterion": arguments.criterion,
        "loss": arguments.loss,
        "C": arguments.C,
        "starts": arguments.starts,
        "subset_size": arguments.subset,
    }
    with usage():
        return SvmParameters(**{name: value for name, value in given.items() if value is not None}).checked()


def run_choices(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the method with its parts, training, evaluate and test_rows, as arguments of a spec. Omit unset ones."""
    from slide_gui.core.choices import check_choice
    from slide_gui.experiments.runs.spec import METHODS

    given = {name: getattr(arguments, name, None) for name in ("kept", "labels", "fit_rows")}
    given |= {name: _estimator(name, arguments) for name in ("transformer", "classifier")}
    chosen = {name: value for name, value in given.items() if value is not None}
    places = {name: getattr(arguments, name) for name in ("training", "evaluate", "test_rows")}
    key = arguments.method or ("custom" if {"transformer", "classifier"} & chosen.keys() else "slide-svm")
    with usage():
        method = check_choice("method", key, METHODS)
    _check_projection(method, arguments)
    sda = _sda(arguments) if method.network else {}
    return {"method": key, **places, **chosen, **sda}


def _check_projection(method: Method, arguments: argparse.Namespace) -> None:
    if method.projection is None:
        return
    if not hasattr(arguments, "kept"):
        raise UsageError(f"--method {method.key} needs --kept, an option of slide-gui train; choose another method")
    try:
        method.projection.checked(arguments.kept, method.key)
    except ValueError as error:
        raise UsageError(f"--{error}") from None


def _sda(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the autoencoders' parameters given, with the library's defaults for the others."""
    from slide_gui.core.sda.model import SdaParameters

    given: dict[str, Any] = {name: getattr(arguments, name, None) for name, *_ in _SDA}
    given |= {"noise": arguments.noise, "batch_size": getattr(arguments, "rows_a_step", None)}
    units = getattr(arguments, "units", None)
    try:
        if units is not None:
            given["n_units"] = tuple(int(part) for part in units.split(","))
        parameters = SdaParameters(**{name: value for name, value in given.items() if value is not None})
        return {"sda": parameters.checked()}
    except ValueError as error:
        text = "--units: expected integers with commas between" if "int()" in str(error) else str(error)
        raise UsageError(text) from None


def _estimator(kind: str, arguments: argparse.Namespace) -> Estimator | None:
    words: Sequence[str] | None = getattr(arguments, kind, None)
    if words is None:
        return None
    from slide_gui.core.baselines import Estimator

    parameters = {}
    for word in words[1:]:
        name, mark, value = word.partition("=")
        if not mark or not name:
            raise UsageError(f"--{kind} {word!r}: expected NAME=VALUE after the class")
        try:
            parameters[name] = json.loads(value)
        except (ValueError, RecursionError):
            parameters[name] = value
    try:
        estimator = Estimator.of(words[0], parameters)
        estimator.make(kind, arguments.seed)
    except ValueError as error:
        raise UsageError(f"--{kind}: {error}") from None
    return estimator


def _widths(text: str) -> str | tuple[float, ...]:
    """Return the numbers of ``1,2.5``. Return other text unchanged for `SvmParameters` to check."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        return text
