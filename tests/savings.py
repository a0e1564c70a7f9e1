"""Files of all kinds that the program saves, in numbered versions, for tests of failing disks and killed processes."""

import hashlib
import json
import random
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np

from slide_gui.core.slide.parameters import StackParameters
from slide_gui.data.catalogue import fetch
from slide_gui.data.entries import RemoteFile
from slide_gui.data.files import RECORD
from slide_gui.experiments.files.model_file import FittedModel, fit_model, load_model, save_model
from slide_gui.experiments.files.session import SUFFIX, SessionRecord, picture_text, read_session, write_session
from slide_gui.experiments.files.source import DataSource
from slide_gui.figures.export import FigureExport, save_bundle, save_export
from slide_gui.figures.style import Style
from slide_gui.figures.tables import save_table
from tests.experiments.tiny import rectangles
from tests.long_run import Child


@dataclass(frozen=True)
class Saving:
    """A kind of file or folder that the program saves.

    Attributes
    ----------
    save : callable
        Saves the version of a number from 1 in a folder.
    read : callable
        Returns the versions of the saved files; raises an error if one is missing or damaged.
    names : tuple of str
        Paths in the folder that an error may name.
    """

    save: Callable[[Path, int], object]
    read: Callable[[Path], set[int]]
    names: tuple[str, ...]


def _record(version: int) -> SessionRecord:
    return SessionRecord(DataSource(key="rectangles", seed=version, generated=True))


def _read_session(path: Path) -> set[int]:
    return {read_session(path).source.seed}


@cache
def _model() -> FittedModel:
    return fit_model(rectangles(), StackParameters(depth=2))


def _read_model(folder: Path) -> set[int]:
    model = load_model(folder / "a.npz")
    for layer, original in zip(model.stack.layers, _model().stack.layers, strict=True):
        assert np.array_equal(layer.weights, original.weights)
    return {int(model.dataset)}


def _export(version: int, drawn: bool = False) -> FigureExport:
    return FigureExport(
        "a",
        (lambda figure, _: figure.text(0, 0, str(version))) if drawn else None,
        lambda path: save_table(path, ["version"], [[version]]),
        lambda _: f"{version}",
        ("", f"version = {version}"),
        {"x.json": json.dumps(version)},
    )


def _read_svg(folder: Path) -> set[int]:
    assert (folder / "a.svg").read_text().endswith("</svg>\n")
    return _read_session(folder / "a.svg")


def _read_bundle(folder: Path) -> set[int]:
    """Return the versions of all files; they may differ, because files are replaced one after the other."""
    texts = [(folder / name).read_text() for name in ("a.csv", "commands.txt", "a.py", "x.json")]
    return {int(re.findall(r"\d+", text)[-1]) for text in texts} | _read_session(folder / f"a{SUFFIX}")


SAVINGS = {
    "session": Saving(
        lambda folder, v: write_session(_record(v), folder / f"a{SUFFIX}"),
        lambda folder: _read_session(folder / f"a{SUFFIX}"),
        (f"a{SUFFIX}",),
    ),
    "model": Saving(
        lambda folder, v: save_model(folder / "a.npz", replace(_model(), dataset=str(v))), _read_model, ("a.npz",)
    ),
    "figure": Saving(
        lambda folder, v: save_export(folder / "a.svg", _export(v, drawn=True), Style(), picture_text(_record(v))),
        _read_svg,
        ("a.svg",),
    ),
    "bundle": Saving(
        lambda folder, v: save_bundle(folder, _export(v), Style(), picture_text(_record(v))),
        _read_bundle,
        ("a.csv", "commands.txt", "a.py", "x.json", f"a{SUFFIX}", RECORD),
    ),
    "download": Saving(lambda folder, v: _download(folder, v), lambda folder: _read_download(folder), ("a.bin",)),
}


# Downloads -----------------------------------------------------------------------------------------------------------

_addresses: list[str] = []


@cache
def _content(version: int) -> bytes:
    return version.to_bytes(2, "big") + random.Random(version).randbytes(250_000)


def _download(folder: Path, version: int) -> None:
    digest = hashlib.sha256(_content(version)).hexdigest()
    fetch(RemoteFile("a.bin", (f"sha256:{digest}",)), [f"{_addresses[-1]}{version}/"], folder)


def _read_download(folder: Path) -> set[int]:
    content = (folder / "a.bin").read_bytes()
    version = int.from_bytes(content[:2], "big")
    assert content == _content(version)
    return {version}


class _Handler(BaseHTTPRequestHandler):
    """Sends the version that the requested path names, in several pieces."""

    def do_GET(self) -> None:
        content = _content(int(self.path.split("/")[1]))
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        with suppress(OSError):  # the client may have been killed
            for start in range(0, len(content), 50_000):
                self.wfile.write(content[start : start + 50_000])
                time.sleep(0.001)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving() -> Iterator[None]:
    """Serve the test downloads from a separate process within this context."""

    def serve(send: Callable[[str], object]) -> None:
        server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        send(f"http://127.0.0.1:{server.server_port}/")
        server.serve_forever()

    server = Child(serve)
    _addresses.append(next(server.lines()))
    try:
        yield
    finally:
        _addresses.pop()
        server.kill()
        server.wait()
