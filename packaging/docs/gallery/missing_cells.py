"""
Fill missing cells
==================

A square is missing in each test image. The imputer fills it by the best linear reconstruction from the known pixels of
the image, with mean and covariance of the training images.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from slide_gui import LinearImputer

X = load_digits().data / 16  # images of 8 × 8
train, test = X[:1500], X[1500:]
holes = test.copy().reshape(-1, 8, 8)
holes[:, 2:5, 3:6] = np.nan
filled = LinearImputer().fit(train).transform(holes.reshape(-1, 64))
hidden = np.isnan(holes).reshape(-1, 64)
guesses = filled, np.broadcast_to(train.mean(axis=0), test.shape)
error, by_mean = (np.sqrt(np.mean((each - test)[hidden] ** 2)) for each in guesses)

figure, axes = plt.subplots(3, 8, figsize=(9, 3.6), layout="constrained")
for line, images in zip(axes, (test, holes, filled), strict=True):
    for axis, image in zip(line, images, strict=False):
        axis.imshow(image.reshape(8, 8), cmap="gray", vmin=0, vmax=1)
        axis.set(xticks=[], yticks=[], facecolor="tab:red")
figure.suptitle(f"original, missing, filled: RMS error {error:.2f} (column means: {by_mean:.2f})")
plt.show()
