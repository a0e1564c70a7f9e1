"""`slide-gui try`: a first result of SLIDE on the user's data in about a minute, in one sentence."""

from __future__ import annotations

import argparse
from pathlib import Path

from slide_gui.cli.console import Command, announce, print_answer, progress_bar
from slide_gui.cli.options import (
    add_cluster_options,
    add_data,
    check_folder,
    cluster_choice,
    data_source,
    opened_cluster,
    picture_session,
    read_data,
)


def _try_options(parser: argparse.ArgumentParser) -> None:
    add_data(parser)
    add_cluster_options(parser)
    parser.add_argument("--seed", type=int, default=0, help="seed of generated data (0)")
    parser.add_argument(
        "--store", type=Path, metavar="FILE", help="reuse the runs in this file and add new ones (not stored)"
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="folder for the figure, its numbers, and the script that reproduces it"
    )


def _try(arguments: argparse.Namespace) -> int:
    from slide_gui.data.files import folder_files
    from slide_gui.experiments.sweeps.trial import plan_trial, trial_seconds, try_data

    where, source = cluster_choice(arguments), data_source(arguments)
    check_folder(arguments, arguments.out, [source])
    dataset = read_data(source)
    plan = plan_trial(dataset)  # refuses unusable data before a store is created
    announce(trial_seconds(plan, dataset))
    if arguments.out is not None:
        with folder_files(arguments.out):  # marks the folder, which may also receive the store
            pass
    with opened_cluster(where) as cluster, progress_bar("trying") as progress:
        if arguments.store is None:
            trial = try_data(dataset, source, progress=progress, cluster=cluster)
        else:
            from slide_gui.experiments.store.store import RunStore

            with RunStore(arguments.store) as store:
                trial = try_data(dataset, source, store=store, progress=progress, cluster=cluster)
    written = []
    if arguments.out is not None:
        from slide_gui.figures.export import save_bundle
        from slide_gui.figures.run_exports import trial_export
        from slide_gui.figures.style import Style

        stack = trial.result.spec.stack
        session = picture_session(source, dataset.fingerprint, stack, "curves")
        export = trial_export(trial, dataset, source)
        written = [str(path) for path in save_bundle(arguments.out, export, Style(), session)]
    document = {"dataset": dataset.name, "fingerprint": dataset.fingerprint, **trial.document(), "outputs": written}
    lines = [f"{dataset.title}: {trial.sentence}", trial.details, *(f"saved {path}" for path in written)]
    return print_answer(arguments, document, lines)


COMMANDS = (
    Command(
        "try",
        "test SLIDE on your data in about a minute",
        "run a quick sweep, select a setting on validation rows, and report its test error in one sentence.",
        _try_options,
        _try,
    ),
)
