"""
The flow of one image
=====================

An image is corrupted, and each layer reconstructs it from the thresholded output of the layer below. The first line
shows the corrupted image and the output of each layer. The second line shows these images after the threshold; each is
the input of the next layer.
"""

import matplotlib.pyplot as plt
import numpy as np

from slide_gui import SLIDE
from slide_gui.data.generators.rectangles import rectangles

X = rectangles(n_train=1200, n_test=0).train
slide = SLIDE(noise=0.4, depth=4).fit(X)
corrupted = X[16] * (np.random.default_rng(0).random(784) > 0.4)

figure, axes = plt.subplots(2, 5, figsize=(9, 4), layout="constrained")
for k, h in enumerate(slide.layers(corrupted[None])):
    axes[0, k].imshow(h.reshape(28, 28), cmap="gray", vmin=0, vmax=1)
    axes[1, k].imshow((h > 0.5).reshape(28, 28), cmap="gray")
    axes[0, k].set_title("corrupted" if k == 0 else f"layer {k}")
for axis in axes.flat:
    axis.set(xticks=[], yticks=[])
plt.show()
