"""The results version: raised when stored numbers are no longer reproduced; runs stored before it was an integer."""

import json

import pytest

from slide_gui.results_version import RESULTS_VERSION, is_current, version_in_hashes
from tests import golden

REMEDY = (
    "stored runs are no longer reproduced. If that is intended, raise RESULTS_VERSION in slide_gui/results_version.py "
    "by one and run `python -m tests.golden`; else undo the change"
)
TOLERANCE = 1e-5
"""Relative; kernels of OpenBLAS differ by at most 7e-7 in float32."""


def test_that_stored_numbers_are_reproduced():
    stored = json.loads(golden.FILE.read_text("utf-8"))
    assert stored["results_version"] == RESULTS_VERSION, REMEDY
    assert stored["hashes"] == golden.hashes(), REMEDY
    computed = dict(golden.numbers())
    assert computed.keys() == stored["numbers"].keys()
    near = {name: pytest.approx(numbers, rel=TOLERANCE, abs=1e-9) for name, numbers in stored["numbers"].items()}
    other = [name for name, numbers in computed.items() if numbers != near[name]]
    assert not other, f"{', '.join(other)}: {REMEDY}"


def test_that_the_last_digest_of_sources_is_part_of_the_hashes_of_its_version():
    assert version_in_hashes("16") == version_in_hashes("16-1c7160a1") == "16-1c7160a1"


@pytest.mark.parametrize("version", ["15-7c87b6ef", "16-1c7160a1+0123", "16+0123", "3", "", None])
def test_that_other_versions_are_not_current(version):
    assert not is_current(version)
    assert version is None or str(version_in_hashes(version)) == version
