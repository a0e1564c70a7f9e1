"""Data sets, squashing functions and exporters of other packages, and what is said where one cannot be used."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from slide_gui import SLIDE
from slide_gui.cli import main
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.slide.squashing import further_squashings, squashing_of
from slide_gui.data.catalogue import load
from slide_gui.data.errors import DataError
from slide_gui.experiments.model_file import fit_model, load_model, save_model
from slide_gui.experiments.session import SessionRecord, read_session, write_session
from slide_gui.experiments.source import DataSource
from slide_gui.experiments.spec import RunSpec
from slide_gui.figures.export import export_of, save_export
from slide_gui.figures.style import Style
from slide_gui.plugins import DATASETS, EXPORTERS, SQUASHINGS, PluginError, installed, plugins
from tests.example_package import forget, install, write_metadata

KEY = "sine@slide-example==1.0"


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """A folder of packages, searched before all others."""
    folder = tmp_path / "packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    forget()
    yield folder
    forget()


@pytest.fixture
def example(packages):
    install(packages)
    return packages


def _broken(folder, kind, code, value="broken:THING", name="thing", package="broken-thing"):
    (folder / "broken.py").write_text(code, "utf-8")
    sys.modules.pop("broken", None)
    write_metadata(folder, package, "0.3", {f"slide_gui.{kind}": {name: value}})
    forget()


def test_that_the_example_is_thirty_lines_and_adds_one_of_each(example):
    lines = (Path(__file__).parent / "example_package" / "slide_example.py").read_text("utf-8").splitlines()
    assert len(lines) <= 31
    assert {(each.kind, each.name, each.origin) for each in installed()} == {
        (SQUASHINGS, "sine", "slide-example==1.0"),
        (DATASETS, "stripes", "slide-example==1.0"),
        (EXPORTERS, "raw", "slide-example==1.0"),
    }
    assert "slide_example" not in sys.modules  # looked up is not imported


def test_that_nothing_is_looked_up_and_nothing_of_dask_imported_while_only_what_is_built_in_is_used():
    code = (
        "import sys, numpy as np, slide_gui.data.lazy; from slide_gui import SLIDE, plugins;"
        "assert 'dask' not in sys.modules; from slide_gui.gui import panel;"
        "from slide_gui.experiments.source import DataSource; DataSource.parse('rectangles');"
        "SLIDE(depth=1).fit(np.eye(4)); print(plugins._installed.cache_info().misses)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "0\n"


def test_that_a_squashing_function_of_a_package_is_used_between_layers(example):
    rows = np.random.default_rng(0).random((50, 6))
    slide = SLIDE(depth=2, squashing="sine", dtype="float64").fit(rows)
    h = slide.layers(rows)
    joined = np.column_stack([np.sin(h[1]), np.ones(50)])
    np.testing.assert_allclose(h[2], joined @ slide.weights_[1].T, atol=1e-10)
    assert slide.stack_.parameters.squashing == KEY
    assert [each.key for each in further_squashings()] == [KEY]
    with pytest.raises(ValueError, match=r"squashing is 'cosine'; it must be one of threshold, sigmoid"):
        squashing_of("cosine")


def test_that_a_run_says_the_package_and_its_version_in_its_hash(packages):
    spec = RunSpec("0" * 64, stack=StackParameters(squashing="tanh"))
    install(packages, "1.0")
    first = replace(spec, stack=StackParameters(squashing="sine")).checked()
    assert first.document()["stack"]["squashing"] == KEY
    assert RunSpec.from_document(json.loads(json.dumps(first.document()))).hash == first.hash
    (packages / "slide_example-1.0.dist-info").rename(packages / "slide_example-2.0.dist-info")
    file = packages / "slide_example-2.0.dist-info" / "METADATA"
    file.write_text(file.read_text("utf-8").replace("1.0", "2.0"), "utf-8")
    forget()
    second = replace(spec, stack=StackParameters(squashing="sine"))
    assert len({spec.hash, first.hash, second.hash}) == 3
    with pytest.raises(
        ValueError, match=r"that of the package 'slide-example==1.0', and slide-example==2.0 is installed"
    ):
        StackParameters(squashing=KEY).checked()


def test_that_files_that_name_what_is_not_installed_end_in_one_sentence_and_import_nothing(packages, tmp_path):
    marker = tmp_path / "imported"
    (packages / "evil.py").write_text(f"open({str(marker)!r}, 'w')", "utf-8")
    for name in (KEY, "evil:SINE", "evil", "evil@evil==1", "../evil"):
        parameters = replace(StackParameters(), squashing=name)
        file = tmp_path / "a.slide-session"
        write_session(SessionRecord(DataSource("rectangles"), parameters=parameters), file)
        with pytest.raises(DataError) as refusal:
            read_session(file)
        assert str(refusal.value).count("\n") == 0
        assert "squashing" in str(refusal.value)
    assert not marker.exists()


def test_that_a_model_of_a_package_is_read_where_the_package_is(example, tmp_path):
    model = fit_model(load("stripes"), StackParameters(squashing="sine", depth=2))
    save_model(tmp_path / "model.npz", model)
    assert load_model(tmp_path / "model.npz").stack.parameters.squashing == KEY
    for each in example.glob("*.dist-info"):
        each.rename(tmp_path / each.name)
    forget()
    with pytest.raises(DataError, match=r"'slide-example==1.0', which is not installed; install that version"):
        load_model(tmp_path / "model.npz")


def test_that_a_data_set_of_a_package_is_opened_by_its_name(example, tmp_path, monkeypatch):
    source = DataSource.parse("stripes", seed=3)
    assert (source.key, source.argument) == ("stripes", "stripes")
    dataset = source.load()
    assert (dataset.title, dataset.key, dataset.source) == ("Stripes (generated)", "", "slide-example 1.0, seed 3")
    assert source.load().fingerprint == dataset.fingerprint != replace(source, seed=4).load().fingerprint
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stripes").mkdir()
    assert DataSource.parse("stripes").paths == ("stripes",)  # what is there is what is meant


def test_that_an_exporter_of_a_package_writes_the_figure(example, tmp_path):
    export = export_of("line", (0, 1), lambda figure, data, _style: figure.gca().plot(data), lambda path, data: None)
    save_export(tmp_path / "line.raw", export, Style(width="single", dpi=50))
    content = (tmp_path / "line.raw").read_bytes()
    assert len(content) > 10_000
    assert len(content) % 4 == 0
    with pytest.raises(ValueError, match="figures end in"):
        save_export(tmp_path / "line.bmp", export, Style())


def test_that_the_command_line_takes_all_three(example, tmp_path, capsys):
    output = tmp_path / "weights.raw"
    assert (
        main(["weights", "stripes", "--squashing", "sine", "--depth", "2", "--pixels", "5,5", "-o", str(output)]) == 0
    )
    assert output.stat().st_size > 10_000
    capsys.readouterr()
    assert main(["datasets", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[-1]["package"] == "slide-example"
    assert main(["weights", "stripes", "-o", str(tmp_path / "weights.xyz")]) == 2
    assert ".raw" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("kind", "code", "said"),
    [
        ("squashings", "raise RuntimeError('no\\nway')", "RuntimeError: no way"),
        ("squashings", "import sys; sys.exit(3)", "SystemExit: 3"),
        ("squashings", "OTHER = 1", "AttributeError"),
        ("squashings", "THING = 3", "it is a int, expected a Squashing"),
        ("datasets", "import nowhere_at_all", "ModuleNotFoundError"),
        ("datasets", "def THING(seed, progress): return 1 / 0", "ZeroDivisionError: division by zero"),
        ("datasets", "def THING(seed, progress): return [1]", "it gives a list, expected a Dataset"),
        ("exporters", "def THING(figure, style): return 'text'", "it gives a str, expected bytes"),
        ("exporters", "def THING(figure, style): return style.nothing", "AttributeError"),
    ],
)
def test_that_a_plug_in_that_fails_ends_in_one_sentence_with_its_package_and_nothing_else_does(
    kind, code, said, packages, tmp_path
):
    _broken(packages, kind, code)
    export = export_of("line", (0, 1), lambda figure, data, _style: figure.gca().plot(data), lambda path, data: None)
    use = {
        "squashings": lambda: SLIDE(squashing="thing").fit(np.eye(4)),
        "datasets": lambda: DataSource.parse("thing").load(),
        "exporters": lambda: save_export(tmp_path / "line.thing", export, Style()),
    }[kind]
    with pytest.raises(PluginError, match=r"of the package broken-thing 0\.3 cannot be used") as refusal:
        use()
    assert said in str(refusal.value)
    assert str(refusal.value).count("\n") == 0
    assert not (tmp_path / "line.thing").exists()
    assert SLIDE(squashing="tanh", depth=1).fit(np.eye(4)).weights_[0].shape == (4, 5)


@pytest.mark.parametrize(
    ("function", "binary", "said"),
    [
        ("lambda values, t: values[:1]", False, r"it gives float32 \(1, 4\) for \(\d, 4\), expected finite numbers"),
        ("lambda values, t: values * np.nan", False, "expected finite numbers"),
        ("lambda values, t: 'text'", False, "expected finite numbers"),
        ("lambda values, t: values", True, "expected truth values"),
        ("lambda values, t: values.fill(0)", False, "ValueError: assignment destination is read-only"),
    ],
)
def test_that_a_function_that_gives_no_values_is_said_to_be_its_packages_fault(function, binary, said, packages):
    code = "import numpy as np\nfrom slide_gui import Squashing\n"
    _broken(packages, "squashings", f"{code}THING = Squashing('thing', 'thing', 'tip', {function}, binary={binary})")
    with pytest.raises(PluginError, match=said):
        SLIDE(squashing="thing").fit(np.eye(4))


def test_that_a_plug_in_takes_no_name_of_the_program_or_of_another_package(packages, capsys):
    _broken(packages, "squashings", "raise RuntimeError", name="tanh")
    assert not plugins(SQUASHINGS, ["tanh"])
    assert squashing_of("tanh").key == "tanh"
    install(packages)
    write_metadata(packages, "another", "1", {"slide_gui.squashings": {"sine": "slide_example:SINE"}})
    forget()
    with pytest.raises(
        PluginError, match=r"squashing function 'sine' is in several packages, (another|slide-example) and"
    ):
        squashing_of("sine")
    assert not further_squashings()
    main(["doctor"])
    said = capsys.readouterr().out
    assert "squashing function tanh, broken-thing 0.3: not used, for that name is the program's" in said
    assert "is in several packages" in said
    assert "data set stripes, slide-example 1.0" in said


def test_that_damaged_metadata_hide_one_package_alone(example):
    damaged = example / "damaged-1.dist-info"
    damaged.mkdir()
    (damaged / "METADATA").write_bytes(b"\xff\xfe\x00")
    (damaged / "entry_points.txt").write_bytes(b"\xff[slide_gui")
    forget()
    assert squashing_of("sine").key == KEY
