"""`ConcreteFunction`: a function for arguments of certain shapes and dtypes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from inspect import Parameter
from typing import Any, Protocol

import numpy as np

from ..core.log.as_tensor import to_tensor
from ..core.log.variable import Variable
from ..core.values.spec import TensorShape
from ..core.values.tensor import Tensor
from ..errors import DtypeError
from ..tensor_spec import TensorSpec


class TracedFunction(Protocol):
    """A `Function`, or a method of one."""

    name: str
    input_signature: Any
    _call: Any
    _parameters: Any

    def _calls(self, values: list[Any], keyword_values: dict[str, Any]) -> Any:
        """Return the calls of one signature."""

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""


class ConcreteFunction:
    """A `function` for arguments of certain shapes and dtypes.

    A call may omit arguments that are Python values. Attributes about results and variables run
    the function when they are first read, with zeros for each `TensorSpec`, as TensorFlow's tracing
    does: effects of Python code happen, but variables and random state keep their values.

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
        """The arguments, with a `TensorSpec` for each tensor, named after its parameter."""
        names = self._argument_names()
        return (
            tuple(_as_specs(x, name) for x, name in zip(self._args, names, strict=True)),
            {name: _as_specs(x, name) for name, x in self._kwargs.items()},
        )

    def _spec_args(self) -> list[Any]:
        """The positional arguments with specs for tensors, named only by the user."""
        from ..nest import map_structure

        return [map_structure(_as_spec, x) for x in self._args]

    def _spec_kwargs(self) -> dict[str, Any]:
        """The keyword arguments with specs for tensors, named only by the user."""
        from ..nest import map_structure

        return {name: map_structure(_as_spec, x) for name, x in self._kwargs.items()}

    def _argument_names(self) -> list[str]:
        """The name of each positional argument; ``args_0``, ... for those of ``*args``."""
        signature = self._function._parameters.signature
        names, rest = [], "args"
        for name, parameter in (signature.parameters if signature is not None else {}).items():
            if parameter.kind is Parameter.VAR_POSITIONAL:
                rest = name
            elif parameter.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD):
                names.append(name)
        names += [f"{rest}_{k}" for k in range(len(self._args) - len(names))]
        return names[: len(self._args)]

    @cached_property
    def _traced(self) -> tuple[Any, tuple[Variable, ...]]:
        """The result with specs for tensors, and the variables that the function uses."""
        sizes = {
            x.shape.rank is None or None in tuple(x.shape)
            for x in _leaves((self._args, self._kwargs))
            if isinstance(x, TensorSpec)
        }
        if True not in sizes:
            result, variables = self._trace(1)
            return result, variables
        (first, variables), (second, _) = self._trace(2), self._trace(3)
        return _common(first, second), variables

    def _trace(self, size: int) -> tuple[Any, tuple[Variable, ...]]:
        """Run the function with zeros, where unknown sizes are ``size``, and undo its effects."""
        from ..core.replay.tracing import undo_on_error
        from ..nest import map_structure
        from ..tape import GradientTape

        def value(x: Any) -> Any:
            if not isinstance(x, TensorSpec):
                return x
            shape = [] if x.shape.rank is None else [size if n is None else n for n in x.shape]
            return to_tensor(np.zeros(shape, x.dtype.as_numpy_dtype), x.dtype)

        args = [map_structure(value, x) for x in self._args]
        kwargs = {name: map_structure(value, x) for name, x in self._kwargs.items()}
        variables: dict[int, Variable] = {}
        result = None
        try:
            with undo_on_error() as journal, GradientTape() as tape:
                result = map_structure(_as_output_spec, self._function._call(*args, **kwargs))
                for variable in (*tape.watched_variables(), *(v for v, _ in journal.values())):
                    variables[id(variable)] = variable
                raise _Traced
        except _Traced:
            pass
        for variable in self._read_variables(args, kwargs):
            variables.setdefault(id(variable), variable)
        return result, tuple(variables.values())

    def _read_variables(self, args: list[Any], kwargs: dict[str, Any]) -> list[Variable]:
        """The variables that a recording of the function reads; none if it has no recording."""
        from ..core.replay.arguments import Arguments
        from ..core.replay.trace import CallDraws, NotReplayable
        from ..core.replay.tracing import trace_call

        leaves = Arguments(args, kwargs, self._function._parameters.value_defaults)
        calls = self._function._calls(leaves.values, leaves.keyword_values)
        try:
            call = trace_call(calls.function, calls.run, leaves, CallDraws(), True)
        except NotReplayable:
            return []
        variables = [variable for variable, _ in call.trace.values.values()]
        call.trace.end()
        return variables

    @property
    def structured_outputs(self) -> Any:
        """The result, with a `TensorSpec` for each tensor."""
        return self._traced[0]

    @property
    def outputs(self) -> list[TensorSpec]:
        """The specs of the tensors in the result."""
        return [x for x in _leaves(self.structured_outputs) if isinstance(x, TensorSpec)]

    @property
    def output_shapes(self) -> Any:
        """The result, with the shape of each tensor."""
        from ..nest import map_structure

        return map_structure(lambda x: getattr(x, "shape", TensorShape(None)), self._traced[0])

    @property
    def output_dtypes(self) -> Any:
        """The result, with the dtype of each tensor."""
        from ..nest import map_structure

        return map_structure(lambda x: getattr(x, "dtype", None), self._traced[0])

    @property
    def inputs(self) -> list[Any]:
        """The specs of the tensors among the arguments, and the variables that it uses."""
        leaves = _leaves(self.structured_input_signature)
        return [x for x in leaves if isinstance(x, TensorSpec)] + self.captured_inputs

    @property
    def captured_inputs(self) -> list[Variable]:
        """The variables that the function uses besides its arguments."""
        return list(self.variables)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables that the function reads or assigns."""
        return self._traced[1]

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """The trainable ones among `variables`."""
        return tuple(variable for variable in self.variables if variable.trainable)

    def pretty_printed_signature(self, verbose: bool = True) -> str:
        """Return a text with the types of the arguments, the result and the variables.

        Args:
          verbose: Whether to use a line for each; otherwise the text is one line.

        Example:
          >>> square = tf.function(lambda x: x * x)
          >>> print(square.get_concrete_function(tf.TensorSpec([2])).pretty_printed_signature())
          Input Parameters:
            x (POSITIONAL_OR_KEYWORD): TensorSpec(shape=(2,), dtype=tf.float32, name=None)
          Output Type:
            TensorSpec(shape=(2,), dtype=tf.float32, name=None)
          Captures:
            None
        """
        signature = self._function._parameters.signature
        kinds = [p.kind for p in signature.parameters.values()] if signature is not None else []
        positional = "POSITIONAL_OR_KEYWORD"
        if Parameter.VAR_POSITIONAL in kinds:
            positional = "POSITIONAL_ONLY"
        rows = [
            (name, positional, x)
            for name, x in zip(self._argument_names(), self._args, strict=True)
        ]
        rows += [(name, "KEYWORD_ONLY", x) for name, x in self._kwargs.items()]
        result = _type_text(self.structured_outputs)
        if not verbose:
            types = ", ".join(f"{name}: {_type_text(x)}" for name, _, x in rows)
            return f"({types}) -> {result}"
        lines = [f"  {name} ({kind}): {_type_text(x)}" for name, kind, x in rows] or ["  None"]
        captures = [f"  {id(v)}: {_type_text(v)}" for v in self.variables] or ["  None"]
        return "\n".join(
            ["Input Parameters:", *lines, "Output Type:", f"  {result}", "Captures:", *captures]
        )

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the function.

        The tensors in nested arguments may also be given one by one, in order or by the names of
        their specs.

        Raises:
          TypeError: If tensors are missing, or Python values differ.
          DtypeError: If a tensor has another dtype.
        """
        try:
            call_args, call_kwargs = self._bind_call(list(args), dict(kwargs))
        except DtypeError:
            raise
        except TypeError:
            flat_call = self._bind_flat(list(args), dict(kwargs))
            if flat_call is None:
                raise
            call_args, call_kwargs = flat_call
        return self._function(*call_args, **call_kwargs)

    def _bind_call(
        self, remaining_args: list[Any], kwargs: dict[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """Return the arguments of a call, completed by recorded values of Python."""
        call_args: list[Any] = []
        names = self._argument_names()
        for k, recorded_value in enumerate(self._args):
            name = names[k] if k < len(names) else ""
            if remaining_args:
                value = remaining_args.pop(0)
            elif name in kwargs:
                value = kwargs.pop(name)
            elif _has_tensors(recorded_value):
                raise self._binding_error(f"missing a required argument: {name!r}")
            else:
                value = recorded_value
            call_args.append(self._check(value, recorded_value, k))
        if remaining_args:
            raise self._binding_error("too many positional arguments")
        for name, recorded_value in self._kwargs.items():
            if name in kwargs:
                kwargs[name] = self._check(kwargs[name], recorded_value, name)
            elif _has_tensors(recorded_value):
                raise self._binding_error(f"missing a required argument: {name!r}")
        for name in kwargs:
            if name not in self._kwargs:
                raise self._binding_error(f"got an unexpected keyword argument {name!r}")
        return call_args, {**self._kwargs, **kwargs}

    def _binding_error(self, reason: str) -> TypeError:
        return TypeError(
            f"Binding inputs to tf.function failed due to `{reason}`. {self.name}() takes "
            f"{', '.join([*self._argument_names(), *self._kwargs]) or 'no arguments'}."
        )

    def _bind_flat(
        self, values: list[Any], named: dict[str, Any]
    ) -> tuple[list[Any], dict[str, Any]] | None:
        """Return the arguments of a call with a value for each tensor; None if there are others."""
        from ..nest import flatten, pack_sequence_as

        arguments = [*zip(self._argument_names(), self._args, strict=True), *self._kwargs.items()]
        structure = [value for _, value in arguments]
        leaves, names = flatten(structure), []
        for name, value in arguments:
            names += [getattr(x, "name", None) or name for x in flatten(value)]
        is_tensor = [isinstance(x, Tensor | TensorSpec | np.ndarray) for x in leaves]
        slots = _number_equal_names(
            [n for n, is_leaf in zip(names, is_tensor, strict=True) if is_leaf]
        )
        if len(values) + len(named) != len(slots) or not set(named) <= set(slots[len(values) :]):
            return None
        tensors = iter(values + [named[name] for name in slots[len(values) :]])
        flat = [
            self._check(next(tensors), leaf, k) if is_leaf else leaf
            for k, (leaf, is_leaf) in enumerate(zip(leaves, is_tensor, strict=True))
        ]
        packed = pack_sequence_as(structure, flat)
        count = len(self._args)
        return packed[:count], dict(zip(self._kwargs, packed[count:], strict=True))

    def _check(self, value: Any, recorded_value: Any, k: int | str) -> Any:
        from ..nest import is_nested, map_structure, map_up_to

        if isinstance(recorded_value, Tensor | TensorSpec):
            tensor = value if type(value) is Tensor else to_tensor(value, recorded_value.dtype)
            if tensor.dtype is not recorded_value.dtype:
                raise DtypeError(
                    f"cannot compute {self.name} as input #{k}(zero-based) was expected to be a "
                    f"{recorded_value.dtype.name} tensor but is a {tensor.dtype.name} tensor: "
                    f"Binding inputs to tf.function failed due to `Can not cast "
                    f"{TensorSpec.from_tensor(tensor)} to {_as_spec(recorded_value)}`."
                )
            return tensor
        if is_nested(recorded_value):
            try:
                return map_up_to(
                    lambda expected, x: self._check(x, expected, k), recorded_value, value
                )
            except ValueError:
                kinds: dict[type, str] = {dict: "a Dict", list: "list"}
                kind = kinds.get(type(recorded_value), "tuple")
                raise TypeError(
                    f"Binding inputs to tf.function failed due to `Can not cast {value!r} to "
                    f"{kind}`: it has another structure than "
                    f"{map_structure(_as_spec, recorded_value)!r}."
                ) from None
        if isinstance(recorded_value, bool | int | float | str) and value != recorded_value:
            raise TypeError(
                f"Binding inputs to tf.function failed due to `Can not cast {value!r} to "
                f"Literal[{recorded_value!r}]`."
            )
        return value

    def __repr__(self) -> str:
        args, kwargs = self.structured_input_signature
        return f"<ConcreteFunction {self.name} args={args} kwargs={kwargs} at {id(self):#x}>"


def _as_spec(x: Any) -> Any:
    return TensorSpec.from_tensor(x) if isinstance(x, Tensor) else x


def _has_tensors(value: Any) -> bool:
    return any(isinstance(x, Tensor | TensorSpec | np.ndarray) for x in _leaves(value))


def _number_equal_names(names: list[str]) -> list[str]:
    """Return the names with ``_1``, ``_2`` and so on after those that came before."""
    counts: dict[str, int] = {}
    unique = []
    for name in names:
        count = counts.get(name, 0)
        counts[name] = count + 1
        unique.append(f"{name}_{count}" if count else name)
    return unique


class _Traced(Exception):
    """Ends the run of a function whose effects are undone."""


def _leaves(nest: Any) -> Iterable[Any]:
    from ..nest import flatten

    return flatten(nest)


def _as_specs(x: Any, name: str) -> Any:
    """An argument with specs for tensors, whose names are the paths to them."""
    if isinstance(x, Tensor | np.ndarray):
        return TensorSpec(x.shape, x.dtype, name)
    if isinstance(x, TensorSpec):
        return TensorSpec(x.shape, x.dtype, name if x.name is None else x.name)
    if isinstance(x, dict):
        return {key: _as_specs(item, f"{name}_{key}") for key, item in x.items()}
    if type(x) in (list, tuple):
        return type(x)(_as_specs(item, f"{name}_{k}") for k, item in enumerate(x))
    return x


def _as_output_spec(x: Any) -> Any:
    from ..core.replay.tracing import as_output

    x = as_output(x)
    return TensorSpec(x.shape, x.dtype) if isinstance(x, Tensor) else x


def _common(first: Any, second: Any) -> Any:
    """The result for unknown sizes, of those for two different sizes."""
    from ..nest import map_structure

    def join(x: Any, y: Any) -> Any:
        if not isinstance(x, TensorSpec):
            return x
        return TensorSpec(x.shape.most_specific_compatible_shape(y.shape), x.dtype)

    return map_structure(join, first, second)


def _type_text(x: Any) -> str:
    """The type of an argument or result in words of TensorFlow's."""
    if isinstance(x, TensorSpec):
        return repr(x)
    if isinstance(x, Tensor | np.ndarray):
        return repr(TensorSpec(x.shape, x.dtype))
    if isinstance(x, Variable):
        return f"VariableSpec(shape={x.shape}, dtype={x.dtype!r}, name={x.name!r})"
    if isinstance(x, dict):
        items = ", ".join(f"[{key!r}, {_type_text(item)}]" for key, item in x.items())
        return f"Dict[{items}]"
    if isinstance(x, list | tuple):
        kind = "List" if isinstance(x, list) else "Tuple"
        return f"{kind}[{', '.join(map(_type_text, x))}]"
    return f"Literal[{x!r}]"
