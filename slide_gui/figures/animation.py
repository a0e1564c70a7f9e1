"""Pictures that move: the same still pictures as GIF, animated PNG or MP4, with the session that they show."""

from __future__ import annotations

import io
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from slide_gui import __version__
from slide_gui.figures.color_scale import NEUTRAL, ColorScale
from slide_gui.figures.style import Style
from slide_gui.progress import NO_PROGRESS, Progress

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from PIL.Image import Image

__all__ = ["ANIMATED", "ANIMATION_DPI", "Frame", "animation_bytes", "why_not_written"]

ANIMATED = (".gif", ".apng", ".mp4")
"""Suffixes of pictures that move. Of the same frames .gif and .apng are the same bytes; .mp4 is up to ffmpeg."""

ANIMATION_DPI = 150
"""Dots per inch that suit a projector: 1081 pixels for two columns, 1500 for a slide."""

_GREYS = 32  # of the 256 colours of a GIF, for type and lines; the others are of the colour map
_FRAMES_A_SECOND = 20  # of an MP4, whose frames all last alike


@dataclass(frozen=True, eq=False)
class Frame:
    """One picture of an animation.

    Attributes
    ----------
    draw : callable
        Draws the still figure into an empty one, as in `slide_gui.figures.export.FigureExport`.
    seconds : float
        How long it is shown.
    """

    draw: Callable[[Figure, Style], None]
    seconds: float


def why_not_written(suffix: str) -> str:
    """Return why a kind of animation cannot be written here, in a few words; empty if it can."""
    return "needs ffmpeg, which is not installed" if suffix == ".mp4" and shutil.which("ffmpeg") is None else ""


def animation_bytes(
    pictures: Sequence[bytes],
    seconds: Sequence[float],
    suffix: str,
    style: Style,
    session: str = "",
    progress: Progress = NO_PROGRESS,
) -> bytes:
    """Return the content of an animation that is shown again and again.

    Parameters
    ----------
    pictures : sequence of bytes
        Each a PNG; all of one size.
    seconds : sequence of float
        How long each is shown.
    suffix : str
        One of `ANIMATED`. An animated PNG holds each picture as it is, a GIF in the nearest of 256 colours.
    style : Style
        Whose colour map the colours of a GIF are of.
    session : str
        As `slide_gui.experiments.session.picture_text` gives it; a text of the PNG, the comment of GIF and MP4.

    Raises
    ------
    ValueError
        If the pictures differ in size, or it cannot be written here.
    """
    from PIL import Image

    images = [Image.open(io.BytesIO(content)).convert("RGB") for content in pictures]
    if len({image.size for image in images}) != 1:
        raise ValueError("the pictures of an animation must all be of one size")
    if reason := why_not_written(suffix):
        raise ValueError(f"{suffix} {reason}; write .gif or .apng")
    if suffix == ".mp4":
        return _video(images, seconds, session, progress)
    milliseconds = [round(1000 * each) for each in seconds]
    buffer = io.BytesIO()
    if suffix == ".gif":
        palette = _palette(style)
        images = [_nearest(image, palette) for image in _Reported(images, progress.part(0.0, 0.7))]
        options: dict[str, Any] = {"format": "GIF", "comment": session.encode(), "optimize": False}
    else:
        options = {"format": "PNG", "pnginfo": _texts(session)}
    passes = 1 if suffix == ".gif" else 2  # of Pillow over the pictures
    following: Any = _Reported(images[1:], progress.part(0.7 * (suffix == ".gif"), 1.0), passes)
    images[0].save(buffer, save_all=True, append_images=following, duration=milliseconds, loop=0, **options)
    progress.report(1.0)
    return buffer.getvalue()


class _Reported:
    """Images whose taking is reported, so that the work can be broken off between them."""

    def __init__(self, images: Sequence[Image], progress: Progress, passes: int = 1) -> None:
        self._images, self._progress, self._passes, self._passed = images, progress, passes, 0

    def __iter__(self) -> Iterator[Image]:
        for image in self._images:
            self._passed += 1
            self._progress.report(min(self._passed / (self._passes * len(self._images)), 1.0))
            yield image


def _texts(session: str) -> Any:
    from PIL.PngImagePlugin import PngInfo

    texts = PngInfo()
    texts.add_text("Software", f"slide-gui {__version__}")
    if session:
        texts.add_text("Session", session)
    return texts


def _palette(style: Style) -> NDArray[np.int64]:
    """Return the colours of a GIF, shape (256, 3): those of the map with its zero, and greys for the rest."""
    colors = ColorScale.symmetric(style.colors, 1.0).lut()[:, :3]
    spread = np.linspace(0, len(colors) - 1, 255 - _GREYS).round().astype(int)
    greys = np.linspace(0, 255, _GREYS).round()[:, None].repeat(3, axis=1)
    return np.concatenate([colors[[NEUTRAL, *spread]], greys]).astype(np.int64)


def _nearest(image: Image, palette: NDArray[np.int64]) -> Image:
    """Return an image in the nearest colours of a palette."""
    from PIL import Image

    pixels = np.asarray(image).astype(np.int64)
    packed, where = np.unique((pixels << (16, 8, 0)).sum(axis=2), return_inverse=True)
    colors = packed[:, None] >> (16, 8, 0) & 255
    best = [int(np.argmin(((palette - color) ** 2).sum(axis=1))) for color in colors]
    result = Image.fromarray(np.array(best, np.uint8)[where.reshape(pixels.shape[:2])]).convert("P")
    result.putpalette(palette.astype(np.uint8).tobytes())
    return result


def _video(images: Sequence[Image], seconds: Sequence[float], session: str, progress: Progress) -> bytes:
    import subprocess

    import matplotlib
    from matplotlib.animation import FFMpegWriter
    from matplotlib.figure import Figure

    width, height = images[0].size
    dots, size = 100, (width - width % 2, height - height % 2)  # its colours are those of squares of four pixels
    figure = Figure(figsize=(size[0] / dots, size[1] / dots))
    exact = ["-pix_fmt", "yuv420p", "-fflags", "+bitexact", "-flags", "+bitexact", "-threads", "1"]
    exact += ["-movflags", "+faststart"]
    metadata = {"comment": session} if session else {}
    with tempfile.TemporaryDirectory() as folder, matplotlib.rc_context({"animation.ffmpeg_path": "ffmpeg"}):
        path = Path(folder) / "animation.mp4"
        writer = FFMpegWriter(fps=_FRAMES_A_SECOND, codec="h264", metadata=metadata, extra_args=exact)
        try:
            with writer.saving(figure, str(path), dots):
                for number, (image, each) in enumerate(zip(images, seconds, strict=True)):
                    figure.clear()
                    figure.figimage(np.asarray(image.crop((0, 0, *size))))
                    for _ in range(max(1, round(each * _FRAMES_A_SECOND))):
                        progress.report(number / len(images))
                        writer.grab_frame()
        except (subprocess.CalledProcessError, BrokenPipeError) as error:
            raise ValueError(".mp4: this ffmpeg has no H.264 encoder that works; write .gif or .apng") from error
        return path.read_bytes()
