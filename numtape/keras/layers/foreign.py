"""Layers of other frameworks, which numtape refuses by name."""

from __future__ import annotations

from typing import Any, NoReturn

from ...errors import UnimplementedError
from ..layer import Layer


def _refuse(name: str, alternative: str) -> NoReturn:
    raise UnimplementedError(f"{name} is not available in numtape: {alternative}.")


class JaxLayer(Layer):
    """Refused: numtape does not run functions of JAX.

    Args:
      *args: Not used.
      **kwargs: Not used.

    Raises:
      UnimplementedError: Always. Write the function with `keras.ops` in a `keras.Layer`.

    Example:
      >>> tf.keras.layers.JaxLayer(len)
      Traceback (most recent call last):
        ...
      numtape.errors.UnimplementedError: JaxLayer is not available in numtape: write the function
      with `keras.ops` in a `keras.Layer`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse("JaxLayer", "write the function with `keras.ops` in a `keras.Layer`")


class FlaxLayer(Layer):
    """Refused: numtape does not run modules of Flax.

    Args:
      *args: Not used.
      **kwargs: Not used.

    Raises:
      UnimplementedError: Always. Write the module as a `keras.Layer`.

    Example:
      >>> tf.keras.layers.FlaxLayer(len)
      Traceback (most recent call last):
        ...
      numtape.errors.UnimplementedError: FlaxLayer is not available in numtape: write the module as
      a `keras.Layer`, and set its weights from NumPy.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse("FlaxLayer", "write the module as a `keras.Layer`, and set its weights from NumPy")


class TorchModuleWrapper(Layer):
    """Refused: numtape does not run modules of PyTorch.

    Args:
      *args: Not used.
      **kwargs: Not used.

    Raises:
      UnimplementedError: Always. Write the module as a `keras.Layer`.

    Example:
      >>> tf.keras.layers.TorchModuleWrapper(len)
      Traceback (most recent call last):
        ...
      numtape.errors.UnimplementedError: TorchModuleWrapper is not available in numtape: write the
      module as a `keras.Layer`, and set its weights from NumPy.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse(
            "TorchModuleWrapper",
            "write the module as a `keras.Layer`, and set its weights from NumPy",
        )


class TFSMLayer(Layer):
    """Refused: numtape does not load SavedModels.

    Args:
      *args: Not used.
      **kwargs: Not used.

    Raises:
      UnimplementedError: Always. Save the model in the ``.keras`` format.

    Example:
      >>> tf.keras.layers.TFSMLayer("folder")
      Traceback (most recent call last):
        ...
      numtape.errors.UnimplementedError: TFSMLayer is not available in numtape: save the model in
      the `.keras` format, and load it with `load_model`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse("TFSMLayer", "save the model in the `.keras` format, and load it with `load_model`")
