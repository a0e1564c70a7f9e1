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


@pytest.mark.parametrize("page", ["README.md", "resources/help/guide.md", "resources/help/cluster.md"])
def test_that_the_python_of_a_page_runs_and_gives_its_result(page, capsys):
    text = (PACKAGE.parent / page).read_text(encoding="utf-8")
    exec("".join(block.partition("```")[0] for block in text.split("```python\n")[1:]), {})
    printed = capsys.readouterr().out.split()
    assert not printed or f"print(model.score(X_test, y_test))  # {float(printed[0]):.3f}\n" in text
