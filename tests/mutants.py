"""Damaged copies of files, the same for the same seed: bits, bytes, sizes and whole stretches of them changed.

The suite tries a sample. ``SLIDE_GUI_MUTANTS=20000 python -m pytest --timeout 0 tests/data/test_mutants.py`` tries so
many, as it does with the mutants of stores (tests/experiments/test_store_mutants.py).
"""

from __future__ import annotations

import os
import random

__all__ = ["how_many", "mutant"]

_BYTES = (0, 1, 0x20, 0x2C, 0x2D, 0x7F, 0x80, 0xFE, 0xFF)
_SIZES = (0, 1, 2, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF, 1 << 62, (1 << 64) - 1)


def how_many(sample: int) -> int:
    """Return how many mutants are tried in all: a sample, or what the environment asks for."""
    return int(os.environ.get("SLIDE_GUI_MUTANTS", sample))


def mutant(content: bytes, chance: random.Random) -> bytes:
    """Return content with one to four changes, each of a random kind at a random place."""
    changed = bytearray(content)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        _change(changed, chance)
    return bytes(changed)


def _change(content: bytearray, chance: random.Random) -> None:
    if not content:
        return
    # Half of the changes near either end, where most formats keep what describes the rest.
    at = chance.choice(
        (
            chance.randrange(len(content)),
            chance.randrange(min(len(content), 300)),
            -1 - chance.randrange(min(len(content), 300)),
        )
    )
    at %= len(content)
    kind = chance.randrange(8)
    if kind == 0:
        content[at] ^= 1 << chance.randrange(8)
    elif kind == 1:
        content[at] = chance.choice(_BYTES)
    elif kind == 2:
        content[at] = chance.randrange(256)
    elif kind == 3:
        width = chance.choice((2, 4, 8))
        size = chance.choice(_SIZES) % (1 << 8 * width)
        content[at : at + width] = size.to_bytes(width, chance.choice(("little", "big")))
    elif kind == 4:
        del content[at:]
    elif kind == 5:
        del content[at : at + chance.choice((1, 2, 16, 200))]
    elif kind == 6:
        start = chance.randrange(len(content))
        content[at:at] = content[start : start + chance.choice((1, 4, 50, 500))]
    else:
        start, length = chance.randrange(len(content)), chance.choice((1, 4, 30))
        content[at : at + length] = content[start : start + length]
