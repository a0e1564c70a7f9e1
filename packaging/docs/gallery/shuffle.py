"""
Shuffled pixels
===============

A fit does not depend on the positions of the pixels. Shuffle the pixels of all images in the same way, fit again, and
put each weight back in its place: W is the same up to rounding errors.
"""

import matplotlib.pyplot as plt
import numpy as np

from slide_gui import SLIDE
from slide_gui.data.generators.rectangles import rectangles

X = rectangles(n_train=1200, n_test=0).train
order = np.random.default_rng(0).permutation(784)
W = SLIDE(noise=0.3, depth=1).fit(X).weights_[0][:, :-1]
shuffled = SLIDE(noise=0.3, depth=1).fit(X[:, order]).weights_[0][:, :-1]
back = np.empty_like(W)
back[np.ix_(order, order)] = shuffled

pixel = 14 * 28 + 9
rows = {"fitted as they are": W[pixel], "shuffled": shuffled[pixel], "put back": back[pixel]}
figure, axes = plt.subplots(1, 3, figsize=(8, 2.9), layout="constrained")
for axis, (title, row) in zip(axes, rows.items(), strict=True):
    axis.imshow(row.reshape(28, 28), cmap="RdBu_r", vmin=-0.3, vmax=0.3)
    axis.set(title=title, xticks=[], yticks=[])
figure.suptitle(f"largest difference after putting back: {abs(W - back).max():.0e}")
plt.show()
