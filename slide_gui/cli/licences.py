"""`slide-gui licences`: the components of this installation and their licences."""

from __future__ import annotations

import argparse

from slide_gui.cli.console import Command, print_answer


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
    lines += [f"licence texts: {place}" for place in places]
    return print_answer(arguments, rows, lines)


COMMANDS = (
    Command(
        "licences", "list the components of the program and their licences",
        "list every component with its version and licence.", lambda _: None, _run, computes=False,
    ),
)  # fmt: skip
