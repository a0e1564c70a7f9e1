"""Sessions, sources of data and model files are read back exactly; damaged ones are refused in one sentence."""

import io
import json
import ntpath
import os
import struct
import tempfile
import zipfile
from dataclasses import replace
from pathlib import Path, PureWindowsPath
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from slide_gui.core.baselines import Estimator
from slide_gui.core.sda.model import SdaParameters
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.svm.model import TrainedSvm
from slide_gui.core.svm.parameters import LOSSES, Candidate, ChosenBy, GridPoint, SvmParameters
from slide_gui.data.dataset import Dataset, HeldOut
from slide_gui.data.entries import entries
from slide_gui.data.errors import DataError
from slide_gui.data.reading import ParseOptions
from slide_gui.experiments.files import session as session_module
from slide_gui.experiments.files.model_file import fit_model, is_model_file, load_model, save_model
from slide_gui.experiments.files.session import MissingData, Selection, SessionRecord
from slide_gui.experiments.files.source import DataSource
from slide_gui.experiments.runs.result import describe_chosen, describe_convergence, describe_widths
from slide_gui.experiments.runs.spec import RunSpec, describe_choice, describe_spec
from slide_gui.figures.export import save_figure
from slide_gui.figures.style import Style
from tests.data.writers import npy

_GOLDENS = Path(__file__).parent / "golden"
_EARLIER, _GOLDEN = (_GOLDENS / f"session-{version}.slide-session" for version in (1, 2))
_RECORD = SessionRecord(
    DataSource(paths=("iris.csv",), reading=ParseOptions(label_column="5"), held_out=HeldOut(0.3, 7)),
    "0123456789abcdef",
    StackParameters(noise=0.35, depth=2, squashing="tanh"),
    Selection((3, 1), ~4, "global", "jet", True),
    "curves",
    (("weights", "view", "1"), ("runs", "filter", "noise:0.3 “ä”")),
)
_LATEST = replace(_RECORD, selection=replace(_RECORD.selection, show="contribution"))


def _figure(figure):
    figure.add_subplot().plot([1, 2])


@pytest.mark.parametrize(("path", "record"), [(_EARLIER, _RECORD), (_GOLDEN, _LATEST)])
def test_that_sessions_of_every_version_are_read(path, record):
    assert session_module.read_session(path) == record


def test_that_a_written_session_equals_the_golden_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    session_module.write_session(_LATEST, tmp_path / "a.slide-session")
    assert (tmp_path / "a.slide-session").read_text() == _GOLDEN.read_text().rstrip("\n")


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_that_a_picture_holds_its_session_and_without_one_has_the_same_bytes(tmp_path, suffix):
    path = tmp_path / f"figure{suffix}"
    save_figure(_figure, path, Style())
    plain = path.read_bytes()
    assert session_module.read_session(path) is None
    save_figure(_figure, path, Style(), session_module.picture_text(_RECORD))
    assert session_module.read_session(path) == _RECORD
    save_figure(_figure, path, Style())
    assert path.read_bytes() == plain


def test_that_a_picture_has_the_name_of_its_data_and_not_their_folder_and_an_incomplete_session_is_refused(tmp_path):
    paths = (str(tmp_path / "secret-folder" / "iris.csv"),)
    text = session_module.picture_text(replace(_RECORD, source=replace(_RECORD.source, paths=paths)))
    assert b"secret-folder" not in session_module.file_content(text)
    assert b"iris.csv" in session_module.file_content(text)
    path = tmp_path / "a.svg"
    path.write_text(f"<svg>{session_module.picture_text(_RECORD)[:-3]}</svg>")
    with pytest.raises(DataError, match=r"is incomplete|damaged"):
        session_module.read_session(path)


def test_that_a_picture_without_a_session_belongs_to_the_session_file_of_the_same_name_only(tmp_path):
    save_figure(_figure, tmp_path / "figure.png", Style())
    (tmp_path / "other.slide-session").write_bytes(b"{}")
    assert session_module.read_session(tmp_path / "figure.png") is None
    (tmp_path / "figure.slide-session").write_bytes(session_module.file_content(session_module.picture_text(_RECORD)))
    assert session_module.read_session(tmp_path / "figure.png") == _RECORD


def test_that_data_are_found_next_to_a_moved_session_and_in_known_folders(tmp_path):
    here, there, known = tmp_path / "here", tmp_path / "there", tmp_path / "known"
    for folder in (here / "data", there / "data", known):
        folder.mkdir(parents=True)
    (here / "data" / "iris.csv").write_text("1")
    record = replace(_RECORD, source=DataSource(paths=(str(here / "data" / "iris.csv"),)))
    place = here / "a.slide-session"
    session_module.write_session(record, place)
    assert session_module.located(session_module.read_session(place), place) == record
    (here / "data" / "iris.csv").rename(there / "data" / "iris.csv")
    place.rename(there / "a.slide-session")
    moved = session_module.read_session(there / "a.slide-session")
    assert session_module.located(moved, there / "a.slide-session").source.paths == (str(there / "data" / "iris.csv"),)
    (there / "data" / "iris.csv").rename(known / "iris.csv")
    with pytest.raises(MissingData, match=r"data files not found: iris\.csv; locate them"):
        session_module.located(moved, there / "a.slide-session")
    assert session_module.located(moved, there / "a.slide-session", [known]).source.paths == (str(known / "iris.csv"),)


def _with(**changes):
    return json.dumps(json.loads(_GOLDEN.read_text()) | changes)


def test_that_sessions_of_windows_have_relative_paths_with_slashes(monkeypatch):
    monkeypatch.setattr(session_module, "os", SimpleNamespace(path=ntpath))
    monkeypatch.setattr(session_module, "Path", PureWindowsPath)
    data, folder = PureWindowsPath(r"C:\runs\data\a.csv"), PureWindowsPath(r"C:\runs")
    assert session_module._relative(data, folder) == "data/a.csv"
    assert session_module._relative(data, PureWindowsPath(r"D:\runs")) == str(data)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is damaged"),
        ("[" * 100_000, "is damaged"),
        ("[]", "is not a session of slide-gui"),
        (_with(format="other"), "is not a session of slide-gui; open a file"),
        (_with(version=0), r"has the unknown format 0; use an earlier copy"),
        (_with(version=3), "has format 3; update slide-gui"),
        (_with(session=None), "cannot be used: the session is None"),
        (_with(session={"surprise": 3}), "unknown entry 'surprise'"),
        (_with(session={"parameters": {"noise": 1.5}}), "cannot be used: noise is 1.5"),
    ],
)
def test_that_other_files_are_refused_in_one_sentence_with_their_name(tmp_path, content, said):
    path = tmp_path / "a.slide-session"
    path.write_text(content)
    with pytest.raises(DataError, match=said) as refused:
        session_module.read_session(path)
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)


def _read_from(content, suffix):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"a{suffix}"
        path.write_bytes(content)
        return session_module.read_session(path)


_names = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=8)


@given(
    pins=st.lists(st.integers(0, 10**6), max_size=16),
    sample=st.integers(-(10**6), 10**6),
    noise=st.floats(0.0, 0.98),
    depth=st.integers(0, 8),
    sharing=st.sampled_from(["none", "convolution"]),
    window=st.sampled_from([3, 9]),
    choices=st.lists(st.tuples(_names, _names, _names), max_size=4),
    scaled=st.sampled_from([None, True, False, "quantile"]),
)
def test_that_every_session_survives_a_picture(pins, sample, noise, depth, sharing, window, choices, scaled):
    record = SessionRecord(
        DataSource(paths=("table.csv",), reading=ParseOptions(scaled=scaled)),
        "ab",
        StackParameters(float(np.round(noise, 3)), depth, sharing=sharing, window=window).checked(),
        Selection(tuple(pins), sample),
        choices=tuple(choices),
    )
    assert _read_from(session_module.file_content(session_module.picture_text(record)), ".slide-session") == record
    assert _read_from(b"before " + session_module.picture_text(record).encode() + b"/after", ".pdf") == record


def test_that_a_folder_is_a_bundle_if_it_has_a_session_and_a_script_of_one_name(tmp_path):
    record = SessionRecord(DataSource(paths=("table.csv",)), page="runs")
    (tmp_path / "bundle").mkdir()
    session = tmp_path / "bundle" / "weights.slide-session"
    session.write_bytes(session_module.file_content(session_module.picture_text(record)))
    assert session_module.read_session(tmp_path / "bundle") is None
    session.with_suffix(".py").write_text("")
    assert session_module.read_session(tmp_path / "bundle") == record
    (tmp_path / "table.csv").write_text("1,2\n")
    assert session_module.located(record, tmp_path / "bundle").source.paths == (str(tmp_path / "table.csv"),)
    (tmp_path / "bundle" / "table.csv").write_text("1,2\n")
    assert session_module.located(record, tmp_path / "bundle").source.paths == (str(tmp_path / "bundle" / "table.csv"),)


def test_that_an_endless_comment_of_a_gif_is_not_read_far(monkeypatch):
    content = b"\x20slide-gui-session:" + b"\x01" * 100_000
    assert len(session_module._comment(content)) == 32 + (100_000 - 14) // 2
    monkeypatch.setattr(session_module, "_MOST_BYTES", 1000)
    assert len(session_module._comment(content)) == 32 + (4000 - 33 + 1) // 2


@pytest.mark.parametrize(
    "source",
    [
        *[DataSource(key=entry.key) for entry in entries()],
        DataSource(key="convex", seed=7, generated=True),
        DataSource(paths=("a.amat",)),
        DataSource(paths=("a.amat", "b.amat")),
    ],
)
def test_that_an_argument_reads_back_as_its_source(source):
    assert DataSource.parse(source.argument, source.seed) == source
    assert DataSource.of(source.paths or [source.argument], source.seed) == source
    assert source.key or source.argument == os.pathsep.join(source.paths)


def test_that_a_path_separator_in_a_name_does_not_split_it_and_generated_data_read_no_file(tmp_path, monkeypatch):
    source = DataSource(paths=(str(tmp_path / f"scan 12{os.pathsep}30.csv"),))
    Path(source.paths[0]).write_text("a,b,label\n1,2,p\n3,4,q\n")
    assert DataSource.parse(source.argument) == source
    assert source.load().name == Path(source.paths[0]).stem
    (tmp_path / "rectangles.zip").write_bytes(b"not even a zip")
    monkeypatch.setenv("SLIDE_GUI_DATA", str(tmp_path))
    data = DataSource.parse("generated:rectangles").load()
    assert data.generated
    assert data.train.shape == (1200, 784)
    assert np.unique(data.train).tolist() == [0.0, 1.0]


STACK, HINGE = StackParameters(noise=0.3, depth=2), SvmParameters(loss="hinge")
WORDS = "SLIDE-SVM, noise 1 − p = 0.30 (p = 0.70), depth 2"
SDA = SdaParameters((100, 50), noise=(0.1, 0.25), pretraining_epochs=1, pretraining_rate=0.02, fine_tuning_rate=0.5)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"stack": STACK}, WORDS),
        (
            {"stack": replace(STACK, ridge=10.0, threshold=0.4, squashing="tanh", fit_on="thresholded")},
            f"{WORDS}, ridge 10, threshold 0.4, squashing tanh, fit on thresholded",
        ),
        ({"method": "raw-svm"}, "Raw-SVM"),
        ({"method": "pca-svm", "kept": 0.955}, "PCA-SVM, 95.5 % of variance"),
        ({"method": "pca-svm", "kept": 0.9999}, "PCA-SVM, 99.99 % of variance"),
        ({"method": "randproj-svm", "kept": 200}, "Rand Proj-SVM, 200 directions"),
        (
            {"method": "sda-svm", "sda": SDA},
            "SdA-SVM, units 100–50, noise 0.1/0.25, 1 epoch per layer, learning rate 0.02",
        ),
        (
            {"method": "sda", "sda": SdaParameters((10,), 0.0, pretraining_epochs=15), "training": "split"},
            "SdA, units 10, noise 0, 15 epochs per layer, learning rate 0.005, fine-tuning rate 0.005",
        ),
        (
            {"method": "custom", "transformer": Estimator.of("cluster.KMeans"), "classifier": Estimator.of("svm.SVC")},
            "scikit-learn, KMeans(), SVC()",
        ),
        (
            {"stack": STACK, "labels": 9, "fit_rows": "labelled", "svm": HINGE, "held_out": HeldOut(0.3, 7)},
            f"{WORDS}, {LOSSES['hinge'].text}, 9 labels, fitted on the labelled rows only, 30 % held out, seed 7",
        ),
    ],
)
def test_that_method_and_choices_are_described(changes, words):
    spec = RunSpec("ab" * 32, **changes).checked()
    assert describe_spec(spec) == words
    assert describe_choice(spec) == words.partition(", ")[2]


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        (ChosenBy("span"), "learned widths (span)"),
        (ChosenBy("span", False, 0.2, 0.3), "learned widths (span)"),  # as earlier versions stored it
        (
            ChosenBy("press", False, 0.181, 0.25, 500),
            "learned widths (press): 18.1 % of 500 held-out rows misclassified; 25.0 % with median widths",
        ),
        (
            ChosenBy("press", True, 0.334, 0.251, 200),
            "median widths (guard): 25.1 % of 200 held-out rows misclassified; 33.4 % with learned widths (press)",
        ),
    ],
)
def test_that_the_criterion_of_the_widths_is_described(chosen, words):
    assert describe_chosen(chosen) == words
    assert words.startswith(describe_widths(chosen.name))


def test_that_missing_convergence_is_reported():
    cut_off, solved = Candidate("median", 1.0, 10.0, converged=False), Candidate("learned", 1.0, 1.0)
    nothing = np.empty(0)
    fine = TrainedSvm((1.0,), (1.0,), (1.0,), 1.0, (), (), 2e-4, True, "float32", nothing, nothing, nothing)
    assert describe_convergence(fine) == ""
    assert describe_convergence(replace(fine, chosen=ChosenBy("span", candidates=(solved,)))) == ""
    assert describe_convergence(replace(fine, converged=False, gap=0.02)) == "not converged (gap 2.0e-02)"
    words = "1 of 3 fits for selecting widths and C did not converge"
    assert describe_convergence(replace(fine, chosen=ChosenBy("span", candidates=(solved, cut_off, solved)))) == words
    points = GridPoint(1.0, 1.0, 0.1), GridPoint(1.0, 10.0, 0.1, False), GridPoint(1.0, 100.0, 0.1)
    assert describe_convergence(replace(fine, grid=points)) == words


def data(shape=(2, 3)):
    rows = np.random.default_rng(0).random((20, 6), dtype=np.float32)
    return Dataset("six pixels", rows, rows[:0], image_shape=shape, generated=True)


def edited(path, change=None, **members):
    """Return a copy of a model file with manifest entries and members replaced; None leaves a member out."""
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    if change is not None:
        manifest = json.loads(np.load(io.BytesIO(contents["manifest.npy"] or b"")).tobytes())
        contents["manifest.npy"] = npy(np.frombuffer(json.dumps({**manifest, **change}).encode(), np.uint8))
    contents |= {f"{name}.npy": value for name, value in members.items()}
    copy = path.with_name("edited.npz")
    with zipfile.ZipFile(copy, "w") as archive:
        for name, content in contents.items():
            if content is not None:
                archive.writestr(name, content)
    return copy


@pytest.fixture
def saved(tmp_path):
    save_model(tmp_path / "model.npz", fit_model(data(), StackParameters(depth=2)))
    return tmp_path / "model.npz"


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    noise=st.floats(0, 0.95),
    depth=st.integers(0, 4),
    threshold=st.floats(-2, 2),
    squashing=st.sampled_from(["threshold", "sigmoid", "tanh", "identity"]),
    fit_on=st.sampled_from(["values", "thresholded"]),
    dtype=st.sampled_from(["float32", "float64"]),
    name=st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
    shape=st.sampled_from([None, (2, 3), (6, 1)]),
    sharing=st.sampled_from(["none", "convolution"]),
)
@example(  # the layers above the first hardly vary: the bias reconstructs them up to rounding
    noise=0.78125, depth=3, threshold=0.0, squashing="sigmoid", fit_on="thresholded", dtype="float32", name="",
    shape=None, sharing="none",
)  # fmt: skip
def test_that_a_saved_model_is_read_to_the_bit(tmp_path, name, shape, **parameters):
    dataset = replace(data(shape=shape), name=name)
    parameters["sharing"] = parameters["sharing"] if shape else "none"
    model = fit_model(dataset, StackParameters(**parameters))
    save_model(tmp_path / "m.npz", model)
    again = load_model(tmp_path / "m.npz")
    assert again.stack.parameters == model.stack.parameters
    assert (again.dataset, again.fingerprint, again.image_shape) == (dataset.name, dataset.fingerprint, shape)
    assert (again.generated, again.seconds, again.version) == (True, model.seconds, model.version)
    assert (again.stack.n_features, again.stack.n_samples) == (6, 20)
    np.testing.assert_array_equal(again.scaling, [[0.0] * 6, [1.0] * 6])
    row, scaling = np.arange(6, dtype=np.float32), np.array([[1.0] * 6, [8.0] * 6])
    scaled, other = replace(model, image_shape=None, scaling=scaling), replace(dataset, scaling=3 * scaling)
    np.testing.assert_array_equal(scaled.rescaled(row, dataset), (row - 1) / 8)
    np.testing.assert_array_equal(scaled.rescaled(row, other), 3 * row + 0.25)
    np.testing.assert_array_equal(replace(scaled, scaling=None).rescaled(row, other), 24 * row + 3)
    quantiles = np.repeat([[0.0], [4.0], [5.0]], 6, axis=1)
    np.testing.assert_allclose(
        replace(scaled, scaling=quantiles).rescaled(row, dataset), [0, 1 / 8, 1 / 4, 3 / 8, 0.5, 1]
    )
    for one, other in zip(again.stack.layers, model.stack.layers, strict=True):
        np.testing.assert_array_equal(one.weights, other.weights)
        assert one.error == other.error
    np.testing.assert_array_equal(again.stack.transform(dataset.train), model.stack.transform(dataset.train))


def test_that_model_files_are_distinguished_from_missing_ones_and_npz_files_of_data_which_are_refused(saved, tmp_path):
    np.savez(tmp_path / "data.npz", X=np.zeros((2, 2)))
    (tmp_path / "text").write_text("no archive")
    assert is_model_file(saved)
    assert not any(is_model_file(tmp_path / name) for name in ("data.npz", "text", "absent"))
    refused(tmp_path / "absent.npz", "does not exist")
    refused(tmp_path / "data.npz", "has no manifest")


def refused(path, message=None):
    with pytest.raises(DataError, match=message) as caught:
        load_model(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_that_members_that_claim_more_than_the_file_holds_are_refused(saved):
    whole = saved.read_bytes()
    with zipfile.ZipFile(saved) as archive:
        member = archive.getinfo("weights_1.npy")
        rest = sum(each.file_size for each in archive.infolist()) - member.file_size
    claim = len(whole) - rest + 1  # all members together claim one byte more than the file has
    at = whole.rindex(struct.pack("<II", member.compress_size, member.file_size))  # in the archive's directory
    saved.write_bytes(whole[:at] + struct.pack("<II", claim, claim) + whole[at + 8 :])
    refused(saved, f"the arrays need {len(whole) + 1} bytes, but the file has only {len(whole)}")


def test_that_a_header_that_claims_terabytes_is_refused_without_allocating(saved):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**6, 10**6 + 1)})
    huge = edited(saved, {"n_features": 10**6, "image_shape": None}, weights_1=header.getvalue())
    refused(huge, "its header declares 8000008000000 bytes .* but 0 follow")


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((6, 6)), "expected float64 of shape"),
        (np.zeros((6, 7), np.float32), "expected float64 of shape"),
        (np.full((6, 7), -1e39), "NaN, infinity or numbers that are too large for float32"),
        (np.pad([[np.nan]], ((0, 5), (0, 6))), "NaN, infinity or numbers that are too large for float32"),
        (np.array([[{}, 1.0]], dtype=object), "Python objects, which are never read"),
    ],
)
def test_that_wrong_weights_are_refused(saved, array, message):
    refused(edited(saved, weights_2=npy(array)), message)


def test_that_a_model_of_thousands_of_long_names_is_read_and_a_manifest_of_more_than_16_mib_is_refused(saved):
    classes = tuple(f"{k:0100}" for k in range(1000))
    arrays = np.ones(3), np.zeros(18), np.zeros((1, 18)), np.zeros((499_500, 1)), np.zeros(499_500)
    document = {"class_names": classes, "format_version": 2}
    names = dict(zip(("widths", "centre", "vectors", "coefficients", "biases"), map(npy, arrays), strict=True))
    assert load_model(edited(saved, document, **names)).class_names == classes
    refused(edited(saved, document, **names | {"widths": npy(np.array([1.0, 0.0, 1.0]))}), r"the widths are \[1.0, 0.0")
    refused(edited(saved, {"padding": "x" * (1 << 24)}), "the manifest is larger than 16777216 bytes")


def test_that_members_must_be_exactly_those_of_the_manifest_and_a_compressed_one_is_refused_before_it_is_read(saved):
    refused(edited(saved, weights_2=None), "exactly the arrays")
    refused(edited(saved, other=npy(np.zeros(3))), "exactly the arrays")
    bomb = npy(np.zeros((1000, 1001)))
    with zipfile.ZipFile(saved, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("weights_3.npy", bomb)
    refused(saved, "compressed")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "format of the file is not 'slide-gui model'"),
        ({"format_version": 4}, "reads versions up to 3; update slide-gui"),
        ({"format_version": True}, "reads versions up to 3"),
        ({"n_features": 0}, "n_features"),
        ({"n_samples": "many"}, "n_samples"),
        ({"image_shape": [2, 2]}, "image_shape"),
        ({"generated": 1}, "generated"),
        ({"seconds": float("nan")}, "seconds"),
        ({"fingerprint": "0" * 63}, "fingerprint"),
        ({"dataset": "x" * 1001}, "dataset"),
        ({"errors": [0.1]}, "exactly the arrays"),
        ({"errors": [0.1, "low"]}, "errors"),
        ({"parameters": [1]}, "parameters"),
        ({"parameters": {"noise": "0.3"}}, "the manifest cannot be used: noise"),
        ({"parameters": {"squashing": "relu"}}, "the manifest cannot be used: squashing"),
    ],
)
def test_that_a_wrong_manifest_is_refused_by_its_entry(saved, change, message):
    refused(edited(saved, change), message)
