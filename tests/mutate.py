"""Plant faults in a copy of the sources, one at a time: those that no test catches count as failed.

A fault is one change of one line of `slide_gui/core`, `slide_gui/experiments` or `slide_gui/data`: an operator, a
condition, a number, a returned value or a statement. The first run records which tests execute which lines, and how
long they last, in about ten minutes, next to the summary. After that, at most 30 of the tests that execute its line are
run for each fault, the fastest first: those of whose lines the largest part is in its module. If they pass, all tests
of 2 of their files follow, which may use a result that another test or a fixture computed. For a line that no test
executes, as it runs on import, the tests that execute its module are run.
"""

import ast
import copy
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import coverage

from tests.long_run import LongRun

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("core", "experiments", "data")
TESTS = ("tests/core", "tests/experiments", "tests/data", "tests/figures", "tests/cli", "tests/test_error_rate.py")
COPIED = ("slide_gui", "tests", "resources", "packaging", "pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE")
MOST, MOST_FILES = 30, 2  # most tests per fault, and most files with all their tests
SECONDS, SLOWER = 60, 5  # tests that last 60 seconds longer than 5 times their usual time catch a fault

OPERATORS: dict[type, tuple[type, ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,), ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,), ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.Div,), ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult,), ast.Mod: (ast.Mult,), ast.Pow: (ast.Mult,), ast.And: (ast.Or,), ast.Or: (ast.And,),
}  # fmt: skip
ENDS = ("caught", "late", "survived", "untested")
SKIPPED = (ast.Import, ast.ImportFrom, ast.Assert, ast.JoinedStr, ast.Raise, ast.arg)

Fault = dict[str, Any]
durations: Counter[str] = Counter()
"""Name of each test → its seconds, while the lines that it executes were recorded."""


def pytest_runtest_setup(item: Any) -> None:
    """Record what a test and its fixtures execute, on all threads, with the test's name without parameters."""
    coverage.Coverage.current().switch_context(item.nodeid.split("[")[0])  # type: ignore[union-attr]


def pytest_runtest_logreport(report: Any) -> None:
    """Add the time of a test, or of its fixtures, to that of its name without parameters."""
    durations[report.nodeid.split("[")[0]] += report.duration


def pytest_sessionfinish() -> None:
    data = Path(coverage.Coverage.current().config.data_file)  # type: ignore[union-attr]
    data.with_suffix(".seconds").write_text(json.dumps(durations), encoding="utf-8")


def changed(node: ast.AST) -> Iterator[ast.AST | str]:
    """Yield each faulty form of a node, as a node or as source text."""
    for name in ("op", "ops"):
        operators = getattr(node, name, None)
        for place, operator in enumerate(operators if isinstance(operators, list) else [operators]):
            for other in OPERATORS.get(type(operator), ()):
                new = copy.deepcopy(node)
                if isinstance(operators, list):
                    getattr(new, name)[place] = other()
                else:
                    setattr(new, name, other())
                yield new
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        yield node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield str(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        value = node.value
        yield from map(repr, (value + 1, value - 1) if isinstance(value, int) else (value * 10 or 1.0,))
    elif isinstance(node, ast.Return) and node.value is not None and ast.unparse(node) != "return None":
        yield "return None"
    elif isinstance(node, (ast.AugAssign, ast.Break, ast.Continue)) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    ):
        yield "pass"


def faults_of(path: str) -> list[Fault]:
    """Return all faults that can be planted in a file."""
    text = (ROOT / path).read_bytes()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    faults: list[Fault] = []

    def visit(node: ast.AST) -> None:
        if isinstance(node, SKIPPED) or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)):
            return
        if hasattr(node, "lineno") and not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            first = starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
            last = starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
            for form in changed(node):
                new = form if isinstance(form, str) else ast.unparse(form)
                new = f"({new})" if isinstance(node, ast.expr) else new
                place = {"path": path, "line": node.lineno, "start": first, "end": last}
                faults.append({**place, "old": text[first:last].decode(), "new": new})
        for name, child in ast.iter_fields(node):
            if name not in ("annotation", "returns", "decorator_list"):
                for each in child if isinstance(child, list) else [child]:
                    if isinstance(each, ast.AST):
                        visit(each)

    visit(ast.parse(text))
    return faults


def shuffled(seed: int) -> list[list[Fault]]:
    """Return the faults of each line, the lines in random order."""
    by_line: dict[tuple[str, int], list[Fault]] = defaultdict(list)
    for part in PARTS:
        for file in sorted((ROOT / "slide_gui" / part).rglob("*.py")):
            for fault in faults_of(file.relative_to(ROOT).as_posix()):
                by_line[fault["path"], fault["line"]].append(fault)
    lines = [by_line[line] for line in sorted(by_line)]
    random.Random(seed).shuffle(lines)
    return lines


def run(tree: Path, arguments: list[str], seconds: float | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(tree), "OPENBLAS_NUM_THREADS": "1", "TMPDIR": str(tree.parent)}
    command = [sys.executable, "-P", "-m", *arguments]
    return subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, timeout=seconds)


def record(tree: Path, data: Path) -> None:
    """Record which tests execute which lines."""
    how = ["coverage", "run", "--source=slide_gui", f"--data-file={data}", "-m", "pytest", "-p", "tests.mutate"]
    done = run(tree, [*how, "-q", "--tb=no", *TESTS])
    if done.returncode:
        data.unlink(missing_ok=True)
        sys.exit(f"the tests fail without a fault:\n{done.stdout[-2000:]}")


def tests_of(
    fault: Fault, contexts: dict[int, list[str]], sizes: Counter[str], seconds: Counter[str]
) -> tuple[list[str], float]:
    """Return the tests that execute the line, or if none its module, then two of their files; and a time limit."""
    here = Counter(chain.from_iterable(contexts.values()))
    executing = set(contexts.get(fault["line"], ())) - {""}
    tests = sorted(executing or set(here) - {""}, key=lambda name: (-here[name] / sizes[name], name))
    files = list(dict.fromkeys(name.split("::")[0] for name in tests))[:MOST_FILES]
    chosen = sorted(tests[:MOST], key=lambda name: seconds[name])
    usual = sum(time for name, time in seconds.items() if name in chosen or name.split("::")[0] in files)
    return [*chosen, *files], SECONDS + SLOWER * usual


def outcome(tree: Path, fault: Fault, tests: list[str], limit: float) -> str:
    """Return the outcome of a fault: caught, late (too slow), survived or, without a test, untested."""
    if not tests:
        return "untested"
    file = tree / fault["path"]
    original = file.read_bytes()
    file.write_bytes(original[: fault["start"]] + fault["new"].encode() + original[fault["end"] :])
    try:
        code = run(tree, ["pytest", "-q", "-x", "--tb=no", "-p", "no:cacheprovider", *tests], limit).returncode
        return "survived" if code == 0 else "caught"
    except subprocess.TimeoutExpired:
        return "late"
    finally:
        file.write_bytes(original)


class Mutate(LongRun):
    """Plants the next fault and runs its tests."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.tree = Path(self.stack.enter_context(tempfile.TemporaryDirectory()), "tree")
        self.tree.mkdir()
        for name in COPIED:
            copied = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
            copied(ROOT / name, self.tree / name)
        data = self.folder.resolve().with_suffix(".coverage")
        if not data.exists():
            record(self.tree, data)
        self.executed = coverage.CoverageData(str(data))
        self.executed.read()
        self.files = {file: self.executed.contexts_by_lineno(file) for file in self.executed.measured_files()}
        lines = chain.from_iterable(contexts.values() for contexts in self.files.values())
        self.sizes = Counter(chain.from_iterable(lines))  # lines that each test executes
        self.seconds: Counter[str] = Counter(json.loads(data.with_suffix(".seconds").read_text(encoding="utf-8")))
        self.lines = shuffled(self.seed)
        self.counts.update({"not caught": [], **dict.fromkeys(ENDS, 0)} | self.counts)

    @property
    def done(self) -> float:
        return sum(self.counts[end] for end in ENDS)

    @property
    def failed(self) -> int:
        return len(self.counts["not caught"])

    def step(self) -> None:
        fault = random.Random(f"{self.seed}/{self.done}").choice(self.lines[int(self.done)])
        contexts = next((each for name, each in self.files.items() if name.endswith("/" + fault["path"])), {})
        end = outcome(self.tree, fault, *tests_of(fault, contexts, self.sizes, self.seconds))
        self.counts[end] += 1
        if end in ("survived", "untested"):
            self.counts["not caught"].append(f"{fault['path']}:{fault['line']}: {fault['old']}  →  {fault['new']}")
