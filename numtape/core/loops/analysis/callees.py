"""Functions that a kernel calls without inlining (recursion, `recompute`), and their signatures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType

from ....errors import KernelError
from ..ir import Body, Call, Kinds, Lines, Raised, address, calls, shadow
from .activity import Activity, analyse, with_aliases, written_arrays
from .types import of


class Interface:
    """The signature of both sweeps of a function.

    Attributes:
      parameter_names: The names of the parameters.
      parameters: The descriptions of the parameters; see `LoopProgram`.
      loads: Lines that read the parameters.
      stores: Lines at the end of the reverse sweep that write the adjoints of numbers.

    Args:
      body: The function.
      kinds: The dtype and number of axes of each argument.
      argnums: The numbers of the arguments that have adjoints.
      activity: The activity analysis of the function.
      by_value: Whether the sweeps take numbers by value instead of by pointer.
    """

    def __init__(
        self,
        body: Body,
        kinds: Kinds,
        argnums: tuple[int, ...],
        activity: Activity,
        by_value: bool = False,
    ) -> None:
        self.parameter_names: list[str] = []
        self.parameters: list[tuple[str, int, str, int]] = []
        self.loads: list[str] = []
        self.stores: list[str] = []
        parameters = list(zip(body.parameters, kinds, strict=True))
        for j, (name, (dtype, ndim)) in enumerate(parameters):
            if ndim < 0 and by_value:
                self._take(name, "number", j, dtype)
                continue
            if ndim < 0:
                self._take(f"{name}_at", "number", j, dtype)
                conversion = " != 0" if dtype == "bool" else ""
                self.loads.append(f"{name} = {name}_at[0]{conversion}")
                continue
            self._take(name, "array", j, dtype)
            for k in range(ndim):
                self._take(f"{name}_n{k}", "axis", j, "", k)
        for name, array in body.arrays.items():
            if array.addressed:
                adjoint_address = f"address_of(d_{name})" if name in activity.active else "0"
                self.loads.append(f"{address(name)} = address_of({name})")
                self.loads.append(f"{shadow(name)} = {adjoint_address}")
        for j, (name, (dtype, ndim)) in enumerate(parameters):
            if ndim >= 0 and name in activity.active:
                self._take(f"d_{name}", "adjoint", j, dtype)
            elif j in argnums:
                self._take(f"d_{name}_at", "adjoint", j, "float64")
                self.stores.append(f"d_{name}_at[0] = d_{name}")

    def _take(self, name: str, kind: str, j: int, dtype: str, k: int = 0) -> None:
        self.parameter_names.append(name)
        self.parameters.append((kind, j, dtype, k))


MAX_CALL_DEPTH = 10_000  # nested calls: more might overflow the thread's own stack


@dataclass
class Variant:
    """A function, specialized for the kinds of its arguments and for those that are active.

    Attributes:
      number: The suffix of its names: ``F_1`` is its forward sweep, ``R_1`` its reverse sweep.
    """

    number: int
    body: Body
    activity: Activity
    face: Interface
    name: str

    def call(self, inputs: list[str], stack_arguments: str) -> str:
        """Return a call of the forward sweep, as text; ``stack_arguments``: SP, END, OUT, MARK."""
        return f"STATUS = F_{self.number}({', '.join([*inputs, stack_arguments])})"

    def back(self, inputs: list[str], top: str, seed: str) -> str:
        """Return a call of the reverse sweep, as text; it sets SP to where its stack begins."""
        return f"SP = R_{self.number}({', '.join([*inputs, top, seed])})"


class Functions:
    """The functions that one kernel calls without inlining.

    Args:
      file, line: The source position of the kernel.
      write: Lowers a function to normal form.

    Attributes:
      standing: Source positions of operations that can fail.
      raised: The exceptions that the kernel and these functions raise.
      variants: The variants that are called.
    """

    def __init__(
        self, file: str, line: int, write: Callable[[FunctionType, Kinds, Functions], Body]
    ) -> None:
        self.standing, self._write = Lines(file, line), write
        self.raised: list[Raised] = []
        self.variants: dict[
            tuple[FunctionType, Kinds, tuple[int, ...], tuple[int, ...]], Variant
        ] = {}
        self._bodies: dict[tuple[FunctionType, Kinds], Body] = {}
        self._results: dict[tuple[FunctionType, Kinds], str] = {}
        self._writes: dict[tuple[FunctionType, Kinds], set[int]] = {}
        self._axes: dict[tuple[FunctionType, tuple[int, ...]], int] = {}

    @property
    def has_rules(self) -> bool:
        """Whether any function has a custom rule, which may fail in the reverse sweep."""
        return bool(self._axes)

    @property
    def bodies(self) -> list[Body]:
        """The called functions, in normal form."""
        return list(self._bodies.values())

    def body(self, call: Call, caller: Body) -> Body:
        """Return the called function in normal form."""
        return self._lower((call.function, call.kinds(caller)))

    def _lower(self, key: tuple[FunctionType, Kinds]) -> Body:
        if key not in self._bodies:
            self._results[key] = ""
            self._bodies[key] = self._write(*key, self)
        return self._bodies[key]

    def result(self, call: Call, caller: Body) -> str:
        """Return the dtype of a call's result; "" if it is not known yet."""
        kinds = call.kinds(caller)
        if any(not dtype for dtype, _ in kinds):
            return ""
        body = self.body(call, caller)
        is_array = bool(body.axes) and bool(body.axes[0]) and body.form == 0
        return self._results[call.function, kinds] if is_array == bool(call.array) else ""

    def settle(self, kernel: Body, infer: Callable[[Body], None]) -> list[Body]:
        """Infer all dtypes, to a fixed point because of recursion. Return all reachable bodies."""
        while True:
            previous = dict(self._results)
            infer(kernel)
            for key, body in list(self._bodies.items()):
                infer(body)
                self._results[key] = _result(body)
            if self._results == previous:
                bodies = self._reachable(kernel)
                if self._results == previous:  # no rule was added
                    return bodies

    def _reachable(self, kernel: Body) -> list[Body]:
        """Return a kernel and all functions that it calls, including rules."""
        bodies: list[Body] = [kernel]
        for body in bodies:
            for call in calls(body):
                called = [self.body(call, body)]
                if call.rule is not None and self.result(call, body):
                    called.append(self._lower(self._rule_arguments(call, body)))
                bodies += [x for x in called if x not in bodies]
        return bodies

    def _rule_arguments(self, call: Call, caller: Body) -> tuple[FunctionType, Kinds]:
        """Return a call's rule and its inputs: the result's adjoint, the result, the arguments."""
        array = caller.arrays.get(call.array)
        kind = (array.dtype, array.ndim) if array is not None else (caller.names[call.out], -1)
        assert call.rule is not None
        return call.rule, (kind, kind, *call.kinds(caller))

    def rule(self, call: Call, caller: Body) -> Variant:
        """Return the rule of a call.

        Raises:
          KernelError: If the rule writes to its arguments.
        """
        key = self._rule_arguments(call, caller)
        body = self._lower(key)
        if written_arrays(body) & {*body.parameters}:
            raise KernelError(
                "a rule that writes to what it is given", body.file, body.line, "Write to a copy."
            )
        return self._variant(key, ())

    def axes(self, function: FunctionType, kinds: tuple[int, ...]) -> int:
        """Return the number of axes of a function's result; -1 for a number.

        Args:
          function: The function, which has a custom rule.
          kinds: The number of axes of each argument; -1 for a number.

        Raises:
          KernelError: If it has several results, or returns an array argument.
        """
        key = function, kinds
        if key not in self._axes:
            self._axes[key] = -1  # provisional, for a function that calls itself
            inner = Functions(self.standing.file, self.standing.line, self._write)
            inner._axes = self._axes
            body = self._write(function, tuple([("float64", ndim) for ndim in kinds]), inner)
            if body.form != 0 or (body.axes[0] and body.outputs[0] in body.parameters):
                raise KernelError(
                    "a custom rule and other results than one number or new array",
                    body.file,
                    body.line,
                    "Return one result, and a copy of an argument.",
                )
            self._axes[key] = len(body.axes[0]) or -1
        return self._axes[key]

    def writes(self, call: Call, caller: Body) -> set[int]:
        """Return the numbers of the arguments that a call writes to."""
        key = call.function, call.kinds(caller)
        if key not in self._writes:
            body = self.body(call, caller)
            self._writes[key] = set()
            while True:  # it may call itself
                arrays = written_arrays(body)
                positions = {j for j, name in enumerate(body.parameters) if name in arrays}
                if positions == self._writes[key]:
                    break
                self._writes[key] = positions
        return self._writes[key]

    def variant(self, call: Call, caller: Body, active: set[str], changed: set[str]) -> Variant:
        """Return the variant for a call in which some of the caller's names are active.

        The variant's reverse sweep must not reread arrays that the caller has ``changed`` by then.
        A call that is recomputed has copies of them.
        """
        kinds = call.kinds(caller)
        active_arguments = tuple(
            j
            for j, (dtype, _) in enumerate(kinds)
            if dtype.startswith("float") and call.names[j] in active
        )
        changed_arrays = (
            ()
            if call.recompute
            else tuple(j for j, name in enumerate(call.names) if name in changed)
        )
        return self._variant((call.function, kinds), active_arguments, changed_arrays)

    def _variant(
        self,
        key: tuple[FunctionType, Kinds],
        active_arguments: tuple[int, ...],
        changed: tuple[int, ...] = (),
    ) -> Variant:
        function, kinds = key
        if (*key, active_arguments, changed) not in self.variants:
            body = self._lower(key)
            activity = analyse(body, [body.parameters[j] for j in active_arguments], is_callee=True)
            activity.written |= with_aliases({body.parameters[j] for j in changed}, body.same)
            face = Interface(body, kinds, active_arguments, activity, by_value=True)
            number = len(self.variants) + 1
            variant = Variant(number, body, activity, face, function.__name__)
            self.variants[*key, active_arguments, changed] = variant
        return self.variants[*key, active_arguments, changed]


def _result(body: Body) -> str:
    """Return the dtype of a function's result; "" if it is unknown or there are several."""
    if body.result:
        return of(body.result, body.names)
    array = body.arrays.get(body.outputs[0]) if body.form == 0 else None
    return array.dtype if array is not None else ""


class CalleeFrame:
    """The stack cells of a call, as text for both sweeps.

    Attributes:
      words: The number of cells, of one word each.
      fill_lines: The lines that fill them in the forward sweep.
      copies: Copies of arrays that are written to: source, dtype, size, name of the address.
      forward_arguments: The arguments of the forward sweep.
      reverse_arguments: The arguments of the reverse sweep.
      recomputed_arguments: The arguments of both sweeps in the reverse sweep, if the call is
        recomputed.
      number_adjoints: The cells of the adjoints of numbers, by argument number.
      seed, result, axes: The cells of a call with a rule: the adjoint of the result, the result,
        its axes.
      rule_inputs: The inputs of a rule, by kind, argument number and axis.
      adjoint_addresses: The cells with the addresses of local arrays' adjoints, by argument number.

    Args:
      is_available: Whether the reverse sweep has an operand without a cell.
    """

    def __init__(
        self,
        call: Call,
        variant: Variant,
        body: Body,
        k: int,
        written: set[str],
        is_available: Callable[[str], bool],
    ) -> None:
        self._base = f"F{k}"
        self.words = 0
        self.fill_lines: list[str] = []
        self.copies: list[tuple[str, str, str, str]] = []
        self.forward_arguments: list[str] = []
        self.reverse_arguments: list[str] = []
        self.recomputed_arguments: list[str] = []
        self.number_adjoints: dict[int, int] = {}
        self.axes: list[int] = []
        self.rule_inputs: dict[tuple[str, int, int], str] = {}
        self.adjoint_addresses: dict[int, int] = {}
        if call.array:
            names = [f"{call.array}_n{axis}" for axis in range(body.arrays[call.array].ndim)]
            address_name = f"Y{k}" if call.array in written else f"{call.array}_at"
            self.result, self.seed = (
                self._cell("int64", x) for x in (address_name, f"d_{call.array}_at")
            )
            self.axes = [self._cell("int64", name) for name in names]
        elif call.rule is not None:
            self.result, self.seed = self._cell(body.names[call.out], call.out), self._cell()
        if call.recompute:
            self.out, self.mark = self._cell(), self._cell()
            self.begin, self.end = self._cell("int64", f"B{k}"), self._cell("int64", "END")
        for kind, j, dtype, axis in variant.face.parameters:
            name = call.names[j]
            is_local = name in body.arrays and not body.arrays[name].argument
            recomputed_argument = ""
            if kind == "number":
                forward_argument = f"{dtype}_of({name})"
                reverse_argument = (
                    forward_argument
                    if is_available(name)
                    else self.read(dtype, self._cell(dtype, name))
                )
            elif kind == "axis":
                forward_argument = reverse_argument = (
                    call.axes[j][axis] if is_local else f"{name}_n{axis}"
                )
                if is_local and not is_available(forward_argument):
                    reverse_argument = self.read("int64", self._cell("int64", forward_argument))
            elif kind == "adjoint" and name not in body.arrays:
                self.number_adjoints[j] = self._cell()
                forward_argument = "OUT"  # unused
                reverse_argument = self.at("float64", self.number_adjoints[j])
            else:
                forward_argument = reverse_argument = name if kind == "array" else f"d_{name}"
                if is_local:
                    address_name = f"{name}_at" if kind == "array" else f"d_{name}_at"
                    forward_argument = f"{dtype}_at({address_name})"
                    reverse_argument = (
                        forward_argument
                        if is_available(address_name)
                        else (
                            f"{dtype}_at({self.read('int64', self._cell('int64', address_name))})"
                        )
                    )
                if kind == "array" and call.recompute and name in written:
                    copy_name = f"Y{k}_{len(self.copies)}"
                    self.copies.append(
                        (forward_argument, dtype, " * ".join(call.axes[j]), copy_name)
                    )
                    recomputed_argument = (
                        f"{dtype}_at({self.read('int64', self._cell('int64', copy_name))})"
                    )
                if kind == "array" and call.rule is not None and is_local:
                    self.adjoint_addresses[j] = self._cell("int64", f"d_{name}_at")
            self.forward_arguments.append(forward_argument)
            self.reverse_arguments.append(reverse_argument)
            self.recomputed_arguments.append(recomputed_argument or reverse_argument)
            self.rule_inputs[kind, j, axis] = self.recomputed_arguments[-1]

    def _cell(self, dtype: str = "", value: str = "") -> int:
        self.words += 1
        if dtype:
            self.fill_lines.append(f"{self.at(dtype, self.words - 1)}[0] = {dtype}_of({value})")
        return self.words - 1

    def at(self, dtype: str, cell: int) -> str:
        """Return a pointer to a cell, as text."""
        return f"{dtype}_at({self._base} + {8 * cell})" if cell else f"{dtype}_at({self._base})"

    def read(self, dtype: str, cell: int) -> str:
        """Return the contents of a cell, as text."""
        text = f"{self.at(dtype, cell)}[0]"
        return f"({text} != 0)" if dtype == "bool" else text
