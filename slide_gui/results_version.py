"""The results version: an integer that is raised when the same run gives other numbers.

It is part of the hash of every run, so that a store never returns a run for which this program gives other numbers.
`tests/test_results_version.py` fails when stored numbers are no longer reproduced.
"""

RESULTS_VERSION = 18

# Version → its name in the hashes of stored runs; until version 16 a name ended in a digest of the sources.
_NAMES = {"16": "16-1c7160a1"}


def version_in_hashes(text: str) -> int | str:
    """Return the version that a run records in the form that is part of the hash of the run."""
    name = _NAMES.get(text, text)
    return int(name) if name.isdigit() else name


def is_current(text: str | None) -> bool:
    """Return True if the version that a run records equals the version of this program."""
    return text is not None and version_in_hashes(text) == version_in_hashes(str(RESULTS_VERSION))
