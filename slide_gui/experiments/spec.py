"""What a run is asked to do, as a frozen value with a hash: equal hashes mean equal results."""

from __future__ import annotations

import hashlib
import json
from dataclasses import Field, asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Any

from slide_gui.core.baselines import PROJECTIONS, Estimator, checked_kept
from slide_gui.core.parameters import StackParameters
from slide_gui.core.sda_parameters import SdaParameters
from slide_gui.core.svm import SvmParameters
from slide_gui.experiments.documents import from_document

__all__ = [
    "CODE_FORMAT",
    "EVALUATE",
    "FITTED_ON",
    "LEARNED",
    "METHODS",
    "STACKED",
    "TRAINING",
    "RunSpec",
]

CODE_FORMAT = 3
"""Part of every hash; raised when the program would answer an old spec with other numbers."""

METHODS = {
    "slide-svm": "SLIDE-SVM",
    "raw-svm": "Raw-SVM",
    "median": "SLIDE-SVM, median widths",
    "pca-svm": "PCA-SVM",
    "white-svm": "White-SVM",
    "randproj-svm": "Rand Proj-SVM",
    "sda-svm": "SdA-SVM",
    "sda": "SdA",
    "custom": "scikit-learn",
}
"""Key → name.

SLIDE-SVM and SdA-SVM learn their widths; the other SVMs, and SdA-SVM with median widths, choose one global width and C
by cross-validation over a grid. SdA is the fine-tuned network itself.
"custom" puts a transformer of scikit-learn in SLIDE's place, a classifier in the SVM's, or both.
"""

STACKED = ("slide-svm", "median", "custom")
"""Methods on SLIDE's features; "custom" unless it has a transformer of its own."""

NETWORKS = ("sda-svm", "sda")
"""Methods on stacked denoising autoencoders."""

LEARNED = ("slide-svm", "sda-svm")
"""Methods whose widths are learned, one a layer."""

FITTED_ON = ("training", "split", "labelled")
EVALUATE = ("test", "validation")
TRAINING = ("whole", "split")


@dataclass(frozen=True)
class RunSpec:
    """One run: data, representation, classifier, and on which rows it is trained and judged.

    Attributes
    ----------
    fingerprint : str
        SHA-256 (hex) of the data, as `Dataset.fingerprint`.
    source : str
        Where the data came from, as `DataSource.argument`; no part of the hash, for data may move.
    method : {"slide-svm", "raw-svm", "median"}
    stack : StackParameters
        Raw-SVM takes none of it.
    svm : SvmParameters
        Its groups, seed and near are set by the run; the grid methods choose widths and, unless given, C.
    split : int
        Which 80/20 split of the training part.
    seed : int
        Of the split, the subsets and the classifier.
    training : {"whole", "split"}
        Train on the whole training part, or on the split's 80 %.
    evaluate : {"test", "validation"}
        Judge on the test part, or on the split's 20 %.
    test_rows : int or None
        Judge on a stratified subsample of about so many rows; None: all.
    neighbour : RunSpec or None
        A run of the same training rows and depth whose widths, C and coefficients this one starts from.
    kept : float or None
        What a projection keeps: the fraction of the variance (pca-svm, white-svm), or the number of directions
        (randproj-svm).
    sda : SdaParameters or None
        Of the autoencoders (sda-svm, sda); None: as they come. The seed is the run's. SdA stops early on the split's
        validation rows; trained on the whole training part, it takes all its epochs of fine-tuning.
    transformer, classifier : Estimator or None
        Of the method "custom": in SLIDE's place, and in the SVM's.
    labels : int or None
        Train the classifier on so many labelled rows only, a stratified sample of those it would have; None: all.
    fitted_on : {"training", "split", "labelled"}
        Fit the representation, which takes no labels, on the whole training part, on the split's 80 %, so that the
        validation rows are as new to it as test rows are, or on the labelled rows only.
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
    neighbour: RunSpec | None = None
    kept: float | None = None
    sda: SdaParameters | None = None
    transformer: Estimator | None = None
    classifier: Estimator | None = None
    labels: int | None = None
    fitted_on: str = "training"

    def checked(self) -> RunSpec:
        """Return the normal form: what cannot change the result has one value only.

        Raises
        ------
        ValueError
            Names what is out of range or does not go together.
        """
        for name, value, choices in (
            ("method", self.method, tuple(METHODS)),
            ("training", self.training, TRAINING),
            ("evaluate", self.evaluate, EVALUATE),
        ):
            if value not in choices:
                raise ValueError(f"{name} is {value!r}; it must be one of {', '.join(choices)}")
        if self.split < 0 or self.seed < 0:
            raise ValueError(f"split is {self.split} and seed is {self.seed}; both must be 0 or more")
        if self.test_rows is not None and self.test_rows < 1:
            raise ValueError(f"test_rows is {self.test_rows}; it must be at least 1, or None for all")
        if self.training == "whole" and self.evaluate == "validation":
            raise ValueError("training on the whole training part leaves no validation rows; train on the split")
        self._check_parts()
        stack = self.stack.checked() if self.stacked else replace(StackParameters(), depth=0)
        if stack.depth == 0:
            stack = replace(StackParameters(), noise=0.0, depth=0, dtype=stack.dtype)
        learns = self.method in LEARNED and self.svm.widths == "learn"
        fits = stack.depth > 0 or self.method in (*PROJECTIONS, *NETWORKS) or self.transformer is not None
        normal = replace(
            self,
            stack=stack,
            svm=self._normal_svm(),
            split=0 if self.training == "whole" else self.split,
            neighbour=self.neighbour.checked() if self.neighbour is not None and learns else None,
            kept=checked_kept(self.method, self.kept) if self.method in PROJECTIONS else None,
            sda=_normal_sda(self.sda, self.method, self.seed) if self.method in NETWORKS else None,
            fitted_on=self.fitted_on if fits and (self.training, self.fitted_on) != ("whole", "split") else "training",
        )
        return self if normal == self else normal  # the same object keeps its hash

    @property
    def stacked(self) -> bool:
        """Whether the representation is SLIDE's."""
        return self.method in STACKED and self.transformer is None

    def _check_parts(self) -> None:
        """Refuse parts that do not belong to the method, and labels out of range."""
        own = self.method == "custom"
        if own and self.transformer is None and self.classifier is None:
            raise ValueError("method custom has neither a transformer nor a classifier; it needs one of them")
        if not own and (self.transformer is not None or self.classifier is not None):
            raise ValueError(f"method {self.method} has its own parts; give a transformer or classifier to custom")
        if self.labels is not None and self.labels < 2:
            raise ValueError(f"labels is {self.labels}; it must be at least 2, or None for all")
        if self.fitted_on not in FITTED_ON:
            raise ValueError(f"fitted_on is {self.fitted_on!r}; it must be one of {', '.join(FITTED_ON)}")
        if self.fitted_on == "labelled" and self.labels is None:
            raise ValueError("fitted_on is 'labelled', but all rows are; say how many labels there are")

    @property
    def layers(self) -> int:
        """Layers above the input: of SLIDE, or of the autoencoders."""
        if self.method in NETWORKS:
            return len((self.sda or SdaParameters()).n_units)
        return self.stack.depth if self.stacked and self.method != "raw-svm" else 0

    def _normal_svm(self) -> SvmParameters:
        if self.classifier is not None or self.method == "sda":
            return SvmParameters(groups=self.layers + 1, seed=self.seed)
        return _normal_svm(self.svm.checked(), self.method, self.layers, self.seed)

    @cached_property
    def hash(self) -> str:
        """SHA-256 (hex) of the normal form as JSON with sorted keys."""
        return hashlib.sha256(json.dumps(_identity(self.checked()), sort_keys=True).encode()).hexdigest()

    def document(self) -> dict[str, Any]:
        """Return the spec as what JSON can hold; `from_document` reads it.

        Options that stand at their default are left out, but for those of the first format.
        """
        plain = {item.name: getattr(self, item.name) for item in fields(self) if self._stated(item)}
        neighbour = None if self.neighbour is None else self.neighbour.document()
        for name in _ESTIMATORS & plain.keys():
            plain[name] = plain[name].document()
        if self.sda is not None:
            plain["sda"] = asdict(self.sda)
        return {**plain, "stack": asdict(self.stack), "svm": asdict(self.svm), "neighbour": neighbour}

    def _stated(self, item: Field[Any]) -> bool:
        return item.name in _ALWAYS or getattr(self, item.name) != item.default

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> RunSpec:
        """Return the spec of a document.

        Raises
        ------
        ValueError
            If it is none, or names an estimator that no file may name.
        """
        return from_document(cls, document, "a run")


_ESTIMATORS = {"transformer", "classifier"}
_ALWAYS = {
    "fingerprint", "source", "method", "stack", "svm", "split", "seed", "training", "evaluate", "test_rows",
    "neighbour",
}  # fmt: skip
"""Stated in every document; whatever came later is stated where it is not at its default, so that hashes stay."""


def _normal_svm(svm: SvmParameters, method: str, depth: int, seed: int) -> SvmParameters:
    svm = replace(svm, groups=depth + 1, seed=seed, near=None)
    unused = SvmParameters()
    if isinstance(svm.widths, tuple):
        svm = replace(svm, widths=tuple(float(width) for width in svm.widths))
    if method not in LEARNED:
        svm = replace(svm, widths="median")
    if svm.widths != "learn":
        svm = replace(
            svm,
            criterion=unused.criterion,
            subset_size=unused.subset_size,
            starts=unused.starts,
            retune=unused.retune,
        )
    return svm if svm.C is None else replace(svm, C=float(svm.C))


def _normal_sda(sda: SdaParameters | None, method: str, seed: int) -> SdaParameters:
    """Return the parameters with what the method does not use at its default."""
    sda = replace(SdaParameters() if sda is None else sda, seed=seed).checked()
    if method == "sda":
        return sda
    unused = SdaParameters()
    return replace(
        sda,
        fine_tuning_rate=unused.fine_tuning_rate,
        fine_tuning_epochs=unused.fine_tuning_epochs,
        patience=unused.patience,
    )


def _identity(spec: RunSpec) -> dict[str, Any]:
    """Return what the result depends on; a neighbour stands there by its hash."""
    document = replace(spec, neighbour=None).document()
    del document["source"]
    document["neighbour"] = None if spec.neighbour is None else spec.neighbour.hash
    return {"format": CODE_FORMAT, **document}
