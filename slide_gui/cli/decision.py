"""`slide-gui decide`: what a trained classifier decides of one image, and why."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slide_gui.cli.console import Command, UsageError, print_answer, progress_bar
from slide_gui.cli.options import add_data, add_image_options, chosen_image, data_source, read_data

if TYPE_CHECKING:
    from slide_gui.experiments.inspection.decision import Decision, Flip

__all__ = ["COMMANDS"]


def _options(parser: argparse.ArgumentParser) -> None:
    add_data(parser)
    group = parser.add_argument_group("classifier")
    group.add_argument("--store", type=Path, required=True, metavar="FILE", help="the store that holds its run")
    group.add_argument("--run", dest="hash", required=True, metavar="HASH", help="of the run, or how it begins")
    add_image_options(parser)
    parser.add_argument("--seed", type=int, default=0, help="of generated data (0)")
    parser.add_argument("--no-flip", action="store_true", help="do not look for the fewest changes that flip it")


def _decide(arguments: argparse.Namespace) -> int:
    from slide_gui.experiments.inspection.decision import Decider
    from slide_gui.experiments.run import restore
    from slide_gui.experiments.store import RunStore
    from slide_gui.text import label_names

    if not arguments.store.is_file():
        raise UsageError(f"{str(arguments.store)!r}: there is no such store of runs")
    with RunStore(arguments.store, read_only=True) as store:
        hashes = store.hashes(arguments.hash)
        if len(hashes) != 1:
            raise UsageError(f"{len(hashes) or 'no'} runs begin with {arguments.hash!r}; give the hash of one")
        result = store.load(hashes[0])
    source = data_source(arguments)
    dataset = read_data(source, f"reading {source.argument}")
    image, name = chosen_image(dataset, arguments)
    with progress_bar("deciding") as progress:
        decider = Decider(restore(dataset, result, progress=progress.part(0.0, 0.5)), dataset)
        image = image.astype(dataset.train.dtype)
        decision = decider.decide(decider.representation.transform(image[None])[0])
        flip = None if arguments.no_flip else decider.flip(image, progress.part(0.5, 1.0))
    names = label_names(decider.labels, dataset.label_names)
    document = {"image": name, "run": hashes[0], **_document(decision, flip, names)}
    return print_answer(arguments, document, _lines(document))


def _document(decision: Decision, flip: Flip | None, names: tuple[str, ...]) -> dict[str, Any]:
    return {
        "class": names[decision.first],
        "second": names[decision.second],
        "margin": decision.margin,
        "votes": dict(zip(names, decision.votes, strict=True)),
        "margins": dict(zip(names, decision.margins, strict=True)),
        "shares": list(decision.shares),
        "nearest": [
            {
                "row": each.row,
                "class": names[each.code],
                "kernel": each.kernel,
                "pull": each.pull,
                "shares": list(each.shares),
            }
            for each in decision.nearest
        ],
        "flip": None
        if flip is None
        else {"features": list(flip.features), "class": names[flip.code], "fewest": flip.fewest},
    }


def _lines(document: dict[str, Any]) -> Iterator[str]:
    yield f"{document['image']}: {document['class']}, by {document['margin']:.4g} over {document['second']}"
    if len(document["votes"]) > 2:
        votes = sorted(document["votes"].items(), key=lambda vote: -vote[1])
        yield "votes: " + ", ".join(f"{name} {count}" for name, count in votes)
    for each in document["nearest"]:
        yield f"support vector {each['row']} ({each['class']}): K = {each['kernel']:.3g}, pulls by {each['pull']:+.3g}"
    flip = document["flip"]
    if flip is not None and flip["features"]:
        which = "the fewest that do" if flip["fewest"] else "fewer may do"
        yield f"changing features {', '.join(map(str, flip['features']))} makes it {flip['class']} ({which})"
    elif flip is not None:
        yield "no change of a few features was found that flips it"


COMMANDS = (
    Command(
        "decide", "say what a stored classifier decides of one image, and why",
        "duels, nearest support vectors and the fewest changes that flip the decision.", _options, _decide,
    ),
)  # fmt: skip
