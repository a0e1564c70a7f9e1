"""What is stored and written into files is the same in every language; what people are shown is not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from slide_gui import language
from tests.bracketed import Bracketed

LANGUAGES = ("en", "⟦⟧")


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return of each language what a process that speaks it stored, wrote and showed."""
    processes = {}
    for code in LANGUAGES:
        words = [sys.executable, "-m", "tests.experiments.spoken", code, str(tmp_path_factory.mktemp("spoken"))]
        processes[code] = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, encoding="utf-8")
    return {code: json.loads(process.communicate(timeout=300)[0]) for code, process in processes.items()}


def test_that_a_store_is_the_same_in_every_language(said: dict[str, Any]) -> None:
    english, other = (said[code]["stored"] for code in LANGUAGES)
    assert len(english) == 8
    assert other == english


def test_that_tables_documents_commands_and_scripts_are_the_same_in_every_language(said: dict[str, Any]) -> None:
    english, other = (said[code]["files"] for code in LANGUAGES)
    assert {Path(name).suffix for name in english} >= {".csv", ".md", ".tex", ".json", ".txt", ".py", ".npz"}
    assert other.keys() == english.keys()
    assert [name for name, content in other.items() if content != english[name]] == []


def test_that_pictures_and_what_is_said_of_runs_speak_the_language(said: dict[str, Any]) -> None:
    english, other = (said[code]["shown"] for code in LANGUAGES)
    assert [name for name, content in english.items() if "⟦" in content] == []
    assert [name for name, content in other.items() if "⟦" not in content] == []


@pytest.fixture
def bracketed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language, "_words", Bracketed())


def test_that_texts_are_english_where_they_are_written_down_and_only_there(bracketed: None) -> None:
    @language.in_english()
    def written() -> str:
        return language.tr("{n} rows", n=3) + language.plural("row", "rows", 3)

    assert (written(), written()) == ("3 rowsrows", "3 rowsrows")
    assert language.tr("{n} rows", n=3) + language.plural("row", "rows", 3) == "⟦3 rows⟧⟦rows⟧"
