"""``tf.keras.wrappers``: models as estimators of scikit-learn."""

from __future__ import annotations

import copy as _copy
import typing as _typing
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compat.names import getter as _getter
from .models import Model, clone_model

if TYPE_CHECKING:
    from numpy.typing import NDArray

    _BaseEstimator: Any
    _ClassifierMixin: Any
    _RegressorMixin: Any
    _TransformerMixin: Any
else:
    try:
        from sklearn.base import (
            BaseEstimator as _BaseEstimator,
            ClassifierMixin as _ClassifierMixin,
            RegressorMixin as _RegressorMixin,
            TransformerMixin as _TransformerMixin,
        )
    except ImportError:
        _BaseEstimator, _ClassifierMixin, _RegressorMixin, _TransformerMixin = (
            type(name, (), {"_nt_is_missing": True}) for name in ("Base", "C", "R", "T")
        )

__all__ = ["SKLearnClassifier", "SKLearnRegressor", "SKLearnTransformer"]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)

Array: _typing.TypeAlias = "NDArray[Any]"


def _validate(estimator: Any, *arrays: Any, reset: bool = True) -> Any:
    """Check inputs, and targets if there are any, and convert them to arrays."""
    from sklearn.utils.validation import validate_data

    return validate_data(estimator, *arrays, reset=reset)


def _target_type(y: Any) -> str:
    """Return scikit-learn's name of the kind of targets.

    Raises:
      ValueError: If they are of no kind.
    """
    from sklearn.utils.multiclass import type_of_target

    name: str = type_of_target(y)
    if name == "unknown":
        raise ValueError(f"Unknown label type for data: {y!r}")
    return name


class SKLBase(_BaseEstimator):  # type: ignore[misc]
    """Base class of the estimators: a model that `fit` builds or copies.

    Args:
      model: A compiled model, which `fit` clones unless ``warm_start``; or a function of ``X``,
        ``y`` and ``model_kwargs`` that returns one.
      warm_start: Whether `fit` goes on with the model of the last call.
      model_kwargs: Arguments of the function.
      fit_kwargs: Arguments of `Model.fit`.

    Raises:
      ImportError: If scikit-learn is not installed.
    """

    def __init__(
        self,
        model: Model | Callable[..., Model],
        warm_start: bool = False,
        model_kwargs: dict[str, Any] | None = None,
        fit_kwargs: dict[str, Any] | None = None,
    ) -> None:
        if getattr(self, "_nt_is_missing", False):
            raise ImportError(
                f"{type(self).__name__} requires `scikit-learn` to be installed. Run `pip install "
                f"scikit-learn` to install it."
            )
        self.model = model
        self.warm_start = warm_start
        self.model_kwargs = model_kwargs
        self.fit_kwargs = fit_kwargs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        return tags

    def __sklearn_clone__(self) -> Any:
        is_function = not isinstance(self.model, Model)
        return type(self)(
            self.model if is_function else _copy.deepcopy(self.model),
            self.warm_start,
            self.model_kwargs,
            self.fit_kwargs,
        )

    @property
    def epoch_(self) -> int:
        """The number of epochs of the last `fit`."""
        history = getattr(self, "history_", None)
        return 0 if history is None else len(history.epoch)

    def _nt_model(self, X: Array, y: Array) -> Any:
        """Return the model to train.

        Raises:
          RuntimeError: If it is not compiled with a loss and an optimizer.
        """
        model: Any
        if self.warm_start and hasattr(self, "model_"):
            model = self.model_
        elif not isinstance(self.model, Model):
            model = self.model(X=X, y=y, **(self.model_kwargs or {}))
        elif self.warm_start:
            model = self.model
        else:
            model = clone_model(self.model)
            if self.model.compiled:  # a clone of numtape's is not compiled
                model.compile_from_config(self.model.get_compile_config())
        if not model.compiled or not model.loss or not model.optimizer:
            raise RuntimeError(
                "Given model needs to be compiled, and have a loss and an optimizer."
            )
        return model

    def fit(self, X: Any, y: Any, **kwargs: Any) -> Any:
        """Train the model.

        Args:
          X: The inputs, of shape (examples, features).
          y: The targets, of shape (examples,).
          **kwargs: Arguments of `Model.fit`, which take precedence over ``fit_kwargs``.

        Returns:
          The estimator.

        Raises:
          ValueError: If the data are invalid.
          RuntimeError: If the model is not compiled.
        """
        X, y = _validate(self, X, y)
        targets = self._nt_encode(y)
        model = self._nt_model(X, targets)
        self.history_ = model.fit(X, targets, **{**(self.fit_kwargs or {}), **kwargs})
        self.model_ = model
        return self

    def _nt_outputs(self, X: Any) -> Array:
        """Return the outputs of the fitted model."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self, "model_")
        outputs: Any = self.model_.predict(_validate(self, X, reset=False), verbose=0)
        if isinstance(outputs, list | tuple) and len(outputs) == 1:
            outputs = outputs[0]
        result: Array = outputs
        return result

    def predict(self, X: Any) -> Array:
        """Predict targets.

        Args:
          X: The inputs, of shape (examples, features).

        Returns:
          An array like the targets that `fit` got.
        """
        return self._nt_decode(self._nt_outputs(X))

    def _nt_encode(self, y: Array) -> Array:
        """Convert targets to the shape of the model's outputs."""
        _target_type(y)
        self._nt_is_flat = y.ndim == 1
        return y.reshape(-1, 1) if self._nt_is_flat else y

    def _nt_decode(self, outputs: Array) -> Array:
        """Convert outputs to the shape of the targets."""
        return outputs[:, 0] if self._nt_is_flat and outputs.ndim == 2 else outputs


class SKLearnClassifier(_ClassifierMixin, SKLBase):  # type: ignore[misc]
    """A classifier of scikit-learn whose model gets labels as one-hot vectors.

    Args:
      model: A compiled model, which `fit` clones unless ``warm_start``; or a function of ``X``,
        ``y`` and ``model_kwargs`` that returns one.
      warm_start: Whether `fit` goes on with the model of the last call.
      model_kwargs: Arguments of the function.
      fit_kwargs: Arguments of `Model.fit`.

    Raises:
      ImportError: If scikit-learn is not installed.

    Example:
      >>> def make(X, y):
      ...     layers = [tf.keras.Input(X.shape[1:]), tf.keras.layers.Dense(y.shape[1], "softmax")]
      ...     model = tf.keras.Sequential(layers)
      ...     model.compile("adam", "categorical_crossentropy")
      ...     return model
      >>> classifier = tf.keras.wrappers.SKLearnClassifier(make, fit_kwargs={"verbose": 0})
      >>> X, y = np.random.default_rng(0).normal(size=(8, 2)), ["a", "b"] * 4
      >>> classifier.fit(X, y).classes_.tolist(), classifier.decision_function(X).shape
      (['a', 'b'], (8, 2))
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags

    def decision_function(self, X: Any) -> Array:
        """Return the outputs of the model.

        Args:
          X: The inputs, of shape (examples, features).

        Returns:
          An array of shape (examples, classes).
        """
        return self._nt_outputs(X)

    def _nt_encode(self, y: Array) -> Array:
        kind = _target_type(y)
        if kind not in ("binary", "multiclass"):
            raise ValueError(
                f"Only binary and multiclass target types are supported. Target type: {kind}"
            )
        self._nt_is_flat = y.ndim == 1
        self.classes_, indices = np.unique(y, return_inverse=True)
        if len(self.classes_) == 1:
            raise ValueError("Classifier can't train when only one class is present.")
        return np.eye(len(self.classes_))[indices.ravel()]

    def _nt_decode(self, outputs: Array) -> Array:
        labels: Array = self.classes_[outputs.argmax(-1)]
        return labels if self._nt_is_flat else labels[:, None]


class SKLearnRegressor(_RegressorMixin, SKLBase):  # type: ignore[misc]
    """A regressor of scikit-learn.

    Args:
      model: A compiled model, which `fit` clones unless ``warm_start``; or a function of ``X``,
        ``y`` and ``model_kwargs`` that returns one.
      warm_start: Whether `fit` goes on with the model of the last call.
      model_kwargs: Arguments of the function.
      fit_kwargs: Arguments of `Model.fit`.

    Raises:
      ImportError: If scikit-learn is not installed.

    Example:
      >>> model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])
      >>> model.compile("sgd", "mse")
      >>> regressor = tf.keras.wrappers.SKLearnRegressor(model, fit_kwargs={"verbose": 0})
      >>> X = np.random.default_rng(0).normal(size=(8, 2))
      >>> regressor.fit(X, X[:, 0]).predict(X).shape
      (8,)
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags


class SKLearnTransformer(_TransformerMixin, SKLBase):  # type: ignore[misc]
    """A transformer of scikit-learn: the outputs of a model are features.

    Args:
      model: A compiled model, which `fit` clones unless ``warm_start``; or a function of ``X``,
        ``y`` and ``model_kwargs`` that returns one.
      warm_start: Whether `fit` goes on with the model of the last call.
      model_kwargs: Arguments of the function.
      fit_kwargs: Arguments of `Model.fit`.

    Raises:
      ImportError: If scikit-learn is not installed.

    Example:
      >>> model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])
      >>> model.compile("sgd", "mse")
      >>> transformer = tf.keras.wrappers.SKLearnTransformer(model, fit_kwargs={"verbose": 0})
      >>> X = np.random.default_rng(0).normal(size=(8, 2))
      >>> transformer.fit(X, X[:, 0]).transform(X).shape
      (8, 1)
    """

    def transform(self, X: Any) -> Array:
        """Return the outputs of the model.

        Args:
          X: The inputs, of shape (examples, features).

        Returns:
          An array of shape (examples, outputs).
        """
        return self._nt_outputs(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags
