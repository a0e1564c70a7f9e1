"""What a run was asked for, in words."""

from __future__ import annotations

from slide_gui.core.parameters import StackParameters
from slide_gui.core.sda_parameters import SdaParameters
from slide_gui.experiments.methods import METHODS
from slide_gui.experiments.spec import FITTED_ON, RunSpec

__all__ = ["describe_choice", "describe_spec"]


def describe_spec(spec: RunSpec) -> str:
    """Return the method and what its representation and classifier were asked for, for people."""
    return ", ".join([METHODS[spec.method].text, *_choices(spec)])


def describe_choice(spec: RunSpec) -> str:
    """Return what the representation and classifier were asked for, for people; empty if there is no choice."""
    return ", ".join(_choices(spec))


def _choices(spec: RunSpec) -> list[str]:
    parts = []
    if spec.stacked:
        parts.append(f"noise 1−p = {spec.stack.noise:g}, depth {spec.stack.depth}")
        if spec.stack.ridge != StackParameters().ridge:
            parts.append(f"ridge {spec.stack.ridge:g}")
    if spec.kept is not None:
        projection = METHODS[spec.method].projection
        directions = projection is not None and projection.keeps == "directions"
        parts.append(f"{spec.kept:g} directions" if directions else f"{spec.kept:.1%} of variance")
    if spec.sda is not None:
        parts.append(_describe_sda(spec.sda, spec.method))
    parts += [str(part) for part in (spec.transformer, spec.classifier) if part is not None]
    if spec.labels is not None:
        parts.append(f"{spec.labels} labels")
    if spec.fitted_on != "training":
        parts.append(FITTED_ON[spec.fitted_on].text)
    return parts


def _describe_sda(sda: SdaParameters, method: str) -> str:
    noise = "/".join(f"{noise:g}" for noise in sorted(set(sda.noises)))
    epochs = f"{sda.pretraining_epochs} epoch{'' if sda.pretraining_epochs == 1 else 's'}"
    said = f"units {'–'.join(map(str, sda.n_units))}, noise {noise}, {epochs} a layer "
    said += f"at rate {sda.pretraining_rate:g}"
    return said + (f", fine-tuning at rate {sda.fine_tuning_rate:g}" if METHODS[method].fine_tunes else "")
