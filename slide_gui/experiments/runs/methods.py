"""The methods of runs: each combines a representation with a classifier."""

from __future__ import annotations

from dataclasses import dataclass

from slide_gui.core.baselines import PCA, RANDOM_PROJECTION, WHITENED_PCA, Projection
from slide_gui.core.choices import Choice, table_of


@dataclass(frozen=True)
class Method(Choice):
    """A representation with a classifier.

    Attributes
    ----------
    stacked : bool
        True if the representation is SLIDE’s, unless a transformer is given.
    learns : bool
        True if it learns one width per layer. The other SVMs select one global width and C by cross-validation.
    network : bool
        True if it uses stacked denoising autoencoders.
    fine_tunes : bool
        True if the fine-tuned network itself is the classifier.
    projection : Projection or None
        The linear map that is its representation.
    takes_parts : bool
        True if a scikit-learn transformer may replace SLIDE, or a scikit-learn classifier the SVM.
    """

    stacked: bool = False
    learns: bool = False
    network: bool = False
    fine_tunes: bool = False
    projection: Projection | None = None
    takes_parts: bool = False

    @property
    def name(self) -> str:
        """Name of the method in the paper and in files."""
        return self.text

    @property
    def plain(self) -> bool:
        """True if it consists of a stack and an SVM only."""
        return not (self.network or self.projection or self.takes_parts)


METHODS = table_of(
    Method("slide-svm", "SLIDE-SVM", "an SVM on SLIDE’s layers with one learned width per layer (§5)", True, True),
    Method("raw-svm", "Raw-SVM", "an SVM on the input, with width and C selected by cross-validation"),
    Method(
        "median",
        "SLIDE-SVM, median widths",
        "an SVM on SLIDE’s layers with median widths times one scale, which cross-validation selects with C",
        stacked=True,
    ),
    Method(
        "pca-svm",
        "PCA-SVM",
        "an SVM on principal components that keep a fraction of the variance",
        projection=PCA,
    ),
    Method("white-svm", "White-SVM", "the same, each component scaled to unit variance", projection=WHITENED_PCA),
    Method(
        "randproj-svm",
        "Rand Proj-SVM",
        "an SVM on a number of Gaussian random directions",
        projection=RANDOM_PROJECTION,
    ),
    Method(
        "sda-svm",
        "SdA-SVM",
        "an SVM on the layers of stacked denoising autoencoders, with one learned width per layer",
        learns=True,
        network=True,
    ),
    Method(
        "sda",
        "SdA",
        "stacked denoising autoencoders, fine-tuned as a classifying network",
        network=True,
        fine_tunes=True,
    ),
    Method(
        "custom",
        "scikit-learn",
        "a scikit-learn transformer in place of SLIDE, a scikit-learn classifier in place of the SVM, or both",
        stacked=True,
        takes_parts=True,
    ),
)
