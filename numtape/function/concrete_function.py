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

    def __init__(
        self, function: TracedFunction, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self._function = function
        if function.input_signature is not None and not args and not kwargs:
            args = function.input_signature
        elif function._parameters.signature is not None:
            args, kwargs = self._bind(args, kwargs)
        self._args, self._kwargs = args, kwargs
        self.name = function.name

    def _bind(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        parameters = self._function._parameters
        assert parameters.signature is not None
        try:
            bound_arguments = parameters.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise parameters._binding_error(str(error), args, kwargs) from None
        bound_arguments.apply_defaults()
        return bound_arguments.args, bound_arguments.kwargs

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
        remaining_args = list(args)
        call_args: list[Any] = []
        for k, recorded_value in enumerate(self._args):
            name = names[k] if k < len(names) else ""
            if remaining_args:
                value = remaining_args.pop(0)
            elif name in kwargs:
                value = kwargs.pop(name)
            elif isinstance(recorded_value, Tensor | TensorSpec | np.ndarray):
                raise TypeError(f"{self.name}() missing required argument: {name!r}")
            else:
                value = recorded_value
            call_args.append(self._check(value, recorded_value, k))
        if remaining_args:
            raise TypeError(f"{self.name}() takes {len(self._args)} arguments, {len(args)} given")
        for name, recorded_value in self._kwargs.items():
            if name in kwargs:
                kwargs[name] = self._check(kwargs[name], recorded_value, name)
            elif isinstance(recorded_value, Tensor | TensorSpec | np.ndarray):
                raise TypeError(f"{self.name}() missing required argument: {name!r}")
        return self._function(*call_args, **{**self._kwargs, **kwargs})

    def _check(self, value: Any, recorded_value: Any, k: int | str) -> Any:
        from ..nest import is_nested, map_structure, map_up_to

        if isinstance(recorded_value, Tensor | TensorSpec):
            tensor = value if type(value) is Tensor else to_tensor(value, recorded_value.dtype)
            if tensor.dtype is not recorded_value.dtype:
                raise InvalidArgumentError(
                    f"cannot compute {self.name} as input #{k}(zero-based) was expected to be a "
                    f"{recorded_value.dtype.name} tensor but is a {tensor.dtype.name} tensor"
                )
            return tensor
        if is_nested(recorded_value):
            try:
                return map_up_to(
                    lambda expected, x: self._check(x, expected, k), recorded_value, value
                )
            except ValueError:
                raise TypeError(
                    f"Binding inputs to tf.function failed due to `{value!r}` has another "
                    f"structure than {map_structure(_as_spec, recorded_value)!r}."
                ) from None
        if isinstance(recorded_value, bool | int | float | str) and value != recorded_value:
            raise TypeError(
                f"Binding inputs to tf.function failed due to `Can not cast {value!r} to "
                f"Literal[{recorded_value!r}]`."
            )
        return value

    def __repr__(self) -> str:
        args, kwargs = self.structured_input_signature
        return f"<ConcreteFunction {self.name} args={args} kwargs={kwargs}>"


def _as_spec(x: Any) -> Any:
    return TensorSpec.from_tensor(x) if isinstance(x, Tensor) else x
