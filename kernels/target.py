"""Numba's target for kernels: numbers, ranges, tuples and pointers.

Numba's own target supports all of Python and NumPy that Numba can compile. Its setup takes longer
than compiling a small kernel, because it imports SciPy's linear algebra and compiles a runtime for
Python's objects; and each operator checks for arrays, sets and strings. Kernels use none of these,
and the object code is the same to the last byte.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from numba.core import typing
from numba.core.cpu import CPUContext, CPUTargetOptions
from numba.core.descriptors import TargetDescriptor
from numba.core.dispatcher import Dispatcher
from numba.core.target_extension import CPU, dispatcher_registry, jit_registry, target_registry
from numba.core.types import Function
from numba.core.typing import mathdecl

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from llvmlite import ir
    from numba import types
    from numba.core.codegen import CodeLibrary

NAME = "numtape"


class Kernels(CPU):
    """The target's class in Numba's tables; it inherits all generic implementations."""


class KernelTyping(typing.Context):
    """The functions of the target and their result types."""

    def __init__(self) -> None:
        self._answers: dict[tuple[Any, ...], Any] = {}
        super().__init__()

    def load_additional_registries(self) -> None:
        """Load the built-in functions and the math module."""
        self.install_registry(mathdecl.registry)

    def resolve_function_type(
        self, func: object, args: tuple[types.Type, ...], kws: Mapping[str, types.Type]
    ) -> Any:
        """The signature of a call, cached for built-in functions and argument types.

        Type inference asks for every call in every round.
        """
        known = func if isinstance(func, Function) else self._lookup_global(func)
        if kws or not isinstance(known, Function):
            return super().resolve_function_type(func, args, kws)
        # A function that is resolved for more argument types becomes another object.
        key = (id(known), args)
        if key not in self._answers:
            signature = super().resolve_function_type(func, args, kws)
            lowered = known.get_impl_key(signature) if signature is not None else None
            self._answers[key] = known, signature, lowered
        _, signature, lowered = self._answers[key]
        if signature is not None:  # Numba's own target may have resolved the same object meanwhile
            known._impl_keys[signature.args] = lowered
        return signature


class KernelContext(CPUContext):  # type: ignore[misc]
    """The lowering of the target's functions to LLVM code."""

    def load_additional_registries(self) -> None:
        """Load the lowering of numbers, ranges, tuples and the math module, by imports."""
        from numba.cpython import builtins, mathimpl, numbers, rangeobj, tupleobj  # noqa: F401

        self.install_registry(mathimpl.registry)

    def post_lowering(self, mod: ir.Module, library: CodeLibrary) -> None:
        """Do nothing: kernels need no runtime."""


class KernelTarget(TargetDescriptor):  # type: ignore[misc]
    """The typing and lowering contexts of all kernels."""

    options = CPUTargetOptions

    @cached_property
    def typing_context(self) -> KernelTyping:
        """The typing context."""
        return KernelTyping()

    @cached_property
    def target_context(self) -> KernelContext:
        """The lowering context."""
        return KernelContext(self.typing_context, NAME)


class KernelDispatcher(Dispatcher):  # type: ignore[misc]
    """A jitted kernel."""

    targetdescr = KernelTarget(NAME)


target_registry[NAME] = Kernels
dispatcher_registry[Kernels] = KernelDispatcher


def made_with(jit: Callable[..., Any]) -> None:
    """Compile Numba's Python implementations, such as ``min``, like kernels."""
    jit_registry[Kernels] = lambda **options: jit
