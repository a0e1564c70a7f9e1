"""A data set whose names of classes, columns and file are markup, formulas, escape sequences, or far too long."""

import csv
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

CLASSES = (
    '<img src="picture"> & $\\foo{$ red\x1b[31m \u202efdp.exe',
    '=HYPERLINK("$10-$20") | _a_ <link rel="stylesheet" href="picture">',
    "W" * 3000,
    "W" * 1500 + "V" + "W" * 1499,
)
# The first 4 096 bytes of a table must be free of control characters; the longest name moves the others behind them.
COLUMNS = ("<b>&wide</b>", "=1+1", "$\\foo{$", "V" * 4096, "\x9b31m\u202exyz", "+1-1")
_ROWS = 10


def hostile_file(folder: Path, classes: Sequence[str] = CLASSES) -> Path:
    """Write a table with ten rows of each class, which the first columns distinguish, and return its path."""
    path = folder / os.fsdecode(b"<img src=picture> \x1b]0;title\x07 $\\foo{$ &a \xe9.csv")
    random = np.random.default_rng(0)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*COLUMNS, "class"])
        for number, name in enumerate(classes):
            bits = np.array([number >> bit & 1 for bit in range(len(COLUMNS))])
            for row in (0.2 + 0.6 * bits + 0.05 * random.random((_ROWS, len(COLUMNS)))).tolist():
                writer.writerow([*(f"{value:.4f}" for value in row), name])
    return path


def unsafe(text: str) -> set[str]:
    """Return the characters of a text that could control a terminal or hide text; line breaks are safe."""
    return {sign for sign in text if not sign.isprintable() and sign not in "\n\r\u202f"}
