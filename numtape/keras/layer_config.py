"""What a layer was made with."""

from __future__ import annotations

import inspect
from typing import Any

from ..compat.traceback_filter import warn
from ..core.values.dtypes import DType
from ..core.values.spelling import hint
from . import regularizers


class _Signature:
    """Those of a class's ``__init__``; Python up to 3.11.3 would show those of ``__new__``."""

    def __get__(self, instance: Any, owner: type) -> inspect.Signature:
        if instance is not None:
            raise AttributeError("__signature__")
        result = inspect.signature(owner.__init__)  # type: ignore[misc]
        return result.replace(parameters=list(result.parameters.values())[1:])


class LayerConfig:
    """The part of `Layer` that knows its arguments."""

    __signature__ = _Signature()
    _nt_made_with: tuple[tuple[Any, ...], dict[str, Any]]
    _nt_dtype: DType
    _nt_name: str
    _nt_input_shape_arg: tuple[Any, ...]
    _nt_trainable: bool
    activity_regularizer: Any = None

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Keep the arguments, for `get_config`."""
        instance = super().__new__(cls)
        instance._nt_made_with = args, kwargs
        return instance

    def _nt_take_shape(self, kwargs: dict[str, Any]) -> None:
        """Take older Keras's arguments for shapes out of ``kwargs``; nothing else may be there."""
        size = kwargs.pop("input_dim", None)
        shape = kwargs.pop("input_shape", None) if size is None else (size,)
        if shape is not None:
            if not isinstance(shape, list | tuple):
                raise ValueError(
                    f"Cannot convert '{shape}' to a shape: `input_shape` is a tuple, ({shape},) "
                    f"for one axis."
                )
            warn(
                "Do not pass an `input_shape`/`input_dim` argument to a layer. When using "
                "Sequential models, prefer using an `Input(shape)` object as the first layer in "
                "the model instead."
            )
            self._nt_input_shape_arg = tuple(shape)
        if kwargs:
            kind = type(self)
            meant = hint(next(iter(kwargs)), inspect.signature(kind).parameters)
            raise ValueError(
                f"Unrecognized keyword arguments passed to {kind.__name__}: {kwargs}{meant}"
            )

    def _nt_arguments_shown(self) -> dict[str, Any]:
        """The arguments that say in short what it does: those that differ from their defaults."""
        parameters = dict(inspect.signature(type(self).__init__).parameters)
        args, kwargs = self._nt_made_with
        provided = {**dict(zip(list(parameters)[1:], args, strict=False)), **kwargs}
        result = {}
        for key, value in provided.items():
            default = parameters[key].default if key in parameters else None
            if isinstance(value, LayerConfig):
                value = value._nt_name
            elif callable(value) and hasattr(value, "__name__"):
                value = value.__name__
            if key in ("name", "seed", "dtype", "trainable") or isinstance(value, dict | list):
                continue
            if _is_plain(value) and value not in (default, "linear"):
                result[key] = value
        return result

    @property
    def dtype(self) -> str:
        """The name of the variables' dtype."""
        return self._nt_dtype.name

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments; subclasses add theirs.

        Returns:
          A dict of arguments.

        Raises:
          NotImplementedError: If a class's arguments are more than names, numbers, and lists of
            them: it has to override this method.

        Example:
          >>> tf.keras.Layer(name="mine").get_config()
          {'name': 'mine', 'trainable': True, 'dtype': 'float32'}
        """
        base: dict[str, Any] = {"name": self._nt_name, "trainable": self._nt_trainable}
        base["dtype"] = self.dtype
        if self.activity_regularizer is not None:
            base["activity_regularizer"] = regularizers.serialize(self.activity_regularizer)
        if type(self).get_config is not LayerConfig.get_config:
            return base  # the class's own method adds to it
        args, kwargs = self._nt_made_with
        accepted = inspect.signature(type(self).__init__).parameters
        provided = {**dict(zip(list(accepted)[1:], args, strict=False)), **kwargs}
        if not all(_is_plain(x) for x in provided.values()):
            raise NotImplementedError(
                f"Object {type(self).__name__} was created by passing non-serializable argument "
                f"values in `__init__()`, and therefore the object must override `get_config()`."
            )
        open_ = any(p.kind is p.VAR_KEYWORD for p in accepted.values())
        return {**{k: x for k, x in base.items() if open_ or k in accepted}, **provided}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """The layer made with these arguments.

        Args:
          config: The result of `get_config`.

        Returns:
          A layer.

        Raises:
          TypeError: If the class does not take them.

        Example:
          >>> tf.keras.Layer.from_config({"name": "mine"}).name
          'mine'
        """
        return cls(**config)


def _is_plain(x: Any) -> bool:
    if isinstance(x, list | tuple):
        return all(map(_is_plain, x))
    if isinstance(x, dict):
        return all(map(_is_plain, x.values()))
    return x is None or isinstance(x, str | int | float)
