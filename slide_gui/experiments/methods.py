"""The methods of representing and classifying that runs can be of, one entry each."""

from __future__ import annotations

from dataclasses import dataclass

from slide_gui.core.baselines import PCA, RANDOM_PROJECTION, WHITENED_PCA, Projection
from slide_gui.core.choices import Choice, table_of

__all__ = ["METHODS", "Method"]


@dataclass(frozen=True)
class Method(Choice):
    """A representation and a classifier on it.

    Attributes
    ----------
    stacked : bool
        Whether the representation is SLIDE’s, unless a transformer is given.
    learns : bool
        Whether it learns one width a layer; the other SVMs choose one global width and C by cross-validation.
    network : bool
        Whether it has stacked denoising autoencoders.
    fine_tunes : bool
        Whether the fine-tuned network itself is the classifier.
    projection : Projection or None
        The linear map that is its representation.
    takes_parts : bool
        Whether a transformer of scikit-learn may stand in SLIDE’s place, a classifier in the SVM's.
    """

    stacked: bool = False
    learns: bool = False
    network: bool = False
    fine_tunes: bool = False
    projection: Projection | None = None
    takes_parts: bool = False

    @property
    def name(self) -> str:
        """The paper's name of the method, also used in files."""
        return self.text

    @property
    def plain(self) -> bool:
        """Whether a stack and an SVM are all that it takes."""
        return not (self.network or self.projection or self.takes_parts)


METHODS = table_of(
    Method("slide-svm", "SLIDE-SVM", "an SVM on SLIDE’s layers, one width a layer learned (§5)", True, True),
    Method("raw-svm", "Raw-SVM", "an SVM on the input, one width and C by cross-validation"),
    Method(
        "median",
        "SLIDE-SVM, median widths",
        "an SVM on SLIDE’s layers, median widths times one scale, that and C by cross-validation",
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
        "an SVM on the layers of stacked denoising autoencoders, one width a layer learned",
        learns=True,
        network=True,
    ),
    Method(
        "sda",
        "SdA",
        "stacked denoising autoencoders, fine-tuned, the network itself classifies",
        network=True,
        fine_tunes=True,
    ),
    Method(
        "custom",
        "scikit-learn",
        "a transformer of scikit-learn in SLIDE’s place, a classifier in the SVM's, or both",
        stacked=True,
        takes_parts=True,
    ),
)
