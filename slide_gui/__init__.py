"""SLIDE, stacked linear denoisers (Xu, Weinberger and Sha), to see and to use.

``import slide_gui`` is cheap; the estimators are imported when first asked for.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:  # without `typing`, whose import takes as long as that of everything else here
    from typing import Any

__version__ = "0.1.0"
__all__ = [
    "SDA", "SLIDE", "Blocks", "MultiWidthSVC", "NoisePath", "SDAClassifier", "SLIDEClassifier", "Scatter",
    "__version__",
]  # fmt: skip

_HOMES = {
    "Blocks": "slide_gui.core.slide.blocks",
    "SDA": "slide_gui.core.sda.estimators",
    "SDAClassifier": "slide_gui.core.sda.estimators",
    "SLIDE": "slide_gui.core.slide.estimator",
    "SLIDEClassifier": "slide_gui.core.classifier",
    "MultiWidthSVC": "slide_gui.core.svm.estimator",
    "NoisePath": "slide_gui.core.slide.noise_path",
    "Scatter": "slide_gui.core.slide.scatter",
}


def __getattr__(name: str) -> "Any":
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
