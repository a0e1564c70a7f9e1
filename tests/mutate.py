"""Plant faults, one at a time, and count how many of them make a test fail.

    python tests/mutate.py --count 200 --seed 1 --workers 2 --out faults.json

A fault is one small change of one line of `slide_gui/core`, `slide_gui/experiments` or `slide_gui/data`: a comparison,
an arithmetic or boolean operator exchanged, a condition turned round, a number one off or ten times too large, a bound
of a slice dropped, a function taken for its opposite, nothing returned, a statement left out. The lines are drawn with
a seed, evenly over all files. Texts, annotations, assertions, imports and `__repr__` are left alone, and so is
`report(0.0)`: how soon a job can be cancelled is a matter of time, which `make bench` measures.

The first run measures, test by test, which lines each covers and how long it takes (some minutes; kept until a file
changes). A fault then meets only the tests that cover its line, fastest first, at most `--seconds` of them. It is
caught when one fails, or when they need three times as long as they should and 20 s. A line that only programs begun by
a test run, workers of a cluster among them, meets the tests that import its module; where there are none it survives
untried. Everything happens in copies of the tree. Survivors are printed for a person to judge: some change
nothing that could be observed. Broken off, the same command goes on from what is in `--out`.

With `--only FILE` or `--only FILE:LINE` every fault there is planted. Needs `coverage` besides the test tools.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import itertools
import json
import math
import os
import queue
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("slide_gui/core", "slide_gui/experiments", "slide_gui/data")
TESTS = (
    "tests/core", "tests/experiments", "tests/data", "tests/figures", "tests/cli", "tests/test_error_rate.py",
    "tests/test_examples.py", "tests/test_faults.py", "tests/test_memory.py", "tests/test_plugins.py",
)  # fmt: skip
COPIED = ("slide_gui", "tests", "resources", "packaging", "pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE")
FIXTURE = "fixture "  # before the name of a fixture, where others have a test
ADDRESS_SPACE = 12 << 30  # bytes: a fault in a size must not take the machine down

# ------------------------------------------------------------------------------------------------ the faults

COMPARISONS = {
    ast.Lt: ("<", ("<=", ">=")),
    ast.LtE: ("<=", ("<", ">")),
    ast.Gt: (">", (">=", "<=")),
    ast.GtE: (">=", (">", "<")),
    ast.Eq: ("==", ("!=",)),
    ast.NotEq: ("!=", ("==",)),
    ast.Is: ("is", ("is not",)),
    ast.IsNot: ("is not", ("is",)),
    ast.In: ("in", ("not in",)),
    ast.NotIn: ("not in", ("in",)),
}
ARITHMETIC = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.Pow: ("**", "*"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.BitXor: ("^", "&"),
}
OPPOSITES = ("min max", "any all", "argmin argmax", "minimum maximum", "floor ceil", "zeros ones", "sum mean")
OPPOSITE = {a: b for pair in OPPOSITES for a, b in (pair.split(), pair.split()[::-1])}
TOLD = {"warn", "debug", "info", "warning", "error", "exception"}  # calls whose arguments are words for a person
UNTOUCHED = (ast.Import, ast.ImportFrom, ast.Assert, ast.JoinedStr, ast.Global, ast.Nonlocal)


@dataclass(frozen=True)
class Fault:
    """One change of one file, as positions in its text."""

    path: str
    line: int
    start: int
    end: int
    new: str
    kind: str
    lines: tuple[int, int]  # of the statement
    names: tuple[str, ...] = ()  # by which others use it, where it is executed on import only

    def planted(self, text: bytes) -> bytes:
        return text[: self.start] + self.new.encode() + text[self.end :]

    def changes(self, text: bytes) -> bool:
        """Tell whether the file is still Python and says something else."""
        try:
            return ast.dump(ast.parse(self.planted(text))) != ast.dump(ast.parse(text))
        except SyntaxError:
            return False

    def shown(self, text: bytes) -> tuple[str, str]:
        """The line before and after."""
        left = text.rfind(b"\n", 0, self.start) + 1
        right = text.find(b"\n", self.end)
        before = text[left : right if right >= 0 else len(text)].decode()
        after = (text[left : self.start] + self.new.encode() + text[self.end : right]).decode()
        return " ".join(before.split()), " ".join(after.split())


class _Faults(ast.NodeVisitor):
    """Collects the faults of one file."""

    def __init__(self, path: str, text: bytes) -> None:
        self.path, self.text = path, text
        self.offsets = [0]
        for line in text.splitlines(keepends=True):
            self.offsets.append(self.offsets[-1] + len(line))
        self.found: list[Fault] = []
        self.lines = (0, 0)
        self.names: tuple[str, ...] = ()
        self.depth = 0  # of functions
        self.making = False  # in __init__
        self.owner: list[str] = []

    def at(self, node: ast.AST) -> tuple[int, int]:
        return (
            self.offsets[node.lineno - 1] + node.col_offset,  # type: ignore[attr-defined]
            self.offsets[node.end_lineno - 1] + node.end_col_offset,  # type: ignore[attr-defined]
        )

    def add(self, kind: str, line: int, start: int, end: int, new: str) -> None:
        names = () if self.depth else self.names
        self.found.append(Fault(self.path, line, start, end, new, kind, self.lines, names))

    def between(self, kind: str, left: ast.AST, right: ast.AST, old: str, new: str) -> None:
        """Exchange the operator that stands between two nodes."""
        start, end = self.at(left)[1], self.at(right)[0]
        pattern = rb"(?<![\w*/<>=!])" + re.escape(old.encode()).replace(rb"\ ", rb"\s+") + rb"(?![\w*/<>=])"
        match = re.search(pattern, self.text[start:end])
        if match:
            place = start + match.start()
            self.add(kind, self.text[:place].count(b"\n") + 1, place, start + match.end(), new)

    # -- where there is nothing to plant

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, UNTOUCHED):
            return
        if isinstance(node, ast.stmt):
            self.statement(node)
        else:
            super().visit(node)

    def statement(self, node: ast.stmt) -> None:
        outer = self.lines, self.names
        body = getattr(node, "body", None)
        head_end = body[0].lineno - 1 if body else node.end_lineno
        self.lines = (node.lineno, max(node.lineno, head_end or node.lineno))
        if not self.depth:
            self.names = tuple(self.owner) or self.targets(node)
        super().visit(node)
        self.lines, self.names = outer

    @staticmethod
    def targets(node: ast.stmt) -> tuple[str, ...]:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        return tuple(n.id for t in targets if t is not None for n in ast.walk(t) if isinstance(n, ast.Name))

    def visit_If(self, node: ast.If) -> None:
        if "TYPE_CHECKING" in ast.unparse(node.test) or "__name__" in ast.unparse(node.test):
            return
        self.turned(node.test)
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        self.turned(node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.turned(node.test)
        self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.name in ("__repr__", "__str__"):
            return
        outer = self.names
        if not self.depth:
            self.names = (f"{node.lineno}:{node.end_lineno}", *(self.owner or (node.name,)))
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        self.names = outer
        self.depth, self.making = self.depth + 1, node.name == "__init__"
        self.body(node.body)
        self.depth, self.making = self.depth - 1, False

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.owner.append(node.name)
        self.body(node.body)
        self.owner.pop()

    def visit_Module(self, node: ast.Module) -> None:
        self.body(node.body)

    def body(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            self.visit(statement)

    def visit_Assign(self, node: ast.Assign) -> None:
        if any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            return
        if not self.making and not any(isinstance(t, (ast.Name, ast.Tuple)) for t in node.targets):
            self.left_out(node)
        self.visit(node.value)
        for target in node.targets:
            self.visit(target)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        self.left_out(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant) or self.says(node.value):
            return
        self.left_out(node)
        self.generic_visit(node)

    # -- the operators

    def left_out(self, node: ast.stmt) -> None:
        if self.depth:
            self.add("a statement left out", node.lineno, *self.at(node), "pass")

    def visit_Break(self, node: ast.Break) -> None:
        self.left_out(node)

    def visit_Continue(self, node: ast.Continue) -> None:
        self.left_out(node)

    def turned(self, test: ast.expr) -> None:
        if not isinstance(test, ast.Compare) and not (isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)):
            start, end = self.at(test)
            self.add("a condition turned", test.lineno, start, end, f"not ({self.text[start:end].decode()})")

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None):
            return
        self.add("nothing returned", node.lineno, *self.at(node.value), "None")
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        for left, op, right in zip((node.left, *node.comparators), node.ops, node.comparators, strict=False):
            old, others = COMPARISONS[type(op)]
            for new in others:
                self.between("a comparison", left, right, old, new)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self.between("a boolean operator", left, right, old, new)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        words = [n for n in (node.left, node.right) if isinstance(n, (ast.JoinedStr, ast.Constant))]
        if type(node.op) in ARITHMETIC and not any(
            isinstance(n, ast.JoinedStr) or isinstance(n.value, str) for n in words
        ):
            self.between("an arithmetic operator", node.left, node.right, *ARITHMETIC[type(node.op)])
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if type(node.op) in ARITHMETIC:
            old, new = ARITHMETIC[type(node.op)]
            self.between("an arithmetic operator", node.target, node.value, f"{old}=", f"{new}=")
        self.left_out(node)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        start, operand = self.at(node)[0], self.at(node.operand)[0]
        if isinstance(node.op, (ast.Not, ast.USub)):
            self.add("a sign or a not dropped", node.lineno, start, operand, "")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        value, (start, end) = node.value, self.at(node)
        if isinstance(value, bool):
            others: list[object] = [not value]
        elif isinstance(value, int):
            others = [value + 1, value - 1, *([value * 10] if abs(value) > 1 else [])]
        elif isinstance(value, float):
            others = [float(f"{value * factor:.12g}") for factor in (10.0, 0.1)] if value else [1.0]
        else:
            return
        for other in others:
            new = f"({other})" if isinstance(other, (int, float)) and other < 0 else repr(other)
            self.add("a constant", node.lineno, start, end, new)

    @staticmethod
    def says(node: ast.expr) -> bool:
        """Tell whether this is `report(0.0)`, where a job may be cancelled and nothing else happens."""
        return ast.unparse(node).endswith(".report(0.0)")

    def visit_Slice(self, node: ast.Slice) -> None:
        for bound in (node.lower, node.upper):
            if bound is not None:
                self.add("a bound of a slice dropped", bound.lineno, *self.at(bound), "")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in OPPOSITE:
            end = self.at(node.func)[1]
            self.add("the opposite function", node.func.lineno, end - len(name), end, OPPOSITE[name])
        if name in TOLD or self.says(node):
            return
        self.visit(node.func)
        for argument in node.args:
            self.visit(argument)
        for keyword in node.keywords:
            if keyword.arg != "strict":  # a check of what cannot be
                self.visit(keyword.value)


def faults_of(root: Path, path: str) -> list[Fault]:
    """Return the faults that can be planted in a file."""
    text = (root / path).read_bytes()
    collector = _Faults(path, text)
    collector.visit(ast.parse(text))
    return collector.found


def sample(root: Path, faults: list[Fault], count: int, seed: int) -> list[Fault]:
    """Return one fault from each of `count` equal stretches of all lines that have any, every kind equally likely."""
    rng = random.Random(seed)
    by_line: dict[tuple[str, int], dict[str, list[Fault]]] = defaultdict(lambda: defaultdict(list))
    for fault in faults:
        by_line[fault.path, fault.line][fault.kind].append(fault)
    lines = sorted(by_line)
    count = min(count, len(lines))
    edges = [round(k * len(lines) / count) for k in range(count + 1)]
    drawn = []
    for first, end in itertools.pairwise(edges):
        while True:
            kinds = by_line[lines[rng.randrange(first, end)]]
            fault = rng.choice(kinds[rng.choice(sorted(kinds))])
            if fault.changes((root / fault.path).read_bytes()):
                drawn.append(fault)
                break
    return drawn


# ------------------------------------------------------------------------------------------------ inside pytest


class Recorder:
    """Measures what each test covers and how long it takes."""

    def __init__(self, root: Path, data: Path) -> None:
        import coverage

        self.root = root
        self.coverage = coverage.Coverage(
            data_file=str(data), source=[str(root / "slide_gui")], config_file=False, messages=False
        )
        self.coverage.start()
        self.seconds: dict[str, float] = defaultdict(float)
        self.fixtures: dict[str, list[str]] = defaultdict(list)  # the tests of a fixture that outlives one test
        self.wide: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.coverage.switch_context(item.nodeid)
        for name in getattr(item, "fixturenames", ()):
            self.fixtures[f"{item.nodeid.split('::')[0]}::{name}"].append(item.nodeid)
        result = yield
        self.coverage.switch_context("")
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest) -> object:
        if fixturedef.scope not in ("module", "class") or not request.node.nodeid:
            return (yield)
        name = f"{request.node.nodeid.split('::')[0]}::{fixturedef.argname}"
        self.wide.add(name)
        self.coverage.switch_context(FIXTURE + name)
        try:
            return (yield)
        finally:
            self.coverage.switch_context(os.environ.get("PYTEST_CURRENT_TEST", "").rsplit(" ", 1)[0])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] += report.duration

    def result(self) -> dict[str, object]:
        self.coverage.stop()
        data = self.coverage.get_data()
        lines: dict[str, dict[str, list[str]]] = {}
        for file in data.measured_files():
            found = {str(n): cs for n, cs in data.contexts_by_lineno(file).items()}
            lines[Path(file).relative_to(self.root).as_posix()] = found
        wide = {name: self.fixtures[name] for name in self.wide}
        return {"seconds": self.seconds, "wide": wide, "lines": lines}


class Chosen:
    """Runs the chosen tests only, in the order given, and notes the first that fails."""

    def __init__(self, ids: list[str]) -> None:
        self.place = {one: k for k, one in enumerate(ids)}
        self.count, self.failed = 0, ""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        here = {item.nodeid for item in items}
        renamed = {one.split("[")[0]: k for one, k in self.place.items() if one not in here}  # by a changed constant
        place = {i.nodeid: self.place.get(i.nodeid, renamed.get(i.nodeid.split("[")[0])) for i in items}
        items[:] = sorted((i for i in items if place[i.nodeid] is not None), key=lambda i: place[i.nodeid] or 0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.count += report.when == "call"
        if report.failed and not self.failed:
            self.failed = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid


def child(job: Path) -> int:
    """Run pytest as a job file says; its answer goes beside it."""
    asked = json.loads(job.read_text())
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CPU, (asked["most"], asked["most"] + 10))
    arguments = ["--tb=no", "--timeout=0", "-p", "no:cacheprovider", f"--basetemp={asked['scratch']}", *asked["files"]]
    if asked["record"]:
        recorder = Recorder(Path.cwd(), job.with_suffix(".coverage"))
        code = pytest.main(arguments, plugins=[recorder])
        answer = recorder.result()
    else:
        chosen = Chosen(asked["ids"])
        code = pytest.main(["-x", *arguments], plugins=[chosen])
        answer = {"failed": chosen.failed, "count": chosen.count}
    job.with_suffix(".answer").write_text(json.dumps(answer))
    return int(code)


# ------------------------------------------------------------------------------------------------ outside


class Tree:
    """A copy of the project in which faults are planted."""

    def __init__(self, place: Path) -> None:
        self.place, self.root, self.job = place, place / "tree", place / "job.json"

    @classmethod
    def fresh(cls, place: Path, source: Path) -> Tree:
        shutil.rmtree(place, ignore_errors=True)
        tree = cls(place)
        tree.root.mkdir(parents=True)
        for name in COPIED:
            if (source / name).is_dir():
                shutil.copytree(source / name, tree.root / name, symlinks=True)
            elif (source / name).exists():
                shutil.copy2(source / name, tree.root / name)
        return tree

    def pytest(self, job: dict[str, object], most: float, keep_bytecode: bool = False) -> tuple[int | None, Any]:
        """Run a job; None for the exit code where it needed more seconds of the processor, or ten times as many."""
        scratch = str(self.place / "tmp" / "pytest")
        self.job.write_text(json.dumps({"scratch": scratch, "most": math.ceil(most), **job}))
        answer = self.job.with_suffix(".answer")
        answer.unlink(missing_ok=True)
        (self.place / "tmp").mkdir(exist_ok=True)
        environment = {
            **os.environ,
            "PYTHONPATH": str(self.root),
            "OPENBLAS_NUM_THREADS": "1",
            "HOME": str(self.place / "tmp"),
            "TMPDIR": str(self.place / "tmp"),
            "QT_LOGGING_RULES": "qt.qpa.*.info=false",
        }
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        if not keep_bytecode:
            environment["PYTHONDONTWRITEBYTECODE"] = "1"
        process = subprocess.Popen(
            [sys.executable, "-P", str(self.root / "tests" / "mutate.py"), "--child", str(self.job)],
            cwd=self.root,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=10.0 * most)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return None, {}
        found = json.loads(answer.read_text()) if answer.exists() else {}
        found["output"] = output.decode(errors="replace")
        return None if process.returncode == -signal.SIGXCPU else process.returncode, found


@dataclass
class Coverage:
    """Which tests cover what, and how long each takes."""

    seconds: dict[str, float] = field(default_factory=dict)
    wide: dict[str, list[str]] = field(default_factory=dict)  # the tests of each fixture that outlives one test
    lines: dict[str, dict[str, list[str]]] = field(default_factory=dict)

    def forget(self, files: set[str]) -> None:
        """Drop the tests of these files."""

        def stays(test: str) -> bool:
            return test.removeprefix(FIXTURE).split("::")[0] not in files

        self.seconds = {test: seconds for test, seconds in self.seconds.items() if stays(test)}
        self.wide = {name: tests for name, tests in self.wide.items() if stays(name)}
        for numbers in self.lines.values():
            for number, contexts in numbers.items():
                numbers[number] = [context for context in contexts if stays(context)]

    def add(self, found: dict[str, Any]) -> None:
        """Add what was measured."""
        self.seconds.update(found["seconds"])
        self.wide.update(found["wide"])
        for path, numbers in found["lines"].items():
            own = self.lines.setdefault(path, {})
            for number, contexts in numbers.items():
                own.setdefault(number, []).extend(contexts)

    def tests_at(self, path: str, numbers: Iterable[int]) -> set[str]:
        own = self.lines.get(path, {})
        contexts = {context for number in numbers for context in own.get(str(number), ())}
        tests: set[str] = set()
        for context in contexts - {""}:
            name = context.removeprefix(FIXTURE)
            tests.update((context,) if name == context else self.wide[name])
        return tests

    def outside_tests(self, path: str, numbers: Iterable[int]) -> bool:
        """Tell whether one of the lines is run where tests are collected."""
        return any("" in self.lines.get(path, {}).get(str(number), ()) for number in numbers)

    def in_order(self, tests: Iterable[str], most: float) -> list[str]:
        """Return the fastest tests up to so many seconds; those that share a fixture come last, file by file."""

        sharing = {test for tests in self.wide.values() for test in tests}

        def key(test: str) -> tuple[str, float, str]:
            shared = test.split("::")[0] if test in sharing else ""
            return shared, self.seconds.get(test, 0.0), test

        chosen: list[str] = []
        total = 0.0
        for test in sorted(tests, key=key):
            total += self.seconds.get(test, 0.0)
            if chosen and total > most:
                break
            chosen.append(test)
        return chosen


class Uses:
    """Where each name is used, for what is executed on import only: constants, defaults, fields."""

    def __init__(self, root: Path) -> None:
        self.inside: dict[str, set[tuple[str, int]]] = defaultdict(set)  # in functions
        self.outside: dict[str, set[str]] = defaultdict(set)  # names defined with it
        self.bodies: dict[str, set[int]] = defaultdict(set)
        self.tested: dict[str, set[str]] = defaultdict(set)  # the test files that speak of it
        self.importing: dict[str, set[str]] = defaultdict(set)  # the test files that import a module
        for file in sorted((root / "slide_gui").rglob("*.py")):
            path = file.relative_to(root).as_posix()
            self._read(path, ast.parse(file.read_bytes()))
        for file in sorted((root / "tests").rglob("test_*.py")):
            path, text = file.relative_to(root).as_posix(), file.read_text(encoding="utf-8")
            for word in set(re.findall(r"\w+", text)):
                self.tested[word].add(path)
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.ImportFrom) and node.module:
                    for module in (node.module, *(f"{node.module}.{each.name}" for each in node.names)):
                        self.importing[f"{module.replace('.', '/')}.py"].add(path)

    def _read(self, path: str, module: ast.Module) -> None:
        functions = [n for n in ast.walk(module) if isinstance(n, (ast.FunctionDef, ast.Lambda))]
        for function in functions:
            body = function.body if isinstance(function.body, list) else [function.body]
            for part in body:
                for node in ast.walk(part):
                    name = getattr(node, "id", None) or getattr(node, "attr", None)
                    if name and hasattr(node, "lineno"):
                        self.inside[name].add((path, node.lineno))
                    if isinstance(node, ast.stmt):
                        self.bodies[path].add(node.lineno)
        for statement in module.body:
            for target in _Faults.targets(statement):
                for node in ast.walk(statement):
                    if isinstance(node, ast.Name) and node.id != target:
                        self.outside[node.id].add(target)

    def tests(self, fault: Fault, coverage: Coverage) -> set[str]:
        """Return the tests that may see what is executed on import: those that run what uses it, or speak of it."""
        lines = [tuple(map(int, name.split(":"))) for name in fault.names if ":" in name]
        names = {name for name in fault.names if ":" not in name}
        files = {file for name in names for file in self.tested[name]}
        tests = {test for test in coverage.seconds if test.split("::")[0] in files}
        for first, last in lines:  # of the function whose default it is
            tests |= coverage.tests_at(fault.path, [n for n in self.bodies[fault.path] if first < n <= last])
        if not lines:
            new = set(names)
            while new:
                new = {user for name in new for user in self.outside[name]} - names
                names |= new
            for name in names:
                for path, number in self.inside[name]:
                    tests |= coverage.tests_at(path, [number])
        return tests or coverage.tests_at(fault.path, self.bodies[fault.path])


def _stamps() -> dict[str, str]:
    """Return one hash for each test file, and one for all that every test depends on."""
    shared, stamps = hashlib.sha256(sys.version.encode()), {}
    for name in COPIED:
        for file in sorted([ROOT / name] if (ROOT / name).is_file() else (ROOT / name).rglob("*")):
            path = file.relative_to(ROOT).as_posix()
            if file.name.startswith("test_") and path.startswith(TESTS):
                stamps[path] = hashlib.sha256(file.read_bytes()).hexdigest()
            elif file.is_file() and "__pycache__" not in file.parts:
                shared.update(path.encode() + b"\0" + file.read_bytes())
    return {"": shared.hexdigest(), **stamps}


def measured(place: Path, stamps: dict[str, str]) -> tuple[Tree, Coverage]:
    """Return a copy of the project and what its tests cover, measured anew for the test files that have changed."""
    kept = place / "coverage.json"
    known = json.loads(kept.read_text()) if kept.exists() else {"stamps": {}, "coverage": {}}
    coverage = Coverage(**known["coverage"])
    if known["stamps"].get("") != stamps[""]:
        known, coverage = {"stamps": {}}, Coverage()
    changed = sorted(path for path in stamps if path and known["stamps"].get(path) != stamps[path])
    tree = Tree.fresh(place / "original", ROOT)
    if known["stamps"] == stamps:
        return tree, coverage
    coverage.forget({path for path in known["stamps"] if path not in stamps} | set(changed))
    if changed:
        print(f"measuring what the tests of {len(changed)} files cover …", flush=True)
        code, found = tree.pytest({"record": True, "files": changed}, 3600.0, keep_bytecode=True)
        if code != 0:
            sys.exit(f"the tests fail without any fault:\n{found.get('output', 'they took an hour')[-4000:]}")
        coverage.add(found)
        order = coverage.in_order(found["seconds"], math.inf)
        verdict, by = try_tests(tree, order, 3600.0)
        if verdict != "survived":
            sys.exit(f"without any fault, the fastest tests first: {by}")
    kept.write_text(json.dumps({"stamps": stamps, "coverage": asdict(coverage)}))
    return tree, coverage


def try_tests(tree: Tree, tests: list[str], most: float) -> tuple[str, str]:
    """Return the verdict on whatever stands in the tree, and what caught it."""
    files = list(dict.fromkeys(test.split("::")[0] for test in tests))
    code, found = tree.pytest({"record": False, "files": files, "ids": tests}, most)
    if code is None:
        return "caught", "took too long"
    if code == 0:
        return "survived", ""
    if code in (4, 5) and not found.get("failed"):
        sys.exit(f"no tests ran: {found['output'][-2000:]}")
    return "caught", found.get("failed") or (f"ended with exit code {code}")


@dataclass(frozen=True)
class Verdict:
    """What became of a fault."""

    path: str
    line: int
    kind: str
    original: str
    mutant: str
    verdict: str  # caught, survived or untried
    by: str
    tests: int
    seconds: float


def plant(fault: Fault, tree: Tree, coverage: Coverage, uses: Uses, most: float) -> Verdict:
    """Plant a fault in a tree, run the tests that cover it, and take it out again."""
    file = tree.root / fault.path
    text = file.read_bytes()
    lines = range(fault.lines[0], fault.lines[1] + 1)
    covering = coverage.tests_at(fault.path, lines)
    if fault.names or (not covering and coverage.outside_tests(fault.path, lines)):
        covering |= uses.tests(fault, coverage)
    if not covering:
        covering = {test for test in coverage.seconds if test.split("::")[0] in uses.importing[fault.path]}
    tests = coverage.in_order(covering, most)
    start = time.monotonic()
    verdict, by = "untried", ""
    if tests:
        stat = file.stat()
        file.write_bytes(fault.planted(text))
        normal = sum(coverage.seconds.get(test, 0.0) for test in tests)
        try:
            verdict, by = try_tests(tree, tests, 3.0 * normal + 20.0)
        finally:
            file.write_bytes(text)
            os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # or Python would keep the fault's bytecode
    original, mutant = fault.shown(text)
    seconds = round(time.monotonic() - start, 1)
    return Verdict(fault.path, fault.line, fault.kind, original, mutant, verdict, by, len(tests), seconds)


def summary(verdicts: list[Verdict]) -> str:
    """Return the survivors, the score of each part and the score of all."""
    lines = []
    for one in verdicts:
        if one.verdict != "caught":
            tests = f"{one.tests} tests pass" if one.tests else "no test has to do with it"
            lines.append(f"{one.path}:{one.line}: {one.kind}; {tests}\n    {one.original}\n  → {one.mutant}")
    for part in (*PARTS, ""):
        own = [one for one in verdicts if one.path.startswith(part)]
        if own:
            caught = sum(one.verdict == "caught" for one in own)
            lines.append(f"{part or 'all'}: {caught} of {len(own)} faults caught, {100 * caught / len(own):.1f} %")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200, help="faults drawn")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2, help="faults tried at the same time")
    parser.add_argument("--seconds", type=float, default=30.0, help="most time of tests a fault, without it")
    parser.add_argument("--only", action="append", default=[], metavar="FILE[:LINE]", help="every fault there")
    parser.add_argument("--out", type=Path, help="write all verdicts here, as JSON")
    parser.add_argument("--place", type=Path, default=Path(tempfile.gettempdir()) / f"slide-gui-faults-{os.getuid()}")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child is not None:
        return child(asked.child)

    asked.place.mkdir(parents=True, exist_ok=True)
    stamps = _stamps()
    original, coverage = measured(asked.place, stamps)
    root = original.root  # what stands here may change in the meantime
    uses = Uses(root)
    paths = [file.relative_to(root).as_posix() for part in PARTS for file in sorted((root / part).rglob("*.py"))]
    faults = [fault for path in paths for fault in faults_of(root, path)]
    if asked.only:
        wanted = [one.partition(":")[::2] for one in asked.only]
        drawn = [f for f in faults if any(f.path == p and n in ("", str(f.line)) for p, n in wanted)]
        drawn = [fault for fault in drawn if fault.changes((root / fault.path).read_bytes())]
    else:
        drawn = sample(root, faults, asked.count, asked.seed)
    trees: queue.SimpleQueue[Tree] = queue.SimpleQueue()
    for number in range(asked.workers):
        trees.put(Tree.fresh(asked.place / f"worker-{number}", root))

    known: dict[str, dict[str, Any]] = {}
    if asked.out and asked.out.exists():
        before = json.loads(asked.out.read_text())
        known = before["verdicts"] if before["stamps"] == stamps else {}

    def one(fault: Fault) -> Verdict:
        key = f"{fault.path}:{fault.start}-{fault.end}:{fault.new}"
        if key in known:
            return Verdict(**known[key])
        tree = trees.get()
        try:
            verdict = plant(fault, tree, coverage, uses, asked.seconds)
        finally:
            trees.put(tree)
        print(f"{verdict.verdict:9} {verdict.path}:{verdict.line} {verdict.kind}  {verdict.by}", flush=True)
        known[key] = asdict(verdict)
        if asked.out:
            asked.out.write_text(json.dumps({"stamps": stamps, "verdicts": dict(known)}, indent=1))
        return verdict

    start = time.monotonic()
    with ThreadPoolExecutor(asked.workers) as pool:
        verdicts = list(pool.map(one, drawn))
    print(summary(verdicts))
    print(f"{len(drawn)} of {len(faults)} faults, seed {asked.seed}, {(time.monotonic() - start) / 60:.1f} minutes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
