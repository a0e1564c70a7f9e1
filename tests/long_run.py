"""Long proofs, of which `make test` runs a sample: `python -m tests.long_run KIND --summary FILE`.

- fuzz: damaged inputs of every kind that is read; inputs that fail are saved in a folder next to the summary.
- kills: SIGKILL of sweeps, training, saves, downloads and sessions.
- user: a user without a plan, who clicks, drags, types, opens, cancels and closes.
- cycles: jobs that are started and cancelled at random moments.
- openings: every page, dialog and the window itself, opened and closed.
- interleavings: changes at random moments between the results of earlier ones.

Counts are written to the summary after each step. fuzz and kills resume from it if commit and seed are the same. The
exit code is 1 if anything failed. `python -m tests.long_run fuzz --again csv --number 123` reads one input again.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

KINDS = {
    "fuzz": ("tests.fuzz", "inputs", 1_000_000),
    "kills": ("tests.kills", "kills", 1000),
    "user": ("tests.soak", "minutes", 120),
    "cycles": ("tests.soak", "times", 10_000),
    "openings": ("tests.soak", "times", 500),
    "interleavings": ("tests.soak", "times", 10_000),
}
"""Kind → module with its `run(kind, amount, seed, counts, say, folder)`, unit of the amount, and usual amount."""


def forked(task: Callable[[int], None]) -> tuple[int, int]:
    """Run a task in a fork of this process, and return its process id and the end of a pipe to read from.

    The task gets the other end. The process ends with 0, or with 1 and the traceback if the task raises.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        status = 1
        try:
            task(writer)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(writer)
    return child, reader


def _commit() -> str:
    """Return the commit of the sources, with a mark if they differ from it."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=Path(__file__).parent, capture_output=True, text=True).stdout.strip()

    return git("rev-parse", "HEAD") + ("-changed" if git("status", "--porcelain", "-uno") else "")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.long_run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--amount", type=float, help="inputs, kills, minutes of the user, or times")
    parser.add_argument("--seed", type=int, default=14)
    parser.add_argument("--summary", type=Path, help="the JSON file of counts")
    parser.add_argument("--again", metavar="TARGET", help="of fuzz: read one input again, and let it fail")
    parser.add_argument("--number", type=int, default=0, help="of that input")
    options = parser.parse_args(arguments)
    name, unit, usual = KINDS[options.kind]
    module = import_module(name)
    if options.again:
        module.again(options.again, options.seed, options.number)
        return 0
    if options.summary is None:
        parser.error("--summary is needed")
    amount = usual if options.amount is None else options.amount
    document: dict[str, Any] = {
        "command": f"python -m tests.long_run {options.kind} --amount {amount:g} --seed {options.seed}",
        "kind": options.kind,
        "unit": unit,
        "seed": options.seed,
        "commit": _commit(),
        "machine": f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}",
    }
    counts, start = {}, time.monotonic()
    if options.summary.exists():
        before = json.loads(options.summary.read_text())
        if any(before[key] != document[key] for key in ("kind", "commit", "seed")):
            parser.error(f"{options.summary} is of another kind, commit or seed; name another file")
        counts, start = before["counts"], start - before["seconds"]

    def say(counts: dict[str, Any], failed: int, line: str) -> None:
        part = options.summary.with_suffix(".part")
        whole = {**document, "seconds": round(time.monotonic() - start, 1), "failed": failed, "counts": counts}
        part.write_text(json.dumps(whole, indent=1) + "\n")
        os.replace(part, options.summary)
        print(line, flush=True)

    return int(module.run(options.kind, amount, options.seed, counts, say, options.summary.with_suffix("")) > 0)


if __name__ == "__main__":
    sys.exit(main())
