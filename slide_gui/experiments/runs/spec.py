"""Specify runs and sweeps in frozen dataclasses. Runs with equal hashes have equal results."""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from typing import Any

from slide_gui.core.baselines import PCA, RANDOM_PROJECTION, WHITENED_PCA, Estimator, Projection
from slide_gui.core.choices import Choice, check_choice, table_of
from slide_gui.core.sda.model import SdaParameters
from slide_gui.core.slide.parameters import SHARING, StackParameters
from slide_gui.core.svm.parameters import LOSSES, SvmParameters
from slide_gui.core.validation import check_flag, check_integer, check_noise
from slide_gui.data.dataset import Dataset, HeldOut
from slide_gui.experiments.documents import from_document
from slide_gui.results_version import RESULTS_VERSION, version_in_hashes
from slide_gui.text import count, counted, layer_name, noise_and_keep


@dataclass(frozen=True)
class Method(Choice):
    """A method of classification, which consists of a representation and a classifier.

    Attributes
    ----------
    stacked : bool
        True if the representation includes SLIDE’s layers, which a scikit-learn transformer may replace.
    learns : bool
        True if the method learns one width per layer. Other methods with an SVM select C and one global width by
        cross-validation, or C and one common factor of the layers' median widths.
    network : bool
        True if the method uses stacked denoising autoencoders.
    fine_tunes : bool
        True if the fine-tuned network itself is the classifier.
    projection : Projection or None
        Linear projection of the input. It is the whole representation, or is added to SLIDE's layers. None if the
        method uses no projection.
    takes_parts : bool
        True if a scikit-learn transformer may replace SLIDE, or a scikit-learn classifier may replace the SVM.
    omits_input : bool
        True if the SVM uses the layers h¹, …, hˡ without the input h⁰.
    averages : bool
        True if the decision values are means of the decision values of several other runs (`RunSpec.members`).
    """

    stacked: bool = False
    learns: bool = False
    network: bool = False
    fine_tunes: bool = False
    projection: Projection | None = None
    takes_parts: bool = False
    omits_input: bool = False
    averages: bool = False

    @property
    def plain(self) -> bool:
        """True if the method is an SVM on the input alone, or on the input and all layers of SLIDE."""
        return not (self.network or self.projection or self.takes_parts or self.omits_input or self.averages)

    @property
    def regroups(self) -> bool:
        """True if the kernel omits the input h⁰, or has a separate width for the columns of a projection."""
        return self.omits_input or (self.stacked and self.projection is not None)


METHODS = table_of(
    Method("slide-svm", "SLIDE-SVM", "an SVM on SLIDE’s layers with one learned width per layer", True, True),
    Method("raw-svm", "Raw-SVM", "an SVM on the input, with width and C selected by cross-validation"),
    Method(
        "median",
        "SLIDE-SVM, median widths",
        "an SVM on SLIDE’s layers, with median widths multiplied by one factor, which is selected together with C",
        stacked=True,
    ),
    Method("pca-svm", "PCA-SVM", "an SVM on principal components with a given fraction of variance", projection=PCA),
    Method("white-svm", "White-SVM", "an SVM on principal components scaled to unit variance", projection=WHITENED_PCA),
    Method(
        "randproj-svm",
        "Rand Proj-SVM",
        "an SVM on projections onto Gaussian random directions",
        projection=RANDOM_PROJECTION,
    ),
    Method(
        "sda-svm",
        "SdA-SVM",
        "an SVM on the layers of stacked denoising autoencoders, with one learned width per layer",
        learns=True,
        network=True,
    ),
    Method(
        "sda",
        "SdA",
        "stacked denoising autoencoders, fine-tuned as a classifier",
        network=True,
        fine_tunes=True,
    ),
    Method(
        "custom",
        "scikit-learn",
        "a scikit-learn transformer in place of SLIDE, a scikit-learn classifier in place of the SVM, or both",
        stacked=True,
        takes_parts=True,
    ),
    Method(
        "slide-white-svm",
        "SLIDE + White",
        "an SVM with one learned width for each of SLIDE’s layers and one for whitened principal components",
        stacked=True,
        learns=True,
        projection=WHITENED_PCA,
    ),
    Method(
        "slide-svm-without-input",
        "SLIDE-SVM without h⁰",
        "SLIDE-SVM on h¹ and the layers above it, without the input h⁰",
        stacked=True,
        learns=True,
        omits_input=True,
    ),
    Method(
        "mean-margin",
        "SLIDE-SVM, mean of five",
        "the mean of the decision values of several SVMs",
        stacked=True,
        averages=True,
    ),
)

TRAINING = table_of(
    Choice("whole", "whole training set", "train on the whole training set"),
    Choice("split", "split", "train on 80 % of the training set, which leaves 20 % for validation"),
)

EVALUATE = table_of(
    Choice("test", "test", "evaluate on the test set"),
    Choice("validation", "validation", "evaluate on the validation rows of the split"),
)

FIT_ROWS = table_of(
    Choice("training", "fitted on all training rows", "fit the representation on the whole training set"),
    Choice("split", "fitted on the training rows of the split", "fit the representation on the split’s training rows"),
    Choice("labelled", "fitted on the labelled rows only", "fit the representation on the labelled rows only"),
)

CHOOSE = table_of(
    Choice("none", "nothing", "select neither noise level nor depth"),
    Choice("each", "for each split", "select noise and depth by validation error, separately for each split and seed"),
    Choice("pooled", "once for all splits", "select noise and depth once, by mean validation error over all splits"),
)


@dataclass(frozen=True)
class RunSpec:
    """The specification of a run: its data, its method, and the rows for training and evaluating the classifier.

    Attributes
    ----------
    fingerprint : str
        SHA-256 (hex) of the data, as in `Dataset.fingerprint`.
    source : str
        Source of the data, as in `DataSource.argument`. The hash does not depend on it, because files may be moved.
    method : str
        Key in `METHODS`.
    stack : StackParameters
        Parameters of SLIDE. Methods without SLIDE ignore them.
    svm : SvmParameters
        Parameters of the SVM. The values of `groups`, `seed` and `near` are replaced by values derived from other
        fields of the run. Methods that do not learn widths select them by a grid search. This search also selects C
        unless C is given.
    split : int
        Index of the split of the training set, as in `split_rows`.
    seed : int
        Seed of the split, of subsamples, and of methods that use random numbers.
    training : {"whole", "split"}
        Rows for training: the whole training set, or the 80 % of it that the split leaves for training.
    evaluate : {"test", "validation"}
        Rows for evaluation: the test set, or the split's validation rows.
    test_rows : int or None
        Size of the stratified subsample to evaluate on. None means all rows.
    neighbour : RunSpec or None
        Another run with the same training rows and depth. Its learned widths, C and coefficients are the starting point
        for this run. In a sweep, it is usually the run at the next lower noise level.
    kept : float or None
        Parameter of a projection: the fraction of the variance to keep (pca-svm, white-svm, slide-white-svm), or the
        number of random directions (randproj-svm).
    sda : SdaParameters or None
        Parameters of the autoencoders (sda-svm, sda). None means the defaults. Their seed is replaced by the seed of
        the run. Fine-tuning (sda) can stop early, depending on the error on the split's validation rows. If the run
        trains on the whole training set, fine-tuning completes all epochs.
    transformer, classifier : Estimator or None
        Replacements for SLIDE and for the SVM in the method "custom".
    labels : int or None
        Number of labelled rows, drawn as a stratified sample, on which the classifier is trained. None means all.
    fit_rows : {"training", "split", "labelled"}
        Rows to which the representation is fitted without labels: the whole training set, the training rows of the
        split, or only the labelled rows. With "split", the validation rows do not affect the representation. Test rows
        never affect it.
    held_out : HeldOut or None
        Rule by which the test set was held out, as in `Dataset.held_out`. The fingerprint also depends on this rule.
    members : tuple of RunSpec
        Two to ten runs of SVMs on the same rows, whose decision values the method "mean-margin" averages. Noise and
        depth of the averaging run are those of the first member.
    """

    fingerprint: str
    source: str = ""
    method: str = "slide-svm"
    stack: StackParameters = field(default_factory=StackParameters)
    svm: SvmParameters = field(default_factory=SvmParameters)
    split: int = 0
    seed: int = 0
    training: str = "whole"
    evaluate: str = "test"
    test_rows: int | None = None
    neighbour: "RunSpec | None" = None
    kept: float | None = None
    sda: SdaParameters | None = None
    transformer: Estimator | None = None
    classifier: Estimator | None = None
    labels: int | None = None
    fit_rows: str = "training"
    held_out: HeldOut | None = None
    members: "tuple[RunSpec, ...]" = ()

    @classmethod
    def mean_of(cls, members: "Sequence[RunSpec]") -> "RunSpec":
        """Return the checked spec of the run that averages the decision values of the given runs.

        Raises
        ------
        ValueError
            If there are fewer than two runs or more than ten, or if the runs do not use the same rows.
        """
        if not members:
            raise ValueError("there are no runs to average; give at least two runs")
        rows = {name: getattr(members[0].checked(), name) for name in _ROWS}
        return cls(source=members[0].source, method="mean-margin", **rows, members=tuple(members)).checked()

    def on(self, **rows: Any) -> "RunSpec":
        """Return a copy of the spec with new values for some fields. The specs in `members` get the same values."""
        return replace(self, **rows, members=tuple(replace(each, **rows) for each in self.members))

    def checked(self) -> "RunSpec":
        """Return the normal form of the spec, in which values that the method does not use are set to their defaults.

        Raises
        ------
        ValueError
            If a value is out of range, or some values cannot be used together. The message names the values.
        """
        return self._normal or self

    @cached_property
    def _normal(self) -> "RunSpec | None":
        """The normal form of this spec, which `checked` returns, or None if this spec already has its normal form."""
        method = check_choice("method", self.method, METHODS)
        check_choice("training", self.training, TRAINING)
        check_choice("evaluate", self.evaluate, EVALUATE)
        check_choice("fit_rows", self.fit_rows, FIT_ROWS)
        numbers = self._checked_numbers()
        if self.training == "whole" and self.evaluate == "validation":
            raise ValueError("training on all rows leaves no validation rows; train on 80 % of them (--on-split)")
        self._check_parts(method)
        normal = self._normal_mean(numbers) if method.averages else self._normal_alone(method, numbers)
        # If this spec is its own normal form, `checked` returns this object, because its hash may be cached. The specs
        # are compared by `repr`, because 3 and 3.0 are equal in Python, but give different hashes.
        if repr(normal) == repr(self):
            return None
        vars(normal)["_normal"] = None  # With this value, `normal.checked()` returns `normal` itself.
        return normal

    def _normal_alone(self, method: Method, numbers: dict[str, Any]) -> "RunSpec":
        given, svm = self.stack.checked(), self.svm.checked()
        stack = given if self.stacked else replace(StackParameters(), depth=0)
        if stack.depth == 0 and method.omits_input:
            raise ValueError(f"depth is 0, but method {method.key} omits the input h⁰; use at least one layer")
        if stack.sharing == "none":
            stack = replace(stack, window=StackParameters().window)
        if stack.depth == 0:
            stack = replace(StackParameters(), noise=0.0, depth=0, dtype=stack.dtype)
        sda = SdaParameters() if self.sda is None else self.sda.checked()
        trained = sda.unsupervised if method.network and not method.fine_tunes else sda
        has_svm = self.classifier is None and not method.fine_tunes
        learns = method.learns and svm.widths == "learn"
        fits = stack.depth > 0 or method.projection or method.network or self.transformer is not None
        svm = _normal_svm(svm, method) if has_svm else SvmParameters()
        return replace(
            self,
            stack=stack,
            svm=replace(svm, groups=len(replace(self, stack=stack).group_names), seed=numbers["seed"], near=None),
            **numbers | ({"split": 0} if self.training == "whole" else {}),
            neighbour=self.neighbour.checked() if self.neighbour is not None and learns else None,
            kept=method.projection.checked(self.kept, method.key) if method.projection else None,
            sda=replace(trained, seed=numbers["seed"]) if method.network else None,
            fit_rows=self.fit_rows if fits and (self.training, self.fit_rows) != ("whole", "split") else "training",
            held_out=None if self.held_out is None else self.held_out.checked(),
        )

    def _normal_mean(self, numbers: dict[str, Any]) -> "RunSpec":
        if not 2 <= len(self.members) <= _MOST_MEMBERS:
            raise ValueError(f"method mean-margin averages 2 to {_MOST_MEMBERS} runs, not {len(self.members)}")
        for part in (self.stack, self.svm, self.sda or SdaParameters()):
            part.checked()
        members = tuple(each.checked() for each in self.members)
        numbers |= {"split": 0} if self.training == "whole" else {}
        normal = RunSpec(
            self.fingerprint, self.source, self.method, members[0].stack, members[0].svm, training=self.training,
            evaluate=self.evaluate, **numbers, held_out=self.held_out and self.held_out.checked(), members=members,
        )  # fmt: skip
        for each in members:
            if METHODS[each.method].fine_tunes or each.members or each.classifier is not None:
                raise ValueError(f"cannot average {METHODS[each.method].text}, which is not a single SVM; leave it out")
            for name in _ROWS:
                if getattr(each, name) != getattr(normal, name):
                    raise ValueError(f"{name} differs between the averaged runs; average runs with the same {name}")
        return normal

    def drawn(self, split: int, seed: int, **data: Any) -> "RunSpec":
        """Return a checked copy of the spec with the given split, seed and data.

        The copied run does not start from the widths of another run.

        Parameters
        ----------
        data : str
            New values of the fields `fingerprint` and `source`. A field that is not given keeps its value.
        """
        spec = self.checked()
        split = check_integer("split", split, 0) if spec.training == "split" else 0
        seed = check_integer("seed", seed, 0)
        svm, sda = spec.svm, spec.sda
        if seed != spec.seed:
            svm, sda = replace(svm, seed=seed), None if sda is None else replace(sda, seed=seed)
        members = tuple(each.drawn(split, seed, **data) for each in spec.members)
        drawn = object.__new__(RunSpec)  # For the 28 000 specs of an evaluation, `replace` would take twice as long.
        new = data | {"split": split, "seed": seed, "svm": svm, "sda": sda, "neighbour": None, "members": members}
        vars(drawn).update(vars(spec) | new | {"_normal": None})
        vars(drawn).pop("hash", None)  # The cached hash is that of `spec`, not that of its copy.
        return drawn

    @property
    def stacked(self) -> bool:
        """True if the representation consists of SLIDE's layers, alone or together with a projection."""
        return METHODS[self.method].stacked and self.transformer is None

    @property
    def layers(self) -> int:
        """Number of layers of SLIDE or of the autoencoders, without the input."""
        if METHODS[self.method].network:
            return len((self.sda or SdaParameters()).n_units)
        return self.stack.depth if self.stacked else 0

    @property
    def group_names(self) -> tuple[str, ...]:
        """Names of the groups of columns that have separate kernel widths: h⁰, h¹, …, and "white" for a projection."""
        method = METHODS[self.method]
        names = [layer_name(k) for k in range(method.omits_input, self.layers + 1)]
        return tuple([*names, "white"] if method.regroups and method.projection else names)

    def _checked_numbers(self) -> dict[str, Any]:
        names = ("split", "seed")
        numbers: dict[str, Any] = {name: check_integer(name, getattr(self, name), 0, _LARGEST) for name in names}
        for name, least in (("test_rows", 1), ("labels", 2)):
            value = getattr(self, name)
            if value is not None:
                numbers[name] = check_integer(name, value, least, otherwise=", or None for all rows")
        return numbers

    def _check_parts(self, method: Method) -> None:
        """Raise ValueError if estimators or runs to average are given, but the method cannot use them.

        The error is also raised if the method needs an estimator and none is given. The same applies if `fit_rows` is
        "labelled", but the number of labels is not given.
        """
        none = self.transformer is None and self.classifier is None
        if method.takes_parts and none:
            raise ValueError(f"method {method.key} needs a transformer or a classifier; give one or both")
        if not method.takes_parts and not none:
            raise ValueError(f"method {method.key} accepts no transformer or classifier; use method custom instead")
        if self.members and not method.averages:
            raise ValueError(f"method {method.key} does not average runs; use method mean-margin to average them")
        if self.fit_rows == "labelled" and self.labels is None:
            raise ValueError("fit_rows is 'labelled', but labels is None; give the number of labels")

    @cached_property
    def hash(self) -> str:
        """SHA-256 (hex) of the checked spec and of this program's `RESULTS_VERSION`."""
        return document_hash(self.checked().document(), version_in_hashes(str(RESULTS_VERSION)))

    def document(self) -> dict[str, Any]:
        """Return the spec as JSON-compatible values, which `from_document` reads.

        Default values are left out, except those of the fields that the first version of the program wrote (`_ALWAYS`).
        """
        document = {}
        for name, default in _DEFAULTS.items():
            value = getattr(self, name)
            if name in _ALWAYS or value != default:
                document[name] = _plain(value)
        if "fit_rows" in document:
            document[_FIT_ROWS] = document.pop("fit_rows")
        return document

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> "RunSpec":
        """Return the specification that a JSON object, as returned by `document`, describes.

        Raises
        ------
        ValueError
            If the JSON object does not describe a valid run.
        """
        if isinstance(document, dict):
            document = {"fit_rows" if key == _FIT_ROWS else key: value for key, value in document.items()}
        return from_document(cls, document, "a run")


def describe_spec(spec: RunSpec) -> str:
    """Describe in words the method of a run and the parameters of its representation and classifier."""
    rows = spec.svm.retune_rows
    adjusted = "" if rows == SvmParameters.retune_rows else f"final adjustment on at most {count(rows)} rows"
    return ", ".join(filter(None, [METHODS[spec.method].text, describe_choice(spec), adjusted]))


def describe_choice(spec: RunSpec) -> str:
    """Describe in words the parameters of the representation and classifier. Return "" if there are none."""
    parts = []
    if spec.stacked:
        first = f"{len(spec.members)} averaged runs, the first with " if spec.members else ""
        parts.append(f"{first}{noise_and_keep(spec.stack.noise)}, depth {spec.stack.depth}")
        for name in ("ridge", "threshold", "squashing", "fit_on"):
            value = getattr(spec.stack, name)
            if value != getattr(StackParameters(), name):
                parts.append(f"{name.replace('_', ' ')} {value if isinstance(value, str) else f'{value:g}'}")
        if spec.stack.sharing != "none":
            parts.append(f"{SHARING[spec.stack.sharing].text}, window {spec.stack.window}")
    if spec.svm.loss != SvmParameters().loss:
        parts.append(LOSSES[spec.svm.loss].text)
    if spec.kept is not None:
        projection = METHODS[spec.method].projection
        directions = projection is not None and projection.amount_kind == "directions"
        parts.append(f"{spec.kept:g} directions" if directions else f"{100 * spec.kept:g} % of variance")
    if spec.sda is not None:
        parts.append(_describe_sda(spec.sda, spec.method))
    parts += [str(part) for part in (spec.transformer, spec.classifier) if part is not None]
    if spec.labels is not None:
        parts.append(f"{spec.labels} labels")
    if spec.fit_rows != "training":
        parts.append(FIT_ROWS[spec.fit_rows].text)
    if spec.held_out is not None:
        parts.append(str(spec.held_out))
    return ", ".join(parts)


def _describe_sda(sda: SdaParameters, method: str) -> str:
    noise = "/".join(f"{noise:g}" for noise in sorted(set(sda.noises)))
    text = (
        f"units {'–'.join(map(str, sda.n_units))}, noise {noise}, "
        f"{counted(sda.pretraining_epochs, 'epoch')} per layer, learning rate {sda.pretraining_rate:g}"
    )
    if METHODS[method].fine_tunes:
        text = f"{text}, fine-tuning rate {sda.fine_tuning_rate:g}"
    return text


_MOST_MEMBERS = 10
_LARGEST = 10**18  # Largest seed or split index, because the table of runs stores 64-bit integers.

# Fields whose values must be the same in all averaged runs and in the run that averages them.
_ROWS = ("fingerprint", "split", "seed", "training", "evaluate", "test_rows", "labels", "held_out")
_FIT_ROWS = "fitted_on"  # Name of the field `fit_rows` in JSON documents.

# Fields that the JSON form of every spec contains. Other fields are included only if their values are not the defaults.
# The hashes of existing specs therefore stay the same if a later version of the program adds fields.
_ALWAYS = {
    "fingerprint", "source", "method", "stack", "svm", "split", "seed", "training", "evaluate", "test_rows",
    "neighbour",
}  # fmt: skip

_DEFAULTS = {item.name: item.default for item in fields(RunSpec)}


def _plain(value: Any) -> Any:
    """Convert the value of a field to a value that JSON supports."""
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if hasattr(value, "document"):
        return value.document()
    return dict(vars(value)) if is_dataclass(value) else value


_MOST = 1000  # Largest number of noise levels in a range.


def noise_axis(text: str) -> tuple[float, ...]:
    """Parse noise levels, given as a range with its step (``0:0.9:0.1``) or as a list (``0.1,0.5``).

    Raises
    ------
    ValueError
        If the text has neither form, or is a range of more than 1000 values.

    Examples
    --------
    >>> noise_axis("0:0.3:0.1"), noise_axis("0.2")
    ((0.0, 0.1, 0.2, 0.3), (0.2,))
    """
    try:
        if ":" not in text:
            return tuple(float(part) for part in text.split(","))
        first, last, step = (float(part) for part in text.split(":"))
        count = int((last - first) / step + 1 + 1e-9)
        if not (step > 0 and 1 <= count <= _MOST):
            raise ValueError
    except (ValueError, ZeroDivisionError, OverflowError):
        expected = f"FROM:TO:STEP (rising, both ends included, at most {_MOST} values) or values separated by commas"
        raise ValueError(f"noise {text!r}: expected {expected}") from None
    # The values are rounded, so that the range 0:0.9:0.1 contains 0.3 rather than 0.30000000000000004.
    return tuple(round(first + i * step, 12) for i in range(count))


def depth_axis(text: str, name: str = "depth") -> tuple[int, ...]:
    """Parse depths or other integers such as seeds, given as a range (``0:4``) or as a list (``1,3``).

    Errors mention the `name` of the parameter.

    Raises
    ------
    ValueError
        If the text has neither form, or is a range without values.
    """
    values: Sequence[int] = ()
    if re.fullmatch(r" *\d{1,6} *(, *\d{1,6} *)*| *\d{1,3} *: *\d{1,3} *", text):
        numbers = [int(part) for part in re.split("[,:]", text)]
        values = range(numbers[0], numbers[1] + 1) if ":" in text else numbers
    if not values:
        expected = "FROM:TO (rising, both ends included) or integers of at most six digits, separated by commas"
        raise ValueError(f"{name} {text!r}: expected {expected}")
    return tuple(values)


def axis_text(values: Sequence[float]) -> str:
    """Write values in the form that `noise_axis` or `depth_axis` parses: as a range if possible, otherwise as a list.

    Examples
    --------
    >>> axis_text((0.0, 0.1, 0.2, 0.3)), axis_text((0, 1, 2, 3, 4)), axis_text((0.2, 0.5))
    ('0:0.3:0.1', '0:4', '0.2,0.5')
    """
    whole = all(isinstance(value, int) for value in values)
    step = round(values[1] - values[0], 12) if len(values) > 2 else 0
    if step > 0 and all(abs(values[0] + i * step - value) < 1e-9 for i, value in enumerate(values)):
        if not whole:
            return f"{values[0]:g}:{values[-1]:g}:{step:g}"
        if step == 1:
            return f"{values[0]}:{values[-1]}"
    return ",".join(f"{value:g}" for value in values)


def _normal_svm(svm: SvmParameters, method: Method) -> SvmParameters:
    """Return a copy of `svm` in which parameters that the method does not use are set to their defaults."""
    unused = SvmParameters()
    if not method.learns:
        svm = replace(svm, widths="median")
    if svm.widths == "learn":
        return svm
    return replace(
        svm, criterion=unused.criterion, subset_size=unused.subset_size, starts=unused.starts, retune=unused.retune
    )


def document_hash(document: dict[str, Any], version: int | str) -> str:
    """Return the SHA-256 (hex) of a checked spec and a results version. The spec is given as a JSON object.

    The hash is computed from the JSON object itself. It therefore stays the same if a later version of the program adds
    or drops fields. Specs of other runs in the JSON object (`RunSpec.neighbour` and `RunSpec.members`) are replaced by
    their hashes. The source of the data is excluded.
    """
    near = document["neighbour"]
    hashed = {key: value for key, value in document.items() if key != "source"}
    hashed |= {"format": version, "neighbour": None if near is None else document_hash(near, version)}
    if "members" in document:
        hashed["members"] = [document_hash(each, version) for each in document["members"]]
    return hashlib.sha256(json.dumps(hashed, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class SweepPoint:
    """A combination of noise level, depth, split and seed in a sweep, with the specification of its run.

    At depth 0, the noise has no effect, so all noise levels share one run.
    """

    noise: float
    depth: int
    split: int
    seed: int
    spec: RunSpec

    @property
    def fold(self) -> int | None:
        """Index, from 0, of the fold that is the test set. None if the data are not divided into folds."""
        held_out = self.spec.held_out
        return held_out.fold if held_out is not None and held_out.folds else None


# Largest number of runs in a chain, in which each run starts from the widths of the previous run.
# The length of a chain is limited, because the spec of a run contains the specs of all earlier runs of its chain.
LONGEST_CHAIN = 100


@dataclass(frozen=True)
class SweepSpec:
    """A sweep over noise levels, depths, splits and seeds.

    Attributes
    ----------
    base : RunSpec
        Spec with the values that all runs have in common. The noise, depth, split, seed and `neighbour` of this spec
        are not used.
    noises : tuple of float
        Noise levels 1 − p, used in ascending order.
    depths : tuple of int
        Numbers of layers, used in ascending order.
    warm : bool
        True if a run that learns widths starts from the widths of the run at the previous noise level with the same
        depth. Runs at the first noise level, and at every `LONGEST_CHAIN`-th level after it, do not start from another
        run.
    choose : {"none", "each", "pooled"}
        Rule by which noise and depth are selected from the validation errors of all points. "none" selects nothing,
        "each" selects one point for each split and seed, and "pooled" selects one point for all splits. The selected
        points are trained again on the whole training set and tested.
    """

    base: RunSpec
    noises: tuple[float, ...] = (0.5,)
    depths: tuple[int, ...] = (2,)
    splits: tuple[int, ...] = (0,)
    seeds: tuple[int, ...] = (0,)
    warm: bool = True
    choose: str = "none"

    def points(self) -> tuple[SweepPoint, ...]:
        """Return all points of the sweep, ordered by split, seed, noise and depth.

        Raises
        ------
        ValueError
            If a field of the sweep is empty or contains a value out of range. The error is also raised if noise level
            and depth are to be selected (`choose`), but there are no validation rows.
        """
        return self._points

    @cached_property
    def _points(self) -> tuple[SweepPoint, ...]:
        if check_choice("choose", self.choose, CHOOSE).key != "none" and self.base.training != "split":
            raise ValueError("selecting noise and depth needs validation rows; set training to 'split'")
        for name in ("noises", "depths", "splits", "seeds"):
            axis = getattr(self, name)
            if not isinstance(axis, (tuple, list)) or not axis:
                raise ValueError(f"{name} is {axis!r}; give a tuple with at least one value")
        noises = sorted({check_noise(noise) for noise in self.noises})
        depths, splits, seeds = (
            sorted({check_integer(name, number, 0) for number in axis})
            for name, axis in (("depth", self.depths), ("split", self.splits), ("seed", self.seeds))
        )
        warm = check_flag("warm", self.warm)
        points = []
        for split in splits:
            for seed in seeds:
                before: dict[int, RunSpec] = {}
                for place, noise in enumerate(noises):
                    for depth in depths:
                        near = before.get(depth) if warm and depth and place % LONGEST_CHAIN else None
                        stack = replace(self.base.stack, noise=noise, depth=depth)
                        spec = replace(self.base, stack=stack, split=split, seed=seed, neighbour=near).checked()
                        if not isinstance(spec.svm.widths, str) and len(spec.svm.widths) != spec.svm.groups:
                            problem = f"{len(spec.svm.widths)} widths are given for a run of depth {depth}"
                            raise ValueError(f"{problem}; give {spec.svm.groups} widths, and only one depth")
                        before[depth] = spec
                        # If the method has no layers, all points of the sweep have noise 0 and depth 0.
                        points.append(SweepPoint(noise * spec.stacked, depth * spec.stacked, split, seed, spec))
        return tuple(points)


def on_every_fold(spec: RunSpec, dataset: Dataset) -> tuple[RunSpec, ...]:
    """Return a copy of the spec for each fold if the data are divided into folds, otherwise only the spec itself.

    Parameters
    ----------
    spec : RunSpec
        A spec of a run on this data set that does not start from another run.
    """
    held_out = dataset.held_out
    if held_out is None or not held_out.folds:
        return (spec,)
    return tuple(spec.on(fingerprint=dataset.fingerprint_as(each), held_out=each) for each in held_out.each)
