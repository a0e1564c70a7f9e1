"""What a run was asked for, in words."""

from __future__ import annotations

from slide_gui.core.parameters import StackParameters
from slide_gui.core.sda_parameters import SdaParameters
from slide_gui.core.widths_guard import GUARD, ChosenBy
from slide_gui.experiments.methods import METHODS
from slide_gui.experiments.spec import FITTED_ON, RunSpec

__all__ = ["describe_choice", "describe_chosen", "describe_spec", "describe_widths"]


def describe_spec(spec: RunSpec) -> str:
    """Return the method and what its representation and classifier were asked for, for people."""
    return ", ".join([METHODS[spec.method].text, *_choices(spec)])


def describe_choice(spec: RunSpec) -> str:
    """Return what the representation and classifier were asked for, for people; empty if there is no choice."""
    return ", ".join(_choices(spec))


def describe_widths(chosen_by: str) -> str:
    """Return what chose the widths, for people, from its name; empty if there is none."""
    if chosen_by in ("", GUARD):
        return chosen_by
    return f"widths by {chosen_by}"


def describe_chosen(chosen: ChosenBy) -> str:
    """Return what chose the widths, and how the choice did in cross-validation, for people."""
    if chosen.learned_error is None or chosen.median_error is None:
        return describe_widths(chosen.name)
    learned, median = (f"{100 * error:.1f} %" for error in (chosen.learned_error, chosen.median_error))
    if chosen.guarded:
        return (
            f"median widths: the guard overruled those learned by {chosen.criterion}, which get {learned} of the rows "
            f"learned on wrong in cross-validation, against {median}"
        )
    return f"widths by {chosen.criterion}: {learned} wrong in cross-validation, median widths {median}"


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
