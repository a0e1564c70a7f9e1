"""Seeded generators of the benchmark's data sets: the same seed gives the same bytes."""

from __future__ import annotations

from slide_gui.data.generators.convex import convex
from slide_gui.data.generators.digits import digits
from slide_gui.data.generators.rectangles import rectangles
from slide_gui.data.generators.rectangles_images import rectangles_images

__all__ = ["convex", "digits", "rectangles", "rectangles_images"]
