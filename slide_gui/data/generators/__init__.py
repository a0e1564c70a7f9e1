"""Seeded generators of the benchmark's data sets: the same seed gives the same bytes."""

from __future__ import annotations as annotations

from slide_gui.data.generators.convex import convex as convex
from slide_gui.data.generators.digits import digits as digits
from slide_gui.data.generators.rectangles import rectangles as rectangles
from slide_gui.data.generators.rectangles_images import rectangles_images as rectangles_images
