"""Index checks of derivatives: which are proved, and which are hoisted in front of a loop.

A gradient writes to the adjoints of the elements that the function reads, so an index out of bounds
would corrupt other memory. Each ``check`` step is therefore part of the forward sweep, unless

- it is *proved*: ints are linear forms of symbols, which loop ranges, conditions and earlier checks
  bound; or
- it is *hoisted*: if a loop makes the check in every iteration and the index is linear in the loop
  variable, only the first and last iteration are checked, before the loop. The loop can then be
  vectorized.

Start with `Bounds`. The method is affine bounds-check elimination, as in Würthinger et al., "Array
bounds check elimination for the Java HotSpot client compiler", PPPJ 2007.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ..frontend.lowering import constant
from ..ir import (
    Alloc,
    Assign,
    Body,
    Branch,
    Call,
    ForRange,
    Node,
    While,
    assigned_in,
    is_constant,
    walk,
)
from .recompute import reads
from .types import SIGNED

ONE = -1  # the key of a form's constant
Form = dict[int, int]  # coefficients by symbol


def _sum(form: Form, other: Form, factor: int = 1) -> Form:
    total = dict(form)
    for symbol, coefficient in other.items():
        total[symbol] = total.get(symbol, 0) + factor * coefficient
    return {symbol: c for symbol, c in total.items() if c}


@dataclass
class Hoisted:
    """A check that is hoisted out of a loop.

    Attributes:
      step: The check.
      factor: The coefficient of the loop variable in the index.
      offset: The other terms of the index, as text.
      length: The length, as text.
      low: The lowest valid index, as text: 0, or minus the length.
    """

    step: Assign
    factor: int
    offset: str
    length: str
    low: str


@dataclass
class _Scope:
    """The facts that hold at a position.

    Attributes:
      forms: The values of names.
      tests: The comparison that each bool name holds: ``left - right`` and the operator.
      facts: Forms that are not negative.
    """

    forms: dict[str, Form]
    tests: dict[str, tuple[Form, str]]
    facts: list[Form]

    def copy(self) -> _Scope:
        return _Scope(dict(self.forms), dict(self.tests), list(self.facts))

    def forget(self, names: Iterable[str]) -> None:
        for name in names:
            self.forms.pop(name, None)
            self.tests.pop(name, None)


@dataclass
class _Loop:
    """The range of a loop variable: from ``low`` to ``high``, both included."""

    low: Form
    high: Form


@dataclass
class Bounds:
    """The checks of a function.

    Attributes:
      body: The function.
      unneeded: The ids of ``check`` steps that are proved or hoisted.
      hoisted: The checks that are made before a loop, by the id of the loop.
      highest: The index that a merged check tests, by the id of the check: the highest of the
        constant indices whose checks it replaces.
    """

    body: Body
    unneeded: set[int] = field(default_factory=set)
    hoisted: dict[int, list[Hoisted]] = field(default_factory=dict)
    highest: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._count = 0
        self._loops: dict[int, _Loop] = {}  # by symbol
        self._nonnegative: set[int] = set()  # symbols that are not negative
        self._wrapped_indices: dict[
            int, tuple[Form, Form]
        ] = {}  # by symbol: an index counted from the end, and the length
        self._fixed_forms: dict[str, Form] = {}  # forms of names that are never assigned
        self._assigned = assigned_in(self.body.nodes)
        self._lengths = {f"{x}_n{k}" for x, a in self.body.arrays.items() for k in range(a.ndim)}
        self._visit(self.body.nodes, _Scope({}, {}, []), None, [])

    # Forms.

    def _symbol(self, is_nonnegative: bool = False) -> Form:
        self._count += 1
        if is_nonnegative:
            self._nonnegative.add(self._count)
        return {self._count: 1}

    def _form(self, operand: str, scope: _Scope) -> Form | None:
        """Return the value of an operand; None if it is not an int."""
        operand = operand[1:-1] if operand.startswith("(") and operand.endswith(")") else operand
        if is_constant(operand):
            value = constant(operand)
            return ({ONE: value} if value else {}) if isinstance(value, int) else None
        dtype = self.body.names.get(operand, "")
        if operand not in self._lengths and dtype not in SIGNED:
            return None
        forms = scope.forms if operand in self._assigned else self._fixed_forms
        if operand not in forms:
            forms[operand] = self._symbol(operand in self._lengths)
        return forms[operand]

    def _is_nonnegative(self, form: Form, scope: _Scope) -> bool:
        """Whether a form is proved to be non-negative."""
        lowest = self._minimum(form)
        return self._has_nonnegative_terms(lowest) or any(
            self._has_nonnegative_terms(_sum(lowest, fact, -1))
            or self._has_nonnegative_terms(self._minimum(_sum(form, fact, -1)))
            for fact in scope.facts[-16:]
        )

    def _minimum(self, form: Form) -> Form:
        """Return the form with each loop variable at the end of its range that minimizes it."""
        while loops := [symbol for symbol in form if symbol in self._loops]:
            symbol = max(loops)  # the innermost: its range may depend on the others
            coefficient, loop = form[symbol], self._loops[symbol]
            end = loop.low if coefficient > 0 else loop.high
            form = _sum({s: c for s, c in form.items() if s != symbol}, end, coefficient)
        return form

    def _has_nonnegative_terms(self, form: Form) -> bool:
        """Whether all terms of a form are known to be non-negative."""
        return all(c > 0 and (s == ONE or s in self._nonnegative) for s, c in form.items())

    # Nodes.

    def _visit(
        self, nodes: list[Node], scope: _Scope, loop: ForRange | None, outer_names: list[str]
    ) -> None:
        """Visit nodes in order.

        ``loop`` is the loop whose body they are, if each iteration makes all of its checks, or
        None. ``outer_names`` are the names whose values are known before the loop.
        """
        self._join_constants(nodes)
        for node in nodes:
            if isinstance(node, Assign):
                self._visit_step(node, scope, loop, outer_names)
            elif isinstance(node, Branch):
                sides = []
                for body, is_true in ((node.body, True), (node.other, False)):
                    inner_scope = scope.copy()
                    self._assume(node.test, is_true, inner_scope)
                    self._visit(body, inner_scope, None, [])
                    sides.append(body)
                scope.forget(assigned_in([*sides[0], *sides[1]]))
            elif isinstance(node, ForRange):
                self._visit_for(node, scope)
            elif isinstance(node, While):
                self._visit_while(node, scope)
            elif isinstance(node, Alloc):
                for k in range(self.body.arrays[node.array].ndim):
                    length = self._form(f"{node.array}_n{k}", scope)
                    if length is not None:  # a negative one is an error
                        scope.facts.append(length)
            else:
                assert isinstance(node, Call)
                scope.forget(node.assigned_names(3))

    def _join_constants(self, nodes: list[Node]) -> None:
        """Merge the checks of constant indices against one argument's length in a run of steps.

        Each check is a branch, and Numba's analysis of many branches in a row recurses deeply.
        """
        checks: dict[str, Assign] = {}  # by length: the check into which later ones are merged
        for node in nodes:
            if not isinstance(node, Assign) or node.op == "raise":
                checks.clear()
                continue
            if (
                node.op != "check"
                or not node.args[0].isdecimal()
                or (node.args[1] in self._assigned or node.args[1] not in self._lengths)
            ):
                continue
            check = checks.setdefault(node.args[1], node)
            if check is not node:
                self.unneeded.add(id(node))
                highest = max(int(self.highest.get(id(check), check.args[0])), int(node.args[0]))
                self.highest[id(check)] = str(highest)

    def _visit_while(self, node: While, scope: _Scope) -> None:
        names = assigned_in([node])
        scope.forget(names)
        inner_scope = scope.copy()
        if node.count:
            inner_scope.forms[node.count] = self._symbol(is_nonnegative=True)
            self._count_up(node, inner_scope)
        self._visit(node.head, inner_scope, None, [])
        self._assume(node.test, True, inner_scope)
        self._visit(node.body, inner_scope, None, [])
        scope.forget(names)

    def _count_up(self, node: While, scope: _Scope) -> None:
        """Set the values of induction variables in the loop's head; see `counters`."""
        steps = [x for x in node.body if isinstance(x, Assign)]
        for counter in [x for x in steps if x.op == "counter" and len(x.args) == 3]:
            form = self._value_of(counter, scope)
            for step in steps:
                if step.op in ("+", "-") and sorted(step.args) == sorted(
                    [counter.out, counter.args[2]]
                ):
                    scope.forms[step.out] = form
                    for copy in steps:
                        if copy.op == "copy" and copy.args == [step.out]:
                            scope.forms[copy.out] = form

    def _visit_for(self, node: ForRange, scope: _Scope) -> None:
        names = assigned_in(node.body) | {node.name}
        low, high = self._form(node.low, scope), self._form(node.high, scope)
        for name in reads(node.body, self.body):  # names that have a value before the loop
            if name not in names:
                self._form(name, scope)
        inner_scope = scope.copy()
        inner_scope.forget(names)
        variable = inner_scope.forms[node.name] = self._symbol()
        if low is not None and high is not None:
            one: Form = {ONE: 1}
            ends = (low, _sum(high, one, -1)) if node.step > 0 else (_sum(high, one), low)
            self._loops[next(iter(variable))] = _Loop(*ends)
            # In the body, there is an iteration.
            inner_scope.facts.append(_sum(ends[1], ends[0], -1))
        ends_early = any(isinstance(x, Assign) and x.op == "raise" for x in walk(node.body))
        outer_names = [name for name in scope.forms if name not in names]
        self._visit(
            node.body, inner_scope, None if ends_early else node, [*outer_names, *self._fixed_forms]
        )
        scope.forget(names)

    def _visit_step(
        self, step: Assign, scope: _Scope, loop: ForRange | None, outer_names: list[str]
    ) -> None:
        if step.op == "check":
            self._visit_check(step, scope, loop, outer_names)
        if not step.out:
            return
        scope.forget([step.out])
        if step.op == "compare":
            left, right = (self._form(x, scope) for x in step.args)
            if left is not None and right is not None:
                scope.tests[step.out] = _sum(left, right, -1), step.text.split()[1]
        elif self.body.names.get(step.out) in SIGNED or step.out in self._lengths:
            scope.forms[step.out] = self._value_of(step, scope)

    def _value_of(self, step: Assign, scope: _Scope) -> Form:
        """Return the value of a step."""
        forms = [self._form(x, scope) for x in step.args]
        if step.array or any(form is None for form in forms):
            return self._symbol()
        operands = [form for form in forms if form is not None]
        numbers = [form.get(ONE, 0) if not form.keys() - {ONE} else None for form in operands]
        if step.op == "copy":
            return operands[0]
        if step.op in ("+", "-"):
            return _sum(operands[0], operands[1], 1 if step.op == "+" else -1)
        if step.op == "negative":
            return _sum({}, operands[0], -1)
        if step.op == "*":
            for form, number in ((operands[0], numbers[1]), (operands[1], numbers[0])):
                if number is not None:
                    return _sum({}, form, number)
        if step.op == "counter" and len(operands) == 3 and numbers[2] is not None:
            sign = -1 if " - " in step.text else 1  # start +- count * step
            return _sum(operands[0], operands[1], sign * numbers[2])
        if step.op == "wrap":
            if self._is_nonnegative(operands[0], scope):
                return operands[0]
            form = self._symbol()
            self._wrapped_indices[next(iter(form))] = operands[0], operands[1]
            return form
        are_nonnegative = [self._is_nonnegative(form, scope) for form in operands]
        divisor = numbers[1] if len(numbers) > 1 else None
        has_positive_divisor = divisor is not None and divisor > 0
        value = self._symbol(
            (step.op == "max" and any(are_nonnegative))
            or (step.op in ("min", "*") and all(are_nonnegative))
            or (step.op == "%" and has_positive_divisor)
            or (step.op == "//" and are_nonnegative[0] and has_positive_divisor)
        )
        if step.op == "min":
            scope.facts += [_sum(form, value, -1) for form in operands]
        elif step.op == "max":
            scope.facts += [_sum(value, form, -1) for form in operands]
        elif step.op == "//" and are_nonnegative[0] and has_positive_divisor:
            scope.facts += [_sum(operands[0], value, -1), _sum(operands[0], value, -numbers[1])]  # type: ignore[operator]
        elif step.op == "%" and has_positive_divisor:
            scope.facts.append(_sum({ONE: numbers[1] - 1}, value, -1))  # type: ignore[operator]
        return value

    def _assume(self, test: str, is_true: bool, scope: _Scope) -> None:
        """Add the fact that a comparison holds, or does not hold."""
        difference, operator = scope.tests.get(test, ({}, ""))
        opposite = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}
        operator = operator if is_true else opposite.get(operator, "")
        one: Form = {ONE: 1}
        if operator in (">", ">=", "=="):
            scope.facts.append(_sum(difference, one, -1) if operator == ">" else difference)
        if operator in ("<", "<=", "=="):
            negated = _sum({}, difference, -1)
            scope.facts.append(_sum(negated, one, -1) if operator == "<" else negated)

    def _visit_check(
        self, step: Assign, scope: _Scope, loop: ForRange | None, outer_names: list[str]
    ) -> None:
        operand = self.highest.get(id(step), step.args[0])
        index, length = self._form(operand, scope), self._form(step.args[1], scope)
        if index is None or length is None or id(step) in self.unneeded:
            return
        lower_bound: Form = {}
        symbol = next(iter(index)) if len(index) == 1 else 0
        if index == {symbol: 1} and symbol in self._wrapped_indices:
            wrapped_index, wrapped_length = self._wrapped_indices[symbol]
            if wrapped_length == length:
                index, lower_bound = wrapped_index, _sum({}, length, -1)
        one: Form = {ONE: 1}
        remaining = _sum(_sum(length, index, -1), one, -1)
        if self._is_nonnegative(_sum(index, lower_bound, -1), scope) and self._is_nonnegative(
            remaining, scope
        ):
            self.unneeded.add(id(step))
        elif loop is not None:
            self._hoist(step, index, length, bool(lower_bound), loop, scope, outer_names)
        scope.facts += [remaining, _sum(index, lower_bound, -1)]  # otherwise the check raises

    def _hoist(
        self,
        step: Assign,
        index: Form,
        length: Form,
        from_end: bool,
        loop: ForRange,
        scope: _Scope,
        outer_names: list[str],
    ) -> None:
        """Hoist a check if its operands, the loop variable aside, are known before the loop."""
        variable = next(iter(scope.forms[loop.name]))
        factor = index.get(variable, 0)
        names: dict[int, str] = {}
        for name in outer_names:
            form = scope.forms.get(name) if name in self._assigned else self._fixed_forms.get(name)
            if form is not None and len(form) == 1 and next(iter(form.values())) == 1:
                names.setdefault(next(iter(form)), name)
        offset = _text({s: c for s, c in index.items() if s != variable}, names)
        length_text = _text(length, names)
        if offset is None or length_text is None or variable in length:
            return
        self.unneeded.add(id(step))
        low = f"-({length_text})" if from_end else "0"
        self.hoisted.setdefault(id(loop), []).append(
            Hoisted(step, factor, offset, length_text, low)
        )


def _text(form: Form, names: dict[int, str]) -> str | None:
    """Return a form as an expression; None if a symbol has no name."""
    terms = []
    for symbol, coefficient in form.items():
        if symbol != ONE and symbol not in names:
            return None
        factor = "" if coefficient == 1 else f"{coefficient} * "
        terms.append(str(coefficient) if symbol == ONE else f"{factor}{names[symbol]}")
    return " + ".join(f"({term})" if term.startswith("-") else term for term in terms) or "0"
