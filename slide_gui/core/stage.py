"""What a long computation is doing, for whoever watches it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Stage"]


@dataclass(frozen=True)
class Stage:
    """A payload of progress: the part begun, in a few words, and where it is counted, how much of it is done."""

    name: str
    done: int = 0
    total: int = 0

    def __str__(self) -> str:
        return f"{self.name}, {self.done + 1} of {self.total}" if self.total else self.name
