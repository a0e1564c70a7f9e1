"""`slide-gui licences`: what this installation is made of, and under which licences."""

from __future__ import annotations

import argparse

from slide_gui.cli.console import Command, print_answer

__all__ = ["COMMANDS"]


def _run(arguments: argparse.Namespace) -> int:
    from slide_gui.licences import components

    rows = [
        {
            "name": part.name,
            "version": part.version,
            "licence": part.licence,
            "texts": None if part.texts is None else str(part.texts),
        }
        for part in components()
    ]
    lines = [f"{row['name']} {row['version']}: {row['licence']}" for row in rows]
    places = {part.texts.parent for part in components() if part.texts is not None}
    lines += [f"their texts: {place}" for place in places]
    return print_answer(arguments, rows, lines)


COMMANDS = (
    Command(
        "licences", "what the program is made of, and under which licences",
        "every part with its version and its licence.", lambda _: None, _run, computes=False,
    ),
)  # fmt: skip
