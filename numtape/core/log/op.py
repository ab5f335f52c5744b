"""Op records: all that numtape knows about each op, in one place.

An *op code* is an op with its attributes, interned to a number, which a row of the log holds. The
arrays of `CODES` hold what the passes need to know about a code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import OpError
from ...kernels.passes.rows import (
    ARRAY as ARRAY,
    CALL as CALL,
    CUT as CUT,
    ELEMENTWISE as ELEMENTWISE,
    LEAF as LEAF,
    MISSING as MISSING,
    READ as READ,
    REDUCTION as REDUCTION,
    RULE as RULE,
    STOP as STOP,
    VARIADIC as VARIADIC,
    VIEW as VIEW,
)
from ..values.dtypes import unsupported_dtype_error
from ..values.intern_table import CAPACITY, InternTable
from ..values.memory import reserve_zeros
from ..values.spec import Spec

SpecRule = Callable[..., Spec]


@dataclass(frozen=True, slots=True)
class Native:
    """A jitted whole-array kernel that computes a row.

    Attributes:
      kernel: Its name in ``kernels.cpu.arrays``, or ``module.name`` for another module there.
      dtypes: The names of the dtypes that it supports.
      parameters: The int64 parameters that it reads.
      units: The number of work units, which threads may share.
      work: The work of all units together, in elements.
      unsure: Whether the kernel of a variadic op may leave the row to Python; see
        ``kernels.cpu.calls``.
      part: The number of elements that each unit writes, in order; the last unit may write fewer.
        0 if the units do not write equal consecutive parts.
    """

    kernel: str
    dtypes: tuple[str, ...]
    parameters: tuple[int, ...]
    units: int
    work: int
    unsure: bool = False
    part: int = 0


@dataclass(eq=False, slots=True)
class Op:
    """An operation: its name, operands, shape rule, computation and derivative.

    Attributes:
      name: The registered name, as TensorFlow spells it in errors (``Sin``).
      kind: LEAF, READ, ELEMENTWISE, ARRAY, VIEW or REDUCTION.
      arity: The number of operands, or VARIADIC.
      spec: ``spec(op, *operand_specs, **attributes)``: shape and dtype of the result. Raises
        InvalidArgumentError if operands do not fit. Runs once for each combination.
      body: For an elementwise op, the scalar expression in x, y, z; for a reduction, the name of
        the function in ``kernels.cpu.reduce`` that combines two elements.
      compute: For any other op, ``compute(out, *operands, **attributes)`` on NumPy arrays.
      native: ``native(out_spec, *operand_specs, **attributes)`` returns the equivalent jitted
        kernel, or None if it does not exist for these specs.
      vjp: ``vjp(g, y, *operands, **attributes)`` returns one adjoint (or None) for each operand,
        in numtape ops. Its caller undoes broadcasting.
      gradient: RULE, STOP, MISSING, CUT or CALL.
      on_host: Whether the GPU executor leaves the op to NumPy or SciPy.
      elementwise: Whether it is computed element by element from operands that broadcast.
      analytic: Whether the rule for complex operands is the real one at their conjugates.
      complex_body: The body for complex operands, if it differs.
      index: Its number among all ops.
      lane: Its number among the ops that have lane kernels, or -1.
    """

    name: str
    kind: int
    arity: int
    spec: SpecRule
    body: str = ""
    compute: Callable[..., Any] | None = None
    native: Callable[..., Native | None] | None = None
    vjp: Callable[..., Any] | None = None
    gradient: int = RULE
    on_host: bool = False
    elementwise: bool = False
    analytic: bool = False
    complex_body: str = ""
    index: int = -1
    lane: int = -1
    codes: dict[int, OpCode] = field(default_factory=dict, repr=False)

    def code(self, attributes: dict[str, Any] | None = None) -> int:
        """Return the number of this op with these attributes and keep it valid forever."""
        code = self.with_attributes(attributes or {})
        self.codes[code.id] = code
        return code.id

    def with_attributes(
        self, attributes: dict[str, Any], operands: tuple[Spec, ...] | None = None
    ) -> OpCode:
        """Return this op with attributes (whose values are hashable).

        A variadic op has a code for each combination of ``operands``, a tuple of specs.
        """
        return CODES.intern((self, operands, *attributes.items()))


class OpCode:
    """An op with its attributes. Equal ones are the same object while it is referenced.

    Attributes:
      id: Its number in `CODES`, valid while the object is referenced.
    """

    __slots__ = ("__weakref__", "id")

    def __init__(self, id_: int, key: object) -> None:
        self.id = id_


class CodeTable(InternTable[OpCode]):
    """The table of codes."""

    def __init__(self) -> None:
        super().__init__("code", OpCode, self._write_fields)
        self.ops: list[Op] = []
        self.lanes = 0
        self.entries: dict[int, tuple[Op, dict[str, Any]]] = self.payloads
        self.kind = reserve_zeros((CAPACITY,), np.int32)
        self.arity = reserve_zeros((CAPACITY,), np.int32)
        self.gradient = reserve_zeros((CAPACITY,), np.int32)
        self.lane = reserve_zeros((CAPACITY,), np.int32)
        self.axes = reserve_zeros((CAPACITY,), np.int32)

    def _write_fields(
        self, n: int, key: tuple[Any, ...], code: OpCode
    ) -> tuple[Op, dict[str, Any]]:
        """Write the fields of a code. Return its entry, the op and the attributes."""
        op, _, *attributes = key
        self.kind[n] = op.kind
        self.arity[n] = op.arity
        self.gradient[n] = op.gradient
        self.lane[n] = op.lane
        entry = dict(attributes)
        self.axes[n] = sum(1 << axis for axis in entry["axes"]) if op.kind == REDUCTION else 0
        return op, entry


CODES = CodeTable()


def _refuse_complex(rule: SpecRule, takes_complex: bool) -> SpecRule:
    """Return a spec rule that rejects complex dtypes, unless the op takes them."""

    def checked_rule(op: Op, *specs: Spec, **attributes: Any) -> Spec:
        try:
            result = rule(op, *specs, **attributes)
        except OpError as error:
            raise error from None  # not from the KeyError of the table of results
        if not takes_complex:
            for spec in (*specs, result):
                if spec.dtype.is_complex:
                    raise unsupported_dtype_error(op.name, spec.dtype)
        return result

    return checked_rule


def defop(
    name: str,
    kind: int,
    arity: int,
    spec: SpecRule,
    *,
    body: str = "",
    compute: Callable[..., Any] | None = None,
    native: Callable[..., Native | None] | None = None,
    vjp: Callable[..., Any] | None = None,
    gradient: int | None = None,
    on_host: bool = False,
    elementwise: bool = False,
    complex_vjp: str = "",
    complex_body: str = "",
) -> Op:
    """Define an op and add it to the table.

    Without a ``vjp`` the op has no gradient registered, unless ``gradient=STOP`` says that
    nothing flows through it.

    ``complex_vjp`` says whether the op takes complex numbers, and what its ``vjp`` computes then:

    - "": it does not take them, unless its dtype rule does.
    - "analytic": it is an analytic function with real coefficients, or linear with real
      coefficients. The adjoint is the real rule at the conjugates of operands and result, which
      `core.derive.transpose` passes to it.
    - "explicit": ``vjp`` computes the adjoint as written.

    ``complex_body`` is the body for complex operands, if it differs.
    """
    complex_vjp = complex_vjp or getattr(spec, "complex_vjp", "")
    if gradient is None:
        gradient = RULE if vjp is not None else MISSING
    op = Op(
        name,
        kind,
        arity,
        _refuse_complex(spec, bool(complex_vjp)),
        body,
        compute,
        native,
        vjp,
        gradient,
        on_host,
        elementwise or kind == ELEMENTWISE,
        complex_vjp == "analytic",
        complex_body,
        len(CODES.ops),
    )
    if kind in (ELEMENTWISE, REDUCTION):
        op.lane = CODES.lanes
        CODES.lanes += 3 if kind == REDUCTION else 1  # the others reduce rows and columns
    CODES.ops.append(op)
    return op
