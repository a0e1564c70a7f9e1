"""Makes weights.pdf, .svg, .png and .csv again; written by slide-gui 0.1.0.

Run it in the folder from which the data's paths start.
"""

from slide_gui.core.slide.parameters import StackParameters
from slide_gui.experiments.model_file import fit_model
from slide_gui.experiments.source import DataSource, Reading
from slide_gui.experiments.inspection.rows import weight_rows
from slide_gui.figures.export import save_figure, weights_csv
from slide_gui.figures.style import Style
from slide_gui.figures.weights import draw_weights

STYLE = Style(width='single', colors='blue-white-red', levels='layer', bias=False, transposed=False, dpi=300, show='auto')
# Data, SHA-256 of the data, parameters, pixels (features in row-major order).
SETS = [
    (
        DataSource(key='', paths=('boxes.csv',), seed=0, generated=False, reading=Reading(label_column=None, header=None, shape=(6, 6), transposed=False, left_out=(), scaled=None)),
        'a96d6070363c5c61567699c39fccec34116357667d047a3474e322100644914a',
        StackParameters(noise=0.3, depth=2, threshold=0.5, squashing='threshold', fit_on='values', ridge=1e-05, dtype='float32', batch_size=4096),
        (14,),
    ),
]

weights = []
for source, fingerprint, parameters, pixels in SETS:
    model = fit_model(source.load(), parameters)
    if model.fingerprint != fingerprint:
        raise SystemExit(f"{source.argument} is no longer the data of the figure")
    weights.append(weight_rows(model, pixels))

for name in ("weights.pdf", "weights.svg", "weights.png"):
    save_figure(lambda figure: draw_weights(figure, weights, STYLE), name, STYLE)
weights_csv("weights.csv", weights)
