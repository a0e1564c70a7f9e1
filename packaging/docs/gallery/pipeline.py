"""
A scikit-learn pipeline
=======================

All estimators work in pipelines and grid searches. Here noise level and depth are selected by cross-validation on the
training rows; the test rows are used once. At depth 0 there are no layers, so the noise level has no effect. The test
error is lower than the validation errors, because the selected model is trained on all 400 rows instead of 267.
"""

import matplotlib.pyplot as plt
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from slide_gui import SLIDEClassifier
from slide_gui.data.generators.rectangles import rectangles

data = rectangles(n_train=400, n_test=2000)
model = make_pipeline(MinMaxScaler(), SLIDEClassifier(widths="median", C=10.0, random_state=0))
grid = {"slideclassifier__depth": [0, 1, 2], "slideclassifier__noise": [0.1, 0.3, 0.5, 0.7, 0.9]}
search = GridSearchCV(model, grid, cv=3).fit(data.train, data.train_labels)
error = 1 - search.score(data.test, data.test_labels)

figure, axis = plt.subplots(figsize=(5, 3.5), layout="constrained")
for depth, scores in enumerate(search.cv_results_["mean_test_score"].reshape(3, 5)):
    axis.plot(grid["slideclassifier__noise"], 100 - 100 * scores, "o-", label=f"depth {depth}")
axis.legend()
axis.set(xlabel="noise level", ylabel="validation error in %", title=f"test error {error:.1%}")
plt.show()
