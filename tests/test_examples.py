"""The examples in docstrings give the results that they show."""

import doctest
import importlib
from pathlib import Path

import pytest

import slide_gui

PACKAGE = Path(slide_gui.__file__).parent


def modules_with_examples():
    """Return the modules with an example in a docstring."""
    files = [file for file in sorted(PACKAGE.rglob("*.py")) if ">>> " in file.read_text("utf-8")]
    return [".".join(("slide_gui", *file.relative_to(PACKAGE).with_suffix("").parts)) for file in files]


@pytest.mark.parametrize("module", modules_with_examples())
def test_that_the_examples_of_a_module_give_their_results(module):
    results = doctest.testmod(importlib.import_module(module))
    assert results.attempted > 0
    assert results.failed == 0


def test_that_the_example_of_the_readme_gives_its_result(capsys):
    example = (PACKAGE.parent / "README.md").read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    exec(example, {})
    assert f"print(model.score(X_test, y_test))  # {float(capsys.readouterr().out.split()[0]):.3f}\n" in example
