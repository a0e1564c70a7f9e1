"""`slide-gui decide`: the class that a trained classifier predicts for one image, and the reasons."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slide_gui.cli.console import Command, UsageError, print_answer, progress_bar
from slide_gui.cli.options import add_data, add_image_options, chosen_image, data_source, read_data

if TYPE_CHECKING:
    from slide_gui.experiments.inspection.decision import Decision, Flip


def _options(parser: argparse.ArgumentParser) -> None:
    add_data(parser)
    group = parser.add_argument_group("classifier")
    group.add_argument("--store", type=Path, required=True, metavar="FILE", help="the store that holds its run")
    group.add_argument("--run", dest="hash", required=True, metavar="HASH", help="hash of the run, or its first digits")
    add_image_options(parser)
    parser.add_argument("--seed", type=int, default=0, help="seed of generated data (0)")
    parser.add_argument(
        "--no-flip", action="store_true", help="do not search for the fewest features that change the predicted class"
    )


def _decide(arguments: argparse.Namespace) -> int:
    from slide_gui.experiments.inspection.decision import Decider
    from slide_gui.experiments.runs.run import restore
    from slide_gui.experiments.store.store import RunStore
    from slide_gui.text import label_names

    if not arguments.store.is_file():
        raise UsageError(f"{str(arguments.store)!r}: this run store does not exist")
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
    margin = f"margin {document['margin']:.4g} over {document['second']}"
    yield f"{document['image']}: predicted as {document['class']}, {margin}"
    if len(document["votes"]) > 2:
        votes = sorted(document["votes"].items(), key=lambda vote: -vote[1])
        yield "votes: " + ", ".join(f"{name} {count}" for name, count in votes)
    for each in document["nearest"]:
        yield f"support vector {each['row']} ({each['class']}): K = {each['kernel']:.3g}, pulls by {each['pull']:+.3g}"
    flip = document["flip"]
    if flip is not None and flip["features"]:
        which = "no smaller set does" if flip["fewest"] else "a smaller set may do"
        features = ", ".join(map(str, flip["features"]))
        yield f"changing features {features} changes the class to {flip['class']} ({which})"
    elif flip is not None:
        yield "found no small set of features whose change alters the predicted class"


COMMANDS = (
    Command(
        "decide", "explain how a stored classifier predicts one image",
        "pairwise votes, nearest support vectors, and the fewest features whose change alters the predicted class.",
        _options, _decide,
    ),
)  # fmt: skip
