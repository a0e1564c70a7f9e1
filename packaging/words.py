"""The catalogues of words, brought up to the code: `python packaging/words.py`.

Collects what `tr`, `plural` and `counted` are called with, sorts it into resources/words/*.po (what is new stands there
without a translation, what nobody says any longer goes), and compiles those, which is what the program reads.
"""

import ast
import io
import re
import sys
from datetime import UTC, datetime
from pathlib import Path

from babel.messages import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).resolve().parent.parent
WORDS = ROOT / "resources" / "words"
NO_DATE = datetime(2000, 1, 1, tzinfo=UTC)  # the same words are the same bytes
FIELDS = re.compile(r"{(\w+)[^{}]*}")
"""What a text has for its values; the name is what a translation has to have, too."""


def in_code():
    """Return a catalogue of what the code says, each with the files it stands in."""
    said = Catalog()
    for file in sorted((ROOT / "slide_gui").rglob("*.py")):
        place = [(file.relative_to(ROOT).as_posix(), None)]
        calls = [node for node in ast.walk(ast.parse(file.read_bytes())) if isinstance(node, ast.Call)]
        for call in sorted(calls, key=lambda node: (node.lineno, node.col_offset)):
            message = _message(call)
            if message is not None:
                said.add(message, locations=place)
    return said


def _message(call):
    """Return what a call looks up: a text, or one and many; None where it is another call, or not of literals."""
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    texts = [arg.value if isinstance(arg, ast.Constant) and isinstance(arg.value, str) else None for arg in call.args]
    match name, texts:
        case "tr", [str(text)]:
            return text
        case "plural", [str(one), str(many), _]:
            return one, many
        case "counted", [_, str(noun)]:
            return noun, f"{noun}s"
    return None


def catalogue(language):
    """Return the translations of a language as they stand."""
    with (WORDS / f"{language}.po").open("rb") as file:
        return read_po(file, locale=language)


def brought_up(language, said):
    """Return a catalogue with what the code says, in its order, translated as far as it was."""
    before = catalogue(language)
    after = Catalog(locale=language, fuzzy=False, creation_date=NO_DATE, revision_date=NO_DATE)
    for message in said:
        if message.id:
            known = before.get(message.id)
            after.add(message.id, known.string if known else None, locations=message.locations)
    return after


def written(after):
    """Return the bytes of a catalogue as text and compiled."""
    text, compiled = io.BytesIO(), io.BytesIO()
    write_po(text, after, width=120, omit_header=True, include_lineno=False)
    header = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=utf-8\\n"\n'
    header += f'"Language: {after.locale}\\n"\n"Plural-Forms: {after.plural_forms}\\n"\n\n'
    write_mo(compiled, after)
    return header.encode() + text.getvalue(), compiled.getvalue()


def main():
    said, missing = in_code(), 0
    for file in sorted(WORDS.glob("*.po")):
        after = brought_up(file.stem, said)
        text, compiled = written(after)
        file.write_bytes(text)
        file.with_suffix(".mo").write_bytes(compiled)
        without = [message.id for message in after if message.id and not all(forms(message))]
        print(f"{file.relative_to(ROOT)}: {len(after)} words, {len(without)} of them without a translation")
        missing += len(without)
    return 1 if missing else 0


def forms(message):
    return message.string if isinstance(message.string, (tuple, list)) else (message.string,)


if __name__ == "__main__":
    sys.exit(main())
