"""The catalogues of words: all that the code says, translated, and nothing else; the window speaks them."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from slide_gui import language
from slide_gui.text import counted

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "packaging"))

import words  # noqa: E402

SAYS = re.compile(r"\b(tr|plural|counted)\b")
TRANSLATED = [code for code in language.LANGUAGES if code != "en"]


@pytest.fixture(autouse=True)
def english():
    yield
    language.speak("en")


def python(*arguments: str) -> str:
    """Return what a process of Python's says."""
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=ROOT, timeout=110)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("code", TRANSLATED)
def test_that_a_catalogue_has_what_the_code_says_all_of_it_translated_and_is_what_the_program_reads(code):
    after = words.brought_up(code, words.in_code())
    without = [message.id for message in after if message.id and not all(words.forms(message))]
    assert not without, f"without a translation: {without[:10]}"
    text, compiled = words.written(after)
    assert (words.WORDS / f"{code}.po").read_bytes() == text, "run: python packaging/words.py"
    assert (words.WORDS / f"{code}.mo").read_bytes() == compiled, "run: python packaging/words.py"


@pytest.mark.parametrize("code", TRANSLATED)
def test_that_a_translation_has_the_fields_of_its_text_and_goes_on_where_its_text_does(code):
    wrong = []
    for message in words.catalogue(code):
        if not message.id:
            continue
        ids = message.id if isinstance(message.id, tuple) else (message.id,)
        for said in words.forms(message):
            fields = set(words.FIELDS.findall(said)) == set(words.FIELDS.findall(ids[-1]))
            ends = [bool(re.match(r"[\s,;]", text)) + 2 * text[-1:].isspace() for text in (said, ids[-1])]
            if not fields or len(set(ends)) > 1:
                wrong.append(f"{ids[-1]!r}: {said!r}")
    assert not wrong, "\n".join(wrong)


def test_that_what_is_translated_is_a_literal_which_the_catalogue_can_collect():
    computed = []
    for file in (ROOT / "slide_gui").rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if SAYS.search(text) else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and file.name != "text.py":
                place = {"tr": (0,), "plural": (0, 1), "counted": (1,)}.get(node.func.id, ())
                if any(not isinstance(node.args[k], ast.Constant) for k in place):
                    computed.append(f"{file.relative_to(ROOT)}:{node.lineno}")
    assert not computed, computed


def test_that_a_text_is_said_in_the_language_chosen_and_in_english_where_none_is():
    assert language.tr("Cancel") == "Cancel"
    assert counted(2, "row") == "2 rows"
    language.speak("de")
    assert language.tr("Cancel") == "Abbrechen"
    assert (counted(1, "row"), counted(2, "row")) == ("1 Zeile", "2 Zeilen")
    assert language.tr("what no catalogue {knows}", knows=1) == "what no catalogue 1"
    with pytest.raises(ValueError, match="must be one of en, de"):
        language.speak("tlh")
    assert language.spoken() == "de"


@pytest.mark.parametrize(
    ("environment", "settings", "spoken"),
    [
        ("de", "en", "de"),
        ("de_CH.UTF-8", "", "de"),
        ("fr", "de", "en"),
        ("", "de", "de"),
        ("", "tlh", "en"),
        ("", "", "en"),
    ],
)
def test_that_the_environment_goes_before_the_settings_and_those_before_the_system(
    environment, settings, spoken, tmp_path, monkeypatch
):
    from PySide6.QtCore import QSettings

    from slide_gui.gui import app

    file = QSettings(str(tmp_path / "s.ini"), QSettings.Format.IniFormat)
    if settings:
        file.setValue("language", settings)
    monkeypatch.setattr(app, "make_settings", lambda: file)
    monkeypatch.setenv("SLIDE_GUI_LANGUAGE", environment)
    app.choose_language()
    assert language.spoken() == spoken


def test_that_nothing_that_has_words_is_imported_before_the_window_chose_its_language():
    script = (
        "import sys, slide_gui.gui.app as app\n"
        "def choose():\n"
        "    print(*[name for name in sys.modules if name.startswith('slide_gui')])\n"
        "    raise SystemExit(0)\n"
        "app.choose_language = choose\n"
        "app.display_problem = lambda: None\n"
        "from slide_gui.cli import main\n"
        "for arguments in [], ['README.md'], ['README.md', '--labels', 'first']:\n"
        "    try:\n"
        "        main(arguments)\n"
        "    except SystemExit:\n"
        "        pass"
    )
    said = python("-c", script).splitlines()
    assert len(said) == 3  # each the modules of all before it, too
    for name in said[-1].split():
        text = _source(name).decode()
        if not SAYS.search(text):
            continue
        tree = ast.parse(text)
        inside = {id(each) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) for each in ast.walk(node)}
        calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
        early = [n.lineno for n in calls if n.func.id in ("tr", "plural", "counted") and id(n) not in inside]
        assert not early, f"{name} says words while it is imported, lines {early}"


def _source(name: str) -> bytes:
    path = ROOT / name.replace(".", "/")
    return (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_bytes()


def in_window(code: str) -> dict[str, list[str]]:
    document: dict[str, list[str]] = json.loads(python("-m", "tests.gui.in_language", code))
    return document


@pytest.mark.parametrize("code", TRANSLATED)
def test_that_no_word_of_a_translated_window_is_cut(code):
    assert in_window(code)["cut"] == []


def test_that_every_word_of_the_window_is_one_of_the_catalogue():
    outside = in_window("marked")["outside"]
    assert not outside, "\n".join(outside)
