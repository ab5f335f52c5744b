"""Signatures of functions: parameters and defaults; methods and their objects."""

from __future__ import annotations

import functools
import inspect
import operator
import types
from collections.abc import Callable
from typing import Any

from ..core.log.variable import Variable
from ..core.ops.creation import convert_to_tensor
from ..core.replay.arguments import PassedObject, is_immutable
from ..core.values.arguments import inspect_signature
from ..core.values.tensor import Tensor
from ..tensor_spec import TensorSpec
from .concrete_function import ConcreteFunction


class Method(functools.partial):  # type: ignore[type-arg]  # noqa: D101 `__doc__` is the function's
    # A function and its object: the value of a method attribute. Like bound methods, instances are
    # created on access, and keep the object alive. It is a `partial` because calls of it run in C.

    __slots__ = ("__self__",)
    __self__: Any
    func: Any
    name: str
    input_signature: Any
    _parameters: Any

    @property
    def __doc__(self) -> Any:  # type: ignore[override]
        return self.func.__doc__

    def __getattr__(self, name: str) -> Any:
        return getattr(self.func, name)

    def get_concrete_function(self, /, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """Return the concrete function: see `Function.get_concrete_function`."""
        return ConcreteFunction(self, args, kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self

    def __eq__(self, other: object) -> bool:
        return type(other) is Method and self.func is other.func and self.__self__ is other.__self__

    def __hash__(self) -> int:
        return hash(self.func)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        instance = memo.get(id(self.__self__), self.__self__)
        return getattr(instance, self.func._attribute)

    def __reduce__(self) -> Any:
        return getattr, (self.__self__, self.func._attribute)

    def __repr__(self) -> str:
        return repr(self.func)


def weakly_bound(function: Any, reference: Callable[[], Any]) -> Callable[..., Any]:
    """Return a bound method that refers to its object weakly."""

    def bind(*args: Any, **kwargs: Any) -> Any:
        instance = reference()
        if instance is None:
            raise ReferenceError(f"The object whose method {function.__name__} is has gone.")
        return function.__get__(instance)(*args, **kwargs)

    return functools.update_wrapper(bind, function)


PLAIN = (int, float, bool, str, bytes, type(None))


class Parameters:
    """The parameters of a function. It completes calls to all arguments in order, with defaults."""

    def __init__(self, call: Callable[..., Any], specs: tuple[Any, ...] | None) -> None:
        self.specs = specs
        # Keep the function only: the method's object must not be kept alive.
        self._method = isinstance(call, types.MethodType)
        self._of: Any = call
        if isinstance(call, types.MethodType):
            self._of = call.__func__
        elif isinstance(call, Method):
            self._of = call.func
        self._inner: Any = self._of
        self._partial: list[dict[str, Any]] = []  # the keyword arguments of partial functions
        while isinstance(self._inner, functools.partial) and type(self._inner) is not Method:
            self._partial.append(self._inner.keywords)
            self._inner = self._inner.func
        if not hasattr(self._inner, "__defaults__"):  # an object with a method
            self._inner = inspect.getattr_static(type(self._inner), "__call__", None)
        self._inspect()

    def defaults(self) -> Any:
        """Return the function's current defaults."""
        return getattr(self._inner, "__defaults__", ())

    def _by_name(self) -> list[Any]:
        """Return the names and values of keyword defaults."""
        defaults = getattr(self._inner, "__kwdefaults__", None) or {}
        return [x for names in (defaults, *self._partial) for entry in names.items() for x in entry]

    def _has_changed(self) -> bool:
        """Whether the function's defaults or code have changed since `_inspect`."""
        defaults, code, old_defaults = self._known
        if self.defaults() is not defaults or getattr(self._inner, "__code__", None) is not code:
            return True
        if (
            not old_defaults
            and not self._partial
            and not getattr(self._inner, "__kwdefaults__", None)
        ):
            return False
        new_defaults = self._by_name()
        return len(new_defaults) != len(old_defaults) or not all(
            map(operator.is_, new_defaults, old_defaults)
        )

    def _inspect(self) -> None:
        code = getattr(self._inner, "__code__", None)
        state: Any = self.defaults(), code, self._by_name()
        try:
            # A call runs the wrapper, if there is one, not the function that it wraps.
            signature = inspect_signature(self._of, follow_wrapped=False)
            if self._method:
                self_parameter, *other_parameters = signature.parameters.values()
                other_parameters = (
                    [self_parameter, *other_parameters]
                    if self_parameter.kind is self_parameter.VAR_POSITIONAL
                    else other_parameters
                )
                signature = signature.replace(parameters=other_parameters)
            self.signature: inspect.Signature | None = signature
        except (TypeError, ValueError):  # some C functions
            self.signature, self.value_defaults, self._known = None, {}, state
            return
        parameters = list(self.signature.parameters.values())
        self._positional = [
            p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
        self._all_positional = len(self._positional) == len(parameters)
        self._defaults = [p.default for p in self._positional]
        # Mutable defaults are state of the function: it gets the objects themselves, not copies.
        self.value_defaults = {
            id(p.default): PassedObject(id(p.default), p.default)
            for p in parameters
            if isinstance(p.default, list | dict | tuple | set) and not is_immutable(p.default)
        }
        self._known = state  # set last: an interrupt may come

    def complete(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of a call in order, with defaults.

        Raises:
          TypeError: If the arguments do not match the parameters, or the input signature.
        """
        if self.signature is None:
            return args, kwargs
        if self._has_changed():
            self._inspect()
        if not kwargs and self._all_positional and len(args) <= len(self._defaults):
            remaining_defaults = self._defaults[len(args) :]
            if all(x is not inspect.Parameter.empty for x in remaining_defaults):
                return self._check((*args, *remaining_defaults)), kwargs
        try:
            bound_arguments = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise self._binding_error(str(error), args, kwargs) from None
        bound_arguments.apply_defaults()
        return self._check(bound_arguments.args), bound_arguments.kwargs

    def _binding_error(self, reason: str, args: object, kwargs: object) -> TypeError:
        return TypeError(
            f"Binding inputs to tf.function failed due to `{reason}`. Received args: {args} and "
            f"kwargs: {kwargs} for signature: {self.signature}."
        )

    def _check(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Convert the arguments to the specs of the input signature."""
        if self.specs is None:
            return args
        count = len(self.specs)
        defaults = self._defaults[count:]
        if len(args) < count or any(
            value is not x for value, x in zip(args[count:], defaults, strict=False)
        ):
            raise self._binding_error(
                f"input_signature missing type constraint: it has {count} specs, and others of "
                f"the arguments are not their defaults",
                args,
                {},
            )
        return (
            *(self._fit(x, spec, args) for x, spec in zip(args, self.specs, strict=False)),
            *args[count:],
        )

    def _fit(self, x: Any, spec: Any, args: Any) -> Any:
        if not isinstance(spec, TensorSpec):
            from ..nest import flatten, map_up_to

            try:
                converted = map_up_to(lambda inner, part: self._fit(part, inner, args), spec, x)
            except ValueError:
                raise self._binding_error(
                    f"{x!r} has another structure than {spec!r}", args, {}
                ) from None
            return x if all(map(operator.is_, flatten(converted), flatten(x))) else converted
        if hasattr(spec, "value_type"):  # of a sparse or ragged tensor
            if not spec.is_compatible_with(x):
                raise self._binding_error(f"Can not cast {x!r} to {spec!r}", args, {})
            return x
        if isinstance(x, Variable):
            x = x.read_value()
        tensor = x if type(x) is Tensor else convert_to_tensor(x, spec.dtype)
        if not spec.is_compatible_with(tensor):
            raise self._binding_error(
                f"Can not cast {TensorSpec.from_tensor(tensor)!r} to {spec!r}", args, {}
            )
        return tensor
