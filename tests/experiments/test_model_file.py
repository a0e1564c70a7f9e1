"""Model files are read back exactly; damaged and other files are refused in one sentence."""

import io
import json
import struct
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from slide_gui.core.slide.parameters import StackParameters
from slide_gui.data.dataset import Dataset
from slide_gui.data.errors import DataError
from slide_gui.experiments.files.model_file import fit_model, is_model_file, load_model, save_model
from tests.data.writers import npy


def data(n=20, shape=(2, 3), seed=0):
    rows = np.random.default_rng(seed).random((n, 6), dtype=np.float32)
    return Dataset("six pixels", rows, rows[:0], image_shape=shape, generated=True)


def fitted(**parameters):
    return fit_model(data(), StackParameters(**parameters))


def edited(path, change=None, **members):
    """Rewrite a model file with manifest entries and members replaced; None leaves a member out."""
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    if change is not None:
        manifest = json.loads(np.load(io.BytesIO(contents["manifest.npy"] or b"")).tobytes())
        text = json.dumps({**manifest, **change}).encode()
        contents["manifest.npy"] = npy(np.frombuffer(text, np.uint8))
    contents |= {f"{name}.npy": value for name, value in members.items()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in contents.items():
            if content is not None:
                archive.writestr(name, content)
    return path


@pytest.fixture
def saved(tmp_path):
    save_model(tmp_path / "model.npz", fitted(depth=2))
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
    for one, other in zip(again.stack.layers, model.stack.layers, strict=True):
        np.testing.assert_array_equal(one.weights, other.weights)
        assert one.error == other.error
    np.testing.assert_array_equal(again.stack.transform(dataset.train), model.stack.transform(dataset.train))


def test_that_equal_models_give_equal_bytes(tmp_path):
    model = fitted()
    for name in ("a.npz", "b.npz"):
        save_model(tmp_path / name, model)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_that_model_files_are_distinguished_from_others(saved, tmp_path):
    np.savez(tmp_path / "data.npz", X=np.zeros((2, 2)))
    (tmp_path / "text").write_text("no archive")
    assert is_model_file(saved)
    assert not any(is_model_file(tmp_path / name) for name in ("data.npz", "text", "absent"))


def refused(path, message=None):
    with pytest.raises(DataError, match=message) as caught:
        load_model(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_that_a_missing_file_and_an_npz_of_data_are_refused(tmp_path):
    refused(tmp_path / "absent.npz", "does not exist")
    np.savez(tmp_path / "data.npz", X=np.zeros((3, 4)))
    refused(tmp_path / "data.npz", "without a manifest")


def test_that_nothing_is_ever_unpickled(saved):
    refused(edited(saved, weights_1=npy(np.array([[{}, 1.0]], dtype=object))), "Python objects, which are never read")


def test_that_a_compressed_member_is_refused_before_it_is_read(saved):
    bomb = npy(np.zeros((1000, 1001)))
    with zipfile.ZipFile(saved, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("weights_3.npy", bomb)
    refused(saved, "compressed")


def test_that_members_that_claim_more_than_the_file_holds_are_refused(saved):
    whole = saved.read_bytes()
    with zipfile.ZipFile(saved) as archive:
        member = archive.getinfo("weights_1.npy")
        rest = sum(each.file_size for each in archive.infolist()) - member.file_size
    claim = len(whole) - rest + 1  # all members together claim one byte more than the file has
    at = whole.rindex(struct.pack("<II", member.compress_size, member.file_size))  # in the archive's directory
    saved.write_bytes(whole[:at] + struct.pack("<II", claim, claim) + whole[at + 8 :])
    refused(saved, f"the members claim {len(whole) + 1} bytes, the file has only {len(whole)}")


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
        (np.full((6, 7), np.inf), "NaN, infinity or numbers beyond float32"),
        (np.full((6, 7), -1e39), "NaN, infinity or numbers beyond float32"),
        (np.pad([[np.nan]], ((0, 5), (0, 6))), "NaN, infinity or numbers beyond float32"),
    ],
)
def test_that_wrong_weights_are_refused(saved, array, message):
    refused(edited(saved, weights_2=npy(array)), message)


def test_that_a_manifest_of_more_than_64_kib_is_refused(saved):
    whole = saved.read_bytes()
    load_model(edited(saved, {"padding": "x" * 64000}))
    saved.write_bytes(whole)
    refused(edited(saved, {"padding": "x" * 65536}), "the manifest is larger than 65536 bytes")


def test_that_members_must_be_exactly_those_of_the_manifest(saved):
    whole = saved.read_bytes()
    refused(edited(saved, weights_2=None), "members are not")
    saved.write_bytes(whole)
    refused(edited(saved, other=npy(np.zeros(3))), "members are not")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "format is not 'slide-gui model'"),
        ({"format_version": 3}, "reads 2"),
        ({"format_version": True}, "reads 2"),
        ({"n_features": 0}, "n_features"),
        ({"n_samples": "many"}, "n_samples"),
        ({"image_shape": [2, 2]}, "image_shape"),
        ({"generated": 1}, "generated"),
        ({"seconds": float("nan")}, "seconds"),
        ({"fingerprint": "0" * 63}, "fingerprint"),
        ({"dataset": "x" * 1001}, "dataset"),
        ({"errors": [0.1]}, "members are not"),
        ({"errors": [0.1, "low"]}, "errors"),
        ({"parameters": [1]}, "parameters"),
        ({"parameters": {"noise": "0.3"}}, "the manifest cannot be used: noise"),
        ({"parameters": {"depth": True}}, "the manifest cannot be used: depth"),
        ({"parameters": {"squashing": "relu"}}, "the manifest cannot be used: squashing"),
        ({"parameters": {"batch_size": 0}}, "the manifest cannot be used: batch_size"),
        ({"parameters": {"ridge": 10**400}}, "the manifest cannot be used: ridge"),
    ],
)
def test_that_a_wrong_manifest_is_refused_by_its_entry(saved, change, message):
    refused(edited(saved, change), message)
