"""SLIDE, stacked linear denoisers (Xu, Weinberger and Sha), as a desktop program and a Python package.

``import slide_gui`` is fast, because the estimators are imported only when they are first used.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing `typing` would double the time to import `slide_gui`
    from typing import Any

__version__ = "0.1.0"
__all__ = [
    "SLIDE", "Blocks", "LinearImputer", "MultiWidthSVC", "NoisePath", "SLIDEClassifier", "Scatter",
    "__version__",
]  # fmt: skip

_MODULES = {
    "Blocks": "slide_gui.core.slide.blocks",
    "SLIDE": "slide_gui.core.slide.estimator",
    "SLIDEClassifier": "slide_gui.core.classifier",
    "LinearImputer": "slide_gui.core.imputation",
    "MultiWidthSVC": "slide_gui.core.svm.estimator",
    "NoisePath": "slide_gui.core.slide.noise_path",
    "Scatter": "slide_gui.core.slide.scatter",
}


def __getattr__(name: str) -> "Any":
    if name in _MODULES:
        from importlib import import_module

        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
