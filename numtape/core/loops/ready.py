"""A gradient's call as straight Python, written out for arguments of some kinds.

What passes a block of words costs more than the work of a small kernel, so there are no loops over
parameters at a call: the block's layout and the addresses in it are fixed when it is made.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from types import CodeType
from typing import Any

import numpy as np

from ..cpu.interruptible import Listening
from ..values.memory import address_of, view
from . import stack
from .program import Program

# How a number lies in eight bytes.
_FORMATS = {
    "bool": "?7x",
    "int8": "b7x",
    "int16": "h6x",
    "int32": "i4x",
    "int64": "q",
    "float32": "f4x",
    "float64": "d",
    "uint8": "B7x",
    "uint16": "H6x",
    "uint32": "I4x",
    "uint64": "Q",
}
_TYPES: dict[str, Any] = {"float64": float, "int64": int, "bool": bool}


class Layout:
    """The text of calls for arguments of some kinds.

    A block holds the words of ``program.parameters`` and of what stands behind them, then the
    arguments that are numbers, adjoints of numbers, the result, the mark and the seed.

    Args:
      program: The sweeps.
      wanted: The numbers of the arguments whose adjoints are given.
      single: Whether one adjoint is given, and not a tuple.
      limit: How many bytes of stack a call may take; None for half of the machine's memory.
      listening: Up to which size calls are short, as `listening.largest` measures it.
    """

    def __init__(
        self,
        program: Program,
        argnums: tuple[int, ...],
        single: bool,
        limit: int | None,
        listening: Listening,
    ) -> None:
        self._listening = listening
        self.program, self.argnums, self.single, self.limit = program, argnums, single, limit
        parameters = program.parameters
        self.words = len(parameters) + 5
        numbers = [j for kind, j, _, _ in parameters if kind == "number"]
        slopes = [j for kind, j, _, _ in parameters if kind == "adjoint" and j in numbers]
        self._number = {j: self.words + k for k, j in enumerate(numbers)}
        self._slope = {j: self.words + len(numbers) + k for k, j in enumerate(slopes)}
        self._numbers, self._slopes = numbers, slopes
        self.first = self.words + len(numbers)  # of the cells that are read after a call
        self.size = self.first + len(slopes) + 3
        dtypes = {j: dtype for kind, j, dtype, _ in parameters if kind in ("number", "array")}
        self.dtypes = dtypes
        cells = "".join(_FORMATS[dtypes[j]] for j in numbers)
        self.pack = struct.Struct(f"={self.words}q{cells}{len(slopes)}ddqd").pack_into
        self.unpack = struct.Struct(f"={len(slopes)}ddq").unpack_from
        self._quick, self._any = self._compile(True), self._compile(False)

    def _compile(self, quick: bool) -> CodeType:
        return compile(self._text(quick), f"<call of {self.program.name}>", "exec")

    def _text(self, quick: bool) -> str:
        """The text of a call: ``quick`` for arguments as they mostly are, else for any."""
        parameters, written = self.program.parameters, self.program.written
        arrays = [j for kind, j, _, _ in parameters if kind == "array"]
        axes = {j: [k for kind, i, _, k in parameters if kind == "axis" and i == j] for j in arrays}
        count = len(arrays) + len(self._numbers)
        names = [f"x{j}" for j in range(count)]
        lines = [f"({', '.join(names)},) = arguments" if count else "pass"]
        if quick:
            tests = [
                f"type(x{j}) is not ndarray or x{j}.dtype is not D{j} or x{j}.ndim != {len(n)}"
                for j, n in axes.items()
            ]
            tests += [f"type(x{j}) is not T{j}" for j in self._numbers]
            tests += [f"x{j}.size > LISTENING.most" for j in arrays]
            tests += [f"x{j} > LISTENING.most" for j in self._numbers]
            lines += [f"if {' or '.join(tests)}: return None"] if tests else []
        within = []
        for j in arrays:
            within.append(f"a{j} = {_address(f'x{j}', quick)}")
        if quick:
            for j in written:
                for i in arrays:
                    if i != j and not (i in written and i < j):
                        within.append(
                            f"if a{i} < a{j} + x{j}.nbytes and a{j} < a{i} + x{i}.nbytes:"
                            " return None"
                        )
        for j in written:  # the caller's own arrays stay as they are
            within += [f"x{j} = x{j}.copy()", f"a{j} = {_address(f'x{j}', quick)}"]
        if quick and within:
            lines += [
                "try:",
                *(f"    {line}" for line in within),
                "except (TypeError, ValueError, BufferError): return None",
            ]
        else:
            lines += within
        words = []
        for kind, j, _, k in parameters:
            if kind == "array":
                words.append(f"a{j}")
                lines += [f"s{j} = x{j}.shape"]
                lines += [f"({', '.join(f'n{j}_{a}' for a in axes[j])},) = s{j}"]
            elif kind == "axis":
                words.append(f"n{j}_{k}")
            elif kind == "number":
                words.append(f"AT + {8 * self._number[j]}")
            elif j in self._slope:
                words.append(f"AT + {8 * self._slope[j]}")
            else:
                words.append(f"b{j}")
                lines += [f"g{j} = zeros(s{j}, D{j})", f"b{j} = {_address(f'g{j}', quick)}"]
        ends = "end" if self.limit is None else f"min(end, start + {self.limit})"
        out = self.first + len(self._slopes)
        words += ["start", ends, *(f"AT + {8 * (out + k)}" for k in range(3))]
        cells = [f"x{j}" for j in self._numbers] + ["0.0"] * len(self._slopes)
        slopes = "".join(f"g{j}, " for j in self._slopes)
        result = "float32(value)" if self.program.result == "float32" else "value"
        adjoints = [self._adjoint(j, quick) for j in self.argnums]
        gradients = adjoints[0] if self.single else f"({', '.join(adjoints)},)"
        lines += [
            "arena = take()",
            "start, end = arena.start, arena.end",
            f"pack(BLOCK, 0, {', '.join([*words, *cells])}, 0.0, 0, 1.0)",
            "status = sweeps(AT)",
            "if status: fail(arena, status, arguments)",
            f"{slopes}value, top = unpack(BLOCK, {8 * self.first})",
            "top -= start",
            "if top > arena.recent: arena.recent = top",
            "arena.calls += 1",
            "if arena.calls > PATIENCE: arena.trim()",
            "if top > LONG: long(arena, top)",
            "wait(arena)",
            f"return {result}, {gradients}",
        ]
        return "\n".join(["def call(arguments):", *(f"    {line}" for line in lines)])

    def _adjoint(self, j: int, quick: bool) -> str:
        if j not in self._slope or (quick and self.dtypes[j] == "float64"):
            return f"g{j}"
        return f"T{j}(g{j})" if quick else f"(g{j} if type(x{j}) is float else type(x{j})(g{j}))"

    def call(
        self, sweeps: Any, fail: Callable[..., Any], long: Callable[[stack.Arena, int], None]
    ) -> tuple[Any, Any]:
        """A block, and what calls the sweeps with it: for most arguments, and for any.

        Args:
          sweeps: The sweeps.
          fail: Raises what their status says.
          long: Called after a call that took more of the stack than `stack.LONG`.
        """
        block = np.zeros(self.size, np.int64)
        scope: dict[str, Any] = {
            "BLOCK": view(block),
            "AT": address_of(block),
            "pack": self.pack,
            "unpack": self.unpack,
            "LISTENING": self._listening,
            "sweeps": sweeps,
            "fail": fail,
            "take": stack.take,
            "wait": stack.wait,
            "PATIENCE": stack.PATIENCE,
            "LONG": stack.LONG,
            "long": long,
            "ndarray": np.ndarray,
            "zeros": np.zeros,
            "float32": np.float32,
            "addressof": ctypes.addressof,
            "from_buffer": ctypes.c_char.from_buffer,
            "address_of": address_of,
        }
        for j, dtype in self.dtypes.items():
            scope[f"D{j}"] = np.dtype(dtype)
            scope[f"T{j}"] = _TYPES.get(dtype, np.dtype(dtype).type)
        calls = []
        for code in (self._quick, self._any):
            exec(code, scope)
            calls.append(scope.pop("call"))
        return calls[0], calls[1]


def _address(name: str, quick: bool) -> str:
    """Where an array lies: quick where it is contiguous, can be written to and is not empty."""
    return f"addressof(from_buffer({name}))" if quick else f"address_of({name})"
