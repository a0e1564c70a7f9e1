"""Each frame of an animation is the still figure, the same input gives the same bytes, and the session is stored."""

import io
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image, ImageSequence

from slide_gui.core.slide.parameters import StackParameters
from slide_gui.data.dataset import Dataset
from slide_gui.experiments.files.model_file import fit_model
from slide_gui.experiments.files.session import SessionRecord, picture_text, read_session
from slide_gui.experiments.inspection.rows import rows_by_noise
from slide_gui.experiments.inspection.rows import weight_rows as fitted_rows
from slide_gui.figures import weights
from slide_gui.figures.color_scale import ColorScale
from slide_gui.figures.export import figure_bytes, save_export
from slide_gui.figures.style import Style
from slide_gui.figures.weights import NOISES, draw_weights, noise_animation
from slide_gui.progress import Cancelled, Listener

STYLE = Style(width="single", dpi=80)
COLORS = ColorScale.symmetric(STYLE.colors, 1.0).lut()[:, :3]
PARAMETERS = StackParameters(depth=2)
ONE_LAYER = StackParameters(depth=1)
FEW_NOISES = (*NOISES[::4], NOISES[-1])
SESSION = picture_text(SessionRecord(choices=(("runs", "filter", "n" * 900),)))


def data():
    rows = (np.random.default_rng(0).random((60, 30)) < 0.4).astype(np.float32)
    return Dataset("made up", rows, rows[:0], image_shape=(5, 6))


def rows_of(parameters):
    return fitted_rows(fit_model(data(), parameters), (7, 20))


def against_noise():
    return noise_animation([data()], [rows_of(ONE_LAYER)])


@pytest.fixture
def few_noises(monkeypatch):
    monkeypatch.setattr(weights, "NOISES", FEW_NOISES)


def test_that_the_rows_at_each_noise_are_those_of_a_fit_to_the_bit():
    for rows, noise in zip(rows_by_noise(data(), PARAMETERS, (7, 20), NOISES), NOISES, strict=True):
        alone = rows_of(replace(PARAMETERS, noise=noise))
        np.testing.assert_array_equal(rows.rows, alone.rows)
        np.testing.assert_array_equal(rows.biases, alone.biases)
        assert rows.parameters == alone.parameters


def test_that_a_gif_shows_each_figure_in_the_nearest_of_its_colours_and_zero_exactly(tmp_path, few_noises):
    save_export(tmp_path / "a.gif", against_noise(), STYLE)
    with Image.open(tmp_path / "a.gif") as image:
        assert image.info["loop"] == 0
        frames = [(frame.info["duration"], np.asarray(frame.convert("RGB"))) for frame in ImageSequence.Iterator(image)]
    assert [duration for duration, _ in frames] == [250] * 5 + [1500]
    style = replace(STYLE, show="weights")
    steps = np.abs(np.diff(COLORS.astype(int), axis=0)).max()
    for (_, frame), noise in list(zip(frames, FEW_NOISES, strict=True))[::2]:
        rows = rows_of(replace(ONE_LAYER, noise=noise))
        content = figure_bytes(lambda figure, rows=rows: draw_weights(figure, [rows], style), ".png", style)
        exact = np.asarray(Image.open(io.BytesIO(content)).convert("RGB"))
        difference = np.abs(frame.astype(int) - exact).max(axis=2)
        of_map = (exact[:, :, None] == COLORS).all(axis=3).any(axis=2)
        assert of_map.mean() > 0.2
        assert difference[of_map].max() <= steps
        assert difference.max() <= 48
        zero = (exact == (247, 247, 248)).all(axis=2)
        assert zero.any()
        assert difference[zero].max() == 0


def test_that_two_exports_are_the_same_bytes_and_hold_the_session(tmp_path, few_noises):
    for name in ("a.gif", "b.gif"):
        save_export(tmp_path / name, against_noise(), STYLE, SESSION)
    assert (tmp_path / "a.gif").read_bytes() == (tmp_path / "b.gif").read_bytes()
    session = read_session(tmp_path / "a.gif")
    assert picture_text(session) == SESSION
    save_export(tmp_path / "c.gif", against_noise(), STYLE)
    assert read_session(tmp_path / "c.gif") is None


@pytest.mark.parametrize("after", [0.2, 0.7, 0.99])
def test_that_a_cancelled_animation_leaves_no_file(tmp_path, few_noises, after):
    heard = []

    def hear(fraction, _payload):
        heard.append(fraction)
        if fraction >= after:
            raise Cancelled

    with pytest.raises(Cancelled):
        save_export(tmp_path / "a.gif", against_noise(), STYLE, progress=Listener(hear))
    assert list(tmp_path.iterdir()) == []
    assert heard == sorted(heard)


def test_that_a_figure_without_frames_is_not_written_as_an_animation(tmp_path):
    with pytest.raises(ValueError, match="stands still"):
        save_export(tmp_path / "a.gif", replace(against_noise(), frames=None), STYLE)
