"""``tf.keras.config``: Keras's global settings."""

from __future__ import annotations

import typing as _typing
from typing import TYPE_CHECKING

from ..compat import traceback_filter as _filter
from ..compat.names import getter as _getter
from ..core.values.dtypes import repr_of as _repr_of
from ..errors import UnimplementedError
from . import dtype_policies as _dtype_policies
from .settings import (
    epsilon,
    floatx,
    image_data_format,
    set_epsilon,
    set_floatx,
    set_image_data_format,
    settings as _settings,
)

if TYPE_CHECKING:
    from .dtype_policies import DTypePolicy

__all__ = [
    "backend",
    "disable_flash_attention",
    "disable_interactive_logging",
    "disable_traceback_filtering",
    "dtype_policy",
    "enable_flash_attention",
    "enable_interactive_logging",
    "enable_traceback_filtering",
    "enable_unsafe_deserialization",
    "epsilon",
    "floatx",
    "image_data_format",
    "is_flash_attention_enabled",
    "is_interactive_logging_enabled",
    "is_nnx_enabled",
    "is_traceback_filtering_enabled",
    "max_epochs",
    "max_steps_per_epoch",
    "set_backend",
    "set_dtype_policy",
    "set_epsilon",
    "set_floatx",
    "set_image_data_format",
    "set_max_epochs",
    "set_max_steps_per_epoch",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)


def backend() -> str:
    """Return the name of the backend.

    Returns:
      A string.

    Example:
      >>> tf.keras.backend.backend()
      'numtape'
    """
    return "numtape"


def set_backend(backend: str) -> None:
    """Accept the current backend: numtape has no other.

    Args:
      backend: ``"numtape"``.

    Raises:
      ValueError: If it is another name. Import Keras to use its backends.

    Example:
      >>> tf.keras.config.set_backend("numtape")
      >>> tf.keras.config.backend()
      'numtape'
    """
    if backend != "numtape":
        raise ValueError(
            f"The backend of numtape's Keras is numtape itself, not {_repr_of(backend)}: import "
            f"Keras to use its backends."
        )


def dtype_policy() -> DTypePolicy:
    """Return the policy of layers that are made without ``dtype``.

    Returns:
      A `keras.DTypePolicy`.

    Example:
      >>> tf.keras.config.dtype_policy()
      <DTypePolicy "float32">
    """
    return _dtype_policies.global_policy()


def set_dtype_policy(policy: str | DTypePolicy) -> None:
    """Set the policy of layers that are made without ``dtype``.

    Args:
      policy: A `keras.DTypePolicy` or its name, such as ``"mixed_float16"``.

    Raises:
      ValueError: If the name is unknown, or the policy is quantized.

    Example:
      >>> tf.keras.config.set_dtype_policy("mixed_bfloat16")
      >>> layer = tf.keras.layers.Dense(2)
      >>> layer.compute_dtype, layer.variable_dtype
      ('bfloat16', 'float32')
      >>> tf.keras.config.set_dtype_policy("float32")
    """
    _dtype_policies.set_global_policy(policy)


def enable_interactive_logging() -> None:
    """Let `fit` show progress bars; this is the default.

    Example:
      >>> tf.keras.config.enable_interactive_logging()
      >>> tf.keras.config.is_interactive_logging_enabled()
      True
    """
    _settings["interactive_logging"] = True


def disable_interactive_logging() -> None:
    """Let `fit` write one line an epoch instead of a progress bar.

    Example:
      >>> tf.keras.config.disable_interactive_logging()
      >>> tf.keras.config.is_interactive_logging_enabled()
      False
      >>> tf.keras.config.enable_interactive_logging()
    """
    _settings["interactive_logging"] = False


def is_interactive_logging_enabled() -> bool:
    """Return whether `fit` shows progress bars.

    Returns:
      A bool.

    Example:
      >>> tf.keras.config.is_interactive_logging_enabled()
      True
    """
    value: bool = _settings["interactive_logging"]
    return value


def enable_traceback_filtering() -> None:
    """Remove numtape's own frames from tracebacks; this is the default.

    Example:
      >>> tf.keras.config.enable_traceback_filtering()
      >>> tf.keras.config.is_traceback_filtering_enabled()
      True
    """
    _filter.enable(True)


def disable_traceback_filtering() -> None:
    """Show numtape's own frames in tracebacks.

    Example:
      >>> tf.keras.config.disable_traceback_filtering()
      >>> tf.keras.config.is_traceback_filtering_enabled()
      False
      >>> tf.keras.config.enable_traceback_filtering()
      >>> tf.keras.config.is_traceback_filtering_enabled()
      True
    """
    _filter.enable(False)


def is_traceback_filtering_enabled() -> bool:
    """Return whether numtape's own frames are removed from tracebacks.

    Returns:
      A bool.

    Example:
      >>> tf.keras.config.is_traceback_filtering_enabled()
      True
    """
    return _filter.is_enabled()


def max_epochs() -> int | None:
    """Return the largest number of epochs of `fit`; None for no limit.

    Returns:
      An int or None.

    Example:
      >>> tf.keras.config.max_epochs() is None
      True
    """
    value: int | None = _settings["max_epochs"]
    return value


def set_max_epochs(max_epochs: int | None) -> None:
    """Limit the number of epochs of every `fit`, for quick checks of a program.

    Args:
      max_epochs: The number; None for no limit.

    Example:
      >>> tf.keras.config.set_max_epochs(1)
      >>> tf.keras.config.max_epochs()
      1
      >>> tf.keras.config.set_max_epochs(None)
    """
    _settings["max_epochs"] = max_epochs


def max_steps_per_epoch() -> int | None:
    """Return the largest number of steps of an epoch, or of `evaluate` and `predict`.

    Returns:
      An int; None for no limit.

    Example:
      >>> tf.keras.config.max_steps_per_epoch() is None
      True
    """
    value: int | None = _settings["max_steps_per_epoch"]
    return value


def set_max_steps_per_epoch(max_steps_per_epoch: int | None) -> None:
    """Limit the number of steps of every epoch, and of `evaluate` and `predict`.

    Args:
      max_steps_per_epoch: The number; None for no limit.

    Example:
      >>> tf.keras.config.set_max_steps_per_epoch(10)
      >>> tf.keras.config.max_steps_per_epoch()
      10
      >>> tf.keras.config.set_max_steps_per_epoch(None)
    """
    _settings["max_steps_per_epoch"] = max_steps_per_epoch


def is_flash_attention_enabled() -> bool:
    """Return False: attention is always computed step by step.

    Returns:
      A bool.

    Example:
      >>> tf.keras.config.is_flash_attention_enabled()
      False
    """
    return False


def disable_flash_attention() -> None:
    """Do nothing: attention is always computed step by step.

    Example:
      >>> tf.keras.config.disable_flash_attention()
      >>> tf.keras.config.is_flash_attention_enabled()
      False
    """


def enable_flash_attention() -> None:
    """Raise an error: numtape has no fused attention.

    Raises:
      UnimplementedError: Always. Attention gives the same numbers without it.

    Example:
      >>> tf.keras.config.enable_flash_attention()
      Traceback (most recent call last):
        ...
      numtape.errors.UnimplementedError: numtape has no flash attention: leave this call out,
      attention gives the same numbers.
    """
    raise UnimplementedError(
        "numtape has no flash attention: leave this call out, attention gives the same numbers."
    )


def enable_unsafe_deserialization() -> None:
    """Raise an error: files contain no code that could be run.

    Raises:
      UnimplementedError: Always. Register custom objects instead of lambdas.

    Example:
      >>> tf.keras.config.enable_unsafe_deserialization()
      Traceback (most recent call last):
        ...
      numtape.errors.UnimplementedError: Loading never runs code from a file: register functions
      with `keras.saving.register_keras_serializable`, or pass `custom_objects`.
    """
    raise UnimplementedError(
        "Loading never runs code from a file: register functions with "
        "`keras.saving.register_keras_serializable`, or pass `custom_objects`."
    )


def is_nnx_enabled() -> bool:
    """Return False: the backend is not JAX.

    Returns:
      A bool.

    Example:
      >>> tf.keras.config.is_nnx_enabled()
      False
    """
    return False
