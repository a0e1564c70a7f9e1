"""Noise × depth × split × seed: which runs a sweep is made of, in a fixed order."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from slide_gui.core.errors import check_flag, check_noise, check_whole
from slide_gui.core.parameters import StackParameters
from slide_gui.core.svm import SvmParameters
from slide_gui.experiments.spec import RunSpec

__all__ = ["SweepPoint", "SweepSpec"]


@dataclass(frozen=True)
class SweepPoint:
    """A place in the sweep and the run that answers it; points of depth 0 share one run over all noises."""

    noise: float
    depth: int
    split: int
    seed: int
    spec: RunSpec


@dataclass(frozen=True)
class SweepSpec:
    """A sweep.

    Attributes
    ----------
    fingerprint : str
        SHA-256 (hex) of the data.
    source : str
        Where they came from, as `DataSource.argument`.
    noises : tuple of float
        Probabilities 1 − p; taken in rising order.
    depths : tuple of int
        Numbers of layers; taken in rising order.
    splits, seeds : tuple of int
    method, training, evaluate : str
        As in `RunSpec`.
    stack : StackParameters
        All but noise and depth.
    svm : SvmParameters
    test_rows : int or None
        As in `RunSpec`.
    warm : bool
        Whether a run whose widths are learned starts from that of the noise before it, of the same depth.
    """

    fingerprint: str
    source: str = ""
    noises: tuple[float, ...] = (0.5,)
    depths: tuple[int, ...] = (2,)
    splits: tuple[int, ...] = (0,)
    seeds: tuple[int, ...] = (0,)
    method: str = "slide-svm"
    training: str = "whole"
    evaluate: str = "test"
    stack: StackParameters = field(default_factory=StackParameters)
    svm: SvmParameters = field(default_factory=SvmParameters)
    test_rows: int | None = None
    warm: bool = True

    def points(self) -> tuple[SweepPoint, ...]:
        """Return all points: splits outermost, then seeds, noises and depths.

        Raises
        ------
        ValueError
            If an axis is empty, or a point is out of range.
        """
        for name in ("noises", "depths", "splits", "seeds"):
            axis = getattr(self, name)
            if not isinstance(axis, (tuple, list)) or not axis:
                raise ValueError(f"{name} is {axis!r}; a sweep needs at least one of each")
        noises = sorted({check_noise(noise) for noise in self.noises})
        depths, splits, seeds = (
            sorted({check_whole(name, number, 0) for number in axis})
            for name, axis in (("depth", self.depths), ("split", self.splits), ("seed", self.seeds))
        )
        warm = check_flag("warm", self.warm)
        points = []
        for split in splits:
            for seed in seeds:
                before: dict[int, RunSpec] = {}
                for noise in noises:
                    for depth in depths:
                        near = before.get(depth) if warm and depth else None
                        before[depth] = self._spec(noise, depth, split, seed, near)
                        points.append(SweepPoint(noise, depth, split, seed, before[depth]))
        return tuple(points)

    def _spec(self, noise: float, depth: int, split: int, seed: int, near: RunSpec | None) -> RunSpec:
        stack = replace(self.stack, noise=noise, depth=depth)
        return RunSpec(
            self.fingerprint,
            self.source,
            self.method,
            stack,
            self.svm,
            split,
            seed,
            self.training,
            self.evaluate,
            self.test_rows,
            near,
        ).checked()
