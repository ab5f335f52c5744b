"""One record an op: everything numtape knows of it, in one place.

A *code* is an op with its attributes, interned to a number: what a row of the log holds. The
arrays of `CODES` tell the passes the little they need to know of a code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import OpError
from ..values.dtypes import not_computed
from ..values.interning import CAPACITY, Table
from ..values.memory import reserved
from ..values.spec import Spec

# Kinds, arities and derivatives: the same numbers as in kernels/passes/rows.py (a test compares).
LEAF, READ, ELEMENTWISE, ARRAY, VIEW, REDUCTION = range(6)
VARIADIC = -1
RULE, STOP, MISSING, CUT, CALL = range(5)

SpecRule = Callable[..., Spec]


@dataclass(frozen=True, slots=True)
class Native:
    """How a jitted whole-array kernel computes a row.

    Attributes:
      kernel: Its name in ``kernels.cpu.arrays``; or, behind a dot, in another module there.
      dtypes: The names of the dtypes it is made for.
      parameters: The int64s that it reads.
      units: How many units of work there are, which threads may share.
      work: What all of them take, in elements.
      unsure: Whether the kernel of a variadic op may leave the row to Python; see
        ``kernels.cpu.calls``.
      part: How many elements each unit gives, those of the first unit first; the last one may give
        fewer. 0: units give others.
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
    """An op.

    Attributes:
      name: The registered name, as TensorFlow spells it in errors (``Sin``).
      kind: LEAF, READ, ELEMENTWISE, ARRAY, VIEW or REDUCTION.
      arity: The number of operands, or VARIADIC.
      spec: ``spec(op, *operand_specs, **attributes)``: shape and dtype of the result. Raises
        InvalidArgumentError where operands do not fit. Runs once for each combination.
      body: For an elementwise op, the scalar expression in x, y, z; for a reduction, the name of
        what combines two elements in ``kernels.cpu.reduce``.
      compute: For any other op, ``compute(out, *operands, **attributes)`` on NumPy arrays.
      native: ``native(out_spec, *operand_specs, **attributes)`` gives the jitted kernel that does
        the same, or None if there is none for these.
      vjp: ``vjp(g, y, *operands, **attributes)`` gives one adjoint (or None) for each operand,
        in numtape ops. Broadcasting is undone for it.
      gradient: RULE, STOP, MISSING, CUT or CALL.
      on_host: Whether a GPU leaves it to NumPy or SciPy: what would be a library of its own.
      elementwise: Whether it is computed element by element from operands that broadcast.
      analytic: Whether the rule of complex operands is the real one at their conjugates.
      complex_body: The body for them, if it is another one.
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
        """The number of this op with these attributes, for good: for recorders made at import."""
        code = self.with_attributes(attributes or {})
        self.codes[code.id] = code
        return code.id

    def with_attributes(self, attributes: dict[str, Any], operands: Any = None) -> OpCode:
        """This op with attributes (whose values are hashable).

        A variadic op has a code for each combination of ``operands``, a tuple of specs.
        """
        return CODES.met((self, operands, *attributes.items()))


class OpCode:
    """An op with its attributes. There is one object for each that is held.

    Attributes:
      id: Its number in `CODES`, as long as somebody holds it.
    """

    __slots__ = ("__weakref__", "id")

    def __init__(self, id_: int, key: Any) -> None:
        self.id = id_


class CodeTable(Table[OpCode]):
    """The table of codes."""

    def __init__(self) -> None:
        super().__init__("code", OpCode, self._written)
        self.ops: list[Op] = []
        self.lanes = 0
        self.entries: dict[int, tuple[Op, dict[str, Any]]] = self.facts
        self.kind = reserved((CAPACITY,), np.int32)
        self.arity = reserved((CAPACITY,), np.int32)
        self.gradient = reserved((CAPACITY,), np.int32)
        self.lane = reserved((CAPACITY,), np.int32)

    def _written(self, n: int, key: Any, code: OpCode) -> tuple[Op, dict[str, Any]]:
        """Write the fields. The fact: the op and the attributes."""
        op, _, *attributes = key
        self.kind[n] = op.kind
        self.arity[n] = op.arity
        self.gradient[n] = op.gradient
        self.lane[n] = op.lane
        return op, dict(attributes)


CODES = CodeTable()


def _refuse_complex(rule: SpecRule, takes_complex: bool) -> SpecRule:
    """A rule that also refuses complex numbers, unless it is said to take them."""

    def checked_rule(op: Op, *specs: Spec, **attributes: Any) -> Spec:
        try:
            result = rule(op, *specs, **attributes)
        except OpError as error:
            raise error from None  # not from the KeyError of the table of results
        if not takes_complex:
            for spec in (*specs, result):
                if spec.dtype.is_complex:
                    raise not_computed(op.name, spec.dtype)
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
    of_complex: str = "",
    complex_body: str = "",
) -> Op:
    """Make an op and enter it in the table.

    Without a ``vjp`` the op has no gradient registered, unless ``gradient=STOP`` says that
    nothing flows through it.

    ``of_complex`` says whether the op takes complex numbers, and what its ``vjp`` is then. "" : it
    does not, unless its rule for dtypes takes them. "analytic": it is an analytic function with
    real coefficients, or linear with such; then the adjoint is the real rule's at the conjugates of
    operands and result, which `core.derive.transpose` hands to it. "other": what stands there.
    ``complex_body`` is the body for them, where that is another one.
    """
    of_complex = of_complex or getattr(spec, "of_complex", "")
    if gradient is None:
        gradient = RULE if vjp is not None else MISSING
    op = Op(
        name,
        kind,
        arity,
        _refuse_complex(spec, bool(of_complex)),
        body,
        compute,
        native,
        vjp,
        gradient,
        on_host,
        elementwise or kind == ELEMENTWISE,
        of_complex == "analytic",
        complex_body,
        len(CODES.ops),
    )
    if kind in (ELEMENTWISE, REDUCTION):
        op.lane = CODES.lanes
        CODES.lanes += 1
    CODES.ops.append(op)
    return op
