"""Seeded generators of the benchmark data sets; equal seeds give equal bytes."""

from slide_gui.data.generators.convex import convex as convex
from slide_gui.data.generators.digits import digits as digits
from slide_gui.data.generators.rectangles import rectangles as rectangles
from slide_gui.data.generators.rectangles import rectangles_images as rectangles_images
