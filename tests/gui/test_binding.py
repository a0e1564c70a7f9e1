import PySide6
import pytest

from slide_gui.gui import app
from slide_gui.gui.display import binding_problem, installed_binding


@pytest.mark.parametrize("binding", ["6.12.0", "6.12.1"])
def test_that_the_binding_that_loses_references_is_refused_before_python_3_12_only(binding):
    said = binding_problem(binding, (3, 11))
    assert said is not None
    assert binding in said
    assert "3.11" in said
    assert "pip install" in said
    assert binding_problem(binding, (3, 12)) is None


@pytest.mark.parametrize("binding", ["6.8.3", "6.9.3", "6.10.3", "6.11.3", "6.1.2"])
def test_that_other_bindings_are_taken(binding):
    assert binding_problem(binding, (3, 11)) is None


def test_that_the_binding_installed_is_taken_and_is_the_one_imported():
    assert installed_binding() == PySide6.__version__
    assert binding_problem() is None


def test_that_the_program_refuses_in_one_sentence(monkeypatch, capsys):
    monkeypatch.setattr(app, "binding_problem", lambda: "PySide6 6.12.0 aborts on Python 3.11")
    assert app.run([]) == 1
    assert capsys.readouterr().err == "slide-gui: PySide6 6.12.0 aborts on Python 3.11\n"
