"""The common setting of the points of a curve: everything in a run except data, noise, depth, split and seed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.svm.criteria import AUTO, LEARNED_BY, resolved
from slide_gui.core.svm.parameters import LOSSES, SvmParameters
from slide_gui.experiments.files.source import width_criterion
from slide_gui.experiments.runs.spec import FIT_ROWS, METHODS, RunSpec
from slide_gui.text import counted


@dataclass(frozen=True)
class Setting:
    """The properties that runs share as points of one curve.

    Attributes
    ----------
    spec : RunSpec
        Spec in its normal form, without data and with default noise, depth, split and seed.
    warm : bool
        True if the run started from that of another noise level: the same model, learned from another start.
    """

    spec: RunSpec
    warm: bool = False

    @classmethod
    def of(cls, spec: RunSpec) -> Setting:
        """Return the setting of a run."""
        usual = StackParameters()
        stack = replace(spec.stack, noise=usual.noise, depth=usual.depth if spec.stack.depth else 0)
        svm = replace(spec.svm, groups=None, seed=0, near=None)
        anywhere = replace(
            spec, fingerprint="", source="", split=0, seed=0, neighbour=None, held_out=None, stack=stack, svm=svm
        )
        return cls(anywhere, spec.neighbour is not None)

    @classmethod
    def from_text(cls, text: str | None) -> Setting | None:
        """Return the setting of a text, or None if the text is None or unreadable."""
        return None if text is None else _parsed(text)

    @property
    def text(self) -> str:
        """A JSON document of all values that differ from the defaults. Equal texts are equal settings."""
        different = _different(self.spec.document(), RunSpec("").document())
        return json.dumps({**different, **({"warm": True} if self.warm else {})}, sort_keys=True)

    def at(self, base: RunSpec, noise: float, depth: int, split: int, seed: int) -> RunSpec:
        """Return a run in this setting, on the data of `base`."""
        stack = replace(self.spec.stack, noise=noise, depth=depth)
        spec = replace(
            self.spec,
            fingerprint=base.fingerprint,
            source=base.source,
            held_out=base.held_out,
            stack=stack,
            split=split,
            seed=seed,
        )
        return spec.checked()

    def covers(self, other: Setting) -> bool:
        """Return True if a run in the other setting is a point of this curve, ignoring layers that are absent."""
        mine, theirs = self.spec, other.spec
        if theirs.stack.depth == 0 or mine.stack.depth == 0:
            mine, theirs = (replace(each, stack=StackParameters(), fit_rows="training") for each in (mine, theirs))
        return mine == theirs

    def words(self, n_classes: int = 0) -> str:
        """Return the setting in words: kind of error, training rows, and selection of the widths.

        Parameters
        ----------
        n_classes : int
            Number of classes of the data, if known. An automatic criterion is then named.
        """
        parts = self.parts(n_classes)
        error = "validation error" if self.spec.evaluate == "validation" else "test error"
        return " · ".join([error, *parts.values()])

    def parts(self, n_classes: int = 0) -> dict[str, str]:
        """Return the properties that may differ between settings, in words by name. Defaults are left out."""
        spec, usual = self.spec, RunSpec("")
        parts = {"rows": "trained on 80 %" if spec.training == "split" else "trained on all rows"}
        if spec.labels is not None:
            parts["labels"] = counted(spec.labels, "label")
        if METHODS[spec.method].learns:
            parts["widths"] = _widths(spec.svm, n_classes)
        else:
            parts["widths"] = METHODS[spec.method].text
        if spec.svm.loss != usual.svm.loss:
            parts["loss"] = LOSSES[spec.svm.loss].text
        if spec.svm.C is not None:
            parts["C"] = f"C = {spec.svm.C:g}"
        if spec.test_rows is not None:
            parts["evaluated"] = f"evaluated on {counted(spec.test_rows, 'row')}"
        if spec.fit_rows != usual.fit_rows:
            parts["fit"] = FIT_ROWS[spec.fit_rows].text
        other = _different(
            vars(replace(spec.stack, noise=0.0, depth=0)), vars(replace(usual.stack, noise=0.0, depth=0))
        )
        parts |= {name: f"{name} {value}" for name, value in other.items()}
        rest = _different(vars(spec.svm), {**vars(usual.svm), **{name: vars(spec.svm)[name] for name in _NAMED}})
        return parts | {name: f"{name} {value}" for name, value in rest.items()}

    def difference(self, other: Setting, n_classes: int = 0) -> str:
        """Return the differences of another run at the same noise and depth in words, empty if there are none."""
        mine, theirs = self.parts(n_classes), other.parts(n_classes)
        parts = []
        if self.spec.evaluate != other.spec.evaluate:
            validated = other.spec.evaluate == "validation"
            parts.append("evaluated on the validation rows" if validated else "evaluated on the test rows")
        parts += [words for name, words in theirs.items() if mine.get(name) != words]
        parts += [f"not {words}" for name, words in mine.items() if name not in theirs]
        if other.warm != self.warm:
            parts.append("started from the noise before it" if other.warm else "started afresh")
        return ", ".join(parts)


_NAMED = ("criterion", "widths", "loss", "C", "groups", "seed", "near")  # parameters of an SVM with their own words


def _widths(svm: SvmParameters, n_classes: int) -> str:
    if svm.widths == "learn":
        if svm.criterion == AUTO and n_classes > 1:
            return f"widths by {width_criterion(resolved(AUTO, n_classes))} (automatic)"
        return f"widths by {LEARNED_BY[svm.criterion].short}"
    return "median widths" if svm.widths == "median" else "given widths"


def _different(document: Mapping[str, Any], usual: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a document that differ from the defaults, at any depth."""
    different = {}
    for name, value in document.items():
        before = usual.get(name)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            inner = _different(value, before)
            if inner:
                different[name] = inner
        elif value != before:
            different[name] = value
    return different


def _merged(usual: Mapping[str, Any], different: Mapping[str, Any]) -> dict[str, Any]:
    whole = dict(usual)
    for name, value in different.items():
        before = whole.get(name)
        nested = isinstance(value, dict) and isinstance(before, Mapping)
        whole[name] = _merged(before, value) if nested and before is not None else value
    return whole


@lru_cache(maxsize=256)
def _parsed(text: str) -> Setting | None:
    try:
        different = json.loads(text)
        warm = bool(different.pop("warm", False))
        return Setting(RunSpec.from_document(_merged(RunSpec("").document(), different)), warm)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None
