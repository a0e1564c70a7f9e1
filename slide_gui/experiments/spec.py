"""What a run is asked to do, as a frozen value with a hash: equal hashes mean equal results."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Any

from slide_gui.core.parameters import StackParameters
from slide_gui.core.svm import SvmParameters

__all__ = ["CODE_FORMAT", "EVALUATE", "METHODS", "TRAINING", "RunSpec"]

CODE_FORMAT = 2
"""Part of every hash; raised when the program would answer an old spec with other numbers."""

METHODS = {
    "slide-svm": "SLIDE-SVM",
    "raw-svm": "Raw-SVM",
    "median": "SLIDE-SVM, median widths",
}
"""Key → name. Raw-SVM and median widths choose one global width and C by cross-validation over a grid."""

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
        stack = replace(StackParameters(), depth=0) if self.method == "raw-svm" else self.stack.checked()
        if stack.depth == 0:
            stack = replace(StackParameters(), noise=0.0, depth=0, dtype=stack.dtype)
        learns = self.method == "slide-svm" and self.svm.widths == "learn"
        normal = replace(
            self,
            stack=stack,
            svm=_normal_svm(self.svm.checked(), self.method, stack.depth, self.seed),
            split=0 if self.training == "whole" else self.split,
            neighbour=self.neighbour.checked() if self.neighbour is not None and learns else None,
        )
        return self if normal == self else normal  # the same object keeps its hash

    @cached_property
    def hash(self) -> str:
        """SHA-256 (hex) of the normal form as JSON with sorted keys."""
        return hashlib.sha256(json.dumps(_identity(self.checked()), sort_keys=True).encode()).hexdigest()

    def document(self) -> dict[str, Any]:
        """Return the spec as what JSON can hold; `from_document` reads it."""
        plain = {item.name: getattr(self, item.name) for item in fields(self)}
        neighbour = None if self.neighbour is None else self.neighbour.document()
        return {**plain, "stack": asdict(self.stack), "svm": asdict(self.svm), "neighbour": neighbour}

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> RunSpec:
        """Return the spec of a document.

        Raises
        ------
        TypeError, ValueError, KeyError
            If it is none.
        """
        svm = dict(document["svm"])
        for name in ("groups", "widths"):
            if isinstance(svm[name], list):
                svm[name] = tuple(svm[name])
        if svm["near"] is not None:
            svm["near"] = (tuple(svm["near"][0]), svm["near"][1])
        neighbour = document["neighbour"]
        parts = {
            "stack": StackParameters(**document["stack"]),
            "svm": SvmParameters(**svm),
            "neighbour": None if neighbour is None else cls.from_document(neighbour),
        }
        return cls(**{**document, **parts})


def _normal_svm(svm: SvmParameters, method: str, depth: int, seed: int) -> SvmParameters:
    svm = replace(svm, groups=depth + 1, seed=seed, near=None)
    unused = SvmParameters()
    if isinstance(svm.widths, tuple):
        svm = replace(svm, widths=tuple(float(width) for width in svm.widths))
    if method != "slide-svm":
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


def _identity(spec: RunSpec) -> dict[str, Any]:
    """Return what the result depends on; a neighbour stands there by its hash."""
    document = replace(spec, neighbour=None).document()
    del document["source"]
    document["neighbour"] = None if spec.neighbour is None else spec.neighbour.hash
    return {"format": CODE_FORMAT, **document}
