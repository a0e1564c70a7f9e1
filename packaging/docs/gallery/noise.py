"""
Rows of W against noise
=======================

A row of W reconstructs one pixel from all pixels. The more pixels are set to 0, the farther away are the pixels that W
uses. The reconstructed pixel is on the outline of many rectangles, so its weights lie in its row and its column.
"""

import matplotlib.pyplot as plt

from slide_gui import SLIDE
from slide_gui.data.generators.rectangles import rectangles

X = rectangles(n_train=1200, n_test=0).train  # images of 28 × 28, one per row
path = SLIDE(noise=0.5, depth=1).fit(X).noise_path(layer=1)  # W at any noise level
pixel = 14 * 28 + 9

figure, axes = plt.subplots(1, 4, figsize=(9, 2.6), layout="constrained")
for axis, noise in zip(axes, (0.1, 0.3, 0.6, 0.9), strict=True):
    row = path.rows([pixel], noise)[0, :-1].reshape(28, 28)  # without the bias
    limit = 0.4 * abs(row).max()
    axis.imshow(row, cmap="RdBu_r", vmin=-limit, vmax=limit)
    axis.set(title=f"noise {noise}", xticks=[], yticks=[])
plt.show()
