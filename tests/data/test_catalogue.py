"""Benchmark files are found, downloaded with verified hashes, or replaced by generated data."""

import gzip
import hashlib
import inspect
import os
import re
import threading
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from slide_gui.data import catalogue, generators
from slide_gui.data.catalogue import fetch, matches
from slide_gui.data.entries import Entry, RemoteFile, entries, recognise
from slide_gui.data.errors import DataError
from slide_gui.progress import Cancelled
from tests.core.svm_data import StopAfter
from tests.data.writers import amat_text, is_sure, write, write_zip

REAL_DATA = os.environ.get("SLIDE_GUI_DATA", "")
CONTENT = bytes(range(256)) * 4096  # 1 MiB
FILE = RemoteFile("file.bin", (f"sha256:{hashlib.sha256(CONTENT).hexdigest()}",))


class Handler(BaseHTTPRequestHandler):
    """A server that answers by the first folder of the path, and records each path."""

    def __init__(self, requested, *args):
        self.requested = requested
        super().__init__(*args)

    def do_GET(self):
        self.requested.append(self.path)
        kind = self.path.split("/")[1]
        content = {"wrong": CONTENT[:-1] + b"x", "short": CONTENT[:-9]}.get(kind, CONTENT)
        if kind == "missing":
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT) if kind != "huge" else 10**10))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if kind == "stops" else content)


@pytest.fixture(autouse=True)
def no_files_of_the_user(tmp_path_factory, monkeypatch):
    empty = tmp_path_factory.mktemp("user")
    monkeypatch.setattr("platformdirs.user_data_path", lambda *args, **kwargs: empty)


@pytest.fixture
def server():
    requested = []
    running = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, requested))
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{running.server_port}/", requested
    running.shutdown()
    thread.join()
    running.server_close()


def test_that_a_good_file_is_fetched_with_progress(server, tmp_path):
    listener = StopAfter()
    path = fetch(FILE, [server[0] + "good/"], tmp_path / "new", progress=listener)
    assert path == tmp_path / "new" / "file.bin"
    assert path.read_bytes() == CONTENT
    assert listener.complete
    assert len(listener.fractions) > 10
    assert [p.name for p in path.parent.iterdir()] == ["file.bin"]


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [("wrong", "hash is"), ("short", "failed"), ("stops", "connection failed"), ("missing", "404"), ("huge", "MiB")],
)
def test_that_a_bad_answer_is_refused_and_the_old_file_kept(server, tmp_path, kind, sentence):
    (tmp_path / "file.bin").write_bytes(b"old")
    with pytest.raises(DataError, match=sentence) as refusal:
        fetch(FILE, [f"{server[0]}{kind}/"], tmp_path)
    assert "\n" not in str(refusal.value)
    assert (tmp_path / "file.bin").read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["file.bin"]


def test_that_the_next_mirror_is_used_only_after_the_first_failed(server, tmp_path):
    url, requested = server
    mirrors = [url + kind for kind in ("missing/", "wrong/", "good/", "never/")]
    assert fetch(FILE, mirrors, tmp_path).read_bytes() == CONTENT
    assert requested == ["/missing/file.bin", "/wrong/file.bin", "/good/file.bin"]


def test_that_cancelling_at_the_start_or_midway_leaves_nothing_behind(server, tmp_path):
    for reports, requested in ((1, []), (6, ["/good/file.bin"])):
        with pytest.raises(Cancelled):
            fetch(FILE, [server[0] + "good/", server[0] + "other/"], tmp_path, progress=StopAfter(reports))
        assert list(tmp_path.iterdir()) == []
        assert server[1] == requested


def test_that_a_folder_that_cannot_be_written_is_refused_with_the_remedy(tmp_path):
    with pytest.raises(DataError, match="connection failed"):
        fetch(FILE, ["http://127.0.0.1:9/"], tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="SLIDE_GUI_DATA"):
        fetch(FILE, ["http://127.0.0.1:9/"], tmp_path / "file" / "below")
    (tmp_path / "file.bin").mkdir()
    with pytest.raises(DataError, match=f"^{re.escape(str(tmp_path / 'file.bin'))}: cannot be written"):
        fetch(FILE, ["http://127.0.0.1:9/"], tmp_path)


def test_that_find_sees_downloads_and_no_other_file_is_overwritten(server, tmp_path, monkeypatch):
    monkeypatch.setenv("SLIDE_GUI_DATA", str(tmp_path))
    entry = Entry("mine", "Mine", 1, 1, (), "digits", "", "", (("file.bin",),), (server[0] + "good/",), (FILE,))
    monkeypatch.setattr(catalogue, "entry", lambda key: entry)
    path = tmp_path / "mine" / "file.bin"
    assert catalogue.download("mine") == [path]
    assert catalogue.find("mine") == [path]
    path.write_bytes(b"mine")
    with pytest.raises(DataError, match="exists but differs from the file in the catalogue; move it elsewhere"):
        catalogue.download("mine")
    assert path.read_bytes() == b"mine"


def test_that_the_catalogue_has_five_data_sets_with_hashes_and_generators_of_the_same_sizes():
    assert [entry.key for entry in entries()] == ["rectangles", "rectangles-images", "convex", "mnist", "mnist-basic"]
    for entry in entries():
        assert entry.mirrors
        assert all(mirror.endswith("/") for mirror in entry.mirrors)
        assert tuple(file.name for file in entry.files) == entry.sets[0]
        sizes = inspect.signature(getattr(generators, entry.stand_in)).parameters
        if entry.stand_in != "digits":
            assert (sizes["n_train"].default, sizes["n_test"].default) == (entry.n_train, entry.n_test)
        for known in (known for file in entry.files for known in file.hashes):
            algorithm, digest = known.split(":")
            assert len(bytes.fromhex(digest)) == hashlib.new(algorithm).digest_size
    with pytest.raises(KeyError, match="rectangles-images"):
        catalogue.find("nothing")


def test_that_files_are_found_up_to_two_folders_deep(tmp_path, monkeypatch):
    monkeypatch.setenv("SLIDE_GUI_DATA", f"{tmp_path / 'absent'}{os.pathsep}{tmp_path}")
    for place in ("a/b/c", ".hidden", "b/deep", "c", "b", "."):
        (tmp_path / place).mkdir(parents=True, exist_ok=True)
        path = write(tmp_path / place / "rectangles.zip", b"x")
        assert catalogue.find("rectangles") == (None if place in ("a/b/c", ".hidden") else [path])
    for name in ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte"):
        write(tmp_path / name, b"x")
    assert catalogue.find("mnist") is None
    write(tmp_path / "t10k-labels-idx1-ubyte", b"x")
    assert len(catalogue.find("mnist") or []) == 4


def test_that_a_benchmark_is_recognised_by_names_counts_784_features_and_the_mean_pixel_if_names_are_shared():
    def key(place, n_train, n_test, d=784, mean=0.0):
        found = recognise([place], np.broadcast_to(np.float32(mean), (n_train, d)), n_test)
        return found and found.key

    place, images = "/data/rectangles.zip, rectangles_train.amat", "/data/train-images-idx3-ubyte.gz"
    assert [key(place, *counts) for counts in ((1200, 50_000), (1200, 0), (50_000, 0))] == ["rectangles"] * 3
    for numbers in ((1200, 50_000, 783), (1200, 49_999), (50_000, 1200), (1199, 0), (1200, 1)):
        assert key(place, *numbers) is None
    assert key("/data/mine.amat", 1200, 50_000) is None
    means = (0.1307, 0.1325, 0.2860, 0.1918)  # MNIST's two sets, Fashion-MNIST, KMNIST
    assert [key(images, 60_000, 10_000, mean=mean) for mean in means] == ["mnist", "mnist", None, None]


def test_that_load_prefers_real_files_to_generated_data(tmp_path, monkeypatch):
    monkeypatch.setenv("SLIDE_GUI_DATA", str(tmp_path))
    monkeypatch.setattr(catalogue, "data_folders", lambda: [tmp_path])
    generated = catalogue.load("rectangles")
    assert generated.generated
    assert not np.array_equal(generated.train, catalogue.load("rectangles", seed=1).train)
    assert "stand-in" in catalogue.load("mnist").name
    row = amat_text(np.zeros((1, 784)), np.ones(1))
    write_zip(tmp_path / "rectangles.zip", {"rectangles_train.amat": row * 1200})
    data = catalogue.load("rectangles")
    assert (data.name, data.label_names, data.generated) == ("Rectangles", ("wider", "taller"), False)
    assert ("Larochelle" in data.citation, is_sure(data), data.opened.scaled) == (True, True, False)
    write_zip(tmp_path / "rectangles.zip", {"rectangles_train.amat": row * 1199})
    assert catalogue.load("rectangles").key == ""  # a part of it
    lighter = replace(entries()[0], n_train=1199, mean_pixel=0.2)
    monkeypatch.setattr("slide_gui.data.entries.entries", lambda: (lighter,))
    with pytest.raises(DataError, match="but contains other images; move it elsewhere"):
        catalogue.load("rectangles")
    write(tmp_path / "rectangles.zip", b"PK\x03\x04 damaged")
    with pytest.raises(DataError, match="is a damaged"):
        catalogue.load("rectangles")


@pytest.mark.skipif(not REAL_DATA, reason="SLIDE_GUI_DATA is not set")
def test_that_the_real_files_here_have_the_hashes_of_the_catalogue(monkeypatch):
    monkeypatch.setenv("SLIDE_GUI_DATA", REAL_DATA)
    found = [(path, file) for entry in entries() for path in catalogue.find(entry.key) or [] for file in entry.files]
    same = [(path, file) for path, file in found if path.name == file.name]
    unpacked = "6bbc9ace898e44ae57da46a324031adb"  # MNIST's training images, which may be packed again
    for path, file in same:
        assert matches(path, file) or hashlib.md5(gzip.decompress(path.read_bytes())).hexdigest() == unpacked
    if not same:
        pytest.skip("SLIDE_GUI_DATA holds no benchmark file")
