"""`ConcreteFunction`: a function for arguments of certain shapes and dtypes."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from ..core.log.as_tensor import to_tensor
from ..core.values.tensor import Tensor
from ..errors import InvalidArgumentError
from ..tensor_spec import TensorSpec


class TracedFunction(Protocol):
    """A `Function`, or a method of one."""

    name: str
    input_signature: Any
    _parameters: Any

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""


class ConcreteFunction:
    """A `function` for arguments of certain shapes and dtypes.

    A call may omit arguments that are Python values.

    Example:
      >>> power = tf.function(lambda x, n: x**n)
      >>> cube = power.get_concrete_function(tf.TensorSpec(()), 3)
      >>> cube(tf.constant(2.0)).numpy()
      np.float32(8.0)
    """

    def __init__(self, of: TracedFunction, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._function = of
        if of.input_signature is not None and not args and not kwargs:
            args = of.input_signature
        elif of._parameters.signature is not None:
            args, kwargs = self._bind(args, kwargs)
        self._args, self._kwargs = args, kwargs
        self.name = of.name

    def _bind(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        parameters = self._function._parameters
        assert parameters.signature is not None
        try:
            bound = parameters.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise parameters._misfit(str(error), args, kwargs) from None
        bound.apply_defaults()
        return bound.args, bound.kwargs

    @property
    def structured_input_signature(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments, with a `TensorSpec` for each tensor."""
        return (tuple(map(_as_spec, self._args)), {k: _as_spec(x) for k, x in self._kwargs.items()})

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the function.

        Raises:
          TypeError: If tensors are missing, or Python values differ.
          InvalidArgumentError: If a tensor has another dtype.
        """
        names = [p.name for p in self._function._parameters._positional]
        remaining = list(args)
        filled: list[Any] = []
        for k, expected in enumerate(self._args):
            name = names[k] if k < len(names) else ""
            if remaining:
                value = remaining.pop(0)
            elif name in kwargs:
                value = kwargs.pop(name)
            elif isinstance(expected, Tensor | TensorSpec | np.ndarray):
                raise TypeError(f"{self.name}() missing required argument: {name!r}")
            else:
                value = expected
            filled.append(self._check(value, expected, k))
        if remaining:
            raise TypeError(f"{self.name}() takes {len(self._args)} arguments, {len(args)} given")
        for name, expected in self._kwargs.items():
            if name in kwargs:
                kwargs[name] = self._check(kwargs[name], expected, name)
            elif isinstance(expected, Tensor | TensorSpec | np.ndarray):
                raise TypeError(f"{self.name}() missing required argument: {name!r}")
        return self._function(*filled, **{**self._kwargs, **kwargs})

    def _check(self, value: Any, expected: Any, k: int | str) -> Any:
        from ..nest import is_nested, map_structure, map_up_to

        if isinstance(expected, Tensor | TensorSpec):
            tensor = value if type(value) is Tensor else to_tensor(value, expected.dtype)
            if tensor.dtype is not expected.dtype:
                raise InvalidArgumentError(
                    f"cannot compute {self.name} as input #{k}(zero-based) was expected to be a "
                    f"{expected.dtype.name} tensor but is a {tensor.dtype.name} tensor"
                )
            return tensor
        if is_nested(expected):
            try:
                return map_up_to(lambda want, x: self._check(x, want, k), expected, value)
            except ValueError:
                raise TypeError(
                    f"Binding inputs to tf.function failed due to `{value!r}` has another "
                    f"structure than {map_structure(_as_spec, expected)!r}."
                ) from None
        if isinstance(expected, bool | int | float | str) and value != expected:
            raise TypeError(
                f"Binding inputs to tf.function failed due to `Can not cast {value!r} to "
                f"Literal[{expected!r}]`."
            )
        return value

    def __repr__(self) -> str:
        args, kwargs = self.structured_input_signature
        return f"<ConcreteFunction {self.name} args={args} kwargs={kwargs}>"


def _as_spec(x: Any) -> Any:
    return TensorSpec.from_tensor(x) if isinstance(x, Tensor) else x
