"""Numba's target for kernels: numbers, ranges, tuples and pointers.

Numba's own target for this processor knows all of Python and NumPy that Numba can compile. To learn
that takes longer than a small kernel, for it imports SciPy's linear algebra and compiles a runtime
for Python's objects; and each operator asks whether it is one of arrays, sets or texts. Kernels use
none of these, and the object code is the same to the last byte.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from numba.core import typing
from numba.core.cpu import CPUContext, CPUTargetOptions
from numba.core.descriptors import TargetDescriptor
from numba.core.dispatcher import Dispatcher
from numba.core.target_extension import CPU, dispatcher_registry, jit_registry, target_registry
from numba.core.types import Function
from numba.core.typing import mathdecl

NAME = "numtape"


class Kernels(CPU):
    """The target's class in Numba's tables: it has all generic implementations."""


class KernelTyping(typing.Context):
    """Which functions there are and what they return."""

    def __init__(self) -> None:
        self._answers: dict[tuple[Any, ...], Any] = {}
        super().__init__()

    def load_additional_registries(self) -> None:
        """Besides what is built in, the math module."""
        self.install_registry(mathdecl.registry)

    def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
        """The signature of a call; what is built in is asked once for each types of arguments.

        Inference asks for every call in every round.
        """
        known = func if isinstance(func, Function) else self._lookup_global(func)
        if kws or not isinstance(known, Function):
            return super().resolve_function_type(func, args, kws)
        # A function that learns of more types of arguments is another object.
        key = (id(known), args)
        if key not in self._answers:
            signature = super().resolve_function_type(func, args, kws)
            lowered = known.get_impl_key(signature) if signature is not None else None
            self._answers[key] = known, signature, lowered
        _, signature, lowered = self._answers[key]
        if signature is not None:  # Numba's own target may have asked the same object since
            known._impl_keys[signature.args] = lowered
        return signature


class KernelContext(CPUContext):  # type: ignore[misc]
    """How they become LLVM's code."""

    def load_additional_registries(self) -> None:
        """Numbers, ranges and tuples, by importing what they are lowered by; the math module."""
        from numba.cpython import builtins, mathimpl, numbers, rangeobj, tupleobj  # noqa: F401

        self.install_registry(mathimpl.registry)

    def post_lowering(self, mod: Any, library: Any) -> None:
        """Nothing: kernels need no runtime."""


class KernelTarget(TargetDescriptor):  # type: ignore[misc]
    """Both of these, for all kernels."""

    options = CPUTargetOptions

    @cached_property
    def typing_context(self) -> KernelTyping:
        """The one for types."""
        return KernelTyping()

    @cached_property
    def target_context(self) -> KernelContext:
        """The one for code."""
        return KernelContext(self.typing_context, NAME)


class KernelDispatcher(Dispatcher):  # type: ignore[misc]
    """A jitted kernel."""

    targetdescr = KernelTarget(NAME)


target_registry[NAME] = Kernels
dispatcher_registry[Kernels] = KernelDispatcher


def made_with(jit: Any) -> None:
    """Have Numba's own functions in Python, as that of ``min``, compiled as kernels are."""
    jit_registry[Kernels] = lambda **options: jit
