"""The methods of representing and classifying that runs can be of, one entry each."""

from __future__ import annotations

from dataclasses import dataclass

from slide_gui.core.baselines import PCA, RANDOM_PROJECTION, WHITENED_PCA, Projection
from slide_gui.core.choices import Choice, table_of
from slide_gui.language import tr

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
    in_files : str
        Its name in English, where that is not its name in every language.
    """

    stacked: bool = False
    learns: bool = False
    network: bool = False
    fine_tunes: bool = False
    projection: Projection | None = None
    takes_parts: bool = False
    in_files: str = ""

    @property
    def name(self) -> str:
        """As in the paper and in files, whatever the language."""
        return self.in_files or self.text

    @property
    def plain(self) -> bool:
        """Whether a stack and an SVM are all that it takes."""
        return not (self.network or self.projection or self.takes_parts)


METHODS = table_of(
    Method("slide-svm", "SLIDE-SVM", tr("an SVM on SLIDE’s layers, one width a layer learned (§5)"), True, True),
    Method("raw-svm", "Raw-SVM", tr("an SVM on the input, one width and C by cross-validation")),
    Method(
        "median",
        tr("SLIDE-SVM, median widths"),
        tr("an SVM on SLIDE’s layers, median widths times one scale, that and C by cross-validation"),
        stacked=True,
        in_files="SLIDE-SVM, median widths",
    ),
    Method(
        "pca-svm",
        "PCA-SVM",
        tr("an SVM on principal components that keep a fraction of the variance"),
        projection=PCA,
    ),
    Method("white-svm", "White-SVM", tr("the same, each component scaled to unit variance"), projection=WHITENED_PCA),
    Method(
        "randproj-svm",
        "Rand Proj-SVM",
        tr("an SVM on a number of Gaussian random directions"),
        projection=RANDOM_PROJECTION,
    ),
    Method(
        "sda-svm",
        "SdA-SVM",
        tr("an SVM on the layers of stacked denoising autoencoders, one width a layer learned"),
        learns=True,
        network=True,
    ),
    Method(
        "sda",
        "SdA",
        tr("stacked denoising autoencoders, fine-tuned, the network itself classifies"),
        network=True,
        fine_tunes=True,
    ),
    Method(
        "custom",
        "scikit-learn",
        tr("a transformer of scikit-learn in SLIDE’s place, a classifier in the SVM's, or both"),
        stacked=True,
        takes_parts=True,
    ),
)
