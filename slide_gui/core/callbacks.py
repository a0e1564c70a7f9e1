"""The callbacks of scikit-learn (1.9 and later) in a fit: one task after another; before that there are none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

__all__ = ["CallbackSupportMixin", "FitTasks", "called_back"]

Fit = TypeVar("Fit", bound=Callable[..., Any])

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """No callbacks to be set."""

    def with_callbacks(method: Any) -> Any:
        """Return it as it is."""
        return method


def called_back(fit: Fit) -> Fit:
    """Return a fit whose callbacks are torn down however it ends."""
    return with_callbacks(fit)  # type: ignore[no-any-return]


class FitTasks:
    """What the callbacks of an estimator are told of its fit: the whole, and its parts one after the other.

    Parameters
    ----------
    estimator : CallbackSupportMixin
        Its callbacks see its training data.
    count : int or None
        Of the parts; None where that is not known before.
    X, y, sample_weight
        What it is fitted on.
    """

    def __init__(self, estimator: Any, count: int | None, X: Any, y: Any = None, sample_weight: Any = None) -> None:
        self._estimator = estimator
        weighted = None if sample_weight is None else {"sample_weight": sample_weight}
        self._seen: dict[str, Any] = {"estimator": estimator, "X": X, "y": y, "metadata": weighted}
        start = getattr(estimator, "_init_callback_context", None)
        self._whole = None if start is None else start(max_subtasks=count)
        self._part: Any = None
        self._key: object = None
        if self._whole is not None:
            self._whole.call_on_fit_task_begin(**self._seen)

    def begin(self, name: str, key: object = None) -> None:
        """Begin a part, which ends the one before, unless that has the same key."""
        if self._whole is not None and (self._part is None or key is None or key != self._key):
            self.end_part()
            self._part, self._key = self._whole.subcontext(task_name=name), key
            self._part.call_on_fit_task_begin(**self._seen)

    def end_part(self, fitted: Mapping[str, Any] | None = None) -> bool:
        """End the part that was begun, if any; tell whether a callback wants to end the fit there.

        Parameters
        ----------
        fitted : mapping, optional
            Attributes that make the estimator one that was fitted up to here.
        """
        if self._part is None:
            return False
        part, self._part = self._part, None
        return bool(part.call_on_fit_task_end(**self._seen, reconstruction_attributes=fitted))

    @contextmanager
    def part_of(self, estimator: Any, name: str) -> Iterator[None]:
        """Return a context in which the fit of another estimator is a part."""
        if self._whole is None:
            yield
            return
        part = self._whole.subcontext(task_name=name)
        with part.propagate_callback_context(estimator):
            part.call_on_fit_task_begin(**self._seen)
            yield
            part.call_on_fit_task_end(**self._seen)

    def end(self) -> None:
        """End the fit, and the last part."""
        self.end_part()
        if self._whole is not None:
            self._whole.call_on_fit_task_end(**self._seen, reconstruction_attributes={})
