"""``tf.keras.losses``: losses as functions, and as classes that weigh and add up."""

from __future__ import annotations

import typing as _typing
from typing import Any

from ..compat.names import getter as _getter
from ..core.log.tensors import as_tensor
from ..core.ops.comparison import not_equal
from ..core.values.tensor import Tensor
from .crossentropies import (
    binary_crossentropy,
    binary_focal_crossentropy,
    categorical_crossentropy,
    categorical_focal_crossentropy,
    sparse_categorical_crossentropy,
)
from .loss import Loss, LossFunction, loss_class
from .loss_functions import (
    categorical_hinge,
    cosine_similarity,
    dice,
    hinge,
    huber,
    kl_divergence,
    log_cosh,
    mean_absolute_error,
    mean_absolute_percentage_error,
    mean_squared_error,
    mean_squared_logarithmic_error,
    poisson,
    squared_hinge,
    tversky,
)
from .named import nearest

MSE = mse = mean_squared_error
MAE = mae = mean_absolute_error
MAPE = mape = mean_absolute_percentage_error
MSLE = msle = mean_squared_logarithmic_error
KLD = kld = kullback_leibler_divergence = kl_divergence
logcosh = log_cosh

__all__ = [
    "KLD",
    "MAE",
    "MAPE",
    "MSE",
    "MSLE",
    "BinaryCrossentropy",
    "BinaryFocalCrossentropy",
    "CategoricalCrossentropy",
    "CategoricalFocalCrossentropy",
    "CategoricalHinge",
    "CosineSimilarity",
    "Dice",
    "Hinge",
    "Huber",
    "KLDivergence",
    "LogCosh",
    "Loss",
    "MeanAbsoluteError",
    "MeanAbsolutePercentageError",
    "MeanSquaredError",
    "MeanSquaredLogarithmicError",
    "Poisson",
    "SparseCategoricalCrossentropy",
    "SquaredHinge",
    "Tversky",
    "binary_crossentropy",
    "binary_focal_crossentropy",
    "categorical_crossentropy",
    "categorical_focal_crossentropy",
    "categorical_hinge",
    "cosine_similarity",
    "dice",
    "get",
    "hinge",
    "huber",
    "kl_divergence",
    "kld",
    "kullback_leibler_divergence",
    "log_cosh",
    "logcosh",
    "mae",
    "mape",
    "mean_absolute_error",
    "mean_absolute_percentage_error",
    "mean_squared_error",
    "mean_squared_logarithmic_error",
    "mse",
    "msle",
    "poisson",
    "sparse_categorical_crossentropy",
    "squared_hinge",
    "tversky",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)


@loss_class
class MeanSquaredError(LossFunction):
    """The mean of squared differences. See `mean_squared_error`.

    >>> tf.keras.losses.MeanSquaredError()([[0.0, 1.0]], [[1.0, 1.0]]).numpy()
    np.float32(0.5)
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "mean_squared_error",
        dtype: Any = None,
    ) -> None:
        super().__init__(mean_squared_error, name, reduction, dtype)


@loss_class
class MeanAbsoluteError(LossFunction):
    """The mean of absolute differences. See `mean_absolute_error`.

    >>> tf.keras.losses.MeanAbsoluteError()([[0.0, 1.0]], [[2.0, 1.0]]).numpy()
    np.float32(1.0)
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "mean_absolute_error",
        dtype: Any = None,
    ) -> None:
        super().__init__(mean_absolute_error, name, reduction, dtype)


@loss_class
class MeanAbsolutePercentageError(LossFunction):
    """The mean of relative differences, in percent. See `mean_absolute_percentage_error`.

    >>> tf.keras.losses.MeanAbsolutePercentageError()([[4.0, 2.0]], [[5.0, 2.0]]).numpy()
    np.float32(12.5)
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "mean_absolute_percentage_error",
        dtype: Any = None,
    ) -> None:
        super().__init__(mean_absolute_percentage_error, name, reduction, dtype)


@loss_class
class MeanSquaredLogarithmicError(LossFunction):
    """The mean of squared differences of ``log(1 + y)``. See `mean_squared_logarithmic_error`.

    >>> tf.keras.losses.MeanSquaredLogarithmicError()([[0.0, 1.0]], [[0.0, 3.0]]).numpy()
    np.float32(0.24022643)
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "mean_squared_logarithmic_error",
        dtype: Any = None,
    ) -> None:
        super().__init__(mean_squared_logarithmic_error, name, reduction, dtype)


@loss_class
class CosineSimilarity(LossFunction):
    """Minus the cosine of the angle between vectors. See `cosine_similarity`.

    >>> tf.keras.losses.CosineSimilarity()([[0.0, 2.0]], [[3.0, 3.0]]).numpy()
    np.float32(-0.7071067)
    """

    def __init__(
        self,
        axis: int = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "cosine_similarity",
        dtype: Any = None,
    ) -> None:
        super().__init__(cosine_similarity, name, reduction, dtype, axis=axis)


@loss_class
class Huber(LossFunction):
    """Half the squared difference where it is small, else its absolute value. See `huber`.

    >>> tf.keras.losses.Huber()([[0.0, 0.0]], [[1.0, 3.0]]).numpy()
    np.float32(1.5)
    """

    def __init__(
        self,
        delta: float = 1.0,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "huber",
        dtype: Any = None,
    ) -> None:
        super().__init__(huber, name, reduction, dtype, delta=delta)


@loss_class
class LogCosh(LossFunction):
    """The mean of ``log(cosh(y_pred - y_true))``. See `log_cosh`.

    >>> tf.keras.losses.LogCosh()([[0.0, 0.0]], [[0.0, 1.0]]).numpy()
    np.float32(0.21689034)
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "log_cosh",
        dtype: Any = None,
    ) -> None:
        super().__init__(log_cosh, name, reduction, dtype)


@loss_class
class Hinge(LossFunction):
    """The mean of ``max(1 - y_true * y_pred, 0)``. See `hinge`.

    >>> tf.keras.losses.Hinge()([[-1.0, 1.0]], [[0.5, 2.0]]).numpy()
    np.float32(0.75)
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "hinge",
        dtype: Any = None,
    ) -> None:
        super().__init__(hinge, name, reduction, dtype)


@loss_class
class SquaredHinge(LossFunction):
    """The mean of ``max(1 - y_true * y_pred, 0) ** 2``. See `squared_hinge`.

    >>> tf.keras.losses.SquaredHinge()([[-1.0, 1.0]], [[0.5, 2.0]]).numpy()
    np.float32(1.125)
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "squared_hinge",
        dtype: Any = None,
    ) -> None:
        super().__init__(squared_hinge, name, reduction, dtype)


@loss_class
class CategoricalHinge(LossFunction):
    """How far the right class is from being 1 larger than all others. See `categorical_hinge`.

    >>> tf.keras.losses.CategoricalHinge()([[0.0, 1.0]], [[0.6, 0.4]]).numpy()
    np.float32(1.2)
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "categorical_hinge",
        dtype: Any = None,
    ) -> None:
        super().__init__(categorical_hinge, name, reduction, dtype)


@loss_class
class KLDivergence(LossFunction):
    """The divergence of Kullback and Leibler. See `kl_divergence`.

    >>> tf.keras.losses.KLDivergence()([[0.5, 0.5]], [[0.25, 0.75]]).numpy()
    np.float32(0.14384104)
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "kl_divergence",
        dtype: Any = None,
    ) -> None:
        super().__init__(kl_divergence, name, reduction, dtype)


@loss_class
class Poisson(LossFunction):
    """The mean of ``y_pred - y_true * log(y_pred)``. See `poisson`.

    >>> tf.keras.losses.Poisson()([[1.0, 2.0]], [[1.0, 1.0]]).numpy()
    np.float32(0.9999998)
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "poisson",
        dtype: Any = None,
    ) -> None:
        super().__init__(poisson, name, reduction, dtype)


@loss_class
class CategoricalCrossentropy(LossFunction):
    """The cross-entropy of one-hot labels. See `categorical_crossentropy`.

    >>> tf.keras.losses.CategoricalCrossentropy()([[0.0, 1.0]], [[0.25, 0.75]]).numpy()
    np.float32(0.2876821)
    """

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "categorical_crossentropy",
        dtype: Any = None,
    ) -> None:
        super().__init__(
            categorical_crossentropy,
            name,
            reduction,
            dtype,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
            axis=axis,
        )


@loss_class
class BinaryCrossentropy(LossFunction):
    """The cross-entropy of labels 0 and 1. See `binary_crossentropy`.

    >>> tf.keras.losses.BinaryCrossentropy()([[0.0, 1.0]], [[0.5, 0.5]]).numpy()
    np.float32(0.6931472)
    """

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "binary_crossentropy",
        dtype: Any = None,
    ) -> None:
        super().__init__(
            binary_crossentropy,
            name,
            reduction,
            dtype,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
            axis=axis,
        )


@loss_class
class BinaryFocalCrossentropy(LossFunction):
    """`BinaryCrossentropy` in which what is right counts less. See `binary_focal_crossentropy`.

    >>> tf.keras.losses.BinaryFocalCrossentropy()([[0.0, 1.0]], [[0.5, 0.5]]).numpy()
    np.float32(0.1732868)
    """

    def __init__(
        self,
        apply_class_balancing: bool = False,
        alpha: float = 0.25,
        gamma: float = 2.0,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "binary_focal_crossentropy",
        dtype: Any = None,
    ) -> None:
        super().__init__(
            binary_focal_crossentropy,
            name,
            reduction,
            dtype,
            apply_class_balancing=apply_class_balancing,
            alpha=alpha,
            gamma=gamma,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
            axis=axis,
        )


@loss_class
class CategoricalFocalCrossentropy(LossFunction):
    """`CategoricalCrossentropy`, what is right counts less. See `categorical_focal_crossentropy`.

    >>> tf.keras.losses.CategoricalFocalCrossentropy()([[0.0, 1.0]], [[0.5, 0.5]]).numpy()
    np.float32(0.0433217)
    """

    def __init__(
        self,
        alpha: float = 0.25,
        gamma: float = 2.0,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "categorical_focal_crossentropy",
        dtype: Any = None,
    ) -> None:
        super().__init__(
            categorical_focal_crossentropy,
            name,
            reduction,
            dtype,
            alpha=alpha,
            gamma=gamma,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
            axis=axis,
        )


@loss_class
class SparseCategoricalCrossentropy(LossFunction):
    """The cross-entropy of labels that are numbers of classes.

    See `sparse_categorical_crossentropy`.

    >>> tf.keras.losses.SparseCategoricalCrossentropy()([1], [[0.25, 0.75]]).numpy()
    np.float32(0.2876821)
    """

    def __init__(
        self,
        from_logits: bool = False,
        ignore_class: int | None = None,
        reduction: str | None = "sum_over_batch_size",
        axis: int = -1,
        name: str | None = "sparse_categorical_crossentropy",
        dtype: Any = None,
    ) -> None:
        super().__init__(
            sparse_categorical_crossentropy,
            name,
            reduction,
            dtype,
            from_logits=from_logits,
            ignore_class=ignore_class,
            axis=axis,
        )

    def _nt_wanted(self, x: Any) -> Tensor:
        labels = as_tensor(x)
        own = type(self).call is LossFunction.call  # which takes ints: others may compute with them
        return labels if own and labels._spec.dtype.is_integer else self._nt_found(labels)

    def _nt_mask(self, y_true: Any) -> Tensor | None:
        ignored = self._nt_arguments["ignore_class"]
        if ignored is None:
            return None
        counted = not_equal(self._nt_found(y_true), float(ignored))
        return counted[..., 0] if counted.ndim > 1 and counted.shape[-1] == 1 else counted


@loss_class
class Dice(LossFunction):
    """1 less Dice's coefficient of what both have in common; see `dice`.

    >>> tf.keras.losses.Dice()([[0.0, 1.0]], [[0.5, 0.5]]).numpy()
    np.float32(0.5)
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "dice",
        axis: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(dice, name, reduction, dtype, axis=axis)


@loss_class
class Tversky(LossFunction):
    """`Dice` with weights for what is missing and what is too much; see `tversky`.

    >>> tf.keras.losses.Tversky()([[0.0, 1.0]], [[0.5, 0.5]]).numpy()
    np.float32(0.5000001)
    """

    def __init__(
        self,
        alpha: float = 0.5,
        beta: float = 0.5,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "tversky",
        axis: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(tversky, name, reduction, dtype, alpha=alpha, beta=beta, axis=axis)


def get(identifier: Any) -> Any:
    """A loss by its name.

    Args:
      identifier: A name of a function or class, such as ``"mse"`` or ``"Huber"``; a function, a
        loss or its class, or None.

    Returns:
      A loss made of a class or its name, the function of a function's; else what was given.

    Raises:
      ValueError: If it does not exist of this name.

    Example:
      >>> tf.keras.losses.get("mse").__name__
      'mean_squared_error'
    """
    if isinstance(identifier, type) and issubclass(identifier, Loss):
        return identifier()
    if identifier is None or callable(identifier):
        return identifier
    if identifier in ("bce", "BCE"):
        return binary_crossentropy
    result = globals().get(identifier) if isinstance(identifier, str) else None
    if identifier in __all__ and identifier not in ("get", "Loss") and result is not None:
        return result() if isinstance(result, type) else result
    near = nearest(identifier, __all__)
    raise ValueError(f"Could not interpret loss identifier: {identifier!r}.{near}")
