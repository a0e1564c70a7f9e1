"""
Few labels
==========

SLIDE needs no labels. It is fitted on all rows, and the classifier is trained on the few rows that have a label.
"""

import matplotlib.pyplot as plt

from slide_gui import SLIDE, MultiWidthSVC
from slide_gui.data.generators.rectangles import rectangles

data = rectangles(n_train=2000, n_test=2000)
slide = SLIDE(noise=0.5, depth=2).fit(data.train)  # all rows, without labels
features, tests = slide.transform(data.train), slide.transform(data.test)
labels, errors = [20, 50, 100, 200, 500], {"pixels": [], "pixels and two layers": []}
for n in labels:
    y = data.train_labels[:n]
    raw = MultiWidthSVC(groups=1, widths="median", random_state=0).fit(data.train[:n], y)
    svm = MultiWidthSVC(groups=3, widths="median", random_state=0).fit(features[:n], y)
    errors["pixels"].append(1 - raw.score(data.test, data.test_labels))
    errors["pixels and two layers"].append(1 - svm.score(tests, data.test_labels))

figure, axis = plt.subplots(figsize=(5, 3.5), layout="constrained")
for name, values in errors.items():
    axis.plot(labels, [100 * value for value in values], "o-", label=name)
axis.set(xlabel="labelled rows", ylabel="test error in %")
axis.legend()
plt.show()
