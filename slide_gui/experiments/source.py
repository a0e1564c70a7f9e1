"""Where a data set is to come from: a name of the catalogue or files, as a command or a script says it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from slide_gui.data.dataset import Dataset
from slide_gui.progress import NO_PROGRESS, Progress

__all__ = ["DataSource"]

_GENERATED = "generated:"


@dataclass(frozen=True)
class DataSource:
    """A catalogue key with its seed, or the files of one data set.

    Attributes
    ----------
    key : str
        Of `slide_gui.data.catalogue`; empty for files.
    paths : tuple of str
        The files; empty for a catalogue key.
    seed : int
        Of the generator, where the catalogue has to generate.
    generated : bool
        Generate even where the real files are found.
    """

    key: str = ""
    paths: tuple[str, ...] = ()
    seed: int = 0
    generated: bool = False

    @classmethod
    def parse(cls, text: str, seed: int = 0) -> DataSource:
        """Return the source that an argument names.

        That is a key, ``generated:`` and a key, or paths with the system's path separator between.
        """
        from slide_gui.data.entries import entries

        key = text.removeprefix(_GENERATED)
        if key in {entry.key for entry in entries()}:
            return cls(key=key, seed=seed, generated=key != text)
        return cls(paths=tuple(part for part in text.split(os.pathsep) if part), seed=seed)

    @classmethod
    def of(cls, texts: Sequence[str], seed: int = 0) -> DataSource:
        """Return the source that several arguments name together: one key, or the files of one data set."""
        if len(texts) == 1:
            return cls.parse(texts[0], seed)
        return cls(paths=tuple(texts), seed=seed)

    @property
    def argument(self) -> str:
        """The text that `parse` reads."""
        if self.key:
            return f"{_GENERATED if self.generated else ''}{self.key}"
        return os.pathsep.join(self.paths)

    def load(self, *, progress: Progress = NO_PROGRESS) -> Dataset:
        """Read or generate the data set.

        Raises
        ------
        slide_gui.data.errors.DataError
            If it cannot be used.
        """
        if self.key:
            from slide_gui.data.catalogue import generate, load

            make = generate if self.generated else load
            return make(self.key, progress=progress, seed=self.seed)
        from slide_gui.data.open import open_data

        return open_data([Path(path) for path in self.paths], progress=progress)
