"""The results version: an integer that increases whenever a change to the program alters the results of any run.

The version is part of the hash of every run. A run store therefore never returns a result that this program would not
reproduce. `tests/test_results_version.py` fails if stored results are no longer reproduced.
"""

RESULTS_VERSION = 18

# This table maps versions to their names in the hashes of runs. Up to version 16, a name ended in a digest of the
# sources.
_NAMES = {"16": "16-1c7160a1"}


def version_in_hashes(text: str) -> int | str:
    """Return a results version in the form that is part of a run's hash. `text` is the version stored with the run."""
    name = _NAMES.get(text, text)
    return int(name) if name.isdigit() else name


def is_current(text: str | None) -> bool:
    """Return True if the results version stored with a run is that of this program."""
    return text is not None and version_in_hashes(text) == version_in_hashes(str(RESULTS_VERSION))
