"""Run scripts that the program wrote, in this process."""

import runpy
from pathlib import Path

import pytest


def run_script(script: Path, folder: Path) -> None:
    """Run a script as the main program, with a folder as the current one."""
    with pytest.MonkeyPatch.context() as patch:
        path = script.absolute()
        patch.chdir(folder)
        runpy.run_path(str(path), run_name="__main__")
