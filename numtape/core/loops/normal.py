"""A function in normal form: statements of one operation each, helpers inlined, one way out.

What a kernel cannot have is refused here, by name and line. Expressions are in `expressions`.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from types import FunctionType
from typing import Any

from .callees import Functions
from .creation import Creation
from .expressions import OPERATORS
from .frame import Frame, Value
from .grids import Lazy, Places, View
from .nodes import WRITES, Array, Body, Branch, Call, Count, Make, Node, Repeat, Step, walk
from .source import Source
from .writer import constant

MOST = 20_000  # steps: more would take minutes to compile


def normal(
    function: FunctionType,
    kinds: Sequence[tuple[str, int]],
    functions: Functions | None = None,
    rule: FunctionType | None = None,
) -> Body:
    """A function in normal form.

    Args:
      function: What to transform.
      kinds: For each argument its dtype, and its number of axes: -1 of a number.
      functions: Those that a kernel calls, of which it is one; None for a kernel.
      rule: A kernel's own rule for its derivative: then all that is written is a call of it.
    """
    source = Source(function)
    writer = Lowering()
    writer.functions = functions or Functions(source.file, source.line, normal)
    writer.raised, writer.standing = writer.functions.raised, writer.functions.standing
    writer.kernel = functions is None
    frame = Frame(source, writer.prefix(source))
    scalars, names = {}, []
    for parameter, (dtype, ndim) in zip(source.parameters, kinds, strict=True):
        name = frame.rename(parameter)
        names.append(name)
        if ndim < 0:
            scalars[name] = dtype
        else:
            writer.arrays[name] = Array(dtype, ndim, True)
            frame.bound[parameter] = writer.all_of(name)
            for k in range(ndim):
                writer.low[f"{name}_n{k}"] = 0
    result = writer.function(frame) if rule is None else writer.call_of(frame, rule)
    writer.frames.append(frame)
    begin = writer.line(source.tree)
    function_name = function.__name__
    name = function_name if function_name.isidentifier() else "function"
    return Body(
        name,
        scalars,
        writer.arrays,
        names,
        writer.out,
        result.name,
        source.file,
        source.line,
        writer.standing,
        begin,
        same=writer.same,
        raised=writer.raised,
        outputs=writer.outputs,
        axes=writer.axes,
        form=writer.form,
        functions=writer.functions,
    )


class Lowering(Creation):
    """Writes statements of one operation each into ``out``."""

    def function(self, frame: Frame) -> Value:
        """Write what a function does. Returns its result: no name and no array if it has none."""
        result = Value()
        self.frames.append(frame)
        for flag in frame.flags.values():
            self.put(frame.rename(flag), "copy", ["False"], frame.source.tree)
        for parameter in frame.source.parameters:
            grid = frame.bound.get(parameter, result).grid
            if isinstance(grid, View) and frame.rebound(parameter):
                del frame.bound[parameter]
                self.bind(parameter, grid, frame.source.tree)
        for statement in frame.exits.body:
            if isinstance(statement, ast.Return):
                if statement.value is None:
                    continue
                if len(self.frames) == 1:
                    self.form = self.write_results(statement.value)
                    single = self.form == 0 and self.outputs[0] not in self.arrays
                    result = Value(self.outputs[0] if single else "")
                    continue
                result = self.value(statement.value)
                if result.grid is not None:
                    result = self.of(self.view(result, statement))
            else:
                self.statement(statement)
        self.frames.pop()
        return result

    def call_of(self, frame: Frame, rule: FunctionType) -> Value:
        """Write a call of a function that has a rule, with its parameters, and return it."""
        self.frames.append(frame)
        source = frame.source
        arguments = [frame.bound.get(x) or Value(frame.rename(x)) for x in source.parameters]
        result = self.call_with_rule(source, arguments, source.tree, rule)
        self.outputs, self.form = [result.name or result.array], 0
        self.axes = [result.grid.shape if result.grid is not None else []]
        self.frames.pop()
        return Value(result.name)

    def block(self, statements: list[ast.stmt]) -> list[Node]:
        """The nodes of statements."""
        with self.inside() as nodes:
            for statement in statements:
                self.statement(statement)
        return nodes

    def statement(self, node: Any) -> None:
        """Write a statement."""
        self.count += 1
        if self.count > MOST:
            self.refuse("so many statements, with those of its helpers", node, "Split it.")
        write = getattr(self, f"_do_{type(node).__name__}", None)
        if write is None:
            self.refuse(f"`{_keyword(node)}`", node, _WAYS.get(type(node), "Leave it out."))
        write(node)

    def _do_Pass(self, node: ast.Pass) -> None:
        pass

    def _do_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):
            return
        if isinstance(node.value, ast.Call):
            function = node.value.func
            filled = isinstance(function, ast.Attribute) and function.attr == "fill"
            if filled or self.helper(node.value) is not None:
                self.call(node.value, "", False)
                return
        self.refuse("an expression whose value is not used", node, "Leave it out.")

    def _do_Assign(self, node: ast.Assign) -> None:
        first = node.targets[0]
        if isinstance(first, ast.Tuple) and len(node.targets) == 1:
            return self.unpack(first, node.value)
        if len(node.targets) == 1 and isinstance(first, ast.Name):
            return self.assign_name(first, node.value)
        value = self.value(node.value)
        if isinstance(value.grid, Lazy) and len(node.targets) > 1:
            value = self.of(self.materialize(value.grid, node))
        for target in node.targets:
            self.give(target, value)
        return None

    def _do_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._do_Assign(ast.Assign([node.target], node.value, lineno=node.lineno))

    def assign_name(self, target: ast.Name, value: ast.expr) -> None:
        """Write ``name = value``."""
        if self.make(target.id, value):
            return
        result = self.value(value, self.frames[-1].rename(target.id))
        if result.grid is not None:
            self.bind(target.id, self.view(result, value), value)
        elif result.items is not None and not self.frames[-1].rebound(target.id):
            items = [self._still(x, value) for x in result.items]
            self.frames[-1].bound[target.id] = Value(items=items)
            self.has(target.id, value)
        else:
            self.give(target, result)

    def unpack(self, target: ast.Tuple, value: ast.expr) -> None:
        """``a, b = c, d``: all values come before the first is assigned."""
        if isinstance(value, ast.Tuple):
            items = [self.snapshot(self.value(x), x) for x in value.elts]
        else:
            value_ = self.value(value)
            if value_.items is not None:
                items = [Value(x) for x in value_.items]
            else:
                self.refuse("a tuple that is not written out", value, "Assign its parts by name.")
        if len(items) != len(target.elts):
            self.refuse("a tuple of another length", target, "Give each name one value.")
        for one, item in zip(target.elts, items, strict=True):
            self.give(one, item)

    def snapshot(self, value: Value, node: Any) -> Value:
        """A value that stays what it is whatever is assigned."""
        if value.grid is not None:
            return self.of(self.freeze(self.view(value, node), node))
        if not value.name:
            self.refuse(f"a tuple in `{ast.unparse(node)}`", node, "Assign its parts by name.")
        return Value(self.put("", "copy", [value.name], node))

    def give(self, target: Any, value: Value) -> None:
        """Assign a value to a name, an element or a view."""
        if isinstance(target, ast.Name):
            if value.grid is not None:
                self.bind(target.id, self.view(value, target), target)
                return
            name = self.target(target)
            if not value.name:
                self.refuse(f"a tuple under the name `{target.id}`", target, "Name its parts.")
            if value.name != name:
                self.put(name, "copy", [value.name], target)
            return
        if not isinstance(target, ast.Subscript):
            self.refuse(
                f"an assignment to `{ast.unparse(target)}`",
                target,
                "Assign to names and to elements of arrays.",
            )
        place = self.element(target)
        if isinstance(place, View):
            self.assign(place, value, target)
            return
        if isinstance(place, Places):
            self.scatter(place, value, target)
            return
        if not value.name:
            self.refuse("an array as one element", target, "Assign to a slice.")
        array, at = place
        self.write(Step("", "store", [at, value.name], "", self.line(target), array))

    def _do_AugAssign(self, node: ast.AugAssign) -> None:
        operator = OPERATORS.get(type(node.op))
        if isinstance(node.target, ast.Name):
            self.sure(node.target)
            load = ast.Name(node.target.id, ast.Load())
            grid = self.value(load).grid
            if grid is None:
                self.assign_name(node.target, _like(ast.BinOp(load, node.op, node.value), node))
                return None
            place: Any = self.view(Value(grid=grid), node)
        elif isinstance(node.target, ast.Subscript):
            place = self.element(node.target)
        else:
            return self.give(node.target, Value("0"))
        if operator is None:
            self.refuse(f"`{ast.unparse(node)}`", node, "Write it with arithmetic.")
        if isinstance(place, View):
            return self.change(place, operator, self.value(node.value), node)
        if isinstance(place, Places):  # all is read before: of equal places the last stays
            before = self.gather(place, node)
            if any(self.helper(x) for x in ast.walk(node.value)):
                before = self.of(self.view(before, node))
            after = self.elementwise(operator, [before, self.value(node.value)], node)
            assert isinstance(after, Value)
            return self.scatter(place, after, node)
        array, at = place
        adds = operator in "+-" and self.arrays[array].dtype[:1] == "f"
        if adds and not any(self.helper(x) for x in ast.walk(node.value)):
            value = self.number(node.value)
            name = "sub" if operator == "-" else "acc"
            return self.write(Step("", name, [at, value], "", self.line(node), array))
        old = self.fresh()
        self.write(Step(old, "load", [at], "", self.line(node), array))
        value = self.put("", operator, [old, self.number(node.value)], node)
        return self.write(Step("", "store", [at, value], "", self.line(node), array))

    def make(self, local: str, value: ast.expr) -> bool:
        """Write ``name = np.zeros(...)`` and the like; False if it is none."""
        frame = self.frames[-1]
        creation = self.new_array(value)
        if creation is None:
            return False
        dtype, shape, fill, copied = creation
        known = frame.bound.get(local)
        name = "" if frame.rebound(local) or known is not None else frame.rename(local)
        view = self.new(shape, dtype, value, fill, copied, name)
        if name:
            self.has(local, value)
            frame.bound[local] = self.of(view)
        else:
            self.bind(local, view, value)
        return True

    def _do_If(self, node: ast.If) -> None:
        test = self.truth(node.test)
        if test in ("True", "False"):
            for statement in node.body if test == "True" else node.orelse:
                self.statement(statement)
            return
        self.write(Branch(test, self.block(node.body), self.block(node.orelse), self.line(node)))

    def _do_While(self, node: ast.While) -> None:
        with self.inside() as head:
            test = self.truth(node.test)
        if any(
            isinstance(n, Make | Call) or (isinstance(n, Step) and n.op in WRITES)
            for n in walk(head)
        ):
            return self._judging(head, test, node)
        self.write(Repeat(head, test, self.block(node.body), self.line(node)))

    def _judging(self, head: list[Node], test: str, node: ast.While) -> None:
        """A loop whose condition writes to arrays: it is part of the rounds, and the last one."""
        go = self.fresh()
        self.put(go, "copy", ["True"], node)
        body = self.block(node.body)
        with self.inside() as ends:
            self.put(go, "copy", ["False"], node)
        rounds = [*head, Branch(test, body, ends, self.line(node))]
        self.write(Repeat([], go, rounds, self.line(node)))

    def _do_For(self, node: ast.For) -> None:
        low, high, step = self.range(node.iter)
        if not isinstance(node.target, ast.Name):
            self.refuse("a loop over more than one name", node, "Loop over a range.")
        local = node.target.id
        if hasattr(node, "go"):
            self.leaving(node, node.target, low, high, step)
            return
        frame = self.frames[-1]
        if local in frame.steady:
            name = frame.rename(local)
            frame.bound.pop(local, None)
        else:
            name = self.fresh()
        starts = low if step > 0 else high
        first: Any = constant(starts)
        known: Any = self.low.get(starts) if first is None else first
        if known is not None:
            self.low[name] = known if step > 0 else known + 1
        else:
            self.low.pop(name, None)
        with self.inside() as body:
            if local not in frame.steady:
                self.put(self.target(node.target), "copy", [name], node)
            for statement in node.body:
                self.statement(statement)
        self.write(Count(name, low, high, step, body, self.line(node)))

    def leaving(self, node: Any, target: ast.Name, low: str, high: str, step: int) -> None:
        """A loop over a range that may be left: ``while go``, and the next number in each round."""
        at = self.fresh()
        self.put(at, "copy", [low], node)
        more = "<" if step > 0 else ">"
        go = self.target(ast.Name(node.go, ast.Store()))
        with self.inside() as rounds:
            test = self.put("", f"compare {more}", [at, high], node)
            with self.inside() as body:
                self.put(self.target(target), "copy", [at], node)
                for statement in node.body:
                    self.statement(statement)
            with self.inside() as ends:
                self.put(go, "copy", ["False"], node)
            self.write(Branch(test, body, ends, self.line(node)))
            self.put(at, "+", [at, str(step)], node)
        self.write(Repeat([], go, rounds, self.line(node)))

    def range(self, node: ast.expr) -> tuple[str, str, int]:
        """The bounds of a range, which nothing assigns later, and its step."""
        called = self.object(node.func) if isinstance(node, ast.Call) else None
        if not isinstance(node, ast.Call) or called is not range or node.keywords:
            self.refuse(
                f"a loop over `{ast.unparse(node)}`",
                node,
                "Loop over range(...) and read elements by their index.",
            )
        bounds = [self.number(x) for x in node.args]
        if not 1 <= len(bounds) <= 3:
            self.refuse("a range of other than one to three numbers", node, "Write range(n).")
        step = constant(bounds[2]) if len(bounds) == 3 else 1
        if not isinstance(step, int) or not step:
            self.refuse(
                "a range whose step is not a constant, or is 0",
                node,
                "Count by ones and multiply, or write the step as a number.",
            )
        low, high = bounds[:2] if len(bounds) > 1 else ("0", bounds[0])
        low, high = (
            x if constant(x) is not None or self.single(x) else self.put("", "copy", [x], node)
            for x in (low, high)
        )
        return low, high, step


_WAYS: dict[type, str] = {
    ast.Try: "Check what may fail with `if`.",
    ast.With: "Do it outside of the kernel.",
    ast.Global: "Take it as an argument.",
    ast.Nonlocal: "Take it as an argument.",
    ast.FunctionDef: "Define the helper outside of the kernel.",
    ast.Import: "Import outside of the kernel.",
    ast.ImportFrom: "Import outside of the kernel.",
    ast.Match: "Write it with `if` and `elif`.",
}


def _keyword(node: ast.AST) -> str:
    return {
        ast.FunctionDef: "def",
        ast.AsyncFunctionDef: "async def",
        ast.ImportFrom: "import",
        ast.Delete: "del",
    }.get(type(node), type(node).__name__.lower())


def _like(node: Any, other: ast.stmt) -> Any:
    return ast.copy_location(node, other)
