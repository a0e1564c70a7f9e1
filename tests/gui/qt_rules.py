"""Rules by which every Qt object has one owner, checked on the syntax tree of the sources.

Live objects cannot be asked: after a call of `metaObject()` on an instance, Shiboken may free the description of its
class while other objects use it.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping

from PySide6 import QtCore, QtGui, QtWidgets

FORBIDDEN = {
    "metaObject": "it makes Shiboken free the description of the class",
    "deleteLater": "nothing is deleted while its window lives; use tear_down for a window",
    "WA_DeleteOnClose": "it deletes the dialog later; keep the dialog with its window",
    "sendPostedEvents": "nothing waits to be deleted",
    "DeferredDelete": "nothing waits to be deleted",
    "singleShot": "its timer has no parent and deletes itself later; keep a timer",
    "addLayout": "it wraps the items of a filled layout; use slide_gui.gui.widgets.layouts.nested",
    **dict.fromkeys(
        ("removeWidget", "removeItem", "itemAt", "itemAtPosition", "takeAt"),
        "it leaves the wrapper of an item of a layout behind; hide the widget",
    ),
}


class _Program:
    """The classes that the modules of a program define."""

    def __init__(self, nodes: Iterable[ast.ClassDef]) -> None:
        self.classes = {node.name: _described(node) for node in nodes}

    def is_qobject(self, name: str) -> bool:
        if name in self.classes:
            return any(map(self.is_qobject, self.classes[name][0]))
        return _qt(name) is not None

    def receives(self, name: str, attribute: str) -> bool | None:
        """Return True for a slot, a signal or a method of Qt, and None if no class defines the attribute."""
        if name not in self.classes:
            return True if hasattr(_qt(name), attribute) else None
        bases, receivers = self.classes[name]
        inherited = (self.receives(base, attribute) for base in bases)
        return next((found for found in (receivers.get(attribute), *inherited) if found is not None), None)

    def unmarked(self, method: str) -> list[str]:
        """Return the classes of Qt objects that define a method of this name that is not a slot."""
        return [name for name, own in self.classes.items() if own[1].get(method) is False and self.is_qobject(name)]


def problems(modules: Mapping[str, str]) -> list[str]:
    """Return the receivers that must not be connected, and the painters outside `with`, as ``module:line: problem``."""
    nodes = {name: list(_inside_classes(ast.parse(text))) for name, text in modules.items()}
    program = _Program([node for found in nodes.values() for _, node in found if isinstance(node, ast.ClassDef)])
    found = []
    for module, inside in nodes.items():
        calls = [node for _, node in inside if isinstance(node, ast.Call)]
        # A receiver in a variable may be any method that the module passes as a value.
        passes = any(_name(call.func) == "connect" and isinstance(call.args[0], ast.Name) for call in calls)
        ended = [item.context_expr for _, node in inside if isinstance(node, ast.With) for item in node.items]
        painters = [call for call in calls if _name(call.func) == "QPainter" and call not in ended]
        found += [f"{module}:{call.lineno}: an error would leave the painter active; use with" for call in painters]
        for own, node in inside:
            said = [*_receiver(program, own, node), *(_passed(program, own, node) if passes else ())]
            found += [f"{module}:{getattr(node, 'lineno', 0)}: {text}" for text in said]
    return sorted(set(found))


def forbidden(modules: Mapping[str, str]) -> list[str]:
    """Return the uses of forbidden names, in tests, too, as ``module:line: problem``."""
    return [
        f"{module}:{node.lineno}: {text}"
        for module, source in modules.items()
        if any(name in source for name in (*FORBIDDEN, "__class__"))
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute)
        for text in _forbidden(node)
    ]


def _inside_classes(tree: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Return every node with the outermost class that contains it."""
    waiting = [("", tree)]
    while waiting:
        own, parent = waiting.pop()
        for node in ast.iter_child_nodes(parent):
            yield own, node
            waiting.append((own or (node.name if isinstance(node, ast.ClassDef) else ""), node))


def _forbidden(node: ast.Attribute) -> Iterator[str]:
    if node.attr == "__class__" and isinstance(node.ctx, ast.Store):
        # The object then releases another class than the one that it was created with. That class is freed while it is
        # in use, and the next object that is allocated at the address of its QMetaObject crashes when it is destroyed.
        yield "__class__: the class of a Qt object must not change"
    if node.attr in FORBIDDEN:
        yield f"{node.attr}: {FORBIDDEN[node.attr]}"


def _receiver(program: _Program, own: str, node: ast.AST) -> Iterator[str]:
    """Yield the problems of a receiver that is connected, also by the keyword `clicked` of `add_button`."""
    clicked = isinstance(node, ast.keyword) and node.arg == "clicked"
    if not (clicked or (isinstance(node, ast.Call) and node.args and _name(node.func) == "connect")):
        return
    receiver = node.value if clicked else node.args[0]
    if isinstance(receiver, ast.Lambda):
        yield "a lambda is connected: it would run for destroyed receivers"
    elif isinstance(receiver, ast.Attribute) and _name(receiver.value) == "self" and program.is_qobject(own):
        if not program.receives(own, receiver.attr):
            yield f"{own}.{receiver.attr} is connected but not a slot"
    elif isinstance(receiver, ast.Attribute):
        # The class is unknown here, so every method of this name must be a slot.
        yield from (f"{name}.{receiver.attr} is connected but not a slot" for name in program.unmarked(receiver.attr))


def _passed(program: _Program, own: str, node: ast.AST) -> Iterator[str]:
    """Yield the problems of methods that are passed without being called."""
    values = [value for value in ast.iter_child_nodes(node) if isinstance(value, ast.Attribute)]
    for value in values:
        called = isinstance(node, ast.Call) and value is node.func
        if called or isinstance(node, ast.Attribute) or not isinstance(value.ctx, ast.Load):
            continue
        if _name(value.value) == "self" and program.is_qobject(own):
            if program.receives(own, value.attr) is False:
                yield f"{own}.{value.attr} is passed but not a slot"
        elif isinstance(node, ast.Tuple):
            yield from (f"{name}.{value.attr} is passed but not a slot" for name in program.unmarked(value.attr))


def _described(node: ast.ClassDef) -> tuple[list[str], dict[str, bool]]:
    """Return the bases of a class, and for each method and signal whether it may be connected."""
    receivers: dict[str, bool] = {}
    for item in node.body:
        if isinstance(item, ast.FunctionDef):
            marks = {_name(mark.func if isinstance(mark, ast.Call) else mark) for mark in item.decorator_list}
            if not marks & {"property", "staticmethod", "classmethod"}:
                receivers[item.name] = "Slot" in marks
        elif isinstance(item, ast.Assign) and isinstance(item.value, ast.Call) and _name(item.value.func) == "Signal":
            receivers |= {_name(target): True for target in item.targets}
    return [_name(base) for base in node.bases], receivers


def _qt(name: str) -> type | None:
    found = next((getattr(module, name) for module in (QtWidgets, QtGui, QtCore) if hasattr(module, name)), None)
    return found if isinstance(found, type) and issubclass(found, QtCore.QObject) else None


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
