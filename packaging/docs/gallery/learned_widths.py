"""
Learned kernel widths
=====================

The SVM learns one width per layer by minimising an estimate of its error. The plots show the estimate at each step, and
the fraction of the kernel's exponent that each layer contributes.
"""

import matplotlib.pyplot as plt

from slide_gui import SLIDEClassifier
from slide_gui.data.generators.rectangles import rectangles

data = rectangles(n_train=600, n_test=2000)
model = SLIDEClassifier(noise=0.5, depth=3, random_state=0).fit(data.train, data.train_labels)
svm, error = model.svm_, 1 - model.score(data.test, data.test_labels)
steps = svm.history_

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
left.plot([step.criterion for step in steps])
left.set(xlabel="step", ylabel="estimate of the error")
right.bar([f"h{k}" for k in range(4)], svm.shares_)
right.set(xlabel="layer", ylabel="share", title=f"criterion: {svm.chosen_by_}")
figure.suptitle(f"C = {svm.C_:.3g}, test error {error:.1%}")
plt.show()
