"""
The limit of many corrupted copies
==================================

Weights fitted to m corrupted copies of each row approach the closed form. The difference falls as 1/√m: four times as
many copies halve it.
"""

import matplotlib.pyplot as plt
import numpy as np

from slide_gui import SLIDE

rng = np.random.default_rng(0)
X = (rng.random((100, 20)) + rng.random((100, 1)) > 1).astype(float)  # 20 correlated features
W = SLIDE(noise=0.3, depth=1, dtype="float64").fit(X).weights_[0]

copies, differences = [1, 4, 16, 64, 256, 1024], []
for m in copies:
    clean = np.repeat(X, m, axis=0)
    corrupted = np.column_stack([clean * (rng.random(clean.shape) > 0.3), np.ones(len(clean))])
    W_m = np.linalg.lstsq(corrupted, clean)[0].T
    differences.append(np.linalg.norm(W_m - W) / np.linalg.norm(W))

figure, axis = plt.subplots(figsize=(5, 3.5), layout="constrained")
axis.loglog(copies, differences, "o-", label="‖W_m − W‖ / ‖W‖")
axis.loglog(copies, differences[0] / np.sqrt(copies), "--", label="slope −1/2")
axis.legend()
axis.set_xlabel("corrupted copies m of each row")
plt.show()
